//! Overlap: what does a copy cost beside a kernel?

use lab::memory::{pinned, power_of_two_within};
use lab::{Case, Ceiling, Lab, Result};

use crate::crossover::bound_seconds;
use crate::{Kernels, WORD_BYTES, value};

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    // Input and output of the kernel together are four times the L2 cache; the copy
    // goes to a third buffer, as the next input would.
    let (context, kernels) = (lab.context().clone(), Kernels::load(lab)?);
    let (first, second) = (context.new_stream()?, context.new_stream()?);
    let (begun, done) = (context.new_event(None)?, context.new_event(None)?);
    let wanted = 2 * lab.l2_bytes().next_power_of_two();
    let bytes = wanted.min(power_of_two_within(lab.free_bytes()? / 8));
    let words = bytes / WORD_BYTES;
    let host = pinned(&context, words, value)?;
    let host = host.as_slice()?;
    let input = first.clone_htod(host)?;
    let mut output = first.alloc_zeros::<f32>(words)?;
    let mut next = first.alloc_zeros::<f32>(words)?;

    // The copy alone.
    Case::new("copy")
        .with("bytes", bytes)
        .writes(bytes)
        .ceiling(Ceiling::HostLink)
        .time_on_gpu(lab, &first, |_| Ok(first.memcpy_htod(host, &mut next)?))?
        .check_device(&first, &next, value)?
        .record(lab)?;

    for rounds in [1, 4, 64, 256, 512, 1024, 2048, 4096, 8192, 16384] {
        let expected = |i| value(i) + rounds as f32;
        let case =
            |name| Case::new(name).with("bytes", bytes).with("rounds", rounds);

        // The kernel alone, and what its model says.
        first.memset_zeros(&mut output)?;
        let mut kernel = case("kernel")
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(2 * bytes, lab.l2_bytes())
            .model("flop_per_byte", 2.0 * rounds as f64 / WORD_BYTES as f64);
        if let Some(bound) = bound_seconds(lab, words, rounds)? {
            kernel = kernel.model("bound_seconds", bound);
        }
        kernel
            .time_on_gpu(lab, &first, |_| {
                kernels.add(&first, &input, &mut output, rounds)
            })?
            .check_device(&first, &output, expected)?
            .record(lab)?;

        // Copy and kernel in one stream: one after the other.
        first.memset_zeros(&mut output)?;
        first.memset_zeros(&mut next)?;
        case("one_stream")
            .time_on_gpu(lab, &first, |_| {
                first.memcpy_htod(host, &mut next)?;
                kernels.add(&first, &input, &mut output, rounds)
            })?
            .check_device(&first, &output, expected)?
            .check_device(&first, &next, value)?
            .record(lab)?;

        // ANCHOR: two_streams
        // The copy in a stream of its own, which starts when the first gets here; the
        // first goes on when it is done.
        first.memset_zeros(&mut output)?;
        first.memset_zeros(&mut next)?;
        case("two_streams")
            .time_on_gpu(lab, &first, |_| {
                begun.record(&first)?;
                second.wait(&begun)?;
                second.memcpy_htod(host, &mut next)?;
                kernels.add(&first, &input, &mut output, rounds)?;
                done.record(&second)?;
                Ok(first.wait(&done)?)
            })?
            .check_device(&first, &output, expected)?
            .check_device(&first, &next, value)?
            .record(lab)?;
        // ANCHOR_END: two_streams
    }
    Ok(())
}
