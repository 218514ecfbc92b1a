//! # What does it cost when neighbouring threads read addresses that lie apart?
//!
//! A GPU runs one small function, a *kernel*, in millions of threads. Here thread i does
//! `out[i] = in[i * stride + offset]` (see `kernels/coalescing.cu`). This program runs on
//! the *host*. It queues copies and kernels in a *stream*, and the GPU works them off in
//! order.
//!
//! Threads run in *warps* of 32, which run one instruction together. When it is a load,
//! the hardware gathers the 32 addresses into one *request* and takes from the L2 cache
//! every *sector* (32 bytes, aligned) that any of them touches, always whole. What the
//! L2 cache lacks comes from the GPU's memory. Below, a box is a sector of 8 floats and
//! a digit the thread that reads:
//!
//! ```text
//! stride 1:  |01234567|89abcdef|…   8 of 8 floats used
//! stride 2:  |0.1.2.3.|4.5.6.7.|…   4 of 8
//! stride 8:  |0.......|1.......|…   1 of 8: each thread has a sector to itself
//! ```
//!
//! All cases but the trap read the same number of useful bytes and write them densely.
//!
//! **Prediction:** time follows the bytes that move, not the bytes that are asked for.
//! At stride 1 each element moves 4 bytes in and 4 out, at stride 8 it moves 32 in and
//! 4 out. So at stride 1 the useful bytes reach the memory's peak, at stride 8 they
//! reach 8/36 = 22 % of it, and there they stay, however far apart the elements lie.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg, sys::CUlimit,
};
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
const FETCHES: [usize; 3] = [32, 64, 128];
const WORD_BYTES: usize = 4;

