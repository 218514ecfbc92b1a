//! # Does a model take the memory that the formula says?
//!
//! Page: `book/src/models/memory-budget.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | how many bytes are gone when a small model's parts are allocated? |
//!
//! The formulas are in `experiments/shared/budget`, and the page has a calculator of them.
//! Here a small model's parts are allocated, and the driver is asked how much memory is left.
//!
//! **Prediction:** the driver hands out blocks of 2 MiB, and a part of several hundred MB
//! wastes half a block. Tensors share blocks, so the share that is lost stays below 1%, also
//! if each tensor is an allocation.

use std::process::ExitCode;

use budget::{Budget, Model, Plan, Task};
use cudarc::driver::{result, sys};
use lab::{Case, Lab, Result};

/// A model that fits beside other work, and what is done with it.
const MODEL: &str = "small-stack";
const TOKENS: f64 = 512.0;
const SEQUENCES: f64 = 8.0;

fn main() -> ExitCode {
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let mut model = Model::find(MODEL)?.clone();
    // An emulated GPU has little memory; a narrower model has the same tensors.
    let affordable = lab.free_bytes()? as f64 / 4.0;
    while parts(&model)?.iter().any(|(_, (_, bytes))| *bytes > affordable) {
        for width in [
            &mut model.hidden,
            &mut model.heads,
            &mut model.kv_heads,
            &mut model.intermediate,
        ] {
            *width /= 2.0;
        }
    }

    for (part, (tensors, predicted)) in parts(&model)? {
        for (kind, sizes) in [
            ("merged", vec![tensors.iter().sum()]),
            ("each", tensors.clone()), // as a framework without a pool of its own would
        ] {
            Case::new(part)
                .with("allocations", kind)
                .with("tensors", sizes.len())
                .with("predicted_bytes", predicted as usize)
                .time_on_host_after(
                    lab,
                    || lab.free_bytes(),
                    |free| Memory::new(free, &sizes),
                )?
                .note(|case, memory| {
                    Ok(case.with("taken_bytes", memory.taken(lab)?))
                })?
                .check_last(|memory| memory.check())?
                .record(lab)?;
        }
    }
    Ok(())
}

/// The bytes of each tensor of a part, and what the formula says of all.
type Part = (Vec<usize>, f64);

// ANCHOR: parts
fn parts(model: &Model) -> Result<[(&'static str, Part); 4]> {
    let training =
        Budget::of(model, &Plan { task: Task::Training, ..Plan::default() })?;
    let answering = Plan { batch: SEQUENCES, tokens: TOKENS, ..Plan::default() };
    let cache = Budget::of(model, &answering)?.kv_cache;
    let of_parameters = |bytes: usize, copies: usize| {
        let tensors = model.tensors().repeat(copies).into_iter();
        tensors.map(|parameters| parameters as usize * bytes).collect()
    };
    let layers = 2 * model.layers as usize; // keys, and values, of each
    Ok([
        ("weights", (of_parameters(2, 1), training.weights)),
        ("gradients", (of_parameters(2, 1), training.gradients)),
        ("optimiser", (of_parameters(4, 3), training.optimiser)),
        ("kv_cache", (vec![cache as usize / layers; layers], cache)),
    ])
}
// ANCHOR_END: parts

/// Allocations of the driver's, freed when dropped.
struct Memory {
    free_before: usize,
    pieces: Vec<(sys::CUdeviceptr, usize)>,
}

impl Memory {
    /// An allocation of each of `sizes`, in bytes; `free_before` were free.
    fn new(free_before: usize, sizes: &[usize]) -> Result<Memory> {
        let mut memory = Memory { free_before, pieces: vec![] };
        for bytes in sizes {
            // SAFETY: nothing reads it before it is set.
            memory.pieces.push((unsafe { result::malloc_sync(*bytes) }?, *bytes));
        }
        Ok(memory)
    }

    /// How many bytes fewer are free.
    fn taken(&self, lab: &Lab) -> Result<usize> {
        Ok(self.free_before - lab.free_bytes()?)
    }

    /// Whether every byte is there and no two pieces share one: each is filled with its
    /// number, and then the ends of all are read.
    fn check(&self) -> Result<u64> {
        for (number, (address, bytes)) in self.pieces.iter().enumerate() {
            // SAFETY: the piece has so many bytes.
            unsafe { result::memset_d8_sync(*address, number as u8, *bytes) }?;
        }
        let mut ends = vec![];
        for (address, bytes) in &self.pieces {
            for at in [0, bytes - 1] {
                let mut end = [0];
                // SAFETY: the byte is in the piece.
                unsafe { result::memcpy_dtoh_sync(&mut end, address + at as u64) }?;
                ends.extend(end);
            }
        }
        lab::check::every_element("ends of the pieces", &ends, |end| (end / 2) as u8)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for (address, _) in &self.pieces {
            // SAFETY: it came from `malloc_sync`, and nothing uses it any more.
            let _ = unsafe { result::free_sync(*address) };
        }
    }
}
