//! When the CPU wins: from which size on is the GPU done first, if the data starts and
//! ends on the host?

use lab::memory::pinned;
use lab::{Case, Lab, Result};
use rayon::prelude::*;

use crate::{KIB, Kernels, MIB, WORD_BYTES, value};

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let largest = if lab.emulated() { MIB } else { 64 * MIB };
    let input = pinned(lab.context(), largest / WORD_BYTES, value)?;
    let mut output = pinned(lab.context(), largest / WORD_BYTES, |_| 0.0)?;
    for rounds in [1, 1024] {
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

            // On all of them, whose threads wait for work.
            output.fill(0.0);
            let share = words.div_ceil(rayon::current_num_threads());
            case("cpu_threads")
                .time_on_host(lab, || {
                    let shares = input.par_chunks(share);
                    shares.zip(output.par_chunks_mut(share)).for_each(
                        |(input, output)| {
                            on_the_host(input, output, rounds, 1.0, 1.0)
                        },
                    );
                    Ok(())
                })?
                .check(output, expected)?
                .record(lab)?;
        }
    }
    Ok(())
}

/// The kernel's work by a CPU core, with the widest vectors that it has.
fn on_the_host(input: &[f32], output: &mut [f32], rounds: usize, a: f32, b: f32) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: this CPU has AVX-512.
            return unsafe { with_avx512(input, output, rounds, a, b) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: this CPU has AVX2 and FMA.
            return unsafe { with_avx2(input, output, rounds, a, b) };
        }
    }
    // Every 64-bit Arm CPU has fused multiply-adds; other x86-64 CPUs have none.
    blocks::<32>(input, output, rounds, |x: f32| {
        if cfg!(target_arch = "aarch64") { x.mul_add(a, b) } else { x * a + b }
    });
}

/// Vectors of 16 floats, eight of them in flight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512(input: &[f32], output: &mut [f32], rounds: usize, a: f32, b: f32) {
    blocks::<128>(input, output, rounds, |x| x.mul_add(a, b));
}

/// Vectors of 8 floats, eight of them in flight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2(input: &[f32], output: &mut [f32], rounds: usize, a: f32, b: f32) {
    blocks::<64>(input, output, rounds, |x| x.mul_add(a, b));
}

// ANCHOR: on_the_host
/// `step` on each element, `rounds` times, `N` elements at a time: the compiler makes
/// vectors of them, and none waits for the one before.
#[inline(always)]
fn blocks<const N: usize>(
    input: &[f32],
    output: &mut [f32],
    rounds: usize,
    step: impl Fn(f32) -> f32,
) {
    for (input, output) in input.chunks(N).zip(output.chunks_mut(N)) {
        let mut x = [0.0; N];
        x[..input.len()].copy_from_slice(input);
        for _ in 0..rounds {
            x = x.map(&step);
        }
        output.copy_from_slice(&x[..input.len()]);
    }
}
// ANCHOR_END: on_the_host
