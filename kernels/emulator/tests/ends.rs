//! Nothing goes on for ever, and nothing takes all memory: what a kernel does too often or
//! too much of ends with a sentence.

use emulator::{Arguments, FaultKind, Options};

use crate::common::Device;

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
        ("barriers", "lanes 0-31 of warp 1 ", 13..19, fault("barriers", 64, stepped)),
        ("atomics", "lanes 0-31 of warp 1 run", 24..25, fault("atomics", 64, counter)),
        ("prints", "lane 0 of warp 0 runs", 30..32, { fault("prints", 1, |_| arguments![u32 0]) }),
    ] {
        assert_eq!(kind, FaultKind::OverBudget, "{text}");
        assert!(text.starts_with(&format!("{kernel}: {endless}")), "{text}");
        assert!(text.contains(lanes), "{text}");
        let named =
            lines.clone().any(|line| text.contains(&format!(" at line {line} of without-end.cu")));
        assert!(named, "{lines:?}: {text}");
    }
}

#[test]
fn the_budget_is_of_a_block() {
    let mut device = Device::tests("without-end");
    let budget = 100_000;
    device.options = Options { budget, ..Options::default() };
    // 60 blocks, each with more than a 60th of the budget.
    let mut run = |lines| device.run("prints_lines", [60, 1, 1], ONE, &arguments![u32 lines]);
    assert!(run(300).unwrap().total().instructions > budget);
    assert_eq!(run(50_000).unwrap_err().kind, FaultKind::OverBudget);
}

/// Nobody sets the flag, and it takes seconds to say so.
#[test]
fn a_warp_that_waits_for_nobody_is_told_from_one_that_computes() {
    let ptx = "
        .version 8.4
        .target sm_75
        .address_size 64
        .visible .entry waits(.param .u64 flag) {
            .reg .b32 %r1;
            .reg .b64 %d1;
            .reg .pred %p;
            ld.param.u64 %d1, [flag];
            again: ld.volatile.global.u32 %r1, [%d1];
            setp.eq.u32 %p, %r1, 0;
            @%p bra again;
            ret;
        }";
    let mut device = Device::of(ptx);
    let flag = device.words("flag", 0..1);
    let fault = device.run("waits", ONE, [32, 1, 1], &arguments![u64 flag]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
    assert!(fault.to_string().contains("a deadlock: all threads wait"), "{fault}");
}

/// The second warp meets at a barrier of its own, and then raises what the first one looks at.
#[test]
fn a_barrier_of_some_opens_while_others_look_at_a_flag() {
    let ptx = "
        .version 8.4
        .target sm_75
        .address_size 64
        .visible .entry flag(.param .u64 flag) {
            .reg .b32 %r<3>;
            .reg .b64 %d1;
            .reg .pred %p;
            ld.param.u64 %d1, [flag];
            mov.u32 %r1, %tid.x;
            setp.ge.u32 %p, %r1, 32;
            @%p bra second;
            first: ld.acquire.gpu.global.u32 %r2, [%d1];
            setp.eq.u32 %p, %r2, 0;
            @%p bra first;
            ret;
            second: bar.sync 1, 32;
            setp.ne.u32 %p, %r1, 32;
            @%p bra end;
            mov.u32 %r2, 7;
            st.release.gpu.global.u32 [%d1], %r2;
            end: ret;
        }";
    for backwards in [false, true] {
        let mut device = Device::of(ptx);
        device.options.backwards = backwards;
        let flag = device.words("flag", 0..1);
        device.run("flag", ONE, [64, 1, 1], &arguments![u64 flag]).unwrap();
        assert_eq!(device.read(flag, 1), [7]);
    }
}

#[test]
fn who_has_a_clock_can_end_a_long_block_but_no_short_one() {
    let mut device = Device::tests("without-end");
    device.options.stop = Some(|| true);
    let out = device.words("out", [0; 64].into_iter());
    let mut run = |step| device.run("stores", ONE, [64, 1, 1], &arguments![u64 out, u32 step]);
    run(1).unwrap();
    let fault = run(0).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OverBudget, "{fault}");
    let said = "it takes too long; find the condition that never ends a loop: lanes 0-31 of warp";
    assert!(fault.to_string().contains(said), "{fault}");
}

