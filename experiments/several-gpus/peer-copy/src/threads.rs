//! More and more threads, each with 16 bytes in flight, or with 4. They bring as much in
//! each latency of the memory that they read, if the link carries it.

use lab::{Case, Lab, Result};

use crate::gpu::Gpu;
use crate::transfer::{Transfer, Way, one};

/// Threads on each multiprocessor that copy.
const THREADS: [u32; 7] = [32, 64, 128, 256, 512, 1024, 2048];

/// From `a` to `b`. A load takes `latency` seconds, from a GPU's own memory and from
/// the other's, and a copy engine carries `engine` bytes per second.
pub(crate) fn cases(
    lab: &mut Lab,
    a: &Gpu,
    b: &Gpu,
    latency: [f64; 2],
    engine: f64,
) -> Result<()> {
    for each in THREADS {
        for kind in ["kernel_read", "kernel_write", "narrow_read"] {
            let case = Case::new("threads").with("kind", kind);
            let case = case.with("threads_per_multiprocessor", each as usize);
            let worker = if kind == "kernel_write" { a } else { b };
            let threads = each * worker.multiprocessors;
            if threads > worker.threads {
                lab.skip(case, "this GPU does not hold so many threads");
                continue;
            }
            let (way, width) = match kind {
                "kernel_read" => (Way::Read { threads }, 16.0),
                "kernel_write" => (Way::Write { threads }, 16.0),
                _ => (Way::NarrowRead { threads }, 4.0),
            };
            let in_flight = width * f64::from(threads);
            let read = latency[usize::from(kind != "kernel_write")];
            let case = case
                .model("bytes_in_flight", in_flight)
                .model("bound_bytes_per_second", (in_flight / read).min(engine));
            one(lab, case, Transfer::whole(a, b, way))?.record(lab)?;
        }
    }
    Ok(())
}
