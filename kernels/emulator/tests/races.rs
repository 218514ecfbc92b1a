//! Kernels with a race in shared or device memory end with a sentence that names both
//! accesses and what would order them; kernels that only look as if they had one do not.

use emulator::FaultKind;

use crate::common::{Device, word};

/// Runs a kernel of `races.cu` on one block. What it fails with is of this kind.
fn outcome_of(kernel: &str, threads: u32, kind: FaultKind) -> Result<(), String> {
    let mut device = Device::tests("races");
    let input = device.words("in", (0..128).map(word));
    let output = device.words("out", (0..128).map(|_| 0));
    let lock = device.words("lock", [0].into_iter());
    let arguments = arguments![u64 input, u64 output, u64 lock];
    let ran = device.run(kernel, [1, 1, 1], [threads, 1, 1], &arguments);
    ran.map(drop).map_err(|fault| {
        assert_eq!(fault.kind, kind, "{fault}");
        fault.to_string()
    })
}

fn outcome(kernel: &str, threads: u32) -> Result<(), String> {
    outcome_of(kernel, threads, FaultKind::Race)
}

/// What is said of accesses at these lines, and of what would order them.
fn said(file: &str, [earlier, later]: [u32; 2], remedy: &str) -> String {
    let there = match earlier == later {
        true => "the same line".to_owned(),
        false => format!("line {earlier} of {file}"),
    };
    format!(" at {there}{remedy}, at line {later} of {file}, block")
}

/// Runs a kernel of `global-races.cu`. What it fails with is a race.
fn global_outcome(kernel: &str, [blocks, threads]: [u32; 2]) -> Result<(), String> {
    let mut device = Device::tests("global-races");
    let input = device.words("in", (0..512).map(word));
    let output = device.words("out", (0..1024).map(|_| 0));
    let flag = device.words("flag", (0..8).map(|_| 0));
    let arguments = arguments![u64 input, u64 output, u64 flag];
    let ran = device.run(kernel, [blocks, 1, 1], [threads, 1, 1], &arguments);
    ran.map(drop).map_err(|fault| {
        assert_eq!(fault.kind, FaultKind::Race, "{fault}");
        fault.to_string()
    })
}

const BLOCK: &str = ", with no barrier between (__syncthreads() orders them)";
const WARP: &str = ", with no barrier between (lanes of a warp are not in step: \
                    __syncwarp() orders them; or pass the value by __shfl_sync(), or give \
                    each lane its own element)";
const VOLATILE_BLOCK: &str = ", with no barrier between (`volatile` orders no threads; \
                              __syncthreads() orders them)";
const VOLATILE_WARP: &str = ", with no barrier between (`volatile` orders no threads; lanes of a \
                             warp are not in step: __syncwarp() orders them; or pass the value by \
                             __shfl_sync(), or give each lane its own element)";
const WARPS: &str = ", with no barrier between (__syncthreads() orders them; __syncwarp() is \
                     enough if only lanes of one warp share the element)";
const MEANT: &str = ", with no barrier between (did you mean both to write it? If not, the \
                     index is wrong. If so, __syncthreads() orders them)";
const FENCE: &str = ", with no barrier between (__syncthreads() orders them, or a flag or \
                     lock with __threadfence_block() before it is set)";
const ATOMIC: &str = ", with no barrier between (__syncthreads() orders them, or one atomic \
                      operation in place of the line)";
const SHARED: &str = ", with no barrier between (did you mean both to use this element? If \
                      not, the index is wrong. If so, __syncthreads() orders them, or one \
                      atomic operation in place of the line)";
const ONE: &str = ", with no barrier between (did you mean both to write it? If not, the \
                   index is wrong. If so, one thread should write, or all of them the same)";
const VOLATILE_ONE: &str = ", with no barrier between (`volatile` orders no threads; one thread \
                            should write, or all of them the same)";
const COPY: &str = " has yet to write: that thread must wait for its copies, and then all \
                    at a barrier";

