//! Making batches, with one thread or with several.

use std::sync::Arc;

use lab::Result;
use lab::check::{repeated, value};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// One round of making a word, and of the kernel, is x → A·x + B.
pub(crate) const A: u32 = 1_664_525;
pub(crate) const B: u32 = 1_013_904_223;

/// Makes batches, with some threads.
#[derive(Clone)]
pub(crate) struct Maker {
    /// `None` if the caller's is the only one.
    threads: Option<Arc<ThreadPool>>,
    /// Rounds for a word of any batch, and of every eighth.
    pub(crate) rounds: [u32; 2],
}

impl Maker {
    pub(crate) fn new(workers: usize, rounds: [u32; 2]) -> Result<Maker> {
        let pool = || ThreadPoolBuilder::new().num_threads(workers).build();
        let threads = if workers > 1 { Some(Arc::new(pool()?)) } else { None };
        Ok(Maker { threads, rounds })
    }

    // ANCHOR: make
    /// Makes a batch. The threads share its words.
    pub(crate) fn make(&self, batch: usize, slot: &mut [u32]) {
        let (first, rounds) = (batch * slot.len(), self.rounds[kind(batch)]);
        let workers =
            self.threads.as_ref().map_or(1, |pool| pool.current_num_threads());
        let part = slot.len().div_ceil(workers);
        let make_part = |(n, words): (usize, &mut [u32])| {
            for (i, word) in words.iter_mut().enumerate() {
                *word = value(first + n * part + i);
            }
            for _ in 0..rounds {
                let round = |x: &mut u32| *x = x.wrapping_mul(A).wrapping_add(B);
                words.iter_mut().for_each(round);
            }
        };
        match &self.threads {
            None => make_part((0, slot)),
            Some(pool) => pool.install(|| {
                slot.par_chunks_mut(part).enumerate().for_each(make_part);
            }),
        }
    }
    // ANCHOR_END: make
}

/// Every eighth batch is of another kind.
pub(crate) fn kind(batch: usize) -> usize {
    usize::from(batch % 8 == 7)
}

/// What word i of all batches is after this many rounds.
pub(crate) fn after(rounds: u32) -> impl Fn(usize) -> u32 {
    let after = repeated(A, B, rounds);
    move |i| after(value(i))
}
