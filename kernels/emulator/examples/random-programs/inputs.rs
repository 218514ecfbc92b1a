//! Random numbers, and numbers near an edge.

use super::THREADS;
use super::rows::{KINDS, bytes};

/// Inputs of each kind that programs choose from, for each thread.
pub(crate) const INPUTS: u64 = 64;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 8) as usize % end
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// What programs read: for each kind but predicates, [`INPUTS`] rows with a value for each
/// thread. Half of them are ordinary, and half are near an edge.
pub(crate) fn inputs() -> Vec<u8> {
    let mut random = Random(2026);
    let mut all = Vec::new();
    for kind in &KINDS[..9] {
        for _ in 0..INPUTS * THREADS {
            let bits = input(&mut random, *kind);
            all.extend_from_slice(&bits.to_le_bytes()[..bytes(*kind) as usize]);
        }
    }
    all
}

pub(crate) fn inputs_of(kind: char) -> u64 {
    let before = KINDS.iter().take_while(|other| **other != kind);
    before.map(|kind| bytes(*kind) * INPUTS * THREADS).sum()
}

pub(crate) fn input(random: &mut Random, kind: char) -> u64 {
    let bits = random.next();
    match kind {
        'h' | 'r' | 'd' => match random.below(4) {
            0 => bits,
            1 => bits % 100,
            2 => (bits % 100).wrapping_neg(),
            _ => (1u64 << (bits % (8 * bytes(kind)))).wrapping_add(bits >> 32 & 3).wrapping_sub(1),
        },
        'x' => float(random, 5, 10),
        'b' => float(random, 8, 7),
        'f' => float(random, 8, 23),
        'g' => float(random, 11, 52),
        'y' => float(random, 5, 10) << 16 | float(random, 5, 10),
        _ => float(random, 8, 7) << 16 | float(random, 8, 7),
    }
}

/// The bits of a float with so many bits of exponent and of fraction.
pub(crate) fn float(random: &mut Random, exponent: u32, fraction: u32) -> u64 {
    let bits = random.next();
    let one = (1 << (exponent - 1)) - 1;
    let sign = (bits >> 63) << (exponent + fraction);
    let mask = (1 << fraction) - 1;
    // Few bits, so that sums and products are often half way between two.
    let few = bits << (fraction - 4) & mask;
    let size = match random.below(8) {
        0 => bits & mask | (bits >> 53 & ((1 << exponent) - 1)) << fraction,
        1 => few | (one + (bits >> 50) % 4) << fraction,
        2 => few | (bits >> 40 & 1) | (one + (bits >> 50) % 30 - 15) << fraction,
        3 => bits & mask >> (bits >> 56 & 7), // below what is normal, or not far above
        4 => {
            let edges = [0, 1, mask, 1 << fraction, one << fraction, (2 * one + 1) << fraction];
            let near = [0, 0, 1, u64::MAX];
            let edge: u64 = edges[random.below(edges.len())];
            edge.saturating_add_signed(near[random.below(4)] as i64)
        }
        _ => bits & mask | (one - 4 + (bits >> 60) % 8) << fraction,
    };
    sign | size
}
