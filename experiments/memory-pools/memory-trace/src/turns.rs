//! The turns: what is timed, and watched.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
    result, sys::CUdeviceptr,
};
use lab::{Lab, Result, Span, check};
use lab::timeline::Timeline;

use crate::pool::Pool;

pub(crate) const STREAMS: usize = 4;
const TIMES: usize = 2;
const WORK_SECONDS: f64 = 0.010;
const PAUSE: Duration = Duration::from_millis(10);

/// What the streams run on.
pub(crate) struct Bench {
    /// In each buffer.
    pub(crate) words: usize,
    streams: Vec<Arc<CudaStream>>,
    line: Timeline,
    /// The number of the turn, which the work leaves in every word.
    turn: u32,
    work: CudaFunction,
    passes: u64,
    count_right: CudaFunction,
    right: CudaSlice<u64>,
    threads: u32,
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
        let mut bench = Bench {
            words: bytes / size_of::<u32>(),
            line: Timeline::new(lab.context())?,
            turn: 0,
            work: lab.module()?.load_function("work")?,
            passes: 1,
            count_right: lab.module()?.load_function("count_right")?,
            right: streams[0].alloc_zeros(1)?,
            threads: lab.resident_threads()? as u32,
            streams,
        };
        // SAFETY: `free_sync` below takes back what this hands out.
        let buffer = unsafe { result::malloc_sync(bytes) }?;
        let stream = &bench.streams[0];
        let once = lab.time_on_gpu(stream, |_| bench.work(stream, buffer))?;
        // SAFETY: the buffer came from `malloc_sync`, and nobody uses it any more.
        unsafe { result::free_sync(buffer) }?;
        // Under a profiler nothing is timed, and one pass will do.
        let seconds = once.seconds.first().unwrap_or(&WORK_SECONDS);
        bench.passes = (WORK_SECONDS / seconds).ceil().max(1.0) as u64;
        Ok(bench)
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
        let zero = self.begin()?;
        let (line, bytes) = (&self.line, self.words * size_of::<u32>());
        let (mut seconds, mut served) = (0.0, 0);
        for time in 0..TIMES {
            thread::sleep(PAUSE);
            let start = Instant::now();
            let mut buffers = [None; STREAMS];
            for (step, i) in steps(order) {
                let (stream, n) = (&self.streams[i], time * STREAMS + i + 1);
                match (step, buffers[i]) {
                    (Step::Allocate, _) => {
                        let allocate = || pool.alloc(bytes, stream);
                        buffers[i] =
                            line.host("host", &format!("allocate {n}"), allocate)?;
                    }
                    (Step::Work, Some(buffer)) => {
                        let lane = format!("stream {}", i + 1);
                        let work = || self.work(stream, buffer);
                        line.gpu(&lane, &format!("kernel {n}"), stream, work)?;
                        if checked {
                            self.count_right(stream, buffer)?;
                        }
                        served += 1;
                    }
                    (Step::Free, Some(buffer)) => {
                        let free = || pool.free(buffer, stream);
                        line.host("host", &format!("free {n}"), free)?;
                    }
                    (_, None) => {} // no memory, no work
                }
            }
            for (i, stream) in self.streams.iter().enumerate() {
                let label = format!("wait {}", time * STREAMS + i + 1);
                line.host("host", &label, || Ok(stream.synchronize()?))?;
            }
            seconds += start.elapsed().as_secs_f64();
        }
        thread::sleep(PAUSE);
        // ANCHOR_END: streams
        let (_, spans) = line.finish()?;
        let mut right = 0;
        if checked {
            right = self.streams[0].clone_dtoh(&self.right)?[0];
            let all = (served * self.words) as u64;
            check::every_element("right words", &[right], |_| all)?;
        }
        Ok(Turn { zero, seconds, checked: right, spans })
    }

    // ANCHOR: free
    /// `cuMemFree`, after the kernel or during it.
    pub(crate) fn free(&mut self, wait: &str) -> Result<Turn> {
        let zero = self.begin()?;
        let (line, stream) = (&self.line, &self.streams[0]);
        thread::sleep(PAUSE);
        let bytes = self.words * size_of::<u32>();
        let buffer = line.host("host", "allocate", || {
            // SAFETY: `free_sync` below takes back what this hands out.
            Ok(unsafe { result::malloc_sync(bytes) }?)
        })?;
        line.gpu("stream 1", "kernel 1", stream, || self.work(stream, buffer))?;
        if wait == "before" {
            line.host("host", "wait", || Ok(stream.synchronize()?))?;
            thread::sleep(PAUSE);
        }
        let start = Instant::now();
        line.host("host", "free", || {
            // SAFETY: the buffer came from `malloc_sync`; `cuMemFree` waits for the kernel.
            Ok(unsafe { result::free_sync(buffer) }?)
        })?;
        let seconds = start.elapsed().as_secs_f64();
        thread::sleep(PAUSE);
        // ANCHOR_END: free
        let (_, spans) = line.finish()?;
        Ok(Turn { zero, seconds, checked: 0, spans })
    }

    /// Starts a turn and its clocks; nothing is counted yet.
    fn begin(&mut self) -> Result<Instant> {
        let stream = &self.streams[0];
        self.turn += 1;
        stream.memset_zeros(&mut self.right)?;
        stream.synchronize()?;
        self.line.begin(stream)
    }

    fn work(&self, stream: &Arc<CudaStream>, buffer: CUdeviceptr) -> Result<()> {
        self.launch(&self.work, stream, buffer, self.passes)
    }

    fn count_right(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
    ) -> Result<()> {
        let (right, _) = self.right.device_ptr(stream);
        self.launch(&self.count_right, stream, buffer, right)
    }

    fn launch(
        &self,
        kernel: &CudaFunction,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
        last: u64,
    ) -> Result<()> {
        let mut launch = stream.launch_builder(kernel);
        launch.arg(&buffer).arg(&self.words).arg(&self.turn).arg(&last);
        // SAFETY: the kernels take (buffer, count, turn) and a number of passes, or where
        // to count. The buffer holds `words` words, and `right` one number.
        unsafe { launch.launch(LaunchConfig::for_num_elems(self.threads)) }?;
        Ok(())
    }
}
