//! # Are weights of half the bytes multiplied in half the time?
//!
//! Page: `book/src/models/quantised-weights.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | the same product, with weights of 32 to 4 bits |
//! | [`formats`] | How many weights share a scale? | how is a row made of 4-bit numbers, and what is lost? |
//! | [`products`] | | the weights on the GPU, the kernels, the check |
//! | [`groups`] | How many weights share a scale? | what do smaller groups save and cost? |
//! | [`steps`] | To the bytes' bound | what keeps INT4 from the bytes' bound? |
//!
//! A language model that generates one token multiplies one vector by each of its matrices:
//! y = W x. Each weight is read once, multiplied once and added once. So a product takes as
//! long as reading its weights does, and there are two ways to make that shorter: a faster
//! memory, or fewer bytes. But what is stored in 4 bits has to become a float before it can be
//! multiplied. The GPU has time for so many instructions per weight, its *budget*, while the
//! memory sends the next one; and the fewer the bytes, the smaller the budget.
//!
//! ```text
//! 16 bytes of a row:  FP32 | 4 weights
//!                     FP16 | 8
//!                     INT8 | 16, and one scale for each group of 128
//!                     INT4 | 32, likewise
//! ```
//!
//! **Prediction:** time is proportional to the bytes. INT4 with an FP16 scale for each 128
//! weights has 4.125 bits a weight, so it takes 4.125/16 of FP16's time: it is 3.9 times as
//! fast. It fails if the threads take longer to unpack weights than the memory to send them.

mod formats;
mod groups;
mod products;
mod steps;

use std::process::ExitCode;

use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
use lab::{Case, Ceiling, Lab, Result};

use formats::{Format, Scheme};
use products::Products;

/// The longest rows that the kernels take: the width of a model of 7 billion weights.
const COLUMNS: usize = 4096;
/// Weights that share a scale, unless that is the question: 2^7 = 128.
const GROUP_BITS: u32 = 7;

fn main() -> ExitCode {
    lab::run!(Some(products::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. So many rows that even with 4 bits for each weight they are four times the L2
    //    cache, or as many as there is room for: as many for each warp. One less, so that no
    //    block divides them.
    let products = Products::new(lab)?;
    let wanted = 8 * lab.l2_bytes() / COLUMNS / if lab.emulated() { 4 } else { 1 };
    let affordable = lab.free_bytes()? / 3 / (COLUMNS * size_of::<f32>());
    let (rows, at_once) = (wanted.min(affordable), products.rows_at_once(4));
    let rows =
        if rows > at_once { rows.next_multiple_of(at_once) } else { rows } - 1;

    // 2. Each kernel with few rows, which end within a group and within a warp's last
    //    loads; and with so many short ones that some warps have to begin again.
    for scheme in KINDS.map(Scheme::of).into_iter().chain(steps::steps()) {
        products.run_once(scheme, 37, COLUMNS - 96)?;
        products.run_once(scheme, products.rows_at_once(scheme.rows) + 37, 160)?;
    }

    // 3. The same matrix in all formats.
    for scheme in KINDS.map(Scheme::of) {
        measure(lab, &products, Case::new("product"), scheme, rows)?;
    }
    groups::cases(lab, &products, rows)?;
    steps::cases(lab, &products, rows)
}

// ANCHOR: kinds
/// What the kernels are called, the bits of a weight, and how its float is made: by a
/// conversion, or by putting bits where a float has them (FP32's are there already).
const KINDS: [(&str, Format, &str); 7] = [
    ("fp32", Format::Fp32, "bits"),
    ("fp16", Format::Fp16, "converted"),
    ("bf16", Format::Bf16, "bits"),
    ("int8", Format::Integer(8), "converted"),
    ("int8_bits", Format::Integer(8), "bits"),
    ("int4", Format::Integer(4), "converted"),
    ("int4_bits", Format::Integer(4), "bits"),
];
// ANCHOR_END: kinds

/// Times one product of `rows` rows, compares every element of y, and records it with the
/// error that the format's rounding has left in y.
fn measure(
    lab: &mut Lab,
    products: &Products,
    case: Case,
    scheme: Scheme,
    rows: usize,
) -> Result<()> {
    let mut product = products.prepare(scheme, rows, COLUMNS)?;
    let (read, written) = (product.bytes(), rows * size_of::<f32>());
    let weights = (rows * COLUMNS) as f64;
    let case = case
        .with("format", scheme.kernel)
        .with("bits", scheme.format.bits())
        .with("unpacking", scheme.unpacking)
        .reads(read)
        .writes(written)
        .ceiling(Ceiling::DeviceMemory)
        .footprint(read, lab.l2_bytes())
        .model("weights", weights)
        .model("weight_bytes", read as f64)
        .model("bits_per_weight", 8.0 * read as f64 / weights);
    let case = match lab.memory_peak() {
        Some(peak) => {
            case.model("bound_seconds", (read + written) as f64 / peak).model(
                "instruction_budget",
                issued_per_second(lab)? * read as f64 / weights / peak,
            )
        }
        None => case,
    };
    let timed = case.time_on_gpu(lab, products.stream(), |_| product.launch())?;
    let (checked, error) = product.check()?;
    timed
        .note(|case, ()| Ok(case.model("error_percent", error)))?
        .checked(checked)
        .record(lab)
}

// ANCHOR: budget
/// Instructions of a thread that the GPU starts in a second, at its highest clock: each of
/// a multiprocessor's four schedulers starts one for the 32 threads of a warp per clock.
fn issued_per_second(lab: &Lab) -> Result<f64> {
    let clock_khz = lab.context().attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
    Ok(1000.0 * f64::from(clock_khz) * (4 * 32 * lab.multiprocessors()) as f64)
}
// ANCHOR_END: budget
