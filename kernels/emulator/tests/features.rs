//! What kernels are made of, against what the host computes.

use emulator::{Launch, Pieces, run};

use crate::common::{Device, word};

const WARP: [u32; 3] = [32, 1, 1];
const ONE: [u32; 3] = [1, 1, 1];

#[test]
fn calls_of_functions() {
    let mut device = Device::tests("features");
    let out = device.fresh("out", 32);
    let arguments = arguments![u64 out, u32 3, f32 0.5f32];
    device.run("calls", ONE, WARP, &arguments).unwrap();
    let expected = (0..32).map(|thread| 6 * thread + thread + 2);
    assert!(device.read(out, 32).into_iter().eq(expected));
}

#[test]
fn variables_of_the_module() {
    let mut device = Device::tests("features");
    let out = device.fresh("out", 32);
    device.run("variables", ONE, WARP, &arguments![u64 out]).unwrap();
    let result = device.read(out, 32);
    assert_eq!(result[..6], [8, 1, 4, 1, 3, 1]);
    let constant = |name: &str| {
        let mut variables = device.module.variables().iter();
        variables.find(|v| v.name == name).map(|v| v.constant)
    };
    assert_eq!((constant("table"), constant("counter")), (Some(true), Some(false)));
    device.module.remove(&mut device.memory).unwrap();
    let error = device.run("variables", ONE, WARP, &arguments![u64 out]).unwrap_err();
    assert!(error.to_string().contains("have no place"), "{error}");
}

#[test]
fn local_memory() {
    let mut device = Device::tests("features");
    let values = (0..16).map(|i| word(i) >> 4).collect::<Vec<_>>();
    let input = device.words("in", values.iter().copied());
    let out = device.fresh("out", 32);
    device.run("local_array", ONE, WARP, &arguments![u64 input, u64 out]).unwrap();
    for (thread, result) in device.read(out, 32).into_iter().enumerate() {
        let mut kept = values.iter().map(|v| v.wrapping_add(thread as u32)).collect::<Vec<_>>();
        let at = values[thread % 16] as usize % 16;
        kept[at] = kept[at].wrapping_add(100);
        assert_eq!(result, kept[(at as u32).wrapping_add(values[0]) as usize % 16]);
    }
}

#[test]
fn dynamic_shared_memory() {
    let mut device = Device::tests("features");
    let out = device.fresh("out", 1000);
    let arguments = arguments![u64 out, u32 1000];
    let mut launch = Launch::new(ONE, [128, 1, 1], arguments.bytes());
    launch.shared_bytes = 4000;
    let options = device.options;
    run(&device.module, "dynamic_shared", &launch, &mut device.memory, &options).unwrap();
    assert!(device.read(out, 1000).into_iter().eq((0..1000).rev()));
    launch.shared_bytes = 3996;
    let fault = run(&device.module, "dynamic_shared", &launch, &mut device.memory, &options);
    assert!(fault.unwrap_err().to_string().contains("of the block's 3996 bytes"));
}