#[test]
fn wrong_kernels() {
    // Threads, the lines of the earlier access and of the later one, what orders them.
    for (kernel, threads, lines, remedy) in [
        ("no_barrier", 128, [14, 13], BLOCK),
        ("volatile_is_no_barrier", 128, [21, 20], VOLATILE_BLOCK),
        ("barrier_only_before", 128, [29, 31], BLOCK),
        ("no_warp_barrier", 32, [40, 41], WARP),
        ("a_volatile_reduction", 32, [50, 51], VOLATILE_WARP),
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
        ("two_lines_write", 128, [441, 440], MEANT),
        ("neighbours_of_one_warp", 128, [449, 450], WARPS),
        ("a_volatile_maximum", 32, [460, 463], VOLATILE_WARP),
        ("a_volatile_wave", 32, [474, 476], VOLATILE_WARP),
        ("a_barrier_for_three_readers", 128, [490, 494], BLOCK),
        ("a_barrier_for_eight_readers", 32, [505, 509], WARP),
        ("two_lanes_for_each_bin", 32, [515, 515], ONE),
        ("volatile_words_of_lanes", 32, [684, 684], VOLATILE_ONE),
    ] {
        let text = outcome(kernel, threads).expect_err(kernel);
        assert!(text.contains(&said("races.cu", lines, remedy)), "{text}");
        let array = [", tile", ", data", ", count", ", sum", ", last", ", one", ", bins"];
        assert!(array.iter().any(|array| text.contains(array)), "{text}");
    }
}

/// Warps that come to different barriers. In the last kernel two of them race besides.
#[test]
fn wrong_barriers() {
    for (kernel, said) in [
        (
            "a_barrier_in_each_branch",
            "warp 0 waits there, and warp 2 at another one, at line 530 of races.cu; all threads \
             of a block must come to the same __syncthreads(), in the same order (a GPU only \
             counts them), at line 526 of races.cu",
        ),
        (
            "a_barrier_in_a_function",
            "warp 0 waits at line 642 of races.cu, called at line 650, and warp 2 at another \
             one, at line 642 of races.cu, called at line 652; all",
        ),
        ("one_barrier_more", "warp 1 at another one, at line 542 of races.cu"),
        ("rounds_of_warps", "64 of 128 have ended before it, thread (64, 0, 0) first"),
    ] {
        let text = outcome_of(kernel, 128, FaultKind::Barrier).expect_err(kernel);
        assert!(text.contains("a barrier that not all threads reach: "), "{text}");
        assert!(text.contains(said), "{text}");
    }
    for (kernel, threads, said) in [
        ("a_producer_ahead", 64, "and 160 have come: others arrived there again"),
        ("two_pairs_at_one_barrier", 128, "and 128 have come: which of them meet"),
    ] {
        let text = outcome_of(kernel, threads, FaultKind::Barrier).expect_err(kernel);
        assert!(text.contains("waits at barrier 1 for 64 threads, "), "{text}");
        assert!(text.contains(said), "{text}");
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
        ("a_lock_for_two", 128),
        ("a_spin_lock", 64),
        ("a_lock_elsewhere", 64),
        ("acquire_and_release", 128),
        ("the_last_warp", 128),
        ("atomics_between_barriers", 128),
        ("the_same_value", 128),
        ("a_copy_with_a_wait", 128),
        ("neighbouring_bytes", 128),
        ("a_ring", 64),
        ("a_look_before_the_lock", 64),
        ("two_roles", 128),
        ("a_barrier_for_three_who_read", 128),
    ] {
        assert_eq!(outcome(kernel, threads), Ok(()), "{kernel}");
    }
}

const LAUNCH: &str = ", and blocks run in any order (let one block do both, or do one of the two in a launch \
     of its own)";
const LAUNCHES: &str = ", and blocks run in any order (did you mean both to write it? If not, \
                        the index is wrong. If so, let one block do both, or do one of the two in \
                        a launch of its own)";
const OWN: &str = ", and blocks run in any order (did you mean both to write it? If not, the \
                   index is wrong. If so, each block should write a place of its own, or all \
                   should add to it with one atomic operation)";
const LINE: &str = ", and blocks run in any order (did you mean both to use this element? If not, the \
     index is wrong. If so, use one atomic operation in place of the line)";
const VOLATILE: &str = ", and blocks run in any order (`volatile` orders no threads; use one atomic operation in \
     place of the line)";
const VOLATILE_LAUNCH: &str = ", and blocks run in any order (`volatile` orders no threads; let \
                               one block do both, or do one of the two in a launch of its own)";
const AFTER: &str = ", and blocks run in any order (__threadfence() must come after the read, in \
                     the same thread or with __syncthreads() between, and before the atomic \
                     operation, flag or lock that tells the other block)";
