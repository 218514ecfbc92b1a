//! A kernel is compiled, and judged on the emulated GPU.

use anyhow::{Context, Result};
use lab::compiler::{Compiler, Unit};
use referee::check::RACES;
use referee::{Limits, Outcome};

use crate::catalogue::Exercise;
use crate::compile;

pub struct Judge<'e> {
    pub(crate) exercise: &'e Exercise,
    referee: referee::Judge<'e>,
}

impl<'e> Judge<'e> {
    /// Compiles what results have to be. An error if there is no compiler.
    pub fn new(exercise: &'e Exercise) -> Result<Judge<'e>> {
        let check = &exercise.check;
        let path = exercise.file("expected");
        let file = path.display().to_string();
        let source = std::fs::read_to_string(&path).with_context(|| file.clone())?;
        let expected = Compiler::find()?.compile(&file, &Unit::of(&source), &check.compute)?;
        let referee = referee::Judge::new(check, expected, Limits::TERMINAL);
        Ok(Judge { exercise, referee })
    }

    /// What is right and wrong with `source`, of which messages speak as of `file`. An error if
    /// the check itself is wrong.
    pub fn check(&self, file: &str, source: &str) -> Result<Outcome> {
        let check = &self.exercise.check;
        match compile::compile(file, &Unit::of(source), &check.compute)? {
            Ok(ptx) => self.check_ptx(file, source, &ptx),
            Err(said) => Ok(Outcome::uncompiled(said, RACES, check)),
        }
    }

    /// The same of what a compiler has made of `source`.
    pub fn check_ptx(&self, file: &str, source: &str, ptx: &str) -> Result<Outcome> {
        self.referee.check(file, source, ptx)
    }
}
