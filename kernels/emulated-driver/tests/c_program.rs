//! A program in C, which is linked with the emulated driver as with NVIDIA's.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

#[test]
fn a_program_in_c_runs() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-program");
    std::fs::create_dir_all(&folder).unwrap();
    let library = std::env::current_exe().unwrap().with_file_name("libemulated_driver.so");
    for name in ["libcuda.so", "libcuda.so.1"] {
        match symlink(&library, folder.join(name)) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => made.unwrap(),
        }
    }
    let program = folder.join("program");
    let run = |command: &mut Command| {
        let ended = command.output().unwrap();
        let (out, err) = (ended.stdout, String::from_utf8_lossy(&ended.stderr).into_owned());
        assert!(ended.status.success() && err.is_empty(), "{command:?}: {err}");
        String::from_utf8(out).unwrap()
    };
    run(Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &sources.join("program.c")])
        .arg(format!("-L{0}", folder.display()))
        .arg("-lcuda"));
    let said = run(Command::new(&program)
        .arg(sources.join("add.ptx"))
        .env("LD_LIBRARY_PATH", &folder)
        .env_remove("CUDA_VISIBLE_DEVICES"));
    assert_eq!(said, "all of it\n");
}
