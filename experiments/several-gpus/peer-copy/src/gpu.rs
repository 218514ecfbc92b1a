//! A GPU that sends and receives, and what goes from one to another.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr,
    LaunchConfig, PushKernelArg, result,
};
use lab::{Lab, Result, Samples, check};

pub(crate) const WORD: usize = size_of::<u32>();
const WARP: u32 = 32;
const BLOCK: u32 = 256;
/// Words of a GPU's source, at most: no two GPUs have the same.
const APART: usize = 1 << 28;

/// A GPU with a stream, a source and a target.
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) bytes: usize,
    /// From the pool that cudarc allocates from.
    pub(crate) source: CUdeviceptr,
    pub(crate) target: CUdeviceptr,
    _memory: [CudaSlice<u32>; 2],
    /// Threads that it holds, and multiprocessors that hold them.
    pub(crate) threads: u32,
    pub(crate) multiprocessors: u32,
    copy16: CudaFunction,
    copy4: CudaFunction,
    fill: CudaFunction,
    differ: CudaFunction,
    pub(crate) tie: CudaFunction,
    pub(crate) chase: CudaFunction,
    event: CudaEvent,
}

impl Gpu {
    pub(crate) fn new(
        lab: &Lab,
        context: &Arc<CudaContext>,
        bytes: usize,
    ) -> Result<Gpu> {
        use cudarc::driver::sys::CUdevice_attribute_enum::*;
        let stream = context.new_stream()?;
        let module = lab.module_on(context)?;
        let memory = [
            stream.alloc_zeros::<u32>(bytes / WORD)?,
            stream.alloc_zeros(bytes / WORD)?,
        ];
        let [source, target] =
            [0, 1].map(|i: usize| memory[i].device_ptr(&stream).0);
        let attribute = |name| context.attribute(name).map(|value| value as u32);
        let multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let each = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        let function = |name| module.load_function(name);
        let gpu = Gpu {
            context: context.clone(),
            bytes,
            source,
            target,
            _memory: memory,
            threads: each * multiprocessors,
            multiprocessors,
            copy16: function("copy16")?,
            copy4: function("copy4")?,
            fill: function("fill")?,
            differ: function("differ")?,
            tie: function("tie")?,
            chase: function("chase")?,
            event: context.new_event(None)?,
            stream,
        };
        gpu.fill(gpu.source, bytes)?;
        Ok(gpu)
    }

    pub(crate) fn number(&self) -> usize {
        self.context.ordinal()
    }

    /// The first of the words that only this GPU's source has.
    fn first(&self) -> u32 {
        (1 + self.number() * APART) as u32
    }

    /// `threads` threads, evenly over the multiprocessors.
    fn grid(&self, threads: u32) -> LaunchConfig {
        let block = (threads / self.multiprocessors).clamp(WARP, BLOCK);
        LaunchConfig {
            grid_dim: (threads.div_ceil(block), 1, 1),
            block_dim: (block, 1, 1),
            shared_mem_bytes: 0,
        }
    }

    /// Fills memory as this GPU's source is.
    pub(crate) fn fill(&self, memory: CUdeviceptr, bytes: usize) -> Result<()> {
        let (words, first) = (bytes / WORD, self.first());
        let mut launch = self.stream.launch_builder(&self.fill);
        launch.arg(&memory).arg(&words).arg(&first);
        // SAFETY: the kernel takes (memory, count, first), and so many words are there.
        unsafe { launch.launch(self.grid(self.threads)) }?;
        Ok(self.stream.synchronize()?)
    }

    /// Counts the words that are not as in the source of `sender`.
    fn differ(
        &self,
        memory: CUdeviceptr,
        bytes: usize,
        sender: &Gpu,
    ) -> Result<usize> {
        let (words, first) = (bytes / WORD, sender.first());
        let mut wrong = self.stream.alloc_zeros::<u32>(1)?;
        let mut launch = self.stream.launch_builder(&self.differ);
        launch.arg(&memory).arg(&words).arg(&first).arg(&mut wrong);
        // SAFETY: the kernel takes (memory, count, first, wrong), and so many words are
        // there.
        unsafe { launch.launch(self.grid(self.threads)) }?;
        Ok(self.stream.clone_dtoh(&wrong)?[0] as usize)
    }

