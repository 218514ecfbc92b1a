//! # When should a kernel read the host's memory where it is, without a copy?
//!
//! Page: `book/src/host-memory/zero-copy.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | zero-copy or a copy, by size, order and number of reads |
//! | [`device`] | The experiment | which words are read; the kernels |
//! | [`in_flight`] | The link wants requests in flight | how many reads in flight fill the link? |
//! | [`writes`] | Writing to the host | should a kernel write its results to the host's memory? |
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
//! scattered  neighbours read words 132 bytes from each other, again in other blocks
//! ```
//!
//! **Prediction:** read once, zero-copy takes as long as the copy, because the same bytes
//! cross the same link; for a few KiB it takes half, because one operation is started
//! instead of two. Read r times it crosses r times and takes r times as long, unless the
//! L2 cache can hold the array: then it crosses once. Scattered, 32 bytes cross for each
//! 4, so it takes 8 times as long.

mod device;
mod in_flight;
mod writes;

use std::process::ExitCode;

use cudarc::driver::DevicePtr;
use lab::check::{self, value};
use lab::memory::mapped;
use lab::{Case, Lab, Result};

use device::{Order, Runner, SCATTERED, Shape, WORD};

const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 256 << 20;
/// How a kernel gets at the words, and whether by a copy.
const METHODS: [(&str, bool); 2] = [("zero_copy", false), ("copy", true)];
/// The sizes of the chapter's table: 1 KB, 1 MB, 100 MB.
const CHAPTER: [usize; 3] = [1_000, 1_000_000, 100_000_000];
/// So many bytes, and reads by one thread, after which adding takes longer than moving.
const ADDING: (usize, usize) = (64 << 10, 1024);

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. A source and a target on the host, both mapped; on the device, room for a copy
    //    and for the sums.
    let (most, parts) = if lab.quick() { (LARGEST / 16, 32) } else { (LARGEST, 8) };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / parts);
    let source = mapped(lab.context(), largest / WORD, 0, value)?;
    let mut target = mapped(lab.context(), largest / WORD, 0, |_| 0)?;
    let mut gpu = Runner::new(lab, largest / WORD)?;
    let stream = gpu.stream.clone();
    let mut copied = stream.alloc_zeros::<u32>(largest / WORD)?;

    // 2. A size that no block divides: the edges are right.
    let ragged = Shape { reads: 3, jump: 512, ..Shape::once(4_003, SCATTERED) };
    gpu.read(source.device, &ragged)?;
    gpu.check(&ragged)?;
    gpu.write(target.device, &ragged)?;
    stream.synchronize()?;
    let written = |i| if i < ragged.words { value(i) } else { 0 };
    let words = &target.host.as_slice()?[..ragged.words + check::GUARD];
    check::every_element("ragged", words, written)?;

    // 3. What to read: all sizes, up to 16 times, and one size so often that adding takes
    //    longer than moving; the chapter's sizes, once; and of a large array one word in
    //    `stride`.
    let sizes = (0..).map(|n| SMALLEST << (2 * n));
    let mut cases = vec![];
    for bytes in sizes.take_while(|bytes| *bytes <= largest) {
        for (order, most_bytes, all_reads) in [
            (Order::Apart, largest, &[1, 2, 4, 8, 16][..]),
            (Order::Together, largest, &[16]),
            (Order::Scattered, 16 << 20, &[1, 4, 16]),
        ] {
            let adding =
                (order == Order::Together && bytes == ADDING.0).then_some(&ADDING.1);
            let all_reads = all_reads.iter().chain(adding);
            for &reads in all_reads.filter(|_| bytes <= most_bytes) {
                let case = Case::new("read").with("order", order);
                let case = case.with("bytes", bytes).with("reads", reads);
                cases.push((case, Shape::in_order(order, bytes / WORD, reads)));
            }
        }
    }
    for bytes in CHAPTER {
        let case = Case::new("chapter").with("bytes", bytes);
        if bytes <= largest {
            cases.push((case, Shape::once(bytes / WORD, 1)));
        } else {
            lab.skip(case, "larger than the largest array of this run");
        }
    }
    let words = largest.min(64 << 20) / WORD;
    for stride in [1, 4, 8, 16, 32, 64, 256, 1024, 4096] {
        let case = Case::new("sparse").with("stride", stride);
        let shape = Shape { count: words / stride, ..Shape::once(words, stride) };
        cases.push((case, shape));
    }

    // 4. The host's clock runs until the stream has nothing left to do.
    for (case, shape) in cases {
        let case = case.reads(shape.count * shape.reads * WORD);
        for (method, copies) in METHODS {
            let case = case.clone().with("method", method);
            stream.memset_zeros(&mut copied)?;
            stream.memset_zeros(&mut gpu.output)?;
            // ANCHOR: methods
            let words = &source.host.as_slice()?[..shape.words];
            let timed = case.time_on_host(lab, || {
                let mut address = source.device;
                if copies {
                    let copy = &mut copied.slice_mut(..shape.words);
                    stream.memcpy_htod(words, copy)?;
                    address = copied.device_ptr(&stream).0;
                }
                gpu.read(address, &shape)?;
                Ok(stream.synchronize()?)
            })?;
            // ANCHOR_END: methods
            timed.checked(gpu.check(&shape)?).record(lab)?;
        }
    }

    // 5. Launching a kernel that does nothing, and waiting for its end.
    let nothing = Shape { count: 0, ..Shape::once(1, 1) };
    Case::new("launch")
        .time_on_host(lab, || {
            gpu.read(source.device, &nothing)?;
            Ok(stream.synchronize()?)
        })?
        .record(lab)?;

    in_flight::measure(lab, &mut gpu, &source)?;
    writes::measure(lab, &gpu, &mut target, &mut copied)
}
