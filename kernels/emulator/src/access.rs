//! What one request of a warp costs: the 32-byte sectors of global memory that it
//! touches, and the wavefronts in which shared memory serves it.
//!
//! A request is described by a closure that tells at which address each lane's access
//! starts, `None` for a lane that is not active, and by the bytes that every lane
//! accesses. The executor counts with the same code.
//!
//! ```
//! use emulator::access;
//!
//! // Lane l reads element 2 l of an array of floats: half of every sector is not used.
//! let sectors = access::sectors(|lane| Some(8 * lane as u64), 4);
//! assert_eq!((sectors.sectors, sectors.ideal), (8, 4));
//!
//! // A column of a tile of 32 × 32 floats: all lanes want the same bank.
//! let wavefronts = access::load_wavefronts(|lane| Some(128 * lane as u64), 4);
//! assert_eq!((wavefronts.wavefronts, wavefronts.ideal), (32, 1));
//! ```

use crate::WARP;
use crate::counts::{Sectors, Wavefronts};

/// Bytes of a sector, the unit in which global memory is read and written.
pub const SECTOR_BYTES: u64 = 32;
/// Banks of shared memory. In one wavefront each gives one word.
pub const BANKS: usize = 32;
/// Bytes of a word of shared memory.
pub const WORD_BYTES: u64 = 4;

/// Counts the sectors of one request to global memory. A request in which no lane is
/// active does not happen: it counts nothing.
///
/// `address_of` gives the address of a lane's first byte; the lane accesses `bytes` bytes
/// from there on. `ideal` is the number of sectors that the accessed bytes would fill if
/// they lay side by side.
pub fn sectors(address_of: impl FnMut(usize) -> Option<u64>, bytes: u64) -> Sectors {
    let (addresses, mask) = lanes(address_of);
    sectors_of(Places::new(&addresses, mask), bytes)
}

/// Counts the wavefronts of one load from shared memory: 4 bytes or less for each lane, 8,
/// or 16. Other widths do not exist there.
///
/// One wavefront gives one word of each bank. Accesses of 8 bytes are served for half a
/// warp at a time, and of 16 for a quarter; or for twice as many lanes if every lane
/// shares its element with the lane beside it, or every lane with the lane two away. A
/// lane that is not active shares with anyone. `ideal` is what Nsight Compute takes for it: as
/// many wavefronts as the words of all active lanes fill, or fewer if it takes fewer.
pub fn load_wavefronts(address_of: impl FnMut(usize) -> Option<u64>, bytes: u64) -> Wavefronts {
    let (addresses, mask) = lanes(address_of);
    wavefronts_of(Places::new(&addresses, mask), bytes, false)
}

/// The same for a store. Lanes that store to the same element are served together only
/// where they are in the same half or quarter of the warp.
pub fn store_wavefronts(address_of: impl FnMut(usize) -> Option<u64>, bytes: u64) -> Wavefronts {
    let (addresses, mask) = lanes(address_of);
    wavefronts_of(Places::new(&addresses, mask), bytes, true)
}

/// In which wavefront each lane is served, from 0 on: the lanes of a request as
/// [`load_wavefronts`] and [`store_wavefronts`] count them; `None` for one that takes no part.
/// The hardware does not say in which order it takes those that meet in a bank; here the lower
/// addresses come first.
pub fn served(
    address_of: impl FnMut(usize) -> Option<u64>,
    bytes: u64,
    stores: bool,
) -> [Option<u64>; WARP] {
    let (addresses, mask) = lanes(address_of);
    let words = bytes.div_ceil(WORD_BYTES).max(1);
    let groups = groups(&addresses, mask, bytes, stores);
    let (mut served, mut before) = ([None; WARP], 0);
    for group in 0..groups {
        let members = || active(mask).filter(|lane| lane * groups / WARP == group);
        let mut starts: Vec<u64> = members().map(|lane| addresses[lane] / WORD_BYTES).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut in_bank = [0; BANKS];
        for start in starts {
            let banks = (start..start + words).map(|word| word as usize % BANKS);
            let turn = banks.clone().map(|bank| in_bank[bank]).max().unwrap_or(0);
            banks.for_each(|bank| in_bank[bank] += 1);
            let same = members().filter(|lane| addresses[*lane] / WORD_BYTES == start);
            same.for_each(|lane| served[lane] = Some(before + turn));
        }
        before += in_bank.iter().max().copied().unwrap_or(0);
    }
    served
}

