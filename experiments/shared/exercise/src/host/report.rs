//! What a trial of host code told, and how it ended.

use std::collections::BTreeMap;

use referee::check::singular;

use crate::process::{End, Ended};

/// What the emulated driver puts before what it says.
const DRIVER: &str = "emulated driver: ";
/// Exit code of a Rust program that has panicked.
const PANICKED: i32 = 101;

/// What a trial told.
#[derive(Default)]
pub(super) struct Report {
    /// Titles of what was tried.
    pub(super) runs: Vec<String>,
    pub(super) wrong: Option<String>,
    pub(super) sizes: BTreeMap<String, f64>,
    /// One for each run.
    pub(super) ledgers: Vec<String>,
    pub(super) printed: String,
    /// Whether the check has come to its end.
    is_done: bool,
}

impl Report {
    /// What a trial told that has ended, in its file and else.
    pub(super) fn of(told: &str, ended: Ended) -> Report {
        let Ended { end, out, err } = ended;
        let mut report = Report { printed: out, ..Report::read(told) };
        if !report.is_done {
            report.ledgers.pop(); // nobody knows how much of it is there
        }
        let (driver, own): (Vec<_>, Vec<_>) =
            err.split_inclusive('\n').partition(|line| line.starts_with(DRIVER));
        let own = own.concat();
        // What the driver noticed, though no call has failed, comes first.
        let noticed = driver.first().and_then(|line| line.trim_end().strip_prefix(DRIVER));
        let unfinished = (!report.is_done || end != End::Code(0))
            .then(|| report.during(&ending(end, own.trim())));
        report.wrong = match (report.wrong.take(), noticed) {
            (Some(wrong), Some(noticed)) => Some(format!("{wrong}\n{noticed}")),
            (None, Some(noticed)) => Some(noticed.to_owned()),
            (None, None) if unfinished.is_some() => {
                return Report { wrong: unfinished, ..report }; // with what it said
            }
            (wrong, None) => wrong,
        };
        report.printed += &own;
        report
    }

    /// What was said or happened, and in which run.
    fn during(&self, said: &str) -> String {
        match self.runs.last() {
            Some(title) => format!("{title}: {said}"),
            None => said.to_owned(),
        }
    }

    /// Reads what the trial's program has written: `run TITLE`, `size NAME NUMBER`, `wrong TEXT`,
    /// `failed TEXT`, and `done` at its end; all else is the ledger.
    fn read(text: &str) -> Report {
        let mut report = Report::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match kind {
                "run" => {
                    report.runs.push(singulars(&unescaped(rest)));
                    report.ledgers.push(String::new());
                }
                "size" => {
                    let number = rest.rsplit_once(' ');
                    let number = number.and_then(|(name, n)| Some((name, n.parse().ok()?)));
                    report.sizes.extend(number.map(|(name, n)| (name.to_owned(), n)));
                }
                "wrong" | "failed" => {
                    let said = report.during(&unescaped(rest));
                    report.wrong.get_or_insert(said);
                }
                "done" => report.is_done = true,
                _ => {
                    if let Some(ledger) = report.ledgers.last_mut() {
                        *ledger += &format!("{line}\n");
                    }
                }
            }
        }
        report
    }
}

/// How a trial ended that did not come to the end of its check.
fn ending(end: End, err: &str) -> String {
    let how = match end {
        End::Code(PANICKED) if !err.is_empty() => return err.to_owned(),
        End::Code(code) => format!(
            "the program ended with exit code {code} before the check was through; without \
             `std::process::exit` it goes on"
        ),
        End::Crash(_) => format!(
            "the program {end}; look at each `unsafe` block: does a launch pass all parameters, \
             and an array live long enough?"
        ),
        end => format!("the program {end}"),
    };
    format!("{err}\n{how}").trim_start().to_owned()
}

/// What the trial's program put into one line.
fn unescaped(line: &str) -> String {
    let (mut text, mut characters) = (String::new(), line.chars());
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                _ => '\\',
            },
            other => other,
        });
    }
    text
}

/// A title in which a 1 stands before one thing: `1 number, 3 steps` for `1 numbers, 3 steps`.
fn singulars(title: &str) -> String {
    let mut words: Vec<String> = vec![];
    for word in title.split(' ') {
        let (word, comma) = word.split_at(word.trim_end_matches(',').len());
        let after_one = words.last().is_some_and(|before| before == "1");
        let word = if after_one { singular(word) } else { word.to_owned() };
        words.push(word + comma);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_arrives_as_it_was_said() {
        let report = Report::read("run a\\\\b\nwrong C:\\\\new\\nline\n");
        assert_eq!(report.wrong.unwrap(), "a\\b: C:\\new\nline");
    }

    #[test]
    fn one_thing_is_not_several() {
        for (title, said) in [
            ("1 numbers, 1 steps", "1 number, 1 step"),
            ("11 numbers on 1 GPUs", "11 numbers on 1 GPU"),
            ("1×1", "1×1"),
        ] {
            assert_eq!(singulars(title), said);
        }
        assert_eq!(singular("copies are known"), "copy is known");
        assert_eq!(singular("atomic requests of warps"), "atomic request of warps");
        assert_eq!(singular("× the bytes of it"), "× the bytes of it");
    }
}
