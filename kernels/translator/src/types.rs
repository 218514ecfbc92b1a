//! Types of LLVM IR, and how values of them lie in memory.

use std::rc::Rc;

use crate::{Error, Known, Result};

/// A value has no more bytes than this.
const MOST: u64 = 1 << 22;

/// An address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    /// Device memory that nobody writes while the kernel runs.
    ReadOnly,
    Shared,
    Constant,
    Local,
    Parameter,
}

impl Space {
    /// By LLVM's number for NVPTX.
    pub(crate) fn numbered(number: &str) -> Result<Self> {
        let all = [Self::Generic, Self::Global, Self::Shared, Self::Constant, Self::Local];
        let place = ["0", "1", "3", "4", "5"].iter().position(|own| *own == number);
        place.map(|place| all[place]).known(format_args!("the address space {number}"))
    }

    /// What holds for an address in either.
    pub(crate) fn common(self, other: Self) -> Self {
        match self == other {
            true => self,
            false if self.suffix() == other.suffix() => Self::Global,
            false => Self::Generic,
        }
    }

    /// As a part of an instruction's name.
    pub(crate) fn suffix(self) -> &'static str {
        ["", ".global", ".global", ".shared", ".const", ".local", ".param"][self as usize]
    }
}

/// Classes of registers: their type in PTX, and what their names begin with.
pub(crate) const CLASSES: [(&str, &str); 6] =
    [("pred", "%p"), ("b16", "%rs"), ("b32", "%r"), ("b64", "%rd"), ("f32", "%f"), ("f64", "%fd")];

/// A type of values that have a register each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    Int(u32),
    /// A number of 16 bits in a register of such, which only PTX that the source has in it uses.
    Short,
    Float,
    Double,
    Pointer(Space),
}

impl Scalar {
    pub(crate) const BOOL: Self = Self::Int(1);
    pub(crate) const WORD: Self = Self::Int(32);
    pub(crate) const LONG: Self = Self::Int(64);

    /// The place of its register's class in [`CLASSES`]. The upper bits of an integer that has
    /// fewer may be anything.
    pub(crate) fn class(self) -> usize {
        match self {
            Self::BOOL => 0,
            Self::Short => 1,
            Self::Int(..=32) => 2,
            Self::Int(_) | Self::Pointer(_) => 3,
            Self::Float => 4,
            Self::Double => 5,
        }
    }

    /// The type of its register in PTX.
    pub(crate) fn ptx(self) -> &'static str {
        CLASSES[self.class()].0
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Int(bits) => bits,
            Self::Short => 16,
            Self::Float => 32,
            Self::Double | Self::Pointer(_) => 64,
        }
    }

    /// Bits of its register.
    pub(crate) fn width(self) -> u32 {
        if self.bits() <= 32 { 32 } else { 64 }
    }

    pub(crate) fn size(self) -> u64 {
        u64::from(self.bits().div_ceil(8)).next_power_of_two()
    }

    /// The type of an access to memory, and of a parameter.
    pub(crate) fn in_memory(self) -> Result<String> {
        let (bits, letter) = (self.bits(), if self.is_float() { 'f' } else { 'u' });
        let name = matches!(bits, 8 | 16 | 32 | 64).then(|| format!("{letter}{}", 8 * self.size()));
        name.known(format_args!("integers of {bits} bits in memory"))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Type {
    #[default]
    Void,
    Scalar(Scalar),
    /// Whether it is a vector, how many elements it has, and of which type.
    Array(bool, u64, Rc<Type>),
    /// Whether it is packed, and its fields.
    Struct(bool, Rc<[Type]>),
}

impl PartialEq<Scalar> for Type {
    fn eq(&self, kind: &Scalar) -> bool {
        matches!(self, Self::Scalar(own) if own == kind)
    }
}

impl Type {
    /// The types of its elements or fields, and where each lies.
    pub(crate) fn fields(&self) -> Vec<(&Type, u64)> {
        let mut at = 0;
        match self {
            Self::Void | Self::Scalar(_) => Vec::new(),
            Self::Array(_, length, of) => {
                (0..*length).map(|index| (&**of, index * of.size())).collect()
            }
            Self::Struct(packed, fields) => {
                let places = fields.iter().map(|field| {
                    let place = u64::next_multiple_of(at, if *packed { 1 } else { field.align() });
                    at = place + field.size();
                    (field, place)
                });
                places.collect()
            }
        }
    }

    /// All scalars that it is made of, and where each lies.
    pub(crate) fn parts(&self) -> Result<Vec<(Scalar, u64)>> {
        if let Self::Scalar(kind) = self {
            return Ok(vec![(*kind, 0)]);
        } else if self.size() > MOST {
            return Err(Error::unknown(format_args!("a value of more than {MOST} bytes")));
        }
        let mut parts = Vec::new();
        for (field, at) in self.fields() {
            parts.extend(field.parts()?.into_iter().map(|(part, within)| (part, at + within)));
        }
        Ok(parts)
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Void => 0,
            Self::Scalar(kind) => kind.size(),
            Self::Array(true, length, of) => (length * of.size()).next_power_of_two(),
            Self::Array(false, length, of) => length.saturating_mul(of.size()),
            Self::Struct(..) => {
                let end = self.fields().last().map_or(0, |(field, at)| at + field.size());
                end.next_multiple_of(self.align())
            }
        }
    }

    pub(crate) fn align(&self) -> u64 {
        match self {
            Self::Array(false, _, of) => of.align(),
            Self::Struct(true, _) => 1,
            Self::Struct(false, fields) => fields.iter().map(Type::align).max().unwrap_or(1),
            _ => self.size().max(1),
        }
    }
}

/// The bits of a number of so many bits.
pub(crate) fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

pub(crate) fn sign_extended(bits: u64, width: u32) -> i64 {
    (bits << (64 - width)) as i64 >> (64 - width)
}

#[cfg(test)]
mod tests;