/// How many groups of lanes are served one after the other.
fn groups(addresses: &[u64; WARP], mask: u32, bytes: u64, stores: bool) -> usize {
    let groups = bytes.div_ceil(WORD_BYTES).max(1) as usize;
    let share = || shared(addresses, mask, 1) || shared(addresses, mask, 2);
    if groups > 1 && !stores && share() { groups / 2 } else { groups }
}

/// Where lanes of a warp access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) addresses: &'a [u64; WARP],
    /// Those that take part.
    pub(crate) lanes: u32,
    /// How far each lane is behind the one before it, if all take part and that is always the
    /// same, as it mostly is. Less than 2³¹, so that no address is beyond those of the first and
    /// the last lane.
    pub(crate) step: Option<i64>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(addresses: &'a [u64; WARP], lanes: u32) -> Self {
        let first = addresses[0];
        let step = addresses[1].wrapping_sub(first);
        let is_last = || addresses[WARP - 1] == first.wrapping_add(step.wrapping_mul(31));
        let others = || {
            let place = |lane: usize| first.wrapping_add(step.wrapping_mul(lane as u64));
            (0..WARP).fold(0, |apart, lane| apart | addresses[lane] ^ place(lane))
        };
        let is_small = step.wrapping_add(1 << 31) < 1 << 32;
        let is_step = lanes == u32::MAX && is_small && is_last() && others() == 0;
        Self { addresses, lanes, step: is_step.then_some(step as i64) }
    }

    /// Does each lane start where the lane before it ends?
    pub(crate) fn is_row(&self, bytes: usize) -> bool {
        self.step == Some(bytes as i64)
    }

    /// Lanes of which each other accesses what one of these does.
    pub(crate) fn distinct(&self) -> impl Iterator<Item = usize> {
        active(if self.is_row(0) { 1 } else { self.lanes })
    }

    /// Addresses of which none is beyond: all, or two.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = u64> {
        let lanes = if self.step.is_some() { 1 | 1 << (WARP - 1) } else { self.lanes };
        active(lanes).map(|lane| self.addresses[lane])
    }
}

fn lanes(mut address_of: impl FnMut(usize) -> Option<u64>) -> ([u64; WARP], u32) {
    let (mut addresses, mut mask) = ([0; WARP], 0);
    for (lane, place) in addresses.iter_mut().enumerate() {
        if let Some(address) = address_of(lane) {
            *place = address;
            mask |= 1 << lane;
        }
    }
    (addresses, mask)
}

/// The same as [`sectors`], for addresses in an array.
pub(crate) fn sectors_of(places: Places<'_>, bytes: u64) -> Sectors {
    let Places { addresses, lanes: mask, step } = places;
    if mask == 0 || bytes == 0 {
        return Sectors::default();
    }
    if let Some(step) = step.map(i64::unsigned_abs)
        && (places.is_row(bytes as usize)
            || SECTOR_BYTES.is_multiple_of(bytes) && (addresses[0] | step).is_multiple_of(bytes))
    {
        return sectors_of_steps(addresses, step, bytes);
    }
    if let Some(sectors) = sectors_of_rising(addresses, mask, bytes) {
        return sectors;
    }
    let mut starts = Distinct::new();
    for lane in active(mask) {
        starts.add(addresses[lane]);
    }
    let (mut sectors, mut touched) = (0, 0);
    // The first sector and the first byte that no earlier lane has touched.
    let (mut fresh_sector, mut fresh_byte) = (0, 0);
    for &start in starts.sorted() {
        let end = start + bytes;
        let (first, last) = (start / SECTOR_BYTES, (end - 1) / SECTOR_BYTES);
        sectors += (last + 1).saturating_sub(first.max(fresh_sector));
        touched += end.saturating_sub(start.max(fresh_byte));
        fresh_sector = fresh_sector.max(last + 1);
        fresh_byte = fresh_byte.max(end);
    }
    Sectors { requests: 1, sectors, ideal: touched.div_ceil(SECTOR_BYTES) }
}

