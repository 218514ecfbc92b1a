//! The workbook's own kernels give what the host computes.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Device, word};

const RAGGED: [(usize, usize); 3] = [(96, 64), (100, 77), (33, 1)];

#[test]
fn coalescing() {
    let mut device = Device::workbook("coalescing");
    for (count, stride, offset) in [(1000, 1, 0), (257, 3, 1), (4096, 32, 5)] {
        let length = count * stride + offset;
        let strided = device.words("strided", (0..length).map(word));
        let contiguous = device.fresh("contiguous", count);
        let grid = [count.div_ceil(256) as u32, 1, 1];
        for kernel in ["gather4", "gather4_resident"] {
            device.memory.fill(contiguous, &[0], 4 * count as u64).unwrap();
            let arguments =
                arguments![u64 strided, u64 contiguous, u64 count, u64 stride, u64 offset];
            device.run(kernel, grid, [256, 1, 1], &arguments).unwrap();
            let result = device.read(contiguous, count);
            assert!((0..count).all(|i| result[i] == word(i * stride + offset)));
        }
        let target = device.words("target", (0..length).map(|_| 0));
        let arguments = arguments![u64 target, u64 contiguous, u64 count, u64 stride, u64 offset];
        device.run("scatter4", grid, [256, 1, 1], &arguments).unwrap();
        let result = device.read(target, length);
        assert!((0..count).all(|i| { result[i * stride + offset] == word(i * stride + offset) }));
        assert_eq!(result.iter().filter(|word| **word != 0).count(), {
            (0..count).filter(|i| word(i * stride + offset) != 0).count()
        });
    }
    for (kernel, bytes) in [("gather1", 1), ("gather2", 2), ("gather8", 8), ("gather16", 16)] {
        let (count, stride, offset) = (500usize, 3, 2);
        let length = (count * stride + offset) * bytes;
        let strided = device.words("strided", (0..length.div_ceil(4)).map(word));
        let contiguous = device.fresh("contiguous", count * bytes / 4);
        let arguments = arguments![u64 strided, u64 contiguous, u64 count, u64 stride, u64 offset];
        device.run(kernel, [2, 1, 1], [256, 1, 1], &arguments).unwrap();
        let (mut source, mut result) = (vec![0; length], vec![0; count * bytes]);
        device.memory.read(strided, &mut source).unwrap();
        device.memory.read(contiguous, &mut result).unwrap();
        for (i, element) in result.chunks(bytes).enumerate() {
            let start = (i * stride + offset) * bytes;
            assert_eq!(element, &source[start..start + bytes], "{kernel}: {i}");
        }
    }
}

#[test]
fn transposes_of_any_shape() {
    let mut device = Device::workbook("transpose");
    for (width, height) in RAGGED {
        let tiles = [width.div_ceil(32) as u32, height.div_ceil(32) as u32, 1];
        let tall = [height.div_ceil(64) as u32, width.div_ceil(32) as u32, 1];
        let kernels = [
            ("read_coalesced", tiles, [32, 32, 1]),
            ("write_coalesced", tiles, [32, 32, 1]),
            ("tile", tiles, [32, 32, 1]),
            ("tile_padded", tiles, [32, 32, 1]),
            ("several", tiles, [32, 8, 1]),
            ("swizzled", tiles, [32, 8, 1]),
            ("any_shape", tall, [32, 8, 1]),
        ];
        for (kernel, grid, block) in kernels {
            transpose(&mut device, kernel, grid, block, width, height);
        }
    }
    for (width, height) in [(128usize, 64usize), (132, 76)] {
        let (across, down) = (width.div_ceil(64) as u32, height.div_ceil(64) as u32);
        let block = [256, 1, 1];
        transpose(&mut device, "vectors", [across, down, 1], block, width, height);
        let turned = [down, across, 1];
        transpose(&mut device, "downwards", turned, block, width, height);
        let device = &mut Device::workbook("transpose-kept");
        transpose(device, "downwards_kept", turned, block, width, height);
    }
}

fn transpose(
    device: &mut Device,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    width: usize,
    height: usize,
) {
    let input = device.words("in", (0..width * height).map(word));
    let output = device.fresh("out", width * height);
    let arguments = arguments![u64 input, u64 output, u32 width, u32 height];
    device.run(kernel, grid, block, &arguments).unwrap();
    let result = device.read(output, width * height);
    for (place, value) in result.into_iter().enumerate() {
        let (x, y) = (place / height, place % height);
        assert_eq!(value, word(y * width + x), "{kernel} {width} × {height}: {x}, {y}");
    }
}

