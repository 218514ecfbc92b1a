//! # What does each way to cut a model send, and when does it wait?
//!
//! Page: `book/src/models/model-split.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | each way, for more and more rows |
//! | [`ways`] | The experiment | what does each way compute and send, in which order? |
//! | [`mod@team`] | The experiment | copies between GPUs, and waits: what is counted |
//! | [`collectives`] | The experiment | what is made of copies and waits |
//! | [`layer`] | The experiment | a layer on a GPU |
//! | [`device`] | | what a GPU holds |
//! | [`cut`] | The ledger | which part is whose, and what do the formulas say? |
//! | [`verify`] | The experiment | are weights and counts right? |
//! | [`measure`] | How much of it is sending | the exchange alone; a pipeline |
//!
//! The same step of training, forward, back and down the gradient, on p GPUs:
//!
//! ```text
//! one       one GPU has it all
//! data      each has part of the batch; gradients are summed at the end
//! state     the same, and each keeps part of the weights; the rest is borrowed, layer by layer
//! columns   each has part of each layer; after two layers, activations are summed
//! layers    each has some layers; parts of the batch go from one GPU to the next
//! ```
//!
//! Numbers are whole and wrap around, so every way has to end with the same bits.
//!
//! **Prediction:** with n rows and layers of n × n, `data` and `columns` send the same bytes.
//! At n / 32 rows `columns` takes less time than `data`, on four GPUs less than half of it; at
//! 2 n rows, `data` does. With m parts, `layers` takes (m + p - 1) / m of a p-th of the time
//! of one GPU.

mod collectives;
mod cut;
mod device;
mod layer;
mod measure;
mod team;
mod verify;
mod ways;

use std::process::ExitCode;

use lab::check::every_element;
use lab::memory::power_of_two_within;
use lab::{CannotRun, Lab, Result};
use peer_access::Access;

use cut::{Cut, Shape};
use device::KERNEL;
use team::Team;

/// Layers of the net, and so the most GPUs.
const LAYERS: usize = 8;
const WIDTH: usize = 4096;

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The GPUs, each with access to the memory of all others.
    let mut contexts = lab.gpus(2)?;
    contexts.truncate(LAYERS);
    if let Access::Refused(why) = peer_access::enable_all(&contexts)? {
        return Err(CannotRun(why).into());
    }

    // 2. Sizes that nothing divides: what each way makes of the weights, the host makes, too.
    let ragged = Shape { rows: 37, width: 29, layers: LAYERS };
    let expected = verify::on_host(ragged);
    lab.print("Counted for 37 rows and 8 layers of 29 × 29, each GPU on average.");
    lab.print("It holds weights, gradients, activations, and buffers:");
    for cut in Cut::ALL {
        let team = Team::new(lab, &contexts, cut, ragged)?;
        verify::step(&team)?;
        verify::counts(&team)?;
        every_element(cut.name(), &team.weights()?, |i| expected[i])?;
        lab.print(&verify::line(&team));
    }

    // 3. More and more rows; a GPU with a small cache is a small one, and gets smaller layers.
    let width = power_of_two_within(WIDTH.min(lab.l2_bytes() / 2048));
    let (layers, gpus) = (LAYERS, contexts.len());
    let sizes = [width / 128, width / 32, width / 8, width / 2, 2 * width];
    for rows in sizes.into_iter().filter(|rows| *rows >= gpus) {
        let shape = Shape { rows, width, layers };
        let (mut expected, mut one_seconds) = (vec![], f64::NAN);
        for cut in Cut::ALL {
            let mut team = Team::new(lab, &contexts, cut, shape)?;
            let timed = measure::step(lab, &team)?;
            let weights = team.weights()?;
            if cut == Cut::One {
                (expected, one_seconds) = (weights.clone(), timed.samples.median());
            }
            timed.check(&weights, |i| expected[i])?.record(lab)?;

            // 4. What is sent, by itself; and a pipeline, by the parts of the batch.
            if cut != Cut::One {
                measure::exchange(lab, &mut team)?;
            }
            if cut == Cut::Layers && rows == width / 2 {
                measure::pipeline(lab, &mut team, one_seconds, &expected)?;
            }
        }
    }
    Ok(())
}
