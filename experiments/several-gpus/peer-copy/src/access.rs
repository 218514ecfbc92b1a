//! Copies without access, and with more and more of it.

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, DriverError, result};
use lab::{Case, Lab, Result};
use peer_access::Access;

use crate::device::Peer;
use crate::transfer::{Mover, Transfer, together};

const SMALL: usize = 4 << 10;

/// Copies between the first two GPUs while access is switched on, step by step; in the
/// end it is on between all. Returns why not, if the driver refuses.
pub(crate) fn step_by_step(lab: &mut Lab, gpus: &[Peer]) -> Result<Option<String>> {
    let (a, b) = (&gpus[0], &gpus[1]);
    let (source, target) = (direct(a)?, direct(b)?);
    a.fill(source, a.bytes)?;
    let pooled = Transfer::whole(a, b, Mover::SendersStream);
    let outside = Transfer { source, target, ..pooled };
    let mut refused = None;
    // ANCHOR: steps
    let switches: [(&str, Option<Switch>); 3] = [
        ("none", None),
        ("context", Some(peer_access::enable_context)),
        ("context_and_pool", Some(peer_access::enable)),
    ];
    for (on, switch) in switches {
        let answer = match switch {
            None => Access::Granted,
            Some(switch) => every_pair(gpus, switch)?,
        };
        for (memory, transfer) in [("direct", outside), ("pool", pooled)] {
            let case = Case::new("access").with("memory", memory).with("on", on);
            let case = case.with("bytes", transfer.bytes);
            match &answer {
                Access::Refused(why) => lab.skip(case, why.clone()),
                Access::Granted => waited_for(lab, case, transfer)?,
            }
        }
        if let Access::Refused(why) = answer {
            refused = Some(why);
        }
    }
    // ANCHOR_END: steps
    for (gpu, address) in [(a, source), (b, target)] {
        gpu.context.bind_to_thread()?;
        // SAFETY: it came from `malloc_sync`, and nothing uses it any more.
        unsafe { result::free_sync(address) }?;
    }
    Ok(refused)
}

/// Small copies from `a` to `b` with access in one direction only, and in both, by a call
/// in a stream of either GPU. In the end access is on in both.
pub(crate) fn one_way(lab: &mut Lab, a: &Peer, b: &Peer) -> Result<()> {
    for (access, pairs) in [
        ("to_receiver", &[(a, b)][..]),
        ("to_sender", &[(b, a)]),
        ("both", &[(a, b), (b, a)]),
    ] {
        for (from, to) in [(a, b), (b, a)] {
            peer_access::disable(&from.context, &to.context)?;
        }
        for (from, to) in pairs {
            let _granted = peer_access::enable(&from.context, &to.context)?; // as before
        }
        for (stream, mover) in
            [("sender", Mover::SendersStream), ("receiver", Mover::ReceiversStream)]
        {
            let small = Transfer { bytes: SMALL, ..Transfer::whole(a, b, mover) };
            let case = Case::new("one_way").with("access", access);
            let case = case.with("stream", stream).with("bytes", SMALL);
            together(lab, case, &[small])?.record(lab)?;
        }
    }
    Ok(())
}

/// A small copy from `a` to `b` as a program sees it, with access in both directions.
pub(crate) fn small(lab: &mut Lab, a: &Peer, b: &Peer) -> Result<()> {
    let small =
        Transfer { bytes: SMALL, ..Transfer::whole(a, b, Mover::SendersStream) };
    waited_for(lab, Case::new("small").with("bytes", SMALL), small)
}

/// Times a transfer by the host's clock: the call alone, and with a wait for its end.
fn waited_for(lab: &mut Lab, case: Case, transfer: Transfer<'_>) -> Result<()> {
    let (bytes, stream) = (transfer.bytes, &transfer.worker().stream);
    let wait = || Ok(stream.synchronize()?);
    transfer.clear(bytes)?;
    let call = case.clone().with("timed", "call");
    let call = call.time_on_host_after(lab, wait, |()| transfer.queue(0))?;
    wait()?;
    call.checked(transfer.check(bytes)?).record(lab)?;
    transfer.clear(bytes)?;
    case.with("timed", "call_and_wait")
        .writes(bytes)
        .time_on_host(lab, || {
            transfer.queue(0)?;
            wait()
        })?
        .checked(transfer.check(bytes)?)
        .record(lab)
}

/// A switch of `peer_access`.
type Switch =
    fn(&CudaContext, &CudaContext) -> std::result::Result<Access, DriverError>;

/// Switches access on from every GPU to every other, up to the first that is refused.
fn every_pair(gpus: &[Peer], switch: Switch) -> Result<Access> {
    for from in gpus {
        for to in gpus {
            let access = switch(&from.context, &to.context)?;
            if !access.is_granted() {
                return Ok(access);
            }
        }
    }
    Ok(Access::Granted)
}

/// Memory from `cuMemAlloc`, in no pool.
fn direct(gpu: &Peer) -> Result<CUdeviceptr> {
    gpu.context.bind_to_thread()?;
    // SAFETY: all words are written before they are read.
    Ok(unsafe { result::malloc_sync(gpu.bytes) }?)
}
