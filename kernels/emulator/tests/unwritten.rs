//! Bits that nobody has written may be moved, masked and copied; not used.

use emulator::{Arguments, FaultKind};

use crate::common::Device;

/// Runs a kernel on one block: what is in `out` afterwards, or what kind of fault it was.
fn outcome(
    device: &mut Device,
    kernel: &str,
    threads: u32,
    arguments: &Arguments,
    out: u64,
) -> Result<Vec<u32>, FaultKind> {
    match device.run(kernel, [1, 1, 1], [threads, 1, 1], arguments) {
        Ok(_) => Ok(device.read(out, threads as usize)),
        Err(fault) if fault.to_string().contains("written nothing") => Err(fault.kind),
        Err(fault) if fault.to_string().contains("nothing was written") => Err(fault.kind),
        Err(fault) => panic!("{fault}"),
    }
}

const USED: Result<Vec<u32>, FaultKind> = Err(FaultKind::Uninitialised);

#[test]
fn the_half_of_a_word_that_decides() {
    let mut device = Device::tests("unwritten");
    let slot = device.fresh("slot", 2);
    device.memory.write(slot, &[0; 4]).unwrap();
    let out = device.words("out", 0..64);
    let arguments = arguments![u64 slot, u64 out];
    let found = outcome(&mut device, "half_of_a_word", 64, &arguments, out);
    assert!(found.unwrap().into_iter().take(32).eq(41..73));
    let slot = device.fresh("slot", 2);
    device.memory.write(slot, &[0; 4]).unwrap();
    let arguments = arguments![u64 slot, u64 out];
    assert_eq!(outcome(&mut device, "half_of_a_word_used", 32, &arguments, out), USED);
}

#[test]
fn padding_is_copied() {
    let mut device = Device::tests("unwritten");
    let input = device.words("in", (0..192).map(|word| 1000 + word));
    let out = device.fresh("out", 192);
    let arguments = arguments![u64 input, u64 out];
    outcome(&mut device, "padding", 64, &arguments, out).unwrap();
    let found = device.read(out, 192);
    assert!((0..64).all(|at| found[3 * at + 1] == 1000 + 3 * (63 - at as u32) + 1));
    // It is still padding there.
    assert_eq!(device.memory.first_unwritten(out, 12), Ok(Some(out + 1)));
    assert_eq!(outcome(&mut device, "padding_used", 64, &arguments, out), USED);
}

#[test]
fn fields_of_bits() {
    let mut device = Device::tests("unwritten");
    let out = device.fresh("out", 64);
    let found = outcome(&mut device, "fields", 64, &arguments![u64 out], out);
    assert!(found.unwrap().into_iter().eq((0..64).map(|thread| 4 * thread)));
    assert_eq!(outcome(&mut device, "fields_used", 64, &arguments![u64 out], out), USED);
}

#[test]
fn bytes_of_a_word() {
    let mut device = Device::tests("unwritten");
    let (input, out) = (device.words("in", 0..64), device.fresh("out", 64));
    for wrong in 0..4 {
        let arguments = arguments![u64 input, u64 out, u32 wrong];
        let found = outcome(&mut device, "bytes", 64, &arguments, out);
        if wrong > 0 {
            assert_eq!(found, USED, "{wrong}");
            continue;
        }
        let expected = (0..64u32).map(|thread| {
            let of = |thread: u32| thread << 8 | (100 + thread) << 16;
            // The second byte of what was permuted: the first of `word` that was written.
            let moved = thread << 8;
            (of(thread) + 1) + moved + 3 * (of(thread ^ 1) >> 8)
        });
        assert_eq!(found.unwrap(), expected.collect::<Vec<_>>());
    }
}

#[test]
fn what_is_not_chosen() {
    let mut device = Device::tests("unwritten");
    let (input, out) = (device.fresh("in", 64), device.fresh("out", 64));
    device.memory.write(input, &[7, 0, 0, 0].repeat(20)).unwrap();
    let arguments = arguments![u64 input, u64 out, u32 20];
    let found = outcome(&mut device, "chosen", 64, &arguments, out).unwrap();
    assert!(found.into_iter().eq((0..64).map(|t| if t < 20 { 8 } else { 5 * t + 2 })));
    let arguments = arguments![u64 input, u64 out, u32 21];
    assert_eq!(outcome(&mut device, "chosen", 64, &arguments, out), USED);
    // A copy of an element is a use of it.
    let arguments = arguments![u64 input, u64 out];
    assert_eq!(outcome(&mut device, "copied", 32, &arguments, out), USED);
}

/// A compiler that does not optimise keeps each variable in local memory.
#[test]
fn kept_in_local_memory() {
    let ptx = |result: &str| {
        format!(
            ".version 8.4
            .target sm_75
            .address_size 64
            .visible .entry kept(.param .u64 in, .param .u64 out) {{
                .reg .b32 %r<5>;
                .reg .b64 %d<5>;
                .local .align 4 .b8 own[8];
                mov.u32 %r0, %tid.x;
                ld.param.u64 %d0, [in];
                ld.global.u32 %r1, [%d0];
                st.local.u32 [own+4], %r1;
                ld.local.u32 %r2, [own+4];
                ld.param.u64 %d1, [out];
                mad.wide.u32 %d2, %r0, 4, %d1;
                st.global.u32 [%d2], {result};
                ret;
            }}"
        )
    };
    for (result, expected) in [("%r0", Ok((0..32).collect())), ("%r2", USED)] {
        let mut device = Device::of(&ptx(result));
        let (input, out) = (device.fresh("in", 1), device.fresh("out", 32));
        let arguments = arguments![u64 input, u64 out];
        assert_eq!(outcome(&mut device, "kept", 32, &arguments, out), expected);
    }
}

#[test]
fn bytes_that_the_compiler_says_are_unused() {
    let ptx = |mask: u32, result: &str| {
        format!(
            ".version 8.4
            .target sm_75
            .address_size 64
            .visible .entry copied(.param .u64 out) {{
                .reg .b32 %r<5>;
                .reg .b64 %d<5>;
                .local .align 8 .b8 own[8];
                mov.u32 %r0, %tid.x;
                .pragma \"used_bytes_mask {mask}\";
                ld.local.u32 %r1, [own+4];
                add.u32 %r2, %r1, 1;
                ld.param.u64 %d1, [out];
                mad.wide.u32 %d2, %r0, 4, %d1;
                st.global.u32 [%d2], {result};
                ret;
            }}"
        )
    };
    for (mask, result, is_right) in
        [(0, "%r1", true), (15, "%r1", false), (3, "%r1", false), (0, "%r2", false)]
    {
        let mut device = Device::of(&ptx(mask, result));
        let out = device.fresh("out", 32);
        let found = outcome(&mut device, "copied", 32, &arguments![u64 out], out);
        assert_eq!(found.is_ok(), is_right, "{mask} {result}");
    }
}

#[test]
fn one_of_two_floats() {
    let mut device = Device::tests("unwritten");
    for wrong in [0, 1] {
        let (pairs, out) = (device.fresh("pairs", 128), device.fresh("out", 32));
        let arguments = arguments![u64 pairs, u64 out, u32 wrong];
        let found = outcome(&mut device, "pairs", 32, &arguments, out);
        match wrong {
            0 => assert_eq!(f32::from_bits(found.unwrap()[9]), 18.0),
            _ => assert_eq!(found, USED),
        }
    }
}
