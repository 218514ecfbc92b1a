//! # What do the pages of a host buffer cost a copy?
//!
//! Memory that a program asks for is a promise. The operating system makes a page when
//! it is first touched: it stops the program (a *page fault*), finds a free page, fills
//! it with zeros, and goes on. Memory that is only read does not even get that: all its
//! pages are one and the same page of zeros.
//!
//! Pages are 4 KiB small. A program can ask for *huge* ones, of 2 MiB, with `madvise`:
//! 512 times fewer faults, and as many bytes to fill with zeros.
//!
//! ```text
//! untouched target    fault, zeros, then the copy      every page
//! untouched source    fault, then the copy             every page, all the same zeros
//! touched             the copy
//! ```
//!
//! **Prediction:** a fault costs half a microsecond and zeros come at 10 GB/s. So 256 MiB
//! in small pages take 60 ms to touch, in huge ones 27 ms. A copy to an untouched target
//! takes that long in addition, and a copy from an untouched source takes the faults
//! only. To pin huge pages is 512 times less work, and takes no time worth mentioning.

use std::cell::Cell;
use std::process::ExitCode;

use cudarc::driver::sys;
use lab::check::value;
use lab::{Case, Ceiling, Lab, Result, check};
use memmap2::{Advice, MmapMut};

const SMALLEST: usize = 4 << 20;
const LARGEST: usize = 256 << 20;
const SMALL_PAGE: usize = 4 << 10;
const HUGE_PAGE: usize = 2 << 20;

