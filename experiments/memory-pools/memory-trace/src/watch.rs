//! Memory over time, as the pool, the driver and NVML tell it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::CudaContext;
use lab::machine::Monitor;
use lab::{MemoryReading, Result};
use pool::driver::DriverPool;

use crate::device::Turn;

/// The source that `nvidia-smi` shows.
pub(crate) const NVML: &str = "nvml";

/// Readings, by name of the source.
pub(crate) type Memory = Vec<(&'static str, Vec<MemoryReading>)>;

// ANCHOR: watch
/// Runs `turn` while a thread for each source notes how much memory is in use, with a
/// `pause` between two readings. Their times are those when the answer was there; they
/// count from the turn's `zero`.
pub(crate) fn watch(
    context: &Arc<CudaContext>,
    pool: Option<&DriverPool>,
    pause: Duration,
    turn: impl FnOnce() -> Result<Turn>,
) -> Result<(Turn, Memory)> {
    let monitor = Monitor::new();
    let used = || pool?.used_bytes().ok();
    let reserved = || pool?.reserved_bytes().ok();
    let driver = || {
        let (free, total) = context.mem_get_info().ok()?;
        Some((total - free) as u64)
    };
    let nvml = || monitor.memory_used(context.ordinal());
    let sources: [(&str, &(dyn Fn() -> Option<u64> + Sync)); 4] = [
        ("pool_used", &used),
        ("pool_reserved", &reserved),
        ("driver", &driver),
        (NVML, &nvml),
    ];

    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let watchers = sources.map(|(name, read)| {
            let watcher = move || {
                let mut readings = vec![];
                while !over.load(Ordering::Relaxed) {
                    let Some(bytes) = read() else { break };
                    readings.push((Instant::now(), bytes));
                    thread::sleep(pause);
                }
                readings
            };
            (name, scope.spawn(watcher))
        });
        let turned = turn();
        over.store(true, Ordering::Relaxed);
        let all = watchers.map(|(name, watcher)| (name, watcher.join()));
        let turn = turned?;
        let zero = turn.zero;
        let since_zero = |(at, bytes): (Instant, u64)| {
            let seconds = at.checked_duration_since(zero)?.as_secs_f64();
            Some(MemoryReading { seconds, bytes })
        };
        let series = all.into_iter().map(|(name, readings)| {
            let readings = readings.unwrap_or_default().into_iter();
            (name, readings.filter_map(since_zero).collect::<Vec<_>>())
        });
        Ok((turn, series.filter(|(_, readings)| !readings.is_empty()).collect()))
    })
}
// ANCHOR_END: watch
