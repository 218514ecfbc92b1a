//! Translates LLVM IR to PTX: `translate FILE.ll …` writes `FILE.ptx` beside each.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut failed = 0;
    for path in std::env::args().skip(1) {
        let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let ptx = read.and_then(|ir| translator::translate(&ir).map_err(|error| error.to_string()));
        let target = std::path::Path::new(&path).with_extension("ptx");
        let written = ptx.and_then(|ptx| std::fs::write(target, ptx).map_err(|e| e.to_string()));
        if let Err(error) = written {
            eprintln!("{path}: {error}");
            failed += 1;
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