/// The sectors of one atomic operation on global memory. Lanes that change the same element
/// take turns: a sector is needed as often as the element that most lanes share.
pub(crate) fn atomic_sectors_of(addresses: &[u64; WARP], mask: u32, bytes: u64) -> Sectors {
    let mut starts = [0; WARP];
    let mut count = 0;
    for lane in active(mask) {
        starts[count] = addresses[lane];
        count += 1;
    }
    let starts = &mut starts[..count];
    starts.sort_unstable();
    let in_one_sector = |a: &u64, b: &u64| a / SECTOR_BYTES == b / SECTOR_BYTES;
    let (mut sectors, mut elements) = (0, 0);
    for sector in starts.chunk_by(in_one_sector) {
        let lengths = sector.chunk_by(|a, b| a == b).map(<[u64]>::len);
        elements += lengths.clone().count() as u64;
        sectors += lengths.max().unwrap_or(0) as u64;
    }
    Sectors { requests: 1, sectors, ideal: (elements * bytes).div_ceil(SECTOR_BYTES) }
}

/// The sectors of a warp whose lanes access one element after the other, or at a distance, and
/// then each in one sector.
fn sectors_of_steps(addresses: &[u64; WARP], step: u64, bytes: u64) -> Sectors {
    let (first, last) = (addresses[0], addresses[WARP - 1]);
    let sectors = match step == bytes || step < SECTOR_BYTES {
        true => {
            let end = first.max(last) + (bytes - 1);
            end / SECTOR_BYTES - first.min(last) / SECTOR_BYTES + 1
        }
        false => WARP as u64,
    };
    let elements = if step == 0 { 1 } else { WARP as u64 };
    Sectors { requests: 1, sectors, ideal: (elements * bytes).div_ceil(SECTOR_BYTES) }
}

/// The sectors of lanes each of which starts at the same place as the one before it or
/// further on, at multiples of `bytes`, so that none needs two sectors. Most requests are
/// like that.
fn sectors_of_rising(addresses: &[u64; WARP], mask: u32, bytes: u64) -> Option<Sectors> {
    let first = addresses[mask.trailing_zeros() as usize % WARP];
    let base = first / SECTOR_BYTES * SECTOR_BYTES;
    // In 32 bits: processors compare several such numbers at once.
    let mut starts = [0u32; WARP];
    let (mut apart, mut last) = (0, first);
    for (lane, start) in starts.iter_mut().enumerate() {
        // A lane that is not active counts as one that does what the one before it does.
        if mask >> lane & 1 == 1 {
            last = addresses[lane];
        }
        let offset = last.wrapping_sub(base);
        apart |= offset;
        *start = offset as u32;
    }
    let is_near = apart < 1 << 31;
    if !is_near || !SECTOR_BYTES.is_multiple_of(bytes) || apart & (bytes - 1) != 0 {
        return None;
    }
    let (mut falls, mut sectors, mut elements) = (0, 1, 1);
    for (before, after) in starts.iter().zip(&starts[1..]) {
        falls |= u32::from(after < before);
        sectors += u32::from((before ^ after) >= SECTOR_BYTES as u32);
        elements += u32::from(before != after);
    }
    (falls == 0).then(|| Sectors {
        requests: 1,
        sectors: sectors.into(),
        ideal: (u64::from(elements) * bytes).div_ceil(SECTOR_BYTES),
    })
}

