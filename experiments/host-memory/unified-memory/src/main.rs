//! # What does it cost to let the driver move the data?
//!
//! *Managed memory* has one address for the host and the GPU. A page of it lies in one
//! of the two memories at a time. Who touches a page that lies in the other one faults: the
//! thread stops, the driver moves the page, changes both page tables, and lets it go on.
//!
//! ```text
//! explicit      copy engine brings all bytes ──► kernel reads device memory
//! first touch   kernel reads ──► faults ──► driver moves pages ──► kernel goes on, faults …
//! prefetched    driver moves all pages, in bulk ──► kernel reads device memory
//! second touch  kernel reads device memory: the pages are there
//! ```
//!
//! **Prediction:** a prefetch is a copy by the copy engine, so it takes as long as an
//! explicit copy from pinned memory, and a second touch as long as plain device memory.
//! The first touch pays for faults: less than half the link's rate. A sparse kernel that
//! touches one word in each 2 MiB wins with managed memory: only its pages move, so
//! it is faster than copying everything, by a factor of ten and more.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PinnedHostSlice,
    PushKernelArg, UnifiedSlice, result, sys,
};
use lab::check::value;
use lab::{Case, Ceiling, Kernel, Lab, Result, check};
use sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;

const KERNEL: Kernel = Kernel {
    name: "unified-memory",
    source: include_str!("../../../../kernels/unified-memory.cu"),
    ptx: include_str!("../../../../kernels/ptx/unified-memory.ptx"),
};

/// Asks for more managed memory than the GPU has. That can hang a GPU.
const OVERSUBSCRIBE: &str = "WORKBOOK_OVERSUBSCRIBE";
const LARGEST: usize = 256 << 20;
const SMALLEST: usize = 128 << 10;
const PAGE: usize = 4096;
const WORD_BYTES: usize = size_of::<u32>();

