//! # How wrong can a timing be when the timed work is right?
//!
//! The chapter times a copy of 1,000,000 floats to the GPU and back. Here the same copy
//! is timed as it should be, and then in ways in which it is commonly mistimed; so are
//! two kernels. The work is the same each time, and checked where it is timed rightly.
//! What differs is what lies between the two readings of the clock.
//!
//! What a program pays only once, such as a first call, has to be made anew for each
//! sample: a new process, a new module, a Vec that has no pages yet.
//!
//! **Prediction:** the chapter's listing, which clones, allocates and faults pages in
//! while the clock runs, gives at least twice the true time each way. A clock that stops
//! before the copy has ended gives less than a tenth of it.

use std::collections::BTreeMap;
use std::io::Error;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{
    CudaContext, CudaModule, CudaSlice, CudaStream, LaunchConfig, PinnedHostSlice,
    PushKernelArg, result, sys,
};
use lab::{Case, Ceiling, Kernel, Lab, Result, Samples, check};

const KERNEL: Kernel = Kernel {
    name: "timing-pitfalls",
    source: include_str!("../../../../kernels/timing-pitfalls.cu"),
    ptx: include_str!("../../../../kernels/ptx/timing-pitfalls.ptx"),
};

/// As many as in the chapter's listing.
const FLOATS: usize = 1_000_000;
const BYTES: usize = FLOATS * size_of::<f32>();
const STRIDE: usize = 32;
/// The argument with which the program runs the chapter's listing.
const LISTING: &str = "listing";
const LINK: Ceiling = Ceiling::HostLink;

fn main() -> ExitCode {
    // The program calls itself, to run the chapter's listing in a new process.
    if std::env::args().nth(1).as_deref() == Some(LISTING) {
        return match listing() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("{e}");
                ExitCode::FAILURE
            }
        };
    }
    let question = "How wrong can a timing be when the timed work is right?";
    lab::run("timing-pitfalls", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    copies(lab, &stream)?;
    listings(lab)?;
    loading(lab, &stream)?;
    same_bytes_again(lab, &stream)?;
    short_kernel(lab, &stream)?;
    idle_threads(lab, &stream)
}

