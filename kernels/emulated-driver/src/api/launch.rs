//! Launches.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::sys::CUlaunchConfig;
use cudarc::driver::sys::CUresult::*;

use crate::answer::{Answer, require};
use crate::call::{In, api};
use crate::driver::Session;
use crate::gpu;
use crate::host;
use crate::work::{KernelLaunch, Work};

/// Words of `extra` at most, and bytes of arguments.
const MOST_EXTRA: usize = 4;
const MOST_ARGUMENT_BYTES: usize = 32_764;

struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
}

/// What is in C's struct of a launch.
#[repr(C)]
#[derive(Clone, Copy)]
struct Configuration {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: usize,
    attributes: usize,
    attribute_count: u32,
}
const _: () = assert!(size_of::<Configuration>() == size_of::<CUlaunchConfig>());

/// The arguments in one piece, if there are: behind marks, a pointer to them and one to their
/// size.
fn arguments_in(extra: &In<usize>) -> Answer<Option<Vec<u8>>> {
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    if extra.is_null() {
        return Ok(None);
    }
    let (mut start, mut bytes) = (0, 0);
    for place in (0..MOST_EXTRA).step_by(2) {
        match extra.at(place)? {
            0 => break,
            BUFFER => start = extra.at(place + 1)?,
            SIZE => bytes = In::<usize>::new(extra.at(place + 1)? as *const c_void).get()?,
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        }
    }
    let is_there = start != 0 || bytes == 0;
    require(is_there && bytes <= MOST_ARGUMENT_BYTES, CUDA_ERROR_INVALID_VALUE)?;
    let mut arguments = vec![0; bytes];
    // SAFETY: the API asks for a pointer to so many bytes.
    unsafe { host::read(start, &mut arguments) };
    Ok(Some(arguments))
}

impl Session {
    fn launch(
        &mut self,
        function: usize,
        shape: Shape,
        stream: usize,
        parameters: &In<usize>,
        extra: &In<usize>,
    ) -> Answer {
        let queue = self.queue(stream)?;
        let gpu = self.gpu_of(queue)?;
        self.check_shape(function, &shape)?;
        let in_one_piece = arguments_in(extra)?;
        let (_, module, kernel) = self.function(function)?;
        let mut arguments = in_one_piece.clone().unwrap_or_default();
        let bytes = kernel.parameters.last().map_or(0, |last| last.offset + last.bytes);
        if in_one_piece.is_some() && arguments.len() != bytes as usize {
            let why = format!("{} bytes of arguments, of {bytes} that it takes", arguments.len());
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        for (number, parameter) in kernel.parameters.iter().enumerate() {
            if in_one_piece.is_some() {
                break;
            }
            let (offset, bytes) = (parameter.offset as usize, parameter.bytes as usize);
            arguments.resize(offset + bytes, 0);
            let place = parameters.at(number)?;
            if !host::may_be_address(place) {
                let (name, all) = (&kernel.name, kernel.parameters.len());
                let why = format!(
                    "{name} has {all} parameters, and the launch passes no pointer to parameter \
                     {}: is an argument missing?",
                    number + 1
                );
                return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
            }
            // SAFETY: the API asks for a pointer to each parameter, as large as it is.
            unsafe { host::read(place, &mut arguments[offset..]) };
        }
        let launch = KernelLaunch {
            module: module.clone(),
            kernel: kernel.name.clone(),
            gpu,
            grid: shape.grid,
            block: shape.block,
            shared_bytes: shape.shared_bytes,
            arguments,
            print_bytes: self.print_bytes(queue),
        };
        self.check_pointers(&launch, queue)?;
        self.enqueue(queue, Work::Launch(Arc::new(launch)))
    }

    /// What a GPU cannot start at all.
    fn check_shape(&self, function: usize, shape: &Shape) -> Answer {
        let (function, _, kernel) = self.function(function)?;
        let Shape { grid, block, shared_bytes } = shape;
        let most = u64::from(kernel.max_threads.unwrap_or(gpu::BLOCK_THREADS));
        for (what, sizes, most_each, in_all) in [
            ("grid", grid, &gpu::GRID, String::new()),
            ("block", block, &gpu::BLOCK, format!(", and {most} threads in all")),
        ] {
            if !sizes.iter().zip(most_each).all(|(size, most)| (1..=*most).contains(size)) {
                let [sizes, most] =
                    [sizes, most_each].map(|of| of.map(|n| n.to_string()).join(" × "));
                let why = format!("a {what} of {sizes}; it may have 1 × 1 × 1 to {most}{in_all}");
                return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
            }
        }
        let threads = block.iter().map(|size| u64::from(*size)).product::<u64>();
        if threads > most {
            let why = format!("{threads} threads in a block of {}, at most {most}", kernel.name);
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        if *shared_bytes > function.most_dynamic_bytes {
            let why = format!(
                "{shared_bytes} bytes of dynamic shared memory for {}, which may have {}",
                kernel.name, function.most_dynamic_bytes
            );
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        Ok(())
    }

    /// All GPUs share one emulated memory, so what a kernel may not reach has to be found
    /// here: an argument that leads to memory of a GPU without access to it.
    fn check_pointers(&mut self, launch: &KernelLaunch, queue: u32) -> Answer {
        let numbers = launch
            .arguments
            .chunks_exact(8)
            .map(|bytes| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)));
        let context = self.context_of(queue);
        for number in numbers {
            let Some((owner, name)) = self.memory.device_behind(number) else {
                continue;
            };
            if owner != launch.gpu && !self.has_access(context, owner, number) {
                let why = format!(
                    "{} on GPU {} is given {name} of GPU {owner}, to which it has no access",
                    launch.kernel, launch.gpu
                );
                return self.refuse(CUDA_ERROR_ILLEGAL_ADDRESS, &why);
            }
        }
        Ok(())
    }
}

api! {
    fn cuLaunchKernel(
        session, function: usize, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint,
        stream: usize, parameters: In<usize>, extra: In<usize>,
    ) {
        let grid = [grid_x, grid_y, grid_z];
        let block = [block_x, block_y, block_z];
        let shape = Shape { grid, block, shared_bytes };
        session.launch(function, shape, stream, &parameters, &extra)?;
    }

    fn cuLaunchKernelEx(
        session, configuration: In<Configuration>, function: usize, parameters: In<usize>,
        extra: In<usize>,
    ) {
        let Configuration { grid, block, shared_bytes, stream, attribute_count, .. } =
            configuration.get()?;
        if attribute_count != 0 {
            return session.refuse(CUDA_ERROR_NOT_SUPPORTED, "launches with attributes");
        }
        let shape = Shape { grid, block, shared_bytes };
        session.launch(function, shape, stream, &parameters, &extra)?;
    }
}
