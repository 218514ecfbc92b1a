//! Accesses to device memory that race with none before them, whatever orders the two: to what
//! is only read, to what is written for the first time, and to what only atomic operations change.
//!
//! In most buffers of most kernels nothing else happens. So these accesses are only written down,
//! which is fast. When something else is done to a buffer, all that is written down of it is
//! [traced](crate::machine::global), and so is whatever comes then.

use crate::WARP;
use crate::access::active;
use crate::machine::order::Order;
use crate::machine::trace::{Touch, TouchKind};
use crate::program::{Scope, Strength};

/// Words of 32 bits that are written down at most: 32 MiB. Whoever needs more is traced.
const MOST: usize = 1 << 23;
/// Granules of a buffer, the bytes that are traced together, that its book has bits for at most.
const LARGEST: usize = 1 << 26;
/// Of how many granules a word has a bit.
const BITS: usize = u64::BITS as usize;

/// What is done to a granule.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Read,
    Write,
    /// An atomic operation for all blocks.
    Change,
}

impl Deed {
    fn of(touch: Touch) -> Option<Self> {
        match touch.strength {
            _ if touch.kind != TouchKind::Usual => None,
            Strength::Weak => Some(if touch.writes { Self::Write } else { Self::Read }),
            Strength::Atomic if touch.writes && touch.scope == Scope::Grid => Some(Self::Change),
            _ => None,
        }
    }
}

/// Where lanes access: each from a granule on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Granules<'a> {
    One(usize),
    /// Each lane of a warp behind the lane before it.
    Row(usize),
    /// Those of a mask, and where.
    Lanes(u32, &'a [u32; WARP]),
}

/// The same, written down.
#[derive(Clone, Copy, Debug)]
enum Place {
    One(u32),
    Row(u32),
    /// Each lane of a warp so many further on than the lane before it.
    Step(u32, u32),
    /// A mask, and the number of the places.
    Lanes(u32, u32),
}

/// An access: of a warp if it is of several lanes, by the warp's first thread.
#[derive(Debug)]
struct Entry {
    touch: Touch,
    bytes: u8,
    place: Place,
    /// The number of the moment.
    moment: u32,
}

/// What was done to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Book {
    entries: Vec<Entry>,
    places: Vec<[u32; WARP]>,
    /// A bit for each granule, of each deed.
    deeds: Vec<[u64; 3]>,
}

impl Book {
    /// Sees to it that there are bits for all granules before this one, if they are not too many.
    #[inline]
    fn has_room(&mut self, end: usize) -> bool {
        let words = end.div_ceil(BITS);
        if words > self.deeds.len() && end <= LARGEST {
            self.deeds.resize(words.next_power_of_two(), [0; 3]);
        }
        end <= LARGEST
    }

    /// Notes a deed to some granules, for which there is room. False, if it may race with another.
    #[inline(always)]
    fn allows(&mut self, deed: Deed, start: usize, count: usize) -> bool {
        let mut allows = |from: usize, bits: usize| {
            let mask = u64::MAX >> (BITS - bits) << (from % BITS);
            let [read, written, changed] = &mut self.deeds[from / BITS];
            let (others, own) = match deed {
                Deed::Read => (*written | *changed, read),
                Deed::Write => (*read | *written | *changed, written),
                Deed::Change => (*read | *written, changed),
            };
            *own |= mask;
            others & mask == 0
        };
        // Mostly they have their bits in one word.
        if start % BITS + count <= BITS {
            return allows(start, count);
        }
        let (mut from, end) = (start, start + count);
        while from < end {
            let bits = (BITS - from % BITS).min(end - from);
            if !allows(from, bits) {
                return false;
            }
            from += bits;
        }
        true
    }

    /// The same for each lane of a mask.
    #[inline]
    fn allows_lanes(&mut self, deed: Deed, lanes: u32, starts: &[u32; WARP], count: usize) -> bool {
        match lanes {
            u32::MAX => starts.iter().all(|start| self.allows(deed, *start as usize, count)),
            some => active(some).all(|lane| self.allows(deed, starts[lane] as usize, count)),
        }
    }
}

/// Where lanes access, each so many granules further on than the one before it.
fn stepping(first: u32, step: u32) -> [u32; WARP] {
    std::array::from_fn(|lane| first.wrapping_add(step.wrapping_mul(lane as u32)))
}

/// The time of an access: what an [`Order`] had then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    now: u32,
    barrier: u32,
    block: u32,
}

