//! What the tests of this crate share.

/// Bytes that do not repeat in step with chunks or slots.
pub(crate) fn value(i: usize) -> u8 {
    ((i as u32).wrapping_mul(2_654_435_761) >> 24) as u8
}
