//! Kernels with a race in shared memory end with a sentence that names both accesses and
//! what would order them; kernels that only look as if they had one do not.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Device, word};
use emulator::FaultKind;

/// Runs a kernel of `races.cu` on one block. What it fails with is a race.
fn outcome(kernel: &str, threads: u32) -> Result<(), String> {
    let mut device = Device::tests("races");
    let input = device.words("in", (0..128).map(word));
    let output = device.words("out", (0..128).map(|_| 0));
    let lock = device.words("lock", [0].into_iter());
    let arguments = arguments![u64 input, u64 output, u64 lock];
    let ran = device.run(kernel, [1, 1, 1], [threads, 1, 1], &arguments);
    ran.map(drop).map_err(|fault| {
        assert_eq!(fault.kind, FaultKind::Race, "{fault}");
        fault.to_string()
    })
}

const BLOCK: &str = ", with no barrier between (__syncthreads() orders them)";
const WARP: &str = ", with no barrier between (lanes of a warp are not in step: \
                    __syncwarp() orders them)";
const FENCE: &str = ", with no barrier between (__syncthreads() orders them, or a flag or \
                     lock with __threadfence_block() before it is set)";
const ATOMIC: &str = ", with no barrier between (__syncthreads() orders them, or one atomic \
                      operation in place of the line)";
const ONE: &str = ", with no barrier between (one thread should write, or all of them the \
                   same)";
const COPY: &str = " has yet to write: that thread must wait for its copies, and then all \
                    at a barrier";

#[test]
fn wrong_kernels() {
    // Threads, the lines of the earlier access and of the later one, what orders them.
    for (kernel, threads, [earlier, later], remedy) in [
        ("no_barrier", 128, [14, 13], BLOCK),
        ("volatile_is_no_barrier", 128, [21, 20], BLOCK),
        ("barrier_only_before", 128, [29, 31], BLOCK),
        ("no_warp_barrier", 32, [40, 41], WARP),
        ("a_volatile_reduction", 32, [50, 51], WARP),
        ("warp_barrier_for_a_block", 128, [61, 59], BLOCK),
        ("half_a_warp_barrier", 32, [69, 74], WARP),
        ("a_barrier_for_some", 128, [81, 86], BLOCK),
        ("a_flag_without_a_fence", 128, [97, 103], FENCE),
        ("a_lock_without_a_fence", 128, [115, 115], FENCE),
        ("a_count_without_an_atomic", 128, [127, 127], ATOMIC),
        ("read_beside_atomics", 128, [139, 138], BLOCK),
        ("different_values", 128, [145, 145], ONE),
        ("a_copy_without_a_wait", 128, [153, 164], COPY),
        ("a_copy_without_a_barrier", 128, [173, 153], BLOCK),
        ("a_copy_over_what_is_read", 128, [183, 181], BLOCK),
    ] {
        let text = outcome(kernel, threads).expect_err(kernel);
        let file = "races.cu";
        let expected = format!(
            "at line {earlier} of {file}{remedy}, at line {later} of {file}, block"
        );
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn right_kernels() {
    for (kernel, threads) in [
        ("a_barrier", 128),
        ("a_warp_barrier", 32),
        ("small_groups", 32),
        ("two_halves", 128),
        ("producers_and_consumers", 128),
        ("a_flag_with_a_fence", 128),
        ("a_flag_for_a_warp", 128),
        ("in_turns", 128),
        ("a_spin_lock", 64),
        ("a_lock_elsewhere", 64),
        ("acquire_and_release", 128),
        ("the_last_warp", 128),
        ("atomics_between_barriers", 128),
        ("the_same_value", 128),
        ("a_copy_with_a_wait", 128),
        ("neighbouring_bytes", 128),
    ] {
        assert_eq!(outcome(kernel, threads), Ok(()));
    }
}
