//! # Which calls return before their work is done?
//!
//! Page: `book/src/streams/asynchronous-calls.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The code; Why | when does each call return, and when is its work done? |
//! | [`calls`] | The code | the calls, and what they work on |
//! | [`course`] | The code; Measured | three calls in a row, seen from the host and from the GPU |
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
//! 64 MiB from and to pageable memory return when 90 % of their time is over or later. So
//! does a plain copy from pinned memory, but not a plain copy within the GPU.

mod calls;
mod course;

use std::process::ExitCode;

use lab::check::value;
use lab::measure::time_in_rounds;
use lab::memory::pinned;
use lab::{Case, Lab, Result};

use calls::{Calls, WORDS};

const SMALL: usize = 64 << 10;
const LARGE: usize = 64 << 20;

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
    let calls = [
        ("launch", 4 * WORDS, "both"),
        ("upload_pinned", large, "both"),
        ("upload_pageable", SMALL, "both"),
        ("upload_pageable", large, "created"),
        ("download_pinned", large, "created"),
        ("download_pageable", SMALL, "created"),
        ("download_pageable", large, "created"),
        ("set", large, "created"),
        ("copy_within", large, "created"),
        ("plain_upload_pinned", large, "default"),
        ("plain_upload_pageable", SMALL, "default"),
        ("plain_upload_pageable", large, "default"),
        ("plain_set", large, "default"),
        ("plain_copy_within", large, "default"),
    ];
    let context = lab.context().clone();
    for (name, stream) in
        [("created", context.new_stream()?), ("default", context.default_stream())]
    {
        for (call, bytes, _) in
            calls.into_iter().filter(|(.., at)| [name, "both"].contains(at))
        {
            let pinned = call.ends_with("pinned");
            let host = &mut host[usize::from(pinned)][..bytes / 4];
            let case = |until| {
                let case = Case::new("call").with("call", call).with("bytes", bytes);
                case.with("stream", name).with("until", until)
            };
            gpu.clear(call, host)?;
            // ANCHOR: timed
            // 3. The call on an idle GPU, without and with a wait for its work, in turn.
            let untils = ["returned", "done"];
            let idle = || Ok(stream.synchronize()?);
            let timed = time_in_rounds(lab, untils.map(case), idle, |until| {
                gpu.call(call, &stream, host)?;
                if untils[until] == "done" {
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
