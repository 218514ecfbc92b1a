//! # What changes when every GPU has a process of its own?
//!
//! Past one machine there is no single process that holds all GPUs. A launcher starts one
//! process per GPU, on each host; they meet over TCP, and NCCL joins them. Here rank 0
//! says what all do next, measures and writes the record; the other ranks do the same work
//! silently. Without a launcher this program starts one process per GPU of this host.
//!
//! **Prediction:** from 64 MiB on, the bus bandwidth is within 3 % of what one process with
//! all the GPUs gets.

use std::hash::{DefaultHasher, Hasher};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use lab::nccl::{self, bus_bandwidth_factor};
use cudarc::driver::CudaContext;
use cudarc::nccl::Id;
use lab::emulator::Emulator;
use lab::gpu::{self, Gpus};
use lab::libraries::{self, NCCL, NVRTC};
use lab::options::{CANNOT_RUN, FAILED, RECORDED};
use lab::{CannotRun, Case, Ceiling, Clock, Lab, Result};
use ranks::{Card, Conductor, Follower, Launched, Place, patience};

use crate::rank::{Order, Rank};

mod rank;

/// Bytes of a rank's vector.
const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;
/// Elements that no number of ranks divides.
const RAGGED: usize = 100_003;
/// Calls in a row that are timed together.
const CALLS: u32 = 16;

fn main() -> ExitCode {
    // 1. Before any library is loaded: NCCL leaves the switch's multicast alone.
    // SAFETY: no thread has been started yet.
    unsafe { nccl::leave_multicast_off() };
    libraries::expose(&[NVRTC, NCCL]);

    // 2. Which rank is this? The launcher says so, by environment variables.
    let place = match Place::from_environment() {
        Ok(place) => place,
        Err(e) => return ended(Err(e.into())),
    };
    match place {
        Some(place) if place.rank > 0 => {
            ended(follow(&place).with_context(|| format!("rank {}", place.rank)))
        }
        place => {
            let about = "What changes when every GPU has a process of its own?";
            lab::run("all-reduce-ranks", about, None, |lab| conduct(lab, place))
        }
    }
}

/// Rank 0: gathers the others, and has all of them do the same at the same time.
fn conduct(lab: &mut Lab, place: Option<Place>) -> Result<()> {
    let emulated = Emulator::loaded().is_some();
    if std::env::args().any(|argument| argument == "--counters") && !emulated {
        bail!(
            "no --counters: ncu repeats a kernel, which here waits for other ranks"
        );
    }
    let mut team = gather(lab, place)?;
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
fn measure(lab: &mut Lab, team: &mut Conductor) -> Result<()> {
    let (ranks, hosts) = (team.ranks(), team.hosts());
    let stream = lab.context().new_stream()?;
    let mut rank0 = Rank::new(0, ranks, stream.clone());
    let mut all = |order| team.order(&order, |order| rank0.obey(order));

    // 4. NCCL's ranks find each other by an id that one of them makes.
    let id = nccl::check("make an id", Id::new())?;
    all(Order::Connect { id: id.internal().to_vec() })?;

    // 5. A size that nothing divides: the edges are right.
    all(Order::Prepare { elements: RAGGED })?;
    all(Order::AllReduce)?;
    all(Order::Check)?;

    let largest = if lab.quick() { lab.l2_bytes() } else { LARGEST };
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
                .ceiling(Ceiling::NvLink)
                .footprint(2 * bytes, lab.l2_bytes())
        };
        // 6. By the GPU's clock. Rank 0's stream stands still while the operations
        //    are queued, and an order ends when all ranks have queued theirs. So no
        //    GPU waits for a host while the clock runs.
        let queued =
            lab.time_on_gpu(&stream, |_| all(Order::AllReduce).map(drop))?;
        let checked = all(Order::Check)?.iter().sum();
        let queued = case("queued").checked(checked).samples(queued);

        // 7. By rank 0's: from the call until it is done, again and again. Each
        //    process calls and waits by itself.
        all(Order::Clear)?;
        let call = || {
            let nanoseconds = all(Order::Calls { count: CALLS })?[0];
            Ok((nanoseconds as f64 * 1e-9 / f64::from(CALLS), ()))
        };
        let (mut samples, ()) = lab.time_turns(Clock::Host, call)?;
        samples.operations = CALLS;
        let checked = all(Order::Check)?.iter().sum();
        let call = case("call").checked(checked).samples(samples);

        // 8. Record, with the bytes that each link has to carry one way.
        lab.record(queued)?;
        lab.record(call)?;
    }
    Ok(())
}
// ANCHOR_END: measure

