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
/// Columns of a buffer that are told apart at most.
const COLUMNS: usize = 1 << 12;
/// Of how many granules a word has a bit.
const BITS: usize = u64::BITS as usize;

/// What is done to a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    One(u32),
    /// Each lane of a warp behind the lane before it.
    Row(u32),
    /// Each lane of a warp so many further on than the lane before it.
    Step(u32, i32),
    /// Those of a mask, where the first is, and how much further on each is.
    Lanes(u32, u32, &'a [u32; WARP]),
}

impl Granules<'_> {
    /// In which lanes, of so many granules each, and where these begin.
    pub(crate) fn lanes(&self, count: usize) -> (u32, [u32; WARP]) {
        let stepping = |first: u32, step: u32| {
            std::array::from_fn(|lane| first.wrapping_add(step.wrapping_mul(lane as u32)))
        };
        match *self {
            Self::One(start) => (1, [start; WARP]),
            Self::Row(start) => (u32::MAX, stepping(start, count as u32)),
            Self::Step(start, step) => (u32::MAX, stepping(start, step as u32)),
            Self::Lanes(lanes, first, further) => {
                (lanes, further.map(|further| first.wrapping_add(further)))
            }
        }
    }

    fn span(&self, count: usize) -> Span {
        let (first, last) = match *self {
            Self::One(start) => return Span { start: start as usize, end: start as usize + count },
            Self::Row(start) => {
                return Span { start: start as usize, end: start as usize + WARP * count };
            }
            Self::Step(start, step) => {
                let last = start.wrapping_add_signed(step * (WARP as i32 - 1));
                (start.min(last), start.max(last))
            }
            Self::Lanes(_, first, further) => {
                let further = further.map(|further| further as i32);
                let ends = further.iter().fold((0, 0), |(a, b), c| (*c.min(&a), *c.max(&b)));
                (first.wrapping_add_signed(ends.0), first.wrapping_add_signed(ends.1))
            }
        };
        Span { start: first as usize, end: last as usize + count }
    }
}

/// What [`Granules`] are, written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    One,
    Row,
    Step(i32),
    /// A mask, and the number of what tells how much further on each is.
    Lanes(u32, u32),
}

/// Accesses one after the other: each of a warp if it is of several lanes, by the warp's first
/// thread.
#[derive(Debug)]
struct Entry {
    touch: Touch,
    place: Place,
    /// The first granule.
    start: u32,
    /// The number of the moment.
    moment: u32,
    bytes: u8,
    /// Granules of a lane.
    count: u8,
    /// How many accesses there are, and how much greater threads and starts of the next one are.
    times: u32,
    next: (u16, u32),
}

impl Entry {
    /// Is another access the next one? Then notes it.
    #[inline]
    fn takes(&mut self, other: &Self) -> bool {
        let Self { touch: Touch { thread, .. }, start, times, .. } = *self;
        let next = (other.touch.thread.wrapping_sub(thread), other.start.wrapping_sub(start));
        let (threads, starts) = self.next;
        let is_next =
            times == 1 || next == (threads.wrapping_mul(times as u16), starts.wrapping_mul(times));
        let is_same = Touch { thread, ..other.touch } == self.touch
            && (other.place, other.moment, other.bytes) == (self.place, self.moment, self.bytes);
        if is_next && is_same {
            self.next = if times == 1 { next } else { self.next };
            self.times += 1;
        }
        is_next && is_same
    }

    fn each<'a>(&self, places: &'a [[u32; WARP]]) -> impl Iterator<Item = (Granules<'a>, Touch)> {
        let Self { touch, place, start, times, next: (threads, starts), .. } = *self;
        (0..times).map(move |time| {
            let start = start.wrapping_add(starts.wrapping_mul(time));
            let thread = touch.thread.wrapping_add(threads.wrapping_mul(time as u16));
            let granules = match place {
                Place::One => Granules::One(start),
                Place::Row => Granules::Row(start),
                Place::Step(step) => Granules::Step(start, step),
                Place::Lanes(lanes, number) => {
                    Granules::Lanes(lanes, start, &places[number as usize])
                }
            };
            (granules, Touch { thread, ..touch })
        })
    }
}

/// Granules from the first to the last.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
}

const NOTHING: Span = Span { start: usize::MAX, end: 0 };

impl Span {
    /// Is another before it or behind it?
    fn is_apart(&self, other: &Self) -> bool {
        other.end <= self.start || self.end <= other.start
    }

    fn add(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
    }
}

/// Granules that something was done to.
#[derive(Debug)]
struct Done {
    all: Span,
    /// Where lanes are always as far from each other, and have as many granules: those that leave
    /// the same remainder.
    columns: Vec<Span>,
    count: usize,
    /// A bit for each, as soon as that does not tell enough.
    bits: Option<Vec<u64>>,
}

impl Default for Done {
    fn default() -> Self {
        Self { all: NOTHING, columns: Vec::new(), count: 0, bits: None }
    }
}

impl Done {
    /// Notes granules that are none of these for sure.
    #[inline]
    fn takes(&mut self, granules: &Granules<'_>, count: usize, span: &Span) -> bool {
        let (start, step, count) = match *granules {
            Granules::Step(start, step) => (start as usize, step.unsigned_abs() as usize, count),
            Granules::Lanes(..) => return false,
            _ => (0, 1, 0),
        };
        if self.columns.is_empty() && count <= step && step <= COLUMNS {
            (self.columns, self.count) = (vec![NOTHING; step], count);
        }
        if self.bits.is_some() || (self.columns.len(), self.count) != (step, count) {
            return false;
        }
        let column = &mut self.columns[start % step];
        let is_apart = column.is_apart(span);
        column.add(span);
        is_apart
    }
}