#[test]
fn a_transpose_in_place() {
    let mut device = Device::workbook("transpose");
    for side in [64usize, 192, 196, 256] {
        let matrix = device.words("matrix", (0..side * side).map(word));
        let tiles = side.div_ceil(64) as u32;
        let grid = [tiles / 2 + 1, tiles, 1];
        let arguments = arguments![u64 matrix, u32 side];
        device.run("in_place", grid, [256, 1, 1], &arguments).unwrap();
        let result = device.read(matrix, side * side);
        for (place, value) in result.into_iter().enumerate() {
            assert_eq!(value, word(place % side * side + place / side));
        }
    }
}

#[test]
fn bank_conflicts() {
    let mut device = Device::workbook("bank-conflicts");
    for (kernel, words) in [("read4", 1), ("read8", 2), ("read16", 4)] {
        let start = device.words("start", (0..32).map(|lane| lane * 33));
        let output = device.fresh("out", 128);
        let arguments = arguments![u64 start, u64 output, u32 3, u32 0];
        device.run(kernel, [2, 1, 1], [64, 1, 1], &arguments).unwrap();
        let result = device.read(output, 128);
        for (thread, sum) in result.into_iter().enumerate() {
            let first = thread % 32 * 33;
            let row = (first * words..(first + 32) * words).map(word);
            let expected = row.fold(0, u32::wrapping_add).wrapping_mul(3);
            assert_eq!(sum, expected, "{kernel}: {thread}");
        }
    }
    let output = device.fresh("out", 256);
    let arguments = arguments![u64 output, u64 10_000];
    device.run("wait", [2, 1, 1], [128, 1, 1], &arguments).unwrap();
    assert_eq!(device.read(output, 256), [1; 256]);
}

