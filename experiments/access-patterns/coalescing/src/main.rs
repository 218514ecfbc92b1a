//! # What does it cost when neighbouring threads use addresses that lie apart?
//!
//! A GPU runs one small function, a *kernel*, in millions of threads. Here thread i uses
//! element i * stride + offset of a long array (see `kernels/coalescing.cu`). This
//! program runs on the *host*. It queues copies and kernels in a *stream*, and the GPU
//! works them off in order.
//!
//! Threads run in *warps* of 32, which run one instruction together. When it is a load
//! or a store, the hardware gathers the 32 addresses into one *request*, which moves
//! every *sector* (32 bytes, aligned) that any of them touches between the
//! multiprocessor and the L2 cache. Below, a box is a sector of 8 floats and a digit the
//! thread that uses one:
//!
//! ```text
//! stride 1:  |01234567|89abcdef|…   8 of 8 floats used
//! stride 2:  |0.1.2.3.|4.5.6.7.|…   4 of 8
//! stride 8:  |0.......|1.......|…   1 of 8: each thread has a sector to itself
//! ```
//!
//! Four kinds of kernel: `gather` reads apart and writes densely, `scatter` reads densely
//! and writes apart, `read` only reads and `write` only writes. All cases but the trap
//! use the same number of bytes.
//!
//! **Prediction:** time follows the bytes that move, not the bytes that are asked for.
//! At stride 1 `gather` moves 4 bytes in and 4 out for each element, at stride 8 it moves
//! 32 in and 4 out. So at stride 1 the useful bytes reach the memory's peak, at stride 8
//! they reach 8/36 = 22 % of it, and there they stay, however far apart the elements
//! lie. `scatter` touches as many sectors, so it is as fast as `gather`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaModule, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
    sys::CUlimit,
};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "coalescing",
    source: include_str!("../../../../kernels/coalescing.cu"),
    ptx: include_str!("../../../../kernels/ptx/coalescing.ptx"),
};

/// Four kinds of access to elements of 4 bytes, and copies of other widths.
const KINDS: [(&str, usize); 4] =
    [("gather4", 4), ("scatter4", 4), ("read4", 4), ("write4", 4)];
const WIDTHS: [(&str, usize); 5] = [
    ("gather1", 1),
    ("gather2", 2),
    ("gather4", 4),
    ("gather8", 8),
    ("gather16", 16),
];
const STRIDES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const OFFSETS: [usize; 8] = [0, 1, 2, 4, 7, 8, 16, 32];
const FETCHES: [usize; 3] = [32, 64, 128];
const LARGEST_STRIDE: usize = 64;
const LARGEST_OFFSET: usize = 32;
const SECTOR_BYTES: usize = 32;
const WORD_BYTES: usize = 4;
const WARP: usize = 32;

