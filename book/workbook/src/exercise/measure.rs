//! How fast a solution is on a real GPU.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use cudarc::driver::{CudaContext, CudaStream};
use exercise::Exercise;
use exercise::measure::{Around, OnGpu};
use lab::gpu::{self, Gpus};
use lab::timing::{self, Sampling};
use record::units;

use crate::terminal::{misused, say};

/// Times the learner's solution, ours, the start if it is right, and a copy of as many bytes: a row
/// each.
pub(super) fn measure(exercise: &Exercise, file: &str, path: &Path) -> Result<()> {
    if exercise.check.measure.is_empty() {
        misused!("`{}` is not timed: it is about counts, or too small for a time", exercise.name);
    }
    if let Gpus::None(why) = gpu::probe() {
        bail!("nothing can be measured here: {why}");
    }
    let stream = CudaContext::new(0)?.new_stream()?;
    let solution = exercise.file("solution");
    let mut bytes = 0;
    let start = exercise.file("start");
    let mut rows = vec![(file, path), ("our solution", solution.as_path())];
    if exercise.starts_right() {
        rows.push(("the start", start.as_path()));
    }
    for (file, path) in rows {
        let source = std::fs::read_to_string(path).with_context(|| file.to_owned())?;
        let shape = &exercise.check.measure;
        let on_gpu = OnGpu::prepare(exercise, file, &source, shape, &stream, Around::Guards)?;
        bytes = on_gpu.moved_bytes().iter().sum::<u64>() as usize;
        row(file, &stream, || on_gpu.launch())?;
    }
    let half = bytes / 2;
    let from = stream.alloc_zeros::<u8>(half)?;
    let mut to = stream.alloc_zeros::<u8>(half)?;
    row("the driver's copy of as many bytes", &stream, || Ok(stream.memcpy_dtod(&from, &mut to)?))
}

fn row(what: &str, stream: &Arc<CudaStream>, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let samples = timing::by_events(stream, Sampling::QUICK, &mut |_| work())?;
    say!("{:<36} {}", what, units::time(samples.median()));
    Ok(())
}
