//! # How much memory do activations need, and what does it cost to compute them twice?
//!
//! Page: `book/src/models/activation-checkpointing.md`. Its sections show each file, or what
//! it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | a step of training that keeps every k-th activation |
//! | [`net`] | The experiment | the network, and a step of training |
//! | `net/layer.rs` | The experiment | the kernels of a layer |
//! | [`mod@memory`] | The experiment | how much memory is in use? |
//! | [`blocks`] | One checkpoint for each block | what if layers are of unequal width? |
//! | [`verify`] | | are the gradients right? |
//!
//! A layer's backward pass needs what went into the layer, so a step of training keeps the
//! *activations* of all layers until then. *Checkpointing* keeps only some, and computes the
//! others again, a segment at a time.
//!
//! **Prediction:** of L equal activations, every k-th kept, L / k + k are there at most, so
//! the least is 2 √L at k = √L: 16 of 65. What is computed again is less than one forward
//! pass, a third of a step's arithmetic; so a step takes at most 33% longer.

mod blocks;
mod memory;
mod net;
mod verify;

use std::process::ExitCode;

use lab::{Case, Lab, Result};

use net::Net;

fn main() -> ExitCode {
    lab::run!(Some(net::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Sizes that no tile divides: gradients are right bit for bit, whatever is kept.
    verify::check(lab)?;

    // 2. Layers of equal width. An activation of 2 · width² numbers is a fraction of the
    //    L2 cache, and takes long enough to compute that launches do not count.
    let width = width(lab);
    let layers = if lab.emulated() { 16 } else { 64 };
    let mut net = Net::new(lab, 2 * width, vec![width; layers + 1])?;

    // 3. A step for each distance between two checkpoints. The first keeps all, and its
    //    gradients are what the others have to have.
    let (mut gradients, mut all_seconds) = (vec![], f64::NAN);
    for every in (0..=layers.ilog2()).map(|power| 1 << power) {
        let starts: Vec<usize> = (0..layers).step_by(every).collect();
        let timed =
            net.time(lab, Case::new("every").with("every", every), &starts)?;
        if every == 1 {
            gradients = net.gradients()?;
            all_seconds = timed.samples.median();
        }

        // 4. The model. All segments but the last are computed again, but for their
        //    last layer, whose output is the next checkpoint.
        let again = (layers / every - 1) * (every - 1);
        let longer = again as f64 / (3 * layers) as f64;
        let bytes = (layers / every + every) * net.activation_bytes();
        timed
            .note(|case, readings| {
                Ok(case
                    .memory("activations", readings.clone())
                    .model("activation_bytes", bytes as f64)
                    .model("again_layers", again as f64)
                    .model("time_seconds", all_seconds * (1.0 + longer)))
            })?
            .check(&net.gradients()?, |i| gradients[i])?
            .record(lab)?;
    }
    blocks::measure(lab, width)
}

/// A power of two, so that an activation is a 16th of the L2 cache or less.
fn width(lab: &Lab) -> usize {
    let numbers = lab.l2_bytes() / size_of::<f32>() / 32;
    1 << (numbers.ilog2() / 2)
}
