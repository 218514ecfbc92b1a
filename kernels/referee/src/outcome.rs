//! What a check says, row by row.

use std::fmt;

use crate::check::{COMPILES, Check, RESULT};
use crate::count::Lines;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which they are shown.
    pub rows: Vec<Row>,
    pub printed: String,
    /// When each operation would run, as a picture in text; empty where no demand asks for it.
    pub timeline: String,
    /// What each line of a kernel's source did in the launches that were counted.
    pub lines: Lines,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was looked at: `result`, `races`, or a demand.
    pub name: String,
    pub state: State,
    pub text: String,
    pub line: Option<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    Bad,
    /// Not looked at, because what comes before it is bad.
    Open,
}

/// A line of the learner's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Number of the line, from 1 on.
    pub number: usize,
    /// Text of the line, without the spaces around it.
    pub text: String,
    /// Whether other lines have a part in what the row is about, and this one the largest.
    pub shares: bool,
}

impl Line {
    pub fn of(source: &str, number: u32) -> Option<Line> {
        let number = number as usize;
        let text = source.lines().nth(number.checked_sub(1)?)?.trim().to_owned();
        Some(Line { number, text, shares: false })
    }
}

impl Outcome {
    pub fn is_solved(&self) -> bool {
        self.rows.iter().all(|row| row.state == State::Good)
    }

    /// That of a source which does not compile: nothing else can be looked at. `order` is what
    /// follows the results: a kernel's races, or host code's order.
    pub fn uncompiled(why: String, order: &str, check: &Check) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.bad(COMPILES, why, None);
        outcome.leave_open(&[RESULT, order], check);
        outcome
    }

    /// The first row that is not as demanded.
    pub fn first_bad(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.state == State::Bad)
    }

    pub fn row(&mut self, name: &str, state: State, text: impl Into<String>) {
        let (name, text) = (name.to_owned(), text.into());
        self.rows.push(Row { name, state, text, line: None });
    }

    pub fn bad(&mut self, name: &str, text: String, line: Option<Line>) {
        let (name, state) = (name.to_owned(), State::Bad);
        self.rows.push(Row { name, state, text, line });
    }

    /// Adds rows that cannot be looked at: these, and those of all demands.
    pub fn leave_open(&mut self, rows: &[&str], check: &Check) {
        let demands = check.demands.iter().map(|demand| demand.name.as_str());
        for name in rows.iter().copied().chain(demands) {
            self.row(name, State::Open, "");
        }
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
