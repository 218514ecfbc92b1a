//! The rounds: what is timed.

use std::sync::Arc;

use cudarc::driver::{CudaStream, sys::CUdeviceptr};
use lab::{Lab, Result, Span, check};
use lab::timeline::Timeline;

use crate::allocator::Allocator;
use crate::kernels::Kernels;

pub(crate) const ROUNDS: usize = 4;

/// What the rounds run on.
pub(crate) struct Bench {
    pub(crate) streams: Vec<Arc<CudaStream>>,
    line: Timeline,
    pub(crate) kernels: Kernels,
}

impl Bench {
    pub(crate) fn new(lab: &Lab) -> Result<Bench> {
        let streams = (0..ROUNDS).map(|_| Ok(lab.context().new_stream()?));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        Ok(Bench {
            line: Timeline::new(lab.context())?,
            kernels: Kernels::new(lab, &streams[0])?,
            streams,
        })
    }

    // ANCHOR: rounds
    /// Four rounds of allocating, working and freeing. Returns the seconds until the clock
    /// stops, and what ran when.
    pub(crate) fn rounds(
        &mut self,
        allocator: &Allocator,
        schedule: &str,
        until: &str,
    ) -> Result<(f64, Vec<Span>)> {
        self.kernels.turn += 1;
        let count = if schedule == "four_streams" { ROUNDS } else { 1 };
        let (line, streams) = (&self.line, &self.streams[..count]);
        let start = line.begin(&streams[0])?;

        for round in 0..ROUNDS {
            let (n, i) = (round + 1, round % count);
            let (stream, lane) = (&streams[i], format!("stream {}", i + 1));
            let bytes = self.kernels.words * size_of::<u32>();
            let allocate = || allocator.alloc(bytes, stream);
            let buffer = line.host("host", &format!("allocate {n}"), allocate)?;
            let work = || self.kernels.work(stream, buffer, 1);
            line.gpu(&lane, &format!("kernel {n}"), stream, work)?;
            if until == "counted" {
                self.kernels.count_right(stream, buffer)?;
            }
            if schedule == "waiting" {
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
        if until == "returned" {
            line.host("host", "trim", || allocator.give_back())?;
        }
        let returned = start.elapsed();
        // ANCHOR_END: rounds

        let (_, spans) = line.finish()?;
        let seconds = match until {
            "submitted" => submitted,
            "done" => done,
            _ => returned,
        };
        Ok((seconds.as_secs_f64(), spans))
    }

    /// The same rounds, untimed, with a kernel between work and free that counts the right
    /// words. Fails unless all are right, and returns how many that is.
    pub(crate) fn check_rounds(
        &mut self,
        allocator: &Allocator,
        schedule: &str,
    ) -> Result<u64> {
        self.kernels.start_counting(&self.streams[0])?;
        self.rounds(allocator, schedule, "counted")?;
        let right = self.kernels.counted(&self.streams[0])?;
        let all = (ROUNDS * self.kernels.words) as u64;
        check::every_element("right words", &[right], |_| all)?;
        Ok(all)
    }

    /// How many words of the buffer are right.
    pub(crate) fn right(&mut self, buffer: CUdeviceptr) -> Result<u64> {
        let stream = &self.streams[0];
        self.kernels.start_counting(stream)?;
        self.kernels.count_right(stream, buffer)?;
        self.kernels.counted(stream)
    }
}
