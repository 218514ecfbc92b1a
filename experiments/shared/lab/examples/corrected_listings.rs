//! The chapter's Rust listings of sections 8.4 to 8.6 with as little changed as makes them
//! work; the book's page "The chapter's listings, corrected" shows them. On a machine with
//! an NVIDIA GPU, `cargo run -p lab --example corrected_listings` runs them.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
};
use cudarc::nvrtc::compile_ptx;
use peer_access::Access;

fn main() -> Result<(), Box<dyn Error>> {
    lab::kernel::nvrtc_version()?; // finds NVRTC
    let context = CudaContext::new(0)?;
    let module = context.load_module(compile_ptx(DOUBLE)?)?;
    let double = module.load_function("twice")?;

    let doubled = two_streams(&context, &double)?;
    assert_eq!(
        doubled.map(|part| (part.len(), part[0], part[99_999])),
        [(100_000, 2.0, 2.0), (100_000, 4.0, 4.0)]
    );
    assert_eq!(pipeline(&context, &double)?, 2.0 * 10_000.0 * (30.0 * 31.0 / 2.0));
    let data: Vec<f32> = (0..1_000_000).map(|i| i as f32).collect();
    assert_eq!(every_gpu(&data)?, data);
    if CudaContext::device_count()? > 1 {
        assert_eq!(peer_to_peer(&data)?, data);
    }
    pool(&context)?;
    memory(&context)?;
    Ok(())
}

// ANCHOR: kernel
const DOUBLE: &str = r#"
    extern "C" __global__ void twice(float* data, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) data[i] *= 2.0f;
    }
"#;

fn launch(
    stream: &CudaStream,
    kernel: &CudaFunction,
    data: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let n = data.len();
    let mut launch = stream.launch_builder(kernel);
    let length = n as i32;
    launch.arg(data).arg(&length);
    // SAFETY: the kernel takes (data, n) and stays within the n elements of data.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }?;
    Ok(())
}
// ANCHOR_END: kernel

// ANCHOR: pinned
/// Plain pinned memory; `alloc_pinned` would make it write-combined, slow to read.
fn pinned(context: &Arc<CudaContext>, length: usize) -> Result<PinnedHostSlice<f32>, DriverError> {
    // SAFETY: written in full before it is read.
    let mut memory = unsafe { context.alloc_pinned_with_flags(length, 0) }?;
    memory.as_mut_slice()?.fill(0.0);
    Ok(memory)
}
// ANCHOR_END: pinned

// ANCHOR: streams
fn two_streams(
    context: &Arc<CudaContext>,
    kernel: &CudaFunction,
) -> Result<[Vec<f32>; 2], DriverError> {
    let (stream1, stream2) = (context.new_stream()?, context.new_stream()?);
    let mut data1 = pinned(context, 100_000)?;
    let mut data2 = pinned(context, 100_000)?;
    data1.as_mut_slice()?.fill(1.0);
    data2.as_mut_slice()?.fill(2.0);

    // From pinned memory these calls return before the copies are done.
    let mut d1 = stream1.clone_htod(&data1)?;
    let mut d2 = stream2.clone_htod(&data2)?;
    launch(&stream1, kernel, &mut d1)?;
    launch(&stream2, kernel, &mut d2)?;

    stream1.synchronize()?;
    stream2.synchronize()?;
    Ok([stream1.clone_dtoh(&d1)?, stream2.clone_dtoh(&d2)?])
}
// ANCHOR_END: streams

// ANCHOR: pipeline
/// What each stream works with. Pinned memory that a copy may still be using must not be
/// touched; cudarc waits for that copy in `as_slice` and `as_mut_slice`.
struct Lane {
    stream: Arc<CudaStream>,
    input: PinnedHostSlice<f32>,
    device: CudaSlice<f32>,
    output: PinnedHostSlice<f32>,
}

