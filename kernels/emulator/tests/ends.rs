//! Nothing goes on for ever: a loop without an end ends with a sentence.
#![allow(clippy::unwrap_used)]

mod common;

use common::Device;
use emulator::{Arguments, FaultKind, Options};

const ONE: [u32; 3] = [1, 1, 1];

/// Runs a kernel of `without-end.cu` on one block, which fails.
fn fault(
    kernel: &str,
    threads: u32,
    arguments: impl Fn(&mut Device) -> Arguments,
) -> (FaultKind, String) {
    let mut device = Device::tests("without-end");
    device.options.budget = 1 << 20;
    let arguments = arguments(&mut device);
    let fault = device.run(kernel, ONE, [threads, 1, 1], &arguments).unwrap_err();
    (fault.kind, fault.to_string())
}

#[test]
fn a_loop_in_which_something_happens_ends() {
    let words = |device: &mut Device| device.words("out", [0; 64].into_iter());
    let stepped = |device: &mut Device| arguments![u64 words(device), u32 0];
    let counter = |device: &mut Device| arguments![u64 words(device)];
    let endless = "a loop without an end: the block has executed 1048576 instructions, as \
                   many as a block may; find the condition that never ends the loop: ";
    for (kernel, lanes, lines, (kind, text)) in [
        ("stores", "lanes 0-31 of warp 0 run", 5..7, fault("stores", 64, stepped)),
        (
            "barriers",
            "lanes 0-31 of warp 1 ",
            13..19,
            fault("barriers", 64, stepped),
        ),
        (
            "atomics",
            "lanes 0-31 of warp 1 run",
            24..25,
            fault("atomics", 64, counter),
        ),
        ("prints", "lane 0 of warp 0 run", 30..32, {
            fault("prints", 1, |_| arguments![u32 0])
        }),
    ] {
        assert_eq!(kind, FaultKind::OverBudget, "{text}");
        assert!(text.starts_with(&format!("{kernel}: {endless}")), "{text}");
        assert!(text.contains(lanes), "{text}");
        let named = lines.clone().any(|line| {
            text.contains(&format!(" at line {line} of without-end.cu"))
        });
        assert!(named, "{lines:?}: {text}");
    }
}

#[test]
fn the_budget_is_of_a_block_and_the_same_for_any_number_of_threads() {
    let told = [1, 3].map(|threads| {
        let mut device = Device::tests("without-end");
        let (budget, stretch) = (100_000, 1);
        device.options = Options { budget, threads, stretch, ..Options::default() };
        // 60 blocks, each with more than a 60th of the budget.
        let mut run = |lines| {
            device.run("prints_lines", [60, 1, 1], ONE, &arguments![u32 lines])
        };
        let counts = run(300).unwrap();
        assert!(counts.total().instructions > budget);
        (counts.printed, run(50_000).unwrap_err())
    });
    assert_eq!(told[0], told[1]);
}
