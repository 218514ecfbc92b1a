//! Products of matrices, and what brings the matrices into the lanes' registers, against plain
//! loops. Which lane has which element is written here as the manual of PTX has it.

use emulator::FaultKind;

use crate::common::{Device, word};

const ONE: [u32; 3] = [1, 1, 1];
const WARP: [u32; 3] = [32, 1, 1];

/// Small integers, which all formats but the narrowest hold: from -8 to 8.
fn small(i: usize) -> i32 {
    (word(i) >> 9) as i32 % 17 - 8
}

fn bf16(value: i32) -> u32 {
    (value as f32).to_bits() >> 16
}

fn f16(value: i32) -> u32 {
    let bits = (value as f32).to_bits();
    match value {
        0 => 0,
        _ => bits >> 16 & 0x8000 | ((bits & 0x7fff_ffff) - (112 << 23)) >> 13,
    }
}

fn e4m3(value: i32) -> u32 {
    let half = f16(value);
    match value {
        0 => 0,
        _ => half >> 8 & 0x80 | ((half & 0x7fff) - (8 << 10)) >> 7,
    }
}

fn e5m2(value: i32) -> u32 {
    f16(value) >> 8
}

fn tf32(value: i32) -> u32 {
    // What is below the 19 bits does not count.
    (value as f32).to_bits() | 0x0aaa
}

fn s8(value: i32) -> u32 {
    value as u32 & 0xff
}

fn f32_bits(value: i32) -> u32 {
    (value as f32).to_bits()
}

fn s32(value: i32) -> u32 {
    value as u32
}

/// Row and column of element i of a lane.
type Place = fn(lane: usize, i: usize) -> (usize, usize);

/// A shape, and where the elements of a lane are.
struct Layout {
    depth: usize,
    /// Elements in a register.
    each: usize,
    a: Place,
    b: Place,
}

fn of_c(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + (i & 1))
}

