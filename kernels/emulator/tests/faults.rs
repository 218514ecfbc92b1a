//! Kernels that are wrong end with a sentence that says how and where; kernels that only
//! look wrong do not.

use emulator::{Arguments, FaultKind, NoteKind};

use crate::common::Device;

/// Runs a kernel of `faults.cu` on one block and expects it to fail.
fn fault(
    device: &mut Device,
    kernel: &str,
    threads: u32,
    arguments: &Arguments,
) -> (FaultKind, String) {
    let result = device.run(kernel, [1, 1, 1], [threads, 1, 1], arguments);
    let fault = result.expect_err("the kernel is wrong");
    (fault.kind, fault.to_string())
}

#[test]
fn out_of_bounds() {
    let mut device = Device::tests("faults");
    let input = device.words("in", 0..100);
    let output = device.fresh("out", 100);
    let arguments = arguments![u64 input, u64 output];
    let (kind, text) = fault(&mut device, "out_of_bounds", 128, &arguments);
    assert_eq!(kind, FaultKind::OutOfBounds);
    let address = input + 400;
    assert_eq!(
        text,
        format!(
            "out_of_bounds: reads 4 bytes at {address:#x}: right behind the end of in \
             (400 bytes at {input:#x}), at line 6 of faults.cu, block (0, 0, 0), thread \
             (100, 0, 0)"
        )
    );
}

#[test]
fn null() {
    let mut device = Device::tests("faults");
    let output = device.fresh("out", 32);
    let arguments = arguments![u64 0, u64 output];
    let (kind, text) = fault(&mut device, "out_of_bounds", 32, &arguments);
    assert_eq!(kind, FaultKind::OutOfBounds);
    assert!(text.contains("reads 4 bytes at 0x0: a null pointer, or near one"), "{text}");
}

/// What `in[i - 1]` reads in thread 0, with an unsigned `i`.
#[test]
fn an_index_that_wrapped_round() {
    let mut device = Device::tests("faults");
    let input = device.words("in", 0..32);
    let output = device.fresh("out", 32);
    let wrapped = "far from every buffer (an unsigned index below 0 wraps round to 4294967295: \
                   is it `i - 1` with `i` = 0?)";
    for (off, place) in [
        ((4 << 32) - 4, wrapped),
        ((4 << 32) - 4096, wrapped),
        ((2 << 32) - 4, "past the end of out (128 bytes at "),
        ((4 << 32) + (4 << 31), "past the end of out (128 bytes at "),
    ] {
        let arguments = arguments![u64 input + off, u64 output];
        let (kind, text) = fault(&mut device, "out_of_bounds", 32, &arguments);
        assert_eq!(kind, FaultKind::OutOfBounds);
        assert!(text.contains(place), "{off}: {text}");
    }
}

