//! Finding a program that touches memory which a queued copy still uses.
//!
//! A copy with pinned memory happens when its stream gets there. What is in that memory is
//! noted when the copy is queued, and looked at again when its turn comes. If it has
//! changed, and no work of the driver's was done meanwhile that might have written there,
//! then the program has. (A program that only reads too early cannot be seen.)

use crate::host;

/// What was in a range of the host's memory when a copy with it was queued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    start: usize,
    bytes: usize,
    content: u64,
    /// How much work that may write to the host's memory had been done.
    writes: u64,
}

impl Noted {
    /// # Safety
    ///
    /// So many bytes from `start` on can be read, now and when the copy is made.
    pub(crate) unsafe fn new(start: usize, bytes: usize, writes: u64) -> Noted {
        // SAFETY: as the caller promises.
        let content = unsafe { digest(start, bytes) };
        Noted { start, bytes, content, writes }
    }

    /// Where it is, and how many bytes.
    pub(crate) fn range(&self) -> (usize, usize) {
        (self.start, self.bytes)
    }

    /// Whether something else is in the range now.
    ///
    /// # Safety
    ///
    /// The range can be read.
    pub(crate) unsafe fn differs(&self) -> bool {
        // SAFETY: as the caller promises.
        unsafe { digest(self.start, self.bytes) != self.content }
    }

    /// Whether the program has changed the range since. `writes` is as for [`Noted::new`].
    pub(crate) fn has_changed(&self, writes: u64) -> bool {
        // SAFETY: as the caller of `new` has promised.
        writes == self.writes && unsafe { self.differs() }
    }
}

/// A number that other bytes would hardly have.
///
/// # Safety
///
/// So many bytes from `start` on can be read.
unsafe fn digest(start: usize, bytes: usize) -> u64 {
    const PIECE: usize = 4096;
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut digest = bytes as u64;
    let mut piece = [0; PIECE];
    for offset in (0..bytes).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(bytes - offset)];
        // SAFETY: as the caller promises.
        unsafe { host::read(start + offset, piece) };
        let (words, rest) = piece.as_chunks();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for word in words.iter().chain([&last]) {
            let word = u64::from_le_bytes(*word);
            digest = (digest.rotate_left(29) ^ word).wrapping_mul(FACTOR);
        }
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_unless_work_may_have_made_it() {
        let mut words = vec![7u32; 10_001];
        let start = words.as_mut_ptr() as usize;
        // SAFETY: the vector stays where it is.
        let noted = unsafe { Noted::new(start, 40_004, 3) };
        assert!(!noted.has_changed(3));
        words[10_000] = 8;
        assert!(noted.has_changed(3) && !noted.has_changed(4));
    }
}
