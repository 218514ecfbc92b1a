//! Code of several compilers, at several levels of optimising, does the same.

use emulator::{Arguments, Launch, run};

use crate::common::{Device, word};

#[path = "kernels/rustc.rs"]
mod rustc;

/// An input for each thread of a block, small and large ones.
fn inputs() -> Vec<u32> {
    (0..64).map(|i| if i % 3 == 0 { i as u32 * 37 } else { word(i) }).collect()
}

/// What the threads of a block store. The last arguments are of one kernel only.
fn results(file: &str, kernel: &str) -> Vec<u32> {
    let mut device = Device::tests(file);
    let input = device.words("input", inputs().into_iter());
    let output = device.fresh("output", 64);
    let mut arguments = arguments![u64 input, u64 output];
    if kernel == "a_structure" {
        // 5; 1, -2, 300 as 16 bits each, and padding; a quarter.
        let first = 5u64 | 1 << 32 | 0xfffe << 48;
        arguments = arguments![u64 input, u64 output, u64 first, u64 300, f64 0.25];
    }
    let mut launch = Launch::new([1; 3], [64, 1, 1], arguments.bytes());
    launch.shared_bytes = if kernel == "shared_sums" { 256 } else { 0 };
    let ran = run(&device.module, kernel, &launch, &mut device.memory, &device.options);
    ran.unwrap_or_else(|fault| panic!("{file}: {fault}"));
    device.read(output, 64)
}

#[test]
fn clang_at_each_level_and_nvrtc() {
    for kernel in [
        "a_call",
        "a_structure",
        "a_switch",
        "a_local_array",
        "shared_sums",
        "a_warp",
        "numbers",
        "vectors",
        "loops",
        "a_pointer",
        "flags",
    ] {
        let expected = results("compilers", kernel);
        for level in [0, 1, 3] {
            let file = format!("compilers-clang-{level}");
            assert_eq!(results(&file, kernel), expected, "{kernel} by clang -O{level}");
        }
    }
    let power = |value: u32| (value & 7).pow(3);
    let sums = results("compilers", "loops");
    assert_eq!(sums[0], power(inputs()[0]));
}

#[test]
fn rustc_at_two_levels() {
    let inputs = inputs();
    let each = |function: fn(u32) -> u32| inputs.iter().map(|i| function(*i)).collect::<Vec<_>>();
    let slices = (0..64).map(|thread| rustc::slices(&inputs, thread)).collect();
    for (kernel, expected) in [
        ("iterators", each(rustc::iterators)),
        ("enumerations", each(rustc::enumerations)),
        ("numbers", each(rustc::numbers)),
        ("slices", slices),
    ] {
        for level in [1, 3] {
            assert_eq!(results(&format!("rustc-{level}"), kernel), expected, "{kernel} -O{level}");
        }
    }
}

/// What a kernel of Triton's stores, with the two pointers that it adds to the arguments.
fn triton(
    device: &mut Device,
    kernel: &str,
    blocks: u32,
    shape: [u32; 2],
    arguments: &Arguments,
    output: (u64, usize),
) -> Vec<u32> {
    let [threads, shared_bytes] = shape;
    let arguments = arguments.clone().with(0u64.to_le_bytes()).with(0u64.to_le_bytes());
    let mut launch = Launch::new([blocks, 1, 1], [threads, 1, 1], arguments.bytes());
    launch.shared_bytes = shared_bytes;
    let ran = run(&device.module, kernel, &launch, &mut device.memory, &device.options);
    ran.unwrap_or_else(|fault| panic!("{kernel}: {fault}"));
    device.read(output.0, output.1)
}

#[test]
fn triton_with_masks_reductions_and_atomics() {
    let mut device = Device::tests("triton");
    let x = (0..1024).map(|i| word(i) >> 1).collect::<Vec<_>>();
    let input = device.words("input", x.iter().copied());
    let output = device.fresh("masked", 300);
    let arguments = arguments![u64 input, u64 output, u32 300];
    let stored = triton(&mut device, "masked", 2, [64, 0], &arguments, (output, 300));
    let masked = |i: usize| x[i].wrapping_mul(3).wrapping_add(x[299 - i] >> 5);
    assert!(stored.into_iter().eq((0..300).map(masked)));

    let output = device.fresh("sums", 16 + 64 + 64);
    let arguments = arguments![u64 input, u64 output];
    let stored = triton(&mut device, "sums", 1, [128, 1024], &arguments, (output, 144));
    let sum = |words: &mut dyn Iterator<Item = &u32>| words.fold(0, |a: u32, b| a.wrapping_add(*b));
    let rows = x.chunks(64).map(|row| sum(&mut row.iter()));
    let column = |i: usize| x[i..].iter().step_by(64);
    let highest = (0..64).filter_map(|i| column(i).max().copied());
    let columns = (0..64).scan(0u32, |all, i| {
        *all = all.wrapping_add(sum(&mut column(i)));
        Some(*all)
    });
    assert!(stored.into_iter().eq(rows.chain(highest).chain(columns)));

    let output = device.words("counts", std::iter::repeat_n(0, 5 + 1024));
    let arguments = arguments![u64 input, u64 output, u32 5];
    let stored = triton(&mut device, "counts", 1, [64, 4096], &arguments, (output, 5 + 1024));
    let mut counts = [0; 5];
    (0..32).for_each(|i| counts[x[i] as usize % 5] += i as u32);
    let transposed = (0..1024).map(|i| x[i % 32 * 32 + i / 32]);
    assert!(stored.into_iter().eq(counts.into_iter().chain(transposed)));
}

#[test]
fn triton_on_tensor_cores() {
    let mut device = Device::tests("triton");
    // 0 to 3 as halves, two in a word.
    let number = |i: usize| word(i) as usize >> 7 & 3;
    let half = |i: usize| [0, 0x3c00, 0x4000, 0x4200][number(i)];
    let pairs =
        |first: usize| (first..first + 2048).step_by(2).map(|i| half(i) | half(i + 1) << 16);
    let (a, b) = (device.words("a", pairs(0)), device.words("b", pairs(5000)));
    let output = device.fresh("c", 1024);
    let arguments = arguments![u64 a, u64 b, u64 output, u32 64];
    let stored = triton(&mut device, "product", 1, [128, 6144], &arguments, (output, 1024));
    let product = |i: usize| {
        let terms = (0..64).map(|k| number(i / 32 * 64 + k) * number(5000 + k * 32 + i % 32));
        (terms.sum::<usize>() as f32).to_bits()
    };
    assert!(stored.into_iter().eq((0..1024).map(product)));
}
