//! Code of several compilers, at several levels of optimising, does the same.

use emulator::{Launch, run};

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
