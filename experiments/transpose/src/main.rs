//! # How fast can a matrix be turned on its side?
//!
//! A transpose computes nothing: it reads every element once and writes it once, as a
//! copy does. So a copy is its ceiling. But rows become columns, so of the two accesses
//! one runs along memory and the other jumps by a whole row:
//!
//! ```text
//! read_coalesced    reads rows (4 sectors a request), writes columns (32)
//! write_coalesced   reads columns (32), writes rows (4)
//! tile              reads rows into shared memory, writes rows out of it (4 and 4)
//! tile_padded       the same, without 32 threads waiting for one bank
//! ```
//!
//! **Prediction:** a jumping access moves 32 bytes for each 4 that are used. If nothing
//! helped, a naive transpose would move (4 + 32) bytes an element where the copy moves
//! 8, and reach 8/36 = 22 % of the copy. The tile reaches the copy but for its bank
//! conflicts, and padding removes those.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "transpose",
    source: include_str!("../../../kernels/transpose.cu"),
    ptx: include_str!("../../../kernels/ptx/transpose.ptx"),
};

/// Sides of the square matrices. The chapter has the first; the others are there
/// because a GPU's L2 cache may hold much of it.
const SIDES: [usize; 3] = [4096, 8192, 16384];
const KERNELS: [&str; 4] =
    ["read_coalesced", "write_coalesced", "tile", "tile_padded"];
const TILE: usize = 32;

fn main() -> ExitCode {
    let question = "How fast can a matrix be turned on its side?";
    lab::run("transpose", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels.
    let stream = lab.context().new_stream()?;
    let idle = lab.module()?.load_function("idle")?;
    let mut transposes = Vec::new();
    for name in KERNELS {
        transposes.push((name, lab.module()?.load_function(name)?));
    }

    // 2. A shape that no tile divides: rectangular, with ragged edges on both sides.
    let ragged = Shape { width: 1000, height: 777 };
    let input = stream.clone_htod(&ragged.input())?;
    for (name, transpose) in &transposes {
        let mut output = stream.alloc_zeros::<u32>(ragged.elements())?;
        ragged.launch(&stream, transpose, &input, &mut output)?;
        ragged.check(&stream, &output, name)?;
    }

    // 3. The square matrices. Each turn takes the next of several pairs of buffers, so
    //    that the turns of one sample touch at least four times the L2 cache and no
    //    transpose finds its data there from the turn before.
    let sides = if lab.quick() { &SIDES[..1] } else { &SIDES[..] };
    for &side in sides {
        let square = Shape { width: side, height: side };
        let bytes = square.elements() * size_of::<u32>();
        let pairs = (4 * lab.l2_bytes()).div_ceil(2 * bytes);
        let needed = pairs * 2 * bytes;
        if needed > lab.free_bytes()? / 10 * 9 {
            let reason = format!("needs {} MiB of free device memory", needed >> 20);
            lab.skip(Case::new("all").with("side", side), reason);
            continue;
        }
        let host = square.input();
        let inputs = (0..pairs)
            .map(|_| stream.clone_htod(&host))
            .collect::<Result<Vec<_>, _>>()?;
        let new_output = |_| stream.alloc_zeros::<u32>(square.elements());
        let mut outputs =
            (0..pairs).map(new_output).collect::<Result<Vec<_>, _>>()?;

        let l2_bytes = lab.l2_bytes();
        let case = |name: &str| {
            Case::new(name)
                .with("side", side)
                .reads(bytes)
                .writes(bytes)
                .ceiling(Ceiling::DeviceMemory)
                .footprint(needed, l2_bytes)
        };

        // 4. The ceiling: the driver's own copy of the same bytes.
        let samples = lab.time_on_gpu(&stream, |turn| {
            Ok(stream
                .memcpy_dtod(&inputs[turn % pairs], &mut outputs[turn % pairs])?)
        })?;
        let mut checked = 0;
        for output in &outputs {
            let got = stream.clone_dtoh(output)?;
            checked += check::every_element("driver_copy", &got, |i| host[i])?;
        }
        let copied = case("driver_copy").checked(checked).samples(samples);
        lab.record(copied)?;

        // 5. Starting the threads: a kernel that does nothing, in the same grid.
        let samples = lab.time_on_gpu(&stream, |turn| {
            let (input, output) =
                (&inputs[turn % pairs], &mut outputs[turn % pairs]);
            square.launch(&stream, &idle, input, output)
        })?;
        lab.record(Case::new("idle").with("side", side).samples(samples))?;

        // 6. The transposes, each against cleared outputs and checked in every one.
        for (name, transpose) in &transposes {
            for output in &mut outputs {
                stream.memset_zeros(output)?;
            }
            let samples = lab.time_on_gpu(&stream, |turn| {
                let (input, output) =
                    (&inputs[turn % pairs], &mut outputs[turn % pairs]);
                square.launch(&stream, transpose, input, output)
            })?;
            let mut checked = 0;
            for output in &outputs {
                checked += square.check(&stream, output, name)?;
            }
            let transposed = case(name).checked(checked).samples(samples);
            lab.record(transposed)?;
        }
    }
    Ok(())
}

/// A matrix of `height` rows of `width` elements.
struct Shape {
    width: usize,
    height: usize,
}

impl Shape {
    fn elements(&self) -> usize {
        self.width * self.height
    }

    /// Element i holds i times an odd constant: all different, so that an element in a
    /// wrong place shows, and never zero but for the first, so that a missing one does.
    fn value(i: usize) -> u32 {
        (i as u32).wrapping_mul(2_654_435_761)
    }

    fn input(&self) -> Vec<u32> {
        (0..self.elements()).map(Self::value).collect()
    }

    // ANCHOR: launch
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        transpose: &CudaFunction,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let (width, height) = (self.width as u32, self.height as u32);
        let config = LaunchConfig {
            grid_dim: (width.div_ceil(TILE as u32), height.div_ceil(TILE as u32), 1),
            block_dim: (TILE as u32, TILE as u32, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(transpose);
        launch.arg(input).arg(output).arg(&width).arg(&height);
        // SAFETY: the kernel takes (in, out, width, height) and stays within both
        // buffers, which hold width * height elements each.
        unsafe { launch.launch(config) }?;
        Ok(())
    }
    // ANCHOR_END: launch

    /// Row x, column y of the output must be row y, column x of the input.
    fn check(
        &self,
        stream: &Arc<CudaStream>,
        output: &CudaSlice<u32>,
        what: &str,
    ) -> Result<u64> {
        let got = stream.clone_dtoh(output)?;
        check::every_element(what, &got, |i| {
            let (x, y) = (i / self.height, i % self.height);
            Self::value(y * self.width + x)
        })
    }
}
