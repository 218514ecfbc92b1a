//! The registers of a warp, and how an operation on one lane becomes one on all.

use crate::WARP;
use crate::half::{Bf16, F16};

/// The registers of a warp, each with one value for every lane. Registers have a size but
/// no type: what is in them is for each instruction to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    /// Those of 8, 16 and 32 bits.
    pub(crate) narrow: Vec<[u32; WARP]>,
    /// Those of 64 bits.
    pub(crate) wide: Vec<[u64; WARP]>,
    /// Predicates: one bit for every lane.
    pub(crate) predicates: Vec<u32>,
}

/// Which registers a value lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Narrow,
    Wide,
    Predicate,
}

/// A register: its class and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) class: Class,
    pub(crate) index: u16,
}

/// The registers of an operation: where its result goes, and its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    pub(crate) result: u16,
    pub(crate) sources: [u16; 4],
}

/// An operation that each lane does for itself, for the lanes of a mask.
pub(crate) type Compute = fn(&mut Registers, &Operands, u32);

/// An operation, and which registers it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) compute: Compute,
    pub(crate) result: Class,
    pub(crate) sources: &'static [Class],
    pub(crate) role: Role,
}

/// What the value of a result has to do with those of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Computes,
    /// It is the operand.
    Moves,
    /// It is the first or the second, as the third says.
    Chooses,
}

impl Registers {
    /// So many registers of each class.
    pub(crate) fn new([narrow, wide, predicates]: [usize; 3]) -> Self {
        Self {
            narrow: vec![[0; WARP]; narrow],
            wide: vec![[0; WARP]; wide],
            predicates: vec![0; predicates],
        }
    }

    /// The value of a narrow or wide register in one lane.
    pub(crate) fn get(&self, slot: Slot, lane: usize) -> u64 {
        let index = usize::from(slot.index);
        match slot.class {
            Class::Narrow => u64::from(self.narrow[index][lane]),
            Class::Wide => self.wide[index][lane],
            Class::Predicate => u64::from(self.predicates[index] >> lane & 1),
        }
    }

    /// Changes the value of a register in one lane.
    pub(crate) fn set(&mut self, slot: Slot, lane: usize, value: u64) {
        let index = usize::from(slot.index);
        match slot.class {
            Class::Narrow => self.narrow[index][lane] = value as u32,
            Class::Wide => self.wide[index][lane] = value,
            Class::Predicate => {
                let bit = 1 << lane;
                let others = self.predicates[index] & !bit;
                self.predicates[index] = others | if value & 1 == 1 { bit } else { 0 };
            }
        }
    }

    /// Changes the value of a register in all lanes.
    pub(crate) fn broadcast(&mut self, slot: Slot, value: u64) {
        let index = usize::from(slot.index);
        match slot.class {
            Class::Narrow => self.narrow[index] = [value as u32; WARP],
            Class::Wide => self.wide[index] = [value; WARP],
            Class::Predicate => {
                self.predicates[index] = if value & 1 == 1 { u32::MAX } else { 0 };
            }
        }
    }
}

/// A type that operations work on.
pub(crate) trait Value: Copy + Default {
    /// A register with the values of all lanes.
    type Row;
    const CLASS: Class;
    fn row(registers: &Registers, index: u16) -> &Self::Row;
    fn get(row: &Self::Row, lane: usize) -> Self;
    fn put(registers: &mut Registers, index: u16, values: &[Self; WARP], mask: u32);
}

macro_rules! value {
    ($type:ty, $field:ident, $bits:ty, $class:ident, $decode:expr, $encode:expr) => {
        impl Value for $type {
            type Row = [$bits; WARP];
            const CLASS: Class = Class::$class;

            #[inline(always)]
            fn row(registers: &Registers, index: u16) -> &Self::Row {
                &registers.$field[usize::from(index)]
            }

            #[inline(always)]
            fn get(row: &Self::Row, lane: usize) -> Self {
                let decode: fn($bits) -> Self = $decode;
                decode(row[lane])
            }

            #[inline(always)]
            fn put(registers: &mut Registers, index: u16, values: &[Self; WARP], mask: u32) {
                let encode: fn(Self) -> $bits = $encode;
                let row = &mut registers.$field[usize::from(index)];
                if mask == u32::MAX {
                    // In halves, which are small enough to be copied without a call.
                    for lane in 0..WARP / 2 {
                        row[lane] = encode(values[lane]);
                    }
                    for lane in WARP / 2..WARP {
                        row[lane] = encode(values[lane]);
                    }
                } else {
                    for lane in 0..WARP {
                        let new = encode(values[lane]);
                        row[lane] = if mask >> lane & 1 != 0 { new } else { row[lane] };
                    }
                }
            }
        }
    };
}

value!(u8, narrow, u32, Narrow, |bits| bits as u8, u32::from);
value!(i8, narrow, u32, Narrow, |bits| bits as i8, |value| value as u32);
value!(u16, narrow, u32, Narrow, |bits| bits as u16, u32::from);
value!(i16, narrow, u32, Narrow, |bits| bits as i16, |value| value as u32);
value!(u32, narrow, u32, Narrow, |bits| bits, |value| value);
value!(i32, narrow, u32, Narrow, |bits| bits as i32, |value| value as u32);
value!(F16, narrow, u32, Narrow, |bits| F16(bits as u16), |value| value.0.into());
value!(Bf16, narrow, u32, Narrow, |bits| Bf16(bits as u16), |value| value.0.into());
value!(f32, narrow, u32, Narrow, f32::from_bits, f32::to_bits);
value!(u64, wide, u64, Wide, |bits| bits, |value| value);
value!(i64, wide, u64, Wide, |bits| bits as i64, |value| value as u64);
value!(f64, wide, u64, Wide, f64::from_bits, f64::to_bits);

impl Value for bool {
    type Row = u32;
    const CLASS: Class = Class::Predicate;

    #[inline(always)]
    fn row(registers: &Registers, index: u16) -> &u32 {
        &registers.predicates[usize::from(index)]
    }

    #[inline(always)]
    fn get(row: &u32, lane: usize) -> bool {
        row >> lane & 1 != 0
    }

    #[inline(always)]
    fn put(registers: &mut Registers, index: u16, values: &[bool; WARP], mask: u32) {
        let mut bits = 0;
        for (lane, value) in values.iter().enumerate() {
            bits |= u32::from(*value) << lane;
        }
        let row = &mut registers.predicates[usize::from(index)];
        *row = bits & mask | *row & !mask;
    }
}

/// Makes an [`Operation`] of what it does in one lane: `operation!(|a: u32| -> u64 …)`.
macro_rules! operation {
    (|$($name:ident: $type:ty),*| -> $result:ty { $body:expr }) => {{
        fn compute(
            registers: &mut $crate::registers::Registers,
            operands: &$crate::registers::Operands,
            mask: u32,
        ) {
            use $crate::registers::Value;
            let mut values = [<$result>::default(); $crate::WARP];
            {
                let mut sources = operands.sources.iter();
                $(let $name = <$type>::row(
                    registers,
                    sources.next().copied().unwrap_or_default(),
                );)*
                let _ = sources;
                for lane in 0..$crate::WARP {
                    $(let $name = <$type>::get($name, lane);)*
                    values[lane] = $body;
                }
            }
            <$result>::put(registers, operands.result, &values, mask);
        }
        $crate::registers::Operation {
            compute,
            result: <$result as $crate::registers::Value>::CLASS,
            sources: &[$(<$type as $crate::registers::Value>::CLASS),*],
            role: $crate::registers::Role::Computes,
        }
    }};
}
pub(crate) use operation;
