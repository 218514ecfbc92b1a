//! A program in C, which is linked with the emulated driver as with NVIDIA's.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::path::Path;
use std::process::Command;

#[test]
fn a_program_in_c_runs() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common");
    let folder = common::folder();
    let run = |command: &mut Command| {
        let ended = command.output().unwrap();
        let [out, err] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
        (ended.status.code(), out, err)
    };
    let program = |name: &str, order: &str| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let (code, _, err) = run(Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([&program, &sources.join(format!("{name}.c"))])
            .arg(format!("-L{0}", folder.display()))
            .arg("-lcuda"));
        assert_eq!((code, err.as_str()), (Some(0), ""));
        run(Command::new(&program)
            .arg(sources.join("add.ptx"))
            .env("LD_LIBRARY_PATH", &folder)
            .env("WORKBOOK_EMULATED_ORDER", order)
            .env_remove("CUDA_VISIBLE_DEVICES"))
    };
    assert_eq!(program("program", "0"), (Some(0), "all of it\n".to_owned(), String::new()));
    // It gives its own context back, and has no primary one.
    let (code, _, err) = program("program", "1");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.starts_with("emulated driver: order: "), "{err}");

    // The next step is told once, whatever the runtime says then.
    let (code, out, err) = program("runtime", "0");
    assert_eq!((code, out.as_str(), err.lines().count()), (Some(0), "", 1), "{err}");
    assert!(err.ends_with("one by one: cargo workbook check my.cu\n"), "{err}");
}
