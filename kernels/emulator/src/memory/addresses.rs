//! Which addresses buffers get, and which were freed lately.

use std::collections::VecDeque;

/// Every buffer starts at a multiple of it, as NVIDIA's driver has it.
const ALIGNMENT: u64 = 512;
/// Between two buffers at least this much belongs to nobody.
const GAP: u64 = 4096;
/// How many freed buffers are remembered, to tell a use after free.
const REMEMBERED: usize = 4096;

/// Addresses for buffers, each given out once, so that a use after free is found.
#[derive(Debug)]
pub struct Addresses {
    next: u64,
}

impl Addresses {
    /// Where the first buffer lies, unless somebody chooses. Below are the windows of shared and
    /// local memory, and nothing that a process of the host would use is above in its first
    /// terabytes.
    pub const FIRST: u64 = 0x1000_0000_0000;

    /// Addresses from `first` on.
    pub fn from(first: u64) -> Self {
        Self { next: first.next_multiple_of(ALIGNMENT) }
    }

    /// The address of a new buffer of so many bytes.
    pub fn take(&mut self, bytes: u64) -> u64 {
        let address = self.next;
        self.next = (address + bytes + GAP).next_multiple_of(ALIGNMENT);
        address
    }
}

/// Buffers that were freed lately.
#[derive(Debug, Default)]
pub struct Freed {
    /// First address, size, and what to say of it.
    buffers: VecDeque<(u64, u64, String)>,
}

impl Freed {
    /// Remembers a buffer by what is to be said of it.
    pub fn remember(&mut self, address: u64, bytes: u64, said: String) {
        if self.buffers.len() == REMEMBERED {
            self.buffers.pop_front();
        }
        self.buffers.push_back((address, bytes, said));
    }

    /// Forgets what was where a new buffer is.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes.max(1));
        self.buffers.retain(|(start, bytes, _)| start + bytes <= address || *start >= end);
    }

    /// What is to be said of the last buffer that had this address.
    pub fn at(&self, address: u64) -> Option<&str> {
        let holds = |start: u64, bytes: u64| address >= start && address - start < bytes.max(1);
        let mut buffers = self.buffers.iter().rev();
        let (.., said) = buffers.find(|(start, bytes, _)| holds(*start, *bytes))?;
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_given_out_twice() {
        let mut addresses = Addresses::from(1000);
        assert_eq!(
            [0, 1, 100_000, 1].map(|bytes| addresses.take(bytes)),
            [1024, 5120, 9728, 114_176]
        );
    }

    #[test]
    fn what_was_freed_is_told_until_something_else_is_there() {
        let mut freed = Freed::default();
        freed.remember(1000, 100, "first".to_owned());
        freed.remember(1000, 10, "second".to_owned());
        assert_eq!(
            [999, 1009, 1010, 1100].map(|at| freed.at(at)),
            [None, Some("second"), Some("first"), None]
        );
        freed.forget(1010, 1);
        assert_eq!([1009, 1010].map(|at| freed.at(at)), [Some("second"), None]);
    }
}
