//! 1\. What happens once in a process. Each sample has to repeat it: a process for the
//! chapter's listing, a module for a kernel's first launch.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaModule, PushKernelArg};
use lab::emulator::{self, Emulator};
use lab::launch::blocks;
use lab::{Case, Lab, Result, Samples, check};

use crate::kernels::KERNEL;
use crate::{FLOATS, RIGHT, in_the_way};

/// The argument with which the program runs the chapter's listing.
pub(crate) const LISTING: &str = "listing";

/// The chapter's listing in today's cudarc, three times over, in a process of its own.
/// It prints how long each step took.
pub(crate) fn listing() -> Result<()> {
    let ordinal = std::env::args_os().nth(2);
    let ordinal = ordinal.and_then(|word| word.to_str()?.parse().ok());
    let start = Instant::now();
    let context = CudaContext::new(ordinal.unwrap_or(0))?;
    let stream = context.default_stream();
    println!("1 context {:e}", start.elapsed().as_secs_f64());
    let data: Vec<f32> = vec![1.0; FLOATS];
    for round in 1..=3 {
        // ANCHOR: timed
        // `device.htod_copy(data.clone())` and a wait
        let start = Instant::now();
        let clone = data.clone();
        let cloned = start.elapsed();
        // SAFETY: the copy writes all of it before anything reads it.
        let mut device = unsafe { stream.alloc::<f32>(FLOATS) }?;
        let allocated = start.elapsed();
        stream.memcpy_htod(&clone, &mut device)?;
        stream.synchronize()?;
        let to_device = start.elapsed();
        // `device.dtoh_sync_copy(&d_data)`
        let start = Instant::now();
        let result: Vec<f32> = stream.clone_dtoh(&device)?;
        stream.synchronize()?;
        let to_host = start.elapsed();
        // ANCHOR_END: timed
        for (step, time) in [
            ("clone", cloned),
            ("allocation", allocated - cloned),
            ("copy", to_device - allocated),
            ("to_device", to_device),
            ("to_host", to_host),
        ] {
            println!("{round} {step} {:e}", time.as_secs_f64());
        }
        drop(result);
    }
    Ok(())
}

/// The listing in a new process for each sample. A step's samples are what the processes
/// print.
pub(crate) fn listings(lab: &mut Lab) -> Result<()> {
    let ordinal = lab.context().ordinal().to_string();
    let mut steps: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let processes = lab.time_on_host(|| {
        let mut process = Command::new(std::env::current_exe()?);
        let emulate = Emulator::loaded().map(|_| emulator::OPTION);
        let output = process.args([LISTING, &ordinal]).args(emulate).output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(std::io::Error::other(why).into());
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let (step, seconds) = line.rsplit_once(' ').unwrap_or_default();
            steps.entry(step.to_owned()).or_default().push(seconds.parse()?);
        }
        Ok(())
    })?;
    for (step, mut seconds) in steps {
        let warm_ups = seconds.len() - processes.seconds.len();
        let seconds = seconds.split_off(warm_ups);
        let (round, step) = step.split_once(' ').unwrap_or_default();
        let case = Case::new("listing").with("step", step);
        let case = case.with("round", round.parse::<usize>()?);
        lab.record(case.samples(Samples { seconds, ..processes.clone() }))?;
    }
    Ok(())
}

/// A kernel of a module that is there, and of one that is loaded while the clock runs.
pub(crate) fn launches(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut words = stream.alloc_zeros::<u32>(256)?;
    let mut run = |module: &Arc<CudaModule>| -> Result<()> {
        let fill = module.load_function("fill")?;
        let mut launch = stream.launch_builder(&fill);
        launch.arg(&mut words).arg(&256usize);
        // SAFETY: the kernel takes (out, count), and `out` has as many words.
        unsafe { launch.launch(blocks(1, 1024)) }?;
        Ok(stream.synchronize()?)
    };
    let loaded = lab.module()?.clone();
    let case = |timed| in_the_way(timed, Case::new("launch"));
    case(RIGHT).time_on_host(lab, || run(&loaded))?.record(lab)?;
    let ptx = || Ok(KERNEL.ptx()?.0);
    case("module")
        .time_on_host_after(lab, ptx, |ptx| {
            let module = stream.context().load_module(ptx)?;
            run(&module)?;
            Ok(module) // unloaded when the clock has stopped
        })?
        .record(lab)?;
    check::every_element("fill", &stream.clone_dtoh(&words)?, check::value)?;
    Ok(())
}