/// The chapter's copy, timed rightly and wrongly.
fn copies(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    // 1. Buffers on both sides. Every page of the host's is there.
    let data: Vec<f32> = (0..FLOATS).map(value).collect();
    let mut back = vec![1f32; FLOATS];
    let mut pinned = pinned(stream.context())?;
    let mut device = stream.alloc_zeros::<f32>(FLOATS)?;
    let idle = || Ok(stream.synchronize()?);

    // ANCHOR: right
    // 2. Right: all buffers are there, nothing else is under way, a few copies went
    //    before, and the clock stops when the copy is done.
    let samples = lab.time_on_host_after(idle, |()| {
        stream.memcpy_htod(&data, &mut device)?;
        Ok(stream.synchronize()?)
    })?;
    let checked = arrived(stream, &device)?;
    lab.record(
        up("pageable", "right").ceiling(LINK).checked(checked).samples(samples),
    )?;

    let samples = lab.time_on_host_after(idle, |()| {
        stream.memcpy_dtoh(&device, &mut back)?;
        Ok(stream.synchronize()?)
    })?;
    let checked = check::every_element("right", &back, value)?;
    lab.record(
        down("pageable", "right").ceiling(LINK).checked(checked).samples(samples),
    )?;
    // ANCHOR_END: right

    // 3. The same with pinned memory.
    pinned.as_mut_slice()?.copy_from_slice(&data);
    stream.memset_zeros(&mut device)?;
    let samples = lab.time_on_host_after(idle, |()| {
        stream.memcpy_htod(pinned.as_slice()?, &mut device)?;
        Ok(stream.synchronize()?)
    })?;
    let checked = arrived(stream, &device)?;
    lab.record(
        up("pinned", "right").ceiling(LINK).checked(checked).samples(samples),
    )?;
    pinned.as_mut_slice()?.fill(0.0);
    let samples = lab.time_on_host_after(idle, |()| {
        stream.memcpy_dtoh(&device, pinned.as_mut_slice()?)?;
        Ok(stream.synchronize()?)
    })?;
    let checked = check::every_element("right", pinned.as_slice()?, value)?;
    lab.record(
        down("pinned", "right").ceiling(LINK).checked(checked).samples(samples),
    )?;

    // ANCHOR: pages
    // 4. Pages that fault in while the clock runs: to the GPU a clone is made first, as in
    //    the chapter, once into a new Vec and once into one that is there. To the host,
    //    the Vec that receives the data is new.
    let new = || Ok(fresh());
    let samples = lab.time_on_host_after(new, |mut clone| {
        clone[..FLOATS].copy_from_slice(&data);
        stream.memcpy_htod(&clone[..FLOATS], &mut device)?;
        stream.synchronize()?;
        Ok(clone) // dropped when the clock has stopped
    })?;
    lab.record(up("pageable", "clone").samples(samples))?;
    let samples = lab.time_on_host_after(idle, |()| {
        back.copy_from_slice(&data);
        stream.memcpy_htod(&back, &mut device)?;
        Ok(stream.synchronize()?)
    })?;
    lab.record(up("pageable", "clone_into_pages").samples(samples))?;
    let samples = lab.time_on_host_after(new, |mut result| {
        stream.memcpy_dtoh(&device, &mut result[..FLOATS])?;
        stream.synchronize()?;
        Ok(result)
    })?;
    lab.record(down("pageable", "new_pages").samples(samples))?;
    // ANCHOR_END: pages

    // ANCHOR: allocation
    // 5. Device memory that is allocated while the clock runs: by cudarc, which takes it
    //    from the driver's pool, and by `cuMemAlloc`.
    let samples = lab.time_on_host_after(idle, |()| {
        let device = stream.clone_htod(&data)?;
        stream.synchronize()?;
        Ok(device)
    })?;
    lab.record(up("pageable", "pool").samples(samples))?;
    let samples = lab.time_on_host_after(idle, |()| {
        let device = Allocation::new()?;
        // SAFETY: the allocation has as many bytes as the data.
        unsafe { result::memcpy_htod_async(device.0, &data, stream.cu_stream()) }?;
        stream.synchronize()?;
        Ok(device)
    })?;
    lab.record(up("pageable", "allocation").samples(samples))?;
    // ANCHOR_END: allocation

    // ANCHOR: call
    // 6. The clock stops when the call returns.
    for kind in ["pageable", "pinned"] {
        let host = if kind == "pinned" { pinned.as_mut_slice()? } else { &mut back };
        let samples = lab.time_on_host_after(idle, |()| {
            Ok(stream.memcpy_htod(&*host, &mut device)?)
        })?;
        lab.record(up(kind, "call").samples(samples))?;
        let samples = lab
            .time_on_host_after(idle, |()| Ok(stream.memcpy_dtoh(&device, host)?))?;
        stream.synchronize()?;
        lab.record(down(kind, "call").samples(samples))?;
    }
    // ANCHOR_END: call

    // ANCHOR: behind
    // 7. The clock starts while older work is still under way: eight more such copies.
    let source = self::pinned(stream.context())?;
    let mut older = stream.alloc_zeros::<f32>(FLOATS)?;
    let queue_older_work = || {
        stream.synchronize()?;
        for _ in 0..8 {
            stream.memcpy_htod(source.as_slice()?, &mut older)?;
        }
        Ok(())
    };
    let samples = lab.time_on_host_after(queue_older_work, |()| {
        stream.memcpy_dtoh(&device, pinned.as_mut_slice()?)?;
        Ok(stream.synchronize()?)
    })?;
    lab.record(down("pinned", "behind").samples(samples))?;
    // ANCHOR_END: behind
    Ok(())
}

