//! A learner's kernel is compiled by a process of its own: a compiler may crash on it, or never end,
//! or open whatever an `#include` names.

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;
use lab::compiler::{self, Compiler, Job, Unit};
use lab::kernel;
use referee::compiler::advice;

use crate::process::{self, Bounds, End, Ended};

/// The hidden command of `cargo workbook` that [`mod@compiler`] is for.
pub const COMMAND: &str = "compile-kernel";

const BOUNDS: Bounds =
    Bounds { time: Duration::from_secs(10), output_bytes: 8 << 20, memory_bytes: 1 << 30 };

/// PTX of a source, of which messages speak as of `file`. The inner error is the compiler's, with
/// what it means here.
pub fn compile(file: &str, unit: &Unit, compute: &str) -> Result<Result<String, String>> {
    let clang = match Compiler::find()? {
        Compiler::Nvrtc(_) => None,
        Compiler::Clang(clang) => Some(clang.job(file, unit, compute)?),
    };
    let Ended { end, out, err } = match clang {
        // What the job needs stays until it has ended.
        Some(Job { command, ref input, .. }) => process::run(command, input, BOUNDS)?,
        None => {
            let mut command = Command::new(std::env::current_exe()?);
            command.args([COMMAND, file, compute]);
            process::run(command, &serde_json::to_string(unit)?, BOUNDS)?
        }
    };
    let said = compiler::said(&err);
    Ok(match end {
        End::Code(0) => Ok(compiler::ptx(&out)),
        End::Code(_) => Err(compiler_text(&said, compute)),
        end => Err(format!(
            "{said}\nthe compiler {end}; does a macro or a template expand without end, \
             or is the machine busy?"
        )
        .trim_start()
        .to_owned()),
    })
}

/// What `cargo workbook compile-kernel FILE COMPUTE` does: its input is a [`Unit`], its output PTX.
pub fn compiler(file: &str, compute: &str) -> Result<ExitCode> {
    let unit = serde_json::from_reader(std::io::stdin())?;
    kernel::nvrtc_version()?;
    // The first time, NVRTC opens what it needs. A learner's source needs nothing.
    kernel::compile_file("nothing.cu", &Unit::default(), compute)?;
    open_nothing();
    Ok(match kernel::compile_file(file, &unit, compute) {
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

/// What NVRTC advises for options that cannot be set here.
const OPTION: &str = " Consider using -default-device flag to process unannotated functions as \
                      __device__ functions in JIT mode";

/// Why it opens no file: it may not, see [`open_nothing`].
const NO_FILE: &str = ": Too many open files";

/// What a compiler says, without advice on how to silence it.
fn compiler_text(text: &str, compute: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("Remark: ") && !line.trim().is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut text = text.replace(OPTION, "").replace(NO_FILE, "");
    for advice in advice(&text, compute) {
        text += &format!("\n{advice}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_of_the_compiler_is_what_one_can_do_here() {
        let said = "k.cu(1): error: A function without execution space annotations \
                    (__host__/__device__/__global__) is considered a host function, and host \
                    functions are not allowed in JIT mode.";
        let text = compiler_text(&format!("{said}{OPTION}\n"), "7.5");
        assert_eq!(text, format!("{said}\n{}", advice(said, "7.5")[0]));
        let said = "k.cu(2): error: identifier \"__reduce_add_sync\" is undefined";
        let advice = "This needs compute capability 8.0, and the check compiles for 7.5.";
        assert_eq!(compiler_text(said, "7.5"), format!("{said}\n{advice}"));
    }
}
