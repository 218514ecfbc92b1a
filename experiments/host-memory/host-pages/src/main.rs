//! # What do the pages of a host buffer cost a copy?
//!
//! Page: `book/src/host-memory/host-pages.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | the first touch, and copies before and after it |
//! | [`pages`] | The experiment | memory that was never touched, in pages of each size |
//! | [`pinning`] | Pinning visits every page | do huge pages make pinning cheaper? |
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
//! only. Pinning huge pages is 512 times less work, and takes almost no time.

mod pages;
mod pinning;

use std::process::ExitCode;

use lab::check::{every_element, value};
use lab::{Case, Ceiling, Lab, Result};

use pages::{HUGE_PAGE, SMALL_PAGE, huge_bytes, untouched, words, words_mut};

const LARGEST: usize = 256 << 20;

fn main() -> ExitCode {
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two device buffers, one with a ramp in it.
    let stream = lab.context().new_stream()?;
    let most = if lab.quick() { LARGEST / 8 } else { LARGEST };
    let bytes = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let ramp: Vec<u32> = (0..bytes / size_of::<u32>()).map(value).collect();
    let full = stream.clone_htod(&ramp)?;
    let mut device = stream.clone_htod(&ramp)?;

    for page in [SMALL_PAGE, HUGE_PAGE] {
        // 2. Memory that has been written in full, four times as much as a copy takes.
        //    Does it have such pages? Huge ones may be switched off.
        let huge_before = huge_bytes();
        let mut written = untouched(4 * bytes, page)?;
        let written = words_mut(&mut written);
        (0..).zip(&mut *written).for_each(|(i, word)| *word = value(i));
        if page == HUGE_PAGE && huge_bytes() < huge_before + 2 * bytes {
            let case = Case::new("touch").with("page_bytes", page);
            lab.skip(
                case,
                "the system gives no huge pages when it is asked for them",
            );
            continue;
        }

        // ANCHOR: touch
        // 3. The first touch by itself: one write to every small page.
        for bytes in [bytes / 64, bytes / 8, bytes] {
            if bytes < page {
                continue;
            }
            let before = || untouched(bytes, page);
            Case::new("touch")
                .with("page_bytes", page)
                .with("bytes", bytes)
                .time_on_host_after(lab, before, |mut memory| {
                    memory.chunks_mut(SMALL_PAGE).for_each(|page| page[0] = 1);
                    Ok(memory)
                })?
                .record(lab)?;
        }
        // ANCHOR_END: touch

        // 4. To the device, from memory that was never touched: it reads as zeros.
        let case = |direction: &str, state: &str| {
            let case = Case::new("copy").with("page_bytes", page);
            let case = case.with("bytes", bytes).with("direction", direction);
            case.with("state", state).ceiling(Ceiling::HostLink)
        };
        let up = |state| case("host_to_device", state).writes(bytes);
        let down = |state| case("device_to_host", state).reads(bytes);
        let before = || untouched(bytes, page);
        up("untouched")
            .time_on_host_after(lab, before, |memory| {
                stream.memcpy_htod(words(&memory), &mut device)?;
                stream.synchronize()?;
                Ok(memory)
            })?
            .check_device(&stream, &device, |_| 0)?
            .record(lab)?;

        // ANCHOR: untouched
        // 5. To the host, into memory that was never touched. What the turn before left
        //    is given back before the clock runs.
        down("untouched")
            .time_on_host_after(lab, before, |mut memory| {
                stream.memcpy_dtoh(&full, words_mut(&mut memory))?;
                stream.synchronize()?;
                Ok(memory)
            })?
            .check_last(|memory| every_element("target", words(memory), value))?
            .record(lab)?;
        // ANCHOR_END: untouched

        // 6. Both ways with memory that has been written, the next piece of it each
        //    time, so that the CPU's caches do not hold it from the turn before.
        let mut turn = 0;
        let mut piece = || {
            turn += 1;
            let start = turn % 4 * ramp.len();
            start..start + ramp.len()
        };
        let mut last = 0..0;
        up("touched")
            .time_on_host(lab, || {
                last = piece();
                stream.memcpy_htod(&written[last.clone()], &mut device)?;
                Ok(stream.synchronize()?)
            })?
            .check_device(&stream, &device, |i| value(last.start + i))?
            .record(lab)?;

        // The target holds something else, so that a word that is not written shows.
        written.fill(1);
        down("touched")
            .time_on_host(lab, || {
                last = piece();
                stream.memcpy_dtoh(&full, &mut written[last.clone()])?;
                Ok(stream.synchronize()?)
            })?
            .check(&written[last], value)?
            .record(lab)?;

        pinning::measure(lab, page, bytes)?;
    }
    Ok(())
}
