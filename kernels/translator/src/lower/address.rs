//! Addresses: a base, an offset that instructions have room for, and a space.

use crate::code::{Arg, Part};
use crate::ir::{Id, Instruction};
use crate::lower::Lower;
use crate::types::{Scalar, Space, Type, sign_extended};
use crate::{Error, Result};

impl Lower<'_> {
    /// A variable on the stack.
    pub(super) fn variable(&self, alloca: &Instruction<'_>) -> Result<Vec<Part>> {
        if !alloca.operands.is_empty() {
            return Err(Error::unknown("an array on the stack whose size varies"));
        }
        let name = format!("__local_depot{}", self.kernel.borrow().locals.len());
        let align = alloca.align.unwrap_or_else(|| alloca.of.align());
        let bytes = alloca.of.size().max(1);
        let declared = format!("\t.local .align {align} .b8 {name}[{bytes}];\n");
        self.kernel.borrow_mut().locals.push(declared);
        Ok(vec![Part::new(Scalar::Pointer(Space::Local), self.symbol(name))])
    }

    /// The address in a register, in its own space: a number.
    pub(super) fn address(&self, place: Part) -> Part {
        let kind = Scalar::LONG;
        let base = match place.base {
            name @ Arg::Symbol(_) => self.compute(kind, "mov.u64 $0, $1;", vec![name]),
            base => Part::new(kind, base),
        };
        match place.offset {
            0 => base,
            offset => self.pure(kind, "add.s64", &[base, Part::number(kind, offset as u64)]),
        }
    }

    /// The address in a register, in another space.
    pub(super) fn address_in(&self, place: Part, space: Space) -> Part {
        self.address(self.in_space(place, space))
    }

    /// The same address in another space.
    pub(super) fn in_space(&self, place: Part, to: Space) -> Part {
        let (own, kind) = (place.space(), Scalar::Pointer(to));
        let text = match (own, to) {
            _ if own.suffix() == to.suffix() => return Part { kind, ..place },
            (_, Space::Generic) => format!("cvta{}.u64", own.suffix()),
            (Space::Generic, _) => format!("cvta.to{}.u64", to.suffix()),
            _ => return self.refuse("an address that changes from one space to another"),
        };
        let address = self.address(Part { offset: 0, ..place });
        let generic = self.generic.borrow().get(&address.base).copied();
        let base = match generic.filter(|_| to == Space::Generic) {
            Some(generic) => generic,
            None => self.pure(Scalar::LONG, &text, &[address]).base,
        };
        if own == Space::Generic {
            self.generic.borrow_mut().insert(base, address.base);
        }
        Part { kind, base, ..place }
    }

    /// `getelementptr`.
    pub(super) fn element(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [pointer] = instruction.operands()?;
        let (mut place, mut of) = (self.one(pointer), &instruction.of);
        for (number, index) in instruction.operands[1..].iter().enumerate() {
            if let (Type::Struct(..), 1..) = (of, number) {
                let (field, at) = of.field(self.function.number(*index).unwrap_or(0) as i64)?;
                (place, of) = (place.plus(at), field);
            } else {
                of = if number == 0 { of } else { of.field(0)?.0 };
                place = self.step(place, *index, of.size() as i64);
            }
        }
        Ok(vec![place])
    }

    /// Adds so many times a size to an address.
    fn step(&self, mut place: Part, mut index: Id, size: i64) -> Part {
        let (function, mut signed) = (self.function, true);
        // A constant summand becomes a part of the offset, also that of a narrow number which is
        // said not to overflow.
        while let Some(by) = function.computed(index) {
            let is_long = function.values[index].kind == Scalar::LONG;
            let promise = if signed { "nsw" } else { "nuw" };
            if let Some((sign, word)) = self.word_of(index) {
                (signed, index) = (sign, word);
            } else if let ("add", [sum, number]) = (by.op, &by.operands[..])
                && (is_long || by.has(promise) || by.has("disjoint"))
                && let Some(bits) = function.number(*number)
            {
                let with_sign = sign_extended(bits, if is_long { 64 } else { 32 });
                let by = if signed { with_sign } else { bits as i64 };
                (place, index) = (place.plus(by.wrapping_mul(size)), *sum);
            } else {
                break;
            }
        }
        let index = self.one(index);
        if let Some(bits) = index.bits() {
            return place.plus(sign_extended(bits, index.kind.bits()).wrapping_mul(size));
        }
        let base = self.address(Part { offset: 0, ..place });
        let factor = Part::number(Scalar::LONG, size as u64);
        let far = match index.kind.width() {
            64 if size == 1 => self.pure(place.kind, "add.s64", &[base, index]),
            64 => self.pure(place.kind, "mad.lo.s64", &[index, factor, base]),
            _ if size >= 1 << 31 => self.refuse("elements of 2 GiB"),
            _ => {
                let text = if signed { "mad.wide.s32" } else { "mad.wide.u32" };
                self.pure(place.kind, text, &[self.widened(index, signed), factor, base])
            }
        };
        far.plus(place.offset)
    }
}
