//! Samples, by CUDA events or by the host's clock.
//!
//! By events: a *gate* holds the stream shut while the host queues a start event, the
//! work and an end event; then the gate opens and the GPU runs them one after the other.
//! So the time that the host needs to launch work is not in a sample, however short the
//! kernel. What two events with nothing between them show is measured and subtracted. So
//! a sample is by how much one operation makes a full stream longer: the operation, and
//! for a kernel the gap that the GPU leaves between two of them. Profilers make every
//! launch wait for its end, which a closed gate would never let come; under them, set
//! `WORKBOOK_UNGATED=1` (and do not quote the times).
//!
//! By the host's clock: the closure returns when the work is done. So a sample has
//! everything in it that the program would wait for.

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cudarc::driver::{CudaStream, result, sys};
use record::{Clock, Statistics};

use crate::emulator::{Counted, Emulator};
use crate::machine::Clocks;
use crate::options::Options;

#[derive(Clone, Debug)]
pub struct Samples {
    pub clock: Clock,
    /// Operations timed together for one sample.
    pub operations: u32,
    /// Seconds for one operation, each sample the mean of `operations`.
    pub seconds: Vec<f64>,
    /// The GPU's clocks right after the last one.
    pub clocks: Clocks,
    /// Under `--counters`, the profiler's window that the work ran in.
    pub window: Option<u64>,
    /// On an emulated GPU, what the work's kernels did in one operation.
    pub counted: Counted,
}

impl Samples {
    /// The median, in seconds for one operation; not a number on an emulated GPU.
    pub fn median(&self) -> f64 {
        Statistics::of(&self.seconds).map_or(f64::NAN, |statistics| statistics.median)
    }

    /// The samples of one of `count` equal parts of an operation.
    pub fn per(mut self, count: usize) -> Samples {
        self.operations *= count as u32;
        self.seconds.iter_mut().for_each(|seconds| *seconds /= count as f64);
        self
    }

    /// Samples that a lesson took by itself, each of one operation.
    pub fn taken_elsewhere(clock: Clock, seconds: Vec<f64>) -> Samples {
        Samples::of(clock, 1, seconds)
    }

    pub(crate) fn of(clock: Clock, operations: u32, seconds: Vec<f64>) -> Samples {
        let (clocks, counted) = (Clocks::default(), Counted::default());
        Samples { clock, operations, seconds, clocks, window: None, counted }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Untimed turns before the first sample, on the host's side. Never fewer.
    pub warm_ups: usize,
    /// Untimed turns go on until they become no faster, but not for longer than this.
    pub warm_up: Duration,
    /// Samples at least, unless the time is up.
    pub least: usize,
    /// Samples at least, even if the time is up.
    pub fewest: usize,
    /// Samples at most, unless the interval is still ten times as wide as is enough.
    pub most: usize,
    /// Samples at most, however wide the interval is.
    pub most_unsteady: usize,
    /// Enough when half the confidence interval is within this share of the median.
    pub half_width: f64,
    /// Enough when sampling took this long, if `fewest` was reached.
    pub budget: Duration,
    /// Calls in a sample at most, of those that are timed together ([`by_calls`]).
    pub most_calls: u32,
}

impl Sampling {
    /// For a record to quote: within ±0.5% of the median with 95% confidence, or 100
    /// samples, or two seconds. Now and then something else slows a shared host down for a
    /// tenth of a second, which may be all samples of a short case: where 100 are not within
    /// ±5%, up to 400.
    pub const FULL: Sampling = Sampling {
        warm_ups: 2,
        warm_up: Duration::from_millis(200),
        least: 20,
        fewest: 20,
        most: 100,
        most_unsteady: 400,
        half_width: 0.005,
        budget: Duration::from_secs(2),
        most_calls: u32::MAX,
    };
    /// For a look: within ±5%, or 10 samples, or 0.1 seconds.
    pub const QUICK: Sampling = Sampling {
        warm_ups: 1,
        warm_up: Duration::from_millis(20),
        least: 6,
        fewest: 3,
        most: 10,
        most_unsteady: 10,
        half_width: 0.05,
        budget: Duration::from_millis(100),
        most_calls: u32::MAX,
    };

