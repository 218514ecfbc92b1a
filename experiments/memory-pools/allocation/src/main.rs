//! # What does it cost to get device memory, and what does a pool save?
//!
//! The driver has two ways to ask for memory. `cuMemAlloc` and `cuMemFree` answer at
//! once. `cuMemAllocAsync` and `cuMemFreeAsync` take part in a stream's order and use a
//! pool of the driver's. When the host waits for a stream, that pool gives free memory
//! back to the system, unless its *release threshold* lets it keep some.
//!
//! Six kinds of memory are compared:
//!
//! ```text
//! direct          cuMemAlloc, cuMemFree
//! returning_pool  cuMemAllocAsync, cuMemFreeAsync, release threshold 0 (the default)
//! keeping_pool    the same, and the threshold is as high as it gets
//! chapter_pool    the chapter's map from a size to free buffers of that size
//! workbook_pool   the crate `pool`: size classes, safe among streams
//! kept            one buffer all the time: what nobody can beat
//! ```
//!
//! **Prediction:** `direct` takes 50 µs or more, because it changes the GPU's page tables;
//! `keeping_pool` 1 µs; `workbook_pool`, which only takes an entry from a list and puts
//! it back, less than 60 ns. With a kernel between and a wait behind, `returning_pool`
//! is as slow as `direct`, and the others are as fast as `kept`. At 4 GiB all are, within
//! 10 %, because the kernel takes a millisecond.

mod source;

use std::process::ExitCode;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use lab::{Case, Clock, Kernel, Lab, Result, check};
use pool::{Options, Pool};
use source::{Source, kept, sources};

const KERNEL: Kernel = Kernel {
    name: "allocation",
    source: include_str!("../../../../kernels/allocation.cu"),
    ptx: include_str!("../../../../kernels/ptx/allocation.ptx"),
};

const WORD: usize = size_of::<u32>();
const SIZES: [usize; 6] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 4 << 30];
/// The chapter's loop: rounds, and elements of 4 bytes in each.
const ROUNDS: usize = 1000;
const WORDS: usize = 1_000_000;

