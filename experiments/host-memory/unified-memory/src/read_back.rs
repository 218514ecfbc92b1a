//! Back to the host: until it has read what a kernel wrote.

use cudarc::driver::UnifiedSlice;
use lab::check::every_element;
use lab::{Case, Ceiling, Lab, Result};

use crate::device::{Runner, plus_one, sum};
use crate::memory::{Advice, HOST, HostMemory, WORD_BYTES, managed, prefetch};
use crate::sparse::note_unmapped;

/// All words, by faults, by prefetch and by copies.
pub(crate) fn measure(lab: &mut Lab, gpu: &Runner, bytes: usize) -> Result<()> {
    let (stream, words) = (&gpu.stream, bytes / WORD_BYTES);
    let total = (0..words).map(plus_one).fold(0u32, u32::wrapping_add);
    let add = |words: &[u32]| every_element("sum", &[sum(words)], |_| total);
    let case = |kind| {
        let case = Case::new("read_back").with("kind", kind).with("bytes", bytes);
        case.writes(bytes).ceiling(Ceiling::HostLink)
    };
    for (kind, prefetches) in [("managed", false), ("prefetched", true)] {
        let new = || gpu.add_one(managed(stream, words, Advice::None)?);
        case(kind)
            .time_on_host_after(lab, new, |memory| {
                if prefetches {
                    prefetch(stream, &memory, HOST)?;
                    stream.synchronize()?;
                }
                add(memory.as_slice()?)?;
                Ok(memory)
            })?
            .check_last(|memory| every_element(kind, memory.as_slice()?, plus_one))?
            .record(lab)?;
    }

    // The same by copies, and the adding alone, of what a copy has just brought.
    let plus_ones: Vec<u32> = (0..words).map(plus_one).collect();
    let device = stream.clone_htod(&plus_ones)?;
    let copy = |target: &mut HostMemory| -> Result<()> {
        stream.memcpy_dtoh(&device, target.words()?)?;
        Ok(stream.synchronize()?)
    };
    for (kind, pinned, copies) in
        [("pinned", true, true), ("pageable", false, true), ("adding", true, false)]
    {
        let new = || {
            let mut target = HostMemory::new(stream, pinned, words)?;
            if !copies {
                copy(&mut target)?;
            }
            Ok(target)
        };
        let mut timed = case(kind).time_on_host_after(lab, new, |mut target| {
            if copies {
                copy(&mut target)?;
            }
            add(target.words()?)?;
            Ok(target)
        })?;
        let checked = every_element(kind, timed.last.words()?, plus_one)?;
        timed.checked(checked).record(lab)?;
    }
    Ok(())
}

/// One word, as the chapter's program prints it.
pub(crate) fn one_word(lab: &mut Lab, gpu: &Runner) -> Result<()> {
    const WORDS: usize = (8 << 20) / WORD_BYTES;
    const WANTED: usize = WORDS / 2;
    let case = |kind| Case::new("one_word").with("kind", kind).writes(WORD_BYTES);
    let check = |word: &[u32]| every_element("one word", word, |_| plus_one(WANTED));

    let stream = &gpu.stream;
    let new = || gpu.add_one(managed(stream, WORDS, Advice::None)?);
    case("managed")
        .time_on_host_after(lab, new, |memory: UnifiedSlice<u32>| {
            check(&memory.as_slice()?[WANTED..=WANTED])?;
            Ok(memory)
        })?
        .note(note_unmapped)?
        .checked(1)
        .record(lab)?;

    let device = stream.clone_htod(&vec![plus_one(WANTED); WORDS])?;
    case("copy")
        .time_on_host(lab, || {
            let word = stream.clone_dtoh(&device.slice(WANTED..=WANTED))?;
            stream.synchronize()?;
            check(&word)
        })?
        .checked(1)
        .record(lab)
}
