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
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use collectives::{bus_bandwidth_factor, nccl};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use cudarc::nccl::{Comm, Id, ReduceOp};
use lab::emulator::Emulator;
use lab::gpu::{self, Gpus};
use lab::libraries::{self, NCCL, NVRTC};
use lab::options::{CANNOT_RUN, FAILED, RECORDED};
use lab::{CannotRun, Case, Ceiling, Lab, Result, check};
use ranks::{Card, Conductor, Follower, Launched, Place, patience};
use serde::{Deserialize, Serialize};

const KIB: usize = 1 << 10;
const SIZES: [usize; 8] = [
    KIB,
    32 * KIB,
    KIB * KIB,
    4 * KIB * KIB,
    16 * KIB * KIB,
    64 * KIB * KIB,
    256 * KIB * KIB,
    KIB * KIB * KIB,
];

fn main() -> ExitCode {
    // 1. Before any library is loaded: NCCL leaves the switch's multicast alone.
    nccl::leave_multicast_off();
    libraries::expose(&[NVRTC, NCCL]);

    // 2. Which rank is this? The launcher says so, by environment variables.
    let place = match Place::from_environment() {
        Ok(place) => place,
        Err(e) => {
            eprintln!("error: {e}");
            return ExitCode::from(FAILED);
        }
    };
    match place {
        Some(place) if place.rank > 0 => ended(place.rank, follow(&place)),
        place => {
            let about = "What changes when every GPU has a process of its own?";
            lab::run("all-reduce-ranks", about, None, |lab| conduct(lab, place))
        }
    }
}

// ANCHOR: conduct
/// Rank 0: gathers the others, and has all of them measure.
fn conduct(lab: &mut Lab, place: Option<Place>) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut team = gather(lab, place)?;
    let ranks = team.ranks();
    if Emulator::loaded().is_some() {
        let why = "the emulated GPUs have no NCCL; the ranks met";
        lab.skip(Case::new("all_reduce").with("ranks", ranks), why);
        team.end();
        return Ok(());
    }
    let mut rank0 = Rank::new(0, ranks, stream.clone());

    // 4. NCCL's ranks find each other by an id that one of them makes.
    if let Err(why) = nccl::available() {
        team.end();
        return Err(CannotRun(why).into());
    }
    let id = nccl::check("make an id", Id::new())?.internal().to_vec();
    team.order(&Order::Connect { id }, |order| rank0.obey(order))?;

    // 5. A size that nothing divides: the edges are right.
    for order in
        [Order::Prepare { elements: 100_003 }, Order::AllReduce, Order::Check]
    {
        team.order(&order, |order| rank0.obey(order))?;
    }
    let room = lab.free_bytes()? / 4; // the input, the output, and NCCL's own
    for bytes in SIZES.into_iter().filter(|bytes| *bytes <= room) {
        let elements = bytes / size_of::<f32>();
        team.order(&Order::Prepare { elements }, |order| rank0.obey(order))?;
        //    Once untimed: NCCL connects the GPUs when they first need it.
        team.order(&Order::AllReduce, |order| rank0.obey(order))?;
        team.order(&Order::Wait, |order| rank0.obey(order))?;

        // 6. Time it. Rank 0's stream stands still while the operations are queued, and an
        //    order ends when all ranks have queued theirs. So no rank waits for another's
        //    host while the clock runs, and all do the same number of operations.
        let samples = lab.time_on_gpu(&stream, |_| {
            team.order(&Order::AllReduce, |order| rank0.obey(order))?;
            Ok(())
        })?;
        let checked = team.order(&Order::Check, |order| rank0.obey(order))?;

        // 7. Record the bytes that each link has to carry one way.
        let case = Case::new("all_reduce")
            .with("bytes", bytes)
            .with("ranks", ranks)
            .with("hosts", team.hosts())
            .reads((bytes as f64 * bus_bandwidth_factor(ranks)) as usize)
            .ceiling(Ceiling::NvLink)
            .footprint(2 * bytes, lab.l2_bytes())
            .checked(checked.iter().sum())
            .samples(samples);
        lab.record(case)?;
    }
    team.end();
    Ok(())
}
// ANCHOR_END: conduct