fn main() -> ExitCode {
    let question =
        "What does it cost to get device memory, and what does a pool save?";
    lab::run("allocation", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let user = User { fill: lab.module()?.load_function("fill")?, stream };
    let stream = &user.stream;
    let most = if lab.quick() { 16 << 20 } else { lab.free_bytes()? / 4 };

    // 1. What the host pays: ask and give back, over and over, and no work between. The
    //    driver's direct calls also beside a neighbour of the same size, which stays.
    let keeper = Pool::new(stream.context(), Options::default());
    for bytes in SIZES.into_iter().filter(|bytes| *bytes <= most) {
        let mut time = |kind, mut source: Source| {
            let calls = if kind == "direct" { 10 } else { 1000 };
            let samples = lab.time_calls(
                calls,
                || source.once(stream, bytes / WORD, |_| Ok(())),
                || Ok(stream.synchronize()?),
            )?;
            let case = Case::new("pair").with("kind", kind).with("bytes", bytes);
            lab.record(case.samples(samples))
        };
        for source in sources(stream)? {
            time(source.kind(), source)?;
        }
        if bytes <= 16 << 20 {
            // SAFETY: nobody reads the neighbour.
            let _neighbour = unsafe { keeper.alloc::<u8>(stream, bytes) }?;
            time("direct_beside", Source::Direct)?;
        }
        keeper.trim(0);
    }
    //    The largest also after a rest.
    let rest = Duration::from_millis(if lab.quick() { 20 } else { 500 });
    if let Some(bytes) = SIZES.into_iter().filter(|bytes| *bytes <= most).max() {
        let samples = lab.time_on_host_after(
            || {
                sleep(rest);
                Ok(())
            },
            |()| Source::Direct.once(stream, bytes / WORD, |_| Ok(())),
        )?;
        let case = Case::new("rested_pair").with("kind", "direct");
        lab.record(case.with("bytes", bytes).samples(samples))?;
    }

    // 2. End to end: ask, let a kernel write every word, give back, wait. In steady
    //    state, and from pools that are emptied before the clock runs.
    for bytes in SIZES.into_iter().filter(|bytes| *bytes <= most) {
        let words = bytes / WORD;
        for mut source in sources(stream)?.into_iter().chain([kept(stream, words)?])
        {
            for state in ["steady", "first"] {
                if state == "first" && !source.can_be_emptied() {
                    continue;
                }
                let mut round = 0;
                let mut turn = || {
                    if state == "first" {
                        source.empty(stream)?;
                    }
                    round += 1;
                    let start = Instant::now();
                    source.once(stream, words, |at| user.fill(at, words, round))?;
                    stream.synchronize()?;
                    Ok((start.elapsed().as_secs_f64(), ()))
                };
                let (samples, ()) = lab.time_turns(Clock::Host, &mut turn)?;
                let checked = user.check(&mut source, words)?;
                let case = Case::new("round").with("kind", source.kind());
                let case = case.with("state", state).with("bytes", bytes);
                lab.record(case.writes(bytes).checked(checked).samples(samples))?;
            }
        }
    }

    // 3. The chapter's loop: as printed, and with a kernel where it says "use".
    let rounds = if lab.quick() { ROUNDS / 50 } else { ROUNDS };
    let case = |name, source: &Source| {
        let case = Case::new(name).with("kind", source.kind());
        case.with("rounds", rounds).with("bytes", WORDS * WORD)
    };
    for work in ["none", "kernel"] {
        for mut source in sources(stream)?.into_iter().chain([kept(stream, WORDS)?])
        {
            let samples = lab.time_on_host(|| {
                for round in 0..rounds {
                    source.once(stream, WORDS, |at| match work {
                        "kernel" => user.fill(at, WORDS, round as u32),
                        _ => Ok(()),
                    })?;
                }
                Ok(stream.synchronize()?)
            })?;
            let checked = user.check(&mut source, WORDS)?;
            let case = case("chapters_loop", &source).with("work", work);
            lab.record(case.checked(checked).samples(samples))?;
        }
    }

    // 4. Two streams take turns, so that the memory wanders between them.
    let other = lab.context().new_stream()?;
    for mut source in sources(stream)?.into_iter().filter(Source::can_be_emptied) {
        let samples = lab.time_calls(
            500,
            || {
                source.once(stream, WORDS, |_| Ok(()))?;
                source.once(&other, WORDS, |_| Ok(()))
            },
            || Ok(lab.context().synchronize()?),
        )?;
        let case = Case::new("two_streams").with("kind", source.kind());
        lab.record(case.with("bytes", WORDS * WORD).samples(samples))?;
    }

    // ANCHOR: traps
    // 5. Two traps: what pools hold after 1,000 sizes that differ a little, and what is
    //    in the "zeros" that the chapter's pool hands out.
    for mut source in sources(stream)? {
        let case = case("varying_sizes", &source);
        if lab.free_bytes()? < 2 * ROUNDS * WORDS * WORD {
            lab.skip(case, "the chapter's pool would need more memory");
            continue;
        }
        let turn = || {
            source.empty(stream)?;
            let start = Instant::now();
            for round in 0..ROUNDS {
                let words = WORDS + round;
                source
                    .once(stream, words, |at| user.fill(at, words, round as u32))?;
            }
            stream.synchronize()?;
            Ok((start.elapsed().as_secs_f64(), source.held_bytes()?))
        };
        let (samples, held_bytes) = lab.time_turns(Clock::Host, turn)?;
        let mut case = case.model("held_bytes", held_bytes as f64);
        if let Source::Chapter(pool) = &mut source {
            let zeros = stream.clone_dtoh(&pool.alloc(stream, WORDS)?)?;
            let stale = zeros.iter().filter(|word| **word != 0).count();
            case = case.model("stale_words", stale as f64);
        }
        lab.record(case.samples(samples))?;
    }
    // ANCHOR_END: traps
    Ok(())
}

/// Who uses the memory.
struct User {
    fill: CudaFunction,
    stream: Arc<CudaStream>,
}

impl User {
    fn fill(&self, address: CUdeviceptr, words: usize, round: u32) -> Result<()> {
        let mut launch = self.stream.launch_builder(&self.fill);
        launch.arg(&address).arg(&words).arg(&round);
        let threads = words.min(1 << 20) as u32;
        // SAFETY: the kernel takes (words, count, round), and writes `count` words.
        unsafe { launch.launch(LaunchConfig::for_num_elems(threads)) }?;
        Ok(())
    }

    /// One more round, whose words are all compared before the memory is given back.
    fn check(&self, source: &mut Source, words: usize) -> Result<u64> {
        const ROUND: u32 = 1 << 31;
        const CHUNK: usize = 16 << 20;
        let (kind, mut checked) = (source.kind(), 0);
        let mut got = vec![0; CHUNK.min(words)];
        source.once(&self.stream, words, |address| {
            self.fill(address, words, ROUND)?;
            self.stream.synchronize()?;
            for start in (0..words).step_by(CHUNK) {
                let got = &mut got[..CHUNK.min(words - start)];
                // SAFETY: these words lie in the memory, and nothing writes them now.
                unsafe {
                    result::memcpy_dtoh_sync(got, address + (start * WORD) as u64)
                }?;
                checked += check::every_element(kind, got, |i| {
                    check::value(start + i).wrapping_add(ROUND)
                })?;
            }
            Ok(())
        })?;
        Ok(checked)
    }
}
