//! The kernel alone, on a buffer that is there, short and long. And `cuMemFree` alone,
//! after the kernel and during it.

use std::time::Instant;

use lab::{Case, Ceiling, Clock, Lab, Result, check};

use crate::allocator::Allocator;
use crate::rounds::Bench;

const PASSES: [usize; 2] = [1, 16];

pub(crate) fn cases(lab: &mut Lab, bench: &mut Bench) -> Result<()> {
    let (stream, direct) = (bench.streams[0].clone(), &Allocator::MemAlloc);
    let bytes = bench.words * size_of::<u32>();
    for passes in PASSES {
        let case = |name| {
            let case = Case::new(name).with("bytes", bytes).with("passes", passes);
            case.writes(passes * bytes)
        };
        let buffer = direct.alloc(bytes, &stream)?;
        bench.turn += 1;
        let timed = case("kernel")
            .ceiling(Ceiling::DeviceMemory)
            .footprint(bytes, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |_| bench.work(&stream, buffer, passes))?;
        let right = bench.right(buffer)?;
        check::every_element("right words", &[right], |_| bench.words as u64)?;
        bench.turn += 1; // in which nothing is right yet
        check::every_element("words", &[bench.right(buffer)?], |_| 0)?;
        direct.free(buffer, &stream)?;
        timed.checked(right).record(lab)?;

        // ANCHOR: free
        for (schedule, waits, frees_other) in [
            ("waiting", true, false),
            ("one_stream", false, false),
            ("unused", false, true),
        ] {
            let turn = || {
                let buffer = direct.alloc(bytes, &stream)?;
                let other = direct.alloc(bytes, &stream)?;
                bench.work(&stream, buffer, passes)?;
                if waits {
                    stream.synchronize()?;
                }
                // What the kernel works on, or a buffer that it has nothing to do with.
                let (first, second) = match frees_other {
                    true => (other, buffer),
                    false => (buffer, other),
                };
                let start = Instant::now();
                direct.free(first, &stream)?;
                let seconds = start.elapsed().as_secs_f64();
                direct.free(second, &stream)?;
                Ok((seconds, ()))
            };
            let case = case("free").with("schedule", schedule);
            case.time_turns(lab, Clock::Host, turn)?.record(lab)?;
        }
        // ANCHOR_END: free
    }
    Ok(())
}
