//! Matrices in the registers of a warp: what their elements are, and which lane has which.
//!
//! All shapes follow one rule. Of one dimension, *across*, eight go to eight groups of four
//! lanes, one to each; of the other, *along*, each lane of a group has a run of elements, one
//! beside the other. Larger matrices are blocks of that. It is the layout that PTX describes for
//! `mma` and `ldmatrix`; for `wmma`, PTX leaves it open.

use crate::WARP;
use crate::half::{Bf16, E4m3, E5m2, F16};

/// Elements that a matrix has at most.
pub(crate) const MOST_ELEMENTS: usize = 512;
/// Groups of lanes in a warp, and lanes in a group.
const GROUPS: usize = 8;
const GROUP: usize = WARP / GROUPS;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    E4m3,
    E5m2,
    U8,
    S8,
    F16,
    Bf16,
    /// An `f32` of which 19 bits count.
    Tf32,
    S32,
    F32,
    F64,
}

impl Element {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "u8" => Self::U8,
            "s8" => Self::S8,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "s32" => Self::S32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::E4m3 | Self::E5m2 | Self::U8 | Self::S8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::S32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Elements that one register holds.
    pub(crate) fn in_register(self) -> usize {
        (4 / self.bytes()).max(1)
    }

    /// The element with this number of those in a register. A double holds each of them exactly.
    pub(crate) fn value(self, register: u64, number: usize) -> f64 {
        let bits = (register >> (8 * self.bytes() * number)) as u32;
        match self {
            Self::E4m3 => E4m3(bits as u8).to_f64(),
            Self::E5m2 => E5m2(bits as u8).to_f64(),
            Self::U8 => f64::from(bits as u8),
            Self::S8 => f64::from(bits as i8),
            Self::F16 => F16(bits as u16).to_f64(),
            Self::Bf16 => Bf16(bits as u16).to_f32().into(),
            Self::Tf32 => f32::from_bits(bits & !0x1fff).into(),
            Self::S32 => f64::from(bits as i32),
            Self::F32 => f32::from_bits(bits).into(),
            Self::F64 => f64::from_bits(register),
        }
    }

    /// The bits of a sum. `saturates`: an integer that is too large is the largest.
    pub(crate) fn bits(self, value: f64, saturates: bool) -> u64 {
        match self {
            Self::F16 => F16::from_f64(value).0.into(),
            Self::F32 => (value as f32).to_bits().into(),
            Self::F64 => value.to_bits(),
            _ if saturates => u64::from(value as i32 as u32),
            _ => u64::from(value as i64 as u32),
        }
    }
}

/// Which operand of D = A B + C a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
    /// C or D.
    Sum,
}

/// How the elements of a matrix lie in the lanes' registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) element: Element,
    pub(crate) side: Side,
    across: usize,
    along: usize,
    /// Elements along which a lane has beside each other.
    run: usize,
}

impl Fragment {
    /// Of the product of shape `[m, n, k]`. None, if there is no such matrix.
    pub(crate) fn new(side: Side, element: Element, [m, n, k]: [usize; 3]) -> Option<Self> {
        let (across, along) = match side {
            Side::A => (m, k),
            Side::B => (n, k),
            Side::Sum => (m, n),
        };
        let run = if side == Side::Sum { 2 } else { element.in_register() };
        let fits = across > 0
            && along > 0
            && across.is_multiple_of(GROUPS)
            && along.is_multiple_of(GROUP * run)
            && across * along <= MOST_ELEMENTS;
        fits.then_some(Self { element, side, across, along, run })
    }

    /// Elements that each lane has.
    pub(crate) fn elements(&self) -> usize {
        self.across * self.along / WARP
    }

    /// Registers that each lane needs.
    pub(crate) fn registers(&self) -> usize {
        self.elements() / self.element.in_register()
    }

    /// Where a lane's element with this number is, as a sum: what all lanes share, across and
    /// along; and what [`lane`](Self::lane) says.
    pub(crate) fn start(&self, element: usize) -> (usize, usize) {
        let (block, within) = (element / self.run, element % self.run);
        let (across, along) = match self.side {
            Side::B => {
                let blocks = self.along / (GROUP * self.run);
                (block / blocks, block % blocks)
            }
            _ => {
                let blocks = self.across / GROUPS;
                (block % blocks, block / blocks)
            }
        };
        (across * GROUPS, along * GROUP * self.run + within)
    }

    /// The first place of a lane, across and along.
    pub(crate) fn lane(&self, lane: usize) -> (usize, usize) {
        (lane / GROUP, lane % GROUP * self.run)
    }

    /// Visits each element: its lane, its number there, and its place in the matrix, counted
    /// from one to the next across for B, and along otherwise.
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for element in 0..self.elements() {
            let (across, along) = self.start(element);
            for lane in 0..WARP {
                let (more_across, more_along) = self.lane(lane);
                let (x, y) = (across + more_across, along + more_along);
                let place = match self.side {
                    Side::B => y * self.across + x,
                    _ => x * self.along + y,
                };
                visit(lane, element, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows and columns of a lane's elements.
    fn places(side: Side, kind: &str, shape: [usize; 3], lane: usize) -> Vec<usize> {
        let element = Element::named(kind).unwrap();
        let fragment = Fragment::new(side, element, shape).unwrap();
        let mut places = vec![0; fragment.elements()];
        fragment.each(|l, number, place| {
            if l == lane {
                places[number] = place;
            }
        });
        places
    }

    #[test]
    fn layouts_are_those_of_the_manual() {
        // Lane 6: group 1, the third of it. In rows of 16, 8 and 32 elements.
        let shape = [16, 8, 16];
        let a = [20, 21, 148, 149, 28, 29, 156, 157];
        assert_eq!(places(Side::A, "bf16", shape, 6), a);
        assert_eq!(places(Side::B, "f16", shape, 6), [33, 41, 97, 105]);
        assert_eq!(places(Side::Sum, "f32", shape, 6), [12, 13, 76, 77]);
        assert_eq!(places(Side::Sum, "f16", shape, 6), [12, 13, 76, 77]);
        let shape = [16, 8, 8];
        assert_eq!(places(Side::A, "tf32", shape, 6), [10, 74, 14, 78]);
        assert_eq!(places(Side::B, "tf32", shape, 6), [17, 49]);
        assert_eq!(places(Side::A, "f16", shape, 6), [12, 13, 76, 77]);
        let shape = [16, 8, 32];
        let a = places(Side::A, "s8", shape, 6);
        assert_eq!(a[..8], [40, 41, 42, 43, 296, 297, 298, 299]);
        assert_eq!(a[8..], [56, 57, 58, 59, 312, 313, 314, 315]);
        let b = places(Side::B, "e4m3", shape, 6);
        assert_eq!(b, [65, 73, 81, 89, 193, 201, 209, 217]);
    }

    #[test]
    fn each_element_has_one_place() {
        for (side, kind, shape) in [
            (Side::A, "f16", [32, 8, 16]),
            (Side::B, "bf16", [8, 32, 16]),
            (Side::B, "u8", [16, 16, 16]),
            (Side::Sum, "f32", [16, 16, 16]),
            (Side::A, "f64", [8, 8, 4]),
        ] {
            let element = Element::named(kind).unwrap();
            let fragment = Fragment::new(side, element, shape).unwrap();
            let mut found = vec![0; fragment.elements() * WARP];
            fragment.each(|_, _, place| found[place] += 1);
            assert!(found.iter().all(|count| *count == 1), "{side:?} {kind}");
        }
    }
}
