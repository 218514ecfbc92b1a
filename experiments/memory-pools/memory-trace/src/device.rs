//! What the turns run on: streams, a timeline, the work and its check.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig, result};
use lab::launch::blocks;
use lab::timeline::Timeline;
use lab::{Lab, Result, Span};

pub(crate) const STREAMS: usize = 4;
pub(crate) const PAUSE: Duration = Duration::from_millis(10);
const WORK_SECONDS: f64 = 0.010;

// SAFETY: both use `count` words of `data`, which every buffer has; `count_right` adds to
// one number, which is read when its stream is done.
lab::kernels! { unsafe "memory-trace" {
    fn work(data: CUdeviceptr, count: usize, turn: u32, passes: usize);
    fn count_right(
        data: CUdeviceptr, count: usize, turn: u32, right: &CudaSlice<u64>,
    );
} }

pub(crate) struct Bench {
    /// The words of each buffer.
    pub(crate) words: usize,
    pub(crate) streams: Vec<Arc<CudaStream>>,
    pub(crate) line: Timeline,
    /// The number of the turn, which the work leaves in every word.
    turn: u32,
    kernels: Kernels,
    grid: LaunchConfig,
    passes: usize,
    pub(crate) right: CudaSlice<u64>,
}

/// What became of a turn.
pub(crate) struct Turn {
    pub(crate) zero: Instant,
    /// How long it took, without the pauses.
    pub(crate) seconds: f64,
    pub(crate) checked: u64,
    pub(crate) spans: Vec<Span>,
}

impl Bench {
    /// A bench whose work makes as many passes over a buffer as take ten milliseconds.
    pub(crate) fn new(lab: &Lab, bytes: usize) -> Result<Bench> {
        let streams = (0..STREAMS).map(|_| Ok(lab.context().new_stream()?));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        let mut bench = Bench {
            words: bytes / size_of::<u32>(),
            line: Timeline::new(lab.context())?,
            turn: 0,
            kernels: Kernels::load(lab)?,
            grid: blocks(lab.resident_threads()?.div_ceil(1024), 1024),
            passes: 1,
            right: streams[0].alloc_zeros(1)?,
            streams,
        };
        // SAFETY: `free_sync` below takes back what this hands out.
        let buffer = unsafe { result::malloc_sync(bytes) }?;
        let stream = &bench.streams[0];
        let once = lab.time_on_gpu(stream, &mut |_| bench.work(stream, buffer))?;
        // SAFETY: the buffer came from `malloc_sync`, and nothing uses it any more.
        unsafe { result::free_sync(buffer) }?;
        // Under a profiler nothing is timed, and one pass will do.
        let seconds = once.seconds.first().unwrap_or(&WORK_SECONDS);
        bench.passes = (WORK_SECONDS / seconds).ceil().max(1.0) as usize;
        Ok(bench)
    }

    /// Starts a turn and its clocks; nothing is counted yet.
    pub(crate) fn begin(&mut self) -> Result<Instant> {
        let stream = &self.streams[0];
        self.turn += 1;
        stream.memset_zeros(&mut self.right)?;
        stream.synchronize()?;
        self.line.begin(stream)
    }

    pub(crate) fn work(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
    ) -> Result<()> {
        let Bench { kernels, grid, words, turn, passes, .. } = self;
        kernels.work(stream, *grid, buffer, *words, *turn, *passes)
    }

    pub(crate) fn count_right(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
    ) -> Result<()> {
        let Bench { kernels, grid, words, turn, right, .. } = self;
        kernels.count_right(stream, *grid, buffer, *words, *turn, right)
    }
}
