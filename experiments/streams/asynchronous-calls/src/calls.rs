//! The calls, and what they work on.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, result};
use lab::check::{self, every_element, repeated, value};
use lab::launch::blocks;
use lab::timeline::Timeline;
use lab::{Lab, Result};

// SAFETY: threads at or past `count` do nothing; the others write word i of `out`,
// which has at least that many.
lab::kernels! { unsafe "asynchronous-calls" {
    fn chain(out: &mut CudaSlice<u32>, count: usize, steps: u32, factor: u32);
} }

/// Words that the kernel writes, in one block that has threads to spare.
pub(crate) const WORDS: usize = 1000;
const BLOCK: usize = 1024;
const FACTOR: u32 = 1_664_525;
const KERNEL_SECONDS: f64 = 1e-3;
/// What `set` writes into every byte.
const BYTE: u8 = 0x5a;

/// What the calls work on, and a kernel of known length.
pub(crate) struct Calls {
    kernels: Kernels,
    steps: u32,
    output: CudaSlice<u32>,
    from: CudaSlice<u32>,
    to: CudaSlice<u32>,
    /// For what is not timed.
    stream: Arc<CudaStream>,
}

impl Calls {
    pub(crate) fn new(lab: &Lab, words: usize) -> Result<Calls> {
        let stream = lab.context().new_stream()?;
        let kernels = Kernels::load(lab)?;
        let mut output = stream.alloc_zeros(WORDS + check::GUARD)?;
        let line = Timeline::new(lab.context())?;
        let steps =
            line.steps_lasting(&stream, KERNEL_SECONDS, 10_000, |steps| {
                let grid = blocks(1, BLOCK);
                kernels.chain(&stream, grid, &mut output, WORDS, steps, FACTOR)
            })?;
        let (from, to) = (stream.alloc_zeros(words)?, stream.alloc_zeros(words)?);
        Ok(Calls { kernels, steps, output, from, to, stream })
    }

    pub(crate) fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let (grid, output) = (blocks(1, BLOCK), &mut self.output);
        self.kernels.chain(stream, grid, output, WORDS, self.steps, FACTOR)
    }

    // ANCHOR: call
    pub(crate) fn call(
        &mut self,
        call: &str,
        stream: &Arc<CudaStream>,
        host: &mut [u32],
    ) -> Result<()> {
        if call == "launch" {
            return self.launch(stream);
        }
        let (from, _order) = self.from.device_ptr(stream);
        let (to, _order) = self.to.device_ptr(stream);
        let (bytes, queue) = (size_of_val(host), stream.cu_stream());
        // SAFETY: all sides have as many bytes, and every call is waited for before they
        // are touched again.
        unsafe {
            match call {
                "upload_pinned" | "upload_pageable" => {
                    result::memcpy_htod_async(to, host, queue)
                }
                "download_pinned" | "download_pageable" => {
                    result::memcpy_dtoh_async(host, from, queue)
                }
                "set" => result::memset_d8_async(to, BYTE, bytes, queue),
                "copy_within" => result::memcpy_dtod_async(to, from, bytes, queue),
                "plain_upload_pinned" | "plain_upload_pageable" => {
                    result::memcpy_htod_sync(to, host)
                }
                "plain_set" => result::memset_d8_sync(to, BYTE, bytes),
                _ => result::memcpy_dtod_sync(to, from, bytes),
            }
        }?;
        Ok(())
    }
    // ANCHOR_END: call

    /// Makes the input of a call and clears its output.
    pub(crate) fn clear(&mut self, call: &str, host: &mut [u32]) -> Result<()> {
        let ramp: Vec<u32> = (0..self.from.len()).map(value).collect();
        self.stream.memcpy_htod(&ramp, &mut self.from)?;
        self.stream.memset_zeros(&mut self.to)?;
        self.stream.memset_zeros(&mut self.output)?;
        match call.contains("download") {
            true => host.fill(0),
            false => host.copy_from_slice(&ramp[..host.len()]),
        }
        Ok(self.stream.synchronize()?)
    }

    /// Compares everything that a call has written.
    pub(crate) fn check(&self, call: &str, host: &[u32]) -> Result<u64> {
        if call == "launch" {
            let after = repeated(FACTOR, 1, self.steps);
            let (stream, output) = (&self.stream, &self.output);
            return check::output(call, stream, output, WORDS, |i| after(i as u32));
        }
        if call.contains("download") {
            return every_element(call, host, value);
        }
        let got = self.stream.clone_dtoh(&self.to.slice(..host.len()))?;
        match call.contains("set") {
            true => every_element(call, &got, |_| u32::from_ne_bytes([BYTE; 4])),
            false => every_element(call, &got, value),
        }
    }
}