    /// Where there is no time: one turn, after one that warms up as lessons expect.
    pub const UNTIMED: Sampling = Sampling {
        warm_ups: 1,
        warm_up: Duration::ZERO,
        least: 1,
        fewest: 1,
        most: 1,
        most_unsteady: 1,
        half_width: 0.0,
        budget: Duration::MAX,
        most_calls: 10,
    };

    /// What the options ask for; an emulated GPU has no time.
    pub(crate) fn of(options: &Options, is_emulated: bool) -> Sampling {
        match options.samples {
            _ if is_emulated => Sampling::UNTIMED,
            Some(n) => Sampling::exactly(n),
            None if options.quick => Sampling::QUICK,
            None => Sampling::FULL,
        }
    }

    /// Exactly `samples`, whatever their spread.
    pub fn exactly(samples: u32) -> Sampling {
        let n = samples as usize;
        Sampling {
            least: n,
            fewest: n,
            most: n,
            most_unsteady: n,
            half_width: 0.0,
            budget: Duration::MAX,
            ..Sampling::FULL
        }
    }

    /// Calls `turn` until it becomes no faster.
    fn warm_up(self, turn: &mut dyn FnMut() -> Result<f64>) -> Result<()> {
        let start = Instant::now();
        let mut seconds = vec![];
        loop {
            seconds.push(turn()?);
            let is_over = start.elapsed() >= self.warm_up
                || seconds.len() >= MOST_WARM_UPS
                || is_warm(&seconds);
            if is_over && seconds.len() >= self.warm_ups {
                return Ok(());
            }
        }
    }

    /// Calls `take` until there are enough samples.
    fn run(self, take: &mut dyn FnMut() -> Result<f64>) -> Result<Vec<f64>> {
        let start = Instant::now();
        let mut seconds = Vec::with_capacity(self.least);
        while !self.enough(&seconds, start.elapsed()) {
            seconds.push(in_picoseconds(take()?));
        }
        Ok(seconds)
    }

