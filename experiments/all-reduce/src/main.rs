//! # How fast can several GPUs add up what each of them has?
//!
//! In an *all-reduce* every GPU has a vector, and afterwards every GPU has the sum of all of
//! them. It is what training on several GPUs does with gradients, after every batch.
//!
//! In a *ring* each GPU sends to the next one only. The vectors are cut into as many chunks
//! as there are GPUs. A chunk goes round once and is added to on each GPU; then its sum goes
//! round once more. With four GPUs, the chunk that GPU 0 passes on first:
//!
//! ```text
//! step    0        1        2        3        4        5
//!      0 ─► 1   1 ─► 2   2 ─► 3   3 ─► 0   0 ─► 1   1 ─► 2
//!       sums of 1, 2 and 3 inputs │ the sum of all four
//! ```
//!
//! All chunks do so at once, each one from another GPU on. So every link is busy in every one
//! of the 2 (n - 1) steps, with 1/n of the vector's bytes.
//!
//! Five ways to do it: the ring as a launch for each step and GPU, the ring as one launch for
//! each GPU, all GPUs reading from all (`direct`), NVIDIA's library NCCL, and the host.
//!
//! **Prediction:** from 64 MiB on, the one-launch ring reaches 85 % of NCCL's bandwidth, and
//! both reach 75 % of the link's peak. At 1 KiB all ways but `direct` take longer with more
//! GPUs, because a ring has 2 (n - 1) steps, and `direct` has two.

use std::process::ExitCode;

use anyhow::ensure;
use collectives::{bus_bandwidth_factor, nccl};
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
use lab::libraries::{self, NCCL, NVRTC};
use lab::{CannotRun, Case, Ceiling, Kernel, Lab, Result, check};
use peers::Access;

use crate::ways::{Gpus, MOST_GPUS};

mod ways;

const KERNEL: Kernel = Kernel {
    name: "all-reduce",
    source: include_str!("../../../kernels/all-reduce.cu"),
    ptx: include_str!("../../../kernels/ptx/all-reduce.ptx"),
};

/// Bytes of a vector.
const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;
const LARGEST_ON_HOST: usize = 256 << 20;
/// Elements that no number of GPUs, blocks or vectors of 16 bytes divides.
const RAGGED: usize = 100_003;

/// A way to do it: its name, what queues it, and how many are timed in a row.
type Way = (&'static str, fn(&mut Gpus, usize) -> Result<()>, usize);

fn main() -> ExitCode {
    nccl::leave_multicast_off();
    libraries::expose(&[NVRTC, NCCL]);
    let question = "How fast can several GPUs add up what each of them has?";
    lab::run("all-reduce", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The GPUs, each with access to the memory of all others.
    let mut contexts = lab.gpus(2)?;
    contexts.truncate(MOST_GPUS);
    let n = contexts.len();
    for from in &contexts {
        for to in &contexts {
            if let Access::Refused(why) = peers::enable(from, to)? {
                return Err(CannotRun(why).into());
            }
        }
    }

    // 2. Buffers. A GPU with too little memory for the largest vector gets smaller ones.
    let wanted = if lab.quick() { lab.l2_bytes() / 4 } else { LARGEST };
    let largest = wanted.min(lab.free_bytes()? / 3).max(SMALLEST);
    let count = (largest / size_of::<f32>()).max(RAGGED);
    let mut gpus = Gpus::new(lab, &contexts, count, count.min(LARGEST_ON_HOST / 4))?;

    // 3. The ways that this machine has. Two of them need kernels that wait for each other:
    //    such kernels have to run at the same time.
    let mut ways: Vec<Way> = vec![("ring_of_launches", Gpus::ring_of_launches, 4)];
    let together =
        lab.context().attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0;
    let waiting: [Way; 2] = [("ring", Gpus::ring, 16), ("direct", Gpus::direct, 16)];
    for (method, way, in_a_row) in waiting {
        if together {
            ways.push((method, way, in_a_row));
        } else {
            let case = Case::new("queued").with("method", method);
            lab.skip(case, "this GPU has no kernels that wait for one another");
        }
    }
    match nccl::available() {
        Ok(version) => {
            println!("NCCL {version}");
            gpus.join_nccl()?;
            ways.push(("nccl", Gpus::nccl, 16));
        }
        Err(why) => lab.skip(Case::new("queued").with("method", "nccl"), why),
    }
    let host: Way = ("host", Gpus::on_host, 1);

    // 4. A size that divides into nothing, compared by the host; with cleared outputs, the
    //    kernel that compares the other sizes finds every element wrong.
    for (method, way, _) in ways.iter().chain([&host]) {
        gpus.clear()?;
        let (elements, wrong) = gpus.compare(RAGGED)?;
        ensure!(
            wrong == elements,
            "only {wrong} of {elements} cleared elements are wrong"
        );
        way(&mut gpus, RAGGED)?;
        gpus.wait()?;
        for gpu in &gpus.each {
            let got = gpu.stream.clone_dtoh(&gpu.output.slice(..RAGGED))?;
            check::every_element(method, &got, |i| {
                (0..n).map(|gpu| value(gpu, i)).sum()
            })?;
        }
    }

    for bytes in
        (0..).map(|power| SMALLEST << (2 * power)).take_while(|b| *b <= largest)
    {
        let count = bytes / size_of::<f32>();
        let l2_bytes = lab.l2_bytes();
        let case = |name, method| {
            Case::new(name)
                .with("method", method)
                .with("bytes", bytes)
                .reads((bytes as f64 * bus_bandwidth_factor(n)) as usize)
                .ceiling(Ceiling::NvLink)
                .footprint(2 * bytes, l2_bytes)
        };

        // 5. By the GPUs' clock: several in a row, queued ahead on all GPUs.
        for (method, way, in_a_row) in &ways {
            way(&mut gpus, count)?; // NCCL prepares at the first call for a size
            gpus.clear()?;
            let in_a_row =
                if together { *in_a_row.min(&(LARGEST / bytes)) } else { 1 };
            let first = gpus.each[0].stream.clone();
            let mut samples = lab.time_on_gpu(&first, |_| {
                gpus.joined(|gpus| (0..in_a_row).try_for_each(|_| way(gpus, count)))
            })?;
            samples.operations *= in_a_row as u32;
            samples.seconds.iter_mut().for_each(|s| *s /= in_a_row as f64);
            let checked = gpus.check(count, method)?;
            lab.record(case("queued", *method).checked(checked).samples(samples))?;
        }

        // 6. By the host's clock: one, from the call until all GPUs are done.
        for (method, way, _) in ways.iter().chain([&host]) {
            if bytes > LARGEST_ON_HOST {
                continue;
            }
            gpus.clear()?;
            let samples = lab.time_on_host(|| {
                way(&mut gpus, count)?;
                gpus.wait()
            })?;
            let checked = gpus.check(count, method)?;
            lab.record(case("call", *method).checked(checked).samples(samples))?;
        }
    }
    Ok(())
}

/// What the kernel `fill` puts into element i of a GPU's input.
fn value(gpu: usize, i: usize) -> f32 {
    let word = (i as u32).wrapping_mul(2_654_435_761);
    (word.wrapping_add((gpu as u32).wrapping_mul(2_246_822_519)) >> 12) as f32
}
