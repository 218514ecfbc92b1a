//! Addresses: a base, an offset that instructions have room for, and a space.

use crate::code::Arg;
use crate::ir::{Id, Op, Typed, Value};
use crate::lower::{Lower, Part, Place};
use crate::read::sign_extended;
use crate::types::{Class, Type, space};
use crate::{Error, Result};

impl Lower<'_> {
    /// The space of a pointer by its number.
    pub(super) fn space_of(&self, id: Id) -> u32 {
        match self.function.kinds[id] {
            Type::Pointer(space::GENERIC) => self.known[id].space,
            Type::Pointer(space) => space,
            _ => space::GENERIC,
        }
    }

    /// A variable on the stack.
    pub(super) fn variable(&mut self, kind: &Type, align: u64) -> Part {
        let name = format!("{}_local_{}", self.function.name, self.locals.len());
        self.locals.push((name.clone(), align, kind.size().max(1)));
        Part::Place(Place { base: Arg::text(name), offset: 0, space: space::LOCAL })
    }

    pub(super) fn place(&mut self, pointer: &Typed) -> Result<Place> {
        let part = self.one(&pointer.value, &pointer.kind)?;
        self.place_of(&part, &pointer.kind)
    }

    pub(super) fn place_of(&mut self, part: &Part, kind: &Type) -> Result<Place> {
        match (part, kind) {
            (Part::Place(place), _) => Ok(place.clone()),
            (part, Type::Pointer(space)) => {
                let base = self.reg(part, &Type::Int(64))?;
                Ok(Place { base, offset: 0, space: *space })
            }
            _ => Err(Error::unknown("an address that is no pointer")),
        }
    }

    /// The address in a register: in its own space.
    pub(super) fn address(&mut self, place: &Place) -> Arg {
        let base = match &place.base {
            Arg::Text(_) => self.once(Class::Long, "mov.u64 $0, $1;", vec![place.base.clone()]),
            base => base.clone(),
        };
        match place.offset {
            0 => base,
            offset => {
                let offset = Arg::text(offset);
                self.pure(Class::Long, "add.s64 $0, $1, $2;", vec![base, offset])
            }
        }
    }

    /// The same address in another space.
    pub(super) fn in_space(&mut self, place: &Place, to: u32) -> Result<Place> {
        if place.space == to {
            return Ok(place.clone());
        }
        if place.space != space::GENERIC && to != space::GENERIC {
            return Err(Error::unknown("an address that changes from one space to another"));
        }
        if place.space == space::PARAMETER && self.function.ptx_version() < 77 {
            return Err(Error::new(
                "the address of a parameter is used; copy it to a variable, and use that one's",
            ));
        }
        let own = Place { offset: 0, ..place.clone() };
        let own = self.address(&own);
        let earlier = match &own {
            Arg::Reg(reg) if to == space::GENERIC => self.generic.get(reg).cloned(),
            _ => None,
        };
        let base = earlier.unwrap_or_else(|| {
            let (to_name, space) = match to {
                space::GENERIC => ("", place.space),
                space => (".to", space),
            };
            let text = format!("cvta{to_name}{}.u64 $0, $1;", space::suffix(space));
            self.pure(Class::Long, &text, vec![own])
        });
        Ok(Place { base, offset: place.offset, space: to })
    }

    /// The generic address in a register.
    pub(super) fn generic(&mut self, place: &Place) -> Result<Arg> {
        let place = self.in_space(place, space::GENERIC)?;
        Ok(self.address(&place))
    }

    /// The address of a variable as a number.
    pub(super) fn address_number(&mut self, place: Place, kind: &Type) -> Result<Part> {
        let long = self.address(&place);
        match kind {
            Type::Int(64) => Ok(self.part(long, kind)),
            Type::Int(32) => {
                let word = self.pure(Class::Word, "cvt.u32.u64 $0, $1;", vec![long]);
                Ok(self.part(word, kind))
            }
            _ => Err(Error::unknown("the address of a variable as such a number")),
        }
    }

    /// `getelementptr`.
    pub(super) fn element(&mut self, of: &Type, base: &Typed, indices: &[Typed]) -> Result<Place> {
        let mut place = self.place(base)?;
        let mut kind = of.clone();
        for (number, index) in indices.iter().enumerate() {
            let step = if number == 0 { kind.clone() } else { kind.field(0)?.0.clone() };
            if let (Type::Struct(..), 1..) = (&kind, number) {
                let Value::Bits(field) = index.value else {
                    place.offset += kind.field(0)?.1 as i64;
                    kind = kind.field(0)?.0.clone();
                    continue;
                };
                let (field, at) = kind.field(field)?;
                (place.offset, kind) = (place.offset + at as i64, field.clone());
                continue;
            }
            self.step(&mut place, index, step.size() as i64)?;
            kind = step;
        }
        Ok(place)
    }

    /// Adds so many times a size to an address.
    fn step(&mut self, place: &mut Place, index: &Typed, size: i64) -> Result<()> {
        let (mut value, mut kind) = (&index.value, &index.kind);
        let mut signed = true;
        // A constant summand becomes a part of the offset, also that of a narrow number which is
        // said not to overflow.
        loop {
            match self.definition(value) {
                Some((_, Op::Convert { name, from }))
                    if (name == "sext" || name == "zext")
                        && from.kind == Type::Int(32)
                        && kind.bits() == 64 =>
                {
                    signed = name == "sext";
                    (value, kind) = (&from.value, &from.kind);
                }
                Some((_, Op::Binary { name, a, b: Value::Bits(by), unsigned, signed: no, .. }))
                    if name == "add"
                        && (kind.bits() == 64 || if signed { *no } else { *unsigned }) =>
                {
                    let by = match kind.bits() == 64 || signed {
                        true => sign_extended(*by, kind.bits()),
                        false => *by as i64,
                    };
                    place.offset += by * size;
                    value = &a.value;
                }
                _ => break,
            }
        }
        let part = self.one(value, kind)?;
        if let Part::Bits(bits) = part {
            place.offset += sign_extended(bits, kind.bits()) * size;
            return Ok(());
        }
        let own = Place { offset: 0, ..place.clone() };
        let base = self.address(&own);
        let size_arg = Arg::text(size);
        place.base = match kind.bits() {
            64 => {
                let index = self.reg(&part, kind)?;
                match size {
                    1 => self.pure(Class::Long, "add.s64 $0, $1, $2;", vec![base, index]),
                    size if size.count_ones() == 1 => {
                        let by = Arg::text(size.trailing_zeros());
                        let far = self.pure(Class::Long, "shl.b64 $0, $1, $2;", vec![index, by]);
                        self.pure(Class::Long, "add.s64 $0, $1, $2;", vec![base, far])
                    }
                    _ => {
                        let args = vec![index, size_arg, base];
                        self.pure(Class::Long, "mad.lo.s64 $0, $1, $2, $3;", args)
                    }
                }
            }
            _ if size >= 1 << 31 => return Err(Error::unknown("elements of 2 GiB")),
            _ => {
                let index = self.widened(&part, kind, signed)?;
                let sign = if signed { 's' } else { 'u' };
                let text = format!("mad.wide.{sign}32 $0, $1, $2, $3;");
                self.pure(Class::Long, &text, vec![index, size_arg, base])
            }
        };
        Ok(())
    }
}
