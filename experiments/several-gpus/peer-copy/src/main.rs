//! # How fast do two GPUs pass bytes to each other?
//!
//! GPUs of one machine are joined by PCI Express, and some by NVLink besides. With
//! *peer access*, one GPU's page tables lead to the memory of another, and a load, a
//! store or a copy engine's access goes there over the link. Without, the driver carries a
//! copy through the host's memory.
//!
//! ```text
//! copy engine    one call, in a stream of the sender or of the receiver
//! kernel, reads  threads of the receiver load from the sender's memory and wait for it
//! kernel, writes threads of the sender store to the receiver's memory and go on
//! staged         sender ─► pinned memory of the host ─► receiver, by the program itself
//! ```
//!
//! **Prediction:** a copy engine reaches 80 to 90 % of what NVLink's links carry in one
//! direction; both directions together twice as much; and in a ring of n GPUs, which a
//! switch joins, n times. Without access it is no faster than PCI Express. Threads that
//! read need as many bytes on the way as pass in one latency (Little's law): at 400 GB/s
//! and 1.5 µs 600 kB, 290 threads of 16 bytes on each of 132 multiprocessors. Threads that
//! write do not wait, and need fewer.

mod access;
mod gpu;
mod hops;
mod host;

use std::process::ExitCode;

use gpu::{Gpu, Transfer, Way, time_together};
use lab::{Case, Ceiling, Kernel, Lab, Result, Samples};

const KERNEL: Kernel = Kernel {
    name: "peer-copy",
    source: include_str!("../../../../kernels/peer-copy.cu"),
    ptx: include_str!("../../../../kernels/ptx/peer-copy.ptx"),
};

const SMALLEST: usize = 4 << 10;
const LARGEST: usize = 1 << 30;
const RAGGED: usize = 16 * 100_003;
/// Threads on each multiprocessor that copy.
const THREADS: [u32; 7] = [32, 64, 128, 256, 512, 1024, 2048];
const LEAST: usize = 2;
/// What is left out if the driver refuses access.
const NEED_ACCESS: [&str; 8] =
    ["one_way", "pair", "copy", "hop", "threads", "both_ways", "ring", "to_one"];