// ANCHOR: listing
/// The chapter's listing in today's cudarc, three times over, in a process of its own.
/// It prints how long each step took.
fn listing() -> Result<()> {
    let ordinal = std::env::args().nth(2).and_then(|word| word.parse().ok());
    let start = Instant::now();
    let context = CudaContext::new(ordinal.unwrap_or(0))?;
    let stream = context.default_stream();
    println!("1 context {:e}", start.elapsed().as_secs_f64());
    let data: Vec<f32> = vec![1.0; FLOATS];
    for round in 1..=3 {
        // `device.htod_copy(data.clone())` and a wait
        let start = Instant::now();
        let clone = data.clone();
        let cloned = start.elapsed();
        // SAFETY: the copy writes all of it before anything reads it.
        let mut device = unsafe { stream.alloc::<f32>(FLOATS) }?;
        let allocated = start.elapsed();
        stream.memcpy_htod(&clone, &mut device)?;
        stream.synchronize()?;
        let to_device = start.elapsed();
        // `device.dtoh_sync_copy(&d_data)`
        let start = Instant::now();
        let result: Vec<f32> = stream.clone_dtoh(&device)?;
        stream.synchronize()?;
        let to_host = start.elapsed();
        for (step, time) in [
            ("clone", cloned),
            ("allocation", allocated - cloned),
            ("copy", to_device - allocated),
            ("to_device", to_device),
            ("to_host", to_host),
        ] {
            println!("{round} {step} {:e}", time.as_secs_f64());
        }
        drop(result);
    }
    Ok(())
}
// ANCHOR_END: listing

/// The chapter's listing in a new process for each sample.
fn listings(lab: &mut Lab) -> Result<()> {
    // 8. Samples of each step are what the processes print.
    let ordinal = lab.context().ordinal().to_string();
    let mut steps: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let processes = lab.time_on_host(|| {
        let mut process = Command::new(std::env::current_exe()?);
        let output = process.args([LISTING, &ordinal]).output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(Error::other(why).into());
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let (step, seconds) = line.rsplit_once(' ').unwrap_or_default();
            steps.entry(step.to_owned()).or_default().push(seconds.parse()?);
        }
        Ok(())
    })?;
    for (step, mut seconds) in steps {
        let seconds = seconds.split_off(2); // without the warm-up
        let (round, step) = step.split_once(' ').unwrap_or_default();
        let case = Case::new("listing").with("step", step);
        let case = case.with("round", round.parse::<usize>()?);
        lab.record(case.samples(Samples { seconds, ..processes.clone() }))?;
    }
    Ok(())
}

/// A kernel's first launch.
fn loading(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    // 9. A kernel, and a kernel whose module is loaded while the clock runs.
    let mut words = stream.alloc_zeros::<u32>(256)?;
    let mut run = |module: &Arc<CudaModule>| -> Result<()> {
        let fill = module.load_function("fill")?;
        let mut launch = stream.launch_builder(&fill);
        launch.arg(&mut words).arg(&256usize);
        // SAFETY: the kernel takes (out, count), and `out` has as many words.
        unsafe { launch.launch(LaunchConfig::for_num_elems(256)) }?;
        Ok(stream.synchronize()?)
    };
    let loaded = lab.module()?.clone();
    let samples = lab.time_on_host(|| run(&loaded))?;
    lab.record(Case::new("launch").with("timed", "right").samples(samples))?;
    let ptx = || Ok(KERNEL.ptx()?.0);
    let samples = lab.time_on_host_after(ptx, |ptx| {
        let module = stream.context().load_module(ptx)?;
        run(&module)?;
        Ok(module)
    })?;
    lab.record(Case::new("launch").with("timed", "module").samples(samples))?;
    let checked = stream.clone_dtoh(&words)?;
    check::every_element("fill", &checked, word)?;
    Ok(())
}