fn main() -> ExitCode {
    let question = "What does it cost to let the driver move the data?";
    lab::run("unified-memory", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels.
    let context = lab.context().clone();
    let gpu = Gpu {
        stream: context.new_stream()?,
        gather: lab.module()?.load_function("gather")?,
        add_one: lab.module()?.load_function("add_one")?,
    };

    // 2. The size: about the L2 cache's, and a small share of what the GPU has free.
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.quick() { 4 } else { 1 };
    let affordable = (lab.free_bytes()? / 16).next_power_of_two() / 2;
    let largest = wanted.min(affordable).min(LARGEST);

    // 3. One question after the other. Without page faults on the GPU, managed memory is
    //    another thing: the driver moves all of it at each launch.
    if context.attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? == 0 {
        let reason = "this GPU or system does not fault on managed memory";
        lab.skip(Case::new("all"), reason);
        return Ok(());
    }
    ragged(&gpu)?;
    touch(lab, &gpu, largest)?;
    read_back(lab, &gpu, largest / 4)?;
    one_word(lab, &gpu)?;
    advice(lab, &gpu, largest / 4)?;
    sparse(lab, &gpu, largest)?;
    ping_pong(lab, &gpu, largest)?;
    oversubscribe(lab, &gpu)
}

/// Both kernels at sizes that no block divides.
fn ragged(gpu: &Gpu) -> Result<()> {
    let mut memory = gpu.managed(100_003, "none")?;
    gpu.add_one(&mut memory)?;
    let places = Places { count: 33_331, stride: 3 };
    let mut output = gpu.stream.alloc_zeros::<u32>(places.count)?;
    gpu.gather(&memory, &mut output, places)?;
    let got = gpu.stream.clone_dtoh(&output)?;
    check::every_element("ragged gather", &got, |i| value(3 * i).wrapping_add(1))?;
    let words = memory.as_slice()?;
    check::every_element("ragged add", words, plus_one)?;
    Ok(())
}

/// Until a kernel has read what the host wrote: by faults, by prefetch, by copies.
fn touch(lab: &mut Lab, gpu: &Gpu, largest: usize) -> Result<()> {
    let mut device = gpu.stream.alloc_zeros::<u32>(largest / WORD_BYTES)?;
    let mut output = gpu.stream.alloc_zeros::<u32>(largest / WORD_BYTES)?;
    let quarters = std::iter::successors(Some(largest), |bytes| Some(bytes / 4));
    let sizes: Vec<_> = quarters.take_while(|bytes| *bytes >= SMALLEST).collect();
    for bytes in sizes.into_iter().rev() {
        let words = bytes / WORD_BYTES;
        let places = Places { count: words, stride: 1 };
        let case = |kind| {
            let case = Case::new("first_touch").with("kind", kind);
            case.with("bytes", bytes).reads(bytes).ceiling(Ceiling::HostLink)
        };

        // ANCHOR: first_touch
        // Each sample has new memory, which the host has just written: pages that were
        // moved before may be treated otherwise (`ping_pong`).
        for kind in ["managed", "prefetched"] {
            gpu.stream.memset_zeros(&mut output)?;
            let samples = lab.time_on_host_after(
                || gpu.managed(words, "none"),
                |memory| {
                    if kind == "prefetched" {
                        gpu.prefetch(&memory, gpu.place())?;
                    }
                    gpu.gather(&memory, &mut output, places)?;
                    gpu.stream.synchronize()?;
                    Ok(memory)
                },
            )?;
            let checked = places.check(gpu, &output)?;
            lab.record(case(kind).checked(checked).samples(samples))?;
        }
        // ANCHOR_END: first_touch

        // ANCHOR: explicit
        for kind in ["pinned", "pageable"] {
            gpu.stream.memset_zeros(&mut output)?;
            gpu.stream.memset_zeros(&mut device)?;
            let samples = lab.time_on_host_after(
                || gpu.host_memory(kind, words),
                |source| {
                    gpu.stream.memcpy_htod(source.words()?, &mut device)?;
                    gpu.gather(&device, &mut output, places)?;
                    gpu.stream.synchronize()?;
                    Ok(source)
                },
            )?;
            let checked = places.check(gpu, &output)?;
            lab.record(case(kind).checked(checked).samples(samples))?;
        }
        // ANCHOR_END: explicit
    }

    // Once there, the pages stay: managed memory beside device memory. The turns take
    // two buffers in turn, so that they touch four times the L2 cache.
    let places = Places { count: largest / WORD_BYTES, stride: 1 };
    let memories =
        [gpu.managed(places.count, "none")?, gpu.managed(places.count, "none")?];
    let ramp: Vec<u32> = (0..places.count).map(value).collect();
    let devices = [gpu.stream.clone_htod(&ramp)?, gpu.stream.clone_htod(&ramp)?];
    let mut outputs = [output, device];
    for memory in &memories {
        gpu.prefetch(memory, gpu.place())?;
    }
    for kind in ["managed", "device"] {
        for output in &mut outputs {
            gpu.stream.memset_zeros(output)?;
        }
        let mut turn = 0;
        let samples = lab.time_on_host(|| {
            turn = 1 - turn;
            match kind {
                "managed" => {
                    gpu.gather(&memories[turn], &mut outputs[turn], places)?
                }
                _ => gpu.gather(&devices[turn], &mut outputs[turn], places)?,
            }
            Ok(gpu.stream.synchronize()?)
        })?;
        let mut checked = 0;
        for output in &outputs {
            checked += places.check(gpu, output)?;
        }
        let case =
            Case::new("second_touch").with("kind", kind).with("bytes", largest);
        let case =
            case.reads(largest).writes(largest).ceiling(Ceiling::DeviceMemory);
        let case = case.footprint(4 * largest, lab.l2_bytes());
        lab.record(case.checked(checked).samples(samples))?;
    }
    Ok(())
}

/// Until the host has added up what a kernel wrote.
fn read_back(lab: &mut Lab, gpu: &Gpu, bytes: usize) -> Result<()> {
    let words = bytes / WORD_BYTES;
    let total = (0..words).map(plus_one).fold(0u32, u32::wrapping_add);
    let case = |kind| {
        let case = Case::new("read_back").with("kind", kind).with("bytes", bytes);
        case.writes(bytes).ceiling(Ceiling::HostLink)
    };
    // ANCHOR: read_back
    for kind in ["managed", "prefetched"] {
        let prepare = || gpu.managed_plus_one(words);
        let work = |memory: UnifiedSlice<u32>| {
            if kind == "prefetched" {
                gpu.prefetch(&memory, HOST)?;
                gpu.stream.synchronize()?;
            }
            check::every_element("sum", &[sum(memory.as_slice()?)], |_| total)?;
            Ok(memory)
        };
        let samples = lab.time_on_host_after(prepare, work)?;
        let again = work(prepare()?)?; // once more, to look at every element
        let checked = check::every_element(kind, again.as_slice()?, plus_one)?;
        lab.record(case(kind).checked(checked).samples(samples))?;
    }
    // ANCHOR_END: read_back

    // The same by copies, and the adding alone, of what a copy has just brought.
    let plus_ones: Vec<u32> = (0..words).map(plus_one).collect();
    let device = gpu.stream.clone_htod(&plus_ones)?;
    let copy = |target: &mut HostMemory| -> Result<()> {
        gpu.stream.memcpy_dtoh(&device, target.words_mut()?)?;
        Ok(gpu.stream.synchronize()?)
    };
    for kind in ["pinned", "pageable", "adding"] {
        let prepare = || {
            let mut target = gpu.host_memory(kind, words)?;
            if kind == "adding" {
                copy(&mut target)?;
            }
            Ok(target)
        };
        let work = |mut target| {
            if kind != "adding" {
                copy(&mut target)?;
            }
            check::every_element("sum", &[sum(target.words()?)], |_| total)?;
            Ok(target)
        };
        let samples = lab.time_on_host_after(prepare, work)?;
        let again = work(prepare()?)?;
        let checked = check::every_element(kind, again.words()?, plus_one)?;
        lab.record(case(kind).checked(checked).samples(samples))?;
    }
    Ok(())
}

/// Until the host has one word of what a kernel wrote, as the chapter's program prints.
fn one_word(lab: &mut Lab, gpu: &Gpu) -> Result<()> {
    const WORDS: usize = (8 << 20) / WORD_BYTES;
    const WANTED: usize = WORDS / 2;
    let case = |kind| Case::new("one_word").with("kind", kind).writes(WORD_BYTES);
    let expected = |_| plus_one(WANTED);

    let prepare = || gpu.managed_plus_one(WORDS);
    let work = |memory: UnifiedSlice<u32>| {
        let word = &memory.as_slice()?[WANTED..=WANTED];
        check::every_element("one word", word, expected)?;
        Ok(memory)
    };
    let samples = lab.time_on_host_after(prepare, work)?;
    let managed = count_unmapped(case("managed"), &work(prepare()?)?)?;
    lab.record(managed.checked(1).samples(samples))?;

    let device = gpu.stream.clone_htod(&vec![plus_one(WANTED); WORDS])?;
    let samples = lab.time_on_host(|| {
        let word = gpu.stream.clone_dtoh(&device.slice(WANTED..=WANTED))?;
        gpu.stream.synchronize()?;
        check::every_element("one word", &word, expected)
    })?;
    lab.record(case("copy").checked(1).samples(samples))
}

/// What the driver makes of advice, in four steps.
fn advice(lab: &mut Lab, gpu: &Gpu, bytes: usize) -> Result<()> {
    let words = bytes / WORD_BYTES;
    let places = Places { count: words, stride: 1 };
    let total = (0..words).map(value).fold(0u32, u32::wrapping_add);
    let mut output = gpu.stream.alloc_zeros::<u32>(words)?;
    for kind in ["none", "read_mostly", "preferred_host", "accessed_by"] {
        let case = |step| {
            let case = Case::new("advice").with("advice", kind).with("step", step);
            case.with("bytes", bytes).reads(bytes)
        };
        gpu.stream.memset_zeros(&mut output)?;
        let prepare = || gpu.managed(words, kind);
        let mut read = |memory: UnifiedSlice<u32>| {
            gpu.gather(&memory, &mut output, places)?;
            gpu.stream.synchronize()?;
            Ok(memory)
        };

        // The kernel reads what the host wrote; once more; and then the host reads.
        let samples = lab.time_on_host_after(prepare, &mut read)?;
        let mut memory = read(prepare()?)?;
        let first = count_unmapped(case("first"), &memory)?;
        let checked = places.check(gpu, &output)?;
        lab.record(first.checked(checked).samples(samples))?;

        gpu.stream.memset_zeros(&mut output)?;
        let samples = lab.time_on_host(|| {
            gpu.gather(&memory, &mut output, places)?;
            Ok(gpu.stream.synchronize()?)
        })?;
        let again = case("again").footprint(2 * bytes, lab.l2_bytes());
        let checked = places.check(gpu, &output)?;
        lab.record(again.checked(checked).samples(samples))?;

        gpu.stream.memset_zeros(&mut output)?;
        let samples = lab.time_on_host_after(
            || {
                let memory = prepare()?;
                gpu.gather(&memory, &mut output, places)?;
                gpu.stream.synchronize()?;
                Ok(memory)
            },
            |memory| {
                check::every_element(kind, &[sum(memory.as_slice()?)], |_| total)?;
                Ok(memory)
            },
        )?;
        let checked = places.check(gpu, &output)?;
        lab.record(case("host").checked(checked).samples(samples))?;

        // The kernel writes, too.
        let mut write = |mut memory| {
            gpu.add_one(&mut memory)?;
            gpu.stream.synchronize()?;
            Ok(memory)
        };
        let samples = lab.time_on_host_after(prepare, &mut write)?;
        memory = write(prepare()?)?;
        let checked = check::every_element(kind, memory.as_slice()?, plus_one)?;
        lab.record(case("write").checked(checked).samples(samples))?;
    }
    Ok(())
}

/// One word here, one word there.
fn sparse(lab: &mut Lab, gpu: &Gpu, bytes: usize) -> Result<()> {
    const ALL: usize = usize::MAX;
    let mut output = gpu.stream.alloc_zeros::<u32>(bytes / PAGE)?;
    // ANCHOR: sparse
    for (advice, stride_bytes, step) in [
        ("none", 4 << 10, 4),
        ("none", 64 << 10, 4),
        ("none", 2 << 20, 2),
        ("none", 128 << 10, ALL),
        ("accessed_by", 2 << 20, ALL),
    ] {
        // As many words as fit, then a step-th of them, and so on.
        let stride = stride_bytes / WORD_BYTES;
        let mut count = bytes / stride_bytes;
        while count > 0 {
            let places = Places { count, stride };
            gpu.stream.memset_zeros(&mut output)?;
            let prepare = || gpu.managed(count * stride, advice);
            let mut work = |memory| {
                gpu.gather(&memory, &mut output, places)?;
                gpu.stream.synchronize()?;
                Ok(memory)
            };
            let samples = lab.time_on_host_after(prepare, &mut work)?;
            let again = work(prepare()?)?; // once more, to look at the page table
            let case = Case::new("sparse")
                .with("advice", advice)
                .with("stride_bytes", stride_bytes)
                .with("words", count)
                .reads(count * WORD_BYTES);
            let case = count_unmapped(case, &again)?;
            let checked = places.check(gpu, &output)?;
            lab.record(case.checked(checked).samples(samples))?;
            count /= step;
        }
    }
    // ANCHOR_END: sparse
    Ok(())
}

/// The same pages to and fro: the host writes to them, the kernel reads, the host writes.
fn ping_pong(lab: &mut Lab, gpu: &Gpu, bytes: usize) -> Result<()> {
    let stride = (64 << 10) / WORD_BYTES;
    let memory = RefCell::new(gpu.managed(bytes / WORD_BYTES, "none")?);
    let mut count = bytes / WORD_BYTES / stride;
    while count > 0 {
        let places = Places { count, stride };
        let mut output = gpu.stream.alloc_zeros::<u32>(count)?;
        // ANCHOR: ping_pong
        let prepare = || {
            let mut memory = memory.borrow_mut();
            let pages = memory.as_mut_slice()?.chunks_mut(PAGE / WORD_BYTES);
            for (page, words) in pages.enumerate() {
                words[0] = value(page * PAGE / WORD_BYTES);
            }
            Ok(())
        };
        let mut work = |()| {
            gpu.gather(&*memory.borrow(), &mut output, places)?;
            Ok(gpu.stream.synchronize()?)
        };
        for _ in 0..30 {
            prepare().and_then(&mut work)?; // the driver takes some turns to notice
        }
        let samples = lab.time_on_host_after(prepare, work)?;
        // ANCHOR_END: ping_pong
        let case = Case::new("ping_pong")
            .with("advice", "none")
            .with("stride_bytes", stride * WORD_BYTES)
            .with("words", count)
            .reads(count * WORD_BYTES);
        let case = count_unmapped(case, &memory.borrow())?;
        let checked = places.check(gpu, &output)?;
        lab.record(case.checked(checked).samples(samples))?;
        count /= 4;
    }
    Ok(())
}

// ANCHOR: oversubscribe
/// More managed memory than the GPU has: the driver has to make room by moving pages out.
/// It can hang the GPU for all who use it, so it runs only if somebody asks for it.
fn oversubscribe(lab: &mut Lab, gpu: &Gpu) -> Result<()> {
    const PIECE: usize = (64 << 20) / WORD_BYTES;
    let mut output = gpu.stream.alloc_zeros::<u32>(PIECE)?;
    let words = lab.free_bytes()? / 4 * 5 / WORD_BYTES;
    let case = Case::new("oversubscribed").with("bytes", words * WORD_BYTES);
    if std::env::var_os(OVERSUBSCRIBE).is_none_or(|value| value != "yes") {
        let reason =
            format!("can hang the GPU; {OVERSUBSCRIBE}=yes runs it all the same");
        lab.skip(case, reason);
        return Ok(());
    }
    // SAFETY: every word is cleared below, and any bits are a u32.
    let mut memory = unsafe { lab.context().alloc_unified(words, true) }?;
    gpu.stream.memset_zeros(&mut memory)?;
    let mut passes = 0;
    let samples = lab.time_on_host(|| {
        passes += 1;
        gpu.add_one(&mut memory)?;
        Ok(gpu.stream.synchronize()?)
    })?;
    // The host might not have the memory to read all of it, so the GPU does, in pieces.
    let mut checked = 0;
    for first in (0..words).step_by(PIECE) {
        let count = PIECE.min(words - first);
        let piece = memory.slice(first..first + count);
        gpu.gather(&piece, &mut output, Places { count, stride: 1 })?;
        let got = gpu.stream.clone_dtoh(&output.slice(..count))?;
        checked += check::every_element("passes", &got, |_| passes)?;
    }
    let bytes = words * WORD_BYTES;
    lab.record(case.reads(bytes).writes(bytes).checked(checked).samples(samples))
}
// ANCHOR_END: oversubscribe

/// A stream and what runs in it.
struct Gpu {
    stream: Arc<CudaStream>,
    gather: CudaFunction,
    add_one: CudaFunction,
}

impl Gpu {
    // ANCHOR: managed
    /// New managed memory with advice, which the host then writes: so it lies there.
    fn managed(&self, words: usize, advice: &str) -> Result<UnifiedSlice<u32>> {
        // SAFETY: every word is written below, and any bits are a u32.
        let mut memory =
            unsafe { self.stream.context().alloc_unified(words, true) }?;
        self.advise(&memory, advice)?;
        write(memory.as_mut_slice()?);
        Ok(memory)
    }

    /// Tells the driver how the memory will be used.
    fn advise(&self, memory: &UnifiedSlice<u32>, advice: &str) -> Result<()> {
        use sys::CUmem_advise::{
            CU_MEM_ADVISE_SET_ACCESSED_BY as ACCESSED_BY,
            CU_MEM_ADVISE_SET_PREFERRED_LOCATION as PREFERRED_LOCATION,
            CU_MEM_ADVISE_SET_READ_MOSTLY as READ_MOSTLY,
        };
        let (advice, place) = match advice {
            "read_mostly" => (READ_MOSTLY, self.place()),
            "preferred_host" => (PREFERRED_LOCATION, HOST),
            "accessed_by" => (ACCESSED_BY, self.place()),
            _ => return Ok(()),
        };
        let (start, _ordered) = memory.device_ptr(&self.stream);
        // SAFETY: the memory is managed, and as long as it says.
        unsafe { result::mem_advise(start, memory.num_bytes(), advice, place) }?;
        Ok(())
    }

    /// Moves managed memory to a place, in bulk.
    fn prefetch(
        &self,
        memory: &UnifiedSlice<u32>,
        place: sys::CUmemLocation,
    ) -> Result<()> {
        let (start, _ordered) = memory.device_ptr(&self.stream);
        let (bytes, stream) = (memory.num_bytes(), self.stream.cu_stream());
        // SAFETY: the memory is managed, and as long as it says.
        unsafe { result::mem_prefetch_async(start, bytes, place, stream) }?;
        Ok(())
    }
    // ANCHOR_END: managed

    /// New managed memory in which a kernel has added one to every word.
    fn managed_plus_one(&self, words: usize) -> Result<UnifiedSlice<u32>> {
        let mut memory = self.managed(words, "none")?;
        self.add_one(&mut memory)?;
        self.stream.synchronize()?;
        Ok(memory)
    }

    /// New host memory, written. (cudarc's `alloc_pinned` would make it write-combined,
    /// which the host is not meant to read.)
    fn host_memory(&self, kind: &str, words: usize) -> Result<HostMemory> {
        if kind == "pageable" {
            return Ok(HostMemory::Pageable((0..words).map(value).collect()));
        }
        let context = self.stream.context();
        // SAFETY: every word is written below.
        let mut memory = unsafe { context.alloc_pinned_with_flags(words, 0) }?;
        write(memory.as_mut_slice()?);
        Ok(HostMemory::Pinned(memory))
    }

    /// Reads words of `input`, which is managed or device memory.
    fn gather(
        &self,
        input: &impl DevicePtr<u32>,
        output: &mut CudaSlice<u32>,
        Places { count, stride }: Places,
    ) -> Result<()> {
        assert!(count * stride <= input.len() && count <= output.len());
        let (input, _ordered) = input.device_ptr(&self.stream);
        let mut launch = self.stream.launch_builder(&self.gather);
        launch.arg(&input).arg(output).arg(&count).arg(&stride);
        // SAFETY: the kernel takes (in, out, count, stride); the sizes were compared.
        unsafe { launch.launch(blocks_for(count)) }?;
        Ok(())
    }

    fn add_one(&self, data: &mut UnifiedSlice<u32>) -> Result<()> {
        let count = data.len();
        let mut launch = self.stream.launch_builder(&self.add_one);
        launch.arg(data).arg(&count);
        // SAFETY: the kernel takes (data, count), and there are as many words.
        unsafe { launch.launch(blocks_for(count)) }?;
        Ok(())
    }

    fn place(&self) -> sys::CUmemLocation {
        sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: self.stream.context().ordinal() as i32,
        }
    }
}

