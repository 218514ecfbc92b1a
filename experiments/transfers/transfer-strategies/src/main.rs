//! # What do the usual ways to transfer less, or faster, really save?
//!
//! Data that is to be computed on must cross the link to the GPU, and its results must
//! cross back. Four ways to pay less for that, and two limits to all of them:
//!
//! ```text
//! residency   k kernels on data that stays     against   a round trip for each kernel
//! batching    one copy of 4 MiB                against   up to 1024 copies of pieces
//! overlap     the copy beside a kernel         against   the copy before the kernel
//! pinned      (the experiment host-memory)
//! crossover   how much arithmetic on each byte makes the kernel as long as the copy?
//! small jobs  when is the host done before the data has been there and back?
//! ```
//!
//! **Prediction:** a copy costs latency + bytes / bandwidth (transfer-bandwidth), so all
//! follows by arithmetic. k kernels with one round trip save 1 - 1/k of the transfers: 90 %
//! from k = 10 on. 1024 copies cost 1023 latencies more than one: at 2.5 µs each, 30 times
//! the one copy. A copy beside a kernel that lasts as long is hidden in full, which saves
//! half of the time and no more. And the kernel lasts as long as the copy at 1200 FLOP per
//! byte, the ratio of the peaks (67 TFLOP/s over 55 GB/s on an H200).

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtrMut, LaunchConfig,
    PinnedHostSlice, PushKernelArg, result, sys,
};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "transfer-strategies",
    source: include_str!("../../../../kernels/transfer-strategies.cu"),
    ptx: include_str!("../../../../kernels/ptx/transfer-strategies.ptx"),
};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;
const WORD_BYTES: usize = size_of::<f32>();

