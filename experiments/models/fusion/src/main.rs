//! # What do several kernels cost that could be one?
//!
//! Page: `book/src/models/fusion.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | 1 to 256 steps, a kernel for each or one for all |
//! | [`chain`] | The experiment | the arrays, both ways to launch, the check |
//! | [`model`] | Bytes, until the arithmetic takes longer | how long should a chain take? |
//! | [`sizes`] | When the L2 cache holds the intermediates | what if the arrays are small? |
//! | [`softmax`] | A softmax needs its whole row | three walks along a row, or one |
//! | [`layer`] | What torch.compile gains | four operations of a neural network |
//!
//! A step reads an array, computes a little and writes an array. The next step reads it
//! again. *Fusing* steps puts them into one kernel, which keeps in registers what lies
//! between:
//!
//! ```text
//! separate  in ─►■─► a ─►■─► b ─►■─► a ─►■─► out    4 reads, 4 writes
//! fused     in ─►■■■■─► out                         1 read, 1 write
//! ```
//!
//! **Prediction:** arrays that no cache holds move at the memory's rate, so 8 separate steps
//! take 8 times as long as 8 fused ones. A step is one instruction for each number; the
//! fused chain takes no longer than a copy until some 40 steps, and from there on the
//! separate one takes 40 times as long.

mod chain;
mod layer;
mod model;
mod sizes;
mod softmax;

use std::process::ExitCode;

use lab::{Lab, Result};

use chain::{Chain, Strategy};
use model::Model;

/// Steps of a chain.
const STEPS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

fn main() -> ExitCode {
    lab::run!(Some(chain::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Arrays of four times the L2 cache, and a size that no block divides: the edges
    //    are right, whether steps are few or many.
    let mut chain = Chain::new(lab)?;
    for strategy in [Strategy::Separate, Strategy::Fused] {
        for steps in [1, 2, 5] {
            chain.check_ragged(strategy, steps)?;
        }
    }

    // 2. A kernel that has next to nothing to do: what a launch costs the GPU.
    let launch = chain.time(lab, "launch", Strategy::Fused, 1, 1)?;
    let launch_seconds = launch.samples.median();
    launch.record(lab)?;

    // 3. The chains.
    let most = if lab.emulated() { 8 } else { 256 };
    let mut timed = vec![];
    for steps in STEPS.into_iter().filter(|steps| *steps <= most) {
        for strategy in [Strategy::Separate, Strategy::Fused] {
            timed.push(chain.time(lab, "chain", strategy, chain.quads, steps)?);
        }
    }

    // 4. The model takes the memory's rate from one step, and the rate of the arithmetic
    //    from the longest chain; all others are predicted.
    let model = Model::of(launch_seconds, &timed);
    for chain in timed {
        chain.note(|case, shape| Ok(model.describe(case, shape)))?.record(lab)?;
    }

    sizes::measure(lab, &mut chain, &model)?;
    layer::measure(lab, &chain.stream)?;
    softmax::measure(lab, &chain.stream)
}
