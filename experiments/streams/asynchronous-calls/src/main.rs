//! # Which calls return before their work is done?
//!
//! A call is *asynchronous* if it puts its work into a stream and returns at once. The
//! driver promises that of some calls and not of others, and a name that ends in `Async`
//! is no promise: where the copy engine cannot reach the host's memory, the call itself
//! does a part of the work.
//!
//! Each call is timed twice on an idle GPU: until it returns, and until its work is done
//! too. It is put into a stream of the program's own, and into the default stream.
//!
//! **Prediction:** a launch, copies of 64 MiB from and to pinned memory, fills and copies
//! within the GPU return within 20 µs, in the default stream as in any other. Copies of
//! 64 MiB from and to pageable memory return when 90 % of their time is over or later. So
//! does a plain copy from pinned memory, but not a plain copy within the GPU.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PinnedHostSlice,
    PushKernelArg, result,
};
use lab::check::value;
use lab::{Case, Clock, Kernel, Lab, Result, check};
use lab::timeline::Timeline;

const KERNEL: Kernel = Kernel {
    name: "asynchronous-calls",
    source: include_str!("../../../../kernels/asynchronous-calls.cu"),
    ptx: include_str!("../../../../kernels/ptx/asynchronous-calls.ptx"),
};

/// Words that the kernel writes, in four blocks, of which the last has threads to spare.
const WORDS: usize = 1000;
const FACTOR: u32 = 1_664_525;
const KERNEL_SECONDS: f64 = 1e-3;
const SMALL: usize = 64 << 10;
const LARGE: usize = 64 << 20;
/// What `set` writes into every byte.
const BYTE: u8 = 0x5a;

