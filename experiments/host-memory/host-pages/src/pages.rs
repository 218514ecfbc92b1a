//! Memory in pages of one size, and how many of them there are.

use lab::Result;
use memmap2::MmapMut;

pub(crate) const SMALL_PAGE: usize = 4 << 10;
pub(crate) const HUGE_PAGE: usize = 2 << 20;

// ANCHOR: pages
/// Memory that was never touched, which will have pages of `page` bytes.
pub(crate) fn untouched(bytes: usize, page: usize) -> Result<MmapMut> {
    let memory = MmapMut::map_anon(bytes)?;
    ask_for(page, &memory)?;
    Ok(memory)
}

#[cfg(target_os = "linux")]
fn ask_for(page: usize, memory: &MmapMut) -> Result<()> {
    use memmap2::Advice::{HugePage, NoHugePage};
    Ok(memory.advise(if page == HUGE_PAGE { HugePage } else { NoHugePage })?)
}
// ANCHOR_END: pages

/// Other systems decide by themselves.
#[cfg(not(target_os = "linux"))]
fn ask_for(_page: usize, _memory: &MmapMut) -> Result<()> {
    Ok(())
}

/// Huge pages that this process has, in bytes.
pub(crate) fn huge_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/smaps_rollup");
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.unwrap_or(0) << 10
}

pub(crate) fn words(memory: &MmapMut) -> &[u32] {
    // SAFETY: any four bytes are a u32; memory that begins with a page is aligned.
    unsafe { memory.align_to().1 }
}

pub(crate) fn words_mut(memory: &mut MmapMut) -> &mut [u32] {
    // SAFETY: as above.
    unsafe { memory.align_to_mut().1 }
}
