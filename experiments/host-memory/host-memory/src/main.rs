//! # Which host memory should a transfer start from, and what does it cost to get it?
//!
//! The copy engine reads the host's memory by physical address, on its own. It can only
//! do that with pages that the operating system promises not to move: *pinned* pages.
//! From *pageable* memory, the driver first copies piece by piece into a small pinned
//! buffer of its own, with a CPU core, and the engine fetches the pieces from there.
//!
//! ```text
//! pageable        Vec ──CPU──► driver's pinned buffer ──DMA──► GPU
//! pinned          pinned buffer ─────────────────────────DMA──► GPU
//! write_combined  the same, but the CPU should not cache it: slow to read, no snooping
//! registered      a Vec whose pages were pinned where they are
//! ```
//!
//! **Prediction:** a pageable copy is as fast as one core copies memory, so a fraction
//! of the link; the three pinned kinds fill it. Pinning itself has to visit every page,
//! so it costs as much as a few pageable copies and pays for itself after a few.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, PinnedHostSlice, sys};
use lab::check::value;
use lab::{Case, Ceiling, Lab, Result, check};

const KINDS: [&str; 4] = ["pageable", "pinned", "write_combined", "registered"];
const LARGEST: usize = 1 << 30;
const PAGE: usize = 4096;

fn main() -> ExitCode {
    let question =
        "Which host memory should a transfer start from, and at what cost?";
    lab::run("host-memory", question, None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Context, stream and a device buffer.
    let context = lab.context().clone();
    let stream = context.new_stream()?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 4);
    let ramp: Vec<u32> = (0..largest / 4).map(value).collect();
    let mut device = stream.alloc_zeros::<u32>(ramp.len())?;

    for kind in KINDS {
        // 2. The host buffer, touched in full, so that no page is missing when the
        //    clock runs.
        let mut host = HostMemory::new(&context, kind, largest)?;

        let mut bytes = PAGE;
        while bytes <= largest {
            let words = bytes / size_of::<u32>();
            let case = |name, direction: &str| {
                let case = Case::new(name).with("kind", kind).with("bytes", bytes);
                case.with("direction", direction).ceiling(Ceiling::HostLink)
            };
            // Each turn takes the next piece of the buffer, so that the CPU's caches
            // do not hold it from the turn before.
            let piece = |turn: usize| {
                let start = turn % (largest / bytes) * words;
                start..start + words
            };

            // ANCHOR: copies
            // 3. To the GPU. A pageable copy keeps the host busy, so the host's clock is
            //    the fair one for all kinds: from the call until the copy is done.
            host.words().copy_from_slice(&ramp);
            stream.memset_zeros(&mut device)?;
            let mut turn = 0;
            let samples = lab.time_on_host(|| {
                let source = &host.words()[piece(turn)];
                turn += 1;
                stream.memcpy_htod(source, &mut device.slice_mut(..words))?;
                Ok(stream.synchronize()?)
            })?;
            // ANCHOR_END: copies
            let last = piece(turn - 1).start;
            let got = stream.clone_dtoh(&device.slice(..words))?;
            let checked = check::every_element(kind, &got, |i| value(last + i))?;
            let to_gpu = case("copy", "host_to_device").writes(bytes);
            lab.record(to_gpu.checked(checked).samples(samples))?;

            // 4. The same from the same piece every time, which the CPU may cache.
            stream.memset_zeros(&mut device)?;
            let samples = lab.time_on_host(|| {
                let source = &host.words()[..words];
                stream.memcpy_htod(source, &mut device.slice_mut(..words))?;
                Ok(stream.synchronize()?)
            })?;
            let got = stream.clone_dtoh(&device.slice(..words))?;
            let checked = check::every_element(kind, &got, value)?;
            let again = case("copy_again", "host_to_device").writes(bytes);
            lab.record(again.checked(checked).samples(samples))?;

            // 5. To the host, into a cleared buffer.
            host.words().fill(0);
            let mut turn = 0;
            let samples = lab.time_on_host(|| {
                let target = &mut host.words()[piece(turn)];
                turn += 1;
                stream.memcpy_dtoh(&device.slice(..words), target)?;
                Ok(stream.synchronize()?)
            })?;
            let target = &host.words()[piece(turn - 1)];
            let checked = check::every_element(kind, target, value)?;
            let to_host = case("copy", "device_to_host").reads(bytes);
            lab.record(to_host.checked(checked).samples(samples))?;
            bytes *= 4;
        }

        // 6. What the host itself pays to read such memory: 16 MiB, summed.
        let read = &host.words()[..largest.min(16 << 20) / size_of::<u32>()];
        let expected = read.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        let samples = lab.time_on_host(|| {
            let sum = read.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
            check::every_element("sum", &[sum], |_| expected)
        })?;
        let case = Case::new("host_read")
            .with("kind", kind)
            .with("bytes", size_of_val(read));
        lab.record(case.reads(size_of_val(read)).checked(1).samples(samples))?;
    }

    // ANCHOR: cost
    // 7. What it costs to get such memory and to give it back. Registering starts from
    //    a Vec that is already there; the others start from nothing. Pageable memory
    //    starts at a size that the allocator asks the system for each time; smaller
    //    blocks it keeps, pages and all.
    for kind in KINDS {
        let mut bytes = if kind == "pageable" { 64 << 20 } else { 1 << 20 };
        while bytes <= largest {
            let case =
                |name| Case::new(name).with("kind", kind).with("bytes", bytes);
            let before = || HostMemory::before(kind, bytes);
            let samples = lab.time_on_host_after(before, |vec| {
                HostMemory::from(&context, kind, bytes, vec)
            })?;
            lab.record(case("allocate").samples(samples))?;

            let before = || HostMemory::new(&context, kind, bytes);
            let samples =
                lab.time_on_host_after(before, |memory| memory.release())?;
            lab.record(case("release").samples(samples))?;
            bytes *= 4;
        }
    }
    // ANCHOR_END: cost
    Ok(())
}

