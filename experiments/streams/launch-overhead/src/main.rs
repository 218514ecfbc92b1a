//! # What does it cost to start a kernel, and when does it show?
//!
//! Page: `book/src/streams/launch-overhead.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | a chain of kernels in three ways |
//! | [`vector`] | The experiment | the kernel, and graphs of it |
//! | [`gaps`] | The gap between kernels | how long is it from one kernel to the next? |
//! | [`early`] | A kernel that starts early | and if the next one is there already? |
//! | [`calls`] | A graph has to be made | what does the host pay? |
//!
//! A chain of a thousand small steps, each of which needs what the one before has made, can
//! be a thousand launches; a *CUDA graph*, which hands the GPU the whole chain with one
//! call; or *fused* into one kernel that does all steps.
//!
//! ```text
//! launches  host  call call call call …         as long as calls take longer than
//!           GPU     ■    ■    ■    ■            kernels, the GPU waits for the host
//! graph     host  call
//!           GPU     ■ ■ ■ ■ …                   gaps remain, but smaller
//! fused     GPU     ■■■■
//! ```
//!
//! **Prediction:** a call takes 2.5 µs and a tiny kernel occupies the GPU for 1.6 µs, so a
//! thousand launches take 2.5 ms, whatever the size of the vector, until a step takes more
//! than 2.5 µs; a graph takes 1.6 ms. A fused chain on a small vector takes less than
//! 0.1 ms, because a step is one multiplication.

mod calls;
mod early;
mod gaps;
mod vector;

use std::process::ExitCode;

use lab::measure::time_in_rounds;
use lab::{Case, Lab, Result};

use vector::Vector;

/// Steps of a chain.
const STEPS: u32 = 1000;

lab::words! {
    /// How a chain gets to the GPU.
    enum Kind { Launches = "launches", Graph = "graph", Fused = "fused" }
}

/// Sizes of the vector. No block divides most of them.
const ELEMENTS: [u32; 10] = [
    1_000, 10_000, 100_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 4_000_000,
    8_000_000, 16_000_000,
];

fn main() -> ExitCode {
    lab::run!(Some(vector::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    for elements in ELEMENTS.into_iter().take(if lab.emulated() { 2 } else { 10 }) {
        let mut vector = Vector::new(lab.module()?, &stream, elements)?;
        let graph = vector.capture(STEPS, |vector, _| vector.launch(1))?;
        let case = |name, kind: Kind| {
            let case = Case::new(name).with("kind", kind);
            case.with("elements", elements as usize)
        };

        // ANCHOR: ways
        // 1. From the first call until all is done; the three take turns.
        let chains = Kind::ALL.map(|kind| case("chain", kind));
        // ANCHOR: chain
        let chains = time_in_rounds(
            lab,
            chains,
            || Ok(()),
            |kind| {
                match Kind::ALL[kind] {
                    Kind::Launches => {
                        (0..STEPS).try_for_each(|_| vector.launch(1))?
                    }
                    Kind::Graph => vector.replay(&graph)?,
                    Kind::Fused => vector.launch(STEPS)?,
                }
                Ok(stream.synchronize()?)
            },
        )?;
        // ANCHOR_END: chain
        for (kind, chain) in Kind::ALL.into_iter().zip(chains) {
            chain.checked(vector.check()?).record(lab)?;

            // 2. What the GPU needs for a step, when the host is far ahead of it.
            if kind == Kind::Launches && [1_000, 1_000_000].contains(&elements) {
                case("step", kind)
                    .time_on_gpu(lab, &stream, |_| vector.launch(1))?
                    .checked(vector.check()?)
                    .record(lab)?;
            }
        }
        // ANCHOR_END: ways
    }
    gaps::measure(lab, &stream)?;
    calls::measure(lab, &stream)
}
