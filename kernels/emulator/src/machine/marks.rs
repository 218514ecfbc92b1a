//! Which bits of a warp's registers mean nothing, and where such bits go: through moves, masks,
//! shifts and packs they stay what they are. Whatever else is computed from them is bad.

use std::collections::HashMap;

use crate::WARP;
use crate::access::active;
use crate::machine::lane::LaneAccess;
use crate::machine::warp::Warp;
use crate::matrix::MOST_ELEMENTS;
use crate::program::{Matrix, Multiply};
use crate::registers::{Class, Operands, Operation, Registers, Role, Slot};
use crate::space::Space;

/// What unknown bits may be, beside all zeros and all ones: large numbers of both signs, also
/// as floats, and others.
const FILLINGS: [u64; 4] =
    [0x7f7f_7f7f_7f7f_7f7f, 0xff7f_7f7f_ff7f_7f7f, 0x5555_5555_5555_5555, 0x8000_0000_8000_0000];

/// Where a value that means nothing comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) pc: usize,
    pub(super) lane: usize,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Read(Space, LaneAccess),
    /// From this lane; these took part.
    Shuffle(usize, u32),
}

/// What means nothing of a register in one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) bits: u64,
    /// Number of its [`Source`].
    pub(super) source: usize,
    pub(super) extent: Extent,
}

/// What of a value means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// It may be padding, which is copied along.
    #[default]
    Padding,
    /// All of an element. To copy it is to use it, but for what a compiler that does not optimise
    /// keeps in local memory.
    Element,
    /// It was computed from such bits.
    Result,
}

/// Marks of a warp's registers.
#[derive(Debug)]
pub(crate) struct Taint {
    /// For each register which lanes have a mark.
    lanes: [Vec<u32>; 3],
    /// How many registers have some.
    marked: usize,
    marks: HashMap<Slot, [Mark; WARP]>,
    pub(super) sources: Vec<Source>,
}

impl Taint {
    pub(super) fn of(warp: &mut Warp) -> &mut Self {
        let registers = &warp.registers;
        warp.taint.get_or_insert_with(|| {
            let counts = [registers.narrow.len(), registers.wide.len(), registers.predicates.len()];
            let lanes = counts.map(|count| vec![0; count]);
            Box::new(Self { lanes, marked: 0, marks: HashMap::new(), sources: Vec::new() })
        })
    }

    /// Is there no mark?
    pub(super) fn is_clean(&self) -> bool {
        self.marked == 0
    }

    /// The lanes that have a mark in a register.
    pub(super) fn lanes(&self, slot: Slot) -> u32 {
        self.lanes[slot.class as usize][usize::from(slot.index)]
    }

    fn set_lanes(&mut self, slot: Slot, lanes: u32) {
        let now = &mut self.lanes[slot.class as usize][usize::from(slot.index)];
        self.marked += usize::from(lanes != 0);
        self.marked -= usize::from(*now != 0);
        *now = lanes;
    }

    pub(super) fn mark(&self, slot: Slot, lane: usize) -> Option<Mark> {
        (self.lanes(slot) >> lane & 1 == 1).then(|| self.marks[&slot][lane])
    }

    pub(super) fn put(&mut self, slot: Slot, lane: usize, mark: Option<Mark>) {
        let bit = 1 << lane;
        match mark.filter(|mark| mark.bits != 0) {
            Some(mark) => {
                self.set_lanes(slot, self.lanes(slot) | bit);
                self.marks.entry(slot).or_insert_with(|| [Mark::default(); WARP])[lane] = mark;
            }
            None => self.clear(slot, bit),
        }
    }

    pub(super) fn clear(&mut self, slot: Slot, lanes: u32) {
        let now = self.lanes(slot);
        if now & lanes != 0 {
            self.set_lanes(slot, now & !lanes);
        }
    }

    /// The number of a source.
    pub(super) fn source(&mut self, source: Source) -> usize {
        let is_same = |s: &Source| s.pc == source.pc && s.lane == source.lane;
        let known = self.sources.iter().position(is_same);
        let place = known.unwrap_or(self.sources.len());
        match known {
            Some(place) => self.sources[place] = source,
            None => self.sources.push(source),
        }
        place
    }

    /// What becomes of marks when lanes compute.
    pub(super) fn spread(
        &mut self,
        registers: &mut Registers,
        operation: &Operation,
        operands: &Operands,
        lanes: u32,
    ) {
        let result = Slot { class: operation.result, index: operands.result };
        let sources = operation.sources.iter().zip(operands.sources);
        let sources = sources.map(|(class, index)| Slot { class: *class, index });
        let marked = sources.clone().fold(0, |all, slot| all | self.lanes(slot)) & lanes;
        self.clear(result, lanes & !marked);
        if marked == 0 {
            return;
        }
        let sources = sources.collect::<Vec<_>>();
        let tried = match operation.role {
            Role::Moves => None,
            Role::Chooses if self.lanes(sources[2]) & marked == 0 => None,
            _ => Some(self.tried(registers, operation, operands, &sources, marked)),
        };
        for lane in active(marked) {
            let mark = |slot: &Slot| self.mark(*slot, lane);
            let mark = match (&tried, operation.role) {
                (None, Role::Chooses) if registers.get(sources[2], lane) == 0 => mark(&sources[1]),
                (None, _) => mark(&sources[0]),
                (Some(differ), role) => {
                    let marks = sources.iter().filter_map(mark);
                    let computes = role == Role::Computes;
                    let bits = match differ[lane] {
                        differ if computes && differ != 0 => all_bits(result.class),
                        differ => differ,
                    };
                    // What came first tells most.
                    let source = marks.clone().map(|mark| mark.source).min();
                    let copied = marks.map(|mark| mark.extent).max().unwrap_or_default();
                    let extent = if computes { Extent::Result } else { copied };
                    source.map(|source| Mark { bits, source, extent })
                }
            };
            self.put(result, lane, mark);
        }
    }