#[test]
fn what_is_printed_first_is_lost() {
    let printed = |print_bytes| {
        let mut device = Device::tests("without-end");
        device.options = Options { print_bytes, ..Options::default() };
        let arguments = arguments![u32 30];
        let counts = device.run("prints_lines", [40, 1, 1], ONE, &arguments).unwrap();
        (counts.printed, counts.printed_before)
    };
    let (all, before) = printed(1 << 20);
    assert_eq!((all.lines().count(), before), (1200, 0));
    assert!(all.ends_with("\nblock   39, line      29 ä\n"), "{all}");
    let line = all.len() / 1200;
    for bytes in [1, line - 1, line, 2 * line + 5, 500 * line + 26, 1199 * line] {
        let (last, before) = printed(bytes);
        assert!(last.len() <= bytes && all.ends_with(&last), "{bytes}: {last}");
        assert_eq!(before as usize + last.len(), all.len());
        assert_eq!(last.lines().count(), (bytes - 1) / line, "{bytes}");
    }
}

#[test]
fn a_number_is_not_padded_without_limit() {
    let mut device = Device::tests("without-end");
    let counts = device.run("wide_number", ONE, ONE, &Arguments::new()).unwrap();
    assert_eq!(counts.printed.len(), 4096 + " and ".len() + "0.".len() + 4096);
}

#[test]
fn local_memory_has_a_limit() {
    let mut device = Device::tests("without-end");
    let out = device.words("out", 0..32);
    let arguments = arguments![u64 out, u32 31];
    let fault = device.run("large_array", ONE, [1024, 1, 1], &arguments);
    let text = fault.unwrap_err().to_string();
    assert!(
        text.contains(
            "a thread needs 1048576 bytes of local memory and may have 524288 (512 KiB): \
             make its arrays smaller, or put them into a buffer"
        ),
        "{text}"
    );
    // What a function has is free when it returns.
    let kernel = device.module.kernel("arrays_in_functions").unwrap();
    let bytes = kernel.local_bytes;
    assert!((400 << 10..401 << 10).contains(&bytes), "{bytes}");
    let arguments = arguments![u64 out, u32 0];
    device.run("arrays_in_functions", ONE, [32, 1, 1], &arguments).unwrap();
    // first(0, v) is v, and second(0, v) is 2 v.
    assert!(device.read(out, 32).into_iter().eq((0..32).map(|thread| 3 * thread)));
}

#[test]
fn copies_in_flight_have_a_limit() {
    let ptx = "
        .version 8.4
        .target sm_80
        .address_size 64
        .visible .entry copies(.param .u64 in, .param .u32 turns) {
            .reg .b32 %r<5>;
            .reg .b64 %d<2>;
            .reg .pred %p;
            .shared .align 16 .b8 tile[4096];
            ld.param.u64 %d1, [in];
            ld.param.u32 %r2, [turns];
            mov.u32 %r1, %tid.x;
            mov.u32 %r4, tile;
            again: and.b32 %r3, %r1, 255;
            shl.b32 %r3, %r3, 4;
            add.u32 %r3, %r3, %r4;
            cp.async.cg.shared.global [%r3], [%d1], 16;
            cp.async.commit_group;
            add.u32 %r1, %r1, 33;
            sub.u32 %r2, %r2, 1;
            setp.ne.u32 %p, %r2, 0;
            @%p bra again;
            cp.async.wait_all;
            ret;
        }";
    let mut device = Device::of(ptx);
    device.options.checks.races = false; // which would end it sooner
    let input = device.words("in", 0..4);
    let mut run = |turns| device.run("copies", ONE, [32, 1, 1], &arguments![u64 input, u32 turns]);
    run(7).unwrap(); // no two write the same word
    let fault = run(1 << 30).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Race);
    let text = fault.to_string();
    assert!(
        text.contains(
            "warp 0 has 1056 asynchronous copies in flight, more than the block's shared \
             memory has words (1024): some write the same word, in no order; wait for the \
             earlier ones, with cp.async.wait_group or __pipeline_wait_prior, at line 17"
        ),
        "{text}"
    );
}
