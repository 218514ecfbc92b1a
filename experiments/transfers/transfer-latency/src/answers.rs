//! Answers: a number goes to the GPU, one is added, and the sum comes back, in three ways.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cudarc::driver::DevicePtr;
use lab::launch::blocks;
use lab::memory::mapped;
use lab::{Case, Lab, Result, check};

use crate::{Kernels, LINE, WORD};

/// Questions that the host asks a persistent kernel, for one sample.
const QUESTIONS: u32 = 1000;
/// How often that kernel looks for a question before it gives up: about a second.
const PATIENCE: u32 = 1 << 20;

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let mut value = mapped(lab.context(), 1, 0, |_| 0u32)?;
    let mut device = stream.alloc_zeros::<u32>(1)?;
    let address = device.device_ptr(&stream).0;
    let case = |way| Case::new("answer").with("way", way);

    // 1. Two copies, and a kernel between them.
    let mut asked = 0;
    case("copies")
        .time_on_host(lab, || {
            asked += 1;
            value.host.as_mut_slice()?[0] = asked;
            stream.memcpy_htod(value.host.as_slice()?, &mut device)?;
            kernels.add_one(&stream, blocks(1, 1), address)?;
            stream.memcpy_dtoh(&device, value.host.as_mut_slice()?)?;
            stream.synchronize()?;
            check::every_element("copies", value.host.as_slice()?, |_| asked + 1)
        })?
        .checked(1)
        .record(lab)?;

    // 2. A kernel that works on the host's memory, over the link.
    case("mapped")
        .time_on_host(lab, || {
            asked += 1;
            value.host.as_mut_slice()?[0] = asked;
            kernels.add_one(&stream, blocks(1, 1), value.device)?;
            stream.synchronize()?;
            check::every_element("mapped", value.host.as_slice()?, |_| asked + 1)
        })?
        .checked(1)
        .record(lab)?;

    // 3. A persistent kernel, which polls for questions in the host's memory.
    let mut desk = mapped(lab.context(), 2 * LINE / WORD, 0, |_| 0u32)?;
    let words = desk.host.as_mut_ptr()?;
    // SAFETY: both words are in `desk`, which outlives the kernel, and are only read and
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
    // It gives no answer in time under a profiler that lets the host go on only when a
    // kernel has ended.
    let answered = Cell::new(true);
    let start = || {
        stream.synchronize()?; // the kernel before this one has ended
        question.store(0, Ordering::Release);
        if answered.get() {
            let (asks, replies) = (desk.device, desk.device + LINE as u64);
            let grid = blocks(1, 1);
            kernels.answer(&stream, grid, asks, replies, QUESTIONS + 1, PATIENCE)?;
            answered.set(ask(1)); // now it runs
        }
        Ok(())
    };
    let polling = case("polling").time_on_host_after(lab, start, |()| {
        answered.set(answered.get() && (0..QUESTIONS).all(|i| ask(2 + i)));
        Ok(())
    })?;
    stream.synchronize()?;
    if answered.get() {
        polling.per(QUESTIONS as usize).checked(QUESTIONS.into()).record(lab)
    } else {
        lab.skip(case("polling"), "no kernel runs beside the host here");
        Ok(())
    }
}
