//! The kernel, the copy, and what they have written.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, result};
use lab::check::{self, every_element, repeated, value};
use lab::launch::blocks;
use lab::timeline::Timeline;
use lab::{Lab, Result};

// SAFETY: threads at or past `count` do nothing; the others use word i of both,
// which have at least that many. Nothing else touches `out`, which is borrowed as shared,
// before the turn has ended.
lab::kernels! { unsafe "stream-overlap" {
    fn chain(
        input: &CudaSlice<u32>, out: &CudaSlice<u32>, count: usize, steps: u32, factor: u32,
    );
} }

const BLOCK: usize = 1024;
const FACTOR: u32 = 1_664_525;

/// What a turn needs on the GPU.
pub(crate) struct Work {
    pub(crate) streams: [Arc<CudaStream>; 2],
    pub(crate) default: Arc<CudaStream>,
    pub(crate) line: Timeline,
    kernels: Kernels,
    /// Steps of the kernel, which make its length.
    pub(crate) steps: u32,
    pub(crate) arrays: [CudaSlice<u32>; 2],
    pub(crate) output: CudaSlice<u32>,
    /// Copies go to the GPU.
    pub(crate) up: bool,
}

impl Work {
    /// With two arrays, of which each is a half of `host`.
    pub(crate) fn new(lab: &Lab, host: &[u32]) -> Result<Work> {
        let context = lab.context();
        let streams = [context.new_stream()?, context.new_stream()?];
        let (first, second) = host.split_at(host.len() / 2);
        let copied = |array: &[u32]| streams[0].clone_htod(array);
        Ok(Work {
            default: context.default_stream(),
            line: Timeline::new(context)?,
            kernels: Kernels::load(lab)?,
            steps: 1,
            arrays: [copied(first)?, copied(second)?],
            output: streams[0].alloc_zeros(first.len() + check::GUARD)?,
            up: true,
            streams,
        })
    }

    /// Words that the kernel reads and writes.
    pub(crate) fn words(&self) -> usize {
        self.arrays[0].len()
    }

    // ANCHOR: issue
    /// Queues the kernel on the first array.
    pub(crate) fn launch(&self, stream: &Arc<CudaStream>, steps: u32) -> Result<()> {
        let (input, out, words) = (&self.arrays[0], &self.output, self.words());
        let grid = blocks(words.div_ceil(BLOCK), BLOCK);
        self.kernels.chain(stream, grid, input, out, words, steps, FACTOR)
    }

    /// Issues the copy of an array.
    pub(crate) fn copy(
        &self,
        array: usize,
        stream: &Arc<CudaStream>,
        host: &mut [u32],
    ) -> Result<()> {
        let (address, _order) = self.arrays[array].device_ptr(stream);
        let queue = stream.cu_stream();
        // SAFETY: both sides have as many words, and nothing touches them before the
        // turn has ended, which waits for both streams.
        unsafe {
            match self.up {
                true => result::memcpy_htod_async(address, host, queue),
                false => result::memcpy_dtoh_async(host, address, queue),
            }
        }?;
        Ok(())
    }
    // ANCHOR_END: issue

    pub(crate) fn wait(&self) -> Result<()> {
        for stream in self.streams.iter().chain([&self.default]) {
            stream.synchronize()?;
        }
        Ok(())
    }

    /// Clears what the kernel writes, and what the copy does.
    pub(crate) fn clear(&mut self, host: &mut [u32]) -> Result<()> {
        self.streams[0].memset_zeros(&mut self.output)?;
        match self.up {
            true => self.streams[0].memset_zeros(&mut self.arrays[1])?,
            false => host[self.words()..].fill(0),
        }
        Ok(self.streams[0].synchronize()?)
    }

    /// Compares every word that the kernel and the copy have written.
    pub(crate) fn check(&self, host: &[u32]) -> Result<u64> {
        let (words, stream) = (self.words(), &self.streams[0]);
        let after = repeated(FACTOR, 1, self.steps);
        let expected = |i| after(value(i));
        let kernel = check::output("kernel", stream, &self.output, words, expected)?;
        let got = match self.up {
            true => &stream.clone_dtoh(&self.arrays[1])?,
            false => &host[words..],
        };
        Ok(kernel + every_element("copy", got, |i| value(words + i))?)
    }
}
