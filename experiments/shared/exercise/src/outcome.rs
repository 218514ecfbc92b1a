//! What a check says, row by row.

use std::fmt;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which they are shown.
    pub rows: Vec<Row>,
    /// What the learner's code printed.
    pub printed: String,
    /// When each operation would run, as a picture in text; empty where no demand asks for it.
    pub timeline: String,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was looked at: `result`, `races`, or a demand.
    pub name: String,
    /// How it is.
    pub state: State,
    /// More about it.
    pub text: String,
    /// The line that it is about.
    pub line: Option<Line>,
}

/// How a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As demanded.
    Good,
    /// Not as demanded.
    Bad,
    /// Not looked at, because what comes before it is bad.
    Open,
}

/// A line of the learner's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// From 1 on.
    pub number: usize,
    /// Without the spaces around it.
    pub text: String,
    /// Whether other lines have a part in what the row is about, and this one the largest.
    pub shares: bool,
}

impl Line {
    /// A line of `source`.
    pub fn of(source: &str, number: u32) -> Option<Line> {
        let number = number as usize;
        let text = source.lines().nth(number.checked_sub(1)?)?.trim().to_owned();
        Some(Line { number, text, shares: false })
    }
}

impl Outcome {
    /// Whether all is as demanded.
    pub fn is_solved(&self) -> bool {
        self.rows.iter().all(|row| row.state == State::Good)
    }

    /// The first row that is not as demanded.
    pub fn first_bad(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.state == State::Bad)
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, name: &str, state: State, text: impl Into<String>) {
        let (name, text) = (name.to_owned(), text.into());
        self.rows.push(Row { name, state, text, line: None });
    }

    /// Adds a row about a line.
    pub(crate) fn bad(&mut self, name: &str, text: String, line: Option<Line>) {
        let (name, state) = (name.to_owned(), State::Bad);
        self.rows.push(Row { name, state, text, line });
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Good => "ok",
            State::Bad => "no",
            State::Open => "-",
        })
    }
}
