//! Ways to keep a GPU busy, or to seem to.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig, sys};
use lab::check::value;
use lab::launch::{blocks, threads};
use lab::{Case, Ceiling, Lab, Result};

/// Words that a thread of `copy` takes.
const WORDS: usize = 4;

// SAFETY: `passed` has a word for each block that is started; `out` of `multiply` has a
// float for each thread; threads of `copy` at or past `count` do nothing, and others use
// four words of both arrays, which have at least four times `count`.
lab::kernels! { unsafe "utilisation" {
    fn spin(passed: &mut CudaSlice<u64>, cycles: u64);
    fn multiply(out: &mut CudaSlice<f32>, steps: u32, factor: f32, addend: f32);
    fn copy(from: &CudaSlice<u32>, to: &mut CudaSlice<u32>, count: usize);
} }

lab::words! {
    /// What keeps the GPU busy. `HalfTheTime` is `Multiply`, and as long a rest.
    pub(crate) enum Kind {
        Idle = "idle",
        Spin = "spin",
        HalfTheTime = "half_the_time",
        Copy = "copy",
        Multiply = "multiply",
    }
}

impl Kind {
    /// Launches of a turn: so many that it takes about ten milliseconds.
    pub(crate) fn launches(self) -> u32 {
        if self == Kind::Copy { 16 } else { 1 }
    }
}

/// Stream, kernels and buffers, and launches of a few milliseconds.
pub(crate) struct Loads {
    stream: Arc<CudaStream>,
    kernels: Kernels,
    resident: usize,
    cycles: u64,
    steps: u32,
    passed: CudaSlice<u64>,
    out: CudaSlice<f32>,
    from: CudaSlice<u32>,
    to: CudaSlice<u32>,
}

impl Loads {
    pub(crate) fn new(lab: &Lab) -> Result<Loads> {
        let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
        // As many cycles as ten milliseconds have; fewer where there is no clock.
        let clock = sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
        let cycles = 10 * lab.context().attribute(clock)?.max(100) as u64;
        let resident = lab.resident_threads()?;
        // A quarter of them have room at the same time for their multiplications: 32
        // for each of the four schedulers of a multiprocessor.
        let threads_each = resident / lab.multiprocessors();
        let steps = (cycles / 4 * 128 / threads_each as u64).max(8) as u32;
        // No block divides the array, which is sixteen times the cache, if there is room.
        let words = 4 * lab.l2_bytes().min(lab.free_bytes()? / 64) + 4 * 33;
        let from: Vec<u32> = (0..words).map(value).collect();
        Ok(Loads {
            passed: stream.alloc_zeros(1)?,
            out: stream.alloc_zeros(resident)?,
            from: stream.clone_htod(&from)?,
            to: stream.alloc_zeros(words)?,
            stream,
            kernels,
            resident,
            cycles,
            steps,
        })
    }

    /// What one launch of this kind moves and computes.
    pub(crate) fn case(&self, name: &str, kind: Kind) -> Case {
        let case = Case::new(name).with("kind", kind);
        let bytes = 4 * self.from.len();
        match kind {
            Kind::Idle | Kind::Spin => case.model("multiplications", 0.0),
            Kind::Copy => case
                .model("multiplications", 0.0)
                .reads(bytes)
                .writes(bytes)
                .ceiling(Ceiling::DeviceMemory),
            Kind::Multiply | Kind::HalfTheTime => {
                let each = 4.0 * f64::from(self.steps);
                case.model("multiplications", each * self.resident as f64)
            }
        }
    }

    fn blocks(&self) -> LaunchConfig {
        blocks(self.resident / 256, 256)
    }

    /// Queues one launch of this kind, if it has any.
    fn launch(&mut self, kind: Kind) -> Result<()> {
        let grid = self.blocks();
        let Loads { stream, kernels, passed, out, from, to, .. } = self;
        match kind {
            Kind::Idle => Ok(()),
            Kind::Spin => kernels.spin(stream, blocks(1, 32), passed, self.cycles),
            Kind::Multiply | Kind::HalfTheTime => {
                kernels.multiply(stream, grid, out, self.steps, 1.0, 1.0)
            }
            Kind::Copy => {
                let count = from.len() / WORDS;
                kernels.copy(stream, threads(count), from, to, count)
            }
        }
    }

    /// One turn: launches that the host waits for, or a rest, or both.
    pub(crate) fn turn(&mut self, kind: Kind) -> Result<()> {
        let start = Instant::now();
        for _ in 0..kind.launches() {
            self.launch(kind)?;
        }
        self.stream.synchronize()?;
        match kind {
            Kind::Idle => sleep(Duration::from_millis(10)),
            Kind::HalfTheTime => sleep(start.elapsed()),
            Kind::Spin | Kind::Copy | Kind::Multiply => {}
        }
        Ok(())
    }

    /// Times one launch, and compares what it leaves.
    pub(crate) fn measure(&mut self, lab: &mut Lab, kind: Kind) -> Result<()> {
        self.stream.memset_zeros(&mut self.out)?;
        self.stream.memset_zeros(&mut self.to)?;
        let stream = self.stream.clone();
        let timed = self
            .case("launch", kind)
            .time_on_gpu(lab, &stream, |_| self.launch(kind))?;
        match kind {
            Kind::Copy => timed.check_device(&stream, &self.to, value)?,
            Kind::Multiply => timed.check_device(&stream, &self.out, |i| {
                // Four chains, which start one after the other: n, n + 1, n + 2, n + 3.
                (4 * (i % 256 + self.steps as usize) + 6) as f32
            })?,
            _ => {
                let passed = stream.clone_dtoh(&self.passed)?;
                stream.synchronize()?;
                timed.check(&[passed[0] >= self.cycles], |_| true)?
            }
        }
        .record(lab)
    }
}
