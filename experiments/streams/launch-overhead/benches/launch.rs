//! What the host pays for a launch, of a kernel and of a graph of kernels. The same as the
//! cases `launch_call` and `graph_call` of the experiment, under criterion.

#[path = "../src/vector.rs"]
mod vector;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nvrtc::Ptx;
use lab::Result;
use lab::gpu::{self, Gpus};

use vector::{BLOCK, KERNEL, Vector};

/// Calls between two waits: fewer than a launch queue holds.
const CALLS: u64 = 500;

fn main() -> Result<()> {
    if let Gpus::None(why) = gpu::probe() {
        println!("SKIPPED: {why}");
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    // SAFETY: one stream needs no order but its own, and a capture allows no other.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_src(KERNEL.ptx))?;
    let mut vector = Vector::new(&module, &stream, BLOCK)?;

    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("launch", |bencher| {
        bencher.iter_custom(|calls| {
            clocked(&stream, calls, CALLS, || vector.launch(1))
        });
    });
    let mut group = criterion.benchmark_group("graph");
    for nodes in [10, 1000] {
        let graph = vector.capture(nodes, |vector, _| vector.launch(1))?;
        let together = (CALLS / u64::from(nodes)).clamp(1, 100);
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter_custom(|calls| {
                clocked(&stream, calls, together, || vector.replay(&graph))
            });
        });
    }
    group.finish();
    criterion.final_summary();
    vector.check()?;
    Ok(())
}

/// The time of `calls` calls; the waits after every `together` of them are not in it.
fn clocked(
    stream: &CudaStream,
    calls: u64,
    together: u64,
    mut call: impl FnMut() -> Result<()>,
) -> Duration {
    let mut time = Duration::ZERO;
    let mut left = calls;
    while left > 0 {
        let now = left.min(together);
        let start = Instant::now();
        (0..now).for_each(|_| call().expect("the GPU takes the call"));
        time += start.elapsed();
        stream.synchronize().expect("the GPU runs");
        left -= now;
    }
    time
}
