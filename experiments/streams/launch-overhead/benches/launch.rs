//! What the host pays for a launch, of a kernel and of a graph of kernels. The same as the
//! cases `launch_call` and `graph_call` of the experiment, under criterion.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use lab::gpu::{self, Gpus};

const ELEMENTS: u32 = 1024;
/// Calls between two waits: fewer than a launch queue holds.
const CALLS: u64 = 500;

fn main() -> Result<(), Box<dyn Error>> {
    if let Gpus::None(why) = gpu::probe() {
        println!("SKIPPED: {why}");
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    // SAFETY: one stream needs no order but its own, and a capture allows no other.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let ptx = include_str!("../../../../kernels/ptx/launch-overhead.ptx");
    let step = context.load_module(Ptx::from_src(ptx))?.load_function("step")?;
    let mut x = stream.alloc_zeros::<u32>(ELEMENTS as usize)?;

    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("launch", |bencher| {
        bencher.iter_custom(|calls| {
            clocked(&stream, calls, CALLS, || launch(&stream, &step, &mut x))
        });
    });
    let mut group = criterion.benchmark_group("graph");
    for nodes in [1, 10, 100, 1000] {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode)?;
        (0..nodes).for_each(|_| launch(&stream, &step, &mut x));
        let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
        let graph = graph.ok_or("nothing was captured")?;
        let together = (CALLS / nodes).clamp(1, 100);
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter_custom(|calls| {
                let call = || graph.launch().expect("the graph runs");
                clocked(&stream, calls, together, call)
            });
        });
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}

fn launch(stream: &Arc<CudaStream>, step: &CudaFunction, x: &mut CudaSlice<u32>) {
    let mut launch = stream.launch_builder(step);
    launch.arg(x).arg(&ELEMENTS).arg(&3u32).arg(&1u32);
    // SAFETY: the kernel takes (x, count, multiplier, steps).
    unsafe { launch.launch(LaunchConfig::for_num_elems(ELEMENTS)) }
        .expect("the kernel starts");
}

/// The time of `calls` calls; the waits after every `together` of them are not in it.
fn clocked(
    stream: &CudaStream,
    calls: u64,
    together: u64,
    mut call: impl FnMut(),
) -> Duration {
    let mut time = Duration::ZERO;
    let mut left = calls;
    while left > 0 {
        let now = left.min(together);
        let start = Instant::now();
        (0..now).for_each(|_| call());
        time += start.elapsed();
        stream.synchronize().expect("the GPU runs");
        left -= now;
    }
    time
}
