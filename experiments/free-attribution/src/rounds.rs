//! The rounds: what is timed.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, sys::CUdeviceptr};
use lab::{Lab, Result, Span, check};

use crate::allocator::Allocator;
use crate::kernels::Kernels;
use crate::timeline::{Timeline, event};

pub(crate) const ROUNDS: usize = 4;

/// What the rounds run on.
pub(crate) struct Bench {
    pub(crate) streams: Vec<Arc<CudaStream>>,
    /// When each round's kernel began and ended.
    events: Vec<[CudaEvent; 2]>,
    pub(crate) kernels: Kernels,
}

impl Bench {
    pub(crate) fn new(lab: &Lab) -> Result<Bench> {
        let streams = (0..ROUNDS).map(|_| Ok(lab.context().new_stream()?));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        let events = streams.iter().map(|s| Ok([event(s)?, event(s)?]));
        Ok(Bench {
            events: events.collect::<Result<_>>()?,
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
        let streams = &self.streams[..count];
        let mut timeline = Timeline::start(&streams[0])?;

        for (round, [begin, end]) in self.events.iter().enumerate() {
            let (stream, n) = (&streams[round % count], round + 1);
            let bytes = self.kernels.words * size_of::<u32>();
            let buffer = timeline
                .host(format!("allocate {n}"), || allocator.alloc(bytes, stream))?;
            begin.record(stream)?;
            self.kernels.work(stream, buffer, 1)?;
            end.record(stream)?;
            if until == "counted" {
                self.kernels.count_right(stream, buffer)?;
            }
            if schedule == "waiting" {
                timeline.host(format!("wait {n}"), || Ok(stream.synchronize()?))?;
            }
            timeline.host(format!("free {n}"), || allocator.free(buffer, stream))?;
        }
        let submitted = timeline.now();
        timeline.host("wait", || {
            streams.iter().try_for_each(|stream| Ok(stream.synchronize()?))
        })?;
        let done = timeline.now();
        if until == "returned" {
            timeline.host("trim", || allocator.give_back())?;
        }
        let returned = timeline.now();
        // ANCHOR_END: rounds

        for (round, events) in self.events.iter().enumerate() {
            let lane = format!("stream {}", round % count + 1);
            timeline.gpu(lane, format!("kernel {}", round + 1), events)?;
        }
        let seconds = match until {
            "submitted" => submitted,
            "done" => done,
            _ => returned,
        };
        Ok((seconds, timeline.spans))
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