fn main() -> ExitCode {
    let question =
        "What does it cost when neighbouring threads read addresses apart?";
    lab::run("coalescing", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels: `gather4` takes elements of 4 bytes, `gather16` of 16.
    let stream = lab.context().new_stream()?;
    let fill = lab.module()?.load_function("fill")?;
    let gather4 = lab.module()?.load_function("gather4")?;
    let gather16 = lab.module()?.load_function("gather16")?;
    let resident = lab.module()?.load_function("gather4_resident")?;
    let gather = |access_bytes| if access_bytes == 4 { &gather4 } else { &gather16 };

    // 2. Input. The useful data alone is four times the L2 cache, so that no case
    //    can live in it; at the largest stride the input is 64 times as long. A GPU with
    //    too little memory for that gets less of both.
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.quick() { 4 } else { 1 };
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
    let fetch_limit = CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
    let usual_fetch = lab.context().get_limit(fetch_limit).ok();
    let dense = |access_bytes| Shape {
        access_bytes,
        threads: words * WORD_BYTES / access_bytes,
        count: words * WORD_BYTES / access_bytes,
        stride: 1,
        offset: 0,
        fetch_bytes: usual_fetch.unwrap_or(0).max(SECTOR_BYTES),
    };
    for (access_bytes, kernel, threads) in
        [(4, &gather4, 100_003), (16, &gather16, 100_003), (4, &resident, 1_000)]
    {
        let usual = dense(access_bytes);
        let count = usual.count.min(100_003);
        let ragged = Shape { threads, count, stride: 3, offset: 5, ..usual };
        stream.memset_zeros(&mut output)?;
        ragged.launch(&stream, kernel, &input, &mut output)?;
        ragged.check(&stream, &output)?;
    }

    // 4. What to measure: all strides at offset 0, all offsets at stride 1, and the
    //    strides again with other *fetch granularities*: how many bytes the L2 cache
    //    asks the memory for when it misses. A program may hint at that.
    let mut cases = Vec::new();
    for access_bytes in [4, 16] {
        let case = |name| Case::new(name).with("access_bytes", access_bytes);
        for stride in STRIDES {
            let shape = Shape { stride, ..dense(access_bytes) };
            let case = case("stride").with("stride", stride);
            cases.push((case, shape, gather(access_bytes)));
        }
        for offset in 0..=LARGEST_OFFSET {
            let shape = Shape { offset, ..dense(access_bytes) };
            let case = case("offset").with("offset", offset);
            cases.push((case, shape, gather(access_bytes)));
        }
    }
    for fetch_bytes in FETCHES {
        let case = Case::new("fetch").with("fetch_bytes", fetch_bytes);
        if usual_fetch.is_none() {
            lab.skip(case, "this driver does not let a program choose");
            continue;
        }
        for stride in STRIDES {
            let shape = Shape { stride, fetch_bytes, ..dense(4) };
            cases.push((case.clone().with("stride", stride), shape, &gather4));
        }
    }
    //    Threads that stay: as many as the GPU holds, each with one load at a time.
    let held = lab.resident_threads()?;
    let shape = Shape { threads: held, ..dense(4) };
    cases.push((Case::new("resident"), shape, &resident));
    // ANCHOR: trap
    //    And the trap: an input that is not lengthened for the stride, with a guard
    //    that keeps the kernel inside it. All threads start, 1 in `stride` works.
    for stride in [1, 2, 4, 8, 16, 32] {
        let shape = Shape { stride, count: words / stride, ..dense(4) };
        cases.push((Case::new("skipping").with("stride", stride), shape, &gather4));
    }
    // ANCHOR_END: trap

    for (case, shape, kernel) in cases {
        if usual_fetch.is_some() {
            lab.context().set_limit(fetch_limit, shape.fetch_bytes)?;
        }

        // 5. Time it: the closure runs many times between two time stamps that the GPU
        //    takes. The output is cleared first, so that an element which the kernel
        //    does not write shows in the check.
        stream.memset_zeros(&mut output)?;
        let samples = lab.time_on_gpu(&stream, |_| {
            shape.launch(&stream, kernel, &input, &mut output)
        })?;
        let checked = shape.check(&stream, &output)?;

        // 6. Record what was asked for, and beside it what the model says: by sectors
        //    alone, and by what the L2 cache fetches.
        let bytes = shape.count * shape.access_bytes;
        let mut case = case
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(bytes + shape.read_in_granules(SECTOR_BYTES), lab.l2_bytes())
            .model("sectors_per_request", shape.sectors_per_request() as f64)
            .checked(checked)
            .samples(samples);
        if let Some(peak) = lab.memory_peak() {
            let bound = |granule| peak * shape.useful_share_of_moved(granule);
            case = case
                .model("sector_bound_bytes_per_second", bound(SECTOR_BYTES))
                .model("fetch_bound_bytes_per_second", bound(shape.fetch_bytes));
        }
        lab.record(case)?;
    }
    Ok(())
}

/// One case: `count` elements of `access_bytes`, `stride` apart, from `offset` on, with
/// an L2 cache that fetches `fetch_bytes` at a time. Threads past `count` do nothing.
struct Shape {
    access_bytes: usize,
    threads: usize,
    count: usize,
    stride: usize,
    offset: usize,
    fetch_bytes: usize,
}

impl Shape {
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        gather: &CudaFunction,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        // A launch starts a grid of blocks: here of 256 threads each, and enough blocks
        // for all threads. Those past `count` return at once.
        let config = LaunchConfig {
            grid_dim: (self.threads.div_ceil(256) as u32, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(gather);
        launch
            .arg(input)
            .arg(output)
            .arg(&self.count)
            .arg(&self.stride)
            .arg(&self.offset);
        // SAFETY: the kernel takes (in, out, count, stride, offset). The input holds
        // count * stride elements and the largest offset, the output holds `count`.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    // ANCHOR: model
    /// The model: how many sectors the 32 threads of a warp touch with one load. An
    /// element lies within one sector, because 4 and 16 divide 32.
    fn sectors_per_request(&self) -> usize {
        let address = |lane| (lane * self.stride + self.offset) * self.access_bytes;
        let sectors = (0..WARP).map(|lane| address(lane) / SECTOR_BYTES);
        sectors.collect::<BTreeSet<_>>().len()
    }

    /// Bytes that are read if memory comes in granules: an element drags its granule
    /// along, unless it shares it with its neighbours.
    fn read_in_granules(&self, granule_bytes: usize) -> usize {
        self.count * (self.stride * self.access_bytes).min(granule_bytes)
    }

    /// Bytes that are asked for, over bytes that move. The dense write moves only what
    /// it writes.
    fn useful_share_of_moved(&self, granule_bytes: usize) -> f64 {
        let useful = self.count * self.access_bytes;
        let moved = self.read_in_granules(granule_bytes) + useful;
        (useful + useful) as f64 / moved as f64
    }
    // ANCHOR_END: model

    /// Every output word must be the input word that `fill` put at its place.
    fn check(
        &self,
        stream: &Arc<CudaStream>,
        output: &CudaSlice<u32>,
    ) -> Result<u64> {
        let words_each = self.access_bytes / WORD_BYTES;
        // dtoh: from the device (the GPU) to the host.
        let got = stream.clone_dtoh(&output.slice(..self.count * words_each))?;
        let what = format!("stride {} offset {}", self.stride, self.offset);
        check::every_element(&what, &got, |word| {
            let element = word / words_each * self.stride + self.offset;
            let place = element * words_each + word % words_each;
            (place as u32).wrapping_mul(2_654_435_761)
        })
    }
}
