//! One bit for each byte of a buffer: was it written?

use std::collections::BTreeMap;
use std::ops::Range;

/// Which bytes were written.
#[derive(Debug)]
pub(crate) struct Bits {
    bytes: u64,
    words: Vec<u64>,
    /// How many bytes were not written yet. Mostly none: then there is nothing to look up.
    missing: u64,
    /// Of bytes that do not count as written, because some bits were not: those that were.
    parts: BTreeMap<u64, u8>,
}

impl Bits {
    pub(crate) fn new(bytes: u64) -> Self {
        let words = vec![0; bytes.div_ceil(64) as usize];
        Self { bytes, words, missing: bytes, parts: BTreeMap::new() }
    }

    /// Was everything written?
    pub(crate) fn all(&self) -> bool {
        self.missing == 0
    }

    /// Was anything written?
    pub(crate) fn any(&self) -> bool {
        self.missing < self.bytes || !self.parts.is_empty()
    }

    /// Notes that nothing was written.
    pub(crate) fn clear_all(&mut self) {
        self.words.fill(0);
        self.missing = self.bytes;
        self.parts.clear();
    }

    /// Notes that a range was written.
    #[inline]
    pub(crate) fn set(&mut self, start: u64, bytes: u64) {
        if self.missing == 0 {
            return;
        }
        if let Some((word, mask)) = in_one_word(start, bytes) {
            let word = &mut self.words[word];
            let new = mask & !*word;
            // Counting bits takes long where there is no instruction for it.
            self.missing -= if new == mask { bytes } else { new.count_ones().into() };
            *word |= mask;
            return;
        }
        self.set_words(start, bytes);
    }

    fn set_words(&mut self, start: u64, bytes: u64) {
        for (word, mask) in masks(start, bytes) {
            self.missing -= u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
        }
    }

    /// Notes that a range was not written.
    pub(crate) fn clear(&mut self, start: u64, bytes: u64) {
        for (word, mask) in masks(start, bytes) {
            self.missing += u64::from((mask & self.words[word]).count_ones());
            self.words[word] &= !mask;
        }
        self.parts.retain(|byte, _| !(start..start + bytes).contains(byte));
    }

    /// Notes that these bits of a byte were not written, and the others were.
    pub(crate) fn forget(&mut self, byte: u64, bits: u8) {
        self.clear(byte, 1);
        if bits != u8::MAX {
            self.parts.insert(byte, !bits);
        }
    }

    /// The bits of a byte that were not written.
    pub(crate) fn unknown(&self, byte: u64) -> u8 {
        match self.first_unset(byte, 1) {
            None => 0,
            Some(_) => !self.parts.get(&byte).copied().unwrap_or(0),
        }
    }

    /// The first byte of a range that was not written.
    #[inline]
    pub(crate) fn first_unset(&self, start: u64, bytes: u64) -> Option<u64> {
        if self.missing == 0 {
            return None;
        }
        if let Some((word, mask)) = in_one_word(start, bytes)
            && self.words[word] & mask == mask
        {
            return None;
        }
        self.first_unset_of_words(start, bytes)
    }

    fn first_unset_of_words(&self, start: u64, bytes: u64) -> Option<u64> {
        masks(start, bytes).find_map(|(word, mask)| {
            let unset = mask & !self.words[word];
            (unset != 0).then(|| word as u64 * 64 + u64::from(unset.trailing_zeros()))
        })
    }

    /// The parts of a range that were not written: offsets from its start, and sizes.
    pub(crate) fn gaps(&self, start: u64, bytes: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::<(u64, u64)>::new();
        if self.missing == 0 {
            return gaps;
        }
        for (word, mask) in masks(start, bytes) {
            let mut unset = mask & !self.words[word];
            while unset != 0 {
                let bit = u64::from(unset.trailing_zeros());
                let run = u64::from((!(unset >> bit)).trailing_zeros()).min(64 - bit);
                let offset = word as u64 * 64 + bit - start;
                match gaps.last_mut() {
                    Some((last, size)) if *last + *size == offset => *size += run,
                    _ => gaps.push((offset, run)),
                }
                let taken = if run == 64 { u64::MAX } else { ((1 << run) - 1) << bit };
                unset &= !taken;
            }
        }
        gaps
    }

    /// The parts of all `bytes` that were written.
    pub(crate) fn ranges(&self, bytes: u64) -> Vec<Range<u64>> {
        let gaps = self.gaps(0, bytes);
        let starts = gaps.iter().map(|(start, size)| start + size);
        let ends = gaps.iter().map(|(start, _)| *start).chain([bytes]);
        let ranges = [0].into_iter().chain(starts).zip(ends);
        ranges.map(|(start, end)| start..end).filter(|r| !r.is_empty()).collect()
    }
}

/// The word and the bits of a range that lies in one word, as almost all do that one lane
/// accesses.
#[inline(always)]
fn in_one_word(start: u64, bytes: u64) -> Option<(usize, u64)> {
    let bit = start % 64;
    let fits = bytes > 0 && bit + bytes <= 64;
    fits.then(|| ((start / 64) as usize, (u64::MAX >> (64 - bytes)) << bit))
}

/// The words of a range, each with the bits that belong to it.
fn masks(start: u64, bytes: u64) -> impl Iterator<Item = (usize, u64)> {
    let end = start + bytes;
    (start / 64..end.div_ceil(64)).map(move |word| {
        let low = start.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word as usize, (u64::MAX >> (64 - (high - low))) << low)
    })
}
