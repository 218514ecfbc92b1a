//! While `cuMemFree` is at work: what is in use, of one buffer as large as four.

use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::result;
use lab::{Case, Clock, Lab, Result, Span};

use crate::device::{Bench, PAUSE, STREAMS, Turn};
use crate::watch::{Memory, NVML, watch};
use crate::with_memory;

/// Between two readings of the memory in use.
const FINE: Duration = Duration::from_micros(50);
/// What the host does when it frees the buffer.
const FREE: &str = "free";

pub(crate) fn cases(lab: &mut Lab, bench: &mut Bench) -> Result<()> {
    bench.words *= STREAMS;
    for (wait, waits) in [("before", true), ("none", false)] {
        let case = Case::new("free").with("wait", wait);
        let timed = case.with("bytes", bench.words * size_of::<u32>()).time_turns(
            lab,
            Clock::Host,
            || Ok((bench.free(waits)?.seconds, ())),
        )?;
        let (mut turn, memory) =
            watch(lab.context(), None, FINE, || bench.free(waits))?;
        turn.spans.extend(old_size(&turn.spans, &memory));
        timed
            .note(|case, ()| Ok(with_memory(case, memory).spans(turn.spans)))?
            .record(lab)?;
    }
    Ok(())
}

impl Bench {
    /// `cuMemFree`, after the kernel or during it.
    fn free(&mut self, waits: bool) -> Result<Turn> {
        let zero = self.begin()?;
        let (line, stream) = (&self.line, &self.streams[0]);
        thread::sleep(PAUSE);
        let bytes = self.words * size_of::<u32>();
        let buffer = line.host("host", "allocate", || {
            // SAFETY: `free_sync` below takes back what this hands out.
            Ok(unsafe { result::malloc_sync(bytes) }?)
        })?;
        line.gpu("stream 1", "kernel 1", stream, || self.work(stream, buffer))?;
        if waits {
            line.host("host", "wait", || Ok(stream.synchronize()?))?;
            thread::sleep(PAUSE);
        }
        let start = Instant::now();
        line.host("host", FREE, || {
            // SAFETY: the buffer came from `malloc_sync`; `cuMemFree` waits for the kernel.
            Ok(unsafe { result::free_sync(buffer) }?)
        })?;
        let seconds = start.elapsed().as_secs_f64();
        thread::sleep(PAUSE);
        let (_, spans) = line.finish()?;
        Ok(Turn { zero, seconds, checked: 0, spans })
    }
}

// ANCHOR: old_size
/// From the start of the free to the first reading of NVML's that shows less.
fn old_size(spans: &[Span], memory: &Memory) -> Option<Span> {
    let start_seconds = spans.iter().find(|s| s.label == FREE)?.start_seconds;
    let (_, readings) = memory.iter().find(|(name, _)| *name == NVML)?;
    let before = readings.iter().rfind(|r| r.seconds <= start_seconds)?;
    let after = readings
        .iter()
        .find(|r| r.seconds > start_seconds && r.bytes < before.bytes)?;
    let (lane, label) = ("NVML".to_owned(), "old size".to_owned());
    Some(Span { lane, label, start_seconds, end_seconds: after.seconds })
}
// ANCHOR_END: old_size
