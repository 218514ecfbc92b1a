//! The registers of a warp, and how an operation on one lane becomes one on all.

use crate::WARP;
use crate::access::active;
use crate::half::{Bf16, F16, FlushedF16};

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

/// How to compute what each lane does for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compute {
    /// In all lanes at once.
    All(fn(&mut Registers, &Operands)),
    /// In one, from its operands and the operation's style.
    Lane(fn(&[u64; 4]) -> u64),
}

/// An operation, and which registers it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) compute: Compute,
    /// What an operation in one lane gets as its last operand, if it has less than four.
    pub(crate) style: u8,
    pub(crate) result: Class,
    pub(crate) sources: &'static [Class],
    pub(crate) role: Role,
}

/// What the value of a result has to do with those of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Computes,
    /// Its bits are bits of the operands, or masked by others.
    Bits,
    /// It is the operand.
    Moves,
    /// It is the first or the second, as the third says.
    Chooses,
}

impl Operation {
    /// The same, with another role.
    pub(crate) const fn with(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The same, in a style.
    pub(crate) fn styled(self, style: u8) -> Self {
        Self { style, ..self }
    }

    /// Computes in the lanes of a mask. What is in lanes that have ended does not matter.
    #[inline(always)]
    pub(crate) fn apply(
        &self,
        registers: &mut Registers,
        operands: &Operands,
        mask: u32,
        live: u32,
    ) {
        match self.compute {
            Compute::Lane(compute) => self.in_each_lane(registers, operands, mask, compute),
            Compute::All(compute) if mask == u32::MAX || mask | !live == u32::MAX => {
                compute(registers, operands);
            }
            Compute::All(compute) => self.in_some(registers, operands, mask, compute),
        }
    }

    /// Computes lane after lane.
    #[inline(never)]
    fn in_each_lane(
        &self,
        registers: &mut Registers,
        operands: &Operands,
        mask: u32,
        compute: fn(&[u64; 4]) -> u64,
    ) {
        let mut values = [[0, 0, 0, self.style.into()]; WARP];
        for (number, class) in self.sources.iter().enumerate() {
            let index = usize::from(operands.sources[number]);
            let values = values.iter_mut().map(|values| &mut values[number]);
            match class {
                Class::Narrow => {
                    let row = &registers.narrow[index];
                    values.zip(row).for_each(|(value, bits)| *value = u64::from(*bits));
                }
                Class::Wide => {
                    let row = &registers.wide[index];
                    values.zip(row).for_each(|(value, bits)| *value = *bits);
                }
                Class::Predicate => {
                    let row = registers.predicates[index];
                    values
                        .enumerate()
                        .for_each(|(lane, value)| *value = u64::from(row >> lane & 1));
                }
            }
        }
        let index = usize::from(operands.result);
        let results = active(mask).map(|lane| (lane, compute(&values[lane])));
        match self.result {
            Class::Narrow => {
                let row = &mut registers.narrow[index];
                results.for_each(|(lane, value)| row[lane] = value as u32);
            }
            Class::Wide => {
                let row = &mut registers.wide[index];
                results.for_each(|(lane, value)| row[lane] = value);
            }
            Class::Predicate => {
                let bits = results.fold(0, |bits, (lane, value)| bits | (value as u32 & 1) << lane);
                let row = &mut registers.predicates[index];
                *row = *row & !mask | bits;
            }
        }
    }

    /// Computes in all lanes, and puts back what was in those that are not in the mask.
    #[inline(never)]
    fn in_some(
        &self,
        registers: &mut Registers,
        operands: &Operands,
        mask: u32,
        compute: fn(&mut Registers, &Operands),
    ) {
        let index = usize::from(operands.result);
        match self.result {
            Class::Narrow => {
                let before = registers.narrow[index];
                compute(registers, operands);
                let row = &mut registers.narrow[index];
                put_back(row, &before, mask, |new, old, keep| new & keep | old & !keep);
            }
            Class::Wide => {
                let before = registers.wide[index];
                compute(registers, operands);
                let row = &mut registers.wide[index];
                put_back(row, &before, mask, |new, old, keep| {
                    let keep = keep as i32 as u64;
                    new & keep | old & !keep
                });
            }
            Class::Predicate => {
                let before = registers.predicates[index];
                compute(registers, operands);
                let bits = &mut registers.predicates[index];
                *bits = *bits & mask | before & !mask;
            }
        }
    }
}

/// For each half of a byte all bits of those lanes whose bit is set.
const LANES: [[u32; 4]; 16] = {
    let mut lanes = [[0; 4]; 16];
    let mut place = 0;
    while place < 64 {
        let (half, lane) = (place / 4, place % 4);
        lanes[half][lane] = if half >> lane & 1 == 1 { u32::MAX } else { 0 };
        place += 1;
    }
    lanes
};

/// Puts back what was in lanes that are not in the mask: four at once, as processors can.
fn put_back<Bits: Copy>(
    row: &mut [Bits; WARP],
    before: &[Bits; WARP],
    mask: u32,
    blend: impl Fn(Bits, Bits, u32) -> Bits,
) {
    let fours = row.as_chunks_mut::<4>().0.iter_mut().zip(before.as_chunks::<4>().0);
    for (number, (row, before)) in fours.enumerate() {
        let keep = LANES[(mask >> (4 * number) & 15) as usize];
        for lane in 0..4 {
            row[lane] = blend(row[lane], before[lane], keep[lane]);
        }
    }
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

    /// The values of a register in all lanes.
    pub(crate) fn row(&self, slot: Slot) -> [u64; WARP] {
        std::array::from_fn(|lane| self.get(slot, lane))
    }

    /// Changes them.
    pub(crate) fn set_row(&mut self, slot: Slot, values: &[u64; WARP]) {
        values.iter().enumerate().for_each(|(lane, value)| self.set(slot, lane, *value));
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
pub(crate) trait Value: Copy {
    /// What a register holds of it in one lane; of a predicate, what is in all lanes.
    type Bits: Copy + Default;
    /// A register with the values of all lanes.
    type Row;
    const CLASS: Class;
    fn row(registers: &Registers, index: u16) -> &Self::Row;
    fn get(row: &Self::Row, lane: usize) -> Self;
    fn bits(self) -> Self::Bits;
    /// Changes a register in all lanes.
    fn put(registers: &mut Registers, index: u16, values: &[Self::Bits; WARP]);
    /// From and to what [`Registers::get`] gives.
    fn of(bits: u64) -> Self;
    fn widened(self) -> u64;
}

macro_rules! value {
    ($type:ty, $field:ident, $bits:ty, $class:ident, $decode:expr, $encode:expr) => {
        impl Value for $type {
            type Bits = $bits;
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
            fn bits(self) -> $bits {
                let encode: fn(Self) -> $bits = $encode;
                encode(self)
            }

            #[inline(always)]
            fn put(registers: &mut Registers, index: u16, values: &[$bits; WARP]) {
                // In halves, which are small enough to be copied without a call.
                let row = &mut registers.$field[usize::from(index)];
                row[..WARP / 2].copy_from_slice(&values[..WARP / 2]);
                row[WARP / 2..].copy_from_slice(&values[WARP / 2..]);
            }

            #[inline(always)]
            fn of(bits: u64) -> Self {
                let decode: fn($bits) -> Self = $decode;
                decode(bits as $bits)
            }

            #[inline(always)]
            fn widened(self) -> u64 {
                u64::from(self.bits())
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
value!(FlushedF16, narrow, u32, Narrow, |bits| FlushedF16(bits as u16), |value| value.0.into());
value!(Bf16, narrow, u32, Narrow, |bits| Bf16(bits as u16), |value| value.0.into());
value!(f32, narrow, u32, Narrow, f32::from_bits, f32::to_bits);
value!(u64, wide, u64, Wide, |bits| bits, |value| value);
value!(i64, wide, u64, Wide, |bits| bits as i64, |value| value as u64);
value!(f64, wide, u64, Wide, f64::from_bits, f64::to_bits);

impl Value for bool {
    type Bits = u8;
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
    fn bits(self) -> u8 {
        self.into()
    }

    #[inline(never)]
    fn put(registers: &mut Registers, index: u16, values: &[u8; WARP]) {
        let mut bits = 0;
        let (bytes, _) = values.as_chunks();
        for (number, eight) in bytes.iter().enumerate() {
            // The product has the lowest bit of each byte in its highest byte.
            let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            bits |= (gathered as u32) << (8 * number);
        }
        registers.predicates[usize::from(index)] = bits;
    }

    #[inline(always)]
    fn of(bits: u64) -> bool {
        bits & 1 != 0
    }

    #[inline(always)]
    fn widened(self) -> u64 {
        self.into()
    }
}

/// Makes an [`Operation`] of what it does in one lane: `operation!(|a: u32| -> u64 …)`, or with a
/// style `operation!(|a: u32; style| -> u64 …)`. It is called for each lane.
macro_rules! operation {
    (|$($name:ident: $type:ty),* $(; $style:ident)?| -> $result:ty { $($body:tt)* }) => {{
        use $crate::registers::{Compute, Operation, Role, Value};

        fn lane(operands: &[u64; 4]) -> u64 {
            let [$($name,)* ..] = operands;
            $(let $name = <$type as Value>::of(*$name);)*
            $(let $style = operands[3] as u8;)?
            let result: $result = { $($body)* };
            result.widened()
        }

        const OPERATION: Operation = Operation {
            compute: Compute::Lane(lane),
            style: 0,
            result: <$result as Value>::CLASS,
            sources: &[$(<$type as Value>::CLASS),*],
            role: Role::Computes,
        };
        OPERATION
    }};
}
pub(crate) use operation;

/// The same for an operation that kernels have in their innermost loops. It is a loop of its
/// own over all lanes, which becomes vector instructions: many times faster, if what it does
/// is simple, and many times longer to compile.
macro_rules! vector_operation {
    (|$($name:ident: $type:ty),*| -> $result:ty { $($body:tt)* }) => {{
        use $crate::WARP;
        use $crate::registers::{Compute, Operands, Operation, Registers, Role, Value};

        fn compute(registers: &mut Registers, operands: &Operands) {
            let mut values = [<$result as Value>::Bits::default(); WARP];
            let [$($name,)* ..] = operands.sources;
            $(let $name = <$type as Value>::row(registers, $name);)*
            for lane in 0..WARP {
                $(let $name = <$type as Value>::get($name, lane);)*
                let value: $result = { $($body)* };
                values[lane] = value.bits();
            }
            <$result as Value>::put(registers, operands.result, &values);
        }

        const OPERATION: Operation = Operation {
            compute: Compute::All(compute),
            style: 0,
            result: <$result as Value>::CLASS,
            sources: &[$(<$type as Value>::CLASS),*],
            role: Role::Computes,
        };
        OPERATION
    }};
}
pub(crate) use vector_operation;

/// The same for an operation on predicates, of which each is the bits of all lanes.
macro_rules! predicate_operation {
    (|$($name:ident),*| $body:expr) => {{
        use $crate::registers::{Class, Compute, Operands, Operation, Registers, Role};

        fn compute(registers: &mut Registers, operands: &Operands) {
            let [$($name,)* ..] = operands.sources;
            $(let $name = registers.predicates[usize::from($name)];)*
            registers.predicates[usize::from(operands.result)] = $body;
        }

        const OPERATION: Operation = Operation {
            compute: Compute::All(compute),
            style: 0,
            result: Class::Predicate,
            sources: &[$({ let _ = stringify!($name); Class::Predicate }),*],
            role: Role::Computes,
        };
        OPERATION
    }};
}
pub(crate) use predicate_operation;