fn main() -> ExitCode {
    let question = "What do the pages of a host buffer cost a copy?";
    lab::run("host-pages", question, None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two device buffers, one with a ramp in it.
    let stream = lab.context().new_stream()?;
    let most = if lab.quick() { LARGEST / 4 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let ramp: Vec<u32> = (0..largest / size_of::<u32>()).map(value).collect();
    let full = stream.clone_htod(&ramp)?;
    let mut device = stream.alloc_zeros::<u32>(ramp.len())?;

    for page in [SMALL_PAGE, HUGE_PAGE] {
        // 2. Memory that has been written in full, four times as much as the largest
        //    copy. Does it have such pages? Huge ones may be switched off.
        let before = huge_bytes();
        let mut written = untouched(4 * largest, page)?;
        for (i, word) in words(&mut written).iter_mut().enumerate() {
            *word = value(i);
        }
        if page == HUGE_PAGE && huge_bytes() < before + 2 * largest {
            let case = Case::new("touch").with("page_bytes", page);
            lab.skip(
                case,
                "the system gives no huge pages when it is asked for them",
            );
            continue;
        }

        let mut bytes = SMALLEST;
        while bytes <= largest {
            let count = bytes / size_of::<u32>();
            let case =
                |name| Case::new(name).with("page_bytes", page).with("bytes", bytes);
            let to_device = |state: &str| {
                let case = case("copy").with("direction", "host_to_device");
                case.with("state", state).writes(bytes).ceiling(Ceiling::HostLink)
            };
            let to_host = |state: &str| {
                let case = case("copy").with("direction", "device_to_host");
                case.with("state", state).reads(bytes).ceiling(Ceiling::HostLink)
            };

            // ANCHOR: touch
            // 3. The first touch by itself: one write to every small page.
            let samples = lab.time_on_host_after(
                || untouched(bytes, page),
                |mut memory| {
                    memory.chunks_mut(SMALL_PAGE).for_each(|page| page[0] = 1);
                    Ok(memory)
                },
            )?;
            lab.record(case("touch").samples(samples))?;
            // ANCHOR_END: touch

            // 4. To the device, from memory that nobody has touched: it reads as zeros.
            stream.memcpy_htod(&ramp[..count], &mut device)?;
            let samples = lab.time_on_host_after(
                || untouched(bytes, page),
                |mut memory| {
                    stream.memcpy_htod(words(&mut memory), &mut device)?;
                    stream.synchronize()?;
                    Ok(memory)
                },
            )?;
            let got = stream.clone_dtoh(&device.slice(..count))?;
            let checked = check::every_element("untouched source", &got, |_| 0)?;
            lab.record(to_device("untouched").checked(checked).samples(samples))?;

            // ANCHOR: untouched
            // 5. To the host, into memory that nobody has touched. What the turn before
            //    left is given back before the clock runs.
            let last = Cell::new(None);
            let before = || {
                last.take();
                untouched(bytes, page)
            };
            let samples = lab.time_on_host_after(before, |mut memory| {
                stream.memcpy_dtoh(&full.slice(..count), words(&mut memory))?;
                stream.synchronize()?;
                last.set(Some(memory));
                Ok(())
            })?;
            // ANCHOR_END: untouched
            let mut last = last.take().expect("every turn leaves one");
            let checked =
                check::every_element("untouched target", words(&mut last), value)?;
            lab.record(to_host("untouched").checked(checked).samples(samples))?;

            // 6. Both ways with memory that has been written, the next piece of it each
            //    time, so that the CPU's caches do not hold it from the turn before.
            let piece = |turn: usize| {
                let start = turn % (4 * largest / bytes) * count;
                start..start + count
            };
            let written_words = words(&mut written);
            let mut turn = 0;
            let samples = lab.time_on_host(|| {
                turn += 1;
                stream.memcpy_htod(&written_words[piece(turn)], &mut device)?;
                Ok(stream.synchronize()?)
            })?;
            let got = stream.clone_dtoh(&device.slice(..count))?;
            let first = piece(turn).start;
            let expected = |i| written_words[first + i];
            let checked = check::every_element("touched source", &got, expected)?;
            lab.record(to_device("touched").checked(checked).samples(samples))?;

            // The target holds something else, so that a word never written shows.
            written_words.iter_mut().for_each(|word| *word = word.wrapping_add(1));
            let mut turn = 0;
            let samples = lab.time_on_host(|| {
                turn += 1;
                let target = &mut written_words[piece(turn)];
                stream.memcpy_dtoh(&full.slice(..count), target)?;
                Ok(stream.synchronize()?)
            })?;
            let target = &written_words[piece(turn)];
            let checked = check::every_element("touched target", target, value)?;
            lab.record(to_host("touched").checked(checked).samples(samples))?;

            // ANCHOR: register
            // 7. Pinning: pages that are there, and pages that are not.
            for state in ["touched", "untouched"] {
                let before = || {
                    let mut memory = untouched(bytes, page)?;
                    if state == "touched" {
                        memory.fill(1);
                    }
                    Ok(memory)
                };
                let samples = lab.time_on_host_after(before, Registered::new)?;
                lab.record(case("register").with("state", state).samples(samples))?;
            }
            // ANCHOR_END: register
            bytes *= 8;
        }
    }
    Ok(())
}

// ANCHOR: pages
/// Memory that nobody has touched, which will have pages of `page` bytes.
fn untouched(bytes: usize, page: usize) -> Result<MmapMut> {
    let memory = MmapMut::map_anon(bytes)?;
    memory.advise(match page {
        HUGE_PAGE => Advice::HugePage,
        _ => Advice::NoHugePage,
    })?;
    Ok(memory)
}
// ANCHOR_END: pages

/// Huge pages that this process has, in bytes.
fn huge_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/smaps_rollup");
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.unwrap_or(0) << 10
}

fn words(memory: &mut MmapMut) -> &mut [u32] {
    // SAFETY: any four bytes are a u32. The memory begins with a page, so none is left
    // out.
    unsafe { memory.align_to_mut().1 }
}

/// Memory whose pages the driver has pinned where they are.
struct Registered {
    memory: MmapMut,
}

impl Registered {
    fn new(mut memory: MmapMut) -> Result<Registered> {
        // SAFETY: the range is the mapping's own, which stays in place until `drop` has
        // taken the registration back.
        unsafe {
            sys::cuMemHostRegister_v2(memory.as_mut_ptr().cast(), memory.len(), 0)
        }
        .result()?;
        Ok(Registered { memory })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: `new` registered this memory, and no copy of it is in flight. An error
        // leaves pages pinned until the process ends, which harms nobody.
        let _ = unsafe { sys::cuMemHostUnregister(self.memory.as_mut_ptr().cast()) };
    }
}
