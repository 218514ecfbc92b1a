//! # Which latency: the link's, the driver's or the GPU's?
//!
//! "The latency of a transfer" can mean several things, and a small copy pays for all:
//!
//! ```text
//! driver   the host calls, a command is written, and in the end a wait finds it done
//! start    the GPU fetches the command, and a copy engine or a thread begins
//! link     a request crosses PCI Express, and the answer comes back
//! ```
//!
//! The link alone is timed by a *pointer chase*: one thread of the GPU reads a word of
//! the host's memory, which tells it which word to read next. So no two reads are under
//! way together, and a *hop* takes as long as a request and its answer. The same thread
//! also chases through the GPU's own memory, for scale.
//!
//! **Prediction:** a hop over the link takes 1 to 2 µs, one through the GPU's memory less
//! than 1 µs. A copy of 4 bytes that the host waits for takes 10 µs, more than five hops.

use std::cell::Cell;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUdeviceptr};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DevicePtr, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
};
use lab::{Case, Kernel, Lab, Result, Samples, check};

const KERNEL: Kernel = Kernel {
    name: "transfer-latency",
    source: include_str!("../../../../kernels/transfer-latency.cu"),
    ptx: include_str!("../../../../kernels/ptx/transfer-latency.ptx"),
};

const WORD: usize = size_of::<u32>();
/// What GPUs' caches keep together. A hop leads from one line to another.
const LINE: usize = 128;
/// Lines of a sparse chase: 4 MiB, too much for an L1 cache and little for an L2 cache.
const FEW: usize = 32 << 10;
const LARGEST: usize = 64 << 30;
const LARGEST_DENSE: usize = 2 << 30;
const LARGEST_ON_HOST: usize = 256 << 20;
/// Hops of one launch.
const HOPS: u32 = 1 << 15;
const ONE_THREAD: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
/// Questions that the host asks a kernel that stays, for one sample.
const QUESTIONS: u32 = 1000;
/// How often that kernel looks for a question before it gives up: about a second.
const PATIENCE: u32 = 1 << 20;

fn main() -> ExitCode {
    let question = "Which latency: the link's, the driver's or the GPU's?";
    lab::run("transfer-latency", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    chases(lab, &stream)?;
    launches(lab, &stream)?;
    copies(lab, &stream)?;
    answers(lab, &stream)
}

/// Hops through memory by one thread of the GPU.
fn chases(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let tie = lab.module()?.load_function("tie")?;
    let chase = lab.module()?.load_function("chase")?;
    let chaser = Chaser { stream: stream.clone(), tie, chase };
    let case = |memory, bytes: usize| {
        Case::new("hop").with("memory", memory).with("bytes", bytes)
    };

    // 1. Through the GPU's own memory: every line of more and more bytes, so that first
    //    one cache and then the other cannot hold them.
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 4);
    // SAFETY: a chase reads only words that `tie` has written.
    let memory = unsafe { stream.alloc::<u32>(largest / WORD) }?;
    let (address, _order) = memory.device_ptr(stream);
    let mut bytes = 16 << 10;
    while bytes <= largest.min(LARGEST_DENSE) {
        for bytes in [bytes / 4 * 3, bytes] {
            let (samples, checked) =
                chaser.hops(lab, address, bytes, bytes / LINE)?;
            let case = case("device", bytes).footprint(bytes, lab.l2_bytes());
            lab.record(case.checked(checked).samples(samples))?;
        }
        bytes *= if lab.quick() { 8 } else { 2 };
    }

    // 2. The same number of lines, further and further apart: the cache can hold them, but
    //    the GPU has to find more and more pages.
    let mut bytes = FEW * LINE;
    while bytes <= largest {
        let (samples, checked) = chaser.hops(lab, address, bytes, FEW)?;
        let case =
            case("device_sparse", bytes).footprint(FEW * LINE, lab.l2_bytes());
        lab.record(case.checked(checked).samples(samples))?;
        bytes *= if lab.quick() { 8 } else { 2 };
    }

    // 3. Through the host's memory, over the link.
    let host = Mapped::new(lab.context(), LARGEST_ON_HOST / WORD)?;
    let mut bytes = 16 << 10;
    while bytes <= LARGEST_ON_HOST {
        let (samples, checked) =
            chaser.hops(lab, host.address, bytes, bytes / LINE)?;
        let case = case("host", bytes).footprint(bytes, lab.l2_bytes());
        lab.record(case.checked(checked).samples(samples))?;
        bytes *= if lab.quick() { 16 } else { 4 };
    }
    Ok(())
}

