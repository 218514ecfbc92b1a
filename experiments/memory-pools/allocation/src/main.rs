//! # What does it cost to get device memory, and what does a pool save?
//!
//! Page: `book/src/memory-pools/allocation.md`. Its sections show each file,
//! or what it measures; two streams are on the page after it, `pool-streams.md`:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | Measured | what does the host pay for a pair of calls? |
//! | [`source`] | The experiment | where does memory come from? |
//! | [`device`] | The experiment | the kernel, the check |
//! | [`rounds`] | Measured | and with a kernel between, and a wait behind? |
//! | [`threads`] | Without a lock | does one wait for the other? |
//! | [`trap`] | The trap | what do pools hold, and what is in it? |
//!
//! The driver has two ways to ask for memory. `cuMemAlloc` and `cuMemFree` answer at
//! once. `cuMemAllocAsync` and `cuMemFreeAsync` take part in a stream's order and use a
//! pool of the driver's. When the host waits for a stream, that pool gives free memory
//! back to the system, unless its *release threshold* lets it keep some.
//!
//! Six kinds of memory are compared:
//!
//! ```text
//! direct          cuMemAlloc, cuMemFree
//! returning_pool  cuMemAllocAsync, cuMemFreeAsync, release threshold 0 (the default)
//! keeping_pool    the same, the threshold as high as possible
//! chapter_pool    the chapter's map from a size to free buffers of that size
//! workbook_pool   the crate `pool`: size classes, safe among streams
//! kept            one buffer all the time: what none can beat
//! ```
//!
//! **Prediction:** `direct` takes 50 µs or more, because it changes the GPU's page tables;
//! `keeping_pool` 1 µs; `workbook_pool`, which only takes an entry from a list and puts
//! it back, less than 60 ns, and less than 25 since each thread has a list of its own. With a kernel between and a wait behind, `returning_pool`
//! is as slow as `direct`, and the others are as fast as `kept`. At 4 GiB all are, within
//! 10%, because the kernel takes a millisecond.

mod device;
mod rounds;
mod source;
mod threads;
mod trap;

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use lab::{Case, Lab, Result};
use pool::{Options, Pool};

use device::{KERNEL, User};
use source::{Source, sources};

const WORD: usize = size_of::<u32>();
const SIZES: [usize; 6] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 4 << 30];
/// The chapter's loop: rounds, and elements of 4 bytes in each.
const ROUNDS: usize = 1000;
const WORDS: usize = 1_000_000;

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let user = User::new(lab)?;
    let stream = &user.stream;
    let most = if lab.quick() { 16 << 20 } else { lab.free_bytes()? / 4 };
    let sizes = SIZES.into_iter().filter(|bytes| *bytes <= most);

    // 1. What the host pays: allocate and free, over and over, and no work between. The
    //    driver's direct calls also beside a neighbour of the same size, which stays.
    let keeper = Pool::new(stream.context(), Options::default());
    for bytes in sizes.clone() {
        let mut time = |kind, calls, mut source: Source| {
            let case = Case::new("pair").with("kind", kind).with("bytes", bytes);
            let once = || source.once(stream, bytes / WORD, |_| Ok(()));
            case.time_calls(lab, calls, once, || Ok(stream.synchronize()?))?
                .record(lab)
        };
        for source in sources(stream)? {
            let calls = if matches!(source, Source::Direct) { 10 } else { 1000 };
            time(source.kind(), calls, source)?;
        }
        if bytes <= 16 << 20 {
            // SAFETY: nothing reads the neighbour.
            let _neighbour = unsafe { keeper.alloc::<u8>(stream, bytes) }?;
            time("direct_beside", 1000, Source::Direct)?;
        }
        keeper.trim(0);
    }
    //    The largest also after a rest.
    let rest = Duration::from_millis(if lab.quick() { 20 } else { 500 });
    if let Some(bytes) = sizes.clone().max() {
        let case =
            Case::new("rested_pair").with("kind", "direct").with("bytes", bytes);
        let once = |()| Source::Direct.once(stream, bytes / WORD, |_| Ok(()));
        let wait = || {
            sleep(rest);
            Ok(())
        };
        case.time_on_host_after(lab, wait, once)?.record(lab)?;
    }

    // 2. With a kernel between and a wait behind; and the chapter's loop.
    for bytes in sizes {
        rounds::rounds(lab, &user, bytes / WORD)?;
    }
    rounds::chapters_loop(lab, &user)?;

    // 3. Two streams take turns, so that the memory moves between them.
    let other = lab.context().new_stream()?;
    // ANCHOR: turns
    for mut source in sources(stream)?.into_iter().filter(Source::can_be_emptied) {
        let case = Case::new("two_streams").with("kind", source.kind());
        let both = || {
            source.once(stream, WORDS, |_| Ok(()))?;
            source.once(&other, WORDS, |_| Ok(()))
        };
        case.with("bytes", WORDS * WORD)
            .time_calls(lab, 500, both, || Ok(lab.context().synchronize()?))?
            .record(lab)?;
    }
    // ANCHOR_END: turns

    // 4. Several threads at once.
    threads::at_once(lab)?;
    trap::varying_sizes(lab, &user)
}