const LOCK: &str = ", and blocks run in any order (a lock is given back with atomicExch(), after \
                    __threadfence(); what sets it up belongs in a launch of its own)";
const TURN: &str = ", and blocks run in any order (use one atomic operation in place of the line, \
                    or __threadfence() before the flag is set that lets the other block go on)";
const BOTH: &str = ", and blocks run in any order (use an atomic operation here and there, or \
                    do one of the two in a launch of its own)";
const WIDE: &str = ", and blocks run in any order (use an operation that is atomic for all \
                    blocks; atomicAdd_block and the like are for one block)";
const CALL: &str = ", and blocks run in any order (call __threadfence() after the write and \
                    before the atomic operation, flag or lock that tells the other block)";
const PLACE: &str = ", and blocks run in any order (__threadfence() must come after the \
                     write, in the same thread or with __syncthreads() between, and before \
                     the atomic operation, flag or lock that tells the other block)";
const NARROW: &str = ", and blocks run in any order (__threadfence_block() is for one block; \
                      call __threadfence() before the atomic operation, flag or lock that \
                      tells the other block)";

#[test]
fn wrong_kernels_in_device_memory() {
    // Blocks and threads, the lines of the earlier access and of the later one, what orders
    // them.
    for (kernel, shape, lines, remedy) in [
        ("shift_in_place", [4, 128], [13, 14], BLOCK),
        ("shift_in_place", [1, 32], [13, 14], WARP),
        ("no_barrier", [1, 128], [20, 19], BLOCK),
        ("no_warp_barrier", [1, 32], [25, 26], WARP),
        ("only_a_fence", [1, 128], [33, 31], BLOCK),
        ("lanes_write_different_values", [1, 32], [38, 38], ONE),
        ("blocks_write_different_values", [4, 32], [44, 44], OWN),
        ("what_the_block_before_wrote", [4, 32], [50, 51], LAUNCH),
        ("what_the_next_block_writes", [4, 128], [57, 58], LAUNCH),
        ("a_sum_without_an_atomic", [4, 32], [64, 64], LINE),
        ("a_volatile_sum", [4, 32], [70, 70], VOLATILE),
        ("bins_without_an_atomic", [1, 128], [75, 75], SHARED),
        ("cleared_by_one_block", [4, 128], [81, 83], BOTH),
        ("a_total_that_is_not_complete", [4, 32], [90, 89], BOTH),
        ("atomic_for_a_block_only", [4, 32], [96, 96], WIDE),
        ("two_steps_in_one_launch", [4, 128], [104, 102], LAUNCH),
        ("last_block_without_a_fence", [4, 128], [114, 123], CALL),
        ("last_block_with_a_fence_for_a_block", [4, 128], [114, 123], NARROW),
        ("last_block_without_a_barrier", [4, 128], [141, 148], PLACE),
        ("a_flag_without_a_fence", [4, 32], [156, 162], PLACE),
        ("a_lock_without_a_fence", [4, 32], [172, 172], CALL),
        ("one_too_many", [1, 128], [179, 179], ONE),
        ("a_copy_of_what_another_writes", [1, 128], [187, 186], BLOCK),
        ("a_copy_whose_source_changes", [1, 128], [577, 576], BLOCK),
        ("two_lines_write", [4, 128], [439, 438], LAUNCHES),
        ("overwritten_by_the_last", [4, 128], [448, 453], AFTER),
        ("a_flag_asked_once", [4, 32], [461, 462], VOLATILE_LAUNCH),
        ("a_lock_that_is_cleared", [4, 32], [497, 492], LOCK),
        ("turns_without_a_fence", [4, 32], [607, 607], TURN),
    ] {
        let text = global_outcome(kernel, shape).expect_err(kernel);
        assert!(text.contains(&said("global-races.cu", lines, remedy)), "{text}");
        assert!(
            text.contains(" bytes into out")
                || text.contains("the start of out")
                || text.contains("the start of flag"),
            "{text}"
        );
    }
}