    /// Which bits of a result depend on bits of the operands that mean nothing: it is computed
    /// with several others in their place.
    fn tried(
        &self,
        registers: &mut Registers,
        operation: &Operation,
        operands: &Operands,
        sources: &[Slot],
        lanes: u32,
    ) -> [u64; WARP] {
        let before = sources.iter().map(|slot| registers.row(*slot)).collect::<Vec<_>>();
        let mut unknown = Vec::new();
        for (number, slot) in sources.iter().enumerate() {
            if self.lanes(*slot) & lanes != 0 && !sources[..number].contains(slot) {
                let bits = |lane| self.mark(*slot, lane).map_or(0, |mark| mark.bits);
                unknown.push((*slot, number, std::array::from_fn::<_, WARP, _>(bits)));
            }
        }
        let result = Slot { class: operation.result, index: operands.result };
        let kept = registers.row(result);
        let (mut first, mut differ) = (None, [0; WARP]);
        let each_bit = 1 << unknown.len();
        let more =
            if operation.role == Role::Computes { FILLINGS.len() + sources.len() } else { 0 };
        for turn in 0..each_bit + more {
            for (place, (slot, number, bits)) in unknown.iter().enumerate() {
                let filling = |lane: usize| match turn.checked_sub(each_bit) {
                    None => (turn as u64 >> place & 1).wrapping_neg(),
                    // Comparisons turn where the other operand is.
                    Some(turn) => match turn.checked_sub(FILLINGS.len()) {
                        None => FILLINGS[(turn + place) % FILLINGS.len()],
                        Some(other) => before[other][lane],
                    },
                };
                let value =
                    |lane: usize| before[*number][lane] & !bits[lane] | filling(lane) & bits[lane];
                registers.set_row(*slot, &std::array::from_fn(value));
            }
            operation.apply(registers, operands, lanes, lanes);
            let found = registers.row(result);
            let first = *first.get_or_insert(found);
            active(lanes).for_each(|lane| differ[lane] |= found[lane] ^ first[lane]);
            registers.set_row(result, &kept);
        }
        unknown.iter().for_each(|(slot, number, _)| registers.set_row(*slot, &before[*number]));
        differ
    }

    /// What becomes of marks in a product of matrices: an element of it has those of its row
    /// of A, of its column of B, and of its own in C.
    pub(super) fn multiply(&mut self, multiply: &Multiply) {
        let [rows, columns, depth] = multiply.shape;
        let mut of_rows = [None; MOST_ELEMENTS];
        let mut of_columns = [None; MOST_ELEMENTS];
        let mut of_sums = [None; MOST_ELEMENTS];
        self.each_mark(&multiply.a, |place, source| first_of(&mut of_rows[place / depth], source));
        self.each_mark(&multiply.b, |place, source| {
            first_of(&mut of_columns[place % columns], source);
        });
        self.each_mark(&multiply.c, |place, source| of_sums[place] = Some(source));
        for row in 0..rows {
            for column in 0..columns {
                let sum = &mut of_sums[row * columns + column];
                let others = [of_rows[row], of_columns[column]].into_iter().flatten();
                others.for_each(|other| first_of(sum, other));
            }
        }
        let Matrix { fragment, registers } = &multiply.d;
        registers.iter().for_each(|slot| self.clear(*slot, u32::MAX));
        let each = fragment.element.in_register();
        for copy in registers.chunks(fragment.registers()) {
            fragment.each(|lane, number, place| {
                let slot = copy[number / each];
                if let Some(mut source) = of_sums[place] {
                    source = self.mark(slot, lane).map_or(source, |mark| mark.source.min(source));
                    let bits = all_bits(slot.class);
                    self.put(slot, lane, Some(Mark { bits, source, extent: Extent::Result }));
                }
            });
        }
    }

    /// Visits a matrix's elements that have marks, with the marks' sources.
    fn each_mark(&self, matrix: &Matrix, mut visit: impl FnMut(usize, usize)) {
        let Matrix { fragment, registers } = matrix;
        let each = fragment.element.in_register();
        fragment.each(|lane, number, place| {
            if let Some(mark) = self.mark(registers[number / each], lane) {
                let bits = 8 * fragment.element.bytes();
                if mark.bits >> (bits * (number % each)) << (64 - bits) != 0 {
                    visit(place, mark.source);
                }
            }
        });
    }
}

/// Keeps the source that came first, which tells most.
fn first_of(source: &mut Option<usize>, other: usize) {
    *source = Some(source.map_or(other, |source| source.min(other)));
}

/// All bits of a register.
pub(super) fn all_bits(class: Class) -> u64 {
    match class {
        Class::Narrow => u64::from(u32::MAX),
        Class::Wide => u64::MAX,
        Class::Predicate => 1,
    }
}
