//! # How many host threads carry pageable memory at the speed of the link?
//!
//! Bytes in pageable memory pass through pinned memory on their way to the GPU, and a
//! CPU core carries them there. The driver uses one core. The crate `staging` uses as
//! many as it is told: each thread has a ring of pinned buffers, *slots*, and takes the
//! next chunk of the copy as soon as one of them is free.
//!
//! ```text
//!                 ┌ thread 0 ─► slot slot ┐
//! pageable memory ┼ thread 1 ─► slot slot ┼─ copy engine ─► GPU
//!                 └ thread 2 ─► slot slot ┘      (to the host: the same, backwards)
//! ```
//!
//! **Prediction:** threads and copy engine work at the same time, so the slower of the
//! two sets the pace, and n threads carry n times what one carries:
//!
//! ```text
//! rate = min(n × what one thread carries, what the link carries)
//! ```
//!
//! The case `carry` measures the first without a copy engine, `copy` from pinned memory
//! the second. If one thread carries 10 GB/s and the link 55 GB/s, six are enough, and
//! more do not help.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::value;
use lab::{Case, Ceiling, Lab, Result, Samples, check};
use staging::{Options, Staging, copy_past_caches};

const SMALLEST: usize = 256 << 10;
const LARGEST: usize = 1 << 30;
const THREADS: [usize; 6] = [1, 2, 3, 4, 6, 8];
const CHUNKS: [usize; 4] = [256 << 10, 512 << 10, 1 << 20, 2 << 20];
const SLOTS: [usize; 3] = [1, 2, 4];
const UP: &str = "host_to_device";
const DOWN: &str = "device_to_host";

fn main() -> ExitCode {
    let question =
        "How many host threads carry pageable memory at the speed of the link?";
    lab::run("staged-copies", question, None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. A source and a target in pinned memory and in pageable memory, written in full,
    //    so that no page is missing when the clock runs.
    let context = lab.context().clone();
    let stream = context.new_stream()?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 8);
    let words = largest / size_of::<u32>();
    // SAFETY: `Buffers::new` writes every word before anything reads one.
    let memory = || unsafe { context.alloc_pinned_with_flags::<u32>(words, 0) };
    let (mut from, mut to) = (memory()?, memory()?);
    let mut pinned =
        Buffers::new(&stream, from.as_mut_slice()?, to.as_mut_slice()?)?;
    let (mut from, mut to) = (vec![0; words], vec![0; words]);
    let mut pageable = Buffers::new(&stream, &mut from, &mut to)?;

    // 2. All sizes, by the driver from both kinds of memory, and staged: also the small
    //    copies, which `Staging` would leave to the driver.
    let options = Options { staged_from: 0, ..Options::default() };
    let mut staging = Staging::new(&context, options)?;
    let mut link = Rates::default();
    let mut bytes = SMALLEST;
    while bytes <= largest {
        let case = |kind| Case::new("copy").with("kind", kind).with("bytes", bytes);
        link =
            pinned.both_ways(lab, bytes, &mut Copier::Driver, |_| case("pinned"))?;
        pageable.both_ways(lab, bytes, &mut Copier::Driver, |_| case("pageable"))?;
        let staged = &mut Copier::Staging(&mut staging);
        pageable.both_ways(lab, bytes, staged, |_| case("staged"))?;
        bytes *= 4;
    }

    // 3. What one thread carries, and what becomes of more and more of them.
    let carried = pageable.carry(lab, options)?;
    for threads in THREADS {
        let case = |_: &str| Case::new("threads").with("threads", threads);
        if threads > available_parallelism()?.get() {
            lab.skip(case(""), "this machine has fewer cores");
            continue;
        }
        let mut staging = Staging::new(&context, Options { threads, ..options })?;
        let staged = &mut Copier::Staging(&mut staging);
        pageable.both_ways(lab, largest, staged, |direction| {
            let carried = threads as f64 * carried.of(direction);
            let bound = carried.min(link.of(direction));
            case(direction).model("bound_bytes_per_second", bound)
        })?;
    }

    // 4. Chunks of other sizes in rings of as many bytes, and shorter rings. A quarter
    //    of the memory shows it as well.
    let bytes = largest / 4;
    for chunk_bytes in CHUNKS {
        let slots = options.slots * options.chunk_bytes / chunk_bytes;
        let options = Options { chunk_bytes, slots, ..options };
        let mut staging = Staging::new(&context, options)?;
        let staged = &mut Copier::Staging(&mut staging);
        pageable.both_ways(lab, bytes, staged, |_| {
            Case::new("chunks").with("chunk_bytes", chunk_bytes).with("bytes", bytes)
        })?;
    }
    for slots in SLOTS {
        let options = Options { chunk_bytes: 1 << 20, slots, ..options };
        let mut staging = Staging::new(&context, options)?;
        let staged = &mut Copier::Staging(&mut staging);
        pageable.both_ways(lab, bytes, staged, |_| {
            Case::new("slots").with("slots", slots).with("bytes", bytes)
        })?;
    }

    // 5. The trap: a target that nobody has touched.
    let bytes = largest / 16;
    Copier::Driver.send(&stream, pageable.source, &mut pageable.device)?;
    for (kind, mut copier) in
        [("pageable", Copier::Driver), ("staged", Copier::Staging(&mut staging))]
    {
        let last = Cell::new(vec![]);
        let before = || {
            last.take(); // is given back before the clock runs
            Ok(vec![0u32; bytes / size_of::<u32>()])
        };
        let samples = lab.time_on_host_after(before, |mut fresh| {
            copier.fetch(&stream, &pageable.device, &mut fresh)?;
            last.set(fresh);
            Ok(())
        })?;
        let checked = check::every_element("a fresh target", &last.take(), value)?;
        let case = Case::new("untouched").with("kind", kind).with("bytes", bytes);
        let case = case.with("direction", DOWN).reads(bytes).checked(checked);
        lab.record(case.samples(samples))?;
    }
    Ok(())
}