const HALVES_16: Layout = Layout {
    depth: 16,
    each: 2,
    a: |lane, i| {
        let low = i < 2 || (4..6).contains(&i);
        let row = lane / 4 + if low { 0 } else { 8 };
        (row, lane % 4 * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
    },
    b: |lane, i| (lane % 4 * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, lane / 4),
};

const HALVES_8: Layout = Layout {
    depth: 8,
    each: 2,
    a: |lane, i| (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + (i & 1)),
    b: |lane, i| (lane % 4 * 2 + i, lane / 4),
};

const WORDS_8: Layout = Layout {
    depth: 8,
    each: 1,
    a: |lane, i| {
        let row = lane / 4 + if i % 2 == 0 { 0 } else { 8 };
        (row, lane % 4 + if i < 2 { 0 } else { 4 })
    },
    b: |lane, i| (lane % 4 + if i == 0 { 0 } else { 4 }, lane / 4),
};

const BYTES_32: Layout = Layout {
    depth: 32,
    each: 4,
    a: |lane, i| {
        let low = i < 4 || (8..12).contains(&i);
        let row = lane / 4 + if low { 0 } else { 8 };
        (row, lane % 4 * 4 + (i & 3) + if i >= 8 { 16 } else { 0 })
    },
    b: |lane, i| (lane % 4 * 4 + (i & 3) + if i >= 4 { 16 } else { 0 }, lane / 4),
};

/// The registers of all lanes, `count` elements for each.
fn registers(
    count: usize,
    each: usize,
    place: Place,
    bits: impl Fn(usize, usize) -> u32,
) -> Vec<u32> {
    let mut words = Vec::new();
    for lane in 0..32 {
        for register in 0..count / each {
            let parts = (0..each).map(|part| {
                let (row, column) = place(lane, register * each + part);
                bits(row, column) << (32 / each * part)
            });
            words.push(parts.fold(0, |all, part| all | part));
        }
    }
    words
}

/// Element of A, of B, of C, all different from each other's.
fn a(row: usize, k: usize) -> i32 {
    small(row * 64 + k)
}

fn b(k: usize, column: usize) -> i32 {
    small(5000 + k * 64 + column)
}

fn c(row: usize, column: usize) -> i32 {
    1000 + (row * 8 + column) as i32
}

type Encode = fn(i32) -> u32;

fn check(kernel: &str, layout: &Layout, encode: [Encode; 2], sum: Encode) {
    let mut device = Device::tests("matrices");
    let Layout { depth, each, a: place_a, b: place_b } = layout;
    let [of_a, of_b] = encode;
    let in_a = registers(depth / 2, *each, *place_a, |row, k| of_a(a(row, k)));
    let in_b = registers(depth / 4, *each, *place_b, |k, n| of_b(b(k, n)));
    let in_c = registers(4, 1, of_c, |row, n| sum(c(row, n)));
    let in_a = device.words("a", in_a.into_iter());
    let in_b = device.words("b", in_b.into_iter());
    let in_c = device.words("c", in_c.into_iter());
    let arguments = arguments![u64 in_a, u64 in_b, u64 in_c];
    let counts = device.run(kernel, ONE, WARP, &arguments).unwrap();
    assert_eq!(counts.total().matrix_operations, 1, "{kernel}");
    let expected = registers(4, 1, of_c, |row, n| {
        let product = (0..*depth).map(|k| a(row, k) * b(k, n)).sum::<i32>();
        sum(c(row, n) + product)
    });
    assert_eq!(device.read(in_c, 128), expected, "{kernel}");
}

#[test]
fn products_are_those_of_plain_loops() {
    check("bf16_k16", &HALVES_16, [bf16; 2], f32_bits);
    check("f16_k16", &HALVES_16, [f16; 2], f32_bits);
    check("bf16_k8", &HALVES_8, [bf16; 2], f32_bits);
    check("f16_k8", &HALVES_8, [f16; 2], f32_bits);
    check("tf32_k8", &WORDS_8, [tf32; 2], f32_bits);
    check("s8_k32", &BYTES_32, [s8; 2], s32);
    check("s8_k32_satfinite", &BYTES_32, [s8; 2], s32);
    check("e4m3_k32", &BYTES_32, [e4m3; 2], f32_bits);
    check("e5m2_e4m3_k32", &BYTES_32, [|v| e5m2(v), e4m3], f32_bits);
}

#[test]
fn sums_are_rounded_once() {
    let mut device = Device::tests("matrices");
    // Ones times ones, and 2048, to which a half cannot add 1.
    let ones = device.words("a", [0x3c00_3c00; 128].into_iter());
    let in_b = device.words("b", [0x3c00_3c00; 64].into_iter());
    let sums = device.words("c", [f16(2048) << 16 | f16(2048); 64].into_iter());
    let arguments = arguments![u64 ones, u64 in_b, u64 sums];
    device.run("f16_sums", ONE, WARP, &arguments).unwrap();
    assert_eq!(device.read(sums, 64), [f16(2064) << 16 | f16(2064); 64]);

    // 2^31 - 1 is not left, or becomes a negative number.
    for (kernel, expected) in
        [("s8_k32_satfinite", i32::MAX as u32), ("s8_k32", (i32::MAX as u32).wrapping_add(32))]
    {
        let ones = device.words("a", [0x0101_0101; 128].into_iter());
        let in_b = device.words("b", [0x0101_0101; 64].into_iter());
        let sums = device.words("c", [i32::MAX as u32; 128].into_iter());
        let arguments = arguments![u64 ones, u64 in_b, u64 sums];
        device.run(kernel, ONE, WARP, &arguments).unwrap();
        assert_eq!(device.read(sums, 128), [expected; 128]);
    }

    // 255 is one without a sign only.
    let of_255 = device.words("a", [0xffff_ffff; 128].into_iter());
    let of_minus_1 = device.words("b", [0xffff_ffff; 64].into_iter());
    let sums = device.words("c", [0; 128].into_iter());
    let arguments = arguments![u64 of_255, u64 of_minus_1, u64 sums];
    device.run("u8_s8_k32", ONE, WARP, &arguments).unwrap();
    assert_eq!(device.read(sums, 128), [(-255 * 32) as u32; 128]);
}

#[test]
fn products_of_doubles() {
    let mut device = Device::tests("matrices");
    let double = |value: i32| {
        let bits = f64::from(value).to_bits();
        [bits as u32, (bits >> 32) as u32]
    };
    let of_lanes = |value: &dyn Fn(usize) -> i32| {
        (0..32).flat_map(|lane| double(value(lane))).collect::<Vec<_>>()
    };
    let in_a = of_lanes(&|lane| a(lane / 4, lane % 4));
    let in_b = of_lanes(&|lane| b(lane % 4, lane / 4));
    let of_sums = |sum: &dyn Fn(usize, usize) -> i32| {
        let pairs = (0..64).flat_map(|i| {
            let (lane, part) = (i / 2, i % 2);
            double(sum(lane / 4, lane % 4 * 2 + part))
        });
        pairs.collect::<Vec<_>>()
    };
    let in_a = device.words("a", in_a.into_iter());
    let in_b = device.words("b", in_b.into_iter());
    let sums = device.words("c", of_sums(&c).into_iter());
    let arguments = arguments![u64 in_a, u64 in_b, u64 sums];
    device.run("f64_k4", ONE, WARP, &arguments).unwrap();
    let expected = of_sums(&|row, n| c(row, n) + (0..4).map(|k| a(row, k) * b(k, n)).sum::<i32>());
    assert_eq!(device.read(sums, 128), expected);
}

/// Two halves in a word.
fn pair(low: usize, high: usize) -> u32 {
    low as u32 | (high as u32) << 16
}

#[test]
fn matrices_are_loaded_by_rows_and_by_columns() {
    // Rows one after the other, without conflict; rows of 128 bytes, all in the same banks;
    // the same with 16 bytes more, and none.
    for (pitch, wavefronts) in [(8, 4), (64, 32), (72, 4)] {
        let mut device = Device::tests("matrices");
        // Element (row, column) of matrix m is 64 m + 8 row + column.
        let words = (0..128).map(|i| pair(2 * i, 2 * i + 1));
        let input = device.words("in", words);
        let out = device.fresh("out", 256);
        let arguments = arguments![u64 input, u64 out, u32 pitch];
        let counts = device.run("load_four", ONE, WARP, &arguments).unwrap();
        let loads = counts.total().shared_loads;
        let expected = (2, 2 * wavefronts, 8);
        assert_eq!((loads.requests, loads.wavefronts, loads.ideal), expected);
        for (lane, words) in device.read(out, 256).chunks(8).enumerate() {
            let (row, column) = (lane / 4, lane % 4 * 2);
            for matrix in 0..4 {
                let at = |row: usize, column: usize| 64 * matrix + 8 * row + column;
                let plain = pair(at(row, column), at(row, column + 1));
                let transposed = pair(at(column, row), at(column + 1, row));
                assert_eq!(words[matrix], plain, "{lane}");
                assert_eq!(words[4 + matrix], transposed, "{lane}");
            }
        }
    }
}

#[test]
fn one_and_two_matrices() {
    let mut device = Device::tests("matrices");
    let input = device.words("in", (0..64).map(|i| pair(2 * i, 2 * i + 1)));
    let out = device.fresh("out", 96);
    let arguments = arguments![u64 input, u64 out];
    let counts = device.run("load_one_and_two", ONE, WARP, &arguments).unwrap();
    assert_eq!(counts.total().shared_loads.wavefronts, 3);
    for (lane, words) in device.read(out, 96).chunks(3).enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let at = |row: usize, column: usize| 8 * row + column;
        assert_eq!(words[0], pair(at(row, column), at(row, column + 1)));
        let transposed = |first: usize| pair(first + at(column, row), first + at(column + 1, row));
        assert_eq!(words[1..], [transposed(0), transposed(64)]);
    }
}

