//! # How fast can a matrix be turned on its side?
//!
//! Page: `book/src/access-patterns/transpose.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | Measured; The trap | the ladder below, square and other matrices |
//! | [`ceiling`] | Measured | how fast is a copy, without and with an eviction hint? |
//! | [`matrix`] | | shapes, what is in a matrix, what a way to transpose is |
//! | [`kernels`] | | how is a matrix divided among blocks? |
//! | [`kept`] | | does it help if the L2 cache keeps what was read? |
//! | [`bulk`] | | does it help if the copy unit (TMA) moves the tiles? |
//! | [`halves`] | | and what does it read for that? |
//! | [`in_place`] | | can the matrix stay where it is? |
//! | [`library`] | | how fast is the library? |
//!
//! The last six are on the page after it, `transpose-ladder.md`.
//!
//! A transpose computes nothing: it reads every element once and writes it once, as a
//! copy does. So a copy is its ceiling. But rows become columns, so of the two accesses
//! one is contiguous and the other has a stride of a whole row. A ladder, each rung for one
//! reason:
//!
//! ```text
//! read_coalesced    reads rows (4 sectors a request), writes columns (32)
//! write_coalesced   reads columns (32), writes rows (4)
//! tile              reads rows into shared memory, writes rows out of it (4 and 4)
//! tile_padded       the same, without 32 threads waiting for one bank
//! several           four elements for each thread: more bytes in flight
//! swizzled          the same without the padding, which breaks the alignment of vectors
//! vectors           16 bytes in each access, tiles of 64 × 64
//! downwards         the same, but neighbouring blocks write neighbouring addresses
//! downwards_kept    the same, and the L2 cache is asked to keep what was read
//! any_shape         for rows that do not begin at multiples of 16 bytes
//! whole_sectors     the same, but writes begin and end where sectors do
//! bulk              the copy unit (TMA) of newer GPUs moves whole tiles
//! in_place          without a second matrix
//! ```
//!
//! **Prediction:** a strided access moves 32 bytes for each 4 that are used. If nothing
//! helped, a naive transpose would move (4 + 32) bytes per element where the copy moves
//! 8, and reach 8/36 = 22% of the copy. The padded tile reaches the copy, and leaves
//! nothing to the rungs above it.

mod bulk;
mod ceiling;
mod halves;
mod in_place;
mod kept;
mod kernels;
mod library;
mod matrix;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaModule, CudaStream};
use lab::memory::power_of_two_within;
use lab::{Case, Ceiling, Lab, Result, check};

use kernels::{KERNELS, Kernels, SIMPLE};
use matrix::{Shape, Way};

/// Sides of the square matrices. The chapter has the first; the others are there
/// because a GPU's L2 cache may hold much of it.
const SIDES: [usize; 3] = [4096, 8192, 16384];
/// Width and height of matrices that are not square; the last does not suit vectors.
const RECTANGLES: [(usize, usize); 3] = [(2048, 8192), (8192, 2048), (8193, 8191)];
/// What is timed on those.
const ON_RECTANGLES: [&str; 6] =
    ["downwards", "downwards_kept", "any_shape", "whole_sectors", "bulk", "cublas"];

