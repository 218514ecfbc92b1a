//! Addresses: a base, an offset that instructions have room for, and a space.

use crate::code::{Arg, Part, Symbol};
use crate::ir::{Instruction, Op, Typed};
use crate::lower::Lower;
use crate::types::{Scalar, Space, Type, sign_extended};
use crate::{Error, Result};

impl<'m> Lower<'m> {
    /// A variable on the stack.
    pub(super) fn variable(&mut self, alloca: &Instruction<'_>) -> Result<Vec<Part>> {
        if !alloca.operands.is_empty() {
            return Err(Error::unknown("an array on the stack whose size varies"));
        }
        let name = Arg::Symbol(Symbol::Local(self.kernel.locals.len()));
        let align = alloca.align.unwrap_or_else(|| alloca.of.align());
        self.kernel.locals.push((align, alloca.of.size().max(1)));
        let place = Part::new(Scalar::Pointer(Space::Local), name);
        self.address(place)?;
        Ok(vec![place])
    }

    /// A pointer as an address, which null is not.
    pub(super) fn place(&mut self, part: Part) -> Result<Part> {
        match (part.kind, part.base) {
            (Scalar::Pointer(_), Arg::Number(_)) => self.in_register(part),
            (Scalar::Pointer(_), _) => Ok(part),
            _ => Err(Error::unknown("an address that is no pointer")),
        }
    }

    pub(super) fn place_of(&mut self, pointer: &'m Typed<'m>) -> Result<Part> {
        let part = self.one(pointer)?;
        self.place(part)
    }

    /// The address in a register, in its own space: a number.
    pub(super) fn address(&mut self, place: Part) -> Result<Part> {
        let kind = Scalar::LONG;
        let base = match place.base {
            name @ Arg::Symbol(_) => self.compute(kind, "mov.u64 $0, $1;", vec![name]),
            base => Part::new(kind, base),
        };
        match place.offset {
            0 => Ok(base),
            offset => self.pure(kind, "add.s64", &[base, Part::number(kind, offset as u64)]),
        }
    }

    /// The same address in another space.
    pub(super) fn in_space(&mut self, part: Part, to: Space) -> Result<Part> {
        let place = self.place(part)?;
        let text = match (place.space(), to) {
            (own, to) if own.suffix() == to.suffix() => {
                return Ok(Part { kind: Scalar::Pointer(to), ..place });
            }
            (own, Space::Generic) => format!("cvta{}.u64 $0, $1;", own.suffix()),
            (Space::Generic, to) => format!("cvta.to{}.u64 $0, $1;", to.suffix()),
            _ => return Err(Error::unknown("an address that changes from one space to another")),
        };
        if place.space() == Space::Parameter && self.function.ptx_version() < 77 {
            return Err(Error::new(
                "the address of a parameter is used; copy it to a variable, and use that one's",
            ));
        }
        let own = self.address(Part { offset: 0, ..place })?.base;
        let base = match self.generic.get(&own) {
            Some(generic) if to == Space::Generic => *generic,
            _ => self.compute(Scalar::LONG, &text, vec![own]).base,
        };
        if place.space() == Space::Generic {
            self.generic.insert(base, own);
        }
        Ok(Part { kind: Scalar::Pointer(to), base, offset: place.offset })
    }

    /// The generic address in a register.
    pub(super) fn generic(&mut self, part: Part) -> Result<Part> {
        let place = self.in_space(part, Space::Generic)?;
        self.address(place)
    }

    /// `getelementptr`.
    pub(super) fn element(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let mut place = self.place_of(&instruction.operands::<1>()?[0])?;
        let mut of = &instruction.of;
        for (number, index) in instruction.operands[1..].iter().enumerate() {
            if let (Type::Struct(..), 1..) = (of, number) {
                let (field, at) = of.field(index.number().unwrap_or(0) as i64)?;
                (place, of) = (place.plus(at), field);
            } else {
                of = if number == 0 { of } else { of.field(0)?.0 };
                place = self.step(place, index, of.size() as i64)?;
            }
        }
        Ok(vec![place])
    }

    /// Adds so many times a size to an address.
    fn step(&mut self, mut place: Part, mut index: &'m Typed<'m>, size: i64) -> Result<Part> {
        let mut signed = true;
        // A constant summand becomes a part of the offset, also that of a narrow number which is
        // said not to overflow.
        while let Some(by) = self.definition(index) {
            let is_long = index.kind == Scalar::LONG;
            let promise = if signed { "nsw" } else { "nuw" };
            match (by.op, &by.operands[..]) {
                (Op::SExt | Op::ZExt, [from]) if is_long && from.kind == Scalar::WORD => {
                    (signed, index) = (by.op == Op::SExt, from);
                }
                (Op::Add, [sum, number]) if is_long || by.has(promise) || by.has("disjoint") => {
                    let Some(bits) = number.number() else { break };
                    let with_sign = sign_extended(bits, if is_long { 64 } else { 32 });
                    let by = if signed { with_sign } else { bits as i64 };
                    (place, index) = (place.plus(by.wrapping_mul(size)), sum);
                }
                _ => break,
            }
        }
        let index = self.one(index)?;
        if let Arg::Number(number) = index.base {
            return Ok(place.plus(number.wrapping_mul(size)));
        }
        let base = self.address(Part { offset: 0, ..place })?;
        let number = |number: i64| Part::number(Scalar::LONG, number as u64);
        let far = match index.kind.width() {
            64 if size == 1 => self.pure(place.kind, "add.s64", &[base, index])?,
            64 => self.pure(place.kind, "mad.lo.s64", &[index, number(size), base])?,
            _ if size >= 1 << 31 => return Err(Error::unknown("elements of 2 GiB")),
            _ => {
                let index = self.widened(index, signed)?;
                let text = format!("mad.wide.{}32", if signed { 's' } else { 'u' });
                self.pure(place.kind, &text, &[index, number(size), base])?
            }
        };
        Ok(far.plus(place.offset))
    }
}