#[test]
fn a_buffer_of_one_byte() {
    let mut device = Device::tests("faults");
    let input = device.memory.allocate(1, "in").unwrap();
    let arguments = arguments![u64 input, u64 input];
    let (_, text) = fault(&mut device, "out_of_bounds", 32, &arguments);
    let expected = format!("in (1 byte at {input:#x}) is 3 bytes too short");
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn use_after_free() {
    let mut device = Device::tests("faults");
    let input = device.words("in", 0..32);
    let output = device.fresh("out", 32);
    device.memory.free(output).unwrap();
    let arguments = arguments![u64 input, u64 output];
    let (kind, text) = fault(&mut device, "out_of_bounds", 32, &arguments);
    assert_eq!(kind, FaultKind::UseAfterFree);
    assert!(text.contains("in out, which was freed, at line 6 of faults.cu"), "{text}");
}

#[test]
fn misaligned() {
    let mut device = Device::tests("faults");
    let input = device.words("in", 0..256);
    let output = device.fresh("out", 256);
    let arguments = arguments![u64 input, u64 output];
    let (kind, text) = fault(&mut device, "misaligned", 32, &arguments);
    assert_eq!(kind, FaultKind::Misaligned);
    let address = input + 4;
    let expected = format!(
        "reads 16 bytes at {address:#x}, which is no multiple of 16, at line 11 of \
         faults.cu"
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn unwritten() {
    let mut device = Device::tests("faults");
    let (input, output) = (device.fresh("in", 64), device.fresh("out", 64));
    device.memory.write(input, &[0; 132]).unwrap();
    let arguments = arguments![u64 input, u64 output];
    let (kind, text) = fault(&mut device, "out_of_bounds", 64, &arguments);
    assert_eq!(kind, FaultKind::Uninitialised);
    assert!(text.contains(", 132 bytes into in, where nothing was written"), "{text}");
    assert!(text.ends_with("thread (33, 0, 0)"), "{text}");

    let arguments = arguments![u64 output];
    let (kind, text) = fault(&mut device, "unwritten_shared", 64, &arguments);
    assert_eq!(kind, FaultKind::Uninitialised);
    assert!(text.contains("where the block has written nothing, at line 20"), "{text}");

    device.options.checks.initialised = false;
    device.run("unwritten_shared", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    assert!(device.read(output, 64).into_iter().eq(0..64));
}

#[test]
fn past_the_end_of_shared_memory() {
    let mut device = Device::tests("faults");
    let output = device.fresh("out", 64);
    let arguments = arguments![u64 output, u32 2];
    let (kind, text) = fault(&mut device, "past_the_tile", 64, &arguments);
    assert_eq!(kind, FaultKind::OutOfBounds);
    assert!(
        text.contains(" of shared memory: right behind the end of the block's 256 bytes"),
        "{text}"
    );
}

#[test]
fn dynamic_shared_memory_that_nobody_asked_for() {
    let mut device = Device::tests("faults");
    let output = device.fresh("out", 32);
    let arguments = arguments![u64 output];
    let (kind, text) = fault(&mut device, "dynamic_without_bytes", 32, &arguments);
    assert_eq!(kind, FaultKind::OutOfBounds);
    let why = "writes 4 bytes at 0x0 of shared memory, and the block has none: the launch \
               asked for no dynamic shared memory; declare the array with a size";
    assert!(text.contains(why), "{text}");
}

#[test]
fn a_race() {
    let mut device = Device::tests("faults");
    let output = device.fresh("out", 64);
    let arguments = arguments![u64 output];
    let (kind, text) = fault(&mut device, "race", 64, &arguments);
    assert!(matches!(kind, FaultKind::Race | FaultKind::Uninitialised), "{kind:?}: {text}");
    device.options.checks.initialised = false;
    let (kind, text) = fault(&mut device, "race", 64, &arguments);
    assert_eq!(kind, FaultKind::Race);
    assert!(
        text.contains("with no barrier between (__syncthreads() orders them), at line"),
        "{text}"
    );
    assert!(text.contains("of faults.cu"), "{text}");
}

#[test]
fn barriers_that_not_all_reach() {
    let mut device = Device::tests("faults");
    let output = device.fresh("out", 64);
    for count in [32, 48] {
        let arguments = arguments![u64 output, u32 count];
        for kernel in ["barrier_in_a_branch", "barrier_after_return"] {
            let (kind, text) = fault(&mut device, kernel, 64, &arguments);
            assert_eq!(kind, FaultKind::Barrier);
            assert!(
                text.contains(&format!(
                    "a barrier that not all threads reach: {} of 64 have ended before \
                     it, thread ({count}, 0, 0) first",
                    64 - count
                )),
                "{text}"
            );
            assert!(text.contains("a GPU may go on without them"), "{text}");
        }
    }
    device.options.checks.barriers = false;
    let arguments = arguments![u64 output, u32 48];
    let counts = device.run("barrier_after_return", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let [note] = &counts.notes[..] else { panic!() };
    assert_eq!(note.kind, NoteKind::Barrier);
    assert!(note.to_string().contains("16 of 64 have ended before it"), "{note}");
}

#[test]
fn a_shuffle_from_a_lane_that_is_not_there() {
    let mut device = Device::tests("faults");
    let output = device.fresh("out", 32);
    let arguments = arguments![u64 output];
    let (kind, text) = fault(&mut device, "shuffle_from_outside", 32, &arguments);
    assert_eq!(kind, FaultKind::InactiveLane);
    assert!(
        text.contains(
            "lane 8 shuffles from lane 16, which takes no part: the active \
                       lanes are lanes 0-15, at line"
        ),
        "{text}"
    );
}

#[test]
fn beyond_an_array_of_several() {
    let mut device = Device::tests("faults");
    let output = device.words("out", (0..32).map(|_| 0));
    device.run("into_the_next_array", [1, 1, 1], [32, 1, 1], &arguments![u64 output]).unwrap();
    let output = device.words("out", (0..32).map(|lane| if lane == 31 { 5 } else { 0 }));
    let (kind, text) = fault(&mut device, "into_the_next_array", 32, &arguments![u64 output]);
    assert_eq!(kind, FaultKind::OutOfBounds);
    let expected = "into_the_next_array: writes 4 bytes at 0x90 of shared memory, many[4]: 16 \
                    bytes past the end of few, which has 128 bytes, at line 159 of faults.cu";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn lanes_that_do_not_come_to_a_shuffle() {
    let mut device = Device::tests("faults");
    let output = device.words("out", (0..32).map(|lane| u32::from(lane != 4)));
    let arguments = arguments![u64 output];
    let (kind, text) = fault(&mut device, "shuffle_in_a_branch", 32, &arguments);
    assert_eq!(kind, FaultKind::InactiveLane);
    let expected = "lanes 0-3, 5-31 name lane 4 in their mask, which does not come here: all \
                    lanes of a mask must come to the same instruction; leave them out of the \
                    mask, or take this out of the branch, at line 170 of faults.cu";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn numbers_of_threads() {
    let mut device = Device::tests("faults");
    let output = device.words("out", 0..64);
    for ([first, others], wrong) in [
        ([36, 36], "a barrier for 36 threads: the number has to be a multiple of 32"),
        ([64, 96], "waits at barrier 1 for 96 threads, and others there, at line "),
    ] {
        let arguments = arguments![u64 output, u32 first, u32 others];
        let (kind, text) = fault(&mut device, "barrier_for_some", 64, &arguments);
        assert_eq!(kind, FaultKind::Barrier);
        assert!(text.contains(wrong), "{text}");
    }
    let arguments = arguments![u64 output, u32 64, u32 64];
    device.run("barrier_for_some", [1, 1, 1], [64, 1, 1], &arguments).unwrap();

    for width in [1, 2, 4, 8, 16, 32] {
        let arguments = arguments![u64 output, u32 width];
        device.run("shuffle_of_width", [1, 1, 1], [32, 1, 1], &arguments).unwrap();
    }
    let arguments = arguments![u64 output, u32 12];
    let (kind, text) = fault(&mut device, "shuffle_of_width", 32, &arguments);
    assert_eq!(kind, FaultKind::InactiveLane);
    assert!(text.contains("a shuffle among 12 lanes: the width has to be a power of two"));
}

#[test]
fn no_progress() {
    let mut device = Device::tests("faults");
    device.options.patience = 1 << 20;
    let lock = device.words("lock", [0].into_iter());
    let output = device.words("out", [0].into_iter());
    let arguments = arguments![u64 lock, u64 output];
    let (kind, text) = fault(&mut device, "never_unlocked", 32, &arguments);
    assert_eq!(kind, FaultKind::NoProgress);
    let deadlock = "a deadlock: all threads wait, and no thread gets anywhere: lanes 1-31 of \
                    warp 0 run at line";
    assert!(text.contains(deadlock), "{text}");

    let arguments = arguments![u64 output];
    device.memory.write(output, &[0; 4]).unwrap();
    // Nobody will set the flag, however soon that is noticed.
    for budget in [device.options.budget, 1000] {
        device.options.budget = budget;
        let (kind, text) = fault(&mut device, "waits_for_ever", 1, &arguments);
        assert_eq!(kind, FaultKind::NoProgress);
        assert!(text.contains("a deadlock") && text.contains("lane 0 of warp 0 runs"));
        assert!(!text.contains("another block"), "{text}");
    }
    let fault = device.run("waits_for_ever", [2, 1, 1], [1, 1, 1], &arguments).unwrap_err();
    assert!(
        fault.to_string().contains("; if they wait for another block: blocks run in any order")
    );
}

#[test]
fn line_0_is_never_named() {
    let mut device = Device::tests("faults");
    let input = device.words("in", 0..256);
    let output = device.words("out", 0..256);
    let arguments = arguments![u64 input, u64 output, f32 2.0, u32 1];
    // Wherever the budget ends.
    for more in 0..16 {
        device.options.budget = (1 << 16) + more;
        let (kind, text) = fault(&mut device, "never_counts", 32, &arguments);
        assert_eq!(kind, FaultKind::OverBudget);
        assert!(!text.contains(" line 0 "), "{text}");
    }
}

#[test]
fn locks_and_flags_work() {
    let mut device = Device::tests("faults");
    let lock = device.words("lock", [0].into_iter());
    let count = device.words("count", [0].into_iter());
    let arguments = arguments![u64 lock, u64 count];
    device.run("spin_lock", [2, 1, 1], [64, 1, 1], &arguments).unwrap();
    assert_eq!(device.read(count, 1), [128]);
    // Many that wait for one lock, with the budget that exercises have.
    device.options.budget = 1 << 24;
    device.run("spin_lock", [3, 1, 1], [256, 1, 1], &arguments).unwrap();
    assert_eq!(device.read(count, 1), [128 + 768]);

    let flag = device.words("flag", [0].into_iter());
    let output = device.fresh("out", 64);
    let arguments = arguments![u64 flag, u64 output];
    device.run("wait_for_a_warp", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    assert!(device.read(output, 64).into_iter().eq(0..64));
}

#[test]
fn traps_and_assertions() {
    let mut device = Device::tests("faults");
    device.run("trapped", [1, 1, 1], [32, 1, 1], &arguments![u32 31]).unwrap();
    let (kind, text) = fault(&mut device, "barrier_of_the_grid", 1, &arguments![]);
    assert_eq!(kind, FaultKind::Unsupported);
    assert!(text.contains("needs a cooperative launch"), "{text}");
    let (kind, text) = fault(&mut device, "trapped", 32, &arguments![u32 7]);
    assert_eq!(kind, FaultKind::Trap);
    assert!(text.ends_with("thread (8, 0, 0)"), "{text}");
    let (kind, text) = fault(&mut device, "asserted", 32, &arguments![u32 7]);
    assert_eq!(kind, FaultKind::Assertion);
    assert!(text.contains("assertion `threadIdx.x <= limit` of line 113"), "{text}");
}

#[test]
fn launches_that_cannot_be_made() {
    let mut device = Device::tests("faults");
    let arguments = arguments![u64 0];
    for (kernel, threads, expected) in [
        ("absent", 32, "absent: there is no such kernel"),
        ("race", 2048, "race: a block of 2048 × 1 × 1 threads: it has 1 to 1024"),
        ("misaligned", 32, "misaligned: 8 bytes of arguments, of 16 that it takes"),
    ] {
        let (kind, text) = fault(&mut device, kernel, threads, &arguments);
        assert_eq!((kind, text.as_str()), (FaultKind::BadLaunch, expected));
    }
    let (kind, text) = fault(&mut device, "too_much_shared", 32, &arguments);
    let expected = "too_much_shared: it declares 66688 bytes of shared memory (its largest \
                    array is `rows`) and may declare 49152 (48 KiB): use a smaller array; more \
                    than 48 KiB has to be dynamic shared memory, which the launch asks for, at \
                    line 125 of faults.cu";
    assert_eq!((kind, text.as_str()), (FaultKind::BadLaunch, expected));
    let (kind, text) = fault(&mut device, "recursive", 1, &arguments);
    assert_eq!(kind, FaultKind::Unsupported);
    assert!(text.contains("calls itself, which is not supported"), "{text}");
}
