//! One load at a time, from a GPU's own memory and from another's: a pointer chase.

use cudarc::driver::sys::CUdeviceptr;
use lab::launch::blocks;
use lab::{Case, Lab, Result, Timed, check};

use crate::device::Peer;

/// What GPUs' caches keep together. A hop leads from one line to another.
const LINE: usize = 128;

/// In as many bytes as an L1 cache can hold, an L2 cache, and none. Returns the seconds of
/// a hop in the most bytes: in the GPU's own memory, and in the other's.
pub(crate) fn cases(lab: &mut Lab, gpu: &Peer, other: &Peer) -> Result<[f64; 2]> {
    let mut latency = [f64::NAN; 2];
    let l2 = lab.l2_bytes().next_power_of_two() / 16;
    for bytes in [(l2 / 64).max(16 * LINE), l2, gpu.bytes] {
        let memories = [("own", gpu.target), ("peer", other.target)];
        for (i, (memory, address)) in memories.into_iter().enumerate() {
            let case = Case::new("hop").with("memory", memory).with("bytes", bytes);
            let case = case.footprint(bytes, lab.l2_bytes());
            let timed = hops(lab, case, gpu, address, bytes)?;
            latency[i] = timed.samples.median();
            timed.record(lab)?;
        }
    }
    Ok(latency)
}

/// Times one hop: a thread of `gpu` walks through `bytes` from `memory` on, its own or
/// another GPU's, in a random permutation.
fn hops(
    lab: &Lab,
    case: Case,
    gpu: &Peer,
    memory: CUdeviceptr,
    bytes: usize,
) -> Result<Timed> {
    let (stream, kernels) = (&gpu.stream, &gpu.kernels);
    let order = check::shuffled((bytes / LINE) as u32);
    let count = order.len() as u32;
    let on_device = stream.clone_htod(&order)?;
    let grid = blocks(order.len().div_ceil(1024), 1024);
    kernels.tie(stream, grid, &on_device, count, memory)?;

    let mut place = stream.clone_htod(&order[..1])?;
    let hops: u32 = if lab.quick() { 1 << 11 } else { 1 << 14 };
    let mut walked = 0;
    let mut walk = |hops: u32| {
        walked += hops as usize;
        kernels.chase(stream, blocks(1, 1), memory, &mut place, hops)
    };
    // Once around, or as far as no L2 cache reaches; each sample goes on from there.
    walk(count.min(1 << 19))?;
    let timed = case.time_on_gpu(lab, stream, |_| walk(hops))?;
    let end = order[walked % order.len()];
    timed.per(hops as usize).check_device(stream, &place, |_| end)
}
