//! Host memory to copy from and to, and copies of it.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::value;
use lab::{Case, Ceiling, Lab, Result};
use staging::Staging;

use crate::UP;

/// Host memory, and as much on the device.
pub(crate) struct Buffers<'a> {
    /// Holds `value(i)` in word i.
    pub(crate) source: &'a [u32],
    pub(crate) target: &'a mut [u32],
    pub(crate) device: CudaSlice<u32>,
    pub(crate) stream: Arc<CudaStream>,
    /// How long the host sleeps before each copy.
    pub(crate) pause: Duration,
}

impl Buffers<'_> {
    /// Times copies of `bytes` and returns their rate in bytes per second. Each turn takes
    /// the next piece of host memory, so that the CPU's caches do not hold it from the
    /// turn before.
    pub(crate) fn copy(
        &mut self,
        lab: &mut Lab,
        case: Case,
        direction: &str,
        bytes: usize,
        staging: &mut Staging,
    ) -> Result<f64> {
        let Buffers { source, target, device, stream, pause } = self;
        let words = bytes / size_of::<u32>();
        let (mut turn, mut piece) = (0, 0..words);
        let mut next = || {
            turn += 1;
            let start = turn % (source.len() / words) * words;
            piece = start..start + words;
            piece.clone()
        };
        let wait = || {
            sleep(*pause);
            Ok(())
        };
        let case = case.with("direction", direction).ceiling(Ceiling::HostLink);
        let timed = if direction == UP {
            stream.memset_zeros(device)?;
            let timed = case.writes(bytes).time_on_host_after(lab, wait, |()| {
                Ok(staging.copy_to_device(stream, &source[next()], device)?)
            })?;
            let got = device.slice(..words);
            timed.check_device(stream, &got, |i| value(piece.start + i))?
        } else {
            stream.memcpy_htod(&source[..words], device)?;
            target.fill(0);
            let timed = case.reads(bytes).time_on_host_after(lab, wait, |()| {
                let device = &device.slice(..words);
                Ok(staging.copy_to_host(stream, device, &mut target[next()])?)
            })?;
            timed.check(&target[piece], value)?
        };
        let rate = bytes as f64 / timed.samples.median();
        timed.record(lab)?;
        Ok(rate)
    }
}

/// Bytes as a copy takes them.
pub(crate) type Bytes = [MaybeUninit<u8>];

/// The bytes of words to copy from and to. What is written must be initialised.
pub(crate) fn bytes<'a>(
    from: &'a [u32],
    to: &'a mut [u32],
) -> (&'a Bytes, &'a mut Bytes) {
    // SAFETY: a u32 is four bytes of any value, and what is initialised may be taken for
    // memory that may be uninitialised.
    unsafe { (from.align_to().1, to.align_to_mut().1) }
}
