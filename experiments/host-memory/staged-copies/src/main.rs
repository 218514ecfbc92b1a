//! # How many host threads carry pageable memory at the speed of the link?
//!
//! Page: `book/src/host-memory/staged-copies.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured; The trap | staged copies beside the driver's, in every size |
//! | [`buffers`] | | host memory to copy from and to, and copies of it |
//! | [`carry`] | The experiment | can the CPU keep up with the link? |
//! | [`fetch`] | Bytes that a core has just written | how fast does the engine fetch what a core has just written, and which stores are best? |
//!
//! Bytes in pageable memory pass through pinned memory before the GPU gets them, and a
//! CPU core carries them there. The driver uses one core. The crate `staging` uses as
//! many as it is told: they share a ring of pinned memory, and each takes the next small
//! piece of the copy as soon as it has carried one.
//!
//! ```text
//!                 ┌ the caller ┐
//! pageable memory ┼  thread 1  ┼─► pinned ring ─► copy engine ─► GPU
//!                 └  thread 2  ┘       (to the host: the same, backwards)
//! ```
//!
//! **Prediction:** threads and copy engine work at the same time, so the slower of the
//! two sets the pace, and n threads carry n times what one carries:
//!
//! ```text
//! rate = min(n × what one thread carries, what the link carries)
//! ```
//!
//! The case `carry` measures the first without a copy engine, `copy` from pinned memory
//! the second. If one thread carries 5 GB/s and the link 55 GB/s, eleven are enough, and
//! more do not help.

mod buffers;
mod carry;
mod fetch;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use lab::check::{every_element, value};
use lab::memory::pinned;
use lab::{Case, Lab, Result};
use staging::{Options, Staging, Stores};

use buffers::Buffers;

const SMALLEST: usize = 256 << 10;
const LARGEST: usize = 1 << 30;
const THREADS: [usize; 9] = [1, 2, 4, 6, 8, 10, 12, 14, 16];
const PIECES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];
const RINGS: [usize; 3] = [1 << 20, 4 << 20, 16 << 20];
const PAUSE_MS: u64 = 10;
const UP: &str = "host_to_device";
const DOWN: &str = "device_to_host";