/// Looks for granules, so many for each lane and all of them in a span, and adds them if asked.
/// Tells whether one was there.
fn look(
    bits: &mut Vec<u64>,
    granules: &Granules<'_>,
    count: usize,
    span: &Span,
    adds: bool,
) -> bool {
    if span.end > bits.len() * BITS {
        bits.resize(span.end.div_ceil(BITS).next_power_of_two(), 0);
    }
    let mut any = 0;
    let mut range = |mut from: usize, end: usize| {
        while from < end {
            let here = (BITS - from % BITS).min(end - from);
            let mask = u64::MAX >> (BITS - here) << (from % BITS);
            let word = &mut bits[from / BITS];
            any |= *word & mask;
            *word |= if adds { mask } else { 0 };
            from += here;
        }
    };
    if let Granules::One(_) | Granules::Row(_) = granules {
        range(span.start, span.end);
        return any != 0;
    }
    let (lanes, starts) = granules.lanes(count);
    let (mut from, mut end) = (0, 0);
    for start in active(lanes).map(|lane| starts[lane] as usize) {
        if start != end {
            range(from, end);
            from = start;
        }
        end = start + count;
    }
    range(from, end);
    any != 0
}

/// What was done to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Book {
    entries: Vec<Entry>,
    places: Vec<[u32; WARP]>,
    /// Of each deed, to what it was done.
    done: [Done; 3],
}

impl Book {
    /// All accesses, one after the other.
    fn all(&self) -> impl Iterator<Item = (&Entry, Granules<'_>, Touch)> {
        self.entries.iter().flat_map(|entry| {
            entry.each(&self.places).map(move |(granules, touch)| (entry, granules, touch))
        })
    }

    /// Notes a deed to some granules, so many for each lane. False, if it may race with another.
    #[inline]
    fn allows(&mut self, deed: Deed, granules: &Granules<'_>, count: usize) -> bool {
        let span = granules.span(count);
        if span.end > LARGEST {
            return false;
        }
        for other in [Deed::Read, Deed::Write, Deed::Change] {
            let done = &mut self.done[other as usize];
            let is_fine = match deed == other {
                true => deed != Deed::Write || done.takes(granules, count, &span),
                false => done.all.is_apart(&span),
            };
            if !is_fine && self.has(other, granules, count, &span, deed == other) {
                return false;
            }
        }
        let done = &mut self.done[deed as usize];
        if let Some(bits) = done.bits.as_mut().filter(|_| deed != Deed::Write) {
            look(bits, granules, count, &span, true);
        }
        done.all.add(&span);
        true
    }

    /// Was a deed done to one of some granules? `adds`: this one is the same.
    #[inline(never)]
    fn has(
        &mut self,
        deed: Deed,
        granules: &Granules<'_>,
        count: usize,
        span: &Span,
        adds: bool,
    ) -> bool {
        let mut bits = self.done[deed as usize].bits.take().unwrap_or_else(|| {
            let mut bits = Vec::new();
            for (entry, granules, _) in self.all().filter(|one| Deed::of(one.2) == Some(deed)) {
                let count = entry.count.into();
                look(&mut bits, &granules, count, &granules.span(count), true);
            }
            bits
        });
        let found = look(&mut bits, granules, count, span, adds);
        self.done[deed as usize].bits = Some(bits);
        found
    }
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
        touch: Touch,
    ) -> bool {
        let (Some(deed), true) = (Deed::of(touch), self.is_kept && self.words < MOST) else {
            return false;
        };
        let Some(book) = self.books.of(store) else { return false };
        if !book.allows(deed, &granules, count) {
            return false;
        }
        let Order { now, barrier, block, .. } = *order;
        let moment = Moment { now, barrier, block };
        if self.moments.last() != Some(&moment) {
            self.moments.push(moment);
            self.words += size_of::<Moment>() / size_of::<u32>();
        }
        let moment = self.moments.len() as u32 - 1;
        let (place, start) = match granules {
            Granules::One(start) => (Place::One, start),
            Granules::Row(start) => (Place::Row, start),
            Granules::Step(start, step) => (Place::Step(step), start),
            Granules::Lanes(lanes, start, further) => {
                if book.places.last() != Some(further) {
                    book.places.push(*further);
                    self.words += WARP;
                }
                (Place::Lanes(lanes, book.places.len() as u32 - 1), start)
            }
        };
        let (bytes, count, times, next) = (bytes as u8, count as u8, 1, (0, 0));
        let entry = Entry { touch, place, start, moment, bytes, count, times, next };
        if !book.entries.last_mut().is_some_and(|last| last.takes(&entry)) {
            book.entries.push(entry);
            self.words += size_of::<Entry>() / size_of::<u32>();
        }
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
        for (Entry { moment, bytes, .. }, granules, touch) in book.all() {
            let Moment { now, barrier, block } = self.moments[*moment as usize];
            (then.now, then.barrier, then.block) = (now, barrier, block);
            tell(&then, granules, (*bytes).into(), touch);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.is_kept);
    }
}
