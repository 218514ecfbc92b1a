//! Several threads at once, each with a stream of its own, and one pool for all: does one wait
//! for the other?

use std::panic::resume_unwind;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use cudarc::driver::CudaStream;
use lab::{Case, Clock, Lab, Result};
use pool::driver::{DriverPool, properties};
use pool::{Options, Pool};

const BYTES: usize = 1 << 20;
const THREADS: [usize; 4] = [1, 2, 4, 8];

pub(crate) fn at_once(lab: &mut Lab) -> Result<()> {
    let context = lab.context().clone();
    let streams = (0..8).map(|_| context.new_stream());
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    let ours = Pool::new(&context, Options::default());
    let drivers = DriverPool::new(&properties(&context))?;
    drivers.set_threshold(u64::MAX)?;
    let pairs = if lab.quick() { 100 } else { 1000 };
    let cores = thread::available_parallelism()?.get();
    for threads in THREADS {
        let case = |kind| {
            let case = Case::new("pairs_at_once").with("kind", kind);
            case.with("threads", threads).with("bytes", BYTES)
        };
        if threads > cores {
            lab.skip(case("workbook_pool"), "this machine has fewer cores");
            continue;
        }
        let streams = &streams[..threads];
        // ANCHOR: at_once
        measure(lab, case("keeping_pool"), (streams, pairs), |stream| {
            let address = drivers.alloc(BYTES, stream)?;
            // SAFETY: nothing uses the memory.
            Ok(unsafe { drivers.free(address, stream) }?)
        })?;
        // Quick ones, so that more of them take longer than threads take to start.
        measure(lab, case("workbook_pool"), (streams, 100 * pairs), |stream| {
            // SAFETY: nothing reads the memory.
            drop(unsafe { ours.alloc::<u8>(stream, BYTES) }?);
            Ok(())
        })?;
        // ANCHOR_END: at_once
    }
    Ok(())
}

/// Times `pair` as often on each thread: a sample is the time until the last has done, over the
/// pairs of one.
fn measure(
    lab: &mut Lab,
    case: Case,
    (streams, pairs): (&[Arc<CudaStream>], usize),
    pair: impl Fn(&Arc<CudaStream>) -> Result<()> + Sync,
) -> Result<()> {
    let work = |meet: &Barrier, stream: &Arc<CudaStream>| {
        let bound = stream.context().bind_to_thread();
        let first = pair(stream);
        meet.wait();
        bound?;
        first?;
        let start = Instant::now();
        (0..pairs).try_for_each(|_| pair(stream))?;
        Ok(start.elapsed().as_secs_f64())
    };
    let timed = case.time_turns(lab, Clock::Host, || {
        let meet = &Barrier::new(streams.len());
        let slowest = thread::scope(|scope| {
            let start = |stream| scope.spawn(move || work(meet, stream));
            let threads: Vec<_> = streams.iter().map(start).collect();
            let ends = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            });
            ends.collect::<Result<Vec<f64>>>()
        })?;
        streams.iter().try_for_each(|stream| stream.synchronize())?;
        Ok((slowest.into_iter().fold(0.0, f64::max) / pairs as f64, ()))
    })?;
    timed.record(lab)
}
