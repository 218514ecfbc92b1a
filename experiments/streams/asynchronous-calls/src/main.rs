//! # Which calls return before their work is done?
//!
//! Page: `book/src/streams/asynchronous-calls.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Why | when does each call return, and when is its work done? |
//! | [`calls`] | The experiment | the calls, and what they work on |
//! | [`course`] | The experiment; Measured | three calls in a row, seen from the host and from the GPU |
//!
//! A call is *asynchronous* if it puts its work into a stream and returns at once. The
//! driver promises that of some calls and not of others, and a name that ends in `Async`
//! is no promise: where the copy engine cannot reach the host's memory, the call itself
//! does a part of the work.
//!
//! Each call is timed twice on an idle GPU: until it returns, and until its work is done
//! too. It is put into a stream of the program's own, and into the default stream.
//!
//! **Prediction:** a launch, copies of 64 MiB from and to pinned memory, fills and copies
//! within the GPU return within 20 µs, in the default stream as in any other. Copies of
//! 64 MiB from and to pageable memory return when 90% of their time is over or later. So
//! does a plain copy from pinned memory, but not a plain copy within the GPU.

mod calls;
mod course;

use std::process::ExitCode;

use lab::check::value;
use lab::measure::time_in_rounds;
use lab::memory::pinned;
use lab::{Case, Lab, Result};

use calls::{Call, Calls, WORDS};

const SMALL: usize = 64 << 10;
const LARGE: usize = 64 << 20;

lab::words! {
    /// The stream that a call is put into: one of the program's own, or the default stream.
    enum Stream { Created = "created", Default = "default" }
}

fn main() -> ExitCode {
    lab::run!(Some(calls::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Device memory, and host memory of both kinds.
    let most = if lab.emulated() { LARGE / 16 } else { LARGE };
    let large = most.min(lab.free_bytes()?.next_power_of_two() / 32);
    let words = large / 4;
    let mut gpu = Calls::new(lab, words)?;
    let mut pageable = vec![1u32; words];
    let mut pinned = pinned(lab.context(), words, value)?;
    let host = [&mut pageable[..], pinned.as_mut_slice()?];

    // 2. Calls in a stream of the program's own and in the default stream, which also
    //    gets the plain calls: they name no stream.
    let created = &[Stream::Created][..];
    let (default, both) = (&[Stream::Default][..], &Stream::ALL[..]);
    let calls = [
        (Call::Launch, 4 * WORDS, both),
        (Call::UploadPinned, large, both),
        (Call::UploadPageable, SMALL, both),
        (Call::UploadPageable, large, created),
        (Call::DownloadPinned, large, created),
        (Call::DownloadPageable, SMALL, created),
        (Call::DownloadPageable, large, created),
        (Call::Set, large, created),
        (Call::CopyWithin, large, created),
        (Call::PlainUploadPinned, large, default),
        (Call::PlainUploadPageable, SMALL, default),
        (Call::PlainUploadPageable, large, default),
        (Call::PlainSet, large, default),
        (Call::PlainCopyWithin, large, default),
    ];
    let context = lab.context().clone();
    for kind in Stream::ALL {
        let stream = match kind {
            Stream::Created => context.new_stream()?,
            Stream::Default => context.default_stream(),
        };
        for (call, bytes, _) in
            calls.into_iter().filter(|(.., kinds)| kinds.contains(&kind))
        {
            let host = &mut host[usize::from(call.is_pinned())][..bytes / 4];
            let case = |(until, _waits)| {
                let case = Case::new("call").with("call", call);
                let case = case.with("bytes", bytes).with("stream", kind);
                case.with("until", until)
            };
            gpu.clear(call, host)?;
            // ANCHOR: timed
            // 3. The call on an idle GPU, without and with a wait for its work, in turn.
            let untils = [("returned", false), ("done", true)];
            let idle = || Ok(stream.synchronize()?);
            let timed = time_in_rounds(lab, untils.map(case), idle, |until| {
                gpu.call(call, &stream, host)?;
                let (_, waits) = untils[until];
                if waits {
                    stream.synchronize()?;
                }
                Ok(())
            })?;
            // ANCHOR_END: timed
            stream.synchronize()?;
            let checked = gpu.check(call, host)?;
            for timed in timed {
                timed.checked(checked).record(lab)?;
            }
        }
    }
    course::measure(lab, &mut gpu, words)
}