/// The same as [`load_wavefronts`] or [`store_wavefronts`], for addresses in an array.
pub(crate) fn wavefronts_of(places: Places<'_>, bytes: u64, stores: bool) -> Wavefronts {
    let Places { addresses, lanes: mask, step } = places;
    if mask == 0 || bytes == 0 {
        return Wavefronts::default();
    }
    // Lanes at a distance of words meet in a bank as often as 2 divides it.
    let in_bank = step.filter(|_| bytes == WORD_BYTES).and_then(|step| match step {
        0 => Some(1),
        step if (addresses[0] | step as u64).is_multiple_of(WORD_BYTES) => {
            Some(1 << (step.trailing_zeros() - 2).min(5))
        }
        _ => None,
    });
    let is_one_pass = || {
        // The first two are what most requests are, and fast to find out.
        places.is_row(bytes as usize) || places.is_row(0) || have_own_banks(addresses, mask)
    };
    if in_bank == Some(1) || bytes <= WORD_BYTES && in_bank.is_none() && is_one_pass() {
        return Wavefronts { requests: 1, wavefronts: 1, ideal: 1 };
    }
    let words = u64::from(mask.count_ones()) * bytes.div_ceil(WORD_BYTES);
    let wavefronts = in_bank.unwrap_or_else(|| passes_of(places, bytes, stores));
    Wavefronts { requests: 1, wavefronts, ideal: wavefronts.min(words.div_ceil(BANKS as u64)) }
}

/// The wavefronts of lanes of which each accesses words of its own or shares them.
fn passes_of(places: Places<'_>, bytes: u64, stores: bool) -> u64 {
    let Places { addresses, lanes: mask, .. } = places;
    let words_each = bytes.div_ceil(WORD_BYTES);
    let groups = groups(addresses, mask, bytes, stores);
    // Again what most requests are: rows, and all lanes at one place.
    if addresses[0].is_multiple_of(words_each * WORD_BYTES)
        && (places.is_row(bytes as usize) || places.is_row(0))
    {
        return groups as u64;
    }
    let lanes_each = WARP / groups;
    let mut wavefronts = 0;
    for group in 0..groups {
        let lanes = (u32::MAX >> (WARP - lanes_each)) << (group * lanes_each);
        let lanes = mask & lanes;
        if let Some(most) = elements_in_bank(addresses, lanes, bytes) {
            wavefronts += most;
            continue;
        }
        let mut starts = Distinct::new();
        for lane in active(lanes) {
            starts.add(addresses[lane] / WORD_BYTES);
        }
        let mut in_bank = [0; BANKS];
        for &start in starts.sorted() {
            for word in start..start + words_each {
                in_bank[word as usize % BANKS] += 1;
            }
        }
        wavefronts += in_bank.iter().max().copied().unwrap_or(0);
    }
    wavefronts
}

/// How many elements the bank has that most elements are in. None, if some of them begin
/// inside of another's place.
fn elements_in_bank(addresses: &[u64; WARP], lanes: u32, bytes: u64) -> Option<u64> {
    const NOBODY: u8 = u8::MAX;
    let words = bytes.div_ceil(WORD_BYTES);
    let apart = active(lanes).fold(0, |apart, lane| apart | addresses[lane]);
    if !words.is_power_of_two() || words > 1 && !apart.is_multiple_of(bytes) {
        return None;
    }
    let shift = (words * WORD_BYTES).trailing_zeros();
    let banks = BANKS as u64 / words;
    // For each bank its greatest element and how many it has; for each of these the next.
    let (mut greatest, mut counts, mut next) = ([NOBODY; BANKS], [0u8; BANKS], [NOBODY; WARP]);
    let mut most = 0;
    for lane in active(lanes) {
        let element = |lane: u8| addresses[usize::from(lane)] >> shift;
        let (this, own) = (lane as u8, addresses[lane] >> shift);
        let bank = (own & (banks - 1)) as usize;
        let first = greatest[bank];
        // Mostly addresses rise.
        if first == NOBODY || element(first) < own {
            (next[lane], greatest[bank]) = (first, this);
        } else {
            let mut other = first;
            while other != NOBODY && element(other) != own {
                other = next[usize::from(other)];
            }
            if other != NOBODY {
                continue;
            }
            next[lane] = std::mem::replace(&mut next[usize::from(first)], this);
        }
        counts[bank] += 1;
        most = most.max(counts[bank]);
    }
    Some(most.into())
}

