//! # When should a kernel read the host's memory where it is, without a copy?
//!
//! Pinned host memory can be *mapped*: kernels are given its address and read it over the
//! link, as if it were device memory. That saves the copy. But whatever is read crosses
//! the link when it is read, each time that no cache of the GPU has it:
//!
//! ```text
//! copy       host memory ──copy engine──► device memory ──► kernel   crosses once
//! zero_copy  host memory ───────────────────────────────► kernel   crosses when read
//! ```
//!
//! The same kernel does both, and the host's clock covers all that the program waits
//! for: the copy, the launch and the kernel, until the result is there. Words are read
//! in three orders:
//!
//! ```text
//! apart      neighbours read neighbouring words; a word is read again by other blocks
//! together   the same, but a word is read again by the same thread at once
//! scattered  neighbours read words that lie 132 bytes apart, again in other blocks
//! ```
//!
//! **Prediction:** read once, zero-copy takes as long as the copy, because the same bytes
//! cross the same link; for a few KiB it takes half, because one operation is started
//! instead of two. Read r times it crosses r times and takes r times as long, unless the
//! L2 cache can hold the array: then it crosses once. Scattered, 32 bytes cross for each
//! 4, so it takes 8 times as long.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut,
    LaunchConfig, PinnedHostSlice, PushKernelArg,
    sys::{self, CUdeviceptr},
};
use lab::check::value;
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "zero-copy",
    source: include_str!("../../../../kernels/zero-copy.cu"),
    ptx: include_str!("../../../../kernels/ptx/zero-copy.ptx"),
};

const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 256 << 20;
const METHODS: [&str; 2] = ["zero_copy", "copy"];
/// The sizes of the chapter's table: 1 KB, 1 MB, 100 MB.
const CHAPTER: [usize; 3] = [1_000, 1_000_000, 100_000_000];
const WORD: usize = size_of::<u32>();
const BLOCK: usize = 256;
/// Distance of neighbours in the order `scattered`: another sector for each thread, and
/// odd, so that it leaves out no word of an array whose length is a power of two.
const SCATTERED: usize = 33;