fn main() -> ExitCode {
    let question =
        "What does it cost when neighbouring threads use addresses apart?";
    lab::run("coalescing", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two arrays. The dense one alone is four times the L2 cache, so that no case can
    //    live in it; the other is 64 times as long, for the largest stride. A GPU with
    //    too little memory for that gets less of both.
    let stream = lab.context().new_stream()?;
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.quick() { 4 } else { 1 };
    let affordable = lab.free_bytes()? / 2 / (WORD_BYTES * (LARGEST_STRIDE + 1));
    let words = wanted.min((affordable + 1).next_power_of_two() / 2);
    let mut arrays = Arrays {
        apart: stream.alloc_zeros(words * LARGEST_STRIDE + 4 * LARGEST_OFFSET)?,
        dense: stream.alloc_zeros(words)?,
        module: lab.module()?.clone(),
        stream: stream.clone(),
    };

    // 2. What all cases are made from: element after element, one for each thread.
    let fetch_limit = CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
    let usual_fetch = lab.context().get_limit(fetch_limit).ok();
    let plain = |(kernel, access_bytes)| Shape {
        kernel,
        access_bytes,
        threads: words * WORD_BYTES / access_bytes,
        count: words * WORD_BYTES / access_bytes,
        stride: 1,
        offset: 0,
        fetch_bytes: usual_fetch.unwrap_or(0).max(SECTOR_BYTES),
    };
    let gather4 = plain(("gather4", 4));
    let gather16 = plain(("gather16", 16));
    //    Threads that stay: as many as the GPU holds, each with one load at a time.
    let held = lab.resident_threads()?;
    let resident = Shape { kernel: "gather4_resident", threads: held, ..gather4 };

    // 3. A size that no block divides, at an odd stride and offset (but for elements
    //    narrower than the words that are compared): the edges are right. And `read4`
    //    marks every word of an array that holds nothing right.
    for shape in KINDS.into_iter().chain(WIDTHS).map(plain).chain([resident]) {
        let threads = shape.threads.min(100_003);
        let count = shape.count.min(100_003);
        let narrow = shape.access_bytes < WORD_BYTES;
        let (stride, offset) = if narrow { (1, 0) } else { (3, 5) };
        let ragged = Shape { threads, count, stride, offset, ..shape };
        arrays.prepare(&ragged)?;
        let kernel = arrays.kernel(ragged.kernel)?;
        arrays.launch(&kernel, &ragged)?;
        arrays.check(&ragged)?;
    }
    let read4 = Shape { count: 1000, offset: 1, ..plain(("read4", 4)) };
    stream.memset_zeros(&mut arrays.apart)?;
    let kernel = arrays.kernel(read4.kernel)?;
    arrays.launch(&kernel, &read4)?;
    let marks = stream.clone_dtoh(&arrays.dense.slice(..read4.count))?;
    check::every_element("marks in a cleared array", &marks, |_| 1)?;

    // 4. What to measure: strides, widths and offsets.
    let mut cases = Vec::new();
    for stride in STRIDES {
        for shape in KINDS.map(plain).into_iter().chain([gather16]) {
            let case = Case::new("stride").with("stride", stride);
            cases.push((case, Shape { stride, ..shape }));
        }
    }
    for shape in WIDTHS.map(plain) {
        cases.push((Case::new("width"), shape));
    }
    for offset in OFFSETS {
        for shape in [gather4, plain(("scatter4", 4)), gather16] {
            let case = Case::new("offset").with("offset", offset);
            cases.push((case, Shape { offset, ..shape }));
        }
    }
    //    Other *fetch granularities*: how many bytes the L2 cache asks the memory for
    //    when it misses. A program may hint at that.
    for fetch_bytes in FETCHES {
        let case = Case::new("fetch").with("fetch_bytes", fetch_bytes);
        if usual_fetch.is_none() {
            lab.skip(case, "this driver does not let a program choose");
            continue;
        }
        for stride in STRIDES.into_iter().filter(|stride| *stride >= 4) {
            let case = case.clone().with("stride", stride);
            cases.push((case, Shape { stride, fetch_bytes, ..gather4 }));
        }
    }
    cases.push((Case::new("resident"), resident));
    // ANCHOR: trap
    //    And the trap: an input that is not lengthened for the stride, with a guard
    //    that keeps the kernel inside it. All threads start, 1 in `stride` works.
    for stride in [1, 2, 4, 8, 16, 32] {
        let case = Case::new("skipping").with("stride", stride);
        cases.push((case, Shape { stride, count: words / stride, ..gather4 }));
    }
    // ANCHOR_END: trap

    for (case, shape) in cases {
        if usual_fetch.is_some() {
            lab.context().set_limit(fetch_limit, shape.fetch_bytes)?;
        }

        // 5. Time it: the closure runs many times between two time stamps that the GPU
        //    takes. What the kernel writes is cleared first, so that an element which it
        //    does not write shows in the check.
        arrays.prepare(&shape)?;
        let kernel = arrays.kernel(shape.kernel)?;
        let samples =
            lab.time_on_gpu(&stream, |_| arrays.launch(&kernel, &shape))?;
        let checked = arrays.check(&shape)?;

        // 6. Record what was asked for, and beside it what the model says: by sectors
        //    alone, and by what the L2 cache fetches.
        let (useful_read, useful_written) = shape.useful_bytes();
        let (read, written) = shape.moved_bytes(shape.fetch_bytes);
        let mut case = case
            .with("kind", shape.kind())
            .with("access_bytes", shape.access_bytes)
            .reads(useful_read)
            .writes(useful_written)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(read + written, lab.l2_bytes())
            .model("sectors_per_request", shape.sectors_per_request() as f64)
            .model("dram_read_bytes", read as f64)
            .model("dram_write_bytes", written as f64)
            .checked(checked)
            .samples(samples);
        if let Some(peak) = lab.memory_peak() {
            let bound =
                |fetch_bytes| peak * shape.useful_share_of_moved(fetch_bytes);
            case = case
                .model("sector_bound_bytes_per_second", bound(SECTOR_BYTES))
                .model("fetch_bound_bytes_per_second", bound(shape.fetch_bytes));
        }
        lab.record(case)?;
    }

    // 7. Starting the threads: as many as at stride 1, which do nothing.
    let idle = arrays.kernel("idle")?;
    let samples = lab.time_on_gpu(&stream, |_| arrays.launch(&idle, &gather4))?;
    lab.record(Case::new("idle").samples(samples))
}

/// One case: `count` elements of `access_bytes`, `stride` apart, from `offset` on, with
/// an L2 cache that fetches `fetch_bytes` at a time. Threads past `count` do nothing.
#[derive(Clone, Copy)]
struct Shape {
    kernel: &'static str,
    access_bytes: usize,
    threads: usize,
    count: usize,
    stride: usize,
    offset: usize,
    fetch_bytes: usize,
}

impl Shape {
    /// The kernel's name without the width: `gather`, `scatter`, `read` or `write`.
    fn kind(&self) -> &'static str {
        self.kernel.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default()
    }

    /// Bytes that are asked for: read, and written.
    fn useful_bytes(&self) -> (usize, usize) {
        let bytes = self.count * self.access_bytes;
        match self.kind() {
            "read" => (bytes, 0),
            "write" => (0, bytes),
            _ => (bytes, bytes),
        }
    }

    // ANCHOR: model
    /// The model: how many sectors the 32 threads of a warp touch with one access. An
    /// element lies within one sector, because its width divides 32.
    fn sectors_per_request(&self) -> usize {
        let address = |lane| (lane * self.stride + self.offset) * self.access_bytes;
        let sectors = (0..WARP).map(|lane| address(lane) / SECTOR_BYTES);
        sectors.collect::<BTreeSet<_>>().len()
    }

    /// Bytes that the elements apart occupy if memory comes in granules: each drags its
    /// granule along, unless it shares it with its neighbours.
    fn in_granules(&self, granule_bytes: usize) -> usize {
        self.count * (self.stride * self.access_bytes).min(granule_bytes)
    }

    /// Bytes that the memory has to read, and to write. A load that misses the L2 cache
    /// reads a whole fetch. A store ends in whole sectors; one that was filled only in
    /// part has to be read first.
    fn moved_bytes(&self, fetch_bytes: usize) -> (usize, usize) {
        let dense = self.count * self.access_bytes;
        let loaded = self.in_granules(fetch_bytes);
        let stored = self.in_granules(SECTOR_BYTES);
        let read_first = if self.stride == 1 { 0 } else { stored };
        match self.kind() {
            "gather" => (loaded, dense),
            "scatter" => (dense + read_first, stored),
            "read" => (loaded, 0),
            _ => (read_first, stored),
        }
    }

    /// Bytes that are asked for, over bytes that move.
    fn useful_share_of_moved(&self, fetch_bytes: usize) -> f64 {
        let both = |(read, written)| (read + written) as f64;
        both(self.useful_bytes()) / both(self.moved_bytes(fetch_bytes))
    }
    // ANCHOR_END: model
}

