//! Values that mean nothing, because nobody has written them or a lane takes no part, are a
//! mistake where something depends on them, and not before.

use emulator::FaultKind;

use crate::common::{Device, word};

/// Runs a kernel of `values.cu` on one warp.
fn outcome(kernel: &str) -> Result<(), (FaultKind, String)> {
    let mut device = Device::tests("values");
    let input = device.fresh("in", 128);
    let words = (0..64).flat_map(|i| word(i).to_le_bytes()).collect::<Vec<_>>();
    device.memory.write(input, &words).unwrap();
    let output = device.words("out", (0..256).map(|_| 0));
    let fresh = device.fresh("fresh", 256);
    let arguments = arguments![u64 input, u64 output, u64 fresh];
    let ran = device.run(kernel, [1, 1, 1], [32, 1, 1], &arguments);
    ran.map(drop).map_err(|fault| (fault.kind, fault.to_string()))
}

#[test]
fn wrong_kernels() {
    let input = ", 256 bytes into in, where nothing was written";
    let fresh = ", the start of fresh, where nothing was written";
    let local = "of local memory, where the thread has written nothing: set each element of \
                 a local array before it is read";
    let half = "lane 8 shuffles from lane 16, which takes no part: the active lanes are \
                lanes 0-15";
    let twenty = "lane 4 shuffles from lane 20, which takes no part: the active lanes are \
                  lanes 0-19";
    let masks = "lane 16 names lane 8, which names another mask: 0xffffff00 and 0x0000ffff; \
                 all lanes of a mask must give the same";
    let ballot = "lane 0 names lane 3, which names another mask: 0xffffffff and 0x0000000f; \
                  all lanes of a mask must give the same";
    // What it says, the line where the value comes from, and the thread.
    for (kernel, what, line, thread) in [
        ("stored", input, 19, 0),
        ("computed", input, 24, 31),
        ("decides", input, 30, 0),
        ("is_an_index", input, 36, 0),
        ("added_atomically", input, 41, 0),
        ("counts_from_nothing", fresh, 46, 0),
        ("exchanged_and_used", fresh, 51, 0),
        ("through_a_shuffle", input, 56, 16),
        ("a_vote", input, 62, 4),
        ("shared_edge", "memory, tile[32], where the block has written nothing", 70, 31),
        ("a_local_array", local, 78, 2),
        ("a_local_sum", local, 85, 0),
        ("from_the_other_half", half, 94, 8),
        ("a_sum_of_twenty", twenty, 103, 4),
        ("different_masks", masks, 111, 16),
        ("a_ballot_of_different_masks", ballot, 117, 0),
    ] {
        let (kind, text) = outcome(kernel).expect_err(kernel);
        let expected = match what.contains("lane") {
            true => FaultKind::InactiveLane,
            false => FaultKind::Uninitialised,
        };
        assert_eq!(kind, expected, "{text}");
        let place = format!(
            "{what}, at line {line} of values.cu, block (0, 0, 0), thread ({thread}, 0, 0)"
        );
        assert!(text.ends_with(&place), "{text}");
    }
}

#[test]
fn right_kernels() {
    for kernel in [
        "read_and_forgotten",
        "computed_and_forgotten",
        "padding",
        "padding_in_shared_memory",
        "exchanged_first",
        "a_sum_of_sixteen",
        "only_from_who_is_there",
        "masks_of_halves",
        "a_local_array_that_is_set",
        "a_part_of_a_local_array",
    ] {
        assert_eq!(outcome(kernel), Ok(()), "{kernel}");
    }
}
