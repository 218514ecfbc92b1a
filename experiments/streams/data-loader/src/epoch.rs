//! One epoch, serially and with a loader: batches are made, sent, and worked on.

use std::sync::mpsc::{RecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError,
    LaunchConfig, PushKernelArg, sys,
};
use lab::check::{every_element, value};
use lab::{Lab, Result, Samples, Span};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use staging::Loader;

pub(crate) const BATCHES: usize = 32;
/// Batches on a timeline.
const DRAWN: usize = 8;
/// One round of making a word, and of the kernel, is x → A·x + B.
const A: u32 = 1_664_525;
const B: u32 = 1_013_904_223;

/// Makes batches, with some threads.
#[derive(Clone)]
pub(crate) struct Maker {
    /// `None` if the caller's is the only one.
    threads: Option<Arc<ThreadPool>>,
    /// Rounds for a word of any batch, and of every eighth.
    rounds: [u32; 2],
}

impl Maker {
    pub(crate) fn new(workers: usize, rounds: [u32; 2]) -> Result<Maker> {
        let pool = || ThreadPoolBuilder::new().num_threads(workers).build();
        let threads = if workers > 1 { Some(Arc::new(pool()?)) } else { None };
        Ok(Maker { threads, rounds })
    }

    // ANCHOR: make
    /// Makes a batch. The threads share its words.
    pub(crate) fn make(&self, batch: usize, slot: &mut [u32]) {
        let (first, rounds) = (batch * slot.len(), self.rounds[kind(batch)]);
        let workers =
            self.threads.as_ref().map_or(1, |pool| pool.current_num_threads());
        let part = slot.len().div_ceil(workers);
        let make_part = |(n, words): (usize, &mut [u32])| {
            for (i, word) in words.iter_mut().enumerate() {
                *word = value(first + n * part + i);
            }
            for _ in 0..rounds {
                words
                    .iter_mut()
                    .for_each(|x| *x = x.wrapping_mul(A).wrapping_add(B));
            }
        };
        match &self.threads {
            None => make_part((0, slot)),
            Some(pool) => pool.install(|| {
                slot.par_chunks_mut(part).enumerate().for_each(make_part);
            }),
        }
    }
    // ANCHOR_END: make
}

/// Every eighth batch is of another kind.
pub(crate) fn kind(batch: usize) -> usize {
    usize::from(batch % 8 == 7)
}

/// What an epoch took, until the last kernel was done.
pub(crate) struct Epoch {
    pub(crate) seconds: f64,
    /// In kernels.
    pub(crate) busy_seconds: f64,
    pub(crate) spans: Vec<Span>,
}

pub(crate) struct Gpu {
    context: Arc<CudaContext>,
    copies: Arc<CudaStream>,
    kernels: Arc<CudaStream>,
    work: CudaFunction,
    halves: [Half; 2],
    results: CudaSlice<u32>,
    pub(crate) words: usize,
    /// Of the kernel.
    pub(crate) rounds: u32,
    zero: CudaEvent,
    marks: Vec<Marks>,
}

/// Device memory for a batch; whether it has arrived, and whether its kernel is done.
struct Half {
    batch: CudaSlice<u32>,
    arrived: CudaEvent,
    free: CudaEvent,
}

/// Around the copy of a batch, and around its kernel.
struct Marks {
    copy: [CudaEvent; 2],
    kernel: [CudaEvent; 2],
}

impl Gpu {
    pub(crate) fn new(lab: &Lab, words: usize) -> Result<Gpu> {
        let context = lab.context().clone();
        let kernels = context.new_stream()?;
        let timed = || context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let half = || -> Result<Half, DriverError> {
            let batch = kernels.alloc_zeros(words)?;
            let (arrived, free) =
                (context.new_event(None)?, context.new_event(None)?);
            Ok(Half { batch, arrived, free })
        };
        let mark = |_| {
            let (copy, kernel) = ([timed()?, timed()?], [timed()?, timed()?]);
            Ok(Marks { copy, kernel })
        };
        let results = kernels.alloc_zeros(BATCHES * words)?;
        let halves = [half()?, half()?];
        kernels.synchronize()?; // the other stream uses them, too
        Ok(Gpu {
            copies: context.new_stream()?,
            work: lab.module()?.load_function("work")?,
            halves,
            results,
            words,
            rounds: 0,
            zero: timed()?,
            marks: (0..BATCHES).map(mark).collect::<Result<_>>()?,
            kernels,
            context,
        })
    }

    // ANCHOR: serial
    /// One step after the other: the host waits for each batch.
    pub(crate) fn serial(
        &mut self,
        maker: &Maker,
        host: &mut [u32],
    ) -> Result<Epoch> {
        let mut made = vec![];
        let start = self.begin()?;
        for batch in 0..BATCHES {
            let began = Instant::now();
            maker.make(batch, host);
            made.push([began, Instant::now()]);
            let [before, after] = &self.marks[batch].copy;
            before.record(&self.kernels)?;
            self.kernels.memcpy_htod(host, &mut self.halves[0].batch)?;
            after.record(&self.kernels)?;
            self.launch(batch, 0)?;
            self.kernels.synchronize()?;
        }
        self.end(start, &made)
    }
    // ANCHOR_END: serial

