//! Work that goes on for seconds, and the same in short bursts.
//!
//! At its power limit a GPU lowers its clock, but not at once: for some hundredths of a second
//! after a rest it does what it cannot keep up. So one rate of such work says little without
//! the other. Both are taken in the same way, operations that follow each other without a
//! pause, with an event after each millisecond of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, sys};
use record::Clock;

use crate::timing::{Gate, MOST_OPERATIONS, Samples, Sampling, TICK_SECONDS, in_picoseconds};

/// How long it rests and works.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Nothing runs before a burst.
    rest: Duration,
    /// A burst.
    burst: Duration,
    /// All of the work that goes on, and the end of it that counts.
    whole: Duration,
    last: Duration,
}

impl Times {
    pub(crate) fn of(quick: bool) -> Times {
        let ms = Duration::from_millis;
        match quick {
            false => Times { rest: ms(200), burst: ms(10), whole: ms(2000), last: ms(1000) },
            true => Times { rest: ms(20), burst: ms(10), whole: ms(100), last: ms(50) },
        }
    }
}

/// A sample lasts this long, if the launch queue has room for so many operations: then the
/// event after it does not count.
const SAMPLE_SECONDS: f64 = 1e-3;
/// Samples that are queued before the first is waited for: the GPU never waits for the host.
const AHEAD: u32 = 4;

/// Samples of bursts, and of the end of the work that goes on; each with the clock in kHz that
/// was counted right after.
pub(crate) fn by_bursts_and_lasting(
    stream: &CudaStream,
    sampling: Sampling,
    times: Times,
    enqueue: &mut dyn FnMut(usize) -> Result<()>,
    clock: &mut dyn FnMut() -> Result<f64>,
) -> Result<[(Samples, f64); 2]> {
    let mut turn = 0;
    let mut queue = |operations: u32| -> Result<CudaEvent> {
        for _ in 0..operations {
            enqueue(turn)?;
            turn += 1;
        }
        let event = stream.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?;
        event.record(stream)?;
        Ok(event)
    };
    queue(1)?.synchronize()?; // warm up: first touch, lazy loading
    let one = samples(stream, 1, Duration::ZERO, &mut queue)?[0];
    let operations = (SAMPLE_SECONDS / one).ceil().clamp(1.0, (MOST_OPERATIONS / AHEAD).into());
    let operations = operations as u32;

    let (mut bursts, mut burst_khz) = (vec![], 0.0);
    while bursts.len() < sampling.least {
        stream.synchronize()?;
        std::thread::sleep(times.rest);
        bursts.extend(samples(stream, operations, times.burst, &mut queue)?);
        burst_khz = clock()?;
    }
    let mut lasting = samples(stream, operations, times.whole, &mut queue)?;
    let khz = clock()?;
    let sample = times.whole.as_secs_f64() / lasting.len() as f64;
    let last = (times.last.as_secs_f64() / sample) as usize;
    let first = lasting.len().saturating_sub(last.max(sampling.least));
    lasting.drain(..first);
    let of = |seconds| Samples::of(Clock::CudaEvents, operations, seconds);
    Ok([(of(bursts), burst_khz), (of(lasting), khz)])
}

/// How long the clock is counted: so long that a step of the timer does not matter.
const CLOCK_NANOSECONDS: u32 = 200_000;

/// The clock in kHz, as a kernel counts it: `queue` is given two words and the nanoseconds for
/// which it is to count.
pub(crate) fn clock_khz(
    stream: &Arc<CudaStream>,
    queue: &mut dyn FnMut(&mut CudaSlice<u64>, u32) -> Result<()>,
) -> Result<f64> {
    let mut out = stream.alloc_zeros(2)?;
    queue(&mut out, CLOCK_NANOSECONDS)?;
    let counted = stream.clone_dtoh(&out)?;
    stream.synchronize()?;
    let (cycles, nanoseconds) = (counted[0] as f64, counted[1] as f64);
    let right = nanoseconds >= f64::from(CLOCK_NANOSECONDS) && cycles > 0.0;
    ensure!(right, "the clock made {cycles} cycles in {nanoseconds} ns");
    Ok(cycles / nanoseconds * 1e6)
}

/// Seconds of one operation, of samples of so many that follow each other for so long. What
/// was queued ahead still runs when it returns.
fn samples(
    stream: &CudaStream,
    operations: u32,
    lasting: Duration,
    queue: &mut dyn FnMut(u32) -> Result<CudaEvent>,
) -> Result<Vec<f64>> {
    let gate = Gate::close(stream)?;
    let mut events = VecDeque::from([queue(0)?]);
    for _ in 0..AHEAD {
        events.push_back(queue(operations)?);
    }
    gate.open()?;
    let (mut seconds, mut elapsed) = (vec![], 0.0);
    while let Some(start) = events.pop_front() {
        events[0].synchronize().context("the GPU failed while it was being timed")?;
        let sample = (f64::from(start.elapsed_ms(&events[0])?) * 1e-3).max(TICK_SECONDS);
        elapsed += sample;
        seconds.push(in_picoseconds(sample / f64::from(operations)));
        if elapsed >= lasting.as_secs_f64() {
            break;
        }
        events.push_back(queue(operations)?);
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use cudarc::driver::CudaContext;
    use test_driver::alone;

    use super::*;

    #[test]
    fn bursts_come_first_and_of_what_lasts_the_end_counts() {
        alone(&[], || {
            let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
            let mut bytes = stream.alloc_zeros::<u8>(1 << 20).unwrap();
            let ms = Duration::from_millis;
            let times = Times { rest: ms(1), burst: ms(10), whole: ms(100), last: ms(50) };
            let mut counted = 0.0;
            let found = by_bursts_and_lasting(
                &stream,
                Sampling::FULL,
                times,
                &mut |_| Ok(stream.memset_zeros(&mut bytes)?),
                &mut || {
                    counted += 1.0;
                    Ok(counted)
                },
            );
            let [(bursts, of_bursts), (lasting, of_lasting)] = found.unwrap();
            let total = |samples: &Samples| {
                samples.seconds.iter().sum::<f64>() * f64::from(samples.operations)
            };
            assert!(bursts.seconds.len() >= Sampling::FULL.least);
            assert!(total(&bursts) >= of_bursts * 10e-3, "{of_bursts} bursts: {bursts:?}");
            assert_eq!(of_lasting, of_bursts + 1.0);
            assert!((0.045..0.055).contains(&total(&lasting)), "{lasting:?}");
        });
    }
}
