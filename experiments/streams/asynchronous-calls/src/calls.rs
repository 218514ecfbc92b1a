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

lab::words! {
    /// A call. The plain ones take no stream.
    pub(crate) enum Call {
        Launch = "launch",
        UploadPinned = "upload_pinned",
        UploadPageable = "upload_pageable",
        DownloadPinned = "download_pinned",
        DownloadPageable = "download_pageable",
        Set = "set",
        CopyWithin = "copy_within",
        PlainUploadPinned = "plain_upload_pinned",
        PlainUploadPageable = "plain_upload_pageable",
        PlainSet = "plain_set",
        PlainCopyWithin = "plain_copy_within",
    }
}

impl Call {
    pub(crate) fn is_pinned(self) -> bool {
        let pinned =
            [Call::UploadPinned, Call::DownloadPinned, Call::PlainUploadPinned];
        pinned.contains(&self)
    }
}

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
        call: Call,
        stream: &Arc<CudaStream>,
        host: &mut [u32],
    ) -> Result<()> {
        if call == Call::Launch {
            return self.launch(stream);
        }
        let (from, _order) = self.from.device_ptr(stream);
        let (to, _order) = self.to.device_ptr(stream);
        let (bytes, queue) = (size_of_val(host), stream.cu_stream());
        // SAFETY: all sides have as many bytes, and every call is waited for before they
        // are touched again.
        unsafe {
            match call {
                Call::Launch => unreachable!("it is launched above"),
                Call::UploadPinned | Call::UploadPageable => {
                    result::memcpy_htod_async(to, host, queue)
                }
                Call::DownloadPinned | Call::DownloadPageable => {
                    result::memcpy_dtoh_async(host, from, queue)
                }
                Call::Set => result::memset_d8_async(to, BYTE, bytes, queue),
                Call::CopyWithin => {
                    result::memcpy_dtod_async(to, from, bytes, queue)
                }
                Call::PlainUploadPinned | Call::PlainUploadPageable => {
                    result::memcpy_htod_sync(to, host)
                }
                Call::PlainSet => result::memset_d8_sync(to, BYTE, bytes),
                Call::PlainCopyWithin => result::memcpy_dtod_sync(to, from, bytes),
            }
        }?;
        Ok(())
    }
    // ANCHOR_END: call

    /// Makes the input of a call and clears its output.
    pub(crate) fn clear(&mut self, call: Call, host: &mut [u32]) -> Result<()> {
        let ramp: Vec<u32> = (0..self.from.len()).map(value).collect();
        self.stream.memcpy_htod(&ramp, &mut self.from)?;
        self.stream.memset_zeros(&mut self.to)?;
        self.stream.memset_zeros(&mut self.output)?;
        match call {
            Call::DownloadPinned | Call::DownloadPageable => host.fill(0),
            _ => host.copy_from_slice(&ramp[..host.len()]),
        }
        Ok(self.stream.synchronize()?)
    }

    /// Compares everything that a call has written.
    pub(crate) fn check(&self, call: Call, host: &[u32]) -> Result<u64> {
        let Calls { stream, output, to, .. } = self;
        let (name, got) =
            (call.name(), || stream.clone_dtoh(&to.slice(..host.len())));
        match call {
            Call::Launch => {
                let after = repeated(FACTOR, 1, self.steps);
                check::output(name, stream, output, WORDS, |i| after(i as u32))
            }
            Call::DownloadPinned | Call::DownloadPageable => {
                every_element(name, host, value)
            }
            Call::Set | Call::PlainSet => {
                every_element(name, &got()?, |_| u32::from_ne_bytes([BYTE; 4]))
            }
            Call::UploadPinned
            | Call::UploadPageable
            | Call::PlainUploadPinned
            | Call::PlainUploadPageable
            | Call::CopyWithin
            | Call::PlainCopyWithin => every_element(name, &got()?, value),
        }
    }
}
