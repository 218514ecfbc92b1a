//! The meeting: rank 0 gathers the others, each says what it has, and they follow.

use std::hash::{DefaultHasher, Hasher};

use anyhow::{Error, anyhow, ensure};
use cudarc::driver::CudaContext;
use lab::emulator::Emulator;
use lab::gpu::{self, Gpus};
use lab::{CannotRun, Lab, Result, nccl};
use ranks::{Hello, Launched, Place, Team, patience};

use crate::gone::leave;
use crate::rank::Rank;

/// The ranks meet; those that no launcher started are started here, one per GPU.
pub(crate) fn gather(lab: &Lab, place: Option<Place>) -> Result<Team> {
    let patience = patience()?;
    let (place, listener, launched) = match place {
        Some(place) => (place.clone(), Team::listen(&place)?, Launched::default()),
        None => match gpu::probe() {
            Gpus::Count(gpus @ 2..) => Launched::start(gpus)?,
            _ => {
                let why = "it starts one process for each GPU, and CUDA sees one GPU (under \
                           a launcher it runs with any number of ranks, one included)";
                return Err(CannotRun(why.to_owned()).into());
            }
        },
    };
    let hello = hello(lab.context())?;
    let team = Team::gather(&place, listener, launched, hello, patience, leave)?;
    let named = lab::workspace::arguments().any(|a| a.starts_with("--machine"));
    let nameless =
        "a record of several hosts needs a name for all of them: --machine NAME";
    ensure!(team.hosts() == 1 || named, nameless);
    Ok(team)
}

/// What a rank says of itself: its GPU, which no other rank may have, and what all must
/// have the same of.
fn hello(context: &CudaContext) -> Result<Hello> {
    let uuid = context.uuid()?.bytes.map(|byte| format!("{byte:02x}")).concat();
    let mut hash = DefaultHasher::new();
    hash.write(&std::fs::read(ranks::program()?)?);
    let program =
        format!("{} (build {:016x})", env!("CARGO_PKG_VERSION"), hash.finish());
    let options: Vec<_> = lab::workspace::arguments().skip(1).collect();
    let same = vec![
        ("program".to_owned(), program),
        ("NCCL".to_owned(), nccl::available().unwrap_or("none".to_owned())),
        ("set of options".to_owned(), format!("`{}`", options.join(" "))),
    ];
    Ok(Hello { device: format!("GPU (UUID {uuid})"), same })
}

/// Any other rank: says what it has, and does what rank 0 says.
pub(crate) fn follow(place: &Place) -> Result<()> {
    let patience = patience()?;
    let (rank, local) = (place.rank, place.local_rank);
    // A launcher that gives each process a GPU of its own calls it 0 in each.
    let device = match gpu::probe() {
        Gpus::None(why) => Err(anyhow!(why)),
        Gpus::Count(1) => Ok(0),
        Gpus::Count(n) if n > local => Ok(local),
        Gpus::Count(n) => {
            Err(anyhow!("its local rank is {local}, and it sees only {n} GPUs"))
        }
    };
    let context = device.and_then(|device| Ok(CudaContext::new(device)?));
    let words = |e: &Error| gpu::explain_all(e);
    let said = context.as_ref().map_err(words);
    let said = said.and_then(|context| hello(context).map_err(|e| words(&e)));
    let team = Team::join(place, said, patience, leave)?;
    let context = context?;
    // SAFETY: this rank uses one stream, so nothing needs cudarc's events between streams.
    unsafe { context.disable_event_tracking() };
    let mut this = Rank::new(rank, place.ranks, context.new_stream()?);
    team.follow(|order| this.obey(order).map_err(|e| anyhow!(words(&e))))?;
    if Emulator::loaded().is_none() {
        nccl::available().map_err(CannotRun)?; // the reason for which there were no orders
    }
    Ok(())
}