fn main() -> ExitCode {
    lab::run!(Some(kernels::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The kernels and, where available, eviction hints, bulk copies and cuBLAS.
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let way = |(name, blocks)| kernels::way(&kernels, &stream, name, blocks);
    let mut ways: Vec<Way> = KERNELS.into_iter().map(way).collect();
    ways.extend(kept::way(lab, &stream)?);
    let (bulk, copies) = bulk::way(lab, &stream)?.unzip();
    ways.extend(bulk);
    match library::way(&stream) {
        Ok(cublas) => ways.push(cublas),
        Err(why) => lab.skip(Case::new("cublas"), why),
    }

    // 2. Shapes that no tile divides, the first of them not even by vectors.
    for (width, height) in [(777, 1001), (780, 1000), (1000, 1000)] {
        let ragged = Shape { width, height };
        let expected = ragged.transposed();
        let mut input = stream.clone_htod(&ragged.input())?;
        for way in ways.iter().filter(|way| way.takes(&ragged)) {
            let mut output = stream.alloc_zeros(ragged.elements())?;
            (way.transpose)(&ragged, &input, &mut output)?;
            let got = stream.clone_dtoh(&output)?;
            check::every_element(way.name, &got, |i| expected[i])?;
        }
        if ragged.is_square() {
            let grid = in_place::grid(width);
            kernels.in_place(&stream, grid, &mut input, width as u32)?;
            let got = stream.clone_dtoh(&input)?;
            check::every_element("in_place", &got, |i| expected[i])?;
        }
    }

    // 3. The square matrices, then the others. A GPU with too little memory for the first
    //    one gets a smaller one.
    let affordable = (lab.free_bytes()? / 10 * 9 / 2 / size_of::<u32>()).isqrt();
    let first = SIDES[0].min(power_of_two_within(affordable));
    let squares = [first, SIDES[1], SIDES[2]].map(|side| (side, side));
    for (width, height) in squares.into_iter().chain(RECTANGLES) {
        let shape = Shape { width, height };
        if !lab.quick() || shape.elements() <= SIDES[0] * SIDES[0] {
            measure(lab, &stream, &kernels, (&ways, copies.as_ref()), &shape)?;
        }
    }
    Ok(())
}

/// Times all ways to transpose a matrix of this shape.
fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    (ways, copies): (&[Way], Option<&Arc<CudaModule>>),
    shape: &Shape,
) -> Result<()> {
    // 4. Each turn takes the next of several pairs of buffers, so that the turns of one
    //    sample touch at least four times the L2 cache and no transpose finds its data
    //    there from the turn before.
    // ANCHOR: pairs
    let bytes = shape.elements() * size_of::<u32>();
    let pairs = (4 * lab.l2_bytes()).div_ceil(2 * bytes);
    // ANCHOR_END: pairs
    let needed = pairs * 2 * bytes;
    if needed > lab.free_bytes()? / 10 * 9 {
        let reason = format!("needs {} MiB of free device memory", needed >> 20);
        lab.skip(shape.case("all"), reason);
        return Ok(());
    }
    let (host, expected) = (shape.input(), shape.transposed());
    let (mut inputs, mut outputs) = (vec![], vec![]);
    for _ in 0..pairs {
        inputs.push(stream.clone_htod(&host)?);
    }
    for _ in 0..pairs {
        outputs.push(stream.alloc_zeros(shape.elements())?);
    }
    let l2_bytes = lab.l2_bytes();
    let case = |name: &str| {
        let case = shape.case(name).reads(bytes).writes(bytes);
        case.ceiling(Ceiling::DeviceMemory).footprint(needed, l2_bytes)
    };

    // 5. The ceiling: copies of the same bytes.
    ceiling::measure(lab, stream, case, &host, &inputs, &mut outputs)?;

    // 6. The transposes, each against cleared outputs and checked in every one. The call
    //    before is for libraries that load a shape's kernel when they need it.
    let wanted = |way: &Way| shape.is_square() || ON_RECTANGLES.contains(&way.name);
    for way in ways.iter().filter(|way| wanted(way) && way.takes(shape)) {
        (way.transpose)(shape, &inputs[0], &mut outputs[0])?;
        for output in &mut outputs {
            stream.memset_zeros(output)?;
        }
        let mut timed = case(way.name).time_on_gpu(lab, stream, |turn| {
            (way.transpose)(shape, &inputs[turn % pairs], &mut outputs[turn % pairs])
        })?;
        for output in &outputs {
            timed = timed.check_device(stream, output, |i| expected[i])?;
        }
        timed.record(lab)?;
    }
    if !shape.is_square() {
        return Ok(());
    }

    // 7. What the copy unit reads and writes, each alone.
    if let Some(module) = copies {
        let case = |name: &str| shape.case(name).ceiling(Ceiling::DeviceMemory);
        let case = |name: &str| case(name).footprint(needed / 2, l2_bytes);
        let both = (&inputs[..], &mut outputs[..]);
        halves::measure(lab, stream, module, shape, case, &host, both)?;
    }

    // 8. The launch cost of the simple kernels: one that does nothing.
    let idle = kernels::way(kernels, stream, "idle", SIMPLE).transpose;
    let launch =
        |turn| idle(shape, &inputs[turn % pairs], &mut outputs[turn % pairs]);
    shape.case("idle").time_on_gpu(lab, stream, launch)?.record(lab)?;

    // 9. In place, on all the buffers.
    inputs.append(&mut outputs);
    let case = case("in_place");
    in_place::measure(lab, stream, kernels, case, [&host, &expected], &mut inputs)
}
