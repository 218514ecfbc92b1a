//! # How fast do bytes cross the link between host and GPU?
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
//! to within 10 %. A small copy is all latency and a large one all bandwidth, which
//! stays below the theoretical peak by the headers that packets carry: about nine tenths
//! of it is left. The link has separate lanes for each direction, so copying both ways
//! at once doubles the sum.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, PinnedHostSlice};
use lab::check::value;
use lab::{Case, Ceiling, Lab, Result, check};

const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;

fn main() -> ExitCode {
    let question = "How fast do bytes cross the link between host and GPU?";
    lab::run("transfer-bandwidth", question, None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two streams, so that a copy each way can be in flight, and an event for each
    //    to wait for the other.
    let context = lab.context().clone();
    let (up, down) = (context.new_stream()?, context.new_stream()?);
    let (begun, done) = (context.new_event(None)?, context.new_event(None)?);

    // 2. Buffers: pinned memory on the host, which the copy engine can read by itself.
    //    The device has one buffer to receive into and one to send from.
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let words = largest / size_of::<u32>();
    let mut source = pinned(&context, words)?;
    let mut target = pinned(&context, words)?;
    for (i, word) in source.as_mut_slice()?.iter_mut().enumerate() {
        *word = value(i);
    }
    let mut received = up.alloc_zeros::<u32>(words)?;
    let sent = up.clone_htod(&source)?;
    up.synchronize()?;

    // 3. All sizes, each way and both at once.
    let mut bytes = SMALLEST;
    while bytes <= largest {
        let words = bytes / size_of::<u32>();
        let source = &source.as_slice()?[..words];
        let copy = |direction| {
            Case::new("copy").with("direction", direction).with("bytes", bytes)
        };

        // ANCHOR: one_way
        // 4. Host to device. The destination is cleared first and checked afterwards.
        up.memset_zeros(&mut received)?;
        let samples = lab.time_on_gpu(&up, |_| {
            Ok(up.memcpy_htod(source, &mut received.slice_mut(..words))?)
        })?;
        let got = up.clone_dtoh(&received.slice(..words))?;
        let checked = check::every_element("host to device", &got, value)?;
        let case = copy("host_to_device").writes(bytes).ceiling(Ceiling::HostLink);
        lab.record(case.checked(checked).samples(samples))?;
        // ANCHOR_END: one_way

        // 5. Device to host.
        let target = &mut target.as_mut_slice()?[..words];
        target.fill(0);
        let samples = lab.time_on_gpu(&down, |_| {
            Ok(down.memcpy_dtoh(&sent.slice(..words), target)?)
        })?;
        down.synchronize()?;
        let checked = check::every_element("device to host", target, value)?;
        let case = copy("device_to_host").reads(bytes).ceiling(Ceiling::HostLink);
        lab.record(case.checked(checked).samples(samples))?;

        // ANCHOR: both_ways
        // 6. Both at once: the second stream starts when the first one gets here, and
        //    the first one goes on when the second is done.
        target.fill(0);
        up.memset_zeros(&mut received)?;
        let samples = lab.time_on_gpu(&up, |_| {
            begun.record(&up)?;
            down.wait(&begun)?;
            up.memcpy_htod(source, &mut received.slice_mut(..words))?;
            down.memcpy_dtoh(&sent.slice(..words), target)?;
            done.record(&down)?;
            up.wait(&done)?;
            Ok(())
        })?;
        // ANCHOR_END: both_ways
        let got = up.clone_dtoh(&received.slice(..words))?;
        let checked = check::every_element("both ways, received", &got, value)?
            + check::every_element("both ways, sent", target, value)?;
        let case = copy("both")
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::HostLinkBothWays);
        lab.record(case.checked(checked).samples(samples))?;

        bytes *= 2;
    }
    Ok(())
}

/// Plain pinned memory. (cudarc's `alloc_pinned` would make it write-combined, which the
/// host is not meant to read.)
fn pinned(context: &Arc<CudaContext>, words: usize) -> Result<PinnedHostSlice<u32>> {
    // SAFETY: both buffers are written in full before anything reads them.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<u32>(words, 0) }?;
    memory.as_mut_slice()?.fill(0);
    Ok(memory)
}