const HOST: sys::CUmemLocation = sys::CUmemLocation {
    type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
    id: 0,
};

/// Host memory that is no managed memory.
enum HostMemory {
    Pinned(PinnedHostSlice<u32>),
    Pageable(Vec<u32>),
}

impl HostMemory {
    fn words(&self) -> Result<&[u32]> {
        Ok(match self {
            HostMemory::Pinned(slice) => slice.as_slice()?,
            HostMemory::Pageable(vec) => vec,
        })
    }

    fn words_mut(&mut self) -> Result<&mut [u32]> {
        Ok(match self {
            HostMemory::Pinned(slice) => slice.as_mut_slice()?,
            HostMemory::Pageable(vec) => vec,
        })
    }
}

/// Which words a kernel reads: `count` of them, `stride` words apart.
#[derive(Clone, Copy)]
struct Places {
    count: usize,
    stride: usize,
}

impl Places {
    fn check(&self, gpu: &Gpu, output: &CudaSlice<u32>) -> Result<u64> {
        let got = gpu.stream.clone_dtoh(&output.slice(..self.count))?;
        check::every_element("gather", &got, |i| value(i * self.stride))
    }
}

/// Notes with a case how much of the memory is missing from the host's page table, which
/// is what the driver has moved, if the system tells.
fn count_unmapped(case: Case, memory: &UnifiedSlice<u32>) -> Result<Case> {
    let words = memory.as_slice()?;
    Ok(match unmapped_bytes(words) {
        Ok(bytes) => case.model("unmapped_bytes", bytes as f64),
        Err(_) => case,
    })
}

// ANCHOR: unmapped
/// How much of `words` is missing from this process' page table, as Linux tells it: 8
/// bytes for each page of 4 KiB, of which the highest bit says that it is there.
fn unmapped_bytes(words: &[u32]) -> std::io::Result<usize> {
    if !cfg!(target_arch = "x86_64") {
        return Err(ErrorKind::Unsupported.into()); // pages may have another size
    }
    let mut table = File::open("/proc/self/pagemap")?;
    table.seek(SeekFrom::Start(words.as_ptr() as u64 / PAGE as u64 * 8))?;
    let mut entries = vec![0u8; size_of_val(words) / PAGE * 8];
    table.read_exact(&mut entries)?;
    let missing = entries.chunks_exact(8).filter(|entry| entry[7] < 0x80);
    Ok(missing.count() * PAGE)
}
// ANCHOR_END: unmapped

fn blocks_for(threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (threads.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The host writes all words.
fn write(words: &mut [u32]) {
    for (i, word) in words.iter_mut().enumerate() {
        *word = value(i);
    }
}

/// The host reads all words.
fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// Word i after the kernel `add_one`.
fn plus_one(i: usize) -> u32 {
    value(i).wrapping_add(1)
}