/// Who copies.
enum Copier<'a> {
    Driver,
    Staging(&'a mut Staging),
}

// ANCHOR: copier
impl Copier<'_> {
    fn send(
        &mut self,
        stream: &Arc<CudaStream>,
        source: &[u32],
        device: &mut CudaSlice<u32>,
    ) -> Result<()> {
        match self {
            Copier::Driver => {
                stream.memcpy_htod(source, device)?;
                stream.synchronize()?;
            }
            Copier::Staging(staging) => {
                staging.copy_to_device(stream, source, device)?;
            }
        }
        Ok(())
    }

    fn fetch(
        &mut self,
        stream: &Arc<CudaStream>,
        device: &CudaSlice<u32>,
        target: &mut [u32],
    ) -> Result<()> {
        let device = &device.slice(..target.len());
        match self {
            Copier::Driver => {
                stream.memcpy_dtoh(device, target)?;
                stream.synchronize()?;
            }
            Copier::Staging(staging) => {
                staging.copy_to_host(stream, device, target)?;
            }
        }
        Ok(())
    }
}
// ANCHOR_END: copier

/// Bytes per second, each way.
#[derive(Clone, Copy, Default)]
struct Rates {
    up: f64,
    down: f64,
}

impl Rates {
    fn of(self, direction: &str) -> f64 {
        if direction == UP { self.up } else { self.down }
    }
}

/// Host memory to copy from and to, and as much on the device.
struct Buffers<'a> {
    source: &'a mut [u32],
    target: &'a mut [u32],
    device: CudaSlice<u32>,
    stream: Arc<CudaStream>,
}

