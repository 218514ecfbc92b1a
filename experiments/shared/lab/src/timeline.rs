//! What ran when, on the host and on the GPU, on one time axis.
//!
//! ```text
//! begin    the GPU passes an event, and the host, which waits for it, starts its clock
//! host     a call, from when it was made to when it returned
//! gpu      work of a stream, from an event before it to an event after it
//! finish   everything as spans
//! ```
//!
//! The host learns of the event a few microseconds after the GPU passed it. By so much
//! spans of the GPU seem late beside those of the host.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, sys};
use record::Span;

/// A recorder of what ran when. Threads can share it.
pub struct Timeline {
    context: Arc<CudaContext>,
    zero: CudaEvent,
    turn: Mutex<Turn>,
}

/// What was noted since the beginning.
struct Turn {
    start: Instant,
    calls: Vec<(String, String, [Instant; 2])>,
    work: Vec<(String, String, [CudaEvent; 2])>,
    /// Events of earlier turns: making new ones would take time that is measured.
    free: Vec<[CudaEvent; 2]>,
}

impl Timeline {
    /// A recorder for work in this context.
    pub fn new(context: &Arc<CudaContext>) -> Result<Timeline> {
        let turn = Turn { start: Instant::now(), calls: vec![], work: vec![], free: vec![] };
        Ok(Timeline { context: context.clone(), zero: event(context)?, turn: Mutex::new(turn) })
    }

    // ANCHOR: begin
    /// Starts both clocks, and returns when. The stream should be idle.
    pub fn begin(&self, stream: &CudaStream) -> Result<Instant> {
        self.zero.record(stream)?;
        self.zero.synchronize()?;
        let start = Instant::now();
        self.turn(|turn| turn.start = start);
        Ok(start)
    }
    // ANCHOR_END: begin

    /// Notes when `call` was made and when it returned.
    pub fn host<T>(&self, lane: &str, label: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = call()?;
        let times = [start, Instant::now()];
        self.turn(|turn| turn.calls.push((lane.to_owned(), label.to_owned(), times)));
        Ok(result)
    }

    /// Notes when `stream` began and finished what `work` puts into it.
    pub fn gpu(
        &self,
        lane: &str,
        label: &str,
        stream: &CudaStream,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let events = match self.turn(|turn| turn.free.pop()) {
            Some(events) => events,
            None => [event(&self.context)?, event(&self.context)?],
        };
        events[0].record(stream)?;
        work()?;
        events[1].record(stream)?;
        self.turn(|turn| turn.work.push((lane.to_owned(), label.to_owned(), events)));
        Ok(())
    }

    /// Seconds since the beginning, and what ran when. All work must be done.
    pub fn finish(&self) -> Result<(f64, Vec<Span>)> {
        let end = Instant::now();
        self.turn(|turn| {
            let since = |time: Instant| (time - turn.start).as_secs_f64();
            let on_gpu = |event: &CudaEvent| -> Result<f64, DriverError> {
                Ok(f64::from(self.zero.elapsed_ms(event)?) * 1e-3)
            };
            let mut spans = vec![];
            for (lane, label, times) in std::mem::take(&mut turn.calls) {
                spans.push(span(lane, label, times.map(since)));
            }
            for (lane, label, events) in std::mem::take(&mut turn.work) {
                let times = [on_gpu(&events[0])?, on_gpu(&events[1])?];
                spans.push(span(lane, label, times));
                turn.free.push(events);
            }
            Ok((since(end), spans))
        })
    }

    /// So many steps that a kernel of that many lasts `seconds`, if its time grows evenly
    /// with them: from the times of `few` steps and of five times as many.
    pub fn steps_lasting(
        &self,
        stream: &CudaStream,
        seconds: f64,
        few: u32,
        mut launch: impl FnMut(u32) -> Result<()>,
    ) -> Result<u32> {
        let mut time = |steps| -> Result<f64> {
            launch(steps)?; // warm up
            self.begin(stream)?;
            self.gpu("", "", stream, || launch(steps))?;
            let (_, spans) = self.finish()?;
            Ok(spans[0].end_seconds - spans[0].start_seconds)
        };
        let (short, long) = (time(few)?, time(5 * few)?);
        let step = (long - short) / f64::from(4 * few);
        Ok((f64::from(few) + (seconds - short) / step).max(1.0) as u32)
    }

    fn turn<T>(&self, use_it: impl FnOnce(&mut Turn) -> T) -> T {
        // What a thread noted before it panicked is still true.
        use_it(&mut self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn event(context: &Arc<CudaContext>) -> Result<CudaEvent, DriverError> {
    context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
}

/// A span from `start` to `end`, in seconds.
pub fn span(lane: impl Into<String>, label: impl Into<String>, [start, end]: [f64; 2]) -> Span {
    let (lane, label) = (lane.into(), label.into());
    Span { lane, label, start_seconds: start, end_seconds: end }
}