/// A kernel that reads what an L2 cache can hold.
fn same_bytes_again(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    // 10. As many buffers, each half of the L2 cache, as make up four of it.
    let sum = lab.module()?.load_function("sum")?;
    let threads = lab.resident_threads()?;
    let vectors = lab.l2_bytes() / 2 / 16;
    let (words, bytes) = (4 * vectors, 16 * vectors);
    let all = (4 * lab.l2_bytes()).div_ceil(bytes);
    let input = filled(lab, stream, all * words)?;
    let mut sums = stream.alloc_zeros::<u32>(threads)?;

    // ANCHOR: again
    // 11. Right: another buffer each time. Wrong: the same one each time; and the same
    //     one sixteen times over in one launch, to make it last longer.
    for (timed, buffers, passes) in
        [("right", all, 1u32), ("again", 1, 1), ("passes", 1, 16)]
    {
        let mut first = 0;
        stream.memset_zeros(&mut sums)?;
        let samples = lab.time_on_gpu(stream, |turn| {
            first = turn % buffers * words;
            let buffer = input.slice(first..first + words);
            let mut launch = stream.launch_builder(&sum);
            launch.arg(&buffer).arg(&mut sums).arg(&vectors).arg(&passes);
            // SAFETY: the kernel takes (in, sums, count, passes); `in` has as many
            // vectors, and `sums` a word for each thread.
            unsafe { launch.launch(one_for_each(threads)) }?;
            Ok(())
        })?;
        // ANCHOR_END: again
        let got = stream.clone_dtoh(&sums)?;
        let checked = check::every_element(timed, &got, |thread| {
            sum_of(thread, threads, first, vectors).wrapping_mul(passes)
        })?;
        let mut case = Case::new("read")
            .with("timed", timed)
            .reads(bytes * passes as usize)
            .writes(4 * threads)
            .footprint(bytes * buffers, lab.l2_bytes());
        // The memory's peak is no ceiling for bytes that come from a cache.
        if timed == "right" {
            case = case.ceiling(Ceiling::DeviceMemory);
        }
        lab.record(case.checked(checked).samples(samples))?;
    }
    Ok(())
}

/// A kernel that takes no longer than a launch does.
fn short_kernel(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let sum = lab.module()?.load_function("sum")?;
    let threads = lab.resident_threads()?;
    let vectors = BYTES / 16;
    let input = filled(lab, stream, 4 * vectors)?;
    let mut sums = stream.alloc_zeros::<u32>(threads)?;
    let mut launch = || -> Result<()> {
        let mut launch = stream.launch_builder(&sum);
        launch.arg(&input).arg(&mut sums).arg(&vectors).arg(&1u32);
        // SAFETY: the kernel takes (in, sums, count, passes), as above.
        unsafe { launch.launch(one_for_each(threads)) }?;
        Ok(())
    };
    // ANCHOR: short
    // 12. Right: the launches are queued before the first one starts. Wrong: one launch
    //     by the host's clock; and one between two events, queued while the GPU waits
    //     for what comes next.
    let queued = lab.time_on_gpu(stream, |_| launch())?;
    let by_host = lab.time_on_host(|| {
        launch()?;
        Ok(stream.synchronize()?)
    })?;
    let timing = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.context().new_event(timing)?;
    let end = stream.context().new_event(timing)?;
    let mut seconds = vec![];
    lab.time_on_host(|| {
        start.record(stream)?;
        launch()?;
        end.record(stream)?;
        seconds.push(f64::from(start.elapsed_ms(&end)?) * 1e-3); // waits for the end
        Ok(())
    })?;
    let seconds = seconds.split_off(2); // without the warm-up
    // ANCHOR_END: short
    let by_events = Samples { clock: queued.clock, seconds, ..by_host.clone() };
    let checked =
        check::every_element("sum", &stream.clone_dtoh(&sums)?, |thread| {
            sum_of(thread, threads, 0, vectors)
        })?;
    for (timed, samples) in
        [("right", queued), ("host", by_host), ("events", by_events)]
    {
        let case = Case::new("short").with("timed", timed).reads(BYTES);
        let case = case.writes(4 * threads).footprint(BYTES, lab.l2_bytes());
        lab.record(case.checked(checked).samples(samples))?;
    }
    Ok(())
}

