//! # How fast can a GPU read, write and copy?
//!
//! Four operations move whole arrays, word by word, in order: `read` (a), `write` (out),
//! `copy` (out = a) and `triad` (out = a + 3 b). Nothing could be simpler to write, and
//! yet the first copy reaches about half of what the memory can do. What matters:
//!
//! ```text
//! element   bytes that a thread moves with one instruction: 4 or 16
//! loads     elements that it asks for before it waits: 1 or 4
//! grid      one_shot: a block for every tile;  resident: as many as the GPU holds,
//!           each of which goes on to further tiles
//! ```
//!
//! Where the array lies matters more. Each multiprocessor has an L1 cache, all share the
//! L2 cache, and the memory stands behind that. So the four are also run over *working
//! sets* from tiny to many times the L2 cache, again and again: once such that a
//! multiprocessor always returns to its own share of the set, which its L1 cache may
//! still hold, and once such that it takes its neighbour's.
//!
//! **Prediction:** with enough bytes in flight all four reach 90 % of the memory's
//! theoretical peak on large arrays. A set that fits into the L1 caches is read at least
//! twice as fast as one that fits only into the L2 cache, and that at least twice as fast
//! as one that fits into neither.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
    sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    },
};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "device-bandwidth",
    source: include_str!("../../../../kernels/device-bandwidth.cu"),
    ptx: include_str!("../../../../kernels/ptx/device-bandwidth.ptx"),
};

/// Copy and triad for GPUs whose L2 cache takes wishes.
const KEPT: Kernel = Kernel {
    name: "device-bandwidth-kept",
    source: include_str!("../../../../kernels/device-bandwidth-kept.cu"),
    ptx: include_str!("../../../../kernels/ptx/device-bandwidth-kept.ptx"),
};

const WORD_BYTES: usize = 4;
/// Bytes of an element and elements for each thread: the versions of each kernel.
const VERSIONS: [(usize, usize); 3] = [(4, 1), (16, 1), (16, 4)];
const THREADS: usize = 256;
const LARGEST_ARRAY: usize = 4 << 30;
/// Elements of 16 bytes: a number that no tile divides.
const RAGGED: usize = 100_003;
/// Arrays are read back and checked piece by piece.
const PIECE: usize = 256 << 20;
/// Threads of a block that has a multiprocessor to itself.
const SET_THREADS: usize = 1024;
/// Tiles of each block, from 64 KiB on.
const SET_TILES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 112];
/// What one launch moves, about, so that it lasts.
const TRAFFIC: usize = 2 << 30;
/// Word i of an array holds i times a factor, and all words of an array differ.
const FACTOR: u32 = 2_654_435_761;
const FACTOR_OF_B: u32 = 2_246_822_519;
const FACTOR_OF_TRIAD: u32 = FACTOR.wrapping_add(FACTOR_OF_B.wrapping_mul(3));

