//! Memory over time, as the pool, the driver and NVML tell it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, sys};
use lab::machine::Monitor;
use lab::{MemoryReading, Result};
use sys::CUmemPool_attribute as Attribute;

use crate::pool::Pool;

/// Readings, by name of the source.
pub(crate) type Memory = Vec<(&'static str, Vec<MemoryReading>)>;

// ANCHOR: watch
/// Runs `turn` while a thread for each source notes how much memory is in use, with a
/// `pause` between two readings. Their times are those when the answer was there; they
/// count from the instant that `turn` returns with its result.
pub(crate) fn watch<T>(
    context: &Arc<CudaContext>,
    pool: Option<&Pool>,
    pause: Duration,
    turn: impl FnOnce() -> Result<(Instant, T)>,
) -> Result<(T, Memory)> {
    let monitor = Monitor::new();
    let used = || pool?.bytes(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    let reserved = || pool?.bytes(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    let driver = || {
        let (free, total) = context.mem_get_info().ok()?;
        Some((total - free) as u64)
    };
    let nvml = || monitor.memory_used(context.ordinal());
    let sources: [(&str, &(dyn Fn() -> Option<u64> + Sync)); 4] = [
        ("pool_used", &used),
        ("pool_reserved", &reserved),
        ("driver", &driver),
        ("nvml", &nvml),
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
        let (zero, result) = turned?;
        let since_zero = |(at, bytes): (Instant, u64)| {
            let seconds = at.checked_duration_since(zero)?.as_secs_f64();
            Some(MemoryReading { seconds, bytes })
        };
        let series = all.into_iter().map(|(name, readings)| {
            let readings = readings.unwrap_or_default().into_iter();
            (name, readings.filter_map(since_zero).collect::<Vec<_>>())
        });
        Ok((result, series.filter(|(_, readings)| !readings.is_empty()).collect()))
    })
}
// ANCHOR_END: watch
