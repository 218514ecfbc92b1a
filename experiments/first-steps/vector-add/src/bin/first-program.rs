//! A whole CUDA program in Rust: two arrays go to the GPU, a kernel adds them, the sums come
//! back. It needs cudarc and nothing of the workbook, but for the emulated GPU.

// ANCHOR: head
use std::error::Error;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

/// What the compiler made of `kernels/vector-add.cu`.
const PTX: &str = include_str!("../../../../../kernels/ptx/vector-add.ptx");
const COUNT: usize = 1000;
// ANCHOR_END: head

fn main() -> Result<(), Box<dyn Error>> {
    // The emulated GPU, where there is no other, or with --emulate. Leave it out elsewhere.
    lab::emulator::load_if_needed();

    // ANCHOR: gpu
    let context = CudaContext::new(0)?;
    let module = context.load_module(Ptx::from_src(PTX))?;
    let add = module.load_function("add")?;
    let stream = context.new_stream()?;
    // ANCHOR_END: gpu

    // ANCHOR: memory
    let a: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..COUNT).map(|i| 10.0 * i as f32).collect();
    let a = stream.clone_htod(&a)?;
    let b = stream.clone_htod(&b)?;
    let mut sum = stream.alloc_zeros::<f32>(COUNT)?;
    // ANCHOR_END: memory

    // ANCHOR: launch
    let config = LaunchConfig {
        grid_dim: (COUNT.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    let mut launch = stream.launch_builder(&add);
    launch.arg(&a).arg(&b).arg(&mut sum).arg(&COUNT);
    // SAFETY: `add` takes (a, b, sum, count), and all three have `count` elements.
    unsafe { launch.launch(config) }?;
    // ANCHOR_END: launch

    // ANCHOR: back
    let sum = stream.clone_dtoh(&sum)?;
    stream.synchronize()?;
    for (i, sum) in sum.iter().enumerate() {
        assert_eq!(*sum, 11.0 * i as f32, "element {i}");
    }
    println!("{COUNT} sums are right; the last is {}", sum[COUNT - 1]);
    // ANCHOR_END: back
    Ok(())
}