// ANCHOR: obey
/// What all ranks do at the same time.
#[derive(Serialize, Deserialize)]
enum Order {
    Connect { id: Vec<i8> },
    Prepare { elements: usize },
    AllReduce,
    Wait,
    Check,
}

/// One process's GPU, and what is on it.
struct Rank {
    rank: usize,
    ranks: usize,
    stream: Arc<CudaStream>,
    communicator: Option<Comm>,
    buffers: Option<(CudaSlice<f32>, CudaSlice<f32>)>,
}

impl Rank {
    fn new(rank: usize, ranks: usize, stream: Arc<CudaStream>) -> Rank {
        Rank { rank, ranks, stream, communicator: None, buffers: None }
    }

    /// Does its part; returns how many elements were checked.
    fn obey(&mut self, order: &Order) -> Result<u64> {
        let Rank { rank, ranks, stream, .. } = self;
        match order {
            Order::Connect { id } => {
                let id =
                    id.as_slice().try_into().context("an id of another size")?;
                let (stream, id) = (stream.clone(), Id::uninit(id));
                let joined = Comm::from_rank(stream, *rank, *ranks, id);
                self.communicator =
                    Some(nccl::check("join the other ranks", joined)?);
            }
            Order::Prepare { elements } => {
                self.buffers = None; // frees the last ones first
                let input: Vec<_> =
                    (0..*elements).map(|i| value(*rank, i)).collect();
                let input = stream.clone_htod(&input)?;
                self.buffers = Some((input, stream.alloc_zeros(*elements)?));
                stream.synchronize()?;
            }
            Order::AllReduce => {
                let communicator =
                    self.communicator.as_ref().context("not connected")?;
                let (input, output) =
                    self.buffers.as_mut().context("not prepared")?;
                let queued = communicator.all_reduce(input, output, &ReduceOp::Sum);
                nccl::check("queue an all-reduce", queued)?;
            }
            Order::Wait => stream.synchronize()?,
            Order::Check => {
                let (_, output) = self.buffers.as_ref().context("not prepared")?;
                let got = stream.clone_dtoh(output)?;
                let sum = |i| (0..*ranks).map(|rank| value(rank, i)).sum();
                let what = format!("sum on rank {rank}");
                return check::every_element(&what, &got, sum);
            }
        }
        Ok(0)
    }
}

/// Element `i` of a rank's input: a whole number below 4096, so that sums over up to 4096
/// ranks are exact in any order.
fn value(rank: usize, i: usize) -> f32 {
    (check::value(i + 7919 * rank) >> 20) as f32
}
// ANCHOR_END: obey

// ANCHOR: gather
/// 3. The ranks meet; those that no launcher started are started here, one per GPU.
fn gather(lab: &Lab, place: Option<Place>) -> Result<Conductor> {
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
    let team =
        Conductor::gather(&place, listener, launched, card, patience()?, lost)?;
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
    let follower = Follower::join(place, card, patience()?, lost)?;
    let mut this = Rank::new(rank, place.ranks, context?.new_stream()?);
    follower.follow(|order| this.obey(order))?;
    if Emulator::loaded().is_none() {
        nccl::available().map_err(CannotRun)?; // the reason for which there were no orders
    }
    Ok(())
}
// ANCHOR_END: follow

/// Ends a rank that is not rank 0, which the lab does for that one.
fn ended(rank: usize, outcome: Result<()>) -> ExitCode {
    libraries::tidy();
    let Err(e) = outcome else { return ExitCode::from(RECORDED) };
    eprintln!("rank {rank}: {}", gpu::explain_all(&e));
    ExitCode::from(if e.is::<CannotRun>() { CANNOT_RUN } else { FAILED })
}

/// Ends this process at once: another rank is gone, and the GPU may wait for it for ever.
fn leave(why: &str) {
    eprintln!("error: {why}");
    libraries::tidy();
    unsafe extern "C" {
        safe fn _exit(code: i32) -> !;
    }
    // Not `exit`: what CUDA and NCCL do at the exit would wait for the GPU.
    _exit(FAILED.into())
}
