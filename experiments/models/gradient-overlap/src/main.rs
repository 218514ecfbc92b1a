//! # Can the all-reduce of the gradients hide behind the backward pass?
//!
//! Page: `book/src/models/gradient-overlap.md`. Its sections show each file, or what it
//! measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | Measured; Fewer blocks for a call | steps in all ways, for more and more rows of a batch, and with few blocks |
//! | [`steps`] | The experiment | what does a step queue, and how long does it take? |
//! | [`products`] | The experiment | the two products of a layer's way back |
//! | [`all_reduce`] | The experiment | the all-reduce of some layers' gradients |
//! | [`communicator`] | | what sums, and how many blocks of threads may it take? |
//! | [`device`] | | streams and buffers of all GPUs |
//! | [`numbers`] | | what is in the matrices, and what must the gradients be? |
//! | [`verify`] | | does every GPU have the sum of all gradients? |
//!
//! Each GPU has the same network and a batch of its own. The backward pass goes from the last
//! layer to the first, and a layer's gradients are final once it has passed. So their all-reduce
//! can start, in another stream:
//!
//! ```text
//! after        products  4 4 3 3 2 2 1 1
//!              sums                      4 3 2 1
//! each layer   products  4 4 3 3 2 2 1 1
//!              sums        4   3   2   1
//! ```
//!
//! The gradients' bytes do not depend on the batch, and the time of the products does. With
//! several layers a call (a *bucket*) there are fewer calls; but the last one, which nothing
//! hides, is larger.
//!
//! **Prediction:** with 2048 rows eight calls hide 80% of the all-reduce, and the products
//! take 5% longer beside it. With 128 rows, where the products take no longer than the
//! all-reduce, a step takes at least 60% of what it takes one after the other. A call for
//! each layer of 4 MiB hides less than eight calls. In the same stream nothing is hidden.

mod all_reduce;
mod communicator;
mod device;
mod numbers;
mod products;
mod steps;
mod verify;

use std::iter::{once, successors};
use std::process::ExitCode;

use lab::memory::power_of_two_within;
use lab::{Case, Lab, Result, nccl};

use communicator::{KERNEL, MOST_GPUS, Stream, Sums};
use device::{Libraries, Trainers};
use numbers::Shape;
use steps::Step;

/// A block of the product `inputs_back` computes 128 × 128 results on an H100.
const BLOCK_ROWS: usize = 128;

fn main() -> ExitCode {
    // SAFETY: no thread has been started yet.
    unsafe { nccl::leave_multicast_off() };
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The GPUs, and the libraries; where there is none, our kernels step in.
    let mut contexts = lab.gpus(2)?;
    contexts.truncate(MOST_GPUS);
    let libraries = Libraries::find(lab, &contexts)?;

    // 2. Sizes that nothing divides, and a last call for fewer layers than the others.
    let ragged = Shape { layers: 5, width: 37, rows: 21 };
    let mut few = Trainers::new(lab, &contexts, &libraries, ragged)?;
    let has_nccl = few.has_nccl();
    for layers_per_call in [1, 2, 5] {
        let all = Sums::all(layers_per_call);
        let all = all.filter(|sums| has_nccl || sums.most_blocks.is_none());
        for sums in once(None).chain(all.map(Some)) {
            let (name, rows) = ("a few layers", ragged.rows - 2);
            few.try_out(Step { name, rows, sums, waits_for: Stream::Beside })?;
        }
    }
    drop(few);

    // 3. The all-reduce alone: a call for each layer, for two, and so on.
    let width = power_of_two_within(8 * lab.multiprocessors() - 1).min(1024);
    let layers = power_of_two_within(lab.multiprocessors() / 2).clamp(2, 32);
    let shape = Shape { layers, width, rows: 2 * width };
    let mut gpus = Trainers::new(lab, &contexts, &libraries, shape)?;
    let mut alone = vec![];
    for call in
        successors(Some(1), |call| Some(2 * call)).take_while(|n| *n <= layers)
    {
        let sums = Sums::new(Stream::Beside, call);
        alone.push((call, gpus.time_sums(lab, sums)?));
    }

    // 4. Steps with more and more rows: products alone, all-reduces in the same stream, and
    //    beside them.
    let factor = if lab.quick() { 16 } else { 4 };
    let rows = successors(Some(width / 8), |rows| Some(rows * factor));
    for rows in rows.take_while(|rows| *rows <= shape.rows) {
        let waits_for = Stream::Beside;
        let step = |name, sums| Step { name, rows, sums, waits_for };
        let products = gpus.time(lab, step("compute", None), None)?;
        let same_stream = Sums::new(Stream::Products, 1);
        gpus.time(lab, step("same_stream", Some(same_stream)), None)?;
        for (call, sums) in &alone {
            let calls = layers / call;
            let name = match calls {
                1 => "after",
                each if each == layers => "each_layer",
                _ => "buckets",
            };
            let step = step(name, Some(Sums::new(Stream::Beside, *call)));

            // 5. The model: the longer of both hides the other, but for one call's part of it.
            let (part, rest) = (1.0 / calls as f64, 1.0 - 1.0 / calls as f64);
            let model = (products + sums) * part + products.max(*sums) * rest;
            gpus.time(lab, step, Some(model))?;

            // 6. What do the products take, while gradients are summed beside them?
            if calls == 8.min(layers) {
                let waits_for = Stream::Products;
                gpus.time(lab, Step { name: "beside", waits_for, ..step }, None)?;
            }
        }
    }

    // 7. The largest batch, while NCCL may take a few blocks of threads only: so many fewer
    //    multiprocessors does it take from the products. And a batch whose `inputs_back` has a
    //    row of blocks less, and so leaves over more multiprocessors.
    if !gpus.has_nccl() {
        let case = Case::new("step").with("way", "few_blocks");
        lab.skip(case, "our own kernel sums here, and not NCCL");
        return Ok(());
    }
    let call = layers / 8.min(layers);
    let fewer = shape.rows - BLOCK_ROWS.min(shape.rows / 2);
    let (name, waits_for) = ("compute", Stream::Beside);
    gpus.time(lab, Step { name, rows: fewer, sums: None, waits_for }, None)?;
    for sums in Sums::limited(call) {
        gpus.time_sums(lab, sums)?;
        for (name, rows, waits_for) in [
            ("few_blocks", shape.rows, Stream::Beside),
            ("beside_few_blocks", shape.rows, Stream::Products),
            ("few_blocks", fewer, Stream::Beside),
            ("beside_few_blocks", fewer, Stream::Products),
        ] {
            gpus.time(lab, Step { name, rows, sums: Some(sums), waits_for }, None)?;
        }
    }
    Ok(())
}
