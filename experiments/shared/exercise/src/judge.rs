//! Judges solutions, whatever they are written in.

use std::path::Path;

use anyhow::Result;
use referee::Outcome;
use referee::check::{ORDER, RACES};

use crate::catalogue::{Exercise, Language};
use crate::{host, kernel, source};

/// Judges solutions of one exercise.
pub enum Judge<'e> {
    Kernel(Box<kernel::Judge<'e>>),
    Host(host::Judge<'e>),
}

impl<'e> Judge<'e> {
    /// A judge for an exercise of the workbook in `root`. An error if what it needs is missing.
    pub fn new(exercise: &'e Exercise, root: &Path) -> Result<Judge<'e>> {
        Ok(match exercise.language {
            Language::Kernel => Judge::Kernel(Box::new(kernel::Judge::new(exercise)?)),
            Language::Host => Judge::Host(host::Judge::new(exercise, root)),
        })
    }

    /// What is right and wrong with the source in `path`, of which messages speak as of `file`. An
    /// error if the check itself is wrong.
    pub fn check(&self, file: &str, path: &Path) -> Result<Outcome> {
        let (exercise, order) = match self {
            Judge::Kernel(judge) => (judge.exercise, RACES),
            Judge::Host(judge) => (judge.exercise, ORDER),
        };
        match (source::read(path)?, self) {
            (Err(why), _) => Ok(Outcome::uncompiled(why, order, &exercise.check)),
            (Ok(source), Judge::Kernel(judge)) => judge.check(file, &source),
            (Ok(source), Judge::Host(judge)) => judge.check(file, path, &source),
        }
    }
}
