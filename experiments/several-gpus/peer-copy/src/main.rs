//! # How fast do two GPUs pass bytes to each other?
//!
//! Page: `book/src/several-gpus/peer-copy.md`. Its sections show each file,
//! or what it measures, except for two on the page after it, `peer-access.md`:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured | every pair; every way, for more and more bytes |
//! | [`device`], [`transfer`] | The experiment | what goes from one to another, and its check |
//! | [`access`] | | what does a copy without access cost? |
//! | [`host`] | | what do two links give, without the driver's help? |
//! | [`hops`] | Bytes in flight | how long does it take, if nothing hides it? |
//! | [`threads`] | Bytes in flight | how many threads does the link need? |
//! | [`at_once`] | The experiment; A switch in the middle | both directions, a ring, all to one |
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
//! **Prediction:** a copy engine reaches 80 to 90% of what NVLink's links carry in one
//! direction; both directions together twice as much; and in a ring of n GPUs, which a
//! switch joins, n times. Without access it is no faster than PCI Express. Threads that
//! read need as many bytes in flight as pass in one latency (Little's law): at 400 GB/s
//! and 1.5 µs 600 kB, 290 threads of 16 bytes on each of 132 multiprocessors. Threads that
//! write do not wait, and need fewer.

mod access;
mod at_once;
mod device;
mod hops;
mod host;
mod threads;
mod transfer;

use std::process::ExitCode;

use device::Peer;
use lab::{Case, Lab, Result};
use transfer::{Mover, Transfer, one};

const SMALLEST: usize = 4 << 10;
const LARGEST: usize = 1 << 30;
const RAGGED: usize = 16 * 100_003;
const LEAST: usize = 2;
/// What is left out if the driver refuses access.
const NEED_ACCESS: [&str; 9] = [
    "one_way",
    "small",
    "pair",
    "copy",
    "hop",
    "threads",
    "both_ways",
    "ring",
    "to_one",
];
/// Movers with their names in the record.
type Kinds = [(&'static str, Mover); 4];

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Every GPU with a source and a target. All words of all sources
    //    differ.
    let contexts = lab.gpus(LEAST)?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let mut largest = most;
    for context in &contexts {
        let (free, _) = context.mem_get_info()?;
        largest = largest.min(free.next_power_of_two() / 64);
    }
    let gpus = contexts.iter().map(|context| Peer::new(lab, context, largest));
    let gpus = gpus.collect::<Result<Vec<_>>>()?;
    let (a, b) = (&gpus[0], &gpus[1]);

    // 2. From one GPU to another with no access, with the context's, and with the
    //    pool's too; for memory from `cuMemAlloc`, and for memory from the pool.
    let refused = access::step_by_step(lab, &gpus)?;

    // 3. By way of the host, without the driver's help.
    host::cases(lab, Transfer::whole(a, b, Mover::SendersStream))?;
    if let Some(why) = refused {
        for case in NEED_ACCESS {
            lab.skip(Case::new(case), why.clone());
        }
        return Ok(());
    }

    // 4. A size that no block divides: the edges are right.
    let full = |gpu: &Peer| gpu.threads;
    let kinds: Kinds = [
        ("senders_stream", Mover::SendersStream),
        ("receivers_stream", Mover::ReceiversStream),
        ("kernel_read", Mover::Read(full(b))),
        ("kernel_write", Mover::Write(full(a))),
    ];
    let narrow = Mover::NarrowRead(full(b));
    for mover in kinds.map(|(_, mover)| mover).into_iter().chain([narrow]) {
        let bytes = RAGGED.min(largest - 16);
        let ragged = Transfer { bytes, ..Transfer::whole(a, b, mover) };
        ragged.clear(largest)?;
        ragged.queue(0)?;
        ragged.worker().stream.synchronize()?;
        ragged.check(bytes)?;
    }

    // 5. Access in one direction is enough for a copy; which of the two is better? And
    //    what does a small one take that the host waits for?
    access::one_way(lab, a, b)?;
    access::small(lab, a, b)?;

    // 6. Every ordered pair, by a copy engine.
    let mut engine = f64::NAN;
    for from in &gpus {
        for to in gpus.iter().filter(|to| to.number() != from.number()) {
            let case = Case::new("pair").with("from", from.number());
            let whole = Transfer::whole(from, to, Mover::SendersStream);
            let timed = one(lab, case.with("to", to.number()), whole)?;
            engine = largest as f64 / timed.samples.median();
            timed.record(lab)?;
        }
    }

    // ANCHOR: sizes
    // 7. Every way, for more and more bytes.
    let mut bytes = SMALLEST;
    while bytes <= largest {
        for (kind, mover) in kinds {
            let transfer = Transfer { bytes, ..Transfer::whole(a, b, mover) };
            one(lab, Case::new("copy").with("kind", kind), transfer)?.record(lab)?;
        }
        bytes *= if lab.quick() { 16 } else { 4 };
    }
    // ANCHOR_END: sizes

    // 8. One load at a time, more and more threads, and several transfers at once.
    let latency = hops::cases(lab, a, b)?;
    threads::cases(lab, a, b, latency, engine)?;
    at_once::cases(lab, &gpus, kinds)
}