fn main() -> ExitCode {
    let question = "How fast do two GPUs pass bytes to each other?";
    lab::run("peer-copy", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Every GPU with a source and a target. Each source is different in every word,
    //    from every other's too.
    let contexts = lab.gpus(LEAST)?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let mut largest = most;
    for context in &contexts {
        let (free, _) = context.mem_get_info()?;
        largest = largest.min(free.next_power_of_two() / 64);
    }
    let gpus = contexts.iter().map(|context| Gpu::new(lab, context, largest));
    let gpus = gpus.collect::<Result<Vec<_>>>()?;
    let (a, b) = (&gpus[0], &gpus[1]);

    // 2. From one GPU to another with no access, with the context's, and with the
    //    pool's too; for memory from `cuMemAlloc`, and for memory from the pool.
    let refused = access::step_by_step(lab, &gpus)?;

    // 3. By way of the host, without the driver's help.
    host::staged(lab, a, b)?;
    if let Some(why) = refused {
        for case in NEED_ACCESS {
            lab.skip(Case::new(case), why.clone());
        }
        return Ok(());
    }

    // 4. A size that no block divides: the edges are right.
    let full = |gpu: &Gpu| gpu.threads;
    let kinds = [
        ("senders_stream", Way::SendersStream),
        ("receivers_stream", Way::ReceiversStream),
        ("kernel_read", Way::Read { threads: full(b) }),
        ("kernel_write", Way::Write { threads: full(a) }),
    ];
    let narrow = Way::NarrowRead { threads: full(b) };
    for way in kinds.map(|(_, way)| way).into_iter().chain([narrow]) {
        let bytes = RAGGED.min(largest - 16);
        let ragged = Transfer { bytes, ..Transfer::whole(a, b, way) };
        b.clear(b.target, largest, a)?;
        ragged.queue(0)?;
        ragged.worker().stream.synchronize()?;
        b.check(b.target, bytes, a)?;
    }

    // 5. Access in one direction is enough for a copy; which of the two is it better?
    access::one_way(lab, a, b)?;

    // 6. Every ordered pair, by a copy engine.
    let mut engine = f64::NAN;
    for from in &gpus {
        for to in gpus.iter().filter(|to| to.number() != from.number()) {
            let case = Case::new("pair").with("from", from.number());
            let whole = Transfer::whole(from, to, Way::SendersStream);
            let seconds = one(lab, case.with("to", to.number()), whole)?;
            engine = largest as f64 / seconds;
        }
    }

    // 7. Every way, for more and more bytes.
    let mut bytes = SMALLEST;
    while bytes <= largest {
        for (kind, way) in kinds {
            let transfer = Transfer { bytes, ..Transfer::whole(a, b, way) };
            one(lab, Case::new("copy").with("kind", kind), transfer)?;
        }
        bytes *= if lab.quick() { 16 } else { 4 };
    }

    // 8. One load at a time: from the own memory and from the other's, in as many bytes
    //    as an L1 cache can hold, an L2 cache, and none.
    let mut latency = [f64::NAN; 2]; // of the own memory, and of the other's
    let l2 = lab.l2_bytes().next_power_of_two() / 16;
    for bytes in [(l2 / 64).max(16 * hops::LINE), l2, largest] {
        let memories = [("own", a.target), ("peer", b.target)];
        for (i, (memory, address)) in memories.into_iter().enumerate() {
            let (samples, checked) = hops::hops(lab, a, address, bytes)?;
            latency[i] = median(&samples); // in the end, of the most bytes
            let case = Case::new("hop").with("memory", memory).with("bytes", bytes);
            let case = case.footprint(bytes, lab.l2_bytes());
            lab.record(case.checked(checked).samples(samples))?;
        }
    }

    // 9. More and more threads, each with 16 bytes on the way, or with 4. They bring as
    //    much in each latency of the memory that they read, if the link carries it.
    for each in THREADS {
        for kind in ["kernel_read", "kernel_write", "narrow_read"] {
            let case = Case::new("threads").with("kind", kind);
            let case = case.with("threads_per_multiprocessor", each as usize);
            let worker = if kind == "kernel_write" { a } else { b };
            let threads = each * worker.multiprocessors;
            if threads > worker.threads {
                lab.skip(case, "this GPU does not hold so many threads");
                continue;
            }
            let (way, width) = match kind {
                "kernel_read" => (Way::Read { threads }, 16.0),
                "kernel_write" => (Way::Write { threads }, 16.0),
                _ => (Way::NarrowRead { threads }, 4.0),
            };
            let in_flight = width * f64::from(threads);
            let read = latency[usize::from(kind != "kernel_write")];
            let case = case
                .model("bytes_in_flight", in_flight)
                .model("bound_bytes_per_second", (in_flight / read).min(engine));
            one(lab, case, Transfer::whole(a, b, way))?;
        }
    }

    // ANCHOR: at_once
    // 10. At the same time: both directions of a pair, a ring of all GPUs, and all the
    //    others to one.
    for (kind, way) in kinds {
        let case = Case::new("both_ways").with("kind", kind);
        let both = [Transfer::whole(a, b, way), Transfer::whole(b, a, way)];
        together(lab, case.ceiling(Ceiling::NvLinkBothWays), &both)?;
        let ring = gpus.iter().enumerate().map(|(i, from)| {
            Transfer::whole(from, &gpus[(i + 1) % gpus.len()], way)
        });
        let case = Case::new("ring").with("kind", kind).with("gpus", gpus.len());
        together(lab, case, &ring.collect::<Vec<_>>())?;
    }
    // ANCHOR_END: at_once
    let case = Case::new("to_one").with("gpus", gpus.len());
    if gpus.len() < 3 {
        lab.skip(case, "it takes three GPUs, two that send and one that receives");
    } else {
        let bytes = largest / gpus.len() / 16 * 16;
        let senders = gpus[1..].iter().zip(0..).map(|(from, i)| {
            let target = a.target + i * bytes as u64;
            let whole = Transfer::whole(from, a, Way::SendersStream);
            Transfer { bytes, target, ..whole }
        });
        together(lab, case, &senders.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// One transfer over the link. Returns the seconds that it takes.
fn one(lab: &mut Lab, case: Case, transfer: Transfer<'_>) -> Result<f64> {
    let case = case.with("bytes", transfer.bytes);
    let case = case.footprint(transfer.from.bytes, lab.l2_bytes());
    together(lab, case.ceiling(Ceiling::NvLink), &[transfer])
}

/// Transfers at the same time. What crosses the link is counted once.
fn together(lab: &mut Lab, case: Case, transfers: &[Transfer<'_>]) -> Result<f64> {
    let (samples, checked) = time_together(lab, transfers)?;
    let (bytes, seconds) =
        (transfers.iter().map(|t| t.bytes).sum(), median(&samples));
    lab.record(case.writes(bytes).checked(checked).samples(samples))?;
    Ok(seconds)
}

fn median(samples: &Samples) -> f64 {
    let mut seconds = samples.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