/// The wavefronts of one atomic operation on shared memory, which changes the words of one bank
/// one after the other, also those of lanes that share their word. `together`: these are
/// changed at once.
pub(crate) fn atomic_wavefronts_of(places: Places<'_>, bytes: u64, together: bool) -> Wavefronts {
    let Places { addresses, lanes: mask, .. } = places;
    if together {
        return wavefronts_of(places, bytes, true);
    }
    let words = bytes.div_ceil(WORD_BYTES);
    let lanes_each = WARP / words as usize;
    let mut wavefronts = 0;
    for group in 0..words as usize {
        let lanes = (u32::MAX >> (WARP - lanes_each)) << (group * lanes_each);
        let mut in_bank = [0; BANKS];
        for lane in active(mask & lanes) {
            in_bank[(addresses[lane] / WORD_BYTES) as usize % BANKS] += 1;
        }
        wavefronts += in_bank.iter().max().copied().unwrap_or(0);
    }
    let used = u64::from(mask.count_ones()) * words;
    Wavefronts { requests: 1, wavefronts, ideal: used.div_ceil(BANKS as u64) }
}

/// Does every word that lanes want have a bank of its own?
fn have_own_banks(addresses: &[u64; WARP], mask: u32) -> bool {
    let bank = |lane: usize| (addresses[lane] / WORD_BYTES) as usize % BANKS;
    // Mostly each lane has its own, or some share theirs with the lanes half a warp away.
    if mask == u32::MAX && bank(0) != bank(WARP / 2) {
        let banks = (0..WARP).fold(0u32, |banks, lane| banks | 1 << bank(lane));
        if banks == u32::MAX {
            return true;
        }
    }
    let mut words = [u64::MAX; BANKS];
    active(mask).all(|lane| {
        let word = addresses[lane] / WORD_BYTES;
        let before = std::mem::replace(&mut words[word as usize % BANKS], word);
        before == word || before == u64::MAX
    })
}

/// Does each lane access the same element as the lane `distance` away?
fn shared(addresses: &[u64; WARP], mask: u32, distance: usize) -> bool {
    active(mask).all(|lane| {
        let other = lane ^ distance;
        mask >> other & 1 == 0 || addresses[lane] == addresses[other]
    })
}

/// The lanes of a mask.
pub(crate) fn active(mask: u32) -> impl Iterator<Item = usize> + Clone {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < WARP).then_some(lane)
    })
}

/// Do the lanes before and after a lane, of those of a mask, access what it does? Of lanes that
/// read the same, two are enough to know.
#[inline]
pub(crate) fn is_between_same<T: PartialEq>(places: &[T; WARP], mask: u32, lane: usize) -> bool {
    let after = mask & (u32::MAX << lane) << 1;
    let next = after.trailing_zeros() as usize;
    let same = |other: usize| mask >> other & 1 == 1 && places[other] == places[lane];
    lane > 0 && next < WARP && same(lane - 1) && same(next)
}

/// Collects at most a warp's worth of numbers and gives each of them once, sorted. Fast
/// if they come in order, which they mostly do.
struct Distinct {
    numbers: [u64; WARP],
    count: usize,
    in_order: bool,
}

impl Distinct {
    fn new() -> Self {
        Self { numbers: [0; WARP], count: 0, in_order: true }
    }

    fn add(&mut self, number: u64) {
        if self.count > 0 {
            let last = self.numbers[self.count - 1];
            if number == last {
                return;
            }
            self.in_order &= number > last;
        }
        self.numbers[self.count] = number;
        self.count += 1;
    }

    fn sorted(&mut self) -> &[u64] {
        if !self.in_order {
            let numbers = &mut self.numbers[..self.count];
            numbers.sort_unstable();
            let mut kept = 1;
            for next in 1..numbers.len() {
                if numbers[next] != numbers[kept - 1] {
                    numbers[kept] = numbers[next];
                    kept += 1;
                }
            }
            (self.count, self.in_order) = (kept, true);
        }
        &self.numbers[..self.count]
    }
}
