//! Times what checked exercises begin with, and our solutions, on a GPU: the record
//! `exercises`, from which pages say what a solution gains. It reads the exercises' folders, so
//! it runs inside a checkout; their kernels are compiled by NVRTC.
//!
//! Starts that are wrong, and exercises whose time says nothing, are left out.

use std::process::ExitCode;

use exercise::measure::{Around, OnGpu};
use exercise::{Exercise, catalogue};
use lab::{Case, Lab, Result};

fn main() -> ExitCode {
    let question = "How fast are the starts and the solutions of the checked exercises?";
    lab::run("exercises", question, None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let root = lab::workspace::root();
    let root = root.ok_or_else(|| anyhow::anyhow!("run it inside of a checkout"))?;
    for exercise in catalogue::all(&root)? {
        if exercise.check.measure.is_empty() {
            continue;
        }
        for variant in ["start", "solution"] {
            if variant == "solution" || exercise.starts_right() {
                measure(lab, &exercise, variant)?;
            }
        }
    }
    Ok(())
}

fn measure(lab: &mut Lab, exercise: &Exercise, variant: &str) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let path = exercise.file(variant);
    let source = std::fs::read_to_string(&path)?;
    let shape = match exercise.check.shapes.last() {
        Some(small) if lab.quick() => small,
        _ => &exercise.check.measure,
    };
    let file = path.display().to_string();
    let on_gpu = OnGpu::prepare(exercise, &file, &source, shape, &stream, Around::Guards);
    let on_gpu = on_gpu.map_err(|e| e.context(format!("{} {variant}", exercise.name)))?;
    let [read, written] = on_gpu.moved_bytes();
    Case::new(variant)
        .with("exercise", exercise.name.as_str())
        .with("code", exercise::measure::code(&source).as_str())
        .reads(read as usize)
        .writes(written as usize)
        .time_on_gpu(lab, &stream, |_| on_gpu.launch())?
        .checked(on_gpu.checked())
        .record(lab)
}
