//! How fast kernels of the workbook run, with everything counted and checked.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use emulator::{Arguments, Launch, Memory, Module, Options, run};

/// Kernels of many kinds, each with its blocks and their threads.
const KINDS: [(&str, u32, u32); 13] = [
    ("naive_transpose", 1024, 256),
    ("matrix_product", 64, 256),
    ("histogram", 64, 256),
    ("global_atomics", 64, 256),
    ("scan_by_shuffles", 256, 256),
    ("local_arrays", 16, 256),
    ("spin_lock", 4, 32),
    ("copies", 64, 256),
    ("prints", 16, 256),
    ("one_thread", 4096, 1),
    ("n_body", 8, 256),
    ("bank_conflicts", 64, 256),
    ("mandelbrot", 64, 256),
];

fn module(name: &str) -> Module {
    let folder = if name == "speed" { "tests/kernels" } else { "../ptx" };
    let path = format!("{}/{folder}/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    let ptx = std::fs::read_to_string(path).expect("the PTX is committed");
    Module::parse(&ptx).expect("the PTX is valid")
}

fn buffer(memory: &mut Memory, bytes: u64) -> u64 {
    let address = memory.allocate(bytes, "buffer").expect("there is room");
    memory.fill(address, &[1, 2, 3, 4], bytes / 4).expect("it is a buffer");
    address
}

/// Runs a kernel again and again. The throughput is in thread-instructions of PTX.
fn bench(
    criterion: &mut Criterion,
    name: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: impl FnOnce(&mut Memory) -> Arguments,
) {
    let mut module = module(name);
    let mut memory = Memory::new(1 << 32);
    module.place(&mut memory).expect("there is room");
    let arguments = arguments(&mut memory);
    let launch = Launch::new(grid, block, arguments.bytes());
    let options = Options::default();
    let mut once =
        || run(&module, kernel, &launch, &mut memory, &options).expect("the kernel runs");
    let instructions = once().total().thread_instructions;
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(instructions));
    group.bench_function(kernel, |bencher| bencher.iter(|| black_box(once())));
    group.finish();
}

fn launches(criterion: &mut Criterion) {
    for (kernel, blocks, threads) in KINDS {
        bench(criterion, "speed", kernel, [blocks, 1, 1], [threads, 1, 1], |memory| {
            let count = memory.allocate(1 << 14, "count").expect("there is room");
            memory.fill(count, &[0], 1 << 14).expect("it is a buffer");
            Arguments::new()
                .with(buffer(memory, 1 << 20).to_le_bytes())
                .with(buffer(memory, 1 << 20).to_le_bytes())
                .with(count.to_le_bytes())
        });
    }
    let side = 1024u32;
    let matrices = |memory: &mut Memory| {
        let bytes = 4 * u64::from(side * side);
        Arguments::new()
            .with(buffer(memory, bytes).to_le_bytes())
            .with(buffer(memory, bytes).to_le_bytes())
            .with(side.to_le_bytes())
            .with(side.to_le_bytes())
    };
    for kernel in ["read_coalesced", "tile", "tile_padded"] {
        bench(criterion, "transpose", kernel, [32, 32, 1], [32, 32, 1], matrices);
    }
    bench(criterion, "transpose", "vectors", [16, 16, 1], [256, 1, 1], matrices);
    let count = 16u64 << 20;
    for (kernel, count) in [("gather4", count), ("gather16", count / 4)] {
        let grid = [(count / 256) as u32, 1, 1];
        bench(criterion, "coalescing", kernel, grid, [256, 1, 1], |memory| {
            Arguments::new()
                .with(buffer(memory, 64 << 20).to_le_bytes())
                .with(buffer(memory, 64 << 20).to_le_bytes())
                .with(count.to_le_bytes())
                .with(1u64.to_le_bytes())
                .with(0u64.to_le_bytes())
        });
    }
    bench(criterion, "bank-conflicts", "read4", [4, 1, 1], [1024, 1, 1], |memory| {
        let start = buffer(memory, 128);
        memory.fill(start, &[0], 128).expect("it is a buffer");
        Arguments::new()
            .with(start.to_le_bytes())
            .with(buffer(memory, 4 * 4096).to_le_bytes())
            .with(64u32.to_le_bytes())
            .with(0u32.to_le_bytes())
    });
    bench(criterion, "transfer-strategies", "work", [256, 1, 1], [256, 1, 1], |memory| {
        Arguments::new()
            .with(buffer(memory, 4 << 16).to_le_bytes())
            .with(buffer(memory, 4 << 16).to_le_bytes())
            .with((1u64 << 16).to_le_bytes())
            .with(1024u32.to_le_bytes())
            .with(1f32.to_le_bytes())
            .with(1f32.to_le_bytes())
    });
}

criterion_group!(benches, launches);
criterion_main!(benches);