/// Books of buffers, by their numbers. None: the buffer is traced.
#[derive(Debug, Default)]
struct Books(Vec<Option<Book>>);

impl Books {
    #[inline]
    fn of(&mut self, store: usize) -> &mut Option<Book> {
        if store >= self.0.len() {
            self.0.resize_with(store + 1, || Some(Book::default()));
        }
        &mut self.0[store]
    }
}

/// What was done in a launch.
#[derive(Debug)]
pub(crate) struct Journal {
    books: Books,
    moments: Vec<Moment>,
    words: usize,
    /// Whether anything is written down.
    is_kept: bool,
}

impl Journal {
    pub(crate) fn new(is_kept: bool) -> Self {
        Self { books: Books::default(), moments: Vec::new(), words: 0, is_kept }
    }

    /// Writes down an access to a buffer, `count` granules for each lane. False, if it has to be
    /// traced.
    #[inline]
    pub(crate) fn note(
        &mut self,
        order: &Order,
        store: usize,
        (granules, count, bytes): (Granules<'_>, usize, usize),
        mut touch: Touch,
    ) -> bool {
        let (Some(deed), true) = (Deed::of(touch), self.is_kept && self.words < MOST) else {
            return false;
        };
        let Some(book) = self.books.of(store) else { return false };
        let last = match granules {
            Granules::One(start) => start,
            Granules::Row(start) => start + (WARP - 1) * count,
            Granules::Lanes(u32::MAX, starts) => starts.iter().fold(0, |a, b| a.max(*b)) as usize,
            Granules::Lanes(some, starts) => {
                active(some).fold(0, |last, lane| last.max(starts[lane])) as usize
            }
        };
        if !book.has_room(last + count) {
            return false;
        }
        let (place, mut words) = match granules {
            Granules::One(start) if book.allows(deed, start, count) => {
                (Place::One(start as u32), 0)
            }
            Granules::Row(start) if book.allows(deed, start, WARP * count) => {
                (Place::Row(start as u32), 0)
            }
            Granules::Lanes(lanes, starts) if book.allows_lanes(deed, lanes, starts, count) => {
                let (first, step) = (starts[0], starts[1].wrapping_sub(starts[0]));
                if lanes == u32::MAX && *starts == stepping(first, step) {
                    (Place::Step(first, step), 0)
                } else if lanes.is_power_of_two() {
                    let lane = lanes.trailing_zeros();
                    touch.thread += lane as u16;
                    (Place::One(starts[lane as usize]), 0)
                } else {
                    book.places.push(*starts);
                    (Place::Lanes(lanes, book.places.len() as u32 - 1), WARP)
                }
            }
            _ => return false,
        };
        let Order { now, barrier, block, .. } = *order;
        let moment = Moment { now, barrier, block };
        if self.moments.last() != Some(&moment) {
            self.moments.push(moment);
            words += size_of::<Moment>() / size_of::<u32>();
        }
        let moment = self.moments.len() as u32 - 1;
        book.entries.push(Entry { touch, bytes: bytes as u8, place, moment });
        self.words += words + size_of::<Entry>() / size_of::<u32>();
        true
    }

    /// Is there something written down of a buffer?
    pub(crate) fn has(&mut self, store: usize) -> bool {
        self.is_kept && self.books.of(store).is_some()
    }

    /// Closes the book of a buffer, which is traced from now on. Tells what is in it, one access
    /// after the other: when, where, how many bytes.
    pub(crate) fn close(
        &mut self,
        order: &Order,
        store: usize,
        mut tell: impl FnMut(&Order, Granules<'_>, usize, Touch),
    ) {
        let Some(book) = self.books.of(store).take() else { return };
        let mut then = Order::new(order.threads(), false);
        for Entry { touch, bytes, place, moment } in book.entries {
            let Moment { now, barrier, block } = self.moments[moment as usize];
            (then.now, then.barrier, then.block) = (now, barrier, block);
            let starts;
            let granules = match place {
                Place::One(start) => Granules::One(start as usize),
                Place::Row(start) => Granules::Row(start as usize),
                Place::Step(first, step) => {
                    starts = stepping(first, step);
                    Granules::Lanes(u32::MAX, &starts)
                }
                Place::Lanes(lanes, place) => Granules::Lanes(lanes, &book.places[place as usize]),
            };
            tell(&then, granules, bytes.into(), touch);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.is_kept);
    }
}