    fn enough(&self, seconds: &[f64], elapsed: Duration) -> bool {
        let within =
            |share| Statistics::of(seconds).is_some_and(|s| s.relative_half_width() <= share);
        let count = seconds.len();
        elapsed >= self.budget && count >= self.fewest
            || count >= self.most_unsteady
            || count >= self.most && within(10.0 * self.half_width)
            || count >= self.least && within(self.half_width)
    }
}

/// Picoseconds are finer than any clock here; more digits are noise.
pub(crate) fn in_picoseconds(seconds: f64) -> f64 {
    (seconds * 1e12).round() / 1e12
}

/// Untimed turns that are compared with as many before them.
const ROUND: usize = 5;
/// More untimed turns show nothing new.
const MOST_WARM_UPS: usize = 6 * ROUND;

/// Whether a round of turns has just ended that was no faster than the one before.
fn is_warm(seconds: &[f64]) -> bool {
    let median = |round| Statistics::of(round).map(|statistics| statistics.median);
    let mut rounds = seconds.chunks_exact(ROUND).rev();
    match (rounds.next().and_then(median), rounds.next().and_then(median)) {
        (Some(last), Some(before)) => seconds.len().is_multiple_of(ROUND) && last >= before,
        _ => false,
    }
}

/// Events show times in steps of this on the GPUs that were tried; one operation lasts no
/// less.
pub(crate) const TICK_SECONDS: f64 = 32e-9;
/// A sample should last this long, so that a tick at each end is 0.03% of it.
const SAMPLE_SECONDS: f64 = 200e-6;
/// How often two events with nothing between them are timed.
const EMPTY_SAMPLES: usize = 9;
/// Operations queued behind a closed gate; far below the depth of a launch queue, past
/// which queuing would block and the gate never open.
pub(crate) const MOST_OPERATIONS: u32 = 128;

/// Times work on `stream` by CUDA events. `enqueue(turn)` queues one operation and must
/// not wait for the GPU: the stream stands still until all operations are queued.
/// `turn` counts up through all of them, so that the work can rotate among buffers.
pub fn by_events(
    stream: &CudaStream,
    sampling: Sampling,
    enqueue: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Samples> {
    let context = stream.context();
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let (start, end) = (context.new_event(timed)?, context.new_event(timed)?);
    let mut turn = 0;
    let mut elapsed = |operations: u32| -> Result<f64> {
        let gate = Gate::close(stream)?;
        start.record(stream)?;
        for _ in 0..operations {
            enqueue(turn)?;
            turn += 1;
        }
        end.record(stream)?;
        gate.open()?;
        end.synchronize().context("the GPU failed while it was being timed")?;
        Ok(f64::from(start.elapsed_ms(&end)?) * 1e-3)
    };
    by_elapsed(sampling, &mut elapsed)
}

/// The same of work that something else queues between its own events: `elapsed(operations)` is
/// the seconds between those of so many operations, which may be none.
pub fn by_elapsed(
    sampling: Sampling,
    elapsed: &mut dyn FnMut(u32) -> Result<f64>,
) -> Result<Samples> {
    elapsed(1)?; // warm up: first touch, lazy loading
    elapsed(1)?;
    let empty = (0..EMPTY_SAMPLES).map(|_| elapsed(0)).collect::<Result<Vec<_>>>()?;
    let overhead = Statistics::of(&empty).map_or(0.0, |statistics| statistics.median);
    let mut sample = |operations: u32| -> Result<f64> {
        let seconds = (elapsed(operations)? - overhead).max(TICK_SECONDS);
        Ok(seconds / f64::from(operations))
    };
    let operations = (SAMPLE_SECONDS / sample(1)?).ceil() as u32;
    let operations = operations.clamp(1, MOST_OPERATIONS);
    let seconds = sampling.run(&mut || sample(operations))?;
    Ok(Samples::of(Clock::CudaEvents, operations, seconds))
}

/// Turns at most where there is no time: as many buffers as lessons rotate among.
const MOST_TURNS: u64 = 8;

/// Counts what one operation does on an emulated GPU. Turns follow as long as the lesson
/// may expect them: it rotates among buffers until four times the L2 cache is touched.
pub fn by_counting(
    emulator: &Emulator,
    l2_bytes: usize,
    stream: &CudaStream,
    enqueue: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Samples> {
    stream.context().synchronize()?;
    emulator.counts(); // of what was before
    enqueue(0)?;
    stream.synchronize().context("the emulated GPU failed")?;
    let counted = emulator.counts();
    let sectors = ["global_load_sectors_ideal", "global_store_sectors_ideal"];
    let sectors: u64 = sectors.iter().filter_map(|name| counted.total.get(*name)).sum();
    let buffers = (4 * l2_bytes as u64).div_ceil((32 * sectors).max(1));
    // Work that touches far less does not rotate, but for copies, which are not counted.
    let rotates = buffers <= MOST_TURNS || counted.total.is_empty();
    let turns = if rotates { buffers.min(MOST_TURNS) } else { 1 };
    for turn in 1..turns as usize {
        enqueue(turn)?;
    }
    stream.synchronize().context("the emulated GPU failed")?;
    // A sample, for lessons that look at them; and no number.
    Ok(Samples { counted, ..Samples::of(Clock::CudaEvents, 1, vec![f64::NAN]) })
}

/// Times `work` by the host's clock. `prepare` runs before the clock starts and its result
/// goes into `work`, which must return when its work is done, on the GPU too. With the
/// samples comes what the last turn returned; what another did is dropped before the next
/// is prepared.
pub fn by_host<Before, After>(
    sampling: Sampling,
    mut prepare: impl FnMut() -> Result<Before>,
    mut work: impl FnMut(Before) -> Result<After>,
) -> Result<(Samples, After)> {
    let mut last = None;
    let (samples, ()) = by_turns(sampling, Clock::Host, || {
        drop(last.take());
        let before = prepare()?;
        let start = Instant::now();
        let after = work(before)?;
        let seconds = start.elapsed().as_secs_f64();
        last = Some(after);
        Ok((seconds, ()))
    })?;
    Ok((samples, last.expect("there is at least one turn")))
}

/// Times `work(0)`, `work(1)` and so on, each by the host's clock, in rounds: one sample of
/// each, until there are enough of all. So what drifts meanwhile is in all of them alike.
pub fn by_host_in_rounds<const ARMS: usize>(
    sampling: Sampling,
    mut prepare: impl FnMut() -> Result<()>,
    mut work: impl FnMut(usize) -> Result<()>,
) -> Result<[Samples; ARMS]> {
    let mut turn = |arm| {
        prepare()?;
        let start = Instant::now();
        work(arm)?;
        Ok(start.elapsed().as_secs_f64())
    };
    for arm in 0..ARMS {
        sampling.warm_up(&mut || turn(arm))?;
    }
    let start = Instant::now();
    let mut seconds = [const { vec![] }; ARMS];
    let enough = |of: &[Vec<f64>; ARMS]| {
        let each = start.elapsed() / ARMS as u32;
        of.iter().all(|seconds| sampling.enough(seconds, each))
    };
    while !enough(&seconds) {
        for (arm, seconds) in seconds.iter_mut().enumerate() {
            seconds.push(in_picoseconds(turn(arm)?));
        }
    }
    Ok(seconds.map(|seconds| Samples::of(Clock::Host, 1, seconds)))
}

/// Times calls that return before their work is done, `operations` of them for one
/// sample (or as many as the sampling allows); `settle` follows each sample outside the clock.
pub fn by_calls(
    sampling: Sampling,
    operations: u32,
    mut call: impl FnMut() -> Result<()>,
    mut settle: impl FnMut() -> Result<()>,
) -> Result<Samples> {
    let operations = operations.min(sampling.most_calls);
    let (samples, ()) = by_turns(sampling, Clock::Host, || {
        let start = Instant::now();
        for _ in 0..operations {
            call()?;
        }
        let seconds = start.elapsed().as_secs_f64() / f64::from(operations);
        settle()?;
        Ok((seconds, ()))
    })?;
    Ok(Samples { operations, ..samples })
}

/// Times calls by the host's clock, as many for one sample as it takes to make them last:
/// `elapsed(operations)` is the seconds of so many.
pub fn by_repeated_calls(
    sampling: Sampling,
    mut elapsed: impl FnMut(u32) -> Result<f64>,
) -> Result<Samples> {
    let (once, ()) = by_turns(Sampling::exactly(1), Clock::Host, || Ok((elapsed(1)?, ())))?;
    let operations = (SAMPLE_SECONDS / once.seconds[0]).ceil().max(1.0) as u32;
    let turn = || Ok((elapsed(operations)? / f64::from(operations), ()));
    let (samples, ()) = by_turns(sampling, Clock::Host, turn)?;
    Ok(Samples { operations, ..samples })
}

/// Samples that `turn` times itself; with them, what it kept of the median one.
pub fn by_turns<T>(
    sampling: Sampling,
    clock: Clock,
    mut turn: impl FnMut() -> Result<(f64, T)>,
) -> Result<(Samples, T)> {
    sampling.warm_up(&mut || Ok(turn()?.0))?;
    let mut kept = vec![];
    let seconds = sampling.run(&mut || {
        let (seconds, keep) = turn()?;
        kept.push((seconds, keep));
        Ok(seconds)
    })?;
    kept.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (_, median) = kept.swap_remove((kept.len() - 1) / 2);
    Ok((Samples::of(clock, 1, seconds), median))
}

/// Set under a profiler, which would wait at a closed gate forever.
pub(crate) const UNGATED: &str = "WORKBOOK_UNGATED";
/// A gate that nobody opens within this time opens by itself: whoever queues the work
/// is waiting for the GPU, which is waiting for the gate.
const PATIENCE: Duration = Duration::from_secs(5);

/// A closed gate in a stream: what is queued behind it does not start. It opens when
/// told to, when dropped (so that an error never leaves a stream shut), or when its
/// patience ends.
pub(crate) struct Gate {
    opener: Option<Sender<()>>,
}

impl Gate {
    pub(crate) fn close(stream: &CudaStream) -> Result<Gate> {
        /// Runs on the driver's thread when the stream gets here, and blocks it.
        unsafe extern "C" fn wait(receiver: *mut c_void) {
            // SAFETY: `close` made this pointer from a box and gave it away; the
            // driver calls this function once.
            let receiver = unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) };
            // However the wait ends, the gate is open; a receiver that is gone tells
            // the opener that it came too late.
            let (Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) =
                receiver.recv_timeout(PATIENCE);
        }
        if std::env::var_os(UNGATED).is_some() {
            return Ok(Gate { opener: None });
        }
        let (opener, receiver) = channel();
        let receiver = Box::into_raw(Box::new(receiver)).cast();
        stream.context().bind_to_thread()?;
        // SAFETY: the stream lives, and `wait` owns its argument and calls no CUDA.
        unsafe { result::stream::launch_host_function(stream.cu_stream(), wait, receiver) }?;
        Ok(Gate { opener: Some(opener) })
    }

    pub(crate) fn open(self) -> Result<()> {
        if self.opener.is_some_and(|opener| opener.send(()).is_err()) {
            bail!(
                "the work to be timed waits for the GPU while it is being queued, so the \
                 sample would have the waiting in it. If a profiler is attached, set \
                 {UNGATED}=1; if not, take the synchronisation out of the timed closure"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(sampling: Sampling, values: impl IntoIterator<Item = f64>) -> usize {
        let mut values = values.into_iter();
        sampling.run(&mut || Ok(values.next().unwrap())).unwrap().len()
    }

    #[test]
    fn sampling_stops_where_it_says() {
        let steady = std::iter::repeat(1.0);
        let wild = (0..).map(|i| if i % 2 == 0 { 1.0 } else { 2.0 });
        let shaky = (0..).map(|i| if i % 2 == 0 { 1.0 } else { 1.06 });
        let full = Sampling { budget: Duration::MAX, ..Sampling::FULL };
        assert_eq!(sampled(full, steady), Sampling::FULL.least);
        assert_eq!(sampled(full, shaky), Sampling::FULL.most);
        assert_eq!(sampled(full, wild.clone()), Sampling::FULL.most_unsteady);
        assert_eq!(sampled(Sampling::exactly(3), wild.clone()), 3);
        let broke = Sampling { budget: Duration::ZERO, ..Sampling::FULL };
        assert_eq!(sampled(broke, wild.clone()), Sampling::FULL.least);
        let broke = Sampling { budget: Duration::ZERO, ..Sampling::QUICK };
        assert_eq!(sampled(broke, wild), Sampling::QUICK.fewest);
    }

    /// As seen on a host: 64 turns of slow page faults, which become fewer.
    #[test]
    fn a_disturbance_does_not_decide() {
        let mut turns = (0..).map(|i: i32| {
            let slow = f64::exp(f64::from(30 - i) / 20.0);
            1.0 + 0.03 * f64::from(i % 2) + if i < 30 { 0.0 } else { 6.0 * slow }
        });
        let full = Sampling { budget: Duration::MAX, ..Sampling::FULL };
        let seconds = full.run(&mut || Ok(turns.next().unwrap())).unwrap();
        let s = Statistics::of(&seconds).unwrap();
        assert!(s.median < 1.1, "{s:?}");
        let first = Statistics::of(&seconds[..Sampling::FULL.most]).unwrap();
        assert!(first.median > 1.2, "{first:?}");
    }

    #[test]
    fn an_error_ends_sampling() {
        let result = Sampling::FULL.run(&mut || anyhow::bail!("broken"));
        assert_eq!(result.unwrap_err().to_string(), "broken");
    }

    /// What is stated of the interval must hold where it decides when to stop, too, also
    /// for samples that are like the ones before.
    #[test]
    fn what_was_enough_spans_the_median() {
        let mut state = 1u64;
        let mut uniform = || {
            let factor = 6364136223846793005;
            state = state.wrapping_mul(factor).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let full = Sampling { budget: Duration::MAX, ..Sampling::FULL };
        for (correlation, noise) in
            [(0.0, 0.006), (0.0, 0.012), (0.3, 0.008), (0.6, 0.006), (0.6, 0.01)]
        {
            let trials = 1000;
            let hits = (0..trials).filter(|_| {
                let mut state = 0.0;
                let mut take = || {
                    // The sum of twelve is nearly normal; its standard deviation is 1.
                    let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    let new = f64::sqrt(1.0 - correlation * correlation) * normal;
                    state = correlation * state + new;
                    Ok(1.0 + noise * state)
                };
                let seconds = full.run(&mut take).unwrap();
                let s = Statistics::of(&seconds).unwrap();
                (s.low..=s.high).contains(&1.0)
            });
            let coverage = hits.count() as f64 / f64::from(trials);
            assert!(coverage > 0.93, "{correlation} {noise}: {coverage}");
        }
    }

    #[test]
    fn the_host_clock_counts_turns_after_the_warm_up() {
        let mut turns = 0..;
        let prepare = || Ok(turns.next());
        let sampling = Sampling { warm_up: Duration::ZERO, ..Sampling::exactly(3) };
        let (samples, last) = by_host(sampling, prepare, Ok).unwrap();
        assert_eq!((samples.seconds.len(), last), (3, Some(4)));
    }

    #[test]
    fn untimed_turns_go_on_until_they_become_no_faster() {
        let warmed_up = |seconds: fn(usize) -> f64| {
            let mut turns = 0;
            let turn = || {
                turns += 1;
                Ok((seconds(turns), ()))
            };
            let patient = Sampling { warm_up: Duration::MAX, ..Sampling::exactly(1) };
            by_turns(patient, Clock::Host, turn).unwrap();
            turns - 1
        };
        assert_eq!(warmed_up(|_| 1.0), 10);
        assert_eq!(warmed_up(|turn| 1.0 + 1.0 / turn.min(17) as f64), 25);
        assert_eq!(warmed_up(|turn| 1.0 / turn as f64), MOST_WARM_UPS);
    }

    #[test]
    fn arms_take_turns() {
        let mut turns = vec![];
        let work = |arm| {
            turns.push(arm);
            Ok(())
        };
        let sampling = Sampling { warm_up: Duration::ZERO, ..Sampling::exactly(3) };
        let samples: [Samples; 2] = by_host_in_rounds(sampling, || Ok(()), work).unwrap();
        assert!(samples.iter().all(|samples| samples.seconds.len() == 3));
        assert_eq!(turns, [0, 0, 1, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn calls_are_averaged_and_settled() {
        let (mut calls, mut settled) = (0, 0);
        let call = || {
            calls += 1;
            Ok(())
        };
        let settle = || {
            settled += 1;
            Ok(())
        };
        let sampling = Sampling { warm_up: Duration::ZERO, ..Sampling::exactly(3) };
        let samples = by_calls(sampling, 4, call, settle).unwrap();
        assert_eq!((samples.operations, samples.seconds.len()), (4, 3));
        assert_eq!((calls, settled), (20, 5));
    }

    #[test]
    fn the_median_turn_is_kept() {
        let mut times = [9.0, 8.0, 3.0, 1.0, 2.0].into_iter();
        let turn = || {
            let seconds: f64 = times.next().unwrap();
            Ok((seconds, format!("turn of {seconds} s")))
        };
        let sampling = Sampling { warm_up: Duration::ZERO, ..Sampling::exactly(3) };
        let (samples, kept) = by_turns(sampling, Clock::CudaEvents, turn).unwrap();
        assert_eq!(samples.seconds, [3.0, 1.0, 2.0]);
        assert_eq!(kept, "turn of 2 s");
    }
}