fn main() -> ExitCode {
    let question = "Which calls return before their work is done?";
    lab::run("asynchronous-calls", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let most = if lab.quick() { LARGE / 16 } else { LARGE };
    let words = most.min(lab.free_bytes()?.next_power_of_two() / 32) / 4;
    let mut rig = Rig::new(lab, words)?;
    let mut pageable = vec![1u32; words];
    // SAFETY: every word is written before it is read.
    let mut pinned: PinnedHostSlice<u32> =
        unsafe { lab.context().alloc_pinned_with_flags(words, 0) }?;
    calls(lab, &mut rig, [&mut pageable, pinned.as_mut_slice()?])?;
    course(lab, &mut rig, [&mut pageable, pinned.as_mut_slice()?])
}

/// How soon calls return, and when their work is done.
fn calls(lab: &mut Lab, rig: &mut Rig, host: [&mut [u32]; 2]) -> Result<()> {
    // 1. Calls that name a stream, and plain ones, which are in the default stream.
    let large = 4 * rig.from.len();
    let all = [
        ("launch", 4 * WORDS),
        ("upload_pinned", large),
        ("upload_pageable", SMALL),
        ("upload_pageable", large),
        ("download_pinned", large),
        ("download_pageable", SMALL),
        ("download_pageable", large),
        ("set", large),
        ("copy_within", large),
        ("plain_upload_pinned", large),
        ("plain_upload_pageable", SMALL),
        ("plain_set", large),
        ("plain_copy_within", large),
    ];
    let created = lab.context().new_stream()?;
    let default = lab.context().default_stream();
    for (name, stream) in [("created", created), ("default", default)] {
        for (call, bytes) in all {
            if call.starts_with("plain") && name == "created" {
                continue;
            }
            let host = &mut host[usize::from(call.ends_with("pinned"))][..bytes / 4];
            let case = |until| {
                let case = Case::new("call").with("call", call).with("bytes", bytes);
                case.with("stream", name).with("until", until)
            };
            // 2. The call on an idle GPU, and the call with a wait for its work.
            rig.clear(call, host)?;
            // ANCHOR: timed
            let idle = || Ok(stream.synchronize()?);
            let samples =
                lab.time_on_host_after(idle, |()| rig.call(call, &stream, host))?;
            lab.record(case("returned").samples(samples))?;
            let samples = lab.time_on_host_after(idle, |()| {
                rig.call(call, &stream, host)?;
                Ok(stream.synchronize()?)
            })?;
            // ANCHOR_END: timed
            let checked = rig.check(call, host)?;
            lab.record(case("done").checked(checked).samples(samples))?;
        }
    }
    Ok(())
}

/// A kernel and two copies in one stream, seen from the host and from the GPU.
fn course(lab: &mut Lab, rig: &mut Rig, host: [&mut [u32]; 2]) -> Result<()> {
    // 3. Less from pageable memory than from pinned, since it is slower.
    let [pageable, pinned] = host;
    let words = pinned.len();
    let (pageable, pinned) = (&mut pageable[..words / 8], &mut pinned[..words / 2]);
    pageable.iter_mut().enumerate().for_each(|(i, word)| *word = value(i));
    pinned.iter_mut().enumerate().for_each(|(i, word)| *word = value(i));
    let line = Timeline::new(lab.context())?;
    let created = lab.context().new_stream()?;
    let default = lab.context().default_stream();
    for (name, stream) in [("created", created), ("default", default)] {
        rig.clear("launch", &mut [])?;
        let mut one = stream.alloc_zeros::<u32>(pinned.len())?;
        let mut two = stream.alloc_zeros::<u32>(pageable.len())?;
        let turn = || {
            line.begin(&stream)?;
            // ANCHOR: course
            line.host("host", "launch", || {
                line.gpu("stream", "kernel", &stream, || rig.launch(&stream))
            })?;
            line.host("host", "copy 1", || {
                let copy = || Ok(stream.memcpy_htod(pinned, &mut one)?);
                line.gpu("stream", "copy 1", &stream, copy)
            })?;
            line.host("host", "copy 2", || {
                let copy = || Ok(stream.memcpy_htod(pageable, &mut two)?);
                line.gpu("stream", "copy 2", &stream, copy)
            })?;
            line.host("host", "wait", || Ok(stream.synchronize()?))?;
            // ANCHOR_END: course
            line.finish()
        };
        let (samples, spans) = lab.time_turns(Clock::Host, turn)?;
        let mut checked = rig.check_kernel()?;
        for got in [stream.clone_dtoh(&one)?, stream.clone_dtoh(&two)?] {
            checked += check::every_element("copy", &got, value)?;
        }
        let case = Case::new("course").with("stream", name).checked(checked);
        lab.record(case.samples(samples).spans(spans))?;
    }
    Ok(())
}

/// What the calls work on.
struct Rig {
    chain: CudaFunction,
    /// Steps of the kernel, which make its length.
    steps: u32,
    output: CudaSlice<u32>,
    from: CudaSlice<u32>,
    to: CudaSlice<u32>,
    /// A stream of the rig's own.
    stream: Arc<CudaStream>,
}

impl Rig {
    fn new(lab: &Lab, words: usize) -> Result<Rig> {
        let stream = lab.context().new_stream()?;
        let mut rig = Rig {
            chain: lab.module()?.load_function("chain")?,
            steps: 1,
            output: stream.alloc_zeros(WORDS)?,
            from: stream.alloc_zeros(words)?,
            to: stream.alloc_zeros(words)?,
            stream,
        };
        // Time grows evenly with the steps.
        let line = Timeline::new(lab.context())?;
        let mut time = |steps| -> Result<f64> {
            rig.steps = steps;
            rig.launch(&rig.stream)?;
            line.begin(&rig.stream)?;
            line.gpu("", "", &rig.stream, || rig.launch(&rig.stream))?;
            let (_, spans) = line.finish()?;
            Ok(spans[0].end_seconds - spans[0].start_seconds)
        };
        let (few, many) = (time(10_000)?, time(50_000)?);
        let step = (many - few) / 40_000.0;
        rig.steps = (10_000.0 + (KERNEL_SECONDS - few) / step).max(1.0) as u32;
        Ok(rig)
    }

    fn launch(&self, stream: &Arc<CudaStream>) -> Result<()> {
        let mut launch = stream.launch_builder(&self.chain);
        launch.arg(&self.output).arg(&WORDS).arg(&self.steps).arg(&FACTOR);
        // SAFETY: the kernel takes (out, count, steps, factor), and the output has as
        // many words.
        unsafe { launch.launch(LaunchConfig::for_num_elems(WORDS as u32)) }?;
        Ok(())
    }

    // ANCHOR: call
    fn call(
        &self,
        call: &str,
        stream: &Arc<CudaStream>,
        host: &mut [u32],
    ) -> Result<()> {
        let (from, _order) = self.from.device_ptr(stream);
        let (to, _order) = self.to.device_ptr(stream);
        let (bytes, queue) = (size_of_val(host), stream.cu_stream());
        // SAFETY: all sides have as many bytes, and every call is waited for before they
        // are touched again.
        unsafe {
            match call {
                "launch" => return self.launch(stream),
                "upload_pinned" | "upload_pageable" => {
                    result::memcpy_htod_async(to, host, queue)
                }
                "download_pinned" | "download_pageable" => {
                    result::memcpy_dtoh_async(host, from, queue)
                }
                "set" => result::memset_d8_async(to, BYTE, bytes, queue),
                "copy_within" => result::memcpy_dtod_async(to, from, bytes, queue),
                "plain_upload_pinned" | "plain_upload_pageable" => {
                    result::memcpy_htod_sync(to, host)
                }
                "plain_set" => result::memset_d8_sync(to, BYTE, bytes),
                _ => result::memcpy_dtod_sync(to, from, bytes),
            }
        }?;
        Ok(())
    }
    // ANCHOR_END: call

    /// Makes the input of a call and clears its output.
    fn clear(&mut self, call: &str, host: &mut [u32]) -> Result<()> {
        let ramp: Vec<u32> = (0..self.from.len()).map(value).collect();
        self.stream.memcpy_htod(&ramp, &mut self.from)?;
        self.stream.memset_zeros(&mut self.to)?;
        self.stream.memset_zeros(&mut self.output)?;
        match call.contains("download") {
            true => host.fill(0),
            false => host.copy_from_slice(&ramp[..host.len()]),
        }
        Ok(self.stream.synchronize()?)
    }

    /// Compares everything that a call has written.
    fn check(&self, call: &str, host: &[u32]) -> Result<u64> {
        if call == "launch" {
            return self.check_kernel();
        }
        if call.contains("download") {
            return check::every_element(call, host, value);
        }
        let got = self.stream.clone_dtoh(&self.to.slice(..host.len()))?;
        match call.contains("set") {
            true => {
                check::every_element(call, &got, |_| u32::from_ne_bytes([BYTE; 4]))
            }
            false => check::every_element(call, &got, value),
        }
    }

    fn check_kernel(&self) -> Result<u64> {
        // All steps at once: x * factor + summand.
        let (factor, summand) = (0..self.steps).fold((1u32, 0u32), |(f, s), _| {
            (f.wrapping_mul(FACTOR), s.wrapping_mul(FACTOR).wrapping_add(1))
        });
        let after = |i| (i as u32).wrapping_mul(factor).wrapping_add(summand);
        check::every_element("kernel", &self.stream.clone_dtoh(&self.output)?, after)
    }
}
