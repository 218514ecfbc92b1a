//! Types of LLVM IR, and how values of them lie in memory.

use std::rc::Rc;

use crate::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Void,
    Int(u32),
    Float,
    Double,
    /// With the number of its address space.
    Pointer(u32),
    Array(u64, Rc<Type>),
    Vector(u64, Rc<Type>),
    /// Whether it is packed, and its fields.
    Struct(bool, Rc<[Type]>),
}

/// Numbers of LLVM's address spaces for NVPTX.
pub(crate) mod space {
    pub(crate) const GENERIC: u32 = 0;
    pub(crate) const GLOBAL: u32 = 1;
    pub(crate) const SHARED: u32 = 3;
    pub(crate) const CONSTANT: u32 = 4;
    pub(crate) const LOCAL: u32 = 5;
    pub(crate) const PARAMETER: u32 = 101;

    /// As a part of an instruction's name.
    pub(crate) fn suffix(space: u32) -> &'static str {
        match space {
            GLOBAL => ".global",
            SHARED => ".shared",
            CONSTANT => ".const",
            LOCAL => ".local",
            PARAMETER => ".param",
            _ => "",
        }
    }
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    Predicate,
    /// 16 bits, which only PTX that the source has in it uses.
    Short,
    /// Integers of up to 32 bits; of fewer, the upper bits are anything.
    Word,
    Long,
    Float,
    Double,
}

impl Class {
    pub(crate) const ALL: [Self; 6] =
        [Self::Predicate, Self::Short, Self::Word, Self::Long, Self::Float, Self::Double];

    /// The type in declarations and moves, without the dot.
    pub(crate) fn kind(self) -> &'static str {
        ["pred", "b16", "b32", "b64", "f32", "f64"][self as usize]
    }

    pub(crate) fn prefix(self) -> &'static str {
        ["%p", "%rs", "%r", "%rd", "%f", "%fd"][self as usize]
    }
}

impl Type {
    pub(crate) const BOOL: Self = Self::Int(1);

    /// The register for a value that is no aggregate.
    pub(crate) fn class(&self) -> Result<Class> {
        Ok(match self {
            Self::Int(1) => Class::Predicate,
            Self::Int(..=32) => Class::Word,
            Self::Int(..=64) | Self::Pointer(_) => Class::Long,
            Self::Float => Class::Float,
            Self::Double => Class::Double,
            Self::Int(bits) => return Err(Error::unknown(format!("integers of {bits} bits"))),
            _ => return Err(Error::unknown(format!("a register for {self:?}"))),
        })
    }

    /// Bits of a value that is no aggregate.
    pub(crate) fn bits(&self) -> u32 {
        match self {
            Self::Int(bits) => *bits,
            Self::Float => 32,
            _ => 64,
        }
    }

    /// The type of an element or a field, and its place.
    pub(crate) fn field(&self, index: u64) -> Result<(&Type, u64)> {
        match self {
            Self::Array(_, of) | Self::Vector(_, of) => Ok((of, index.saturating_mul(of.size()))),
            Self::Struct(packed, fields) => {
                let mut at = 0;
                for (number, field) in fields.iter().enumerate() {
                    if !packed {
                        at = u64::next_multiple_of(at, field.align());
                    }
                    if number as u64 == index {
                        return Ok((field, at));
                    }
                    at += field.size();
                }
                Err(Error::unknown(format!("field {index} of a structure of {}", fields.len())))
            }
            _ => Err(Error::unknown(format!("fields of {self:?}"))),
        }
    }

    /// How many elements or fields it has: nothing, if it is no aggregate.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Array(length, _) | Self::Vector(length, _) => Some(*length),
            Self::Struct(_, fields) => Some(fields.len() as u64),
            _ => None,
        }
    }

    /// All that it is made of, and where each lies.
    pub(crate) fn parts(&self) -> Result<Vec<(Type, u64)>> {
        let Some(length) = self.length() else { return Ok(vec![(self.clone(), 0)]) };
        let mut parts = Vec::new();
        for index in 0..length {
            let (field, at) = self.field(index)?;
            parts.extend(field.parts()?.into_iter().map(|(part, within)| (part, at + within)));
            if parts.len() > 4096 {
                return Err(Error::unknown("a value of more than 4096 parts"));
            }
        }
        Ok(parts)
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Void => 0,
            Self::Int(bits) => u64::from(bits.div_ceil(8)).next_power_of_two(),
            Self::Float => 4,
            Self::Double | Self::Pointer(_) => 8,
            Self::Array(length, of) => length.saturating_mul(of.size()),
            Self::Vector(length, of) => (length * of.size()).next_power_of_two(),
            Self::Struct(packed, fields) => {
                let last = fields.len().saturating_sub(1) as u64;
                let end = self.field(last).map_or(0, |(field, at)| at + field.size());
                if *packed { end } else { end.next_multiple_of(self.align()) }
            }
        }
    }

    pub(crate) fn align(&self) -> u64 {
        match self {
            Self::Array(_, of) => of.align(),
            Self::Struct(true, _) => 1,
            Self::Struct(false, fields) => fields.iter().map(Type::align).max().unwrap_or(1),
            _ => self.size().max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_c_has_them() {
        let array = Type::Array(3, Rc::new(Type::Int(16)));
        let fields = [Type::Int(8), array, Type::Double, Type::Int(8)];
        let plain = Type::Struct(false, fields.clone().into());
        let places = |of: &Type| of.parts().unwrap().iter().map(|(_, at)| *at).collect::<Vec<_>>();
        assert_eq!(places(&plain), [0, 2, 4, 6, 8, 16]);
        assert_eq!((plain.size(), plain.align()), (24, 8));
        let packed = Type::Struct(true, fields.into());
        assert_eq!(places(&packed), [0, 1, 3, 5, 7, 15]);
        assert_eq!((packed.size(), packed.align()), (16, 1));
        let vector = Type::Vector(3, Rc::new(Type::Float));
        assert_eq!((vector.size(), vector.align()), (16, 16));
    }
}