#[test]
fn a_reduction_with_shuffles() {
    let mut device = Device::tests("features");
    let input = device.words("in", (0..1000).map(|i| (i as f32).to_bits()));
    let out = device.words("out", [0].into_iter());
    let arguments = arguments![u64 input, u64 out, u32 1000];
    device.run("reduction", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    assert_eq!(f32::from_bits(device.read(out, 1)[0]), 499_500.0);
}

#[test]
fn atomics_on_shared_memory() {
    let mut device = Device::tests("features");
    let input = device.words("in", (0..1000).map(|i| word(i) >> 9));
    let bins = device.fresh("bins", 16);
    let arguments = arguments![u64 input, u64 bins, u32 1000];
    device.run("histogram", ONE, [96, 1, 1], &arguments).unwrap();
    let mut expected = [0; 16];
    for i in 0..1000 {
        expected[(word(i) >> 9) as usize % 16] += 1;
    }
    assert_eq!(device.read(bins, 16), expected);
}

#[test]
fn votes_and_matches() {
    let mut device = Device::tests("features");
    let out = device.fresh("out", 96);
    device.run("votes", ONE, [96, 1, 1], &arguments![u64 out]).unwrap();
    let ballot = (0..32).filter(|lane| lane % 3 == 0).fold(0u32, |b, l| b | 1 << l);
    let odd = (0..32).filter(|lane| lane % 2 == 1).sum::<u32>();
    for (thread, result) in device.read(out, 96).into_iter().enumerate() {
        let lane = thread % 32;
        let mut expected = (ballot + 1) ^ (0xff << (lane / 8 * 8));
        if lane % 2 == 1 {
            expected = expected.wrapping_add(odd);
        }
        assert_eq!(result, expected.wrapping_add(3), "{thread}");
    }
}

#[test]
fn some_groups_of_a_warp_are_complete_and_some_are_not() {
    let mut device = Device::tests("features");
    for count in [13usize, 16, 31, 45] {
        let input = device.words("in", (0..count).map(word));
        let out = device.fresh("out", count);
        let arguments = arguments![u64 input, u64 out, u32 count];
        let counts = device.run("sums_of_four", ONE, [64, 1, 1], &arguments).unwrap();
        for (thread, sum) in device.read(out, count).into_iter().enumerate() {
            let own = thread / 4 * 4..=thread;
            let expected = own.map(word).fold(0, u32::wrapping_add);
            assert_eq!(sum, expected, "{thread} of {count}");
        }
        assert_eq!(counts.total().global_loads.requests, count.div_ceil(32) as u64);
    }
}

#[test]
fn lanes_that_go_their_own_ways() {
    let mut device = Device::tests("features");
    let out = device.fresh("out", 128);
    let counts = device.run("divergent", ONE, [128, 1, 1], &arguments![u64 out]).unwrap();
    assert!(counts.total().divergent_branches > 0);
    for (thread, result) in device.read(out, 128).into_iter().enumerate() {
        let (mut value, mut steps) = (thread as u32, 0);
        while value > 1 {
            match value % 4 {
                0 => value /= 4,
                1 => value = value * 3 + 1,
                2 => value /= 2,
                _ => {
                    value -= 1;
                    continue;
                }
            }
            steps += 1;
            if steps == 50 {
                break;
            }
        }
        assert_eq!(result, value * 1000 + steps, "{thread}");
    }
}

#[test]
fn asynchronous_copies_arrive_when_waited_for() {
    let mut device = Device::tests("features");
    let input = device.words("in", (0..256).map(word));
    let out = device.fresh("out", 64);
    let arguments = arguments![u64 input, u64 out, u32 1];
    let counts = device.run("async_copy", ONE, [64, 1, 1], &arguments).unwrap();
    assert_eq!(counts.total().async_copies.sectors, 32);
    for (thread, sum) in device.read(out, 64).into_iter().enumerate() {
        let words = (0..4).map(|w| word(4 * (63 - thread) + w));
        assert_eq!(sum, words.fold(0, u32::wrapping_add));
    }
    let arguments = arguments![u64 input, u64 out, u32 0];
    device.run("async_copy", ONE, [64, 1, 1], &arguments).unwrap_err();
    device.options.checks.races = false;
    device.run("async_copy", ONE, [64, 1, 1], &arguments).unwrap();
    assert_eq!(device.read(out, 64), [28; 64]);
}

#[test]
fn floating_point() {
    let mut device = Device::tests("features");
    let value = |thread: usize| 0.25 + thread as f32 * 0.75;
    let input = device.words("in", (0..32).map(|t| value(t).to_bits()));
    let out = device.fresh("out", 256);
    device.run("numbers", ONE, WARP, &arguments![u64 input, u64 out]).unwrap();
    let result = device.read(out, 256);
    for thread in 0..32 {
        let x = value(thread);
        let at = |place: usize| f32::from_bits(result[8 * thread + place]);
        let near = |place, expected: f64| {
            let error = (f64::from(at(place)) - expected).abs();
            assert!(error <= 1e-6 * expected.abs().max(1.0), "{place} of {x}: {error}");
        };
        near(0, f64::from(x).exp());
        assert_eq!(at(1), x.sqrt() / 3.0);
        let product = f64::from(x) * f64::from(0.1f32);
        assert!(f64::from(at(2)) <= product && product < f64::from(at(2).next_up()));
        near(3, 1.0 / f64::from(x).sqrt());
        assert_eq!(at(4), (f64::from(x) * 0.1) as f32);
        assert_eq!(at(5), x.floor() + x.min(2.0));
        near(6, f64::from(x).sin());
        near(7, f64::from(x).ln());
    }
}

#[test]
fn printing() {
    let mut device = Device::tests("features");
    let counts = device.run("prints", ONE, [2, 1, 1], &arguments![f32 12.5f32]).unwrap();
    let expected = "thread 0 of 2: 12.50% done\nthread 1 of 2: 12.50% done\n";
    assert_eq!(counts.printed, expected);

    let out = device.fresh("out", 2);
    let counts = device.run("formats", ONE, ONE, &arguments![u64 out]).unwrap();
    let expected = "0xff|+7| 7|-0042|5   |006|   3|\n(nil) ab 1.234568E+04 +2.2 -01.50 010 100%\n";
    assert_eq!(counts.printed, expected);
    assert_eq!(device.read(out, 2), [8, 6]);
}

#[test]
fn sines_of_doubles() {
    let mut device = Device::tests("wide-numbers");
    // The larger ones are reduced with sums of several words.
    let angles = [0.5, -3.0, 1e5, 1e9, -1e15, 1.5e22, 7e100, -1e300];
    let words = angles.into_iter().flat_map(|angle: f64| {
        let bits = angle.to_bits();
        [bits as u32, (bits >> 32) as u32]
    });
    let input = device.words("in", words);
    let out = device.fresh("out", 4 * angles.len());
    let threads = [angles.len() as u32, 1, 1];
    device.run("sine", ONE, threads, &arguments![u64 input, u64 out]).unwrap();
    let words = device.read(out, 4 * angles.len());
    for (angle, result) in angles.into_iter().zip(words.chunks(4)) {
        let number =
            |at: usize| f64::from_bits(u64::from(result[at + 1]) << 32 | u64::from(result[at]));
        let (sine, cosine) = angle.sin_cos();
        assert!((number(0) - sine).abs() < 1e-15, "sin {angle}: {}", number(0));
        assert!((number(2) - cosine).abs() < 1e-15, "cos {angle}: {}", number(2));
    }
}

#[test]
fn rare_instructions() {
    let mut device = Device::tests("wide-numbers");
    // 1, 2 and -1 as halves.
    let input = device.words("in", [0x4000_3c00, 0xbc00].into_iter());
    let out = device.fresh("out", 2);
    device.memory.write(out, &[0; 8]).unwrap();
    let arguments = arguments![u64 input, u64 out];
    device.run("halves", ONE, [3, 1, 1], &arguments).unwrap();
    // 2.71875, 7.390625 and 0.367919921875.
    assert_eq!(device.read(out, 2), [0x4764_4170, 0x35e3]);

    let input = device.words("in", [0xff02_80ff, 0x0403_0201, 1000].into_iter());
    let out = device.fresh("out", 4);
    let arguments = arguments![u64 input, u64 out];
    device.run("products_of_bytes", ONE, ONE, &arguments).unwrap();
    let signed = 1000 - 1 - 256 + 6 - 4;
    let (low, high) = (1000 - 32513 - 2 * 254, 1000 - 32513 * 3 - 4 * 254);
    let unsigned = 1000 + 255 + 256 + 6 + 1020;
    let expected = [signed, low, high, unsigned].map(|sum: i32| sum as u32);
    assert_eq!(device.read(out, 4), expected);

    // There is no cooperative launch, so no memory for one.
    let out = device.fresh("out", 32);
    device.run("grid_workspace", ONE, WARP, &arguments![u64 out]).unwrap();
    assert!(device.read(out, 32).into_iter().all(|word| word == 0));
}

#[test]
fn pieces_of_memory() {
    // Four bytes of a lane go to every second word, from the fourth on; all of it twice.
    let ptx = "
        .version 8.4
        .target sm_75
        .address_size 64
        .visible .entry kernel(.param .u64 in) {
            .reg .b32 %r<4>;
            .reg .b64 %d<4>;
            ld.param.u64 %d1, [in];
            mov.u32 %r1, %tid.x;
            mul.wide.u32 %d2, %r1, 8;
            add.u64 %d1, %d1, %d2;
            ld.global.u32 %r2, [%d1+16];
            ld.global.v2.u32 {%r2, %r3}, [%d1];
            st.global.u32 [%d1+16], %r2;
            ret;
        }";
    let mut device = Device::of(ptx);
    let input = device.words("in", 0..256);
    (device.options.pieces, device.options.checks.races) = (true, false);
    let counts = device.run("kernel", [2, 1, 1], [64, 1, 1], &arguments![u64 input]).unwrap();
    let touched = counts.lines.iter().map(|line| line.pieces);
    let touched = touched.filter(|pieces| *pieces != Pieces::default()).collect::<Vec<_>>();
    // A row of 256 bytes that starts 16 bytes behind a line's start touches three lines.
    let [apart, together, stored] = touched[..] else { panic!("{touched:?}") };
    assert_eq!((apart.load_lines, apart.load_fetches), (4 * 3, 4 * 5));
    assert_eq!((together.load_lines, together.load_fetches), (4 * 2, 4 * 4));
    // Two warps of a block share the sector where the one's row ends and the other's begins.
    assert_eq!((apart.block_load_sectors, together.block_load_sectors), (2 * 17, 2 * 16));
    assert_eq!((stored.store_lines, stored.partial_store_sectors), (4 * 3, 4 * 9));
}