/// A kernel that is not waited for, and one of which 31 threads in 32 do nothing.
fn idle_threads(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let gather = lab.module()?.load_function("gather")?;
    let count = lab.l2_bytes() / 4;
    let input = filled(lab, stream, count * STRIDE)?;
    let mut output = stream.alloc_zeros::<u32>(count)?;
    let launch = |output: &mut CudaSlice<u32>, working: usize| -> Result<()> {
        let mut launch = stream.launch_builder(&gather);
        launch.arg(&input).arg(output).arg(&working).arg(&STRIDE);
        // SAFETY: the kernel takes (in, out, count, stride); `out` has `count` words or
        // more, and `in` `stride` times as many.
        unsafe { launch.launch(one_for_each(count)) }?;
        Ok(())
    };
    // Each claims to have moved all elements.
    let case = |timed| {
        Case::new("gather").with("timed", timed).reads(4 * count).writes(4 * count)
    };

    // ANCHOR: skipping
    // 13. Right: each thread moves an element. Wrong: a guard lets one in 32 do so.
    for (timed, working) in [("right", count), ("skipping", count / STRIDE)] {
        stream.memset_zeros(&mut output)?;
        let samples = lab.time_on_gpu(stream, |_| launch(&mut output, working))?;
        let got = stream.clone_dtoh(&output.slice(..working))?;
        let checked = check::every_element(timed, &got, |i| word(i * STRIDE))?;
        let case = case(timed).footprint(36 * working, lab.l2_bytes());
        lab.record(case.checked(checked).samples(samples))?;
    }
    // ANCHOR_END: skipping

    // 14. Launched, and not waited for.
    let idle = || Ok(stream.synchronize()?);
    let samples = lab.time_on_host_after(idle, |()| launch(&mut output, count))?;
    stream.synchronize()?;
    lab.record(case("call").samples(samples))
}

/// A copy to the GPU, timed in the way `timed`.
fn up(kind: &str, timed: &str) -> Case {
    let case =
        Case::new("copy").with("direction", "host_to_device").with("kind", kind);
    case.with("timed", timed).writes(BYTES)
}

/// A copy to the host, timed in the way `timed`.
fn down(kind: &str, timed: &str) -> Case {
    let case =
        Case::new("copy").with("direction", "device_to_host").with("kind", kind);
    case.with("timed", timed).reads(BYTES)
}

/// A Vec without pages, such as a program's first one is. It is far larger than the 4 MB
/// that are used of it: for a small one the allocator would hand out the pages of the
/// last sample again, for a large one it asks the system each time.
fn fresh() -> Vec<f32> {
    vec![0.0; 16 << 20]
}

/// Plain pinned memory.
fn pinned(context: &Arc<CudaContext>) -> Result<PinnedHostSlice<f32>> {
    // SAFETY: it is filled before anything reads it.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<f32>(FLOATS, 0) }?;
    memory.as_mut_slice()?.fill(0.0);
    Ok(memory)
}

/// Device memory for the floats, got without the pool that cudarc takes it from.
struct Allocation(sys::CUdeviceptr);

impl Allocation {
    fn new() -> Result<Allocation> {
        // SAFETY: nothing reads the memory before a copy has written it.
        Ok(Allocation(unsafe { result::malloc_sync(BYTES) }?))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it, and the copy into it was waited for. An error
        // leaves it allocated until the process ends.
        let _ = unsafe { result::free_sync(self.0) };
    }
}

/// Device memory in which all words differ.
fn filled(
    lab: &Lab,
    stream: &Arc<CudaStream>,
    words: usize,
) -> Result<CudaSlice<u32>> {
    let fill = lab.module()?.load_function("fill")?;
    // SAFETY: `fill` writes every word before anything reads one.
    let mut memory = unsafe { stream.alloc::<u32>(words) }?;
    let mut launch = stream.launch_builder(&fill);
    launch.arg(&mut memory).arg(&words);
    // SAFETY: the kernel takes (out, count) and writes `count` words.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1 << 20)) }?;
    Ok(memory)
}

/// A launch of `threads` threads or a few more, in blocks of 256.
fn one_for_each(threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (threads.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// Whether all floats are on the GPU.
fn arrived(stream: &Arc<CudaStream>, device: &CudaSlice<f32>) -> Result<u64> {
    check::every_element("host to device", &stream.clone_dtoh(device)?, value)
}

/// A million floats, all different.
fn value(i: usize) -> f32 {
    i as f32
}

/// What one of `threads` threads sums up, from word `first` on, in a pass.
fn sum_of(thread: usize, threads: usize, first: usize, vectors: usize) -> u32 {
    let read = (thread..vectors).step_by(threads);
    let words = read.flat_map(|vector| 4 * vector..4 * vector + 4);
    words.fold(0, |sum, i| sum.wrapping_add(word(first + i)))
}

/// What `fill` writes.
fn word(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761)
}
