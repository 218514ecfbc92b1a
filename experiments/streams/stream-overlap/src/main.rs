//! # What does it take for a copy to run beside a kernel?
//!
//! A stream is a queue: what is in one stream runs in order. Two streams may run at the
//! same time, if the host gets round to filling both. From pinned memory a copy's call
//! only queues the copy. From pageable memory the call itself does a part of the work.
//!
//! A copy of 80 MB, as in the CuPy article, and a kernel that takes just as long, on
//! data of its own, are put into one stream or into two; in either order or by two host
//! threads; to the GPU and back. If nothing overlaps, both take twice as long as one.
//!
//! **Prediction:** in one stream both take 2 times as long as one, however they are
//! issued. In two streams, pinned memory hides at least 90 % of one of them. Pageable
//! memory hides nothing if the copy is issued first, but the same 90 % if the kernel is,
//! or if a second thread issues the copy.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PinnedHostSlice,
    PushKernelArg, result,
};
use lab::check::value;
use lab::{Case, Clock, Kernel, Lab, Result, Span, check};
use lab::timeline::Timeline;

const KERNEL: Kernel = Kernel {
    name: "stream-overlap",
    source: include_str!("../../../../kernels/stream-overlap.cu"),
    ptx: include_str!("../../../../kernels/ptx/stream-overlap.ptx"),
};

/// Words of an array of 80 MB; the kernel's last block has too many threads.
const WORDS: usize = 20_000_000;
const BLOCK: u32 = 1024;
const FACTOR: u32 = 1_664_525;