fn main() -> ExitCode {
    let question =
        "What do the usual ways to transfer less, or faster, really save?";
    lab::run("transfer-strategies", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The kernel, checked at a size that no block divides.
    let stream = lab.context().new_stream()?;
    let work = Work { kernel: lab.module()?.load_function("work")? };
    let ragged: Vec<f32> = (0..100_003).map(value).collect();
    let input = stream.clone_htod(&ragged)?;
    let mut output = stream.alloc_zeros::<f32>(ragged.len())?;
    work.launch(&stream, &input, &mut output, 67)?;
    check::every_element("ragged", &stream.clone_dtoh(&output)?, |i| {
        value(i) + 67.0
    })?;

    // 2. One question after the other.
    residency(lab, &stream, &work)?;
    overlap(lab, &work)?;
    read_once(lab, &stream)?;
    small_jobs(lab, &stream, &work)?;
    batching(lab, &stream)
}

/// Does it pay to leave the data on the GPU between two kernels?
fn residency(lab: &mut Lab, stream: &Arc<CudaStream>, work: &Work) -> Result<()> {
    let large = if lab.quick() { MIB } else { 16 * MIB };
    for bytes in [4 * KIB, large] {
        let words = bytes / WORD_BYTES;
        let (input, mut output) =
            (pinned(lab.context(), words)?, pinned(lab.context(), words)?);
        let (input, output) = (input.as_slice()?, output.as_mut_slice()?);
        let mut from = stream.alloc_zeros::<f32>(words)?;
        let mut to = stream.alloc_zeros::<f32>(words)?;

        for kernels in [1usize, 2, 4, 8, 16, 32] {
            let case =
                |name| Case::new(name).with("bytes", bytes).with("kernels", kernels);
            let expected = |i| value(i) + kernels as f32;

            // ANCHOR: round_trips
            // The result of each kernel goes to the host, which sends it back.
            output.fill(0.0);
            let samples = lab.time_on_host(|| {
                stream.memcpy_htod(input, &mut from)?;
                for kernel in 0..kernels {
                    if kernel > 0 {
                        stream.memcpy_htod(output, &mut from)?;
                    }
                    work.launch(stream, &from, &mut to, 1)?;
                    stream.memcpy_dtoh(&to, output)?;
                    stream.synchronize()?;
                }
                Ok(())
            })?;
            // ANCHOR_END: round_trips
            let checked = check::every_element("round trips", output, expected)?;
            lab.record(case("round_trips").checked(checked).samples(samples))?;

            // ANCHOR: resident
            // The data comes once, stays for all kernels, and goes once.
            output.fill(0.0);
            let samples = lab.time_on_host(|| {
                stream.memcpy_htod(input, &mut from)?;
                for _ in 0..kernels {
                    work.launch(stream, &from, &mut to, 1)?;
                    std::mem::swap(&mut from, &mut to);
                }
                stream.memcpy_dtoh(&from, output)?;
                Ok(stream.synchronize()?)
            })?;
            // ANCHOR_END: resident
            let checked = check::every_element("resident", output, expected)?;
            lab.record(case("resident").checked(checked).samples(samples))?;
        }
    }
    Ok(())
}

/// What do 4 MiB cost in one copy, and what in pieces?
fn batching(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    // The pieces lie scattered: between two of them is room for a third. Each turn takes
    // the next 8 MiB, so that the CPU's caches do not hold the pieces from the turn before.
    const TOTAL: usize = 4 * MIB;
    let turns = if lab.quick() { 8 } else { 64 };
    let pool_words = turns * 2 * TOTAL / WORD_BYTES;
    let pinned_pool = pinned(lab.context(), pool_words)?;
    let pageable_pool = pinned_pool.as_slice()?.to_vec();
    let mut staging = pinned(lab.context(), TOTAL / WORD_BYTES)?;
    let mut device = stream.alloc_zeros::<f32>(TOTAL / WORD_BYTES)?;

    let mut piece_bytes = 4 * KIB;
    while piece_bytes <= TOTAL {
        let pieces = TOTAL / piece_bytes;
        let words = piece_bytes / WORD_BYTES;
        let start = |turn: usize, piece: usize| {
            ((turn % turns) * 2 * pieces + 2 * piece) * words
        };
        let case = |name: &str| {
            let case = Case::new(name).with("piece_bytes", piece_bytes);
            case.writes(TOTAL).ceiling(Ceiling::HostLink)
        };
        let check = |what, device: &CudaSlice<f32>, turn| {
            check::every_element(what, &stream.clone_dtoh(device)?, |i| {
                value(start(turn, i / words) + i % words)
            })
        };

        // ANCHOR: separate
        for kind in ["pinned", "pageable"] {
            let pool = match kind {
                "pinned" => pinned_pool.as_slice()?,
                _ => &pageable_pool,
            };
            stream.memset_zeros(&mut device)?;
            let mut turn = 0;
            let samples = lab.time_on_host(|| {
                turn += 1;
                for piece in 0..pieces {
                    let source = &pool[start(turn, piece)..][..words];
                    let place = piece * words..(piece + 1) * words;
                    stream.memcpy_htod(source, &mut device.slice_mut(place))?;
                }
                Ok(stream.synchronize()?)
            })?;
            let checked = check("separate", &device, turn)?;
            let name = format!("separate_{kind}");
            lab.record(case(&name).checked(checked).samples(samples))?;
        }
        // ANCHOR_END: separate

        // ANCHOR: gathered
        stream.memset_zeros(&mut device)?;
        let mut turn = 0;
        let samples = lab.time_on_host(|| {
            turn += 1;
            let staging = staging.as_mut_slice()?;
            for (piece, target) in staging.chunks_exact_mut(words).enumerate() {
                let source = &pageable_pool[start(turn, piece)..][..words];
                target.copy_from_slice(source);
            }
            stream.memcpy_htod(staging, &mut device)?;
            Ok(stream.synchronize()?)
        })?;
        // ANCHOR_END: gathered
        let checked = check("gathered", &device, turn)?;
        lab.record(case("gathered").checked(checked).samples(samples))?;

        // One call of the driver for all pieces.
        if cuda_version()? < 12_080 {
            lab.skip(case("batched"), "the driver is older than CUDA 12.8");
        } else {
            stream.memset_zeros(&mut device)?;
            let pool = pinned_pool.as_slice()?;
            let mut turn = 0;
            let samples = lab.time_on_host(|| {
                turn += 1;
                let sources =
                    (0..pieces).map(|piece| &pool[start(turn, piece)..][..words]);
                copy_batch(stream, sources, &mut device)?;
                Ok(stream.synchronize()?)
            })?;
            let checked = check("batched", &device, turn)?;
            lab.record(case("batched").checked(checked).samples(samples))?;
        }
        piece_bytes *= 4;
    }
    Ok(())
}

/// What does a copy cost beside a kernel, and when does the kernel take as long?
fn overlap(lab: &mut Lab, work: &Work) -> Result<()> {
    // Input and output of the kernel together are four times the L2 cache; the copy
    // goes to a third buffer, as the next input would.
    let (first, second) = (lab.context().new_stream()?, lab.context().new_stream()?);
    let (begun, done) =
        (lab.context().new_event(None)?, lab.context().new_event(None)?);
    let wanted = 2 * lab.l2_bytes().next_power_of_two();
    let bytes = wanted.min((lab.free_bytes()? / 8).next_power_of_two() / 2);
    let words = bytes / WORD_BYTES;
    let host = pinned(lab.context(), words)?;
    let host = host.as_slice()?;
    let input = first.clone_htod(host)?;
    let mut output = first.alloc_zeros::<f32>(words)?;
    let mut next = first.alloc_zeros::<f32>(words)?;
    let l2_bytes = lab.l2_bytes();

    // The copy alone.
    let samples =
        lab.time_on_gpu(&first, |_| Ok(first.memcpy_htod(host, &mut next)?))?;
    let checked = check::every_element("copy", &first.clone_dtoh(&next)?, value)?;
    let copy = Case::new("copy").with("bytes", bytes).writes(bytes);
    lab.record(copy.ceiling(Ceiling::HostLink).checked(checked).samples(samples))?;

    let flop_peak = flop_peak(lab)?;
    for rounds in [1, 4, 64, 256, 512, 1024, 2048, 4096, 8192, 16384] {
        let expected = |i| value(i) + rounds as f32;
        let case =
            |name| Case::new(name).with("bytes", bytes).with("rounds", rounds);

        // The kernel alone, and what its model says: as long as the slower of reading
        // and writing its data, and computing.
        first.memset_zeros(&mut output)?;
        let samples = lab.time_on_gpu(&first, |_| {
            work.launch(&first, &input, &mut output, rounds)
        })?;
        let checked =
            check::every_element("kernel", &first.clone_dtoh(&output)?, expected)?;
        let mut kernel = case("kernel")
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(2 * bytes, l2_bytes)
            .model("flop_per_byte", 2.0 * rounds as f64 / WORD_BYTES as f64);
        if let Some(memory_peak) = lab.memory_peak() {
            let memory = 2.0 * bytes as f64 / memory_peak;
            let computing = 2.0 * rounds as f64 * words as f64 / flop_peak;
            kernel = kernel.model("bound_seconds", memory.max(computing));
        }
        lab.record(kernel.checked(checked).samples(samples))?;

        // ANCHOR: one_stream
        // Copy and kernel in one stream: one after the other.
        first.memset_zeros(&mut output)?;
        first.memset_zeros(&mut next)?;
        let samples = lab.time_on_gpu(&first, |_| {
            first.memcpy_htod(host, &mut next)?;
            work.launch(&first, &input, &mut output, rounds)
        })?;
        // ANCHOR_END: one_stream
        let checked =
            check::every_element("kernel", &first.clone_dtoh(&output)?, expected)?
                + check::every_element("copy", &first.clone_dtoh(&next)?, value)?;
        lab.record(case("one_stream").checked(checked).samples(samples))?;

        // ANCHOR: two_streams
        // The copy in a stream of its own, which starts when the first gets here; the
        // first goes on when it is done.
        first.memset_zeros(&mut output)?;
        first.memset_zeros(&mut next)?;
        let samples = lab.time_on_gpu(&first, |_| {
            begun.record(&first)?;
            second.wait(&begun)?;
            second.memcpy_htod(host, &mut next)?;
            work.launch(&first, &input, &mut output, rounds)?;
            done.record(&second)?;
            Ok(first.wait(&done)?)
        })?;
        // ANCHOR_END: two_streams
        let checked =
            check::every_element("kernel", &first.clone_dtoh(&output)?, expected)?
                + check::every_element("copy", &first.clone_dtoh(&next)?, value)?;
        lab.record(case("two_streams").checked(checked).samples(samples))?;
    }
    Ok(())
}

/// The least that a kernel can do with 1 GiB: read it once, in the GPU's own memory.
fn read_once(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let read = lab.module()?.load_function("read")?;
    let threads = lab.resident_threads()?;
    let most = if lab.quick() { GIB / 16 } else { GIB };
    let bytes = most.min((lab.free_bytes()? / 2).next_power_of_two() / 2);
    let ramp: Vec<f32> = (0..bytes / WORD_BYTES).map(value).collect();
    let input = stream.clone_htod(&ramp)?;
    let mut sum = stream.alloc_zeros::<u32>(1)?;
    let mut turns = 0u32;
    let samples = lab.time_on_gpu(stream, |_| {
        turns += 1;
        let vectors = ramp.len() / 4;
        let mut launch = stream.launch_builder(&read);
        launch.arg(&input).arg(&mut sum).arg(&vectors);
        // SAFETY: the kernel takes (in, sum, count) and reads `count` vectors of four
        // words, which is what the input holds.
        unsafe { launch.launch(blocks_for(threads)) }?;
        Ok(())
    })?;
    let once = ramp.iter().fold(0u32, |sum, word| sum.wrapping_add(word.to_bits()));
    let total = once.wrapping_mul(turns);
    check::every_element("read", &stream.clone_dtoh(&sum)?, |_| total)?;
    let case = Case::new("read").with("bytes", bytes).reads(bytes);
    let case = case.ceiling(Ceiling::DeviceMemory).footprint(bytes, lab.l2_bytes());
    lab.record(case.checked(ramp.len() as u64).samples(samples))
}

/// From which size on is the GPU done first, if the data starts and ends on the host?
fn small_jobs(lab: &mut Lab, stream: &Arc<CudaStream>, work: &Work) -> Result<()> {
    let largest = if lab.quick() { MIB } else { 64 * MIB };
    let threads = std::thread::available_parallelism()?.get();
    let input = pinned(lab.context(), largest / WORD_BYTES)?;
    let mut output = pinned(lab.context(), largest / WORD_BYTES)?;
    for rounds in [1, 64] {
        let expected = |i| value(i) + rounds as f32;
        let mut bytes = 4 * KIB;
        while bytes <= largest {
            let words = bytes / WORD_BYTES;
            let input = &input.as_slice()?[..words];
            let output = &mut output.as_mut_slice()?[..words];
            let mut from = stream.alloc_zeros::<f32>(words)?;
            let mut to = stream.alloc_zeros::<f32>(words)?;
            let case =
                |name| Case::new(name).with("bytes", bytes).with("rounds", rounds);

            // ANCHOR: small_jobs
            // There, computed, and back.
            output.fill(0.0);
            let samples = lab.time_on_host(|| {
                stream.memcpy_htod(input, &mut from)?;
                work.launch(stream, &from, &mut to, rounds)?;
                stream.memcpy_dtoh(&to, output)?;
                Ok(stream.synchronize()?)
            })?;
            // ANCHOR_END: small_jobs
            let checked = check::every_element("gpu", output, expected)?;
            lab.record(case("gpu").checked(checked).samples(samples))?;

            // On one core of the host.
            output.fill(0.0);
            let samples = lab.time_on_host(|| {
                on_the_host(input, output, rounds, 1.0, 1.0);
                Ok(())
            })?;
            let checked = check::every_element("cpu", output, expected)?;
            lab.record(case("cpu").checked(checked).samples(samples))?;

            // On all of them, each thread started for the job.
            output.fill(0.0);
            let share = words.div_ceil(threads);
            let samples = lab.time_on_host(|| {
                std::thread::scope(|scope| {
                    let outputs = output.chunks_mut(share);
                    for (input, output) in input.chunks(share).zip(outputs) {
                        scope.spawn(move || {
                            on_the_host(input, output, rounds, 1.0, 1.0)
                        });
                    }
                });
                Ok(())
            })?;
            let checked = check::every_element("cpu_threads", output, expected)?;
            lab.record(case("cpu_threads").checked(checked).samples(samples))?;
            bytes *= 4;
        }
    }
    Ok(())
}

// ANCHOR: on_the_host
/// The kernel's work by a CPU core, 32 elements abreast, so that vector instructions
/// are at hand and none waits for the one before.
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

/// The kernel `work`.
struct Work {
    kernel: CudaFunction,
}

impl Work {
    /// output = input + rounds, the hard way.
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        input: &CudaSlice<f32>,
        output: &mut CudaSlice<f32>,
        rounds: usize,
    ) -> Result<()> {
        let (count, rounds, a, b) = (input.len(), rounds as u32, 1f32, 1f32);
        let mut launch = stream.launch_builder(&self.kernel);
        launch.arg(input).arg(output).arg(&count).arg(&rounds).arg(&a).arg(&b);
        // SAFETY: the kernel takes (in, out, count, rounds, a, b); both buffers hold
        // `count` elements.
        unsafe { launch.launch(blocks_for(count)) }?;
        Ok(())
    }
}

