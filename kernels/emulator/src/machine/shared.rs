//! The shared memory of a block, and who has accessed it since the last barrier.

use crate::WARP;
use crate::access::{active, contiguous};
use crate::memory::{Bits, copy};

/// A thread that cannot be.
const NOBODY: u16 = 0x7fff;
/// Beside a writer: the write was atomic or volatile. Beside a reader: others read, too.
const MARK: u16 = 0x8000;

/// Who has accessed a word, or a part of one. Small, because there are many.
#[derive(Clone, Copy, Debug)]
struct Trace {
    /// Barriers that had been passed before the last write and the last read.
    written: u16,
    read: u16,
    writer: u16,
    /// The first thread that read since the last barrier.
    reader: u16,
}

const UNTOUCHED: Trace =
    Trace { written: 0, read: 0, writer: NOBODY, reader: NOBODY };

/// An access that does not wait for another of the same word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    /// The other thread. None, if it is one of several warps.
    pub(crate) thread: Option<u16>,
    /// Whether the other has written.
    pub(crate) wrote: bool,
}

/// How a thread accesses a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) thread: u16,
    pub(crate) writes: bool,
    /// Atomic or volatile: two such accesses do not race.
    pub(crate) strong: bool,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: Bits,
    traces: Vec<Trace>,
    /// Bytes that are traced together: 2 to the power of this.
    granule_bits: u32,
    /// Barriers passed, since the traces were last wiped out.
    epoch: u16,
}

impl Shared {
    /// `granule`: the bytes that are traced together, if races are looked for.
    pub(crate) fn new(bytes: usize, granule: Option<u32>) -> Self {
        let traced = granule.map_or(0, |granule| bytes.div_ceil(granule as usize));
        Self {
            bytes: vec![0; bytes],
            written: Bits::new(bytes as u64),
            traces: vec![UNTOUCHED; traced],
            granule_bits: granule.map_or(2, u32::trailing_zeros),
            epoch: 1,
        }
    }

    /// For the next block.
    pub(crate) fn clear(&mut self) {
        self.bytes.fill(0);
        self.written.clear_all(self.bytes.len() as u64);
        self.pass_barrier();
    }

    /// What came before has happened for all that comes now.
    pub(crate) fn pass_barrier(&mut self) {
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            self.traces.fill(UNTOUCHED);
            1
        });
    }

    pub(crate) fn holds(&self, address: u64, bytes: usize) -> bool {
        let end = address.checked_add(bytes as u64);
        end.is_some_and(|end| end <= self.bytes.len() as u64)
    }

    /// Do all lanes access the block's memory, and what was written?
    pub(crate) fn is_fine(
        &self,
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        must_be_written: bool,
    ) -> bool {
        let written = |address| {
            !must_be_written
                || self.written.first_unset(address, bytes as u64).is_none()
        };
        let last = match lanes {
            u32::MAX => addresses.iter().copied().fold(0, u64::max),
            some => active(some).fold(0, |last, lane| last.max(addresses[lane])),
        };
        self.holds(last, bytes)
            && (self.written.all()
                || active(lanes).all(|lane| written(addresses[lane])))
    }

    /// Notes an access of a warp, whose first thread is given. If a lane's access races
    /// with another, tells which and with which.
    pub(crate) fn touch_lanes(
        &mut self,
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        first: Touch,
    ) -> Option<(usize, Race)> {
        if self.traces.is_empty() {
            return None;
        }
        let mut last = None;
        active(lanes).find_map(|lane| {
            // Lanes that read the same leave the same trace.
            let address = addresses[lane];
            if last == Some(address) && !first.writes {
                return None;
            }
            last = Some(address);
            let touch = Touch { thread: first.thread + lane as u16, ..first };
            Some((lane, self.touch(address, bytes, touch)?))
        })
    }

    /// Copies what lanes read, one after the other. They must be [fine](Self::is_fine).
    pub(crate) fn read_lanes(
        &self,
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        into: &mut [u8],
    ) {
        fn each<const BYTES: usize>(
            from: &[u8],
            addresses: &[u64; WARP],
            lanes: u32,
            into: &mut [u8],
        ) {
            let into = into.as_chunks_mut::<BYTES>().0;
            for lane in active(lanes) {
                let start = addresses[lane] as usize;
                into[lane].copy_from_slice(&from[start..start + BYTES]);
            }
        }
        let from = &self.bytes;
        if lanes == u32::MAX && contiguous(addresses, bytes as u64) {
            let (start, all) = (addresses[0] as usize, bytes * WARP);
            copy(&mut into[..all], &from[start..start + all]);
            return;
        }
        match bytes {
            4 => each::<4>(from, addresses, lanes, into),
            8 => each::<8>(from, addresses, lanes, into),
            16 => each::<16>(from, addresses, lanes, into),
            _ => {
                for lane in active(lanes) {
                    let start = addresses[lane] as usize;
                    into[lane * bytes..][..bytes]
                        .copy_from_slice(&from[start..start + bytes]);
                }
            }
        }
    }

    /// Copies what lanes write. They must be [fine](Self::is_fine).
    pub(crate) fn write_lanes(
        &mut self,
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        from: &[u8],
    ) {
        if lanes == u32::MAX && contiguous(addresses, bytes as u64) {
            let start = addresses[0] as usize;
            let all = bytes * WARP;
            copy(&mut self.bytes[start..start + all], &from[..all]);
            self.written.set(addresses[0], all as u64);
            return;
        }
        for lane in active(lanes) {
            let start = addresses[lane] as usize;
            let from = &from[lane * bytes..][..bytes];
            let into = &mut self.bytes[start..start + bytes];
            match bytes {
                4 => into[..4].copy_from_slice(&from[..4]),
                16 => into[..16].copy_from_slice(&from[..16]),
                _ => into.copy_from_slice(from),
            }
        }
        if !self.written.all() {
            for lane in active(lanes) {
                self.written.set(addresses[lane], bytes as u64);
            }
        }
    }

    /// Notes an access. If it races with another, tells with which.
    #[inline(always)]
    pub(crate) fn touch(
        &mut self,
        address: u64,
        bytes: usize,
        touch: Touch,
    ) -> Option<Race> {
        if self.traces.is_empty() {
            return None;
        }
        let first = (address >> self.granule_bits) as usize;
        let count = (bytes >> self.granule_bits).max(1);
        let epoch = self.epoch;
        let traces = &mut self.traces[first..first + count];
        traces.iter_mut().find_map(|trace| trace.touch(epoch, touch))
    }
}