fn main() -> ExitCode {
    let question = "What does it take for a copy to run beside a kernel?";
    lab::run("stream-overlap", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two streams, and two arrays on the GPU: the kernel works on the first while
    //    the second is copied. All words differ.
    let words = if lab.quick() { WORDS / 100 } else { WORDS };
    let mut rig = Rig::new(lab, words)?;
    let input: Vec<u32> = (0..2 * words).map(value).collect();

    // 2. Both arrays in host memory of both kinds.
    let mut pageable = vec![1u32; 2 * words];
    // SAFETY: every word is written before it is read.
    let mut pinned: PinnedHostSlice<u32> =
        unsafe { lab.context().alloc_pinned_with_flags(2 * words, 0) }?;
    for (kind, host) in
        [("pageable", &mut pageable[..]), ("pinned", pinned.as_mut_slice()?)]
    {
        for direction in ["host_to_device", "device_to_host"] {
            rig.up = direction == "host_to_device";
            host.copy_from_slice(&input);
            rig.fill(host)?;
            let case = |name| {
                Case::new(name).with("kind", kind).with("direction", direction)
            };

            // 3. The copy alone, and a kernel that is made to last as long.
            let (samples, length) = lab.time_turns(Clock::Host, || {
                let start = Instant::now();
                rig.copy(1, &rig.streams[0], &mut host[words..])?;
                rig.streams[0].synchronize()?;
                let seconds = start.elapsed().as_secs_f64();
                Ok((seconds, seconds))
            })?;
            lab.record(case("alone").with("work", "copy").samples(samples))?;
            rig.make_kernel_last(length)?;
            let samples = lab.time_on_host(|| {
                rig.launch(&rig.streams[0])?;
                Ok(rig.streams[0].synchronize()?)
            })?;
            lab.record(case("alone").with("work", "kernel").samples(samples))?;

            // 4. Both: in one stream or in two, in either order or by two threads.
            for streams in [1, 2] {
                for issue in ["copy_first", "kernel_first", "two_threads"] {
                    rig.clear(host)?;
                    let turn = || rig.both(issue, streams, &mut host[words..]);
                    let (samples, spans) = lab.time_turns(Clock::Host, turn)?;
                    let case = case("both").with("streams", streams as u64);
                    let case = case.with("issue", issue).checked(rig.check(host)?);
                    lab.record(case.samples(samples).spans(spans))?;
                }
            }

            // 5. The article's listing, as printed, and with the second copy in the
            //    second stream.
            let listings: &[&str] =
                if rig.up { &["printed", "repaired"] } else { &[] };
            for &code in listings {
                rig.clear(host)?;
                rig.streams[0].memset_zeros(&mut rig.arrays[0])?;
                rig.streams[0].synchronize()?;
                let stream = usize::from(code == "repaired");
                let turn = || rig.listing(stream, host);
                let (samples, spans) = lab.time_turns(Clock::Host, turn)?;
                let case = case("listing").with("code", code);
                let case = case.checked(rig.check(host)?);
                lab.record(case.samples(samples).spans(spans))?;
            }
        }
    }
    Ok(())
}

/// What a turn needs on the GPU.
struct Rig {
    streams: [Arc<CudaStream>; 2],
    default: Arc<CudaStream>,
    line: Timeline,
    chain: CudaFunction,
    /// Steps of the kernel, which make its length.
    steps: u32,
    arrays: [CudaSlice<u32>; 2],
    output: CudaSlice<u32>,
    /// Copies go to the GPU.
    up: bool,
}

impl Rig {
    fn new(lab: &Lab, words: usize) -> Result<Rig> {
        let context = lab.context();
        let streams = [context.new_stream()?, context.new_stream()?];
        let array = || streams[0].alloc_zeros::<u32>(words);
        Ok(Rig {
            default: context.default_stream(),
            line: Timeline::new(context)?,
            chain: lab.module()?.load_function("chain")?,
            steps: 1,
            arrays: [array()?, array()?],
            output: array()?,
            up: true,
            streams,
        })
    }

    // ANCHOR: issue
    /// Queues the kernel on the first array.
    fn launch(&self, stream: &Arc<CudaStream>) -> Result<()> {
        let words = self.output.len();
        let config = LaunchConfig {
            grid_dim: (words.div_ceil(BLOCK as usize) as u32, 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&self.chain);
        launch.arg(&self.arrays[0]).arg(&self.output).arg(&words);
        launch.arg(&self.steps).arg(&FACTOR);
        // SAFETY: the kernel takes (in, out, count, steps, factor), and both arrays have
        // as many words. Nothing else touches the output before the turn has ended.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    /// Calls for the copy of an array.
    fn copy(
        &self,
        array: usize,
        stream: &Arc<CudaStream>,
        host: &mut [u32],
    ) -> Result<()> {
        let (address, _order) = self.arrays[array].device_ptr(stream);
        let queue = stream.cu_stream();
        // SAFETY: both sides have as many words, and nothing touches them before the
        // turn has ended, which waits for both streams.
        unsafe {
            match self.up {
                true => result::memcpy_htod_async(address, host, queue),
                false => result::memcpy_dtoh_async(host, address, queue),
            }
        }?;
        Ok(())
    }
    // ANCHOR_END: issue

    // ANCHOR: both
    /// One turn: how long both took, and what ran when.
    fn both(
        &self,
        issue: &str,
        streams: usize,
        host: &mut [u32],
    ) -> Result<(f64, Vec<Span>)> {
        let (line, one, other) =
            (&self.line, &self.streams[0], &self.streams[streams - 1]);
        let lane = format!("stream {streams}");
        let launch = || line.gpu("stream 1", "kernel", one, || self.launch(one));
        let copy = || line.gpu(&lane, "copy", other, || self.copy(1, other, host));
        match issue {
            "copy_first" => {
                line.begin(one)?;
                line.host("host", "copy", copy)?;
                line.host("host", "launch", launch)?;
            }
            "kernel_first" => {
                line.begin(one)?;
                line.host("host", "launch", launch)?;
                line.host("host", "copy", copy)?;
            }
            _ => {
                let (ready, go) = (Barrier::new(2), AtomicBool::new(false));
                std::thread::scope(|scope| {
                    let thread = scope.spawn(|| {
                        ready.wait();
                        while !go.load(Ordering::Acquire) {
                            std::hint::spin_loop();
                        }
                        line.host("thread 2", "copy", copy)
                    });
                    ready.wait();
                    let begun = line.begin(one);
                    go.store(true, Ordering::Release);
                    let launched = line.host("host", "launch", launch);
                    let copied = thread.join().expect("a copy does not panic");
                    begun.and(launched).and(copied)
                })?;
            }
        }
        line.host("host", "wait", || self.wait())?;
        line.finish()
    }
    // ANCHOR_END: both

    // ANCHOR: listing
    /// The article's listing: two copies to the GPU, a wait for the first stream, and
    /// the kernel on the first array in the default stream. As printed, the second copy
    /// is in the first stream, too.
    fn listing(&self, second: usize, host: &mut [u32]) -> Result<(f64, Vec<Span>)> {
        let (line, streams) = (&self.line, &self.streams);
        let (array_1, array_2) = host.split_at_mut(self.output.len());
        let copy = |n: usize, stream: usize, array| {
            let (label, lane) =
                (format!("copy {n}"), format!("stream {}", stream + 1));
            let stream = &streams[stream];
            let copy = || {
                line.gpu(&lane, &label, stream, || self.copy(n - 1, stream, array))
            };
            line.host("host", &label, copy)
        };
        line.begin(&streams[0])?;
        copy(1, 0, array_1)?;
        copy(2, second, array_2)?;
        line.host("host", "wait 1", || Ok(streams[0].synchronize()?))?;
        let launch = || self.launch(&self.default);
        let launch = || line.gpu("default", "kernel", &self.default, launch);
        line.host("host", "launch", launch)?;
        line.host("host", "wait 2", || self.wait())?;
        line.finish()
    }
    // ANCHOR_END: listing

    fn wait(&self) -> Result<()> {
        for stream in self.streams.iter().chain([&self.default]) {
            stream.synchronize()?;
        }
        Ok(())
    }

    /// Finds how many steps take this long. Time grows evenly with them.
    fn make_kernel_last(&mut self, seconds: f64) -> Result<()> {
        let stream = &self.streams[0].clone();
        let mut time = |steps| -> Result<f64> {
            self.steps = steps;
            self.launch(stream)?;
            self.line.begin(stream)?;
            self.line.gpu("", "", stream, || self.launch(stream))?;
            let (_, spans) = self.line.finish()?;
            Ok(spans[0].end_seconds - spans[0].start_seconds)
        };
        let (few, many) = (time(1000)?, time(5000)?);
        let step = (many - few) / 4000.0;
        self.steps = (1000.0 + (seconds - few) / step).max(1.0) as u32;
        Ok(())
    }

    /// Puts the host's arrays on the GPU.
    fn fill(&mut self, host: &[u32]) -> Result<()> {
        let halves = host.chunks(self.output.len());
        for (array, half) in self.arrays.iter_mut().zip(halves) {
            self.streams[0].memcpy_htod(half, array)?;
        }
        Ok(self.streams[0].synchronize()?)
    }

    /// Clears what the kernel writes, and what the copy does.
    fn clear(&mut self, host: &mut [u32]) -> Result<()> {
        self.streams[0].memset_zeros(&mut self.output)?;
        match self.up {
            true => self.streams[0].memset_zeros(&mut self.arrays[1])?,
            false => host[self.output.len()..].fill(0),
        }
        Ok(self.streams[0].synchronize()?)
    }

    /// Compares every word that the kernel and the copy have written.
    fn check(&self, host: &[u32]) -> Result<u64> {
        let words = self.output.len();
        // All steps at once: x * factor + summand.
        let (factor, summand) = (0..self.steps).fold((1u32, 0u32), |(f, s), _| {
            (f.wrapping_mul(FACTOR), s.wrapping_mul(FACTOR).wrapping_add(1))
        });
        let after = |i| value(i).wrapping_mul(factor).wrapping_add(summand);
        let got = self.streams[0].clone_dtoh(&self.output)?;
        let kernel = check::every_element("kernel", &got, after)?;
        let got = match self.up {
            true => &self.streams[0].clone_dtoh(&self.arrays[1])?,
            false => &host[words..],
        };
        Ok(kernel + check::every_element("copy", got, |i| value(words + i))?)
    }
}
