//! `cargo workbook doctor`: what this machine has, and what can run here and why.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use cudarc::driver::{result, sys};
use lab::compiler::Clang;
use lab::gpu::{self, Gpus};
use lab::layout::beside;
use lab::{emulator, kernel, libraries, machine};
use lessons::Lesson;
use record::{Machine, units};
use report::names::grouped;

use crate::temporary;
use crate::terminal::say;

/// Room for what a line is about, and what is before its text.
const NAME: usize = 15;
const INDENT: usize = NAME + 4;
const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default();
const BAD: anstyle::Style = anstyle::AnsiColor::Yellow.on_default();

/// Prints the report. Everything it asks for may be missing.
pub(crate) fn run(root: &Path) -> Result<()> {
    let gpus = gpu::probe();
    match &gpus {
        Gpus::None(why) => {
            line(false, "GPU", &format!("none can be measured: {why}"));
            if emulator::stands_in() {
                let text = "experiments run on it here: checked and counted, not timed";
                line(true, "emulated GPU", text);
            } else if !gpu::has_driver() {
                line(false, "emulated GPU", &emulator::why_not());
            }
        }
        Gpus::Count(_) => describe(&machine::Monitor::new())?,
    }
    compilers();
    host();
    programs();
    say!();
    // Experiments of which the same is to be said share a line.
    let verdict = |experiment: &Lesson| match &gpus {
        Gpus::None(_) if emulator::stands_in() => Ok("run on the emulated GPU"),
        Gpus::None(_) => Err("a GPU is needed; the book shows the recorded results".into()),
        Gpus::Count(count) => enough(*count, experiment).map(|()| "can run here"),
    };
    let verdicts = lessons::all(root)?.into_iter().map(|lesson| (verdict(&lesson), lesson.name));
    for (verdict, names) in grouped(verdicts) {
        let s = if names.len() == 1 { "" } else { "s" };
        let what = format!("{} experiment{s}", names.len());
        let names = names.join(", ");
        match verdict {
            Ok(how) => line(true, &what, &format!("{how}: {names}")),
            Err(why) => line(false, &what, &format!("cannot run here, {why}: {names}")),
        }
    }
    Ok(())
}

fn enough(count: usize, lesson: &Lesson) -> Result<(), String> {
    match count >= lesson.gpus as usize {
        true => Ok(()),
        false => Err(format!("{} are needed, there are {count}", lesson.needs())),
    }
}

fn describe(monitor: &machine::Monitor) -> Result<()> {
    let (major, minor) = gpu::cuda_version().unwrap_or_default();
    let driver = monitor.driver().unwrap_or_else(|| "of unknown release".into());
    let old = (major, minor) < kernel::COMMITTED_NVRTC;
    let advice = if old { "; older than CUDA 12.4, update it" } else { "" };
    line(!old, "driver", &format!("{driver}, for CUDA up to {major}.{minor}{advice}"));
    let nvml = monitor.driver().is_some();
    let text = if nvml {
        "found; it tells links, clocks and temperatures".to_owned()
    } else {
        let file = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };
        format!("not found ({file} comes with the driver): clocks and temperatures stay unknown")
    };
    line(nvml, "NVML", &text);
    let machine: Machine = monitor.describe("here", 0)?;
    for (i, gpu) in machine.gpus.iter().enumerate() {
        let peak = gpu.memory_peak_bytes_per_second().map(units::bandwidth);
        line(
            true,
            &format!("GPU {i}"),
            &format!(
                "{}, compute capability {}, {} multiprocessors, {} of memory at {} \
                 (theoretical), {} of L2",
                gpu.name,
                gpu.compute_capability,
                gpu.multiprocessors,
                units::bytes(gpu.memory_bytes),
                peak.unwrap_or_else(|| "an unknown rate".into()),
                units::bytes(gpu.l2_bytes),
            ),
        );
        match &gpu.pcie {
            Some(p) => {
                let peak = p.peak_bytes_per_second().map(units::bandwidth).unwrap_or_default();
                let most = p.max_generation.unwrap_or(p.generation);
                let idle = if most > p.generation { ", dropped while idle" } else { "" };
                let text = format!(
                    "PCIe {}.0 x{} now{idle}; at best {most}.0 x{}; {peak} each way \
                     (theoretical)",
                    p.generation,
                    p.width,
                    p.max_width.unwrap_or(p.width)
                );
                line(true, "  link", &text);
            }
            None => line(false, "  link", "unknown: neither NVML nor sysfs tells"),
        }
        if let Some(nvlink) = &gpu.nvlink {
            line(true, "  NVLink", &format!("{} links up", nvlink.links));
        }
    }
    peer_access(machine.gpus.len());
    Ok(())
}

/// Which pairs of GPUs can read each other's memory.
fn peer_access(count: usize) {
    if count < 2 {
        return line(true, "peer access", "one GPU, so none");
    }
    let can = |a: i32, b: i32| -> Result<bool, result::DriverError> {
        let (a, b) = (result::device::get(a)?, result::device::get(b)?);
        let mut can = 0;
        // SAFETY: both devices came from the driver, which writes one integer.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, a, b) }.result()?;
        Ok(can != 0)
    };
    let pairs = (0..count as i32).flat_map(|a| (0..count as i32).map(move |b| (a, b)));
    let pairs: Vec<_> = pairs.filter(|(a, b)| a != b).collect();
    let able = pairs.iter().filter(|(a, b)| can(*a, *b).unwrap_or(false)).count();
    let text = format!("{able} of {} ordered pairs of GPUs have it", pairs.len());
    line(able == pairs.len(), "peer access", &text);
}

fn compilers() {
    let clang = Clang::find();
    match (kernel::nvrtc_version(), clang) {
        (Ok((major, minor)), clang) => {
            line(true, "NVRTC", &format!("{major}.{minor}"));
            if let Some(clang) = clang {
                line(true, "clang", &format!("{}, with --compiler clang", clang.version()));
            }
        }
        (Err(_), Some(clang)) => {
            let text = format!("{}; it compiles the kernels that you edit", clang.version());
            line(true, "clang", &text);
            line(true, "NVRTC", "not found, and needed for the committed PTX alone");
        }
        (Err(_), None) => {
            let text = "not found, nor a clang that makes PTX; without them everything runs, but \
                        kernels that you edit do not compile. Get one with";
            line(false, "NVRTC", text);
            say!("{:INDENT$}{}", "", libraries::NVRTC.install);
            say!("{:INDENT$}{}", "", libraries::CLANG.install);
        }
    }
}

/// Host limits that pinned memory runs into.
fn host() {
    let mut system = match sysinfo::System::new() {
        Ok(system) => system,
        Err(e) => return line(false, "host", &format!("cannot be read: {e}")),
    };
    system.refresh_memory();
    let text = format!(
        "{} of memory, {} of it available (the experiments pin up to 2 GiB)",
        units::bytes(system.total_memory()),
        units::bytes(system.available_memory())
    );
    line(system.available_memory() > 4 << 30, "host", &text);
}

/// What else commands need; it is missing on few machines.
fn programs() {
    let mut git = Command::new("git");
    if git.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        let text = "not found; without it everything runs, but records do not tell their \
                    revision, and `compare` knows none";
        line(false, "git", text);
    }
    if let Err(e) = temporary::folder() {
        line(false, "temporary files", &format!("{e:#}"));
    }
}

fn line(good: bool, what: &str, text: &str) {
    let (style, mark) = if good { (GOOD, "ok") } else { (BAD, "--") };
    say!("{style}{mark}{style:#} {what:<NAME$} {}", beside(text, INDENT));
}