impl Trace {
    #[inline(always)]
    fn touch(&mut self, epoch: u16, touch: Touch) -> Option<Race> {
        let Touch { thread, writes, strong } = touch;
        let other_warp = |other: u16| (other & !MARK) / 32 != thread / 32;
        if self.written == epoch
            && other_warp(self.writer)
            && !(strong && self.writer & MARK != 0)
        {
            return Some(Race { thread: Some(self.writer & !MARK), wrote: true });
        }
        if writes {
            if self.read == epoch {
                if other_warp(self.reader) {
                    let thread = Some(self.reader & !MARK);
                    return Some(Race { thread, wrote: false });
                }
                if self.reader & MARK != 0 {
                    return Some(Race { thread: None, wrote: false });
                }
            }
            self.written = epoch;
            self.writer = if strong { thread | MARK } else { thread };
        } else if !strong {
            if self.read != epoch {
                (self.read, self.reader) = (epoch, thread);
            } else if other_warp(self.reader) {
                self.reader |= MARK;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(thread: u16, writes: bool, strong: bool) -> Touch {
        Touch { thread, writes, strong }
    }

    #[test]
    fn a_write_and_a_read_of_different_warps_race() {
        let mut shared = Shared::new(64, Some(4));
        assert_eq!(shared.touch(8, 4, touch(0, true, false)), None);
        assert_eq!(shared.touch(8, 4, touch(31, false, false)), None);
        let race = Race { thread: Some(0), wrote: true };
        assert_eq!(shared.touch(8, 4, touch(32, false, false)), Some(race));
        shared.pass_barrier();
        assert_eq!(shared.touch(8, 4, touch(32, false, false)), None);
        let race = Race { thread: Some(32), wrote: false };
        assert_eq!(shared.touch(8, 4, touch(64, true, false)), Some(race));
    }

    #[test]
    fn the_second_reader_is_not_forgotten() {
        let mut shared = Shared::new(64, Some(4));
        assert_eq!(shared.touch(0, 16, touch(0, false, false)), None);
        assert_eq!(shared.touch(0, 16, touch(40, false, false)), None);
        let race = Race { thread: None, wrote: false };
        assert_eq!(shared.touch(12, 4, touch(0, true, false)), Some(race));
    }

    #[test]
    fn atomics_race_with_others_only() {
        let mut shared = Shared::new(64, Some(4));
        assert_eq!(shared.touch(0, 4, touch(0, true, true)), None);
        assert_eq!(shared.touch(0, 4, touch(32, true, true)), None);
        assert!(shared.touch(0, 4, touch(64, false, false)).is_some());
    }
}
