//! The turns: what is timed, and watched.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaStream, result, sys::CUdeviceptr};
use lab::{Lab, Result, Span, check};

use crate::kernels::Kernels;
use crate::pool::Pool;
use crate::timeline::{Timeline, event};

pub(crate) const STREAMS: usize = 4;
const TIMES: usize = 2;
const WORK_SECONDS: f64 = 0.010;
const PAUSE: Duration = Duration::from_millis(10);

/// What the streams run on.
pub(crate) struct Bench {
    streams: Vec<Arc<CudaStream>>,
    /// When each kernel began and ended.
    events: Vec<[CudaEvent; 2]>,
    pub(crate) kernels: Kernels,
    passes: usize,
}

/// What became of a turn.
pub(crate) struct Turn {
    pub(crate) zero: Instant,
    /// Without the pauses.
    pub(crate) seconds: f64,
    pub(crate) checked: u64,
    pub(crate) spans: Vec<Span>,
}

#[derive(Clone, Copy)]
enum Step {
    Allocate,
    Work,
    Free,
}

/// The steps of all streams, each with the stream's index.
fn steps(order: &str) -> Vec<(Step, usize)> {
    let each = [Step::Allocate, Step::Work, Step::Free];
    match order {
        "depth_first" => {
            (0..STREAMS).flat_map(|i| each.map(|step| (step, i))).collect()
        }
        _ => each.iter().flat_map(|step| (0..STREAMS).map(|i| (*step, i))).collect(),
    }
}

impl Bench {
    pub(crate) fn new(lab: &Lab, bytes: usize) -> Result<Bench> {
        let streams = (0..STREAMS).map(|_| Ok(lab.context().new_stream()?));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        let stream = &streams[0];
        let events =
            (0..TIMES * STREAMS).map(|_| Ok([event(stream)?, event(stream)?]));
        let events = events.collect::<Result<_>>()?;
        let mut kernels = Kernels::new(lab, stream)?;
        kernels.words = bytes / size_of::<u32>();
        // SAFETY: `free_sync` below takes back what this hands out.
        let buffer = unsafe { result::malloc_sync(bytes) }?;
        let once = lab.time_on_gpu(stream, |_| kernels.work(stream, buffer, 1))?;
        // SAFETY: the buffer came from `malloc_sync`, and nobody uses it any more.
        unsafe { result::free_sync(buffer) }?;
        // Under a profiler nothing is timed, and one pass will do.
        let seconds = once.seconds.first().unwrap_or(&WORK_SECONDS);
        let passes = (WORK_SECONDS / seconds).ceil() as usize;
        Ok(Bench { events, kernels, passes, streams })
    }

    // ANCHOR: streams
    /// All streams, twice, from a pool that is empty when the clock starts. To check costs
    /// time in the streams.
    pub(crate) fn streams(
        &mut self,
        pool: &Pool,
        order: &str,
        checked: bool,
    ) -> Result<Turn> {
        pool.give_back()?;
        let mut timeline = self.start()?;
        let (mut seconds, mut served) = (0.0, vec![]);
        for time in 0..TIMES {
            thread::sleep(PAUSE);
            let start = timeline.now();
            let mut buffers = [None; STREAMS];
            for (step, i) in steps(order) {
                let (stream, n) = (&self.streams[i], time * STREAMS + i);
                let bytes = self.kernels.words * size_of::<u32>();
                match (step, buffers[i]) {
                    (Step::Allocate, _) => {
                        buffers[i] = timeline
                            .host(format!("allocate {}", n + 1), || {
                                pool.alloc(bytes, stream)
                            })?;
                    }
                    (Step::Work, Some(buffer)) => {
                        self.work(n, buffer)?;
                        if checked {
                            self.kernels.count_right(stream, buffer)?;
                        }
                        served.push(n);
                    }
                    (Step::Free, Some(buffer)) => timeline
                        .host(format!("free {}", n + 1), || {
                            pool.free(buffer, stream)
                        })?,
                    (_, None) => {} // no memory, no work
                }
            }
            for (i, stream) in self.streams.iter().enumerate() {
                let label = format!("wait {}", time * STREAMS + i + 1);
                timeline.host(label, || Ok(stream.synchronize()?))?;
            }
            seconds += timeline.now() - start;
        }
        thread::sleep(PAUSE);
        // ANCHOR_END: streams
        let mut turn = self.finish(timeline, seconds, &served)?;
        if checked {
            let all = (served.len() * self.kernels.words) as u64;
            turn.checked = self.kernels.counted(&self.streams[0])?;
            check::every_element("right words", &[turn.checked], |_| all)?;
        }
        Ok(turn)
    }

    // ANCHOR: free
    /// `cuMemFree`, after the kernel or during it.
    pub(crate) fn free(&mut self, wait: &str) -> Result<Turn> {
        let mut timeline = self.start()?;
        thread::sleep(PAUSE);
        let bytes = self.kernels.words * size_of::<u32>();
        let buffer = timeline.host("allocate", || {
            // SAFETY: `free_sync` below takes back what this hands out.
            Ok(unsafe { result::malloc_sync(bytes) }?)
        })?;
        self.work(0, buffer)?;
        if wait == "before" {
            timeline.host("wait", || Ok(self.streams[0].synchronize()?))?;
            thread::sleep(PAUSE);
        }
        let start = timeline.now();
        timeline.host("free", || {
            // SAFETY: the buffer came from `malloc_sync`; `cuMemFree` waits for the kernel.
            Ok(unsafe { result::free_sync(buffer) }?)
        })?;
        let seconds = timeline.now() - start;
        thread::sleep(PAUSE);
        // ANCHOR_END: free
        self.finish(timeline, seconds, &[0])
    }

    fn start(&mut self) -> Result<Timeline> {
        self.kernels.turn += 1;
        self.kernels.start_counting(&self.streams[0])?;
        Timeline::start(&self.streams[0])
    }

    /// Queues the work on buffer `n`, between two events.
    fn work(&self, n: usize, buffer: CUdeviceptr) -> Result<()> {
        let (stream, [begin, end]) = (&self.streams[n % STREAMS], &self.events[n]);
        begin.record(stream)?;
        self.kernels.work(stream, buffer, self.passes)?;
        Ok(end.record(stream)?)
    }

    /// Adds the GPU's part to the timeline.
    fn finish(
        &self,
        mut timeline: Timeline,
        seconds: f64,
        served: &[usize],
    ) -> Result<Turn> {
        for n in served {
            let lane = format!("stream {}", n % STREAMS + 1);
            timeline.gpu(lane, format!("kernel {}", n + 1), &self.events[*n])?;
        }
        let Timeline { zero, spans, .. } = timeline;
        Ok(Turn { zero, seconds, checked: 0, spans })
    }
}