fn main() -> ExitCode {
    let question = "When should a kernel read the host's memory without a copy?";
    lab::run("zero-copy", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels.
    let context = lab.context().clone();
    let stream = context.new_stream()?;
    let read = lab.module()?.load_function("read")?;
    let write = lab.module()?.load_function("write")?;

    // 2. Memory: a source and a target on the host, both mapped, and on the device room
    //    for a copy of the source and for the kernel's output.
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let mut source = Mapped::new(&context, largest / WORD)?;
    let mut target = Mapped::new(&context, largest / WORD)?;
    for (i, word) in source.memory.as_mut_slice()?.iter_mut().enumerate() {
        *word = value(i);
    }
    let mut copied = stream.alloc_zeros::<u32>(largest / WORD)?;
    let mut output = stream.alloc_zeros::<u32>(largest / WORD)?;

    // 3. A size that no block divides: the edges are right.
    let ragged = Shape { reads: 3, jump: 512, ..Shape::once(4_003, SCATTERED) };
    ragged.read(&stream, &read, source.address, &mut output)?;
    ragged.check(&stream, &output, "ragged")?;
    ragged.write(&stream, &write, target.address)?;
    stream.synchronize()?;
    let got = &target.memory.as_slice()?[..ragged.words];
    check::every_element("ragged", got, value)?;

    // 4. What to read: all sizes, up to 16 times.
    let mut cases = Vec::new();
    let mut bytes = SMALLEST;
    while bytes <= largest {
        for (order, most_bytes, all_reads) in [
            ("apart", largest, &[1, 2, 4, 8, 16][..]),
            ("together", largest, &[16]),
            ("scattered", 16 << 20, &[1, 4, 16]),
        ] {
            for &reads in all_reads.iter().filter(|_| bytes <= most_bytes) {
                let case = Case::new("read").with("order", order);
                let case = case.with("bytes", bytes).with("reads", reads);
                cases.push((case, Shape::in_order(order, bytes / WORD, reads)));
            }
        }
        bytes *= 4;
    }
    //    The chapter's sizes, read once.
    for bytes in CHAPTER {
        let case = Case::new("chapter").with("bytes", bytes);
        if bytes <= largest {
            cases.push((case, Shape::once(bytes / WORD, 1)));
        } else {
            lab.skip(case, "larger than the largest array of this run");
        }
    }
    //    A large array of which one word in `stride` is read.
    let words = largest.min(64 << 20) / WORD;
    for stride in [1, 4, 8, 16, 32, 64, 256, 1024, 4096] {
        let case = Case::new("sparse").with("stride", stride);
        let shape = Shape { count: words / stride, ..Shape::once(words, stride) };
        cases.push((case, shape));
    }

    for (case, shape) in cases {
        for method in METHODS {
            // ANCHOR: methods
            // 5. Time it, by the host's clock: both methods end when the stream has
            //    nothing left to do.
            stream.memset_zeros(&mut copied)?;
            stream.memset_zeros(&mut output)?;
            let samples = if method == "zero_copy" {
                lab.time_on_host(|| {
                    shape.read(&stream, &read, source.address, &mut output)?;
                    Ok(stream.synchronize()?)
                })?
            } else {
                let source = &source.memory.as_slice()?[..shape.words];
                lab.time_on_host(|| {
                    let copy = &mut copied.slice_mut(..shape.words);
                    stream.memcpy_htod(source, copy)?;
                    let address = copied.device_ptr(&stream).0;
                    shape.read(&stream, &read, address, &mut output)?;
                    Ok(stream.synchronize()?)
                })?
            };
            // ANCHOR_END: methods

            // 6. Check and record it.
            let checked = shape.check(&stream, &output, method)?;
            let case = case.clone().with("method", method);
            let case = case.reads(shape.count * shape.reads * WORD);
            lab.record(case.checked(checked).samples(samples))?;
        }
    }

    // 7. To launch a kernel that does nothing, and to wait for its end.
    let nothing = Shape { count: 0, ..Shape::once(BLOCK, 1) };
    let samples = lab.time_on_host(|| {
        nothing.read(&stream, &read, source.address, &mut output)?;
        Ok(stream.synchronize()?)
    })?;
    lab.record(Case::new("launch").samples(samples))?;

    // 8. How many reads have to be under way to fill the link? Few threads read 16 MiB,
    //    one word at a time each. Only the kernel is of interest, so the GPU's clock.
    let words = largest.min(16 << 20) / WORD;
    for (order, step) in [("coalesced", 1), ("scattered", SCATTERED)] {
        let mut threads = BLOCK;
        while threads <= lab.resident_threads()? {
            let (reads, jump) = (words / threads, threads * step % words);
            let shape = Shape { words, count: threads, step, reads, jump };
            stream.memset_zeros(&mut output)?;
            let samples = lab.time_on_gpu(&stream, |_| {
                shape.read(&stream, &read, source.address, &mut output)
            })?;
            let checked = shape.check(&stream, &output, "in flight")?;
            let case = Case::new("in_flight").with("order", order);
            let case = case.with("threads", threads).reads(threads * reads * WORD);
            let case = case.ceiling(Ceiling::HostLink);
            lab.record(case.checked(checked).samples(samples))?;
            threads *= 2;
        }
    }

    // 9. The other way: results written to the host's memory by the kernel, or to the
    //    device's and then copied.
    let mut bytes = SMALLEST;
    while bytes <= largest {
        let words = bytes / WORD;
        for (order, step) in [("coalesced", 1), ("scattered", SCATTERED)] {
            let shape = Shape::once(words, step);
            for method in METHODS {
                stream.memset_zeros(&mut copied)?;
                stream.synchronize()?;
                target.memory.as_mut_slice()?[..words].fill(0);
                let samples = if method == "zero_copy" {
                    lab.time_on_host(|| {
                        shape.write(&stream, &write, target.address)?;
                        Ok(stream.synchronize()?)
                    })?
                } else {
                    let target = &mut target.memory.as_mut_slice()?[..words];
                    lab.time_on_host(|| {
                        let address = copied.device_ptr_mut(&stream).0;
                        shape.write(&stream, &write, address)?;
                        stream.memcpy_dtoh(&copied.slice(..words), target)?;
                        Ok(stream.synchronize()?)
                    })?
                };
                let got = &target.memory.as_slice()?[..words];
                let checked = check::every_element(method, got, value)?;
                let case = Case::new("write").with("order", order);
                let case = case.with("bytes", bytes).with("method", method);
                lab.record(case.writes(bytes).checked(checked).samples(samples))?;
            }
        }
        bytes *= 16;
    }
    Ok(())
}

// ANCHOR: mapped
/// Pinned host memory that kernels can use by an address of their own.
struct Mapped {
    memory: PinnedHostSlice<u32>,
    address: CUdeviceptr,
}

impl Mapped {
    fn new(context: &Arc<CudaContext>, words: usize) -> Result<Mapped> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: every word is written before anything reads it.
        let mut memory =
            unsafe { context.alloc_pinned_with_flags::<u32>(words, flags) }?;
        memory.as_mut_slice()?.fill(0);
        let (host, mut address) = (memory.as_mut_ptr()?.cast(), 0);
        // SAFETY: `host` begins memory that was just allocated as mapped.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, host, 0) }
            .result()?;
        Ok(Mapped { memory, address })
    }
}
// ANCHOR_END: mapped

