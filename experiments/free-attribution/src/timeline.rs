//! What ran when, on the host and on the GPU, by one clock.

use std::time::Instant;

use cudarc::driver::{CudaEvent, CudaStream, sys};
use lab::{Result, Span};

/// The host's clock and the GPU's, which start together.
pub(crate) struct Timeline {
    pub(crate) zero: Instant,
    gpu_zero: CudaEvent,
    pub(crate) spans: Vec<Span>,
}

impl Timeline {
    /// Waits until the GPU gets to an event; both clocks start there.
    pub(crate) fn start(stream: &CudaStream) -> Result<Timeline> {
        let gpu_zero = event(stream)?;
        gpu_zero.record(stream)?;
        gpu_zero.synchronize()?;
        Ok(Timeline { zero: Instant::now(), gpu_zero, spans: vec![] })
    }

    /// Seconds by the host's clock.
    pub(crate) fn now(&self) -> f64 {
        self.zero.elapsed().as_secs_f64()
    }

    /// A call, timed on the host.
    pub(crate) fn host<T>(
        &mut self,
        label: impl Into<String>,
        call: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let start_seconds = self.now();
        let result = call()?;
        let end_seconds = self.now();
        let (lane, label) = ("host".to_owned(), label.into());
        self.spans.push(Span { lane, label, start_seconds, end_seconds });
        Ok(result)
    }

    /// What a stream did between two events, which have been.
    pub(crate) fn gpu(
        &mut self,
        lane: String,
        label: String,
        [start, end]: &[CudaEvent; 2],
    ) -> Result<()> {
        let seconds = |event: &CudaEvent| -> Result<f64> {
            Ok(f64::from(self.gpu_zero.elapsed_ms(event)?) * 1e-3)
        };
        let (start_seconds, end_seconds) = (seconds(start)?, seconds(end)?);
        self.spans.push(Span { lane, label, start_seconds, end_seconds });
        Ok(())
    }
}

/// An event that keeps the time.
pub(crate) fn event(stream: &CudaStream) -> Result<CudaEvent> {
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    Ok(stream.context().new_event(timed)?)
}