    /// Clears what will be received, and sees to it that the check would notice.
    pub(crate) fn clear(
        &self,
        memory: CUdeviceptr,
        bytes: usize,
        sender: &Gpu,
    ) -> Result<()> {
        self.context.bind_to_thread()?;
        // SAFETY: so many bytes are there, and nobody else uses them now.
        unsafe {
            result::memset_d8_async(memory, 0, bytes, self.stream.cu_stream())
        }?;
        let wrong = self.differ(memory, bytes, sender)?;
        check::every_element("cleared words", &[wrong], |_| bytes / WORD)?;
        Ok(())
    }

    /// Compares every word that was received. Returns how many.
    pub(crate) fn check(
        &self,
        memory: CUdeviceptr,
        bytes: usize,
        sender: &Gpu,
    ) -> Result<u64> {
        let wrong = self.differ(memory, bytes, sender)?;
        let (from, to) = (sender.number(), self.number());
        let what = format!("words of GPU {to} that are not as on GPU {from}");
        check::every_element(&what, &[wrong], |_| 0)?;
        Ok((bytes / WORD) as u64)
    }
}

/// Who moves the bytes: a copy engine or a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A copy engine, by a call in a stream of the sender.
    SendersStream,
    /// The same in a stream of the receiver.
    ReceiversStream,
    /// A kernel of the receiver, with so many threads, reads the sender's memory.
    Read { threads: u32 },
    /// A kernel of the sender writes the receiver's memory.
    Write { threads: u32 },
    /// As `Read`, with 4 bytes in each access.
    NarrowRead { threads: u32 },
}

/// Bytes that go from one GPU to another.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'a> {
    pub(crate) from: &'a Gpu,
    pub(crate) to: &'a Gpu,
    pub(crate) source: CUdeviceptr,
    pub(crate) target: CUdeviceptr,
    pub(crate) bytes: usize,
    pub(crate) way: Way,
}

impl<'a> Transfer<'a> {
    /// Everything that a source holds.
    pub(crate) fn whole(from: &'a Gpu, to: &'a Gpu, way: Way) -> Transfer<'a> {
        let (source, target) = (from.source, to.target);
        Transfer { from, to, source, target, bytes: from.bytes.min(to.bytes), way }
    }

    /// The GPU whose stream the work is in.
    pub(crate) fn worker(&self) -> &'a Gpu {
        match self.way {
            Way::SendersStream | Way::Write { .. } => self.from,
            _ => self.to,
        }
    }

    // ANCHOR: queue
    /// Queues the transfer of the bytes from `offset` on.
    pub(crate) fn queue(&self, offset: usize) -> Result<()> {
        let worker = self.worker();
        let (source, target) =
            (self.source + offset as u64, self.target + offset as u64);
        let (kernel, width, threads) = match self.way {
            Way::SendersStream | Way::ReceiversStream => {
                let (from, to) = (&self.from.context, &self.to.context);
                worker.context.bind_to_thread()?;
                // SAFETY: so many bytes are there on both sides, and nobody else uses
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
            Way::Read { threads } | Way::Write { threads } => {
                (&worker.copy16, 16, threads)
            }
            Way::NarrowRead { threads } => (&worker.copy4, WORD, threads),
        };
        let count = self.bytes / width;
        let mut launch = worker.stream.launch_builder(kernel);
        launch.arg(&source).arg(&target).arg(&count);
        // SAFETY: the kernels take (from, to, count); both sides are as long, and the
        // worker has access to the other's memory.
        unsafe { launch.launch(worker.grid(threads.min(count as u32))) }?;
        Ok(())
    }
    // ANCHOR_END: queue
}

// ANCHOR: together
/// Times transfers that run at the same time, each in its worker's stream: all wait for
/// the first one's stream, and it waits for all. Small ones go through the whole source,
/// so that each finds its bytes outside of the caches.
pub(crate) fn time_together(
    lab: &Lab,
    transfers: &[Transfer<'_>],
) -> Result<(Samples, u64)> {
    let bytes = transfers[0].bytes;
    let windows =
        if transfers.len() > 1 { 1 } else { transfers[0].from.bytes / bytes };
    for t in transfers {
        t.to.clear(t.target, windows * bytes, t.from)?;
    }
    let first = transfers[0].worker();
    let mut turns = 0;
    let samples = lab.time_on_gpu(&first.stream, |turn| {
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
    let mut checked = 0;
    for t in transfers {
        checked += t.to.check(t.target, turns.min(windows) * bytes, t.from)?;
    }
    Ok((samples, checked))
}
// ANCHOR_END: together
