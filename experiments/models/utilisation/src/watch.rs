//! What NVML says of a GPU while something runs on it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Case, Result};
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::gpm::gpm_metrics_get;

/// What the counters of newer GPUs are asked for, and what the record calls it.
const COUNTERS: [(GpmMetricId, &str); 4] = [
    (GpmMetricId::SmUtil, "sm_busy_percent"),
    (GpmMetricId::SmOccupancy, "occupancy_percent"),
    (GpmMetricId::Fp32Util, "fp32_percent"),
    (GpmMetricId::DramBwUtil, "memory_bandwidth_percent"),
];
/// Time between two readings.
const PAUSE: Duration = Duration::from_millis(50);

/// One reading.
#[derive(Clone, Copy)]
struct Reading {
    gpu: f64,
    memory: f64,
    watts: f64,
    megahertz: f64,
}

fn read(device: &Device<'_>) -> Result<Reading> {
    let utilisation = device.utilization_rates()?; // what nvidia-smi shows
    Ok(Reading {
        gpu: f64::from(utilisation.gpu) / 100.0,
        memory: f64::from(utilisation.memory) / 100.0,
        watts: f64::from(device.power_usage()?) / 1000.0,
        megahertz: f64::from(device.clock_info(Clock::SM)?),
    })
}

/// Repeats `turn` for some time, and then again while another thread reads. Gives the
/// seconds of each turn of that second part, and `case` with the means of the readings.
pub(crate) fn watch(
    device: &Device<'_>,
    case: Case,
    [before, during]: [Duration; 2],
    mut turn: impl FnMut() -> Result<()>,
) -> Result<(Vec<f64>, Case)> {
    // NVML looks back for up to a second: what was before must be over.
    let start = Instant::now();
    while start.elapsed() < before {
        turn()?;
    }
    let (over, mut seconds) = (&AtomicBool::new(false), vec![]);
    let first = device.gpm_sample().ok();
    let readings = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut readings = vec![];
            while !over.load(Ordering::Relaxed) {
                readings.push(read(device)?);
                thread::sleep(PAUSE);
            }
            Ok::<_, anyhow::Error>(readings)
        });
        let mut work = || -> Result<()> {
            let start = Instant::now();
            while start.elapsed() < during {
                let before = Instant::now();
                turn()?;
                seconds.push(before.elapsed().as_secs_f64());
            }
            Ok(())
        };
        let worked = work();
        over.store(true, Ordering::Relaxed);
        let readings = reader.join().expect("reading does not panic");
        worked.and(readings)
    })?;
    let mean = |of: fn(&Reading) -> f64| {
        readings.iter().map(of).sum::<f64>() / readings.len() as f64
    };
    let mut case = case
        .model("gpu_percent", mean(|r| r.gpu))
        .model("memory_percent", mean(|r| r.memory))
        .model("power_watts", mean(|r| r.watts))
        .model("sm_clock_megahertz", mean(|r| r.megahertz));
    for (name, value) in counters(device, first) {
        case = case.model(name, value);
    }
    Ok((seconds, case))
}

/// The means of the counters since `first`, as far as the GPU has them.
fn counters<'nvml>(
    device: &Device<'nvml>,
    first: Option<nvml_wrapper::gpm::GpmSample<'nvml>>,
) -> Vec<(&'static str, f64)> {
    let (Some(first), Ok(last)) = (first, device.gpm_sample()) else {
        return vec![];
    };
    let ids = COUNTERS.map(|(id, _)| id);
    let values =
        gpm_metrics_get(device.nvml(), &first, &last, &ids).unwrap_or_default();
    let names = COUNTERS.into_iter().map(|(_, name)| name);
    let values =
        values.into_iter().map(|value| value.map_or(f64::NAN, |v| v.value / 100.0));
    names.zip(values).filter(|(_, value)| value.is_finite()).collect()
}