fn blocks_for(threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (threads.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    }
}

// ANCHOR: copy_batch
/// Queues all copies with one call (CUDA 12.8 or later): source after source, into
/// `device` without gaps.
fn copy_batch<'a>(
    stream: &Arc<CudaStream>,
    sources: impl Iterator<Item = &'a [f32]>,
    device: &mut CudaSlice<f32>,
) -> Result<()> {
    let (start, _ordered) = device.device_ptr_mut(stream);
    let (mut to, mut from, mut sizes) = (vec![], vec![], vec![]);
    let mut place = start;
    for source in sources {
        to.push(place);
        from.push(source.as_ptr() as sys::CUdeviceptr);
        sizes.push(size_of_val(source));
        place += size_of_val(source) as u64;
    }
    // SAFETY: zeros are a valid value of all fields but the first, which is set.
    let mut attributes: sys::CUmemcpyAttributes = unsafe { std::mem::zeroed() };
    attributes.srcAccessOrder =
        sys::CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    let (mut first_copy, mut failed) = (0, usize::MAX);
    // SAFETY: three lists of equal length, of pinned sources and places within `device`;
    // one set of attributes, which counts from copy 0 on.
    unsafe {
        sys::cuMemcpyBatchAsync(
            to.as_mut_ptr(),
            from.as_mut_ptr(),
            sizes.as_mut_ptr(),
            sizes.len(),
            &mut attributes,
            &mut first_copy,
            1,
            &mut failed,
            stream.cu_stream(),
        )
    }
    .result()?;
    Ok(())
}
// ANCHOR_END: copy_batch