#[test]
fn fragments_of_wmma() {
    const STRIDE: usize = 24;
    for (kernel, a_by_rows, b_by_rows) in [
        ("wmma_row_col", true, false),
        ("wmma_row_row", true, true),
        ("wmma_col_col", false, false),
        ("wmma_col_row", false, true),
    ] {
        let mut device = Device::tests("matrices");
        let halves = |value: fn(usize, usize) -> i32, by_rows: bool| {
            let half = move |i: usize| {
                let (line, within) = (i / STRIDE, i % STRIDE);
                f16(if by_rows { value(line, within) } else { value(within, line) })
            };
            (0..8 * STRIDE).map(move |i| half(2 * i) | half(2 * i + 1) << 16)
        };
        let sums = (0..16 * STRIDE).map(|i| f32_bits(c(i / STRIDE, i % STRIDE)));
        let in_a = device.words("a", halves(a, a_by_rows));
        let in_b = device.words("b", halves(b, b_by_rows));
        let in_c = device.words("c", sums);
        let arguments = arguments![u64 in_a, u64 in_b, u64 in_c, u32 STRIDE];
        let counts = device.run(kernel, ONE, WARP, &arguments).unwrap();
        let total = counts.total();
        assert_eq!(total.matrix_operations, 1);
        // A row of 16 halves is a sector, and of floats two.
        assert_eq!(total.global_stores.sectors, 8 * 8);
        for (i, sum) in device.read(in_c, 16 * STRIDE).into_iter().enumerate() {
            let (row, n) = (i / STRIDE, i % STRIDE);
            let product = (0..16).map(|k| a(row, k) * b(k, n)).sum::<i32>();
            let product = if n < 16 { product } else { 0 };
            assert_eq!(sum, f32_bits(c(row, n) + product), "{kernel}: {row}, {n}");
        }
    }
}

#[test]
fn fragments_in_shared_memory() {
    let mut device = Device::tests("matrices");
    let words = |value: fn(usize, usize) -> i32| {
        let half = move |i: usize| bf16(value(i / 16, i % 16));
        (0..128).map(move |i| half(2 * i) | half(2 * i + 1) << 16)
    };
    let in_a = device.words("a", words(a));
    let in_b = device.words("b", words(b));
    let out = device.fresh("d", 256);
    let arguments = arguments![u64 in_a, u64 in_b, u64 out];
    device.run("wmma_bf16", ONE, WARP, &arguments).unwrap();
    for (i, sum) in device.read(out, 256).into_iter().enumerate() {
        let product = (0..16).map(|k| a(i % 16, k) * b(k, i / 16)).sum::<i32>();
        assert_eq!(sum, f32_bits(product));
    }
}