#[test]
fn data_layout() {
    let mut device = Device::workbook("data-layout");
    let pattern = |i: usize, f: usize| word(i * 16 + f);
    let (count, fields) = (1000, 16);
    for shift in [0, 5, 10] {
        let place =
            |i: usize, f: usize| (((i >> shift) * fields + f) << shift) + (i & ((1 << shift) - 1));
        for used in [1, 2, 3, 4, 8, 16] {
            let length = 1024 * fields;
            let elements = device.words("elements", (0..length).map(|_| 0));
            let sums = device.fresh("sums", count);
            let arguments = arguments![
                u64 elements, u64 sums, u32 count, u32 fields, u32 shift
            ];
            let (grid, block) = ([4, 1, 1], [256, 1, 1]);
            device.run(&format!("write{used}"), grid, block, &arguments).unwrap();
            let written = device.read(elements, length);
            for i in 0..count {
                for f in 0..used {
                    assert_eq!(written[place(i, f)], pattern(i, f));
                }
            }
            device.run(&format!("read{used}"), grid, block, &arguments).unwrap();
            for (i, sum) in device.read(sums, count).into_iter().enumerate() {
                let fields = (0..used).map(|f| pattern(i, f));
                assert_eq!(sum, fields.fold(0, u32::wrapping_add));
            }
        }
    }
    let elements = device.fresh("elements", count * 8);
    let sums = device.fresh("sums", count);
    let arguments = arguments![u64 elements, u64 sums, u32 count, u32 8, u32 0];
    for kernel in ["write8_vectors", "read8_vectors"] {
        device.run(kernel, [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    }
    for (i, sum) in device.read(sums, count).into_iter().enumerate() {
        assert_eq!(sum, (0..8).map(|f| pattern(i, f)).fold(0, u32::wrapping_add));
    }
}

#[test]
fn device_bandwidth() {
    let mut device = Device::workbook("device-bandwidth");
    for (suffix, words) in [("4x1", 1), ("16x1", 4), ("16x4", 4)] {
        for (count, passes, shift) in [(1000usize, 1, 0), (1024, 2, 1)] {
            let length = count * words;
            let a = device.words("a", (0..length).map(word));
            let b = device.words("b", (0..length).map(|i| word(i) ^ 5));
            let out = device.fresh("out", length.max(256));
            let factor = 2_654_435_761u32;
            let arguments = arguments![
                u64 a, u64 b, u64 out, u32 factor, u64 count, u32 passes, u32 shift
            ];
            for (kernel, expected) in [
                ("write", (|i| word(i)) as fn(usize) -> u32),
                ("copy", |i| word(i)),
                ("triad", |i| word(i).wrapping_add(3u32.wrapping_mul(word(i) ^ 5))),
            ] {
                let kernel = format!("{kernel}_{suffix}");
                device.run(&kernel, [2, 1, 1], [128, 1, 1], &arguments).unwrap();
                let result = device.read(out, length);
                assert!((0..length).all(|i| result[i] == expected(i)), "{kernel}");
            }
            let kernel = format!("read_{suffix}");
            device.run(&kernel, [2, 1, 1], [128, 1, 1], &arguments).unwrap();
            let sums = device.read(out, 256).into_iter().fold(0, u32::wrapping_add);
            let expected = (0..length).map(word).fold(0, u32::wrapping_add);
            assert_eq!(sums, expected.wrapping_mul(passes));
        }
    }
    let (a, out) = (device.words("a", (0..4000).map(word)), device.fresh("out", 4000));
    let next = device.words("next", [0].into_iter());
    let arguments = arguments![u64 a, u64 out, u64 1000, u64 next];
    device.run("copy_queue", [3, 1, 1], [128, 1, 1], &arguments).unwrap();
    assert!(device.read(out, 4000).into_iter().eq((0..4000).map(word)));

    let mut device = Device::workbook("device-bandwidth-kept");
    let (a, out) = (device.words("a", (0..4000).map(word)), device.fresh("out", 4000));
    let arguments = arguments![u64 a, u64 a, u64 out, u64 1000];
    device.run("copy_kept", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    assert!(device.read(out, 4000).into_iter().eq((0..4000).map(word)));
}

#[test]
fn gather() {
    let mut device = Device::workbook("gather");
    let table = device.words("table", (0..4096).map(word));
    let index = |i: usize| (word(i) >> 7) % 4096;
    let indices = device.words("indices", (0..1000).map(index));
    let out = device.fresh("out", 1000);
    let arguments = arguments![u64 table, u64 indices, u64 out, u32 1000];
    device.run("gather", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    let result = device.read(out, 1000);
    assert!((0..1000).all(|i| result[i] == word(index(i) as usize)));

    // A permutation: every index once.
    let indices = device.fresh("indices", 1024);
    let arguments = arguments![u64 indices, u32 10, u32 10, u32 10, u32 0];
    device.run("make_indices", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    let mut result = device.read(indices, 1024);
    result.sort_unstable();
    assert!(result.into_iter().eq(0..1024));

    let arguments = arguments![u64 table, u64 indices, u64 out, u32 1000];
    device.run("scatter", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
}

#[test]
fn transfers() {
    let mut device = Device::workbook("transfer-strategies");
    let input = device.words("in", (0..1000).map(|i| (i as f32).to_bits()));
    let out = device.fresh("out", 1000);
    let arguments = arguments![u64 input, u64 out, u64 1000, u32 130, f32 1.0f32, f32 1.0f32];
    device.run("work", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    let result = device.read(out, 1000);
    assert!((0..1000).all(|i| f32::from_bits(result[i]) == i as f32 + 130.0));

    let input = device.words("in", (0..4000).map(word));
    let sum = device.words("sum", [0].into_iter());
    let arguments = arguments![u64 input, u64 sum, u64 1000];
    device.run("read", [3, 1, 1], [128, 1, 1], &arguments).unwrap();
    let expected = (0..4000).map(word).fold(0, u32::wrapping_add);
    assert_eq!(device.read(sum, 1), [expected]);

    let mut device = Device::workbook("transfer-latency");
    let order = device.words("order", 0..64);
    let lines = device.words("memory", (0..64 * 64).map(|_| 0));
    let arguments = arguments![u64 order, u32 64, u32 2, u64 lines];
    device.run("tie", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let place = device.words("place", [0].into_iter());
    let arguments = arguments![u64 lines, u64 place, u32 37];
    device.run("chase", [1, 1, 1], [1, 1, 1], &arguments).unwrap();
    assert_eq!(device.read(place, 1), [74]);
}

#[test]
fn zero_copy_and_unified_memory() {
    let mut device = Device::workbook("zero-copy");
    let input = device.words("in", (0..1024).map(word));
    let out = device.fresh("out", 1000);
    for (step, reads, jump) in [(1, 1, 0), (37, 4, 7)] {
        let arguments = arguments![
            u64 input, u64 out, u32 1024, u32 1000, u32 step, u32 reads, u32 jump
        ];
        device.run("read", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
        for (i, sum) in device.read(out, 1000).into_iter().enumerate() {
            let places = (0..reads).map(|k| (i * step + k * jump) % 1024);
            assert_eq!(sum, places.map(word).fold(0, u32::wrapping_add));
        }
    }
    let arguments = arguments![u64 out, u32 1000, u32 37];
    device.run("write", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    assert!(device.read(out, 1000).into_iter().eq((0..1000).map(word)));

    let mut device = Device::workbook("unified-memory");
    let data = device.words("data", (0..1000).map(word));
    let arguments = arguments![u64 data, u64 1000];
    device.run("add_one", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    let expected = (0..1000).map(|i| word(i).wrapping_add(1));
    assert!(device.read(data, 1000).into_iter().eq(expected));
}

#[test]
fn what_is_not_supported_is_named() {
    let device = Device::workbook("transpose-bulk");
    let error = device.module.kernel("bulk").unwrap().unsupported.clone().unwrap();
    assert_eq!(error.what, "mbarrier.init.shared.b64 is not supported");
}
