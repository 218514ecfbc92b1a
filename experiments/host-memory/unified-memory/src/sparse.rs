//! How much one fault moves: the kernel reads one word here, one word there. What has
//! moved is missing from the host's page table.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use cudarc::driver::UnifiedSlice;
use lab::check::value;
use lab::{Case, Lab, Result};

use crate::device::{Places, Runner};
use crate::memory::{Advice, WORD_BYTES, managed};

pub(crate) const PAGE: usize = 4096;

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Runner, bytes: usize) -> Result<()> {
    const ALL: usize = usize::MAX;
    let stream = gpu.stream.clone();
    for (advice, stride_bytes, step) in [
        (Advice::None, 4 << 10, 4),
        (Advice::None, 64 << 10, 4),
        (Advice::None, 2 << 20, 2),
        (Advice::None, 128 << 10, ALL),
        (Advice::AccessedBy, 2 << 20, ALL),
    ] {
        // As many words as fit, then a step-th of them, and so on.
        let stride = stride_bytes / WORD_BYTES;
        let mut count = bytes / stride_bytes;
        while count > 0 {
            let places = Places { count, stride };
            let new = || managed(&stream, count * stride, advice);
            places
                .case("sparse", advice)
                .time_on_host_after(lab, new, |memory| gpu.read(memory, places))?
                .note(note_unmapped)?
                .check_last(|_| gpu.check(places, value))?
                .record(lab)?;
            count /= step;
        }
    }
    Ok(())
}

/// Notes with a case how much of the memory is missing, if the system tells.
pub(crate) fn note_unmapped(case: Case, memory: &UnifiedSlice<u32>) -> Result<Case> {
    Ok(match unmapped_bytes(memory.as_slice()?) {
        Ok(bytes) => case.model("unmapped_bytes", bytes as f64),
        Err(_) => case,
    })
}

// ANCHOR: unmapped
/// How much of `words` is missing from this process' page table, as Linux tells it: 8
/// bytes for each page of 4 KiB, of which the highest bit says that it is there.
fn unmapped_bytes(words: &[u32]) -> std::io::Result<usize> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(ErrorKind::Unsupported.into()); // on ARM pages may have another size
    }
    let mut table = File::open("/proc/self/pagemap")?;
    table.seek(SeekFrom::Start(words.as_ptr() as u64 / PAGE as u64 * 8))?;
    let mut entries = vec![0u8; size_of_val(words) / PAGE * 8];
    table.read_exact(&mut entries)?;
    let missing = entries.chunks_exact(8).filter(|entry| entry[7] < 0x80);
    Ok(missing.count() * PAGE)
}
// ANCHOR_END: unmapped
