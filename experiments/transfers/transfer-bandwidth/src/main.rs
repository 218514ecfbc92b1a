//! # How fast do bytes cross the link between host and GPU?
//!
//! Page: `book/src/transfers/transfer-bandwidth.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | each way and both, in every size |
//!
//! A copy between host and GPU is work for a *copy engine*, a DMA unit on the GPU: it
//! reads a descriptor, then moves bytes over PCI Express in packets. The first costs the
//! same for every copy, the second grows with the bytes:
//!
//! ```text
//! time = latency + bytes / bandwidth
//! ```
//!
//! **Prediction:** these two numbers give the time of every size from 1 KiB to 1 GiB
//! to within 10%. A small copy is all latency and a large one all bandwidth, which
//! stays below the theoretical peak by the headers that packets carry: about nine tenths
//! of it is left. The link has separate lanes for each direction, so copying both ways
//! at once doubles the sum.

use std::process::ExitCode;

use lab::check::value;
use lab::memory::pinned;
use lab::{Case, Ceiling, Lab, Result};

const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;

fn main() -> ExitCode {
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two streams, so that a copy each way can be in flight, and an event for each
    //    to wait for the other.
    let context = lab.context().clone();
    let (up, down) = (context.new_stream()?, context.new_stream()?);
    let (begun, done) = (context.new_event(None)?, context.new_event(None)?);

    // 2. Buffers: pinned memory on the host, which the copy engine can read by itself.
    //    The device has one buffer to receive into and one to send from.
    let most = if lab.emulated() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let words = largest / size_of::<u32>();
    let source = pinned(&context, words, value)?;
    let mut target = pinned(&context, words, |_| 0)?;
    let mut received = up.alloc_zeros::<u32>(words)?;
    let sent = up.clone_htod(&source)?;
    up.synchronize()?;

    // 3. All sizes, each way and both at once.
    let sizes = std::iter::successors(Some(SMALLEST), |bytes| Some(2 * bytes));
    for bytes in sizes.take_while(|bytes| *bytes <= largest) {
        let words = bytes / size_of::<u32>();
        let source = &source.as_slice()?[..words];
        let target = &mut target.as_mut_slice()?[..words];
        let copy = |direction| {
            Case::new("copy").with("direction", direction).with("bytes", bytes)
        };

        // ANCHOR: one_way
        // 4. Host to device. The destination is cleared first and checked afterwards.
        up.memset_zeros(&mut received)?;
        copy("host_to_device")
            .writes(bytes)
            .ceiling(Ceiling::HostLink)
            .time_on_gpu(lab, &up, |_| {
                Ok(up.memcpy_htod(source, &mut received.slice_mut(..words))?)
            })?
            .check_device(&up, &received.slice(..words), value)?
            .record(lab)?;
        // ANCHOR_END: one_way

        // 5. Device to host.
        target.fill(0);
        copy("device_to_host")
            .reads(bytes)
            .ceiling(Ceiling::HostLink)
            .time_on_gpu(lab, &down, |_| {
                Ok(down.memcpy_dtoh(&sent.slice(..words), target)?)
            })?
            .check(target, value)?
            .record(lab)?;

        // ANCHOR: both_ways
        // 6. Both at once: the second stream starts when the first one gets here, and
        //    the first one goes on when the second is done.
        target.fill(0);
        up.memset_zeros(&mut received)?;
        copy("both")
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::HostLinkBothWays)
            .time_on_gpu(lab, &up, |_| {
                begun.record(&up)?;
                down.wait(&begun)?;
                up.memcpy_htod(source, &mut received.slice_mut(..words))?;
                down.memcpy_dtoh(&sent.slice(..words), target)?;
                done.record(&down)?;
                Ok(up.wait(&done)?)
            })?
            .check_device(&up, &received.slice(..words), value)?
            .check(target, value)?
            .record(lab)?;
        // ANCHOR_END: both_ways
    }
    Ok(())
}
