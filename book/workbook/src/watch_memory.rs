//! `cargo workbook watch-memory`: how much memory each GPU has in use, again and again.
//!
//! The figures are NVML's, the same as `nvidia-smi` shows: of the whole GPU, whichever
//! program uses it.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use record::units;

use crate::terminal::say;

/// Options of `cargo workbook watch-memory`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Seconds between two readings
    #[arg(long, default_value = "1", value_parser = interval)]
    interval: Duration,
    /// Stop after so many readings [default: go on until Ctrl-C]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Watch this GPU, as nvidia-smi numbers them [default: all]
    #[arg(long)]
    device: Option<u32>,
    /// Print each reading as a line of JSON, in bytes
    #[arg(long)]
    json: bool,
}

/// The shortest interval, in seconds.
const SHORTEST: f64 = 0.001;
const LONGEST: f64 = 86_400.0;

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (SHORTEST..=LONGEST).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("seconds, from {SHORTEST} to {LONGEST}")),
    }
}

/// Watches until the count is reached, Ctrl-C comes, or nobody reads any more. Then tells
/// the most that was in use.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    const ADVICE: &str = "`cargo workbook doctor` says more";
    let nvml = Nvml::init().map_err(|e| match e {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => {
            anyhow!("no NVML here, which comes with the NVIDIA driver; {ADVICE}")
        }
        e => anyhow!("NVML does not start: {e}; {ADVICE}"),
    })?;
    let mut gpus = gpus(&nvml, arguments.device)?;
    let (interrupt, interrupted) = channel();
    ctrlc::set_handler(move || _ = interrupt.send(()))?;
    let start = Instant::now();
    let mut next = start;
    for reading in 1.. {
        for gpu in &mut gpus {
            let memory = gpu.device.memory_info().context("NVML stopped answering")?;
            let seconds = start.elapsed().as_secs_f64();
            if memory.used > gpu.most.0 {
                gpu.most = (memory.used, seconds);
            }
            let (number, used, total) = (gpu.number, memory.used, memory.total);
            let line = if arguments.json {
                format!(
                    "{{\"seconds\":{seconds:.6},\"gpu\":{number},\"used\":{used},\
                     \"free\":{},\"total\":{total}}}",
                    memory.free
                )
            } else {
                row(seconds, number, used, memory.free, total)
            };
            if writeln!(anstream::stdout(), "{line}").is_err() {
                return Ok(()); // whoever read this has seen enough
            }
        }
        if arguments.count == Some(reading) {
            break;
        }
        // From one due time to the next, so that the readings do not drift.
        next += arguments.interval;
        let pause = next.saturating_duration_since(Instant::now());
        match interrupted.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if !arguments.json {
        for Gpu { number, name, most: (used, seconds), .. } in gpus {
            let used = units::bytes(used);
            say!("most in use on GPU {number} ({name}): {used}, at {seconds:.1} s");
        }
    }
    Ok(())
}

/// A GPU, and the most of its memory that was in use, with when.
struct Gpu<'a> {
    number: u32,
    name: String,
    device: Device<'a>,
    most: (u64, f64),
}

fn gpus(nvml: &Nvml, wanted: Option<u32>) -> Result<Vec<Gpu<'_>>> {
    let count = nvml.device_count().context("NVML cannot count the GPUs")?;
    match wanted {
        _ if count == 0 => bail!("NVML sees no GPU"),
        Some(n) if n >= count => {
            bail!("there is no GPU {n}, only {count} (numbered from 0)")
        }
        _ => {}
    }
    let numbers = (0..count).filter(|n| wanted.is_none_or(|wanted| wanted == *n));
    let gpu = |number| {
        let device = nvml.device_by_index(number)?;
        Ok(Gpu { number, name: device.name()?, device, most: (0, 0.0) })
    };
    numbers.map(gpu).collect()
}

const BAR: usize = 40;
const CALM: anstyle::Style = anstyle::AnsiColor::Green.on_default();
const FULL: anstyle::Style = anstyle::AnsiColor::Yellow.on_default();

/// One reading for people: a bar, yellow from nine tenths on, and the figures. What is
/// neither used nor free, the driver keeps for itself.
fn row(seconds: f64, number: u32, used: u64, free: u64, total: u64) -> String {
    let share = used as f64 / total.max(1) as f64;
    let filled = ((share * BAR as f64).round() as usize).min(BAR);
    let style = if share < 0.9 { CALM } else { FULL };
    format!(
        "{seconds:>8.2} s  GPU {number} [{style}{}{style:#}{}] {:>10} used, {:>10} free of {}",
        "#".repeat(filled),
        ".".repeat(BAR - filled),
        units::bytes(used),
        units::bytes(free),
        units::bytes(total),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_seconds_within_reason() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "NaN", "inf", "1e9", "soon", ""] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_row_shows_the_share_in_use() {
        let row = |used: u64| {
            let row = row(1.5, 0, used << 30, (9 - used) << 30, 10 << 30);
            anstream::adapter::strip_str(&row).to_string()
        };
        assert_eq!(row(0).matches('#').count(), 0);
        assert!(row(9).contains(&format!("[{}....]", "#".repeat(36))));
        let half = row(5);
        assert!(half.starts_with("    1.50 s  GPU 0 [####"), "{half}");
        assert!(half.ends_with("5 GiB used,      4 GiB free of 10 GiB"), "{half}");
    }
}