/// Host memory of one of the four kinds.
enum HostMemory {
    Pageable(Vec<u32>),
    Pinned(PinnedHostSlice<u32>),
    Registered(Registered),
}

impl HostMemory {
    fn new(
        context: &Arc<CudaContext>,
        kind: &str,
        bytes: usize,
    ) -> Result<HostMemory> {
        Self::from(context, kind, bytes, Self::before(kind, bytes)?)
    }

    /// What there has to be before the memory is made: for `registered`, a Vec whose
    /// pages are all there.
    fn before(kind: &str, bytes: usize) -> Result<Vec<u32>> {
        Ok(if kind == "registered" { touched(bytes) } else { vec![] })
    }

    // ANCHOR: kinds
    /// Makes memory of a kind, ready for use. `vec` is what [`HostMemory::before`] made.
    fn from(
        context: &Arc<CudaContext>,
        kind: &str,
        bytes: usize,
        vec: Vec<u32>,
    ) -> Result<HostMemory> {
        let words = bytes / size_of::<u32>();
        // SAFETY: every word is written before it is read.
        let pinned =
            |flags| unsafe { context.alloc_pinned_with_flags(words, flags) };
        Ok(match kind {
            "pageable" => HostMemory::Pageable(touched(bytes)),
            "pinned" => HostMemory::Pinned(pinned(0)?),
            "write_combined" => {
                HostMemory::Pinned(pinned(sys::CU_MEMHOSTALLOC_WRITECOMBINED)?)
            }
            _ => HostMemory::Registered(Registered::new(vec)?),
        })
    }
    // ANCHOR_END: kinds

    fn words(&mut self) -> &mut [u32] {
        match self {
            HostMemory::Pageable(vec) => vec,
            HostMemory::Pinned(slice) => slice
                .as_mut_slice()
                .expect("no copy is in flight, so nothing can fail"),
            HostMemory::Registered(registered) => &mut registered.vec,
        }
    }

    /// Gives the memory back; of a registered Vec, only the registration.
    fn release(self) -> Result<Vec<u32>> {
        match self {
            HostMemory::Registered(registered) => registered.unregister(),
            other => {
                drop(other);
                Ok(vec![])
            }
        }
    }
}

/// A Vec of `bytes` with every page touched, so that the system has provided it.
fn touched(bytes: usize) -> Vec<u32> {
    let mut vec = vec![0u32; bytes / size_of::<u32>()];
    for page in vec.chunks_mut(PAGE / size_of::<u32>()) {
        page[0] = 1;
    }
    vec
}

/// A Vec whose pages the driver has pinned where they are.
struct Registered {
    vec: Vec<u32>,
}

impl Registered {
    fn new(mut vec: Vec<u32>) -> Result<Registered> {
        // SAFETY: the range is the Vec's own, which stays in place until `unregister`
        // or `drop` has taken the registration back.
        unsafe {
            sys::cuMemHostRegister_v2(
                vec.as_mut_ptr().cast(),
                size_of_val(&vec[..]),
                0,
            )
        }
        .result()?;
        Ok(Registered { vec })
    }

    fn unregister(mut self) -> Result<Vec<u32>> {
        let vec = std::mem::take(&mut self.vec);
        // SAFETY: `new` registered this Vec, and no copy of it is in flight.
        unsafe { sys::cuMemHostUnregister(vec.as_ptr().cast_mut().cast()) }
            .result()?;
        Ok(vec)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if !self.vec.is_empty() {
            // SAFETY: as in `unregister`. An error leaves pages pinned until the
            // process ends, which harms nobody.
            let _ =
                unsafe { sys::cuMemHostUnregister(self.vec.as_mut_ptr().cast()) };
        }
    }
}
