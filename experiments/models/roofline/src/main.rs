//! # Is it the memory or the arithmetic?
//!
//! Page: `book/src/models/roofline.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | how fast, for every number of multiply-adds? |
//! | [`device`] | | the kernels, their numbers, the check |
//!
//! A kernel reads floats, puts each through k multiply-adds, and writes it: 2 k operations
//! for 8 bytes, or k/4 for each byte, its *arithmetic intensity*. With none it is a copy,
//! which shows what the memory can do; with thousands it shows what the units can do.
//! Neither can be beaten by what lies between:
//!
//! ```text
//! operations a second ≤ bytes a second of the copy × operations for each byte
//! operations a second ≤ operations a second of the units
//! ```
//!
//! **Prediction:** up to some 64 multiply-adds a float takes no longer than none. From
//! there on, the time is proportional to them.

mod device;

use std::process::ExitCode;

use anyhow::Context;
use lab::launch::{blocks, threads};
use lab::{Case, Ceiling, Lab, Result, check, memory};

use device::{Numbers, clocks};

/// Multiply-adds for each float: first those of the two ceilings.
const STEPS: [usize; 12] = [0, MANY, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/// So many that the memory does not matter.
const MANY: usize = 4096;
const VECTOR_BYTES: usize = 16;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two arrays, each of eight times the L2 cache or as much as there is room for.
    let wanted = match lab.emulated() {
        true => 16 << 10,
        false => (8 * lab.l2_bytes()).next_power_of_two(),
    };
    let bytes = wanted.min(memory::power_of_two_within(lab.free_bytes()? / 4));
    let count = bytes / VECTOR_BYTES;
    let mut numbers = Numbers::new(lab, count)?;
    let module = lab.load(clocks::KERNEL)?.context("it is for every GPU")?;
    let clocks = clocks::Kernels::of(&module)?;
    let stream = numbers.stream.clone();

    // ANCHOR: sweep
    // 2. Both ceilings, in bursts and when it goes on; then what lies between them.
    let mut ceilings = [(0.0, 0.0); 2];
    for steps in STEPS {
        // A number of vectors that no block divides.
        numbers.expect(steps);
        let some = check::ragged(count);
        numbers.clear()?;
        numbers.launch(steps, threads(some), some)?;
        numbers.check(some)?;

        numbers.clear()?;
        let found = lab.time_in_bursts_and_lasting(
            &stream,
            &mut |_| numbers.launch(steps, threads(count), count),
            &mut |out, time| clocks.read_clocks(&stream, blocks(1, 1), out, time),
        )?;
        let checked = numbers.check(count)?;

        let operations = 2 * steps * 4 * count;
        for ((regime, (samples, khz)), (copied, computed)) in
            ["burst", "lasting"].into_iter().zip(found).zip(&mut ceilings)
        {
            // Bytes and operations in a second.
            let seconds = samples.median();
            match steps {
                0 => *copied = (2 * bytes) as f64 / seconds,
                MANY => *computed = operations as f64 / seconds,
                _ => {}
            }
            let intensity = operations as f64 / (2 * bytes) as f64;
            let roof = computed.min(*copied * intensity);
            let mut case = Case::new(regime)
                .with("multiply_adds", steps)
                .reads(bytes)
                .writes(bytes)
                .computes(operations)
                .ceiling(Ceiling::DeviceMemory)
                .footprint(2 * bytes, lab.l2_bytes());
            if steps > 0 {
                case = case.model("roof_operations_per_second", roof);
            }
            case.model("clock_khz", khz)
                .timed(samples, ())
                .checked(checked)
                .record(lab)?;
        }
    }
    // ANCHOR_END: sweep
    Ok(())
}
