//! A program that knows nothing of the workbook, run as its reader does: `cargo run`, with the
//! emulated driver where the loader looks first.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::path::Path;
use std::process::Command;

/// Its output and what the driver says of it, under a schedule.
fn run(argument: &str, seed: &str) -> (String, String) {
    let ended = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "emulated-driver", "--example", "missing-wait"])
        .args(["--", argument])
        .env("LD_LIBRARY_PATH", common::folder())
        .env("WORKBOOK_EMULATED_ORDER", "1")
        .env("WORKBOOK_EMULATED_SCHEDULE", seed)
        .env_remove("CUDA_VISIBLE_DEVICES")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(ended.stdout), text(ended.stderr))
}

#[test]
fn a_missing_wait_is_named_and_so_is_memory_that_is_freed_too_soon() {
    let (_, said) = run("", "0");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/check/missing-wait.txt");
    let shown = std::fs::read_to_string(page).unwrap();
    let found: Vec<_> = said.lines().filter(|line| line.contains(": order: ")).collect();
    assert_eq!(found, shown.lines().collect::<Vec<_>>(), "{said}");
}

#[test]
fn a_program_in_order_is_told_so_under_any_schedule() {
    for seed in ["0", "1", "2"] {
        let (printed, said) = run("ordered", seed);
        assert_eq!(printed, "1.5\n", "{said}");
        let order = "emulated driver: order: ";
        assert_eq!(said, format!("{order}all work that uses the same memory is in order\n"));
    }
}
