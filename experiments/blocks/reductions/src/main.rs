//! # How do a block's threads make one number?
//!
//! Page: `book/src/blocks/reductions.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | who adds to the total: each thread, each warp, each block? |
//! | [`alone`] | Inside a block | how long does one block take to agree? |
//! | [`device`] | | the words, the kernels, the checks |
//!
//! A kernel adds up an array, or counts which of its words are negative. Each thread first
//! adds up its own words, 1 to 64 of them. Then the threads' sums become one number:
//!
//! ```text
//! thread   each thread adds its sum to the total, with an atomic operation
//! warp     32 threads add theirs up by shuffles or ballots; one of them adds to the total
//! block    256 threads do, by shuffles and shared memory, or at a barrier that counts
//! none     each thread writes its sum: what reading takes, and no total
//! ```
//!
//! **Prediction:** changes to one address come one per clock, about 1.7 billion a second.
//! With one word for each thread, an addition for each warp then takes longer than reading,
//! and one for each block about as long; with 16 words for each thread all but the first
//! are as fast as reading.

mod alone;
mod device;

use std::process::ExitCode;

use lab::{Case, Lab, Result};

use device::{Total, Words};

/// Words for each thread.
const EACH: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// A GiB.
const MOST_WORDS: usize = 1 << 28;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. An array much larger than the L2 cache.
    let wanted = match (lab.emulated(), lab.quick()) {
        (true, _) => 1 << 15,
        (false, true) => MOST_WORDS / 4,
        (false, false) => MOST_WORDS,
    };
    let count = 1 << wanted.min(lab.free_bytes()? / 16).ilog2();
    let mut words = Words::new(lab, count)?;

    // ANCHOR: totals
    // 2. Every way to one number, for few words of each thread and for many.
    for total in Total::ALL {
        for each in EACH {
            words.measure(lab, Case::new("array"), total, each)?;
        }
    }
    // ANCHOR_END: totals

    // 3. One block alone, again and again.
    alone::measure(lab, &mut words)
}
