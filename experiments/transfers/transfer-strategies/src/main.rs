//! # What do the usual ways to transfer less, or faster, really save?
//!
//! Page: `book/src/transfers/transfer-strategies.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | k kernels on data that stays, or a round trip for each? |
//! | [`batching`] | A full truck has to be loaded | one copy of 4 MiB, or up to 1024 copies of pieces? |
//! | [`overlap`] | Side by side, the longer one counts | the copy beside a kernel, or before it? |
//! | | What the chapter claims | (the experiment `host-memory`) |
//! | [`crossover`] | Where transfers stop mattering | when does a kernel take as long as the copy? |
//! | [`small_jobs`] | When the CPU wins | is the host done before the data is back? |
//!
//! Data that is to be computed on must cross the link to the GPU, and its results must
//! cross back. Above are the ways to pay less for that, and two limits to all of them.
//!
//! **Prediction:** a copy costs latency + bytes / bandwidth (transfer-bandwidth); the
//! rest is arithmetic. k kernels with one round trip save 1 - 1/k of the transfers: 90%
//! from k = 10 on. 1024 copies cost 1023 latencies more than one: at 2.5 µs each, 30 times
//! the one copy. A copy beside a kernel that lasts as long is hidden in full, which saves
//! half of the time and no more. And the kernel lasts as long as the copy at 1200 FLOP per
//! byte, the ratio of the peaks (67 TFLOP/s over 55 GB/s on an H200).

mod batching;
mod crossover;
mod overlap;
mod small_jobs;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::memory::pinned;
use lab::{Case, Lab, Result, check};

// SAFETY: `work` reads and writes `count` floats. `read` reads `count` vectors of four
// words and adds to one word. The arrays are at least as long.
lab::kernels! { unsafe "transfer-strategies" {
    fn work(
        input: &CudaSlice<f32>, output: &mut CudaSlice<f32>, count: usize,
        rounds: u32, a: f32, b: f32,
    );
    fn read(input: &CudaSlice<f32>, sum: &mut CudaSlice<u32>, count: usize);
} }

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;
const WORD_BYTES: usize = size_of::<f32>();

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The kernel, checked at a size that no block divides.
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let ragged: Vec<f32> = (0..100_003).map(value).collect();
    let input = stream.clone_htod(&ragged)?;
    let mut output = stream.alloc_zeros(ragged.len() + check::GUARD)?;
    kernels.add(&stream, &input, &mut output, 67)?;
    let expected = |i| value(i) + 67.0;
    check::output("ragged", &stream, &output, ragged.len(), expected)?;

    // 2. One question after the other.
    residency(lab)?;
    overlap::measure(lab)?;
    crossover::read_once(lab)?;
    small_jobs::measure(lab)?;
    batching::measure(lab)
}

/// Does it pay to leave the data on the GPU between two kernels?
fn residency(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let large = if lab.emulated() { MIB } else { 16 * MIB };
    for (bytes, counts) in
        [(4 * KIB, &[1usize, 32][..]), (large, &[1, 2, 4, 8, 16, 32])]
    {
        let words = bytes / WORD_BYTES;
        let input = pinned(lab.context(), words, value)?;
        let mut output = pinned(lab.context(), words, |_| 0.0)?;
        let (input, output) = (input.as_slice()?, output.as_mut_slice()?);
        let mut from = stream.alloc_zeros::<f32>(words)?;
        let mut to = stream.alloc_zeros::<f32>(words)?;

        for count in counts.iter().copied() {
            let case =
                |name| Case::new(name).with("bytes", bytes).with("kernels", count);
            let expected = |i| value(i) + count as f32;

            // The result of each kernel goes to the host, which sends it back.
            output.fill(0.0);
            case("round_trips")
                .time_on_host(lab, || {
                    // ANCHOR: round_trips
                    stream.memcpy_htod(input, &mut from)?;
                    for kernel in 0..count {
                        if kernel > 0 {
                            stream.memcpy_htod(output, &mut from)?;
                        }
                        kernels.add(&stream, &from, &mut to, 1)?;
                        stream.memcpy_dtoh(&to, output)?;
                        stream.synchronize()?;
                    }
                    // ANCHOR_END: round_trips
                    Ok(())
                })?
                .check(output, expected)?
                .record(lab)?;

            // The data comes once, stays for all kernels, and goes once.
            output.fill(0.0);
            case("resident")
                .time_on_host(lab, || {
                    // ANCHOR: resident
                    stream.memcpy_htod(input, &mut from)?;
                    for _ in 0..count {
                        kernels.add(&stream, &from, &mut to, 1)?;
                        std::mem::swap(&mut from, &mut to);
                    }
                    stream.memcpy_dtoh(&from, output)?;
                    // ANCHOR_END: resident
                    Ok(stream.synchronize()?)
                })?
                .check(output, expected)?
                .record(lab)?;
        }
    }
    Ok(())
}

impl Kernels {
    /// output = input + rounds, the hard way.
    fn add(
        &self,
        stream: &Arc<CudaStream>,
        input: &CudaSlice<f32>,
        output: &mut CudaSlice<f32>,
        rounds: usize,
    ) -> Result<()> {
        let (count, rounds) = (input.len(), rounds as u32);
        self.work(stream, threads(count), input, output, count, rounds, 1.0, 1.0)
    }
}

/// Element i: a whole number below 2^23, so that adding up to 2^23 is exact. The modulus
/// is a prime, so that an element out of place by any round number shows.
fn value(i: usize) -> f32 {
    (i % 8_388_593) as f32
}
