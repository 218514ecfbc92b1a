//! From LLVM IR, as clang's CUDA front end makes it of device code, to PTX.
//!
//! Clang does what is hard: it inlines, and optimises with `-O2`. What is left is to choose
//! instructions, to know the address space of each pointer, and to leave SSA form. Whatever is
//! not known here is an error with the line of the source, never a guess.

#![forbid(unsafe_code)]

use std::fmt;

mod code;
mod graph;
mod ir;
mod lower;
mod module;
mod read;
mod table;
mod tidy;
mod types;

/// What nvcc and NVRTC know without `#include`, for clang: its `-include`.
pub const PRELUDE: &str = include_str!("../prelude.h");

/// What clang is to be told, beside the compute capability, the version of PTX and the files'
/// names, so that its IR is what [`translate`] expects.
pub const OPTIONS: [&[&str]; 2] = [
    &include!("../optimising.rs"),
    &["-debug-info-kind=line-tables-only", "-fcuda-is-device", "-emit-llvm"],
];

/// Why IR is not translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line of the source, if it is known.
    pub line: Option<u32>,
    /// A sentence without the line.
    pub what: String,
}

type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    fn unknown(what: impl fmt::Display) -> Self {
        Self::new(format!("the translator does not know {what}"))
    }

    /// It is of a variable.
    fn of(self, name: &str) -> Self {
        Self { what: format!("{} (of the variable {name})", self.what), ..self }
    }

    fn at(self, line: u32) -> Self {
        Self { line: self.line.or((line != 0).then_some(line)), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Error {}

/// What has to be there, or else is not known.
trait Known<T> {
    fn known(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> Known<T> for Option<T> {
    fn known(self, what: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Error::unknown(what))
    }
}

/// PTX of a module of LLVM IR, with the same bytes for the same IR.
pub fn translate(ir: &str) -> Result<String> {
    // Each instruction has one line: the cases of a switch have their own in LLVM's text.
    module::write(&read::module(&ir.replace("\n    ", " ").replace("\n  ]", " ]"))?)
}
