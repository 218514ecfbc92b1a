//! # How much faster do N GPUs do the same work?
//!
//! Page: `book/src/several-gpus/multi-gpu-split.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured | the same array for more and more GPUs |
//! | [`worker`] | The experiment | a GPU's piece, and who issues its work |
//! | [`team`] | Measured | a task on one GPU, two, three and so on |
//! | [`listing`] | The trap | how fast is it, and what does it lose? |
//! | [`hand_over`] | The host's end of the links | what does it cost to wake host threads up? |
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

mod hand_over;
mod listing;
mod team;
mod worker;

use std::process::ExitCode;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use lab::check::value;
use lab::memory::pinned_with_flags;
use lab::{Case, Lab, Result};

use team::Team;
use worker::{KERNEL, Task, Worker};

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

lab::words! {
    /// Where the array is before and after.
    enum Data { Resident = "resident", Pinned = "pinned", Pageable = "pageable" }
}

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The GPUs. Each gets a stream, the kernel, and room for the whole array, because
    //    one of them alone does all the work, too.
    let contexts = lab.gpus(1)?;
    let fitting = lab.free_bytes()? / 64 / WORD_BYTES;
    let most = if lab.emulated() { MOST_WORDS / 64 } else { MOST_WORDS };
    let words = fitting.min(most) / DIVISIBLE * DIVISIBLE + 1;
    let room = words.max(CHAPTER + 1);
    let heavy = if lab.emulated() { HEAVY / 64 } else { HEAVY };
    let workers = contexts.iter().map(|context| Worker::new(lab, context, room));
    let workers = workers.collect::<Result<Vec<_>>>()?;
    if workers.len() < 2 {
        for case in ["split", "copy", "listing"] {
            lab.skip(Case::new(case).with("gpus", 2usize), "CUDA sees one GPU");
        }
    }
    lab.skip(Case::new("placement"), placement());

    // 2. Host memory of both kinds, from which all GPUs can copy. All words differ.
    let flags = CU_MEMHOSTALLOC_PORTABLE;
    let pinned_from = pinned_with_flags(lab.context(), room, flags, value)?;
    let mut pinned_to = pinned_with_flags(lab.context(), room, flags, |_| 0)?;
    let (from, to) = (pinned_from.as_slice()?, pinned_to.as_mut_slice()?);
    let (from_vec, mut to_vec) = (from.to_vec(), vec![1; room]);

    let mut team = Team::new(workers)?;
    for data in Data::ALL {
        let (from, to) = match data {
            Data::Pageable => (&from_vec[..words], &mut to_vec[..words]),
            Data::Resident | Data::Pinned => (&from[..words], &mut to[..words]),
        };
        let case = |work| Case::new("split").with("work", work).with("data", data);

        // ANCHOR: cases
        // 3. The same array for more and more GPUs, with either kernel; and one host
        //    thread that issues everything.
        let copies = !matches!(data, Data::Resident);
        let (up, steps, down) = (copies, Some(LIGHT), copies);
        let light = Task { up, steps, down, every_size: true, one_thread: false };
        if copies {
            team.scale(lab, case("light"), light, from, to)?;
        }
        let task = Task { steps: Some(heavy), ..light };
        team.scale(lab, case("heavy"), task, from, to)?;
        let task = Task { one_thread: true, every_size: !copies, ..light };
        team.scale(lab, case("light"), task, from, to)?;
        // ANCHOR_END: cases

        // 4. The copies by themselves: what do the links and the host's memory give? A
        //    smaller array may stay in the CPU's caches.
        let (parts, one_thread): (&[usize], bool) = match data {
            Data::Resident => (&[], true),
            Data::Pinned => (&[1, 8], true),
            Data::Pageable => (&[1], false),
        };
        for part in parts {
            let (from, to) = (&from[..words / part], &mut to[..words / part]);
            for (direction, up) in
                [("host_to_device", true), ("device_to_host", false)]
            {
                let task = Task { up, down: !up, one_thread, ..Task::default() };
                let case = Case::new("copy").with("kind", data).with("part", *part);
                let case = case.with("direction", direction);
                team.scale(lab, case, task, from, to)?;
            }
        }
    }

    // 5. A few words: what is left is the host's part.
    let case = Case::new("split").with("work", "none").with("data", "resident");
    let task = Task { steps: Some(LIGHT), one_thread: true, ..Task::default() };
    team.scale(lab, case, task, &from[..DIVISIBLE], &mut to[..DIVISIBLE])?;
    hand_over::hand_over(lab, &team)?;

    // 6. The chapter's million elements, and one more; and without its extra copies.
    for code in ["printed", "corrected"] {
        for elements in [CHAPTER, CHAPTER + 1] {
            listing::measure(lab, &team, code, &from_vec[..elements])?;
        }
    }
    let case = Case::new("listing").with("code", "in_place");
    let case = case.with("elements", CHAPTER);
    let (up, steps, down) = (true, Some(LIGHT), true);
    let task = Task { up, steps, down, ..Task::default() };
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