// ANCHOR: gather
/// 3. The ranks meet; those that no launcher started are started here, one per GPU.
fn gather(lab: &Lab, place: Option<Place>) -> Result<Conductor> {
    let patience = patience()?;
    let (place, listener, launched) = match place {
        Some(place) => {
            let listener = Conductor::listen(&place)?;
            (place, listener, Launched::default())
        }
        None => match gpu::probe() {
            Gpus::Count(gpus @ 2..) => Launched::start(gpus, |command| {
                command.env_remove(libraries::RESTARTED); // each finds its own
            })?,
            _ => {
                let why = "it starts one process for each GPU, and CUDA sees one GPU (under \
                           a launcher it runs with any number of ranks, one included)";
                return Err(CannotRun(why.to_owned()).into());
            }
        },
    };
    let card = card(lab.context())?;
    let lost = |why: &str| leave(why);
    let team = Conductor::gather(&place, listener, launched, card, patience, lost)?;
    let names_machine = std::env::args().any(|a| a.starts_with("--machine"));
    if team.hosts() > 1 && !names_machine {
        bail!(
            "a record of several hosts needs a name for all of them: --machine NAME"
        );
    }
    Ok(team)
}

/// What a rank shows: its GPU, which no other rank may have, and what all must have the
/// same of.
fn card(context: &CudaContext) -> Result<Card> {
    let uuid =
        context.uuid()?.bytes.map(|byte| format!("{:02x}", byte as u8)).concat();
    let mut hash = DefaultHasher::new();
    hash.write(&std::fs::read("/proc/self/exe")?);
    let program =
        format!("{} (build {:016x})", env!("CARGO_PKG_VERSION"), hash.finish());
    let options: Vec<_> = std::env::args().skip(1).collect();
    let same = [
        ("program", program),
        ("NCCL", nccl::available().unwrap_or("none".to_owned())),
        ("set of options", format!("`{}`", options.join(" "))),
    ];
    let same = same.map(|(name, value)| (name.to_owned(), value)).into();
    Ok(Card { device: format!("GPU (UUID {uuid})"), same })
}
// ANCHOR_END: gather

// ANCHOR: follow
/// Any other rank: shows its card, and does what rank 0 says.
fn follow(place: &Place) -> Result<()> {
    let patience = patience()?;
    // A launcher that gives each process a GPU of its own calls it 0 in each.
    let device = match gpu::probe() {
        Gpus::None(why) => Err(anyhow!(why)),
        Gpus::Count(1) => Ok(0),
        Gpus::Count(n) if n > place.local_rank => Ok(place.local_rank),
        Gpus::Count(n) => Err(anyhow!(
            "its local rank is {}, and it sees only {n} GPUs",
            place.local_rank
        )),
    };
    let context = device.and_then(|device| Ok(CudaContext::new(device)?));
    let card = context
        .as_ref()
        .map_err(gpu::explain_all)
        .and_then(|context| card(context).map_err(|e| gpu::explain_all(&e)));
    let rank = place.rank;
    let lost = move |why: &str| leave(&format!("rank {rank}: {why}"));
    let follower = Follower::join(place, card, patience, lost)?;
    let context = context?;
    // SAFETY: this rank uses one stream, so nothing needs cudarc's events between streams.
    unsafe { context.disable_event_tracking() };
    let mut this = Rank::new(rank, place.ranks, context.new_stream()?);
    let in_words = |e| anyhow!(gpu::explain_all(&e));
    follower.follow(|order| this.obey(order).map_err(in_words))?;
    if Emulator::loaded().is_none() {
        nccl::available().map_err(CannotRun)?; // the reason for which there were no orders
    }
    Ok(())
}
// ANCHOR_END: follow

/// Ends a rank that is not rank 0, which the lab does for that one.
fn ended(outcome: Result<()>) -> ExitCode {
    libraries::tidy();
    let Err(e) = outcome else { return ExitCode::from(RECORDED) };
    complain(&gpu::explain_all(&e));
    ExitCode::from(if e.is::<CannotRun>() { CANNOT_RUN } else { FAILED })
}

/// Ends this process at once: another rank is gone, and the GPU may wait for it for ever.
fn leave(why: &str) {
    complain(why);
    libraries::tidy();
    unsafe extern "C" {
        safe fn _exit(code: i32) -> !;
    }
    // Not `exit`: what CUDA and NCCL do at the exit would wait for the GPU.
    _exit(FAILED.into())
}

/// A whole line at once: other ranks may write to the same place.
fn complain(why: &str) {
    let line = format!("error: {why}\n");
    eprint!("{line}");
}