/// `__ldg()` of what the kernel writes, whatever orders the two.
#[test]
fn what_is_written_is_not_read_by_the_read_only_path() {
    for (kernel, said, line) in [
        (
            "cached_after_a_write",
            " by the read-only path, and thread (127, 0, 0) writes there at line 469 of",
            471,
        ),
        (
            "cached_before_a_write",
            ", which the kernel reads by the read-only path at line 476 of",
            480,
        ),
        (
            "cached_in_place",
            ", which thread (0, 0, 0) reads by the read-only path at the same line: __ldg()",
            485,
        ),
    ] {
        let text = global_outcome(kernel, [1, 128]).expect_err(kernel);
        assert!(text.contains(said), "{text}");
        assert!(text.contains(&format!(", at line {line} of global-races.cu, ")), "{text}");
    }
}

#[test]
fn right_kernels_in_device_memory() {
    for (kernel, shape) in [
        ("each_its_own", [4, 128]),
        ("a_barrier", [4, 128]),
        ("a_warp_barrier", [1, 32]),
        ("a_grid_stride_loop", [3, 96]),
        ("pieces_of_four", [4, 64]),
        ("columns", [5, 100]),
        ("all_read_the_same", [4, 128]),
        ("atomics_only", [4, 128]),
        ("the_same_value", [4, 128]),
        ("atomic_for_a_block_each", [4, 128]),
        ("last_block_with_a_fence", [40, 128]),
        ("last_block_of_many_writers", [4, 128]),
        ("last_block_of_one_fence", [4, 128]),
        ("last_warp", [4, 32]),
        ("a_flag_with_a_fence", [4, 128]),
        ("one_block_after_the_other", [8, 32]),
        ("acquire_and_release", [4, 32]),
        ("a_lock_with_fences", [3, 32]),
        ("tickets", [3, 64]),
        ("bins_of_a_block", [4, 128]),
        ("neighbouring_bytes", [4, 128]),
        ("a_copy_with_a_barrier", [1, 128]),
        ("overwritten_after_all", [4, 128]),
        ("cached_beside_a_write", [4, 64]),
        ("looks_back", [6, 32]),
        ("a_flag_for_a_block", [3, 128]),
        ("looks_back_by_choice", [6, 32]),
    ] {
        assert_eq!(global_outcome(kernel, shape), Ok(()), "{kernel}");
    }
}

/// The notes of a kernel of `races.cu` or `global-races.cu`.
fn notes(file: &str, kernel: &str, [blocks, threads]: [u32; 2]) -> Vec<String> {
    let mut device = Device::tests(file);
    let input = device.words("in", (0..512).map(word));
    let output = device.words("out", (0..1024).map(|_| 0));
    let flag = device.words("flag", (0..8).map(|_| 0));
    let arguments = arguments![u64 input, u64 output, u64 flag];
    let ran = device.run(kernel, [blocks, 1, 1], [threads, 1, 1], &arguments);
    ran.unwrap().notes.iter().map(ToString::to_string).collect()
}

#[test]
fn two_writes_of_the_same_value_are_noted() {
    for (file, line) in [("races", 407), ("global-races", 261)] {
        for shape in [[1, 32], [1, 128]] {
            let [note] = &notes(file, "the_same_value", shape)[..] else { panic!() };
            let expected = format!(
                " writes the same value at the same line, and nothing orders the two: that is \
                 right only as long as the values are the same, at line {line}"
            );
            assert!(note.contains(&expected), "{note}");
        }
    }
    assert_eq!(notes("races", "a_barrier", [1, 128]), [""; 0]);
    assert_eq!(notes("global-races", "each_its_own", [4, 128]), [""; 0]);
}

/// The other block had a fence before it counted; then this one needs one, too.
#[test]
fn a_missing_fence_of_the_reader_is_noted() {
    for (kernel, said) in [
        ("last_block_with_a_fence", "at line 114 of global-races.cu, and no fence stands between"),
        ("last_warp", "at line 313 of global-races.cu, and no fence stands between"),
        ("last_block_of_one_fence", ""),
        ("a_flag_with_a_fence", ""),
        ("acquire_and_release", ""),
        ("a_lock_with_fences", ""),
    ] {
        let notes = notes("global-races", kernel, [4, 32]);
        let unfenced: Vec<_> = notes.iter().filter(|note| note.contains("no fence")).collect();
        match &unfenced[..] {
            [] => assert_eq!(said, "", "{kernel}"),
            [note] => assert!(note.contains(said) && !said.is_empty(), "{kernel}: {note}"),
            more => panic!("{kernel}: {more:?}"),
        }
    }
}
