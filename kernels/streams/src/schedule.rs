//! Which work happens that nobody waits for yet.
//!
//! None, unless a seed is set. With a seed, at every call and between any two pieces of
//! work, some that could run does run, as a pseudo-random generator decides. Real hardware
//! may follow any of these schedules. The same seed and the same calls give the same
//! schedule, as long as no host functions run.

use crate::queue::Queues;

/// A schedule: the state of the generator, if there is a seed.
pub struct Schedule(Option<u64>);

impl Schedule {
    /// The schedule of a seed.
    pub fn new(seed: Option<u64>) -> Schedule {
        Schedule(seed.map(|seed| seed.wrapping_mul(2).wrapping_add(1)))
    }

    /// The queue whose first piece of work happens now, if any does: every second time, on
    /// average, one that could.
    pub fn next<W>(&mut self, queues: &Queues<W>) -> Option<u32> {
        self.number().filter(|number| number & 1 == 0)?;
        let (ready, number) = (queues.ready(), self.number()? as usize);
        ready.get(number.checked_rem(ready.len())?).copied()
    }

    /// The next number of a generator that is small and good enough (splitmix64).
    fn number(&mut self) -> Option<u64> {
        let state = self.0.as_mut()?;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some((z ^ (z >> 31)) >> 8)
    }
}