/// The array that is used apart, and the one that is used densely.
struct Arrays {
    apart: CudaSlice<u32>,
    dense: CudaSlice<u32>,
    module: Arc<CudaModule>,
    stream: Arc<CudaStream>,
}

impl Arrays {
    fn kernel(&self, name: &str) -> Result<CudaFunction> {
        Ok(self.module.load_function(name)?)
    }

    /// Fills the array that the kernel reads and clears the one that it writes.
    fn prepare(&mut self, shape: &Shape) -> Result<()> {
        let (read, written) = match shape.kind() {
            "gather" | "read" => (&mut self.apart, &mut self.dense),
            _ => (&mut self.dense, &mut self.apart),
        };
        self.stream.memset_zeros(written)?;
        let (fill, count) = (self.module.load_function("fill")?, read.len());
        let mut launch = self.stream.launch_builder(&fill);
        launch.arg(read).arg(&count);
        // SAFETY: `fill` takes (pointer, count) and writes `count` words.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1 << 20)) }?;
        Ok(())
    }

    fn launch(&mut self, kernel: &CudaFunction, shape: &Shape) -> Result<()> {
        // A launch starts a grid of blocks: here of 256 threads each, and enough blocks
        // for all threads. Those past `count` return at once.
        let config = LaunchConfig {
            grid_dim: (shape.threads.div_ceil(256) as u32, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(kernel);
        launch
            .arg(&mut self.apart)
            .arg(&mut self.dense)
            .arg(&shape.count)
            .arg(&shape.stride)
            .arg(&shape.offset);
        // SAFETY: the kernel takes (apart, dense, count, stride, offset). `apart` holds
        // count * stride elements and the largest offset, `dense` holds `count`.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    /// Compares every element. What was written apart is gathered first; what `read`
    /// marked must be nothing.
    fn check(&mut self, shape: &Shape) -> Result<u64> {
        let Shape { kernel, access_bytes, count, stride, offset, .. } = *shape;
        let (reads, gathers) = (shape.kind() == "read", shape.kind() == "gather");
        if !reads && !gathers {
            self.stream.memset_zeros(&mut self.dense)?;
            let gather4 = self.kernel("gather4")?;
            self.launch(&gather4, shape)?;
        }
        // dtoh: from the device (the GPU) to the host.
        let words = count * access_bytes / WORD_BYTES;
        let got = self.stream.clone_dtoh(&self.dense.slice(..words))?;
        let words_each = access_bytes.div_ceil(WORD_BYTES);
        let what = format!("{kernel} stride {stride} offset {offset}");
        check::every_element(&what, &got, |word| {
            let element = word / words_each * stride + offset;
            let apart = element * words_each + word % words_each;
            let place = if gathers { apart } else { word };
            if reads { 0 } else { (place as u32).wrapping_mul(2_654_435_761) }
        })
    }
}
