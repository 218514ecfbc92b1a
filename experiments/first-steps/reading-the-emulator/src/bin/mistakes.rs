//! Four programs that are wrong, for the emulated GPU to say where: `first` to `fourth`.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use lab::emulator::{Emulator, load_if_needed};

const ADD: &str = include_str!("../../../../../kernels/ptx/vector-add.ptx");
const EVERY_AND_SHIFT: &str =
    include_str!("../../../../../kernels/ptx/reading-the-emulator.ptx");

fn main() -> Result<(), Box<dyn Error>> {
    load_if_needed();
    // A real GPU might say nothing, or be unusable until the program ends.
    Emulator::loaded().ok_or("add --emulate")?;
    let context = CudaContext::new(0)?;
    let mistake = match std::env::args().nth(1).as_deref() {
        Some("first") => first,
        Some("second") => second,
        Some("third") => third,
        Some("fourth") => fourth,
        _ => return Err("say which: first, second, third or fourth".into()),
    };
    mistake(&context)
}

// ANCHOR: first
/// Adds arrays of 1000 elements.
fn first(context: &Arc<CudaContext>) -> Result<(), Box<dyn Error>> {
    let stream = context.new_stream()?;
    let a = stream.clone_htod(&[1.0f32; 1000])?;
    let b = stream.clone_htod(&[2.0f32; 1000])?;
    let mut sum = stream.alloc_zeros::<f32>(1000)?;
    let add = function(context, ADD, "add")?;
    launch_add(&stream, &add, [&a, &b], &mut sum, 1024)?;
    Ok(stream.synchronize()?)
}
// ANCHOR_END: first

// ANCHOR: second
/// Moves the elements of each block one place to the right.
fn second(context: &Arc<CudaContext>) -> Result<(), Box<dyn Error>> {
    let stream = context.new_stream()?;
    let input = stream.clone_htod(&(0..1024).collect::<Vec<u32>>())?;
    let mut output = stream.alloc_zeros::<u32>(1024)?;
    let shift = function(context, EVERY_AND_SHIFT, "shift")?;
    let mut launch = stream.launch_builder(&shift);
    launch.arg(&input).arg(&mut output).arg(&0u32); // `wait`
    // SAFETY: none; it is wrong.
    unsafe { launch.launch(blocks_of_256(4)) }?;
    Ok(stream.synchronize()?)
}
// ANCHOR_END: second

// ANCHOR: third
/// Adds arrays of 1000 elements.
fn third(context: &Arc<CudaContext>) -> Result<(), Box<dyn Error>> {
    let stream = context.new_stream()?;
    let a = stream.clone_htod(&[1.0f32; 1000])?;
    // SAFETY: it is for the kernel to read.
    let b = unsafe { stream.alloc::<f32>(1000) }?;
    let mut sum = stream.alloc_zeros::<f32>(1000)?;
    let add = function(context, ADD, "add")?;
    launch_add(&stream, &add, [&a, &b], &mut sum, 1000)?;
    Ok(stream.synchronize()?)
}
// ANCHOR_END: third

/// Takes every third element. What it does is to be found out from what is said of it.
fn fourth(context: &Arc<CudaContext>) -> Result<(), Box<dyn Error>> {
    let stream = context.new_stream()?;
    let mut output = stream.alloc_zeros::<u32>(1024)?;
    let input = stream.clone_htod(&(0..2500).collect::<Vec<u32>>())?;
    let every = function(context, EVERY_AND_SHIFT, "every")?;
    let mut launch = stream.launch_builder(&every);
    launch.arg(&input).arg(&mut output).arg(&3u32); // `step`
    // SAFETY: none; it is wrong.
    unsafe { launch.launch(blocks_of_256(4)) }?;
    Ok(stream.synchronize()?)
}

fn function(
    context: &Arc<CudaContext>,
    ptx: &str,
    name: &str,
) -> Result<CudaFunction, Box<dyn Error>> {
    let module = context.load_module(Ptx::from_src(ptx))?;
    Ok(module.load_function(name)?)
}

fn launch_add(
    stream: &Arc<CudaStream>,
    add: &CudaFunction,
    [a, b]: [&CudaSlice<f32>; 2],
    sum: &mut CudaSlice<f32>,
    count: usize,
) -> Result<(), Box<dyn Error>> {
    let mut launch = stream.launch_builder(add);
    launch.arg(a).arg(b).arg(sum).arg(&count);
    // SAFETY: all have `count` elements, if whoever calls this does it right.
    unsafe { launch.launch(blocks_of_256(count.div_ceil(256))) }?;
    Ok(())
}

fn blocks_of_256(count: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    }
}
