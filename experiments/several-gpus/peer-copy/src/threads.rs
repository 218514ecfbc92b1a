//! More and more threads, each with 16 bytes in flight, or with 4. They bring as much in
//! each latency of the memory that they read, if the link carries it.

use lab::{Case, Lab, Result};

use crate::device::Peer;
use crate::transfer::{Mover, Transfer, one};

/// Threads on each multiprocessor that copy.
const THREADS: [u32; 7] = [32, 64, 128, 256, 512, 1024, 2048];

/// A kernel that copies: its name in the record, its mover, the GPU that runs it, the bytes
/// that a thread has in flight, and the latency of what it reads.
type Kind<'a> = (&'static str, fn(u32) -> Mover, &'a Peer, f64, f64);

/// Times transfers from `a` to `b`. A load takes `own` seconds from a GPU's own memory and `peer`
/// from the other's, and a copy engine carries `engine` bytes per second.
pub(crate) fn cases(
    lab: &mut Lab,
    a: &Peer,
    b: &Peer,
    [own, peer]: [f64; 2],
    engine: f64,
) -> Result<()> {
    let kinds: [Kind; 3] = [
        ("kernel_read", Mover::Read, b, 16.0, peer),
        ("kernel_write", Mover::Write, a, 16.0, own),
        ("narrow_read", Mover::NarrowRead, b, 4.0, peer),
    ];
    for each in THREADS {
        for (kind, mover, worker, width, latency) in kinds {
            let case = Case::new("threads").with("kind", kind);
            let case = case.with("threads_per_multiprocessor", each as usize);
            let threads = each * worker.multiprocessors;
            if threads > worker.threads {
                lab.skip(case, "this GPU does not hold so many threads");
                continue;
            }
            let in_flight = width * f64::from(threads);
            let case = case
                .model("bytes_in_flight", in_flight)
                .model("bound_bytes_per_second", (in_flight / latency).min(engine));
            one(lab, case, Transfer::whole(a, b, mover(threads)))?.record(lab)?;
        }
    }
    Ok(())
}
