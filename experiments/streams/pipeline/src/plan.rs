//! How batches are cut and queued, and the model: when could the last of them be out?

use std::ops::Range;

use lab::check::{repeated, value};

pub(crate) const WORD_BYTES: usize = size_of::<u32>();
/// One round of the kernel is x → A·x + B.
pub(crate) const A: u32 = 1_664_525;
pub(crate) const B: u32 = 1_013_904_223;

/// How the batches are cut, spread over streams and queued.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) host: Memory,
    pub(crate) bytes: usize,
    pub(crate) batches: usize,
    /// Pairs of device buffers, so batches that can be on the GPU at once.
    pub(crate) pairs: usize,
    pub(crate) order: Order,
    pub(crate) rounds: u32,
}

lab::words! {
    /// The host's memory that the batches are in, and their results.
    pub(crate) enum Memory { Pinned = "pinned", Pageable = "pageable" }
}

lab::words! {
    /// What a batch goes through.
    pub(crate) enum Step {
        Upload = "upload",
        Kernel = "kernel",
        Download = "download",
    }
}

lab::words! {
    /// In which streams, and in which order, the steps are queued.
    pub(crate) enum Order {
        /// A stream for each pair: all steps of a batch, then the next batch.
        DepthFirst = "depth_first",
        /// A stream for each pair: one step for as many batches as there are pairs, then the
        /// next step.
        BreadthFirst = "breadth_first",
        /// A stream for each step, so for each engine.
        ByEngine = "by_engine",
    }
}

impl Plan {
    pub(crate) fn words(&self) -> usize {
        self.bytes / WORD_BYTES
    }

    /// Where a batch lies in the host's memory.
    pub(crate) fn place(&self, batch: usize) -> Range<usize> {
        batch * self.words()..(batch + 1) * self.words()
    }

    /// What word i of all results must be.
    pub(crate) fn result(&self) -> impl Fn(usize) -> u32 + use<> {
        let after = repeated(A, B, self.rounds);
        move |i| after(value(i))
    }

    // ANCHOR: model
    /// When the last batch is out, if each step starts as soon as the step before it is
    /// done and its engine is free. The first also waits until an earlier batch has left
    /// its pair.
    pub(crate) fn bound(&self, [upload, kernel, download]: [f64; 3]) -> f64 {
        let (mut is_in, mut computed, mut is_out) = (0f64, 0f64, 0f64);
        let mut ends = vec![0.0; self.pairs]; // of the last batch in each pair
        for batch in 0..self.batches {
            let pair = &mut ends[batch % self.pairs];
            is_in = is_in.max(*pair) + upload;
            computed = computed.max(is_in) + kernel;
            is_out = is_out.max(computed) + download;
            *pair = is_out;
        }
        is_out
    }
    // ANCHOR_END: model
}

#[cfg(test)]
mod tests {
    use super::{Memory, Order, Plan};

    const PLAN: Plan = Plan {
        host: Memory::Pinned,
        bytes: 400,
        batches: 30,
        pairs: 3,
        order: Order::DepthFirst,
        rounds: 1,
    };

    #[test]
    fn three_equal_steps_take_32_instead_of_90() {
        for (pairs, expected) in [(1, 90.0), (2, 46.0), (3, 32.0), (8, 32.0)] {
            assert_eq!(Plan { pairs, ..PLAN }.bound([1.0; 3]), expected, "{pairs}");
        }
    }

    #[test]
    fn the_longest_step_sets_the_pace() {
        for steps in [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 3.0]] {
            assert_eq!(PLAN.bound(steps), 5.0 + 29.0 * 3.0, "{steps:?}");
        }
    }

    #[test]
    fn batches_lie_behind_each_other() {
        let places: Vec<usize> =
            (0..30).flat_map(|batch| PLAN.place(batch)).collect();
        assert!(places.into_iter().eq(0..30 * PLAN.words()));
    }
}
