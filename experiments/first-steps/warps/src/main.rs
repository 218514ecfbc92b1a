//! # What does an `if` cost when only some threads of a warp take it?
//!
//! Page: `book/src/first-steps/warps.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | how many warps go both ways, and what does it cost? |
//!
//! A warp is 32 threads that run one instruction together. Where an `if` sends some of them
//! one way and the others the other, the warp goes both ways, one after the other, each time
//! with the threads that belong there.
//!
//! **Prediction:** in groups of 32 threads or a multiple, no warp goes both ways; in smaller
//! ones every warp does, and runs twice as many instructions.

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use lab::check::repeated;
use lab::{Case, Lab, Result, launch};

const THREADS: usize = 256;
const WARPS: usize = THREADS / 32;
/// How often each side repeats its line, so that this is most of the work.
const STEPS: u32 = 100;
/// How many neighbours go to the same side. Try others.
const GROUPS: [usize; 5] = [1, 16, 32, 48, 64];

// SAFETY: thread i writes element i, and there are as many as threads are started.
lab::kernels! { unsafe "warps" {
    fn sides(out: &mut CudaSlice<u32>, group: u32, steps: u32);
} }

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let mut out = stream.alloc_zeros::<u32>(THREADS)?;
    let (first, second) = (repeated(3, 1, STEPS), repeated(5, 2, STEPS));
    let mut told = vec![];
    for group in GROUPS {
        stream.memset_zeros(&mut out)?;
        let timed = Case::new("sides")
            .with("group", group)
            .time_on_gpu(lab, &stream, |_| {
                // ANCHOR: launch
                let config = launch::blocks(1, THREADS);
                kernels.sides(&stream, config, &mut out, group as u32, STEPS)
                // ANCHOR_END: launch
            })?
            .check_device(&stream, &out, |i| match i / group % 2 {
                0 => first(i as u32),
                _ => second(i as u32),
            })?;
        let counts = &timed.samples.counted.total;
        if let (Some(split), Some(instructions)) =
            (counts.get("divergent_branches"), counts.get("ptx_instructions"))
        {
            let each = instructions / WARPS as u64;
            told.push(format!(
                "groups of {group:2}: {split} of {WARPS} warps go both ways, {each:4} \
                 instructions for each warp"
            ));
        }
        timed.record(lab)?;
    }
    if !told.is_empty() {
        lab.print(&format!("\n{}", told.join("\n")));
    }
    Ok(())
}
