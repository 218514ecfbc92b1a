//! What goes from one GPU to another, in which way.

use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use lab::{Case, Ceiling, Lab, Result, Timed, check};

use crate::device::{Peer, WORD};

/// Who moves the bytes: a copy engine or a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mover {
    /// A copy engine, by a call in a stream of the sender.
    SendersStream,
    /// A copy engine, by a call in a stream of the receiver.
    ReceiversStream,
    /// A kernel of the receiver, with this many threads, reads the sender's memory.
    Read(u32),
    /// A kernel of the sender writes the receiver's memory.
    Write(u32),
    /// A kernel of the receiver that reads 4 bytes in each access.
    NarrowRead(u32),
}

/// Bytes that go from one GPU to another.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'a> {
    pub(crate) from: &'a Peer,
    pub(crate) to: &'a Peer,
    pub(crate) source: CUdeviceptr,
    pub(crate) target: CUdeviceptr,
    pub(crate) bytes: usize,
    pub(crate) mover: Mover,
}

impl<'a> Transfer<'a> {
    /// Everything that a source holds.
    pub(crate) fn whole(from: &'a Peer, to: &'a Peer, mover: Mover) -> Transfer<'a> {
        let (source, target) = (from.source, to.target);
        Transfer { from, to, source, target, bytes: from.bytes.min(to.bytes), mover }
    }

    /// The GPU whose stream the work is in.
    pub(crate) fn worker(&self) -> &'a Peer {
        match self.mover {
            Mover::SendersStream | Mover::Write(_) => self.from,
            Mover::ReceiversStream | Mover::Read(_) | Mover::NarrowRead(_) => {
                self.to
            }
        }
    }

    /// Counts the words at the target that are not as in the sender's source.
    fn differ(&self, bytes: usize) -> Result<usize> {
        let Peer { stream, kernels, threads, .. } = self.to;
        let (grid, first) = (self.to.grid(*threads), self.from.first());
        let mut wrong = stream.alloc_zeros::<u32>(1)?;
        kernels.differ(
            stream,
            grid,
            self.target,
            bytes / WORD,
            first,
            &mut wrong,
        )?;
        Ok(stream.clone_dtoh(&wrong)?[0] as usize)
    }

    /// Clears what will be received, and makes sure that the check would notice.
    pub(crate) fn clear(&self, bytes: usize) -> Result<()> {
        self.to.context.bind_to_thread()?;
        let queue = self.to.stream.cu_stream();
        // SAFETY: that many bytes are there, and nothing else uses them now.
        unsafe { result::memset_d8_async(self.target, 0, bytes, queue) }?;
        let wrong = self.differ(bytes)?;
        check::every_element("cleared words", &[wrong], |_| bytes / WORD)?;
        Ok(())
    }

    /// Compares every word that was received. Returns how many.
    pub(crate) fn check(&self, bytes: usize) -> Result<u64> {
        let (from, to) = (self.from.number(), self.to.number());
        let what = format!("words of GPU {to} that are not as on GPU {from}");
        check::every_element(&what, &[self.differ(bytes)?], |_| 0)?;
        Ok((bytes / WORD) as u64)
    }

    // ANCHOR: queue
    /// Queues the transfer of the bytes from `offset` on.
    pub(crate) fn queue(&self, offset: usize) -> Result<()> {
        let worker = self.worker();
        let (source, target) =
            (self.source + offset as u64, self.target + offset as u64);
        let (kernel, width, threads) = match self.mover {
            Mover::SendersStream | Mover::ReceiversStream => {
                let (from, to) = (&self.from.context, &self.to.context);
                worker.context.bind_to_thread()?;
                // SAFETY: that many bytes are there on both sides, and nothing else uses
                // the target before the end of the turn.
                unsafe {
                    result::memcpy_peer_async(
                        to.cu_ctx(),
                        target,
                        from.cu_ctx(),
                        source,
                        self.bytes,
                        worker.stream.cu_stream(),
                    )
                }?;
                return Ok(());
            }
            Mover::Read(threads) | Mover::Write(threads) => ("copy16", 16, threads),
            Mover::NarrowRead(threads) => ("copy4", WORD, threads),
        };
        let (stream, count) = (&worker.stream, self.bytes / width);
        let grid = worker.grid(threads.min(count as u32));
        worker.kernels.copy(kernel, stream, grid, source, target, count)
    }
    // ANCHOR_END: queue
}

// ANCHOR: together
/// Times transfers that run at the same time, each in its worker's stream: all wait for
/// the first one's stream, and it waits for all. Small ones go through the whole source,
/// so that each finds its bytes outside of the caches. What crosses the link is counted
/// once.
pub(crate) fn together(
    lab: &Lab,
    case: Case,
    transfers: &[Transfer<'_>],
) -> Result<Timed> {
    let bytes = transfers[0].bytes;
    let windows =
        if transfers.len() > 1 { 1 } else { transfers[0].from.bytes / bytes };
    for t in transfers {
        t.clear(windows * bytes)?;
    }
    let first = transfers[0].worker();
    let mut turns = 0;
    let case = case.writes(transfers.iter().map(|t| t.bytes).sum());
    let mut timed = case.time_on_gpu(lab, &first.stream, |turn| {
        turns = turn + 1;
        first.event.record(&first.stream)?;
        for t in &transfers[1..] {
            t.worker().stream.wait(&first.event)?;
        }
        for t in transfers {
            t.queue(turn % windows * bytes)?;
        }
        for t in &transfers[1..] {
            t.worker().event.record(&t.worker().stream)?;
            first.stream.wait(&t.worker().event)?;
        }
        Ok(())
    })?;
    for t in transfers {
        let received = turns.min(windows) * bytes;
        timed = timed.checked(t.check(received)?);
    }
    Ok(timed)
}
// ANCHOR_END: together

/// One transfer over the link.
pub(crate) fn one(lab: &Lab, case: Case, transfer: Transfer<'_>) -> Result<Timed> {
    let case = case.with("bytes", transfer.bytes).ceiling(Ceiling::NvLink);
    let case = case.footprint(transfer.from.bytes, lab.l2_bytes());
    together(lab, case, &[transfer])
}
