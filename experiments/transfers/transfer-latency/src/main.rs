//! # Which latency: the link's, the driver's or the GPU's?
//!
//! Page: `book/src/transfers/transfer-latency.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The trip alone | how long does one dependent read take? |
//! | [`parts`] | The experiment | what do the GPU, the call and the wait add to a copy or launch? |
//! | [`answers`] | An answer without a call | how soon does the host have an answer from the GPU? |
//!
//! "The latency of a transfer" can mean several things, and a small copy pays for all:
//!
//! ```text
//! driver   the host calls, a command is written, and in the end a wait finds it done
//! start    the GPU fetches the command, and a copy engine or a thread begins
//! link     a request crosses PCI Express, and the answer comes back
//! ```
//!
//! The link alone is timed by a *pointer chase*: one thread of the GPU reads a word of
//! the host's memory, which tells it which word to read next. So no two reads are in
//! flight together, and a *hop* takes as long as a request and its answer. The same
//! thread also chases through the GPU's own memory, for scale.
//!
//! **Prediction:** a hop over the link takes 1 to 2 µs, one through the GPU's memory less
//! than 1 µs. A copy of 4 bytes that the host waits for takes 10 µs, more than five hops.

mod answers;
mod parts;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use lab::launch::{blocks, threads};
use lab::memory::mapped;
use lab::{Case, Lab, Result, check};

// SAFETY: `tie` writes a word to each of `count` lines, `distance` lines apart, which are
// in memory that outlives it; `chase` stays on these lines. `add_one` and `answer` use
// one word at each address, and `answer` ends by itself.
lab::kernels! { unsafe "transfer-latency" {
    fn tie(order: &CudaSlice<u32>, count: u32, distance: u32, memory: CUdeviceptr);
    fn chase(memory: CUdeviceptr, place: &mut CudaSlice<u32>, hops: u32);
    fn nothing();
    fn add_one(value: CUdeviceptr);
    fn answer(question: CUdeviceptr, reply: CUdeviceptr, questions: u32, patience: u32);
} }

const WORD: usize = size_of::<u32>();
/// What GPUs' caches keep together. A hop leads from one line to another.
const LINE: usize = 128;
/// Lines of a sparse chase: 4 MiB, too much for an L1 cache and little for an L2 cache.
const FEW: usize = 32 << 10;
const SMALLEST: usize = 16 << 10;
const LARGEST: usize = 64 << 30;
const LARGEST_DENSE: usize = 2 << 30;
const LARGEST_ON_HOST: usize = 256 << 20;
/// Hops of one launch.
const HOPS: usize = 1 << 15;

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 4);
    // SAFETY: a chase reads only words that `tie` has written.
    let device = unsafe { stream.alloc::<u32>(largest / WORD) }?;
    let address = device.device_ptr(&stream).0;
    let host = mapped(lab.context(), LARGEST_ON_HOST / WORD, 0, |_| 0u32)?;

    // 1. Through the GPU's own memory: every line of more and more bytes, so that first
    //    one cache and then the other cannot hold them.
    let (fast, slow) = if lab.quick() { (8, 16) } else { (2, 4) };
    for bytes in sizes(SMALLEST, largest.min(LARGEST_DENSE), fast) {
        for bytes in [bytes / 4 * 3, bytes] {
            hops(lab, &stream, "device", address, bytes, bytes / LINE)?;
        }
    }
    // 2. The same number of lines, at growing distances: the cache can hold them, but
    //    the GPU has to find more and more pages.
    for bytes in sizes(FEW * LINE, largest, fast) {
        hops(lab, &stream, "device_sparse", address, bytes, FEW)?;
    }
    // 3. Through the host's memory, over the link.
    for bytes in sizes(SMALLEST, LARGEST_ON_HOST, slow) {
        hops(lab, &stream, "host", host.device, bytes, bytes / LINE)?;
    }

    drop((device, host));
    parts::launches(lab)?;
    parts::copies(lab)?;
    answers::measure(lab)
}

/// Sizes from `first` to `last`, each `factor` times the one before.
fn sizes(first: usize, last: usize, factor: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), move |bytes| Some(bytes * factor))
        .take_while(move |bytes| *bytes <= last)
}

// ANCHOR: hops
/// Times one hop in a cycle through `lines` lines, spread evenly over the `bytes` from
/// `address` on and linked in a random permutation.
fn hops(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    memory: &str,
    address: CUdeviceptr,
    bytes: usize,
    lines: usize,
) -> Result<()> {
    let kernels = Kernels::load(lab)?;
    let order = check::shuffled(lines as u32);
    let (count, distance) = (lines as u32, (bytes / lines / LINE) as u32);
    let on_device = stream.clone_htod(&order)?;
    kernels.tie(stream, threads(lines), &on_device, count, distance, address)?;

    let mut place = stream.clone_htod(&[order[0] * distance])?;
    let mut walked = 0;
    let mut walk = |hops: usize| {
        walked += hops;
        kernels.chase(stream, blocks(1, 1), address, &mut place, hops as u32)
    };
    // Once around, or as far as no L2 cache reaches. Then each sample goes on where the
    // one before has ended.
    walk(lines.min(1 << 20))?;
    Case::new("hop")
        .with("memory", memory)
        .with("bytes", bytes)
        .footprint(lines * LINE, lab.l2_bytes())
        .time_on_gpu(lab, stream, |_| walk(HOPS))?
        .per(HOPS)
        .check_device(stream, &place, |_| order[walked % lines] * distance)?
        .record(lab)
}
// ANCHOR_END: hops
