//! Device memory and streams for the batches, events around the steps, and the kernel.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{
    CudaEvent, CudaSlice, CudaStream, CudaViewMut, DriverError, sys,
};
use lab::check;
use lab::launch::threads;
use lab::timeline::span;
use lab::{Lab, Result, Span};

use crate::maker::{A, B, Maker, after, kind};

// SAFETY: threads at or past `count` do nothing; the others use word i of both,
// which have at least that many.
lab::kernels! { unsafe "pipeline" {
    fn work(
        input: &CudaSlice<u32>, out: &mut CudaViewMut<'_, u32>,
        count: usize, rounds: u32, a: u32, b: u32,
    );
} }

pub(crate) const BATCHES: usize = 32;
/// Batches on a timeline.
const DRAWN: usize = 8;

/// Seconds until the last kernel was done, seconds in kernels, and what ran when.
pub(crate) type Epoch = (f64, f64, Vec<Span>);

/// A GPU that works on batches: its streams, and memory for two of them.
pub(crate) struct Trainer {
    pub(crate) copies: Arc<CudaStream>,
    pub(crate) kernels: Arc<CudaStream>,
    kernel: Kernels,
    pub(crate) halves: [Half; 2],
    results: CudaSlice<u32>,
    pub(crate) words: usize,
    /// Rounds of the kernel for each word.
    pub(crate) rounds: u32,
    zero: CudaEvent,
    pub(crate) marks: Vec<Marks>,
}

/// Memory for a batch; whether it has arrived, and whether its kernel is done.
pub(crate) struct Half {
    pub(crate) batch: CudaSlice<u32>,
    pub(crate) arrived: CudaEvent,
    pub(crate) free: CudaEvent,
}

/// Around the copy of a batch, and around its kernel.
pub(crate) struct Marks {
    pub(crate) copy: [CudaEvent; 2],
    kernel: [CudaEvent; 2],
}

impl Trainer {
    pub(crate) fn new(lab: &Lab, words: usize) -> Result<Trainer> {
        let context = lab.context();
        let kernels = context.new_stream()?;
        let timed = || context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let half = || -> Result<Half, DriverError> {
            let (arrived, free) =
                (context.new_event(None)?, context.new_event(None)?);
            Ok(Half { batch: kernels.alloc_zeros(words)?, arrived, free })
        };
        let mark = |_| {
            Ok(Marks { copy: [timed()?, timed()?], kernel: [timed()?, timed()?] })
        };
        let results = kernels.alloc_zeros(BATCHES * words + check::GUARD)?;
        let halves = [half()?, half()?];
        kernels.synchronize()?; // the other stream uses them, too
        Ok(Trainer {
            copies: context.new_stream()?,
            kernel: Kernels::load(lab)?,
            halves,
            results,
            words,
            rounds: 0,
            zero: timed()?,
            marks: (0..BATCHES).map(mark).collect::<Result<_>>()?,
            kernels,
        })
    }

    pub(crate) fn launch(&mut self, batch: usize, half: usize) -> Result<()> {
        let Trainer { kernels: stream, words, rounds, .. } = self;
        let [before, after] = &self.marks[batch].kernel;
        let out = &mut self.results.slice_mut(batch * *words..(batch + 1) * *words);
        let (grid, batch) = (threads(*words), &self.halves[half].batch);
        before.record(stream)?;
        self.kernel.work(stream, grid, batch, out, *words, *rounds, A, B)?;
        Ok(after.record(stream)?)
    }

    /// Starts both clocks: the GPU's with an event that the host waits for.
    pub(crate) fn begin(&self) -> Result<Instant> {
        self.zero.record(&self.kernels)?;
        self.zero.synchronize()?;
        Ok(Instant::now())
    }

    pub(crate) fn end(
        &self,
        start: Instant,
        made: &[[Instant; 2]],
    ) -> Result<Epoch> {
        let seconds = start.elapsed().as_secs_f64();
        let since = |event| -> Result<f64, DriverError> {
            Ok(f64::from(self.zero.elapsed_ms(event)?) * 1e-3)
        };
        let (mut busy_seconds, mut spans) = (0.0, vec![]);
        for (batch, (marks, made)) in self.marks.iter().zip(made).enumerate() {
            let kernel = [since(&marks.kernel[0])?, since(&marks.kernel[1])?];
            busy_seconds += kernel[1] - kernel[0];
            if batch >= DRAWN {
                continue;
            }
            let made = made.map(|time| time.duration_since(start).as_secs_f64());
            // Its stream is ready for a copy before there is something to copy.
            let ready = since(&marks.copy[0])?.max(made[1]);
            let copy = [ready, since(&marks.copy[1])?.max(ready)];
            for (lane, label, times) in [
                ("producer", "make", made),
                ("copies", "upload", copy),
                ("kernels", "kernel", kernel),
            ] {
                spans.push(span(lane, format!("{label} {batch}"), times));
            }
        }
        Ok((seconds, busy_seconds, spans))
    }

    /// Clears the results of all batches.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.kernels.memset_zeros(&mut self.results)?;
        Ok(self.kernels.synchronize()?)
    }

    /// Compares the results of all batches.
    pub(crate) fn check(&self, maker: &Maker) -> Result<u64> {
        let forms = [0, 1].map(|kind| after(maker.rounds[kind] + self.rounds));
        let words = BATCHES * self.words;
        let expected = |i| forms[kind(i / self.words)](i);
        check::output("results", &self.kernels, &self.results, words, expected)
    }

    /// Chooses the rounds so that a kernel takes about `seconds`, and returns what one
    /// takes.
    pub(crate) fn tune(&mut self, seconds: f64) -> Result<f64> {
        let mut once = seconds;
        self.rounds = 16;
        for _ in 0..5 {
            self.rounds = (f64::from(self.rounds) * seconds / once).ceil() as u32;
            let start = Instant::now();
            for batch in 0..8 {
                self.launch(batch, 0)?;
            }
            self.kernels.synchronize()?;
            once = start.elapsed().as_secs_f64() / 8.0;
        }
        Ok(once)
    }
}