// ANCHOR: parts
/// The parts of some work on an idle stream: what the GPU needs for it when it was queued
/// before (if it can be), the host's call alone, and the call with a wait for its end.
fn parts(
    lab: &Lab,
    stream: &CudaStream,
    name: &str,
    can_be_queued: bool,
    mut work: impl FnMut() -> Result<()>,
) -> Result<Vec<Case>> {
    let idle = || Ok(stream.synchronize()?);
    let case = |timed| Case::new(name).with("timed", timed);
    let mut cases = vec![];
    if can_be_queued {
        let samples = lab.time_on_gpu(stream, |_| work())?;
        cases.push(case("gpu").samples(samples));
    }
    let samples = lab.time_on_host_after(idle, |()| work())?;
    cases.push(case("call").samples(samples));
    let samples = lab.time_on_host_after(idle, |()| {
        work()?;
        Ok(stream.synchronize()?)
    })?;
    cases.push(case("call_and_wait").samples(samples));
    Ok(cases)
}
// ANCHOR_END: parts

/// A kernel that does nothing, and a wait for nothing.
fn launches(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let nothing = lab.module()?.load_function("nothing")?;
    // 4. What is left of a launch without work is what it costs to have any run.
    let cases = parts(lab, stream, "launch", true, || {
        // SAFETY: the kernel takes nothing and does nothing.
        unsafe { stream.launch_builder(&nothing).launch(ONE_THREAD) }?;
        Ok(())
    })?;
    for case in cases {
        lab.record(case)?;
    }
    let idle = || Ok(stream.synchronize()?);
    let samples = lab.time_on_host_after(idle, |()| Ok(stream.synchronize()?))?;
    lab.record(Case::new("launch").with("timed", "wait").samples(samples))
}

/// A copy of 4 bytes, each way.
fn copies(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let mut pinned = Mapped::new(lab.context(), 1)?;
    let mut pageable = [0u32];
    let mut device = stream.alloc_zeros::<u32>(1)?;
    // A pageable copy may not return while its stream is held shut: it cannot be queued.
    for (host, queued, to_device, to_host) in [
        (pinned.memory.as_mut_slice()?, true, "copy_to_device", "copy_to_host"),
        (&mut pageable[..], false, "pageable_to_device", "pageable_to_host"),
    ] {
        // 5. To the GPU.
        host[0] = 7;
        let cases = parts(lab, stream, to_device, queued, || {
            Ok(stream.memcpy_htod(&*host, &mut device)?)
        })?;
        let got = stream.clone_dtoh(&device)?;
        let checked = check::every_element(to_device, &got, |_| 7)?;
        for case in cases {
            lab.record(case.checked(checked))?;
        }

        // 6. To the host.
        stream.memcpy_htod(&[11], &mut device)?;
        stream.synchronize()?;
        let cases = parts(lab, stream, to_host, queued, || {
            Ok(stream.memcpy_dtoh(&device, host)?)
        })?;
        let checked = check::every_element(to_host, host, |_| 11)?;
        for case in cases {
            lab.record(case.checked(checked))?;
        }
    }
    Ok(())
}

/// A number goes to the GPU, one is added, and the sum comes back: in three ways.
fn answers(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let add_one = lab.module()?.load_function("add_one")?;
    let mut value = Mapped::new(lab.context(), 1)?;
    let mut device = stream.alloc_zeros::<u32>(1)?;
    let case = |way| Case::new("answer").with("way", way);

    // 7. Two copies, and a kernel between them.
    let mut asked = 0;
    let samples = lab.time_on_host(|| {
        asked += 1;
        value.memory.as_mut_slice()?[0] = asked;
        stream.memcpy_htod(value.memory.as_slice()?, &mut device)?;
        let mut launch = stream.launch_builder(&add_one);
        launch.arg(&mut device);
        // SAFETY: the kernel takes a pointer to one word.
        unsafe { launch.launch(ONE_THREAD) }?;
        stream.memcpy_dtoh(&device, value.memory.as_mut_slice()?)?;
        stream.synchronize()?;
        check::every_element("copies", value.memory.as_slice()?, |_| asked + 1)
    })?;
    lab.record(case("copies").checked(1).samples(samples))?;

    // 8. A kernel that works on the host's memory, over the link.
    let samples = lab.time_on_host(|| {
        asked += 1;
        value.memory.as_mut_slice()?[0] = asked;
        let mut launch = stream.launch_builder(&add_one);
        launch.arg(&value.address);
        // SAFETY: as above; the word is mapped pinned memory.
        unsafe { launch.launch(ONE_THREAD) }?;
        stream.synchronize()?;
        check::every_element("mapped", value.memory.as_slice()?, |_| asked + 1)
    })?;
    lab.record(case("mapped").checked(1).samples(samples))?;

    // 9. A kernel that stays, and looks for questions in the host's memory.
    match polled(lab, stream)? {
        Some(samples) => {
            lab.record(case("polling").checked(QUESTIONS.into()).samples(samples))?;
        }
        None => lab.skip(case("polling"), "no kernel runs beside the host here"),
    }
    Ok(())
}