/// Returns the sum of all results.
fn pipeline(context: &Arc<CudaContext>, kernel: &CudaFunction) -> Result<f64, DriverError> {
    let (streams, batches, length) = (3, 30, 10_000);
    let mut lanes = vec![];
    for _ in 0..streams {
        let stream = context.new_stream()?;
        lanes.push(Lane {
            input: pinned(context, length)?,
            device: stream.alloc_zeros(length)?,
            output: pinned(context, length)?,
            stream,
        });
    }
    let mut sum = 0.0;
    let mut take = |output: &PinnedHostSlice<f32>| -> Result<(), DriverError> {
        sum += output.as_slice()?.iter().map(|x| f64::from(*x)).sum::<f64>();
        Ok(())
    };
    for i in 0..batches {
        let Lane { stream, input, device, output } = &mut lanes[i % streams];
        take(output)?; // of the batch before in this lane; zeros at first
        input.as_mut_slice()?.fill((i + 1) as f32);
        stream.memcpy_htod(input, device)?;
        launch(stream, kernel, device)?;
        stream.memcpy_dtoh(device, output)?;
    }
    for lane in &lanes {
        take(&lane.output)?;
    }
    Ok(sum)
}
// ANCHOR_END: pipeline

// ANCHOR: split
fn every_gpu(data: &[f32]) -> Result<Vec<f32>, DriverError> {
    let gpus = CudaContext::device_count()? as usize;
    let chunk = data.len().div_ceil(gpus); // rounded up: the last chunk may be shorter
    let process = |gpu: usize, part: &[f32]| {
        let stream = CudaContext::new(gpu)?.default_stream();
        let device = stream.clone_htod(part)?;
        // … the kernel …
        stream.clone_dtoh(&device)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = data
            .chunks(chunk)
            .enumerate()
            .map(|(gpu, part)| scope.spawn(move || process(gpu, part)))
            .collect();
        let mut results = vec![];
        for worker in workers {
            results.extend(worker.join().expect("no worker panics")?);
        }
        Ok(results)
    })
}
// ANCHOR_END: split

// ANCHOR: peer
fn peer_to_peer(data: &[f32]) -> Result<Vec<f32>, DriverError> {
    let (context0, context1) = (CudaContext::new(0)?, CudaContext::new(1)?);
    let (stream0, stream1) = (context0.new_stream()?, context1.new_stream()?);

    // A library of this workbook. If the GPUs cannot have access, the copy takes the way
    // through the host, and is right as well.
    for (from, to) in [(&context0, &context1), (&context1, &context0)] {
        if let Access::Refused(why) = peer_access::enable(from, to)? {
            eprintln!("{why}");
        }
    }
    let d0_data = stream0.clone_htod(data)?;
    let mut d1_data = stream1.alloc_zeros::<f32>(data.len())?;
    stream1.memcpy_dtod(&d0_data, &mut d1_data)?; // GPU 0 → GPU 1
    stream1.clone_dtoh(&d1_data)
}
// ANCHOR_END: peer

// ANCHOR: pool
struct Pool {
    stream: Arc<CudaStream>,
    free: HashMap<usize, Vec<CudaSlice<f32>>>,
}

impl Pool {
    fn alloc(&mut self, length: usize) -> Result<CudaSlice<f32>, DriverError> {
        match self.free.get_mut(&length).and_then(Vec::pop) {
            Some(mut used) => {
                self.stream.memset_zeros(&mut used)?; // as a new one is
                Ok(used)
            }
            None => self.stream.alloc_zeros(length),
        }
    }

    fn free(&mut self, buffer: CudaSlice<f32>) {
        self.free.entry(buffer.len()).or_default().push(buffer);
    }
}
// ANCHOR_END: pool

fn pool(context: &Arc<CudaContext>) -> Result<(), DriverError> {
    let stream = context.new_stream()?;
    let mut pool = Pool { stream: stream.clone(), free: HashMap::new() };
    for _ in 0..1000 {
        let mut buffer = pool.alloc(1_000_000)?;
        assert_eq!(stream.clone_dtoh(&buffer.slice(..1))?, [0.0]);
        stream.memcpy_htod(&[1.0f32], &mut buffer.slice_mut(..1))?;
        pool.free(buffer);
    }
    assert_eq!(pool.free[&1_000_000].len(), 1);
    Ok(())
}

// ANCHOR: memory
fn memory(context: &CudaContext) -> Result<(), DriverError> {
    let (free, total) = context.mem_get_info()?;
    let used = total - free;
    println!("GPU memory: {used} of {total} bytes used, {free} free");
    Ok(())
}
// ANCHOR_END: memory
