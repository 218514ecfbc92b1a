//! From a case to its line in the record, as one expression: time it, look at what the
//! last turn left, compare, record.
//!
//! ```no_run
//! # use lab::{Case, Lab, Result, check::value};
//! # use cudarc::driver::{CudaSlice, CudaStream};
//! # use std::sync::Arc;
//! # fn part(
//! #     lab: &mut Lab, stream: &Arc<CudaStream>, host: &[u32], device: &mut CudaSlice<u32>,
//! # ) -> Result<()> {
//! Case::new("copy")
//!     .with("bytes", 4 * host.len())
//!     .writes(4 * host.len())
//!     .time_on_gpu(lab, stream, |_| Ok(stream.memcpy_htod(host, device)?))?
//!     .check_device(stream, device, value)?
//!     .record(lab)
//! # }
//! ```

use std::fmt::Display;
use std::sync::Arc;

use anyhow::Result;
use cudarc::driver::{CudaStream, DevicePtr, DeviceRepr};

use crate::case::Case;
use crate::check;
use crate::session::Lab;
use crate::timing::{self, Samples};
use record::{Clock, Span};

/// A case that was timed, with what its last turn returned.
#[must_use = "a case that is not recorded was timed for nothing"]
pub struct Timed<T = ()> {
    case: Case,
    checked: u64,
    pub samples: Samples,
    /// What the last turn returned; of [`Case::time_turns`], what the median one did.
    pub last: T,
}

impl Case {
    /// Times `enqueue(turn)` on `stream` by CUDA events; see [`Lab::time_on_gpu`].
    pub fn time_on_gpu(
        self,
        lab: &Lab,
        stream: &CudaStream,
        mut enqueue: impl FnMut(usize) -> Result<()>,
    ) -> Result<Timed> {
        Ok(self.timed(lab.time_on_gpu(stream, &mut enqueue)?, ()))
    }

    /// Times `work` by the host's clock. It returns when its work is done, on the GPU
    /// too. What the last turn returned is kept.
    pub fn time_on_host<T>(
        self,
        lab: &Lab,
        mut work: impl FnMut() -> Result<T>,
    ) -> Result<Timed<T>> {
        self.time_on_host_after(lab, || Ok(()), |()| work())
    }

    /// Times `work` by the host's clock on what `prepare` makes before it starts. What a turn
    /// returned is dropped before the next one is prepared.
    pub fn time_on_host_after<Before, T>(
        self,
        lab: &Lab,
        prepare: impl FnMut() -> Result<Before>,
        work: impl FnMut(Before) -> Result<T>,
    ) -> Result<Timed<T>> {
        let (samples, last) = timing::by_host(lab.sampling, prepare, work)?;
        Ok(self.timed(lab.observed(samples), last))
    }

    /// Times `call` by the host's clock: what a call costs that returns before its work
    /// is done. A sample is the mean of `operations` calls; `settle` follows it outside
    /// the clock, and waits for the work or undoes it. More calls than a launch queue
    /// holds (about a thousand) would time the queue.
    pub fn time_calls(
        self,
        lab: &Lab,
        operations: u32,
        call: impl FnMut() -> Result<()>,
        settle: impl FnMut() -> Result<()>,
    ) -> Result<Timed> {
        let samples = timing::by_calls(lab.sampling, operations, call, settle)?;
        Ok(self.timed(lab.observed(samples), ()))
    }

    /// Samples that `turn` times itself, where clocks and events are the subject: it gives
    /// the seconds of one operation, and something to keep of it. What the turn of median
    /// time returned is kept.
    pub fn time_turns<T>(
        self,
        lab: &Lab,
        clock: Clock,
        turn: impl FnMut() -> Result<(f64, T)>,
    ) -> Result<Timed<T>> {
        let (samples, kept) = timing::by_turns(lab.sampling, clock, turn)?;
        Ok(self.timed(lab.observed(samples), kept))
    }

    /// The case with samples that were taken elsewhere, and what is to be kept of them.
    pub fn timed<T>(self, samples: Samples, last: T) -> Timed<T> {
        Timed { case: self, checked: 0, samples, last }
    }
}

/// Times cases by the host's clock in rounds, one sample of each, `work(i)` being that of
/// case i: for cases that are compared, so that drift does not decide. `prepare` runs
/// before the clock starts.
pub fn time_in_rounds<const CASES: usize>(
    lab: &Lab,
    cases: [Case; CASES],
    prepare: impl FnMut() -> Result<()>,
    work: impl FnMut(usize) -> Result<()>,
) -> Result<[Timed; CASES]> {
    let sampling = lab.sampling;
    let samples: [Samples; CASES] = timing::by_host_in_rounds(sampling, prepare, work)?;
    let mut samples = samples.into_iter();
    Ok(cases.map(|case| {
        let samples = samples.next().expect("there are as many");
        case.timed(lab.observed(samples), ())
    }))
}

impl<T> Timed<T> {
    /// Adds to the case what is known only after timing.
    pub fn note(mut self, note: impl FnOnce(Case, &T) -> Result<Case>) -> Result<Timed<T>> {
        self.case = note(self.case, &self.last)?;
        Ok(self)
    }

    /// Compares words on the host with what they must be; see [`check::every_element`].
    pub fn check<W: PartialEq + Display + Copy + Sync>(
        self,
        got: &[W],
        expected: impl Fn(usize) -> W + Sync,
    ) -> Result<Timed<T>> {
        let checked = check::every_element(&self.case.label(), got, expected)?;
        Ok(self.checked(checked))
    }

    /// Copies words from the device and compares them.
    pub fn check_device<W: PartialEq + Display + Copy + Default + Sync + DeviceRepr>(
        self,
        stream: &Arc<CudaStream>,
        words: &impl DevicePtr<W>,
        expected: impl Fn(usize) -> W + Sync,
    ) -> Result<Timed<T>> {
        let (what, count) = (self.case.label(), words.len());
        let checked = check::on_device(&what, stream, words, count, expected)?;
        Ok(self.checked(checked))
    }

    /// Compares what the last turn returned.
    pub fn check_last(self, check: impl FnOnce(&T) -> Result<u64>) -> Result<Timed<T>> {
        let checked = check(&self.last)?;
        Ok(self.checked(checked))
    }

    /// Adds elements that were compared elsewhere.
    pub fn checked(mut self, elements: u64) -> Timed<T> {
        self.checked += elements;
        self
    }

    /// Makes them samples of one of `count` equal parts; see [`Samples::per`].
    pub fn per(mut self, count: usize) -> Timed<T> {
        self.samples = self.samples.per(count);
        self
    }

    /// Takes it into the record, and prints its row.
    pub fn record(self, lab: &mut Lab) -> Result<()> {
        lab.record(self.case.checked(self.checked).samples(self.samples))
    }
}

impl Timed<Vec<Span>> {
    /// Adds to the case what ran when, as the turn that is kept has noted it.
    pub fn spans(mut self) -> Timed<Vec<Span>> {
        self.case = self.case.spans(std::mem::take(&mut self.last));
        self
    }
}
