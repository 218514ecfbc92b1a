//! What commands print, whoever reads it. Where nobody reads any more (`| head`), the rest is
//! not printed, and the command goes on; where it cannot be written, the command fails.

use std::fmt::{self, Arguments, Display, Formatter};
use std::io::{ErrorKind, Write};
use std::sync::Mutex;

use anyhow::{Result, bail};
use lab::layout::{width, wrap};

/// Why the first line that could not be written was not.
static UNWRITTEN: Mutex<Option<String>> = Mutex::new(None);

/// A command that cannot be carried out as it was given, whatever the machine.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl WrongUsage {
    /// The exit code, which clap uses, too.
    pub(crate) const CODE: u8 = 2;
}

impl Display for WrongUsage {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// Prints a line on standard output.
pub(crate) fn line(text: Arguments) {
    match writeln!(anstream::stdout(), "{text}") {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            let mut unwritten = UNWRITTEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            unwritten.get_or_insert(e.to_string());
        }
        _ => {}
    }
}

/// Prints a line on standard error. If that cannot be written, there is nobody to tell.
pub(crate) fn complaint(text: Arguments) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// `text` with its sentences on lines of at most as many characters as there is room for. What is
/// indented, as a compiler's view of a source is, stays as it is.
pub(crate) fn sentences(text: &str) -> String {
    let wrapped = |line: &str| {
        let fits = line.chars().count() <= width() || line.starts_with(char::is_whitespace);
        if fits { line.to_owned() } else { wrap(line, width(), 0) }
    };
    text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n")
}

/// Fails if a line could not be written.
pub(crate) fn check() -> Result<()> {
    let mut unwritten = UNWRITTEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(why) = unwritten.take() {
        bail!("standard output cannot be written: {why}");
    }
    Ok(())
}

/// [`line()`], as `println!`.
macro_rules! say {
    () => { $crate::terminal::line(format_args!("")) };
    ($($text:tt)*) => { $crate::terminal::line(format_args!($($text)*)) };
}

/// [`complaint`], as `eprintln!`.
macro_rules! complain {
    ($($text:tt)*) => { $crate::terminal::complaint(format_args!($($text)*)) };
}

/// Returns [`WrongUsage`], as `bail!` returns another error.
macro_rules! misused {
    ($($text:tt)*) => { return Err($crate::terminal::WrongUsage(format!($($text)*)).into()) };
}
pub(crate) use {complain, misused, say};
