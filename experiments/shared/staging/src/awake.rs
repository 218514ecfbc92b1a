//! Threads that stay awake for the next copy.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, Yield};

/// How long the threads of a pool stay awake without work; no longer than this lives.
#[derive(Debug)]
pub(crate) struct Awake {
    start: Instant,
    /// Nanoseconds after the start.
    until: Arc<AtomicU64>,
}

impl Awake {
    pub(crate) fn new() -> Awake {
        Awake { start: Instant::now(), until: Arc::default() }
    }

    /// From now on the threads of `pool`, which is always the same, stay awake and ready for
    /// its jobs.
    pub(crate) fn begin(&self, pool: &ThreadPool) {
        thread_local! {
            static IS_AWAKE: Cell<bool> = const { Cell::new(false) };
        }
        self.until.store(u64::MAX, Ordering::Relaxed);
        let (start, until) = (self.start, self.until.clone());
        pool.spawn_broadcast(move |_| {
            if IS_AWAKE.replace(true) {
                return; // such a job has yielded to this one
            }
            while nanoseconds(start.elapsed()) < until.load(Ordering::Relaxed) {
                if rayon::yield_now() != Some(Yield::Executed) {
                    yield_now();
                }
            }
            IS_AWAKE.set(false);
        });
    }

    /// The threads may sleep after so long.
    pub(crate) fn end_after(&self, linger: Duration) {
        let until = self.start.elapsed().saturating_add(linger);
        self.until.store(nanoseconds(until), Ordering::Relaxed);
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.until.store(0, Ordering::Relaxed);
    }
}

/// Nanoseconds of a duration; those of 584 years if there are more.
fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}
