//! Runs kernels that are wrong, each in one way, and prints what the emulator says of them:
//! `cargo run -p emulator --example broken-kernels`.

use emulator::{Arguments, Launch, Memory, MemoryError, Module, Options, run};

const PTX: &str = include_str!("../tests/kernels/broken-kernels.ptx");

/// Bytes of a buffer that a kernel gets, and whether something was written to it.
type Buffer = (&'static str, u64, bool);

/// A launch: the kernel, blocks, threads of a block, buffers, and a last number.
type Broken = (&'static str, u32, u32, [Buffer; 2], Option<u32>);

const BROKEN: [Broken; 9] = [
    ("out_of_bounds", 4, 256, [IN_1000, ("out", 4000, false)], Some(1000)),
    ("past_the_tile", 1, 256, [IN_256, ("out", 1024, false)], None),
    ("misaligned", 1, 63, [IN_256, ("out", 1024, false)], None),
    ("unwritten_total", 1, 256, [IN_256, ("total", 4, false)], None),
    ("unwritten_edge", 1, 256, [IN_256, ("out", 1024, false)], None),
    ("missing_barrier", 1, 256, [IN_256, ("sum", 4, false)], None),
    ("barrier_not_reached", 4, 256, [IN_1000, ("out", 4000, false)], Some(1000)),
    ("shuffle_from_outside", 1, 32, [IN_256, ("sum", 4, false)], Some(20)),
    ("never_unlocked", 1, 32, [("lock", 4, true), ("count", 4, true)], None),
];
const IN_256: Buffer = ("in", 1024, true);
const IN_1000: Buffer = ("in", 4000, true);

/// What the emulator says of each kernel.
pub(crate) fn sentences() -> Result<Vec<(&'static str, String)>, MemoryError> {
    let module = Module::parse(PTX).expect("it is PTX");
    let sentence = |(kernel, blocks, threads, buffers, count): Broken| {
        let mut memory = Memory::new(1 << 30);
        let mut arguments = Arguments::new();
        for (name, bytes, written) in buffers {
            let address = memory.allocate(bytes, name)?;
            if written {
                memory.write(address, &vec![0; bytes as usize])?;
            }
            arguments = arguments.with(address.to_le_bytes());
        }
        if let Some(count) = count {
            arguments = arguments.with(count.to_le_bytes());
        }
        let launch = Launch::new([blocks, 1, 1], [threads, 1, 1], arguments.bytes());
        let options = Options { patience: 1 << 20, ..Options::default() };
        let ended = run(&module, kernel, &launch, &mut memory, &options);
        let fault = ended.expect_err("the kernel is wrong");
        Ok((kernel, fault.to_string()))
    };
    BROKEN.into_iter().map(sentence).collect()
}

#[allow(dead_code)] // of the test that compares the sentences with the page's
fn main() -> Result<(), MemoryError> {
    for (_, sentence) in sentences()? {
        println!("{sentence}");
    }
    Ok(())
}