#[test]
fn conversions_to_few_bits() {
    let mut device = Device::tests("matrices");
    let numbers = [1.0f32, -2.5, 1.0 + 1.0 / 2048.0, 500.0, 1e6, -1e-3, 0.0, 17.0];
    let input = device.words("in", numbers.iter().map(|x| x.to_bits()));
    let out = device.fresh("out", 40);
    let arguments = arguments![u64 input, u64 out];
    device.run("conversions", ONE, [4, 1, 1], &arguments).unwrap();
    let rows = device.read(out, 40);
    let of = |thread: usize| &rows[10 * thread..][..10];
    // 1 and -2.5: exact in all formats; fused, 1 · 1 + 1 and 6.25 - 2.5.
    let expected = [
        0x3f80_0000,
        0x38c2,
        0x3cc1,
        0x3c00_c100,
        0x3c00_c100,
        0x3f80_c020,
        0x3f80_0000,
        0x3c00_0000,
        0x4000_4070,
        0x4000_4380,
    ];
    assert_eq!(of(0), expected);
    // Half way between two tf32 goes away from zero; 500 is above the largest e4m3.
    let expected = [0x3f80_2000, 0x387e, 0x3c60, 0x3c00_5f00, 0x3c00_6000];
    assert_eq!(of(1)[..5], expected);
    // 10^6 is 57344 in e5m2, and infinite in a half.
    let expected = [0x4974_2000, 0x7e81, 0x7b94];
    assert_eq!(of(2)[..3], expected);
    assert_eq!(of(2)[6..8], [0x4974_0000, 0x7c00_0000]);
    // 17 is half way between 16 and 18.
    assert_eq!(of(3)[1..3], [0x0058, 0x004c]);
}

/// Runs a kernel that is wrong, with one buffer and perhaps a number.
fn outcome(kernel: &str, threads: u32, number: u32) -> Result<(), (FaultKind, String)> {
    let mut device = Device::tests("matrices");
    let out = device.words("out", (0..256).map(|_| 0));
    let arguments = match kernel {
        "a_row_is_missing" => arguments![u64 out, u32 number],
        _ => arguments![u64 out],
    };
    let ran = device.run(kernel, ONE, [threads, 1, 1], &arguments);
    ran.map(drop).map_err(|fault| (fault.kind, fault.what.clone()))
}

#[test]
fn mistakes() {
    let (kind, what) = outcome("half_a_warp", 32, 0).unwrap_err();
    assert_eq!(kind, FaultKind::InactiveLane);
    assert_eq!(
        what,
        "lanes 0-15 of warp 0 execute mma, and lanes 16-31 do not: all 32 lanes must \
         execute it together"
    );
    let (_, what) = outcome("rows_of_15_bytes", 31, 0).unwrap_err();
    assert!(what.contains("lanes 0-30 of warp 0 execute ldmatrix, and lane 31 does not"));
    let (kind, what) = outcome("rows_of_15_bytes", 32, 0).unwrap_err();
    assert_eq!(kind, FaultKind::Misaligned);
    assert!(what.contains("reads 16 bytes at 0x2, which is no multiple of 16"), "{what}");
    assert_eq!(outcome("a_row_is_missing", 32, 0), Ok(()));
    let (kind, what) = outcome("a_row_is_missing", 32, 1).unwrap_err();
    assert_eq!(kind, FaultKind::Uninitialised);
    assert!(what.contains("reads 16 bytes at 0x60 of shared memory"), "{what}");
    let (kind, what) = outcome("a_race", 64, 0).unwrap_err();
    assert_eq!(kind, FaultKind::Race);
    assert!(what.contains("writes 4 bytes"), "{what}");
}

#[test]
fn what_is_missing_is_named() {
    for (line, name) in [
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1}, %r1, %r2, 1;",
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
        ),
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        ("tcgen05.fence::before_thread_sync;", "tcgen05.fence::before_thread_sync"),
        (
            "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, \
             {%f1}, %r1, 0;",
            "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};",
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
        ),
    ] {
        let ptx = format!(
            ".version 8.6 .target sm_90a .address_size 64
            .visible .entry other() {{ ret; }}
            .visible .entry kernel() {{ .reg .b32 %r<3>; .reg .f32 %f<3>; {line} ret; }}"
        );
        let mut device = Device::of(&ptx);
        device.run("other", ONE, WARP, &arguments![]).unwrap();
        let fault = device.run("kernel", ONE, WARP, &arguments![]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unsupported);
        assert!(fault.what.contains(&format!("{name} is not supported")), "{fault}");
    }
}
