//! More than the GPU has: the driver has to make room by moving pages out.

use lab::{Case, Lab, Result};

use crate::device::{Places, Runner};
use crate::memory::WORD_BYTES;

/// The environment variable that asks for it. It can hang the GPU for all who use it.
const OVERSUBSCRIBE: &str = "WORKBOOK_OVERSUBSCRIBE";
const YES: &str = "yes";

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Runner, piece: usize) -> Result<()> {
    let words = lab.free_bytes()? / 4 * 5 / WORD_BYTES;
    let bytes = words * WORD_BYTES;
    let case = Case::new("oversubscribed").with("bytes", bytes);
    if std::env::var_os(OVERSUBSCRIBE).is_none_or(|value| value != YES) {
        let reason =
            format!("can hang the GPU; {OVERSUBSCRIBE}={YES} runs it all the same");
        lab.skip(case, reason);
        return Ok(());
    }
    // SAFETY: every word is cleared below, and any bits are a u32.
    let mut memory = unsafe { lab.context().alloc_unified(words, true) }?;
    gpu.stream.memset_zeros(&mut memory)?;
    let mut passes = 0;
    let timed = case.reads(bytes).writes(bytes).time_on_host(lab, || {
        passes += 1;
        gpu.add_one(memory.as_view())
    })?;
    // The host might not have the memory to read all of it, so the GPU does, in pieces.
    let mut checked = 0;
    for first in (0..words).step_by(piece) {
        let places = Places { count: piece.min(words - first), stride: 1 };
        gpu.read(memory.slice(first..first + places.count), places)?;
        checked += gpu.check(places, |_| passes)?;
    }
    timed.checked(checked).record(lab)
}
