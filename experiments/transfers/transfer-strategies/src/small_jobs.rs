//! When the CPU wins: from which size on is the GPU done first, if the data starts and
//! ends on the host?

use lab::memory::pinned;
use lab::{Case, Lab, Result};

use crate::{KIB, Kernels, MIB, WORD_BYTES, value};

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let largest = if lab.quick() { MIB } else { 64 * MIB };
    let cores = std::thread::available_parallelism()?.get();
    let input = pinned(lab.context(), largest / WORD_BYTES, value)?;
    let mut output = pinned(lab.context(), largest / WORD_BYTES, |_| 0.0)?;
    for rounds in [1, 64] {
        let sizes = [4, 16, 64, 256, 1024, 4096, 16384, 65536].map(|n| n * KIB);
        for bytes in sizes.into_iter().filter(|bytes| *bytes <= largest) {
            let words = bytes / WORD_BYTES;
            let input = &input.as_slice()?[..words];
            let output = &mut output.as_mut_slice()?[..words];
            let mut from = stream.alloc_zeros::<f32>(words)?;
            let mut to = stream.alloc_zeros::<f32>(words)?;
            let expected = |i| value(i) + rounds as f32;
            let case =
                |name| Case::new(name).with("bytes", bytes).with("rounds", rounds);

            // ANCHOR: gpu
            // To the GPU, the kernel, and back.
            output.fill(0.0);
            case("gpu")
                .time_on_host(lab, || {
                    stream.memcpy_htod(input, &mut from)?;
                    kernels.add(&stream, &from, &mut to, rounds)?;
                    stream.memcpy_dtoh(&to, output)?;
                    Ok(stream.synchronize()?)
                })?
                .check(output, expected)?
                .record(lab)?;
            // ANCHOR_END: gpu

            // On one core of the host.
            output.fill(0.0);
            case("cpu")
                .time_on_host(lab, || {
                    on_the_host(input, output, rounds, 1.0, 1.0);
                    Ok(())
                })?
                .check(output, expected)?
                .record(lab)?;

            // On all of them, each thread started for the job.
            output.fill(0.0);
            let share = words.div_ceil(cores);
            case("cpu_threads")
                .time_on_host(lab, || {
                    std::thread::scope(|scope| {
                        let outputs = output.chunks_mut(share);
                        for (input, output) in input.chunks(share).zip(outputs) {
                            scope.spawn(move || {
                                on_the_host(input, output, rounds, 1.0, 1.0)
                            });
                        }
                    });
                    Ok(())
                })?
                .check(output, expected)?
                .record(lab)?;
        }
    }
    Ok(())
}

// ANCHOR: on_the_host
/// The kernel's work by a CPU core, 32 elements at a time, so that the compiler can use
/// vector instructions and none waits for the one before.
#[inline(never)]
fn on_the_host(input: &[f32], output: &mut [f32], rounds: usize, a: f32, b: f32) {
    for (input, output) in input.chunks(32).zip(output.chunks_mut(32)) {
        let mut x = [0.0; 32];
        x[..input.len()].copy_from_slice(input);
        for _ in 0..rounds {
            for x in &mut x {
                *x = *x * a + b;
            }
        }
        output.copy_from_slice(&x[..input.len()]);
    }
}
// ANCHOR_END: on_the_host