    // ANCHOR: loader
    /// The loader's producer makes batches ahead; one is sent while a kernel works on
    /// the one before.
    pub(crate) fn with_loader(
        &mut self,
        maker: &Maker,
        slots: usize,
    ) -> Result<Epoch> {
        let (go, started) = channel();
        let made = Arc::new(Mutex::new(vec![]));
        let (log, maker, mut next) = (made.clone(), maker.clone(), 0);
        let fill = move |slot: &mut [u32]| {
            match next {
                0 => started.recv()?, // not before the clock
                BATCHES => return Ok(0),
                _ => {}
            }
            let began = Instant::now();
            maker.make(next, slot);
            let times = [began, Instant::now()];
            log.lock().unwrap_or_else(PoisonError::into_inner).push(times);
            next += 1;
            Ok::<_, RecvError>(slot.len())
        };
        let mut loader = Loader::new(&self.context, slots, self.words, fill)?;
        let go = go; // is dropped before the loader, which waits for the producer
        let start = self.begin()?;
        go.send(())?;
        for batch in 0..BATCHES {
            let half = &mut self.halves[batch % 2];
            self.copies.wait(&half.free)?; // by the kernel before the last
            self.marks[batch].copy[0].record(&self.copies)?;
            loader.next(&self.copies, &mut half.batch)?;
            self.marks[batch].copy[1].record(&self.copies)?;
            half.arrived.record(&self.copies)?;
            self.kernels.wait(&half.arrived)?;
            self.launch(batch, batch % 2)?;
            self.halves[batch % 2].free.record(&self.kernels)?;
        }
        self.kernels.synchronize()?;
        self.end(start, &made.lock().unwrap_or_else(PoisonError::into_inner))
    }
    // ANCHOR_END: loader

    fn launch(&mut self, batch: usize, half: usize) -> Result<()> {
        let (stream, words) = (&self.kernels, self.words);
        let [before, after] = &self.marks[batch].kernel;
        let mut result = self.results.slice_mut(batch * words..(batch + 1) * words);
        before.record(stream)?;
        let mut launch = stream.launch_builder(&self.work);
        launch.arg(&self.halves[half].batch).arg(&mut result).arg(&words);
        launch.arg(&self.rounds).arg(&A).arg(&B);
        let blocks = LaunchConfig {
            grid_dim: (words.div_ceil(256) as u32, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel takes (in, out, count, rounds, a, b); both buffers hold
        // `words` words.
        unsafe { launch.launch(blocks) }?;
        Ok(after.record(stream)?)
    }

    /// Starts both clocks: the GPU's with an event that the host waits for.
    fn begin(&self) -> Result<Instant> {
        self.zero.record(&self.kernels)?;
        self.zero.synchronize()?;
        Ok(Instant::now())
    }

    fn end(&self, start: Instant, made: &[[Instant; 2]]) -> Result<Epoch> {
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
            for (lane, label, [start_seconds, end_seconds]) in [
                ("producer", "make", made),
                ("copies", "upload", copy),
                ("kernels", "kernel", kernel),
            ] {
                let (lane, label) = (lane.to_owned(), format!("{label} {batch}"));
                spans.push(Span { lane, label, start_seconds, end_seconds });
            }
        }
        Ok(Epoch { seconds, busy_seconds, spans })
    }

    /// Clears the results of all batches.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.kernels.memset_zeros(&mut self.results)?;
        Ok(self.kernels.synchronize()?)
    }

    /// Compares the results of all batches.
    pub(crate) fn check(&self, maker: &Maker) -> Result<u64> {
        let got = self.kernels.clone_dtoh(&self.results)?;
        self.kernels.synchronize()?;
        let forms = [0, 1].map(|kind| after(maker.rounds[kind] + self.rounds));
        every_element("results", &got, |i| forms[kind(i / self.words)](i))
    }

    /// Times the copy of a batch by itself.
    pub(crate) fn time_upload(
        &mut self,
        lab: &Lab,
        host: &[u32],
    ) -> Result<Samples> {
        let (stream, batch) = (&self.copies, &mut self.halves[0].batch);
        stream.memset_zeros(batch)?;
        let samples =
            lab.time_on_gpu(stream, |_| Ok(stream.memcpy_htod(host, batch)?))?;
        let got = stream.clone_dtoh(batch)?;
        stream.synchronize()?;
        every_element("upload", &got, |i| host[i])?;
        Ok(samples)
    }

    /// Chooses so many rounds that a kernel takes about `seconds`, and returns what one
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

/// What word i is after so many rounds, which together do x → a·x + b.
pub(crate) fn after(rounds: u32) -> impl Fn(usize) -> u32 {
    let round = |(a, b): (u32, u32), _| {
        (A.wrapping_mul(a), A.wrapping_mul(b).wrapping_add(B))
    };
    let (a, b) = (0..rounds).fold((1, 0), round);
    move |i| value(i).wrapping_mul(a).wrapping_add(b)
}
