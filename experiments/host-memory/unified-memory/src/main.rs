//! # What does it cost to let the driver move the data?
//!
//! Page: `book/src/host-memory/unified-memory.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | the first touch, and the second |
//! | [`memory`] | The experiment | managed memory, with advice |
//! | [`mod@device`] | | the kernels, and which words they read |
//! | [`read_back`] | Back to the host | until the host has what a kernel wrote |
//! | [`sparse`] | Each fault brings 64 KiB | how much does one fault move? |
//! | [`advice`] | Advice | what does advice to the driver change? |
//! | [`oversubscribe`] | More than the GPU has | what if the driver has to make room? |
//! | [`ping_pong`] | The trap | what if the same pages move back and forth? |
//!
//! *Managed memory* has one address for the host and the GPU. A page of it is in one
//! of the two memories at a time. A thread that touches a page in the other one faults: it
//! stops, the driver moves the page, changes both page tables, and lets it go on.
//!
//! ```text
//! explicit      copy engine brings all bytes ──► kernel reads device memory
//! first touch   kernel reads ──► faults ──► driver moves pages ──► kernel goes on, faults …
//! prefetched    driver moves all pages, in bulk ──► kernel reads device memory
//! second touch  kernel reads device memory: the pages are there
//! ```
//!
//! **Prediction:** a prefetch is a copy by the copy engine, so it takes as long as an
//! explicit copy from pinned memory, and a second touch as long as plain device memory.
//! The first touch pays for faults: less than half the link's rate. A sparse kernel that
//! touches one word in each 2 MiB wins with managed memory: only its pages move, so
//! it is faster than copying everything, by a factor of ten and more.

mod advice;
mod device;
mod memory;
mod oversubscribe;
mod ping_pong;
mod read_back;
mod sparse;

use std::process::ExitCode;

use cudarc::driver::DevicePtr;
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
use lab::check::{every_element, value};
use lab::launch::threads;
use lab::memory::power_of_two_within;
use lab::{Case, Ceiling, Lab, Result};

use device::{Places, Runner, plus_one};
use memory::{Advice, HostMemory, WORD_BYTES, device, managed, prefetch};

const LARGEST: usize = 256 << 20;
const SMALLEST: usize = 128 << 10;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Without page faults on the GPU, managed memory is another thing: the driver moves
    //    all of it at each launch.
    if lab.context().attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? == 0 {
        let reason = "this GPU or system does not fault on managed memory";
        lab.skip(Case::new("all"), reason);
        return Ok(());
    }

    // 2. The size: about the L2 cache's, and a small share of what the GPU has free.
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.quick() { 4 } else { 1 };
    let affordable = power_of_two_within(lab.free_bytes()? / 16);
    let largest = wanted.min(affordable).min(LARGEST);
    let mut gpu = Runner::new(lab, largest / WORD_BYTES)?;

    // 3. Both kernels at sizes that no block divides.
    let ragged = Places { count: 3_331, stride: 3 };
    let memory = gpu.add_one(managed(&gpu.stream, 10_003, Advice::None)?)?;
    every_element("ragged", gpu.read(memory, ragged)?.as_slice()?, plus_one)?;
    gpu.check(ragged, plus_one)?;

    // 4. Until a kernel has read what the host wrote: by faults, by prefetch, by copies.
    let quarters = std::iter::successors(Some(largest), |bytes| Some(bytes / 4));
    let sizes: Vec<_> = quarters.take_while(|bytes| *bytes >= SMALLEST).collect();
    for bytes in sizes.into_iter().rev() {
        first_touch(lab, &mut gpu, bytes)?;
    }

    // 5. Once there, the pages stay: managed memory beside device memory.
    let (stream, words) = (gpu.stream.clone(), largest / WORD_BYTES);
    let new = || managed(&stream, words, Advice::None);
    let memories = [new()?, new()?];
    for memory in &memories {
        prefetch(&stream, memory, device(&stream))?;
    }
    second_touch(lab, &gpu, "managed", &memories)?;
    let ramp: Vec<u32> = (0..words).map(value).collect();
    let devices = [stream.clone_htod(&ramp)?, stream.clone_htod(&ramp)?];
    second_touch(lab, &gpu, "device", &devices)?;
    drop((memories, devices));

    // 6. One question after the other.
    read_back::measure(lab, &gpu, largest / 4)?;
    read_back::one_word(lab, &gpu)?;
    advice::measure(lab, &mut gpu, largest / 4)?;
    sparse::measure(lab, &mut gpu, largest)?;
    ping_pong::measure(lab, &mut gpu, largest)?;
    oversubscribe::measure(lab, &mut gpu, words)
}

/// Until a kernel has read all words that the host has just written.
fn first_touch(lab: &mut Lab, gpu: &mut Runner, bytes: usize) -> Result<()> {
    let stream = gpu.stream.clone();
    let all = Places { count: bytes / WORD_BYTES, stride: 1 };
    let case = |kind| {
        let case = Case::new("first_touch").with("kind", kind);
        case.with("bytes", bytes).reads(bytes).ceiling(Ceiling::HostLink)
    };

    // ANCHOR: first_touch
    // Each sample has new memory, which the host has just written: pages that were moved
    // before may be treated otherwise (`ping_pong`).
    for (kind, prefetches) in [("managed", false), ("prefetched", true)] {
        let new = || managed(&stream, all.count, Advice::None);
        case(kind)
            .time_on_host_after(lab, new, |memory| {
                if prefetches {
                    prefetch(&stream, &memory, device(&stream))?;
                }
                gpu.read(memory, all)
            })?
            .check_last(|_| gpu.check(all, value))?
            .record(lab)?;
    }
    // ANCHOR_END: first_touch

    // ANCHOR: explicit
    let mut copied = stream.alloc_zeros::<u32>(all.count)?;
    for (kind, pinned) in [("pinned", true), ("pageable", false)] {
        stream.memset_zeros(&mut copied)?;
        let new = || HostMemory::new(&stream, pinned, all.count);
        case(kind)
            .time_on_host_after(lab, new, |mut source| {
                stream.memcpy_htod(source.words()?, &mut copied)?;
                gpu.read(copied.as_view(), all)?;
                Ok(source)
            })?
            .check_last(|_| gpu.check(all, value))?
            .record(lab)?;
    }
    // ANCHOR_END: explicit
    Ok(())
}

/// Reads two arrays in turn, and writes two, so that four times the L2 cache is touched.
fn second_touch(
    lab: &mut Lab,
    gpu: &Runner,
    kind: &str,
    inputs: &[impl DevicePtr<u32>; 2],
) -> Result<()> {
    let (stream, words) = (&gpu.stream, inputs[0].len());
    let bytes = words * WORD_BYTES;
    let mut outputs = [stream.alloc_zeros(words)?, stream.alloc_zeros(words)?];
    let mut turn = 0;
    Case::new("second_touch")
        .with("kind", kind)
        .with("bytes", bytes)
        .reads(bytes)
        .writes(bytes)
        .ceiling(Ceiling::DeviceMemory)
        .footprint(4 * bytes, lab.l2_bytes())
        .time_on_host(lab, || {
            turn = 1 - turn;
            let (input, ordered) = inputs[turn].device_ptr(stream);
            let output = &mut outputs[turn];
            gpu.kernels.gather(stream, threads(words), input, output, words, 1)?;
            drop(ordered);
            Ok(stream.synchronize()?)
        })?
        .check_device(stream, &outputs[0], value)?
        .check_device(stream, &outputs[1], value)?
        .record(lab)
}
