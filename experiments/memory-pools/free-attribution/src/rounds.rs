//! The rounds: what is timed, and its check.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::launch::blocks;
use lab::timeline::Timeline;
use lab::{Lab, Result, Span, check};

use crate::allocator::Allocator;

pub(crate) const ROUNDS: usize = 4;

lab::words! {
    pub(crate) enum Schedule {
        Waiting = "waiting",
        OneStream = "one_stream",
        FourStreams = "four_streams",
    }
}

lab::words! {
    /// The moment at which the clock stops.
    pub(crate) enum Until {
        Submitted = "submitted",
        Done = "done",
        Returned = "returned",
    }
}

// SAFETY: both use `count` words of `data`, which every buffer has; `count_right` adds to
// one number, which is read when its stream is done.
lab::kernels! { unsafe "free-attribution" {
    fn work(data: CUdeviceptr, count: usize, turn: u32, passes: usize);
    fn count_right(
        data: CUdeviceptr, count: usize, turn: u32, right: &CudaSlice<u64>,
    );
} }

/// What the rounds run on.
pub(crate) struct Bench {
    pub(crate) streams: Vec<Arc<CudaStream>>,
    line: Timeline,
    /// The words of each buffer.
    pub(crate) words: usize,
    /// A number that the work leaves in every word.
    pub(crate) turn: u32,
    kernels: Kernels,
    grid: LaunchConfig,
    right: CudaSlice<u64>,
}

impl Bench {
    pub(crate) fn new(lab: &Lab) -> Result<Bench> {
        let streams = (0..ROUNDS).map(|_| Ok(lab.context().new_stream()?));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        Ok(Bench {
            line: Timeline::new(lab.context())?,
            words: 0,
            turn: 0,
            kernels: Kernels::load(lab)?,
            grid: blocks(lab.resident_threads()?.div_ceil(1024), 1024),
            right: streams[0].alloc_zeros(1)?,
            streams,
        })
    }

    // ANCHOR: rounds
    /// Four rounds of allocating, working and freeing. Returns the seconds until the clock
    /// stops, and what ran when.
    pub(crate) fn rounds(
        &mut self,
        allocator: &Allocator,
        schedule: Schedule,
        until: Until,
        counted: bool,
    ) -> Result<(f64, Vec<Span>)> {
        self.turn += 1;
        let count = if schedule == Schedule::FourStreams { ROUNDS } else { 1 };
        let (line, streams) = (&self.line, &self.streams[..count]);
        let start = line.begin(&streams[0])?;

        // ANCHOR: round
        for round in 0..ROUNDS {
            let (n, i) = (round + 1, round % count);
            let (stream, lane) = (&streams[i], format!("stream {}", i + 1));
            let bytes = self.words * size_of::<u32>();
            let allocate = || allocator.alloc(bytes, stream);
            let buffer = line.host("host", &format!("allocate {n}"), allocate)?;
            let work = || self.work(stream, buffer, 1);
            line.gpu(&lane, &format!("kernel {n}"), stream, work)?;
            if counted {
                self.count_right(stream, buffer)?;
            }
            if schedule == Schedule::Waiting {
                let wait = || Ok(stream.synchronize()?);
                line.host("host", &format!("wait {n}"), wait)?;
            }
            let free = || allocator.free(buffer, stream);
            line.host("host", &format!("free {n}"), free)?;
        }
        let submitted = start.elapsed();
        line.host("host", "wait", || {
            streams.iter().try_for_each(|stream| Ok(stream.synchronize()?))
        })?;
        let done = start.elapsed();
        // ANCHOR_END: round
        if until == Until::Returned {
            line.host("host", "trim", || allocator.give_back())?;
        }
        let returned = start.elapsed();
        // ANCHOR_END: rounds

        let (_, spans) = line.finish()?;
        let seconds = match until {
            Until::Submitted => submitted,
            Until::Done => done,
            Until::Returned => returned,
        };
        Ok((seconds.as_secs_f64(), spans))
    }

    /// The same rounds, untimed, with a kernel between work and free that counts the right
    /// words. Fails unless all are right, and returns how many that is.
    pub(crate) fn check_rounds(
        &mut self,
        allocator: &Allocator,
        schedule: Schedule,
    ) -> Result<u64> {
        self.streams[0].memset_zeros(&mut self.right)?;
        self.streams[0].synchronize()?;
        self.rounds(allocator, schedule, Until::Done, true)?;
        let right = self.streams[0].clone_dtoh(&self.right)?[0];
        let all = (ROUNDS * self.words) as u64;
        check::every_element("right words", &[right], |_| all)?;
        Ok(all)
    }

    /// How many words of the buffer are right.
    pub(crate) fn right(&mut self, buffer: CUdeviceptr) -> Result<u64> {
        let stream = &self.streams[0];
        stream.memset_zeros(&mut self.right)?;
        self.count_right(stream, buffer)?;
        Ok(stream.clone_dtoh(&self.right)?[0])
    }

    pub(crate) fn work(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
        passes: usize,
    ) -> Result<()> {
        self.kernels.work(stream, self.grid, buffer, self.words, self.turn, passes)
    }

    fn count_right(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
    ) -> Result<()> {
        let Bench { kernels, grid, words, turn, right, .. } = self;
        kernels.count_right(stream, *grid, buffer, *words, *turn, right)
    }
}
