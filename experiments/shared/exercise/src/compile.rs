//! A learner's kernel is compiled by a process of its own: NVRTC may crash on it, or never end, or
//! open whatever an `#include` names.

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;
use lab::kernel;

use crate::process::{self, Bounds, End, Ended};

/// The hidden command of `cargo workbook` that [`compiler`] is for.
pub const COMMAND: &str = "compile-kernel";

const BOUNDS: Bounds =
    Bounds { time: Duration::from_secs(10), output_bytes: 8 << 20, memory_bytes: 1 << 30 };

/// PTX of a source, of which messages speak as of `file`. The inner error is the compiler's.
pub(crate) fn compile(file: &str, source: &str, compute: &str) -> Result<Result<String, String>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([COMMAND, file, compute]);
    let Ended { end, out, err } = process::run(command, source, BOUNDS)?;
    let said = err.trim();
    Ok(match end {
        End::Code(0) => Ok(out),
        End::Code(_) => Err(said.to_owned()),
        end => Err(format!(
            "{said}\nthe compiler {end}; does a macro or a template expand without end?"
        )
        .trim_start()
        .to_owned()),
    })
}

/// What `cargo workbook compile-kernel FILE COMPUTE` does: PTX of its input is its output.
pub fn compiler(file: &str, compute: &str) -> Result<ExitCode> {
    let source = std::io::read_to_string(std::io::stdin())?;
    kernel::nvrtc_version()?;
    // The first time, NVRTC opens what it needs. A learner's source needs nothing.
    kernel::compile_file("nothing.cu", "", compute)?;
    open_nothing();
    Ok(match kernel::compile_file(file, &source, compute) {
        Ok(ptx) => {
            print!("{ptx}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    })
}

/// From now on this process can open no file, where the system knows such a limit.
fn open_nothing() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let _ = setrlimit(Resource::Nofile, none); // less than now can always be set
    }
}