/// The newest CUDA version that the driver supports, as in 12080 for 12.8.
fn cuda_version() -> Result<i32> {
    let mut version = 0;
    // SAFETY: the driver writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// FLOP/s at the highest clock: each lane does a multiply-add, 2 FLOP, in each cycle.
fn flop_peak(lab: &Lab) -> Result<f64> {
    let lanes = match lab.context().compute_capability()? {
        (7, _) | (8, 0) => 64.0,
        _ => 128.0,
    };
    use sys::CUdevice_attribute_enum as Attribute;
    let attribute = |which| {
        Ok::<_, result::DriverError>(f64::from(lab.context().attribute(which)?))
    };
    let multiprocessors =
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let clock_khz = attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
    Ok(2.0 * lanes * multiprocessors * clock_khz * 1e3)
}

/// Plain pinned memory with `value(i)` in word i. (cudarc's `alloc_pinned` would make it
/// write-combined, which the host is not meant to read.)
fn pinned(context: &Arc<CudaContext>, words: usize) -> Result<PinnedHostSlice<f32>> {
    // SAFETY: every word is written below.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<f32>(words, 0) }?;
    for (i, word) in memory.as_mut_slice()?.iter_mut().enumerate() {
        *word = value(i);
    }
    Ok(memory)
}

/// Element i: a whole number below 2^23, so that adding up to 2^23 is exact. The modulus
/// is a prime, so that an element out of place by any round number shows.
fn value(i: usize) -> f32 {
    (i % 8_388_593) as f32
}
