//! Several at the same time: both directions of a pair, a ring of all GPUs, and all the
//! others to one.

use lab::{Case, Ceiling, Lab, Result};

use crate::Kinds;
use crate::device::Peer;
use crate::transfer::{Mover, Transfer, together};

pub(crate) fn cases(lab: &mut Lab, gpus: &[Peer], kinds: Kinds) -> Result<()> {
    let (a, b) = (&gpus[0], &gpus[1]);
    for (kind, mover) in kinds {
        let case = Case::new("both_ways").with("kind", kind);
        let both = [Transfer::whole(a, b, mover), Transfer::whole(b, a, mover)];
        together(lab, case.ceiling(Ceiling::NvLinkBothWays), &both)?.record(lab)?;
        let ring = gpus.iter().enumerate().map(|(i, from)| {
            Transfer::whole(from, &gpus[(i + 1) % gpus.len()], mover)
        });
        let case = Case::new("ring").with("kind", kind).with("gpus", gpus.len());
        together(lab, case, &ring.collect::<Vec<_>>())?.record(lab)?;
    }
    let case = Case::new("to_one").with("gpus", gpus.len());
    if gpus.len() < 3 {
        lab.skip(case, "it takes three GPUs, two that send and one that receives");
    } else {
        let bytes = a.bytes / gpus.len() / 16 * 16;
        let senders = gpus[1..].iter().zip(0..).map(|(from, i)| {
            let target = a.target + i * bytes as u64;
            let whole = Transfer::whole(from, a, Mover::SendersStream);
            Transfer { bytes, target, ..whole }
        });
        together(lab, case, &senders.collect::<Vec<_>>())?.record(lab)?;
    }
    Ok(())
}
