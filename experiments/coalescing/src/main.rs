//! # What does it cost when neighbouring threads read addresses that lie apart?
//!
//! A warp is 32 threads that run one instruction together. When that instruction is a
//! load, the hardware gathers the 32 addresses into one *request* and fetches every
//! *sector* (32 bytes, aligned) that any of them touches. It fetches whole sectors, so
//! a warp that uses 4 bytes of each pays for 32.
//!
//! Every arm of this experiment reads the same number of useful bytes and writes them
//! densely. Only the distance between the elements changes:
//!
//! ```text
//! stride 1:  |0123|4567|89ab|cdef|…     8 floats used of each sector of 8
//! stride 2:  |0.1.|2.3.|4.5.|6.7.|…     4 of 8
//! stride 8:  |0...|....|1...|....|…     1 of 8: it cannot get worse than this
//! ```
//!
//! **Prediction:** time follows the bytes that move, not the bytes that are asked for.
//! At stride 1 each element moves 4 bytes in and 4 out; at stride 8 it moves 32 in and
//! 4 out. So the effective bandwidth at stride 8 is 8/36 = 22 % of what it is at
//! stride 1, and from there on it stays, however far apart the elements lie.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "coalescing",
    source: include_str!("../../../kernels/coalescing.cu"),
    ptx: include_str!("../../../kernels/ptx/coalescing.ptx"),
};

const STRIDES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64];
const LARGEST_STRIDE: usize = 64;
const LARGEST_OFFSET: usize = 32;
const WARP: usize = 32;
const SECTOR_BYTES: usize = 32;
const WORD_BYTES: usize = 4;

fn main() -> ExitCode {
    let question = "What does it cost when neighbouring threads read addresses apart?";
    lab::run("coalescing", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels. Both kernels do out[i] = in[i * stride + offset]: one with
    //    elements of 4 bytes, one with elements of 16.
    let stream = lab.context().new_stream()?;
    let fill = lab.module()?.load_function("fill")?;
    let gathers = [
        (4, lab.module()?.load_function("gather4")?),
        (16, lab.module()?.load_function("gather16")?),
    ];

    // 2. Input. The useful data alone is four times the L2 cache, so that no arm can
    //    live in it; at the largest stride the input is 64 times as long. A GPU with
    //    too little memory for that gets less of both.
    let wanted = lab.l2_bytes().next_power_of_two() / if lab.quick() { 4 } else { 1 };
    let affordable = lab.free_bytes()? / 2 / (WORD_BYTES * (LARGEST_STRIDE + 1));
    let words = wanted.min((affordable + 1).next_power_of_two() / 2);
    let input_words = words * LARGEST_STRIDE + 4 * LARGEST_OFFSET;
    // SAFETY: `fill` writes every word before anything reads one.
    let mut input = unsafe { stream.alloc::<u32>(input_words) }?;
    let mut output = stream.alloc_zeros::<u32>(words)?;
    let mut launch = stream.launch_builder(&fill);
    launch.arg(&mut input).arg(&input_words);
    // SAFETY: `fill` takes (pointer, count) and writes `count` words.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1 << 20)) }?;

    // 3. A size that no block divides, at an odd stride and offset: the edges are right.
    for (access_bytes, gather) in &gathers {
        let count = 100_003.min(words * WORD_BYTES / access_bytes);
        let shape = Shape { access_bytes: *access_bytes, stride: 3, offset: 5, count };
        stream.memset_zeros(&mut output)?;
        shape.launch(&stream, gather, &input, &mut output)?;
        shape.check(&stream, &output)?;
    }

    // 4. The sweeps: all strides at offset 0, then all offsets at stride 1.
    for (access_bytes, gather) in &gathers {
        let access_bytes = *access_bytes;
        let count = words * WORD_BYTES / access_bytes;
        let strides = STRIDES.map(|stride| ("stride", stride, stride, 0));
        let offsets = (0..=LARGEST_OFFSET).map(|offset| ("offset", offset, 1, offset));
        for (case, value, stride, offset) in strides.into_iter().chain(offsets) {
            let shape = Shape { access_bytes, stride, offset, count };

            // 5. Time it. The output is cleared first, so that an element which the
            //    kernel does not write shows in the check.
            stream.memset_zeros(&mut output)?;
            let samples = lab.time_on_gpu(&stream, |_| {
                shape.launch(&stream, gather, &input, &mut output)
            })?;
            let checked = shape.check(&stream, &output)?;

            // 6. Record what was asked for, and beside it what the model says.
            let bytes = words * WORD_BYTES;
            let mut measured = Case::new(case)
                .with(case, value)
                .with("access_bytes", access_bytes)
                .reads(bytes)
                .writes(bytes)
                .ceiling(Ceiling::DeviceMemory)
                .footprint(2 * bytes, lab.l2_bytes())
                .model("sectors_per_request", shape.sectors_per_request() as f64)
                .checked(checked)
                .samples(samples);
            if let Some(peak) = lab.memory_peak() {
                let bandwidth = peak * shape.useful_share_of_traffic();
                measured = measured.model("bandwidth_bytes_per_second", bandwidth);
            }
            lab.record(measured)?;
        }
    }
    Ok(())
}

/// One arm: `count` elements of `access_bytes`, `stride` apart, from `offset` on.
struct Shape {
    access_bytes: usize,
    stride: usize,
    offset: usize,
    count: usize,
}

impl Shape {
    // ANCHOR: launch
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        gather: &CudaFunction,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let threads = 256;
        let config = LaunchConfig {
            grid_dim: (self.count.div_ceil(threads) as u32, 1, 1),
            block_dim: (threads as u32, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(gather);
        launch.arg(input).arg(output).arg(&self.count).arg(&self.stride).arg(&self.offset);
        // SAFETY: the kernel takes (in, out, count, stride, offset). The input holds
        // count * stride elements and the largest offset, the output holds `count`.
        unsafe { launch.launch(config) }?;
        Ok(())
    }
    // ANCHOR_END: launch

    // ANCHOR: model
    /// The model: how many sectors the 32 threads of a warp touch with one load. An
    /// element lies within one sector, because 4 and 16 divide 32.
    fn sectors_per_request(&self) -> usize {
        let address = |lane| (lane * self.stride + self.offset) * self.access_bytes;
        let sectors = (0..WARP).map(|lane| address(lane) / SECTOR_BYTES);
        sectors.collect::<BTreeSet<_>>().len()
    }

    /// Bytes that are asked for, over bytes that move: the read moves whole sectors,
    /// the dense write moves only what it writes.
    fn useful_share_of_traffic(&self) -> f64 {
        let useful = WARP * self.access_bytes;
        let moved = self.sectors_per_request() * SECTOR_BYTES;
        (useful + useful) as f64 / (moved + useful) as f64
    }
    // ANCHOR_END: model

    /// Every output word must be the input word that `fill` put at its place.
    fn check(&self, stream: &Arc<CudaStream>, output: &CudaSlice<u32>) -> Result<u64> {
        let words_each = self.access_bytes / WORD_BYTES;
        let got = stream.clone_dtoh(&output.slice(..self.count * words_each))?;
        let what = format!("stride {} offset {}", self.stride, self.offset);
        check::every_element(&what, &got, |word| {
            let element = word / words_each * self.stride + self.offset;
            let place = element * words_each + word % words_each;
            (place as u32).wrapping_mul(2_654_435_761)
        })
    }
}
