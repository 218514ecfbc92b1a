//! IR that clang made of `goldens/*.cu` (its `.ll` beside each): the PTX is the committed one,
//! runs on the emulated GPU, and computes what the source says. And what is refused, with the line.
//!
//! The IR is made again by `clang -cc1 -triple nvptx64-nvidia-cuda -x cuda -target-cpu sm_75
//! -target-feature +ptx75 -include ../../prelude.h` with [`translator::OPTIONS`].

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use emulator::{Launch, Memory, Module, Options};
use translator::translate;

const BITS: &str = include_str!("goldens/bits.ll");
const FLOW: &str = include_str!("goldens/flow.ll");
const LATER: &str = include_str!("goldens/later.ll");
const MEMORY: &str = include_str!("goldens/memory.ll");
const NUMBERS: &str = include_str!("goldens/numbers.ll");
const PIECES: &str = include_str!("goldens/pieces.ll");
const WARP: &str = include_str!("goldens/warp.ll");

#[test]
fn ptx_is_as_committed() {
    for (name, ir) in [
        ("bits", BITS),
        ("flow", FLOW),
        ("later", LATER),
        ("memory", MEMORY),
        ("numbers", NUMBERS),
        ("pieces", PIECES),
        ("warp", WARP),
    ] {
        let ptx = translate(ir).unwrap();
        let path = format!("{}/tests/goldens/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &ptx).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        let hint = "if this is meant, run UPDATE_GOLDEN=1 cargo test -p translator";
        assert_eq!(ptx, committed, "{name}: {hint}");
        assert_eq!(ptx, translate(ir).unwrap(), "the same each time");
    }
}

/// A kernel's memory after one block of 32 threads: buffers of so many bytes, the first ones with
/// what they begin with; then the other arguments' bytes.
fn run(ir: &str, kernel: &str, buffers: &[&[u8]], last: &[u8]) -> Vec<Vec<u8>> {
    let mut module = Module::parse(&translate(ir).unwrap()).unwrap();
    let mut memory = Memory::new(1 << 20);
    module.place(&mut memory).unwrap();
    let mut addresses = Vec::new();
    for bytes in buffers {
        let address = memory.allocate(bytes.len() as u64, "a buffer").unwrap();
        memory.write(address, bytes).unwrap();
        addresses.push(address);
    }
    let mut arguments: Vec<u8> = addresses.iter().flat_map(|a| a.to_le_bytes()).collect();
    arguments.extend(last);
    let launch =
        Launch { grid: [1; 3], block: [32, 1, 1], shared_bytes: 128, arguments: &arguments };
    emulator::run(&module, kernel, &launch, &mut memory, &Options::default()).unwrap();
    let read = |(address, bytes): (&u64, &&[u8])| {
        let mut now = vec![0; bytes.len()];
        memory.read(*address, &mut now).unwrap();
        now
    };
    addresses.iter().zip(buffers).map(read).collect()
}

fn words<const BYTES: usize, T>(bytes: &[u8], of: fn([u8; BYTES]) -> T) -> Vec<T> {
    bytes.chunks(BYTES).map(|word| of(word.try_into().unwrap())).collect()
}

#[test]
fn loops_ways_and_choices_lead_where_the_source_says() {
    let input: Vec<u32> = (0..32).map(|i| i * 12 + 7).collect();
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let after = run(FLOW, "flow", &[&[0; 256], &bytes], &31u32.to_le_bytes());
    let out = words(&after[0], u32::from_le_bytes);
    for i in 0..31u32 {
        let (mut a, mut b) = (input[i as usize], i + 1);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let (mut n, mut steps) = (i + 1, 0);
        while n != 1 && steps < 100 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        let steps = match i % 8 {
            1 => steps + 1000,
            2 => steps ^ a,
            5 => a,
            _ => 2 * steps,
        };
        assert_eq!(out[2 * i as usize..][..2], [a, steps], "thread {i}");
    }
    assert_eq!(out[62..], [0, 0], "the last thread has nothing to do");
}

#[test]
fn a_value_is_kept_for_the_next_turn_if_there_is_none_before_the_first() {
    let input: Vec<i32> = (0..128).map(|i| if i < 32 { 2 * i + 1 } else { i * i }).collect();
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let after = run(LATER, "later", &[&bytes, &[0; 512]], &4u32.to_le_bytes());
    let out = words(&after[1], i32::from_le_bytes);
    for i in 32..128 {
        let expected = if input[i] % 2 == 0 { input[i - 32] - input[i] } else { 0 };
        assert_eq!(out[i], expected, "element {i}");
    }
}

#[test]
fn integers_of_all_sizes_are_what_rust_says() {
    let bytes: Vec<u8> = (0..32u8).map(|t| t.wrapping_mul(37).wrapping_sub(60)).collect();
    let shorts: Vec<u16> = (0..32u16).map(|t| t.wrapping_mul(4099).wrapping_add(1)).collect();
    let shorts_bytes: Vec<u8> = shorts.iter().flat_map(|short| short.to_le_bytes()).collect();
    let after = run(NUMBERS, "numbers", &[&bytes, &shorts_bytes, &[0; 2048], &[0; 512]], &[]);
    let (out, floats) =
        (words(&after[2], i64::from_le_bytes), words(&after[3], f32::from_le_bytes));
    for t in 0..32 {
        let (b, s) = (bytes[t] as i8, shorts[t]);
        let wide = i64::from(b) * i64::from(s);
        let magic = u128::from(0x9e37_79b9_7f4a_7c15_u64);
        let bits = u32::from(s);
        let expected = [
            i64::from(b.wrapping_add(s as i8)),
            i64::from((b as u8).wrapping_mul(s as u8) / 3),
            wide >> (t & 7),
            (wide as u64 / 7) as i64,
            i64::from(bits.count_ones() + (bits.leading_zeros() << 8))
                + i64::from((bits.trailing_zeros() + 1) << 16),
            i64::from(i32::from(b).min(3) * (t as i32).max(5) - i32::from(b).abs()),
            ((u128::from(wide as u64) * magic) >> 64) as i64,
            i64::from(bits.reverse_bits() ^ (bits & 0xffff | (i32::from(b) as u32) << 16)),
        ];
        assert_eq!(out[8 * t..][..8], expected, "thread {t}");
        let (f, g) = (f32::from(s), f32::from(b));
        let signed = if b > 0 { -f } else { f / 3.0 };
        let expected = [
            f.mul_add(g, 0.5),
            f.mul_add(3.0, -(g * g)),
            f.sqrt().max(g) + (g * 0.3).round_ties_even() + signed,
            (g * 0.01).exp() + (g * 1.7).trunc(),
        ];
        for (found, expected) in floats[4 * t..][..4].iter().zip(expected) {
            assert!((found - expected).abs() <= expected.abs() * 1e-6, "{found} {expected}");
        }
    }
}

#[test]
fn pointers_lead_to_the_space_that_they_had_in_the_source() {
    let (from, vectors): (Vec<f32>, Vec<f32>) =
        ((0..32).map(|t| t as f32 + 0.25).collect(), (0..128).map(|k| k as f32).collect());
    let bytes = |floats: &[f32]| floats.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<u8>>();
    // The kernel's parameters lie as in C: a pointer, the plan, a pointer, a truth value, a double.
    let (mut memory, mut module) =
        (Memory::new(1 << 20), Module::parse(&translate(MEMORY).unwrap()).unwrap());
    module.place(&mut memory).unwrap();
    let mut place = |bytes: &[u8]| {
        let address = memory.allocate(bytes.len() as u64, "a buffer").unwrap();
        memory.write(address, bytes).unwrap();
        address
    };
    let (out, given, input) = (place(&[0; 512]), place(&bytes(&from)), place(&bytes(&vectors)));
    let mut arguments = [out.to_le_bytes(), given.to_le_bytes()].concat();
    arguments.extend([2, 0, 3, 1]);
    arguments.extend(bytes(&[10.0, 100.0, 1000.0]));
    arguments.extend(input.to_le_bytes());
    arguments.extend(1u64.to_le_bytes());
    arguments.extend(0.5f64.to_le_bytes());
    let launch =
        Launch { grid: [1; 3], block: [32, 1, 1], shared_bytes: 128, arguments: &arguments };
    emulator::run(&module, "memory", &launch, &mut memory, &Options::default()).unwrap();
    let mut found = vec![0; 512];
    memory.read(out, &mut found).unwrap();
    let found = words(&found, f32::from_le_bytes);
    let (table, order, factors) = ([0.5, 1.0, 2.0, 4.0], [2, 0, 3, 1], [10.0, 100.0, 1000.0]);
    for t in 0..32 {
        let vector = |at: usize| &vectors[4 * at..][..4];
        let own = if t % 2 == 0 { vector(31 - t) } else { vector(t) };
        let sum: f32 = own.iter().zip(table).map(|(a, b)| a * b).sum();
        let k = order.iter().position(|place| *place == t & 3).unwrap();
        let mixed = from[(t + k) & 31] * factors[k % 3];
        let other = vector(31 - (t ^ 1));
        assert_eq!(found[4 * t..][..4], [sum, mixed, other[2] / 2.0, other[3]], "thread {t}");
    }
}

#[test]
fn copies_may_be_wider_than_their_addresses_allow_and_long_words_rotate() {
    let pixels: Vec<u8> = (0..128u8).map(|byte| byte.wrapping_mul(37)).collect();
    let particle = |t: u8, x: f32, kind: i32| {
        let floats = [x, 2.0 * f32::from(t), -f32::from(t)].map(f32::to_le_bytes).concat();
        [&floats[..], &kind.to_le_bytes()].concat()
    };
    let particles: Vec<u8> = (0..32).flat_map(|t| particle(t, 1.0, t.into())).collect();
    let long = |t: u64| t.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let longs: Vec<u8> = (0..32).flat_map(|t| long(t).to_le_bytes()).collect();
    let buffers = [&pixels, &[0; 128][..], &[&particles[..], &[0; 512]].concat(), &longs];
    let after = run(PIECES, "pieces", &buffers, &13u32.to_le_bytes());
    let turned: Vec<u8> = pixels.chunks(4).rev().flatten().copied().collect();
    assert_eq!(after[1], turned);
    let moved: Vec<u8> = (0..32).flat_map(|t| particle(t, 1.5, i32::from(t) + 100)).collect();
    assert_eq!(after[2], [particles, moved].concat());
    let words = words(&after[3], u64::from_le_bytes);
    let expected: Vec<u64> =
        (0..32).map(|t| long(t).rotate_left(7) ^ long(t).rotate_right(13)).collect();
    assert_eq!(words, expected);
}

#[test]
fn bits_are_turned_swapped_and_counted_in_numbers_of_all_sizes() {
    let bytes: Vec<u8> = (0..32u8).map(|t| t.wrapping_mul(37).wrapping_sub(60)).collect();
    let shorts: Vec<u16> = (0..32u16).map(|t| t.wrapping_mul(4099).wrapping_sub(9)).collect();
    let shorts_bytes: Vec<u8> = shorts.iter().flat_map(|short| short.to_le_bytes()).collect();
    let after = run(BITS, "bits", &[&bytes, &shorts_bytes, &[0; 2048]], &[]);
    let out = words(&after[2], u64::from_le_bytes);
    for t in 0..32 {
        let (b, c, s, r) = (bytes[t], bytes[31 - t], shorts[t], shorts[31 - t]);
        let w = u32::from(s) << 16 | u32::from(r);
        let counts = |of: u32, b: u32| {
            let first = if b == 0 { 0 } else { b.trailing_zeros() + 1 };
            u64::from(of.count_ones() + (b.leading_zeros() << 8) + (first << 16))
        };
        let orders = [b.cmp(&c), (w as i32).cmp(&7), w.cmp(&(99 * u32::from(s)))];
        let orders = orders.map(|order| (order as i64 + 1) as u64);
        let expected = [
            b.rotate_left(3).into(),
            s.rotate_left(5).into(),
            r.swap_bytes().into(),
            w.swap_bytes().into(),
            (u64::from(w) << 32 | u64::from(!w)).swap_bytes(),
            counts(b.into(), c.into()),
            counts(s.into(), r.into()),
            orders[0] + orders[1] * 4 + orders[2] * 16,
        ];
        assert_eq!(out[8 * t..][..8], expected, "thread {t}");
    }
}

#[test]
fn what_is_not_known_is_refused_with_its_line() {
    for (ir, from, to, expected) in [
        (
            FLOW,
            "urem i32",
            "umul.fix i32",
            "line 15: the translator does not know the instruction umul.fix",
        ),
        (
            FLOW,
            "ptr %in, i64 %idxprom",
            "ptr %in, i64 %idxprom, i64 0",
            "line 13: the translator does not know an element of an element",
        ),
        (
            NUMBERS,
            "@llvm.rint.f32(",
            "@llvm.sin.f32(",
            "line 22: the translator does not know the function llvm.sin.f32",
        ),
        (
            WARP,
            "@llvm.nvvm.bar.warp.sync(",
            "@llvm.nvvm.cluster.wait(",
            "line 17: the translator does not know the function llvm.nvvm.cluster.wait",
        ),
        // A function of the source's, which only has the name of one of LLVM's.
        (
            WARP,
            "@llvm.nvvm.bar.warp.sync(",
            "@trap(",
            "line 17: trap is called: it has no body, or calls itself; all functions have to be \
             inlined",
        ),
        (
            WARP,
            "\"=r,r,n,0\"",
            "\"=q,r,n,0\"",
            "line 13: the translator does not know the constraint \"q\" of PTX",
        ),
        (
            MEMORY,
            "load float, ptr addrspacecast (ptr addrspace(4) @table to ptr)",
            "load float, ptr @doubled",
            "line 22: the translator does not know the address of the function doubled",
        ),
        (
            MEMORY,
            "global [32 x %struct.float4]",
            "global [320000000000 x %struct.float4]",
            "it has 5120000000000 bytes and may have 4294967295 (of the variable \
             _ZZ6memoryE4tile)",
        ),
        (
            MEMORY,
            "store <4 x float> %",
            "store <4 x half> %",
            "line 16: the translator does not know the type half",
        ),
    ] {
        assert!(ir.contains(from), "{from}");
        let error = translate(&ir.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(translate("nothing").unwrap_err().line, None);
}

#[test]
fn no_function_of_the_prelude_has_lines_of_its_own() {
    for line in translator::PRELUDE.lines().filter(|line| line.contains('{')) {
        let defines = line.contains("__device__ ") && !line.contains("#define __device__");
        assert!(!defines || line.contains("nodebug"), "{line}");
    }
}
