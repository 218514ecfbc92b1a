//! # What changes when every GPU has a process of its own?
//!
//! Page: `book/src/several-gpus/all-reduce-ranks.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured | the same all-reduce, a process for each GPU |
//! | [`rank`] | The experiment | what does every rank do? |
//! | [`meeting`] | What each process must be told | which ranks are there, and do they agree? |
//! | [`gone`] | The trap: a rank that is gone | how does a process end, if it cannot go on? |
//!
//! Past one machine there is no single process that holds all GPUs. A launcher starts one
//! process per GPU, on each host; they meet over TCP, and NCCL joins them. Here rank 0
//! says what all do next, measures and writes the record; the other ranks do the same work
//! silently. Without a launcher this program starts one process per GPU of this host.
//!
//! **Prediction:** from 64 MiB on, the bus bandwidth is within 3% of what one process with
//! all the GPUs gets.

mod gone;
mod meeting;
mod rank;

use std::process::ExitCode;

use anyhow::{Context, ensure};
use cudarc::nccl::Id;
use lab::emulator::Emulator;
use lab::nccl::{self, bus_bandwidth_factor};
use lab::{CannotRun, Case, Ceiling, Clock, Lab, Result};
use ranks::{Place, Team};

use rank::{Order, Rank};

/// Bytes of a rank's vector.
const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;
/// Elements that no number of ranks divides.
const RAGGED: usize = 100_003;
/// Calls in a row that are timed together.
const CALLS: usize = 16;

fn main() -> ExitCode {
    // 1. Before any library is loaded: NCCL leaves the switch's multicast alone.
    // SAFETY: no thread has been started yet.
    unsafe { nccl::leave_multicast_off() };
    lab::emulator::load_if_needed();

    // 2. Which rank is this? The launcher says so, by environment variables.
    match Place::from_environment() {
        Err(e) => gone::ended(Err(e)),
        Ok(Some(place)) if place.rank > 0 => {
            let name = || format!("rank {}", place.rank);
            gone::ended(meeting::follow(&place).with_context(name))
        }
        Ok(place) => {
            lab::run!(None, |lab| conduct(lab, place))
        }
    }
}

/// Rank 0: gathers the others, and has all of them do the same at the same time.
fn conduct(lab: &mut Lab, place: Option<Place>) -> Result<()> {
    let emulated = Emulator::loaded().is_some();
    let counters =
        std::env::args_os().any(|argument| argument.to_str() == Some("--counters"));
    let why = "no --counters: ncu repeats kernels, which here wait for other ranks";
    ensure!(emulated || !counters, why);
    let mut team = meeting::gather(lab, place)?;
    let measured = match nccl::available() {
        _ if emulated => {
            let case = Case::new("queued").with("ranks", team.ranks());
            lab.skip(case, "the emulated GPUs have no NCCL; the ranks met");
            Ok(())
        }
        Ok(_) => measure(lab, &mut team),
        Err(why) => Err(CannotRun(why).into()), // on all ranks: they have compared it
    };
    if measured.as_ref().err().is_none_or(|e| e.is::<CannotRun>()) {
        team.end();
    }
    measured
}

// ANCHOR: measure
/// Has all ranks measure together, and writes the cases into the record.
fn measure(lab: &mut Lab, team: &mut Team) -> Result<()> {
    let (ranks, hosts) = (team.ranks(), team.hosts());
    let (stream, l2_bytes) = (lab.context().new_stream()?, lab.l2_bytes());
    let mut rank0 = Rank::new(0, ranks, stream.clone());
    let mut all = |order| team.order(&order, |order| rank0.obey(order));

    // 3. NCCL's ranks find each other by an id that one of them makes.
    let id = nccl::check("make an id", Id::new())?;
    all(Order::Connect { id: id.internal().to_vec() })?;

    // 4. A size that nothing divides: the edges are right.
    all(Order::Prepare { elements: RAGGED })?;
    all(Order::AllReduce)?;
    all(Order::Check)?;

    let largest = if lab.quick() { l2_bytes } else { LARGEST };
    let largest = largest.min(lab.free_bytes()? / 4); // input, output, and NCCL's own
    let sizes = (0..).map(|power| SMALLEST << (2 * power));
    for bytes in sizes.take_while(|bytes| *bytes <= largest) {
        all(Order::Prepare { elements: bytes / size_of::<f32>() })?;
        all(Order::AllReduce)?; // NCCL connects the GPUs when it first needs to
        all(Order::Clear)?;

        let case = |name| {
            Case::new(name)
                .with("bytes", bytes)
                .with("ranks", ranks)
                .with("hosts", hosts)
                .reads((bytes as f64 * bus_bandwidth_factor(ranks)) as usize)
                .ceiling(Ceiling::NvLink) // what each link has to carry, one way
                .footprint(2 * bytes, l2_bytes)
        };
        // 5. By the GPU's clock. Rank 0's stream is held while the operations
        //    are queued, and an order ends when all ranks have queued theirs. So no
        //    GPU waits for a host while the clock runs.
        case("queued")
            .time_on_gpu(lab, &stream, |_| all(Order::AllReduce).map(drop))?
            .checked(all(Order::Check)?.iter().sum())
            .record(lab)?;

        // 6. By rank 0's: from the call until it is done, again and again. Each
        //    process calls and waits by itself.
        all(Order::Clear)?;
        let calls = || {
            let nanoseconds = all(Order::Calls { count: CALLS })?[0];
            Ok((nanoseconds as f64 * 1e-9, ()))
        };
        case("call")
            .time_turns(lab, Clock::Host, calls)?
            .per(CALLS)
            .checked(all(Order::Check)?.iter().sum())
            .record(lab)?;
    }
    Ok(())
}
// ANCHOR_END: measure
