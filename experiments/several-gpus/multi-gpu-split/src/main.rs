//! # How much faster do N GPUs do the same work?
//!
//! The chapter cuts an array into pieces, one for each GPU. A host thread for each GPU
//! sends its piece there, lets a kernel work on it, and fetches the result. The whole
//! array stays the same however many GPUs share it (*strong scaling*), so N GPUs should
//! take an Nth of the time of one:
//!
//! ```text
//! 1 GPU    | up            | kernel                | down          |
//! 2 GPUs   | up    | kernel    | down  |
//!          | up    | kernel    | down  |
//! ```
//!
//! The array is on the GPUs already, or in pinned or in pageable host memory. The kernel
//! is light, one pass over memory, or heavy, thousands of steps for each word.
//!
//! **Prediction:** every GPU has a link of its own, so 4 GPUs are at least 3.8 times as
//! fast as one with the heavy kernel on data that is there, and at least 3.5 times as fast
//! from and to pinned memory, with either kernel. A core copies each pageable piece, and
//! there are cores enough: at least 3 times. The light kernel on data that is there takes
//! a quarter of a millisecond, and starting it everywhere some 20 µs: 3 times at most. The
//! chapter's million elements are too few: 4 GPUs take longer for them than one.

mod listing;
mod team;
mod worker;

use std::process::ExitCode;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use lab::check::value;
use lab::{Case, Kernel, Lab, Result};

use team::Team;
use worker::{Task, Worker};

/// The kernel of the experiment `stream-overlap`.
const KERNEL: Kernel = Kernel {
    name: "stream-overlap",
    source: include_str!("../../../../kernels/stream-overlap.cu"),
    ptx: include_str!("../../../../kernels/ptx/stream-overlap.ptx"),
};

const WORD_BYTES: usize = size_of::<u32>();
/// Words to share: 512 MiB.
const MOST_WORDS: usize = 1 << 27;
/// All numbers up to 8 divide this, so one word more leaves a remainder for any of them.
const DIVISIBLE: usize = 840;
/// Steps of the kernel for each word.
const LIGHT: u32 = 1;
const HEAVY: u32 = 4096;
/// The chapter's array.
const CHAPTER: usize = 1_000_000;

fn main() -> ExitCode {
    let question = "How much faster do N GPUs do the same work?";
    lab::run("multi-gpu-split", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The GPUs. Each gets a stream, the kernel, and room for the whole array, because
    //    one of them alone does all the work, too.
    let contexts = lab.gpus(1)?;
    let fitting = lab.free_bytes()? / 64 / WORD_BYTES;
    let most = if lab.quick() { MOST_WORDS / 64 } else { MOST_WORDS };
    let words = fitting.min(most) / DIVISIBLE * DIVISIBLE + 1;
    let room = words.max(CHAPTER + 1);
    let heavy = if lab.quick() { HEAVY / 64 } else { HEAVY };
    let mut workers = vec![];
    for context in &contexts {
        let chain = lab.module_on(context)?.load_function("chain")?;
        workers.push(Worker::new(context, chain, room)?);
    }
    if workers.len() < 2 {
        for case in ["split", "copy", "listing"] {
            lab.skip(Case::new(case).with("gpus", 2usize), "CUDA sees one GPU");
        }
    }
    lab.skip(Case::new("placement"), placement());

    // 2. Host memory of both kinds, from which all GPUs can copy. All words differ.
    let pinned = |words| {
        // SAFETY: every word is written before it is read.
        unsafe {
            lab.context().alloc_pinned_with_flags(words, CU_MEMHOSTALLOC_PORTABLE)
        }
    };
    let (mut from, mut to) = (pinned(room)?, pinned(room)?);
    let (from, to) = (from.as_mut_slice()?, to.as_mut_slice()?);
    let from_vec: Vec<u32> = (0..room).map(value).collect();
    let mut to_vec = vec![1; room];
    from.copy_from_slice(&from_vec);

    let mut team = Team::new(workers)?;
    for data in ["resident", "pinned", "pageable"] {
        let (from, to) = match data {
            "pageable" => (&from_vec[..words], &mut to_vec[..words]),
            _ => (&from[..words], &mut to[..words]),
        };
        let copies = data != "resident";
        let case = |work| Case::new("split").with("work", work).with("data", data);

        // ANCHOR: cases
        // 3. The same array for more and more GPUs, with either kernel.
        for (work, steps) in [("light", LIGHT), ("heavy", heavy)] {
            let task = Task::new(copies, Some(steps), copies);
            team.scale(lab, case(work), task, from, to)?;
        }

        // 4. One host thread that calls for everything.
        let task = Task::new(copies, Some(LIGHT), copies);
        team.scale(lab, case("light"), Task { one_thread: true, ..task }, from, to)?;
        // ANCHOR_END: cases

        // 5. The copies by themselves: what do the links and the host's memory give? A
        //    smaller array may stay in the CPU's caches.
        let parts: &[usize] = match data {
            "resident" => &[],
            "pinned" => &[1, 8],
            _ => &[1],
        };
        for part in parts {
            let (from, to) = (&from[..words / part], &mut to[..words / part]);
            let case = Case::new("copy").with("kind", data).with("part", *part);
            let one_thread = data == "pinned";
            let up = Task { one_thread, ..Task::new(true, None, false) };
            let to_device = case.clone().with("direction", "host_to_device");
            team.scale(lab, to_device, up, from, to)?;
            let down = Task { one_thread, ..Task::new(false, None, true) };
            let to_host = case.with("direction", "device_to_host");
            team.scale(lab, to_host, down, from, to)?;
        }
    }

    // 6. A few words: what is left is the host's part.
    let (few_from, few_to) = (&from[..DIVISIBLE], &mut to[..DIVISIBLE]);
    for one_thread in [false, true] {
        let case = Case::new("split").with("work", "none").with("data", "resident");
        let task = Task::new(false, Some(LIGHT), false);
        team.scale(lab, case, Task { one_thread, ..task }, few_from, few_to)?;
    }

    team.hand_over(lab)?;

    // 7. The chapter's million elements, and one more; and without its extra copies.
    for code in ["printed", "corrected"] {
        for elements in [CHAPTER, CHAPTER + 1] {
            team.listing(lab, code, &from_vec[..elements])?;
        }
    }
    let case = Case::new("listing").with("code", "in_place");
    let case = case.with("elements", CHAPTER);
    let task = Task::new(true, Some(LIGHT), true);
    team.scale(lab, case, task, &from_vec[..CHAPTER], &mut to_vec[..CHAPTER])
}

/// Why host memory near a GPU and far from it is not compared here.
fn placement() -> &'static str {
    let nodes = std::fs::read_dir("/sys/devices/system/node").into_iter().flatten();
    let names = nodes.flatten().map(|entry| entry.file_name());
    match names.filter(|name| name.to_string_lossy().starts_with("node")).count() {
        0 | 1 => {
            "the host shows one NUMA node: no memory is farther away than other"
        }
        _ => "two runs under numactl compare it, as the page says",
    }
}