impl<'a> Buffers<'a> {
    fn new(
        stream: &Arc<CudaStream>,
        source: &'a mut [u32],
        target: &'a mut [u32],
    ) -> Result<Buffers<'a>> {
        for (i, word) in source.iter_mut().enumerate() {
            *word = value(i);
        }
        target.fill(1);
        let device = stream.alloc_zeros(source.len())?;
        Ok(Buffers { source, target, device, stream: stream.clone() })
    }

    /// Times copies of `bytes` to the device and back. Each turn takes the next piece
    /// of host memory, so that the CPU's caches do not hold it from the turn before.
    fn both_ways(
        &mut self,
        lab: &mut Lab,
        bytes: usize,
        copier: &mut Copier,
        case: impl Fn(&str) -> Case,
    ) -> Result<Rates> {
        let Buffers { source, target, device, stream } = self;
        let words = bytes / size_of::<u32>();
        let piece = |turn: usize| {
            let start = turn % (source.len() / words) * words;
            start..start + words
        };

        stream.memset_zeros(device)?;
        let mut turn = 0;
        let samples = lab.time_on_host(|| {
            turn += 1;
            copier.send(stream, &source[piece(turn)], device)
        })?;
        let up = rate(bytes, &samples);
        let back = &mut target[..words];
        Copier::Driver.fetch(stream, device, back)?;
        let first = piece(turn).start;
        let checked = check::every_element(UP, back, |i| value(first + i))?;
        let case_up = case(UP).with("direction", UP).writes(bytes);
        let case_up = case_up.ceiling(Ceiling::HostLink).checked(checked);
        lab.record(case_up.samples(samples))?;

        // The device keeps that piece, to send it back.
        target.fill(0);
        let mut turn = 0;
        let samples = lab.time_on_host(|| {
            turn += 1;
            copier.fetch(stream, device, &mut target[piece(turn)])
        })?;
        let down = rate(bytes, &samples);
        let got = &target[piece(turn)];
        let checked = check::every_element(DOWN, got, |i| value(first + i))?;
        let case_down = case(DOWN).with("direction", DOWN).reads(bytes);
        let case_down = case_down.ceiling(Ceiling::HostLink).checked(checked);
        lab.record(case_down.samples(samples))?;
        Ok(Rates { up, down })
    }

    // ANCHOR: carry
    /// Times what one thread of a staged copy does, without the copy engine: chunks of
    /// pageable memory to slots, and back. Back also with plain stores, which `Staging`
    /// does not use.
    fn carry(&mut self, lab: &mut Lab, options: Options) -> Result<Rates> {
        let Options { chunk_bytes, slots, .. } = options;
        let mut ring = vec![vec![0; chunk_bytes]; slots];
        // SAFETY: a u32 is four bytes, and what is initialised may be taken for memory
        // that may be uninitialised.
        let (source, target) = unsafe {
            (self.source.align_to::<u8>().1, self.target.align_to_mut().1)
        };
        let bytes = source.len();
        let ways: [(&str, &str, Carry); 3] = [
            (UP, "plain", |slot, from, _| slot.copy_from_slice(from)),
            (DOWN, "plain", |slot, _, to| _ = to.write_copy_of_slice(slot)),
            (DOWN, "past_caches", |slot, _, to| copy_past_caches(slot, to)),
        ];
        let mut rates = Rates::default();
        for (direction, stores, carry) in ways {
            target.fill(MaybeUninit::new(0));
            let samples = lab.time_on_host(|| {
                let chunks = source.chunks(chunk_bytes);
                let chunks = chunks.zip(target.chunks_mut(chunk_bytes));
                for (turn, (from, to)) in chunks.enumerate() {
                    carry(&mut ring[turn % slots][..from.len()], from, to);
                }
                Ok(())
            })?;
            // ANCHOR_END: carry
            let carried = rate(bytes, &samples);
            if direction == UP {
                rates.up = carried;
            } else {
                rates.down = carried;
            }
            // To slots, the last chunks are still there; back, each chunk is its slot's.
            let mut checked = 0;
            let from = source.chunks(chunk_bytes);
            let to = target.chunks(chunk_bytes);
            let kept = from.len().saturating_sub(slots);
            for (turn, (from, to)) in from.zip(to).enumerate() {
                let slot = &ring[turn % slots];
                let arrived = match direction {
                    UP if turn < kept => continue,
                    UP => from,
                    // SAFETY: `target` was filled above, and only written to since.
                    _ => unsafe { to.assume_init_ref() },
                };
                checked += check::every_element(stores, arrived, |i| slot[i])?;
            }
            let case = Case::new("carry").with("bytes", bytes).writes(bytes);
            let case = case.with("direction", direction).with("stores", stores);
            lab.record(case.checked(checked).samples(samples))?;
        }
        Ok(rates)
    }
}

/// Carries a chunk between a slot and pageable memory, from which it may read and to
/// which it may write.
type Carry = fn(&mut [u8], &[u8], &mut [MaybeUninit<u8>]);

/// Bytes per second, by the median.
fn rate(bytes: usize, samples: &Samples) -> f64 {
    let mut seconds = samples.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    bytes as f64 / seconds[seconds.len() / 2]
}