fn main() -> ExitCode {
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. A source and a target in pinned memory and in pageable memory, written in full,
    //    so that no page is missing when the clock runs.
    let context = lab.context().clone();
    let stream = context.new_stream()?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let words = largest / size_of::<u32>();
    let from = pinned(&context, words, value)?;
    let mut to = pinned(&context, words, |_| 1u32)?;
    let (source, target) = (from.as_slice()?, to.as_mut_slice()?);
    let (device, queue) = (stream.alloc_zeros(words)?, stream.clone());
    let pause = Duration::ZERO;
    let mut pinned = Buffers { source, target, device, stream: queue, pause };
    let from: Vec<u32> = (0..words).map(value).collect();
    let (source, target) = (&from[..], &mut vec![1; words][..]);
    let (device, queue) = (stream.alloc_zeros(words)?, stream.clone());
    let mut pageable = Buffers { source, target, device, stream: queue, pause };

    // 2. Who copies: the driver, to which one `Staging` leaves all copies; and threads,
    //    also the small copies that `Staging` usually leaves to the driver.
    let options = Options { staged_from: 0, ..Options::default() };
    let alone = Options {
        threads: 1,
        slots: 1,
        piece_bytes: 1,
        staged_from: usize::MAX,
        ..options
    };
    let mut driver = Staging::new(&context, alone)?;
    let mut staged = Staging::new(&context, options)?;

    let cores = available_parallelism()?.get();
    for threads in THREADS.into_iter().filter(|threads| *threads > cores) {
        let case = Case::new("threads").with("threads", threads);
        lab.skip(case, "this machine has fewer cores");
    }
    if !Stores::all().contains(&Stores::Demoted) {
        let why =
            "this CPU cannot demote lines, so copies to the GPU go past its caches";
        lab.skip(Case::new("carry").with("stores", "demoted"), why);
    }

    let sizes = (0..).map(|n| SMALLEST << (2 * n));
    let sizes = sizes.take_while(|bytes| *bytes <= largest).collect();
    for (direction, sizes) in
        [(UP, sizes), (DOWN, vec![largest / 64, largest / 16, largest])]
    {
        // 3. All sizes, by the driver from both kinds of memory, and staged.
        let mut link = 0.0;
        for bytes in sizes {
            let mut copy = |buffers: &mut Buffers, kind, by: &mut _| {
                let case = Case::new("copy").with("kind", kind).with("bytes", bytes);
                buffers.copy(lab, case, direction, bytes, by)
            };
            link = copy(&mut pinned, "pinned", &mut driver)?;
            copy(&mut pageable, "pageable", &mut driver)?;
            copy(&mut pageable, "staged", &mut staged)?;
        }

        // ANCHOR: threads
        // 4. What one thread carries, and what more and more of them carry.
        let carried = carry::measure(lab, &mut pageable, direction, options)?;
        for threads in THREADS.into_iter().filter(|threads| *threads <= cores) {
            let bound = link.min(threads as f64 * carried);
            let case = Case::new("threads").with("threads", threads);
            let case = case.model("bound_bytes_per_second", bound);
            let by = &mut Staging::new(&context, Options { threads, ..options })?;
            pageable.copy(lab, case, direction, largest, by)?;
        }
        // ANCHOR_END: threads

        // 5. Pieces of several sizes in a ring of as many bytes, and smaller rings. A
        //    quarter of the memory shows it as well.
        let bytes = largest / 4;
        let pieces = PIECES.map(|piece_bytes| {
            let slots = options.slots * options.piece_bytes / piece_bytes;
            let case = Case::new("pieces").with("piece_bytes", piece_bytes);
            (case, Options { piece_bytes, slots, ..options })
        });
        let rings = RINGS.map(|ring_bytes| {
            let case = Case::new("rings").with("ring_bytes", ring_bytes);
            (case, Options { slots: ring_bytes / options.piece_bytes, ..options })
        });
        for (case, options) in pieces.into_iter().chain(rings) {
            let by = &mut Staging::new(&context, options)?;
            pageable.copy(lab, case.with("bytes", bytes), direction, bytes, by)?;
        }
    }

    // 6. What the engine fetches from a core's cache, and from elsewhere; and what that does
    //    to whole copies.
    fetch::measure(lab, &mut pageable)?;
    fetch::stage(lab, &mut pageable, options)?;

    // 7. Copies after a pause, in which the threads have gone to sleep: small ones, which
    //    may be better left to the driver, and large ones, these in both directions.
    pinned.pause = Duration::from_millis(PAUSE_MS);
    pageable.pause = pinned.pause;
    let sizes = [SMALLEST, 4 * SMALLEST, largest / 64, largest / 16];
    let up = BTreeSet::from(sizes.map(|bytes| bytes.min(largest)));
    let down = up.range(largest / 64..).map(|bytes| (DOWN, *bytes));
    for (direction, bytes) in up.iter().map(|bytes| (UP, *bytes)).chain(down) {
        let mut copy = |buffers: &mut Buffers, kind, by: &mut _| {
            let case = Case::new("pause").with("kind", kind).with("bytes", bytes);
            let case = case.with("pause_ms", PAUSE_MS);
            buffers.copy(lab, case, direction, bytes, by)
        };
        copy(&mut pinned, "pinned", &mut driver)?;
        copy(&mut pageable, "pageable", &mut driver)?;
        copy(&mut pageable, "staged", &mut staged)?;
    }

    // 8. The trap: a target that was never touched.
    let bytes = largest / 16;
    let words = bytes / size_of::<u32>();
    stream.memcpy_htod(pageable.source, &mut pageable.device)?;
    let device = pageable.device.slice(..words);
    for (kind, by) in [("pageable", &mut driver), ("staged", &mut staged)] {
        let new = || Ok(vec![0; words]);
        Case::new("untouched")
            .with("kind", kind)
            .with("bytes", bytes)
            .with("direction", DOWN)
            .reads(bytes)
            .time_on_host_after(lab, new, |mut fresh| {
                by.copy_to_host(&stream, &device, &mut fresh)?;
                Ok(fresh)
            })?
            .check_last(|fresh| every_element("a fresh target", fresh, value))?
            .record(lab)?;
    }
    Ok(())
}
