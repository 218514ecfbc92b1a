//! What the tests of this crate share.

#[path = "../../../lab/tests/driver/process.rs"]
mod process;
#[path = "../../../lab/tests/driver/stand_in.rs"]
mod stand_in;

pub(crate) use process::under_the_stand_in;

/// Bytes that do not repeat in step with chunks or slots.
pub(crate) fn value(i: usize) -> u8 {
    ((i as u32).wrapping_mul(2_654_435_761) >> 24) as u8
}
