//! # What does it take for a copy to run beside a kernel?
//!
//! Page: `book/src/streams/stream-overlap.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured; Why | one kernel and one copy, issued in all ways |
//! | [`device`] | The experiment | the kernel, the copy, and what they have written |
//! | [`listings`] | The article's listings | what did the article see? |
//!
//! A stream is a queue: what is in one stream runs in order. Two streams may run at the
//! same time, if the host gets round to filling both. From pinned memory a copy's call
//! only queues the copy. From pageable memory the call itself does a part of the work.
//!
//! A copy of 80 MB, as in the CuPy article, and a kernel that takes just as long, on
//! data of its own, are put into one stream or into two; in either order or by two host
//! threads; to the GPU and back. If nothing overlaps, both take twice as long as one.
//!
//! **Prediction:** in one stream both take 2 times as long as one, however they are
//! issued. In two streams, pinned memory hides at least 90% of one of them. Pageable
//! memory hides nothing if the copy is issued first, but the same 90% if the kernel is,
//! or if a second thread issues the copy.

mod device;
mod listings;

use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::check::value;
use lab::memory::pinned;
use lab::{Case, Clock, Lab, Result, Span};

use device::Work;

/// Words of an array of 80 MB; the kernel's last block has too many threads.
const WORDS: usize = 20_000_000;

lab::words! {
    /// Who issues the copy and the kernel, in which order.
    enum Issue {
        CopyFirst = "copy_first",
        KernelFirst = "kernel_first",
        TwoThreads = "two_threads",
    }
}

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two arrays in host memory of both kinds, and on the GPU: the kernel works on the
    //    first while the second is copied. All words differ.
    let words = if lab.emulated() { WORDS / 100 } else { WORDS };
    let mut pageable: Vec<u32> = (0..2 * words).map(value).collect();
    let mut pinned = pinned(lab.context(), 2 * words, value)?;
    let mut gpu = Work::new(lab, &pageable)?;
    let first = gpu.streams[0].clone();
    for (kind, host) in
        [("pageable", &mut pageable[..]), ("pinned", pinned.as_mut_slice()?)]
    {
        for (direction, up) in [("host_to_device", true), ("device_to_host", false)]
        {
            gpu.up = up;
            let case = |name| {
                Case::new(name).with("kind", kind).with("direction", direction)
            };

            // 2. The copy alone, and a kernel that is made to last as long.
            let copy =
                case("alone").with("work", "copy").time_on_host(lab, || {
                    gpu.copy(1, &first, &mut host[words..])?;
                    Ok(first.synchronize()?)
                })?;
            let length = copy.samples.median();
            copy.record(lab)?;
            let launch = |steps| gpu.launch(&first, steps);
            gpu.steps = gpu.line.steps_lasting(&first, length, 1000, launch)?;

            // 3. Both: in one stream or in two, in either order or by two threads.
            for streams in [1, 2] {
                for issue in Issue::ALL {
                    gpu.clear(host)?;
                    let turn = || both(&gpu, issue, streams, &mut host[words..]);
                    case("both")
                        .with("streams", streams)
                        .with("issue", issue)
                        .time_turns(lab, Clock::Host, turn)?
                        .spans()
                        .checked(gpu.check(host)?)
                        .record(lab)?;
                }
            }
            if gpu.up {
                listings::measure(lab, &mut gpu, host, case("listing"))?;
            }
        }
    }
    Ok(())
}

/// One turn: how long both took, and what ran when.
fn both(
    gpu: &Work,
    issue: Issue,
    streams: usize,
    host: &mut [u32],
) -> Result<(f64, Vec<Span>)> {
    let (line, one, other) = (&gpu.line, &gpu.streams[0], &gpu.streams[streams - 1]);
    let lane = format!("stream {streams}");
    let launch =
        || line.gpu("stream 1", "kernel", one, || gpu.launch(one, gpu.steps));
    let copy = || line.gpu(&lane, "copy", other, || gpu.copy(1, other, host));
    match issue {
        // ANCHOR: orders
        Issue::CopyFirst => {
            line.begin(one)?;
            line.host("host", "copy", copy)?;
            line.host("host", "launch", launch)?;
        }
        Issue::KernelFirst => {
            line.begin(one)?;
            line.host("host", "launch", launch)?;
            line.host("host", "copy", copy)?;
        }
        // ANCHOR_END: orders
        Issue::TwoThreads => {
            // ANCHOR: threads
            let (ready, go) = (Barrier::new(2), AtomicBool::new(false));
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    ready.wait();
                    while !go.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    line.host("thread 2", "copy", copy)
                });
                ready.wait();
                let begun = line.begin(one);
                go.store(true, Ordering::Release);
                let launched = line.host("host", "launch", launch);
                let copied = thread.join().expect("a copy does not panic");
                begun.and(launched).and(copied)
            })?;
            // ANCHOR_END: threads
        }
    }
    line.host("host", "wait", || gpu.wait())?;
    line.finish()
}
