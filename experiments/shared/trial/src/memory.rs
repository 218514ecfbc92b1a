//! New memory of the host is filled with bytes that lead nowhere as an address. So what a learner
//! forgets to write, or to pass to a launch, shows, and in each run.

use std::alloc::{GlobalAlloc, Layout, System};

/// Neither an address, nor a number that a result may well have.
const FILL: u8 = 0xA5;
/// Bytes that are filled behind what is asked for: a launch that passes too few parameters has the
/// driver read there.
const BEHIND: usize = 16;

#[global_allocator]
static FILLED: Filled = Filled;

struct Filled;

fn with_more(layout: Layout) -> Option<Layout> {
    Layout::from_size_align(layout.size().checked_add(BEHIND)?, layout.align()).ok()
}

// SAFETY: memory is the system's, more of it than is asked for, and goes back as it came.
unsafe impl GlobalAlloc for Filled {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(layout) = with_more(layout) else { return std::ptr::null_mut() };
        // SAFETY: there are `BEHIND` bytes at least; and what is filled was just allocated.
        unsafe {
            let start = System.alloc(layout);
            if !start.is_null() {
                start.write_bytes(FILL, layout.size());
            }
            start
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let Some(layout) = with_more(layout) else { return };
        // SAFETY: `alloc` got it with this layout.
        unsafe { System.dealloc(start, layout) };
    }
}