/// Samples of questions to a kernel that stays. `None` if it gives no answer in time, as
/// under a profiler that lets the host go on only when a kernel has ended.
fn polled(lab: &Lab, stream: &Arc<CudaStream>) -> Result<Option<Samples>> {
    let answer = lab.module()?.load_function("answer")?;
    let mut desk = Mapped::new(lab.context(), 2 * LINE / WORD)?;
    let words = desk.memory.as_mut_ptr()?;
    let reply_address = desk.address + LINE as u64;
    // SAFETY: both words lie in `desk`, which outlives the kernel, and are only read and
    // written whole.
    let (question, reply) = unsafe {
        (AtomicU32::from_ptr(words), AtomicU32::from_ptr(words.add(LINE / WORD)))
    };
    let ask = |asked: u32| {
        question.store(asked, Ordering::Release);
        let start = Instant::now();
        while reply.load(Ordering::Acquire) != asked + 1 {
            if start.elapsed() > Duration::from_secs(2) {
                return false;
            }
        }
        true
    };
    let answered = Cell::new(true);
    let samples = lab.time_on_host_after(
        || {
            stream.synchronize()?; // the kernel before this one has ended
            question.store(0, Ordering::Release);
            if answered.get() {
                let mut launch = stream.launch_builder(&answer);
                launch.arg(&desk.address).arg(&reply_address);
                launch.arg(&(QUESTIONS + 1)).arg(&PATIENCE);
                // SAFETY: the kernel takes (question, reply, questions, patience).
                unsafe { launch.launch(ONE_THREAD) }?;
                answered.set(ask(1)); // now it runs
            }
            Ok(())
        },
        |()| {
            answered.set(answered.get() && (0..QUESTIONS).all(|i| ask(2 + i)));
            Ok(())
        },
    )?;
    stream.synchronize()?;
    Ok(answered.get().then(|| of_each(samples, QUESTIONS)))
}

/// Samples of `parts` things each, as samples of one of them.
fn of_each(samples: Samples, parts: u32) -> Samples {
    Samples {
        operations: samples.operations * parts,
        seconds: samples.seconds.iter().map(|s| s / f64::from(parts)).collect(),
        ..samples
    }
}

/// Pinned memory of the host that the GPU can read and write at `address`.
struct Mapped {
    memory: PinnedHostSlice<u32>,
    address: CUdeviceptr,
}

impl Mapped {
    fn new(context: &Arc<CudaContext>, words: usize) -> Result<Mapped> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: filled in the next line.
        let mut memory =
            unsafe { context.alloc_pinned_with_flags::<u32>(words, flags) }?;
        memory.as_mut_slice()?.fill(0);
        let mut address = 0;
        let start = memory.as_mut_ptr()?.cast();
        // SAFETY: `start` is the start of mapped memory, and `address` is written.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, start, 0) }
            .result()?;
        Ok(Mapped { memory, address })
    }
}

/// One thread that walks through memory.
struct Chaser {
    stream: Arc<CudaStream>,
    tie: CudaFunction,
    chase: CudaFunction,
}

impl Chaser {
    // ANCHOR: hops
    /// Samples of one hop in a cycle through `lines` lines, which lie evenly in the
    /// `bytes` from `address` on and follow each other in an order of chance.
    fn hops(
        &self,
        lab: &Lab,
        address: CUdeviceptr,
        bytes: usize,
        lines: usize,
    ) -> Result<(Samples, u64)> {
        let stream = &self.stream;
        let order = check::shuffled(lines as u32);
        let (count, distance) = (lines as u32, (bytes / lines / LINE) as u32);
        let on_device = stream.clone_htod(&order)?;
        let mut launch = stream.launch_builder(&self.tie);
        launch.arg(&on_device).arg(&count).arg(&distance).arg(&address);
        // SAFETY: the kernel takes (order, count, distance, memory) and writes a word of
        // each line, all of them inside `bytes`.
        unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }?;

        let mut place = stream.clone_htod(&[order[0] * distance])?;
        let mut walked = 0;
        let mut walk = |hops: u32| {
            let mut launch = stream.launch_builder(&self.chase);
            launch.arg(&address).arg(&mut place).arg(&hops);
            // SAFETY: the kernel takes (memory, place, hops) and stays in the cycle.
            unsafe { launch.launch(ONE_THREAD) }?;
            walked += hops as usize;
            Ok(())
        };
        // Once around, or as far as no L2 cache reaches. Then each sample goes on where
        // the one before has ended.
        walk(count.min(1 << 20))?;
        let samples = lab.time_on_gpu(stream, |_| walk(HOPS))?;
        let end = order[walked % lines] * distance;
        let checked =
            check::every_element("hops", &stream.clone_dtoh(&place)?, |_| end)?;
        Ok((of_each(samples, HOPS), checked))
    }
    // ANCHOR_END: hops
}