/// Which words of an array are read: see the kernel.
#[derive(Clone, Copy)]
struct Shape {
    words: usize,
    count: usize,
    step: usize,
    reads: usize,
    jump: usize,
}

impl Shape {
    /// Every word once, neighbours `step` words apart.
    fn once(words: usize, step: usize) -> Shape {
        Shape { words, count: words, step, reads: 1, jump: 0 }
    }

    // ANCHOR: orders
    fn in_order(order: &str, words: usize, reads: usize) -> Shape {
        let step = if order == "scattered" { SCATTERED } else { 1 };
        // What another block read first, as long as there are other blocks: whole blocks
        // on, and far enough that 16 reads do not come back to the first.
        let blocks = (words / BLOCK / 17).max(1);
        let jump =
            if order == "together" { 0 } else { blocks * BLOCK * step % words };
        Shape { reads, jump, ..Shape::once(words, step) }
    }
    // ANCHOR_END: orders

    fn read(
        &self,
        stream: &Arc<CudaStream>,
        read: &CudaFunction,
        input: CUdeviceptr,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let Shape { words, count, step, reads, jump } = *self;
        let [words, count, step, reads, jump] =
            [words, count, step, reads, jump].map(|n| n as u32);
        let mut launch = stream.launch_builder(read);
        launch.arg(&input).arg(output);
        launch.arg(&words).arg(&count).arg(&step).arg(&reads).arg(&jump);
        // SAFETY: the kernel takes (in, out, words, count, step, reads, jump), reads
        // below `words`, which every input holds, and writes below `count`, which is no
        // more than the output holds.
        unsafe { launch.launch(grid(self.count)) }?;
        Ok(())
    }

    fn write(
        &self,
        stream: &Arc<CudaStream>,
        write: &CudaFunction,
        output: CUdeviceptr,
    ) -> Result<()> {
        let (words, step) = (self.words as u32, self.step as u32);
        let mut launch = stream.launch_builder(write);
        launch.arg(&output).arg(&words).arg(&step);
        // SAFETY: the kernel takes (out, words, step) and writes below `words`, which
        // every output holds.
        unsafe { launch.launch(grid(self.words)) }?;
        Ok(())
    }

    /// Every thread's sum must be that of the words it had to read.
    fn check(
        &self,
        stream: &Arc<CudaStream>,
        output: &CudaSlice<u32>,
        what: &str,
    ) -> Result<u64> {
        let got = stream.clone_dtoh(&output.slice(..self.count))?;
        check::every_element(what, &got, |i| {
            let mut place = i * self.step % self.words;
            let mut sum = 0u32;
            for _ in 0..self.reads {
                sum = sum.wrapping_add(value(place));
                place += self.jump;
                place -= if place >= self.words { self.words } else { 0 };
            }
            sum
        })
    }
}

/// Blocks for so many threads, and at least one.
fn grid(threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (threads.div_ceil(BLOCK).max(1) as u32, 1, 1),
        block_dim: (BLOCK as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}
