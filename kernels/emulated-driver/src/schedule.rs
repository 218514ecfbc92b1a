//! Which work happens that nobody waits for yet.
//!
//! None, unless a seed is set. With a seed, at every call and between any two pieces of
//! work, some that could run does run, as a pseudo-random generator decides. Real hardware
//! may follow any of these schedules. The same seed and the same calls give the same
//! schedule, as long as no host functions run.

/// Environment variable: the seed.
const SEED: &str = "WORKBOOK_EMULATED_SCHEDULE";

/// A schedule: the state of the generator, if there is a seed.
pub(crate) struct Schedule(Option<u64>);

impl Schedule {
    pub(crate) fn of_environment() -> Schedule {
        let seed = std::env::var(SEED).ok().and_then(|text| text.trim().parse().ok());
        Schedule(seed.map(|seed: u64| seed.wrapping_mul(2).wrapping_add(1)))
    }

    /// Whether work strays now: every second time, on average.
    pub(crate) fn strays(&mut self) -> bool {
        self.number().is_some_and(|number| number & 1 == 0)
    }

    /// One of the queues.
    pub(crate) fn choose(&mut self, queues: &[u32]) -> Option<u32> {
        let number = self.number()? as usize;
        queues.get(number.checked_rem(queues.len())?).copied()
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
