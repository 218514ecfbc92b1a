//! Times what checked exercises begin with, and our solutions, on a GPU: the record
//! `exercises`, from which pages say what a solution gains. It reads the exercises' folders, so
//! it runs inside a checkout; their kernels are compiled by NVRTC.
//!
//! Starts that are wrong, and exercises whose time says nothing, are left out. It takes minutes,
//! and the record is written after each exercise: a run that is cut off leaves what it has timed.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::CudaStream;
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
        let (stream, quick) = (|| lab.context().new_stream(), lab.quick());
        // Both at once before anything is timed: nearly all of it is the host's work.
        let ready = std::thread::scope(|scope| {
            let start = exercise.starts_right().then_some("start");
            let threads = start.into_iter().chain(["solution"]).map(|variant| {
                let (stream, exercise) = (stream()?, &exercise);
                Ok(scope.spawn(move || Ready::make(exercise, variant, stream, quick)))
            });
            let threads = threads.collect::<Result<Vec<_>>>()?;
            let ready = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
            ready.collect::<Result<Vec<_>>>()
        })?;
        for variant in ready {
            variant.measure(lab)?;
        }
        lab.keep_so_far()?;
    }
    Ok(())
}

/// A source of an exercise, ready to be timed.
struct Ready<'e> {
    case: Case,
    stream: Arc<CudaStream>,
    on_gpu: OnGpu<'e>,
}

impl Ready<'_> {
    fn make<'e>(
        exercise: &'e Exercise,
        variant: &str,
        stream: Arc<CudaStream>,
        quick: bool,
    ) -> Result<Ready<'e>> {
        let path = exercise.file(variant);
        let source = std::fs::read_to_string(&path)?;
        let shape = match exercise.check.shapes.last() {
            Some(small) if quick => small,
            _ => &exercise.check.measure,
        };
        let file = path.display().to_string();
        let on_gpu = OnGpu::prepare(exercise, &file, &source, shape, &stream, Around::Guards);
        let on_gpu = on_gpu.map_err(|e| e.context(format!("{} {variant}", exercise.name)))?;
        let [read, written] = on_gpu.moved_bytes();
        let case = Case::new(variant)
            .with("exercise", exercise.name.as_str())
            .with("code", exercise::measure::code(&source).as_str())
            .reads(read as usize)
            .writes(written as usize);
        Ok(Ready { case, stream, on_gpu })
    }

    fn measure(self, lab: &mut Lab) -> Result<()> {
        let Ready { case, stream, on_gpu } = self;
        let timed = case.time_on_gpu(lab, &stream, |_| on_gpu.launch())?;
        timed.checked(on_gpu.checked()).record(lab)
    }
}
