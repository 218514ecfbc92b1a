//! Memory of the host's that the driver gives out, or that a program made known to it.

use std::alloc::{Layout, alloc_zeroed, dealloc};

use emulator::HostMemory;

/// Host memory is given out in whole pages.
const PAGE: usize = 4096;

/// A range of the host's memory.
#[derive(Debug)]
pub(crate) struct HostRange {
    start: usize,
    bytes: usize,
    /// Set if the driver allocated it, and has to free it.
    layout: Option<Layout>,
}

impl HostRange {
    /// New memory, all zero. `None`: the host has none left.
    pub(crate) fn allocate(bytes: usize) -> Option<HostRange> {
        let layout = Layout::from_size_align(bytes.max(1), PAGE).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) } as usize;
        (start != 0).then_some(HostRange { start, bytes, layout: Some(layout) })
    }

    /// Memory that belongs to the program, which promises by registering it that it
    /// stays there until it is unregistered.
    pub(crate) fn of_program(start: usize, bytes: usize) -> HostRange {
        HostRange { start, bytes, layout: None }
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// How kernels reach it. What is returned must not outlive `self`: the driver unmaps
    /// a range before it drops it.
    pub(crate) fn mapping(&self) -> Box<dyn HostMemory> {
        Box::new(Mapping { start: self.start, bytes: self.bytes })
    }
}

/// Whether a number may be an address of the program's: neither in the first page, as null and
/// small numbers are, nor with bits that no system's addresses have.
pub(crate) fn may_be_address(number: usize) -> bool {
    number >= PAGE && number as u64 >> 56 == 0
}

/// Whether all of a range is memory that the program has. True if the system does not tell: of
/// those that it runs on, Linux does. (Wine shows the file of another process.)
pub(crate) fn is_mapped(start: usize, bytes: usize) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
    let mut missing = start..start.saturating_add(bytes);
    // In order, such as `7f0aa000-7f0ac000 rw-p …`.
    for line in maps.lines() {
        let Some((range, rights)) = line.split_once(' ') else { continue };
        let Some((first, end)) = range.split_once('-') else { continue };
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        if (number(first)..number(end)).contains(&missing.start) && rights.starts_with('r') {
            missing.start = number(end);
        }
    }
    missing.is_empty()
}

impl Drop for HostRange {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: `allocate` got it with this layout, and nothing maps it any more.
            unsafe { dealloc(self.start as *mut u8, layout) };
        }
    }
}

#[derive(Debug)]
struct Mapping {
    start: usize,
    bytes: usize,
}

impl HostMemory for Mapping {
    fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    fn read(&self, offset: u64, into: &mut [u8]) {
        // SAFETY: the emulator asks for ranges inside, and the range lives (`mapping`).
        unsafe { read(self.start + offset as usize, into) };
    }

    fn write(&mut self, offset: u64, from: &[u8]) {
        // SAFETY: as above.
        unsafe { write(self.start + offset as usize, from) };
    }
}

/// Copies out of the host's memory.
///
/// # Safety
///
/// So many bytes from `start` on can be read.
pub(crate) unsafe fn read(start: usize, into: &mut [u8]) {
    // SAFETY: as the caller promises. It is no reference, because the program has its own; and
    // what that has freed may be ours by now.
    unsafe {
        std::ptr::copy(start as *const u8, into.as_mut_ptr(), into.len());
    }
}

/// Copies into the host's memory.
///
/// # Safety
///
/// So many bytes from `start` on can be written.
pub(crate) unsafe fn write(start: usize, from: &[u8]) {
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy(from.as_ptr(), start as *mut u8, from.len()) };
}
