//! Four streams allocate from one pool, work, and free.

use std::thread;
use std::time::Instant;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
use lab::{Lab, Result, check};
use pool::driver::{Attribute, DriverPool, Properties, properties};

use crate::device::{Bench, PAUSE, STREAMS, Turn};

const TIMES: usize = 2;

lab::words! {
    pub(crate) enum Kind {
        Returning = "returning",
        Keeping = "keeping",
        Strict = "strict",
    }
}

lab::words! {
    pub(crate) enum Order { DepthFirst = "depth_first", BreadthFirst = "breadth_first" }
}

// ANCHOR: pool
/// A pool of the driver's that holds at most this many bytes.
pub(crate) fn pool(lab: &Lab, most_bytes: usize, kind: Kind) -> Result<DriverPool> {
    let properties = Properties { maxSize: most_bytes, ..properties(lab.context()) };
    let pool = DriverPool::new(&properties)?;
    match kind {
        Kind::Keeping => pool.set_threshold(u64::MAX)?,
        Kind::Strict => pool
            .set(Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0)?,
        Kind::Returning => {}
    }
    Ok(pool)
}
// ANCHOR_END: pool

#[derive(Clone, Copy)]
enum Step {
    Allocate,
    Work,
    Free,
}

// ANCHOR: steps
/// The steps of all streams, each with the stream's index.
fn steps(order: Order) -> Vec<(Step, usize)> {
    let each = [Step::Allocate, Step::Work, Step::Free];
    match order {
        Order::DepthFirst => {
            (0..STREAMS).flat_map(|i| each.map(|step| (step, i))).collect()
        }
        Order::BreadthFirst => {
            each.iter().flat_map(|step| (0..STREAMS).map(|i| (*step, i))).collect()
        }
    }
}
// ANCHOR_END: steps

impl Bench {
    // ANCHOR: streams
    /// All streams, twice, from a pool that is empty when the clock starts. To check costs
    /// time in the streams.
    pub(crate) fn streams(
        &mut self,
        pool: &DriverPool,
        order: Order,
        checked: bool,
    ) -> Result<Turn> {
        pool.trim()?;
        let zero = self.begin()?;
        let (line, bytes) = (&self.line, self.words * size_of::<u32>());
        let (mut seconds, mut served) = (0.0, 0);
        for time in 0..TIMES {
            thread::sleep(PAUSE);
            let start = Instant::now();
            let mut buffers = [None; STREAMS];
            for (step, i) in steps(order) {
                let (stream, n) = (&self.streams[i], time * STREAMS + i + 1);
                match (step, buffers[i]) {
                    (Step::Allocate, _) => {
                        let allocate = || match pool.alloc(bytes, stream) {
                            Err(DriverError(CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
                            buffer => Ok(Some(buffer?)),
                        };
                        buffers[i] =
                            line.host("host", &format!("allocate {n}"), allocate)?;
                    }
                    (Step::Work, Some(buffer)) => {
                        let lane = format!("stream {}", i + 1);
                        let work = || self.work(stream, buffer);
                        line.gpu(&lane, &format!("kernel {n}"), stream, work)?;
                        if checked {
                            self.count_right(stream, buffer)?;
                        }
                        served += 1;
                    }
                    (Step::Free, Some(buffer)) => {
                        // SAFETY: nothing is queued on the buffer after this.
                        let free = || Ok(unsafe { pool.free(buffer, stream) }?);
                        line.host("host", &format!("free {n}"), free)?;
                    }
                    (_, None) => {} // no memory, no work
                }
            }
            for (i, stream) in self.streams.iter().enumerate() {
                let label = format!("wait {}", time * STREAMS + i + 1);
                line.host("host", &label, || Ok(stream.synchronize()?))?;
            }
            seconds += start.elapsed().as_secs_f64();
        }
        thread::sleep(PAUSE);
        // ANCHOR_END: streams
        let (_, spans) = line.finish()?;
        let mut right = 0;
        if checked {
            right = self.streams[0].clone_dtoh(&self.right)?[0];
            let all = (served * self.words) as u64;
            check::every_element("right words", &[right], |_| all)?;
        }
        Ok(Turn { zero, seconds, checked: right, spans })
    }
}