fn main() -> ExitCode {
    let question = "How fast can a GPU read, write and copy?";
    lab::run("device-bandwidth", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels: each operation in three versions.
    let stream = lab.context().new_stream()?;
    let mut movers = Vec::new();
    for operation in OPERATIONS {
        for (element_bytes, loads) in VERSIONS {
            let name = format!("{}_{element_bytes}x{loads}", operation.name);
            let kernel = lab.module()?.load_function(&name)?;
            movers.push(Mover { operation, element_bytes, loads, kernel });
        }
    }
    let count = lab.context().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let multiprocessors = count as usize;

    // 2. Three arrays, as long as the memory allows, and one piece of pinned memory.
    let wanted = if lab.quick() { PIECE } else { LARGEST_ARRAY };
    let free = lab.free_bytes()?;
    let unit = PIECE.min((free / 8).next_power_of_two());
    let array = wanted.min(free / 4 / unit * unit);
    let new_array = || stream.alloc_zeros::<u32>(array / WORD_BYTES);
    // SAFETY: each piece is copied into it before it is looked at.
    let back =
        unsafe { lab.context().alloc_pinned_with_flags(PIECE / WORD_BYTES, 0) }?;
    let (a, b, out) = (new_array()?, new_array()?, new_array()?);
    let mut arrays = Arrays { a, b, out, back, stream: stream.clone() };
    let version = |name: &str, loads| {
        let found = |m: &&Mover| m.operation.name == name && m.loads == loads;
        movers.iter().find(found).expect("it is among the versions")
    };
    let writer = version("write", 4);
    let whole = writer.one_shot(array);
    writer.launch(&stream, &whole, &arrays.b, &arrays.out, &mut arrays.a, FACTOR)?;
    writer.launch(
        &stream,
        &whole,
        &arrays.a,
        &arrays.out,
        &mut arrays.b,
        FACTOR_OF_B,
    )?;

    // 3. A size that no tile divides, in several passes with few blocks.
    for mover in &movers {
        let ragged =
            Walk { bytes: 16 * RAGGED, threads: 96, blocks: 7, passes: 3, shift: 1 };
        arrays.clear()?;
        mover.run(&stream, &ragged, &mut arrays)?;
        arrays.check(mover, &ragged)?;
    }

    let (words, elements) = (array / WORD_BYTES, array / 16);
    let l2_bytes = lab.l2_bytes();
    let large = |name: &str, arrays_read: usize, arrays_written: usize| {
        let bytes = (arrays_read + arrays_written) * array;
        Case::new(name)
            .with("bytes", bytes)
            .reads(arrays_read * array)
            .writes(arrays_written * array)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(bytes, l2_bytes)
    };

    // 4. Large arrays, each used once: all versions, in both grids. `read` must add up
    //    what it has read and keep the sum, so its threads have to be few.
    for mover in &movers {
        let mut grids = vec![("resident", mover.resident(array, multiprocessors)?)];
        if mover.operation.writes > 0 {
            grids.push(("one_shot", mover.one_shot(array)));
        }
        for (grid, walk) in grids {
            let case = mover.case(mover.operation.name).with("grid", grid);
            mover.measure(lab, &stream, case, &walk, &mut arrays)?;
        }
    }

    // 5. Large arrays again: a copy whose blocks take their tiles from a queue, …
    let queue = lab.module()?.load_function("copy_queue")?;
    let blocks = version("copy", 4).resident(array, multiprocessors)?.blocks;
    let mut next = stream.alloc_zeros::<u32>(1)?;
    let mut copy_queue = |arrays: &mut Arrays, count: usize| {
        stream.memset_zeros(&mut next)?;
        let mut launch = stream.launch_builder(&queue);
        launch.arg(&arrays.a).arg(&mut arrays.out).arg(&count).arg(&mut next);
        // SAFETY: the kernel takes (a, out, count, next); the arrays hold `count`
        // elements of 16 bytes, and `next` is 0.
        unsafe { launch.launch(grid(blocks, THREADS)) }?;
        Ok(())
    };
    arrays.clear()?;
    copy_queue(&mut arrays, RAGGED)?;
    arrays.check_words(RAGGED * 4, FACTOR)?;
    arrays.clear()?;
    let samples = lab.time_on_gpu(&stream, |_| copy_queue(&mut arrays, elements))?;
    let checked = arrays.check_words(words, FACTOR)?;
    lab.record(large("copy_queue", 1, 1).checked(checked).samples(samples))?;

    //    … a copy and a triad that ask the L2 cache to keep what they read, …
    let kept = lab.load(KEPT)?;
    for (name, arrays_read, factor) in
        [("copy_kept", 1, FACTOR), ("triad_kept", 2, FACTOR_OF_TRIAD)]
    {
        let case = large(name, arrays_read, 1);
        let Some(kept) = &kept else {
            lab.skip(case, "this GPU's L2 cache takes no such wishes");
            continue;
        };
        let kernel = kept.load_function(name)?;
        let launch = |arrays: &mut Arrays, count: usize| {
            let mut launch = stream.launch_builder(&kernel);
            launch.arg(&arrays.a).arg(&arrays.b).arg(&mut arrays.out).arg(&count);
            // SAFETY: the kernels take (a, b, out, count); the arrays hold `count`
            // elements of 16 bytes.
            unsafe { launch.launch(grid(count.div_ceil(THREADS), THREADS)) }?;
            Ok(())
        };
        arrays.clear()?;
        launch(&mut arrays, RAGGED)?;
        arrays.check_words(RAGGED * 4, factor)?;
        arrays.clear()?;
        let samples = lab.time_on_gpu(&stream, |_| launch(&mut arrays, elements))?;
        let checked = arrays.check_words(words, factor)?;
        lab.record(case.checked(checked).samples(samples))?;
    }

    //    … and what the driver offers.
    arrays.clear()?;
    let samples = lab.time_on_gpu(&stream, |_| {
        Ok(stream.memcpy_dtod(&arrays.a, &mut arrays.out)?)
    })?;
    let checked = arrays.check_words(words, FACTOR)?;
    lab.record(large("driver_copy", 1, 1).checked(checked).samples(samples))?;
    // `out` is full of other words now, so the zeros are the driver's.
    let samples =
        lab.time_on_gpu(&stream, |_| Ok(stream.memset_zeros(&mut arrays.out)?))?;
    let checked = arrays.check_words(words, 0)?;
    lab.record(large("driver_fill", 0, 1).checked(checked).samples(samples))?;

    // 6. Working sets: one block on each multiprocessor goes through its share of the set
    //    again and again, or, to compare, each time through its neighbour's. The L1
    //    cache has at least the room that shared memory could take from it.
    let attribute = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR;
    let l1_bytes = multiprocessors * lab.context().attribute(attribute)? as usize;
    for mover in movers.iter().filter(|m| m.loads == 4) {
        let tile = multiprocessors * SET_THREADS * mover.thread_bytes();
        let shares = [("own", 0), ("next", 1)];
        let shares = if mover.operation.writes > 0 { &shares[..1] } else { &shares };
        for tiles in SET_TILES {
            let (bytes, set) = (tiles * tile, tiles * tile * mover.arrays());
            if bytes > array || set > 16 * l2_bytes || (lab.quick() && tiles > 8) {
                continue;
            }
            let passes = (TRAFFIC.min(8 * array) / set).max(2);
            for &(share, shift) in shares {
                let (threads, blocks) = (SET_THREADS, multiprocessors);
                let walk = Walk { bytes, threads, blocks, passes, shift };
                let name = format!("{}_again", mover.operation.name);
                let case = Case::new(&name)
                    .with("share", share)
                    .model("l1_bytes", l1_bytes as f64);
                mover.measure(lab, &stream, case, &walk, &mut arrays)?;
            }
        }
    }
    Ok(())
}

/// How many arrays an operation reads and writes, and the factor of what it writes.
#[derive(Clone, Copy)]
struct Operation {
    name: &'static str,
    reads: usize,
    writes: usize,
    factor: u32,
}

const OPERATIONS: [Operation; 4] = [
    Operation { name: "read", reads: 1, writes: 0, factor: 0 },
    Operation { name: "write", reads: 0, writes: 1, factor: FACTOR },
    Operation { name: "copy", reads: 1, writes: 1, factor: FACTOR },
    Operation { name: "triad", reads: 2, writes: 1, factor: FACTOR_OF_TRIAD },
];

/// How the blocks of a launch share `bytes` of each array.
struct Walk {
    bytes: usize,
    threads: usize,
    blocks: usize,
    passes: usize,
    shift: usize,
}

fn grid(blocks: usize, threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks as u32, 1, 1),
        block_dim: (threads as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// One version of one operation.
struct Mover {
    operation: Operation,
    element_bytes: usize,
    loads: usize,
    kernel: CudaFunction,
}

impl Mover {
    /// Bytes that a thread asks for before it waits.
    fn thread_bytes(&self) -> usize {
        self.element_bytes * self.loads
    }

    fn arrays(&self) -> usize {
        self.operation.reads + self.operation.writes
    }

    // ANCHOR: grids
    /// A block for every tile.
    fn one_shot(&self, bytes: usize) -> Walk {
        let blocks = bytes.div_ceil(THREADS * self.thread_bytes());
        Walk { bytes, threads: THREADS, blocks, passes: 1, shift: 0 }
    }

    /// As many blocks as the GPU holds.
    fn resident(&self, bytes: usize, multiprocessors: usize) -> Result<Walk> {
        let each = self.kernel.occupancy_max_active_blocks_per_multiprocessor(
            THREADS as u32,
            0,
            None,
        )?;
        let blocks = multiprocessors * each as usize;
        Ok(Walk { bytes, threads: THREADS, blocks, passes: 1, shift: 0 })
    }
    // ANCHOR_END: grids

    fn case(&self, name: &str) -> Case {
        Case::new(name)
            .with("element_bytes", self.element_bytes)
            .with("loads", self.loads)
    }

    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        walk: &Walk,
        a: &CudaSlice<u32>,
        b: &CudaSlice<u32>,
        out: &mut CudaSlice<u32>,
        factor: u32,
    ) -> Result<()> {
        let count = walk.bytes / self.element_bytes;
        let (passes, shift) = (walk.passes as u32, walk.shift as u32);
        let mut launch = stream.launch_builder(&self.kernel);
        launch
            .arg(a)
            .arg(b)
            .arg(out)
            .arg(&factor)
            .arg(&count)
            .arg(&passes)
            .arg(&shift);
        // SAFETY: every kernel takes (a, b, out, factor, count, passes, shift), and the
        // arrays hold at least `count` elements. `read` writes a word for each thread;
        // its threads are fewer than the words of an array.
        unsafe { launch.launch(grid(walk.blocks, walk.threads)) }?;
        Ok(())
    }

    fn run(
        &self,
        stream: &Arc<CudaStream>,
        walk: &Walk,
        arrays: &mut Arrays,
    ) -> Result<()> {
        self.launch(stream, walk, &arrays.a, &arrays.b, &mut arrays.out, FACTOR)
    }

    fn measure(
        &self,
        lab: &mut Lab,
        stream: &Arc<CudaStream>,
        case: Case,
        walk: &Walk,
        arrays: &mut Arrays,
    ) -> Result<()> {
        arrays.clear()?;
        let samples = lab.time_on_gpu(stream, |_| self.run(stream, walk, arrays))?;
        let checked = arrays.check(self, walk)?;
        let Operation { reads, writes, .. } = self.operation;
        let set = self.arrays() * walk.bytes;
        let cold = set >= 4 * lab.l2_bytes();
        let case = case
            .with("bytes", set)
            .reads(reads * walk.bytes * walk.passes)
            .writes(writes * walk.bytes * walk.passes)
            // What a cache serves may be faster than the memory.
            .ceiling(if cold { Ceiling::DeviceMemory } else { Ceiling::None })
            .footprint(set, lab.l2_bytes())
            .checked(checked)
            .samples(samples);
        lab.record(case)
    }
}

/// What is moved.
struct Arrays {
    a: CudaSlice<u32>,
    b: CudaSlice<u32>,
    out: CudaSlice<u32>,
    back: PinnedHostSlice<u32>,
    stream: Arc<CudaStream>,
}

impl Arrays {
    fn clear(&mut self) -> Result<()> {
        Ok(self.stream.memset_zeros(&mut self.out)?)
    }

    /// Every word must be what the operation makes of `a` and `b`.
    fn check(&mut self, mover: &Mover, walk: &Walk) -> Result<u64> {
        let Operation { writes, factor, .. } = mover.operation;
        match writes {
            0 => self.check_sums(mover, walk),
            _ => self.check_words(walk.bytes / WORD_BYTES, factor),
        }
    }

    /// The first `words` of `out` must be their index times `factor`.
    fn check_words(&mut self, words: usize, factor: u32) -> Result<u64> {
        let mut checked = 0;
        for start in (0..words).step_by(PIECE / WORD_BYTES) {
            let end = words.min(start + PIECE / WORD_BYTES);
            let back = &mut self.back.as_mut_slice()?[..end - start];
            self.stream.memcpy_dtoh(&self.out.slice(start..end), back)?;
            self.stream.synchronize()?;
            checked += check::every_element("out", back, |i| {
                ((start + i) as u32).wrapping_mul(factor)
            })?;
        }
        Ok(checked)
    }

    /// Every thread must have added up the words of its elements, in every pass.
    fn check_sums(&mut self, mover: &Mover, walk: &Walk) -> Result<u64> {
        let Walk { bytes, threads, blocks, passes, shift } = *walk;
        let words_each = (mover.element_bytes / WORD_BYTES) as u32;
        let count = bytes / mover.element_bytes;
        let tile = threads * mover.loads;
        // What the threads of each block find in the tiles that are theirs at first.
        let mut once = vec![0u32; blocks * threads];
        for start in (0..count).step_by(threads) {
            let block = start / tile % blocks;
            let sums = &mut once[block * threads..][..threads.min(count - start)];
            for (element, sum) in (start as u32..).zip(sums) {
                // The indices of its words, added up.
                let words =
                    (element.wrapping_mul(words_each).wrapping_mul(words_each))
                        .wrapping_add(words_each * (words_each - 1) / 2);
                *sum = sum.wrapping_add(words.wrapping_mul(FACTOR));
            }
        }
        let got = self.stream.clone_dtoh(&self.out.slice(..blocks * threads))?;
        check::every_element("sum", &got, |i| {
            let (block, thread) = (i / threads, i % threads);
            let of_pass =
                |pass| once[(block + pass * shift) % blocks * threads + thread];
            (0..passes).map(of_pass).fold(0, u32::wrapping_add)
        })
    }
}
