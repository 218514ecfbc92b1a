//! Loads, stores and atomics.

use crate::code::{Arg, Part};
use crate::ir::Instruction;
use crate::lower::Lower;
use crate::table::find;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Known, Result};

/// Bytes of the widest access.
const WIDEST: u64 = 16;
/// Bytes that are copied or set at once.
const MOST: u64 = 4096;

/// What is accessed: scalars of a type, at an address that is a multiple of so much.
type What<'t> = (&'t Type, u64);

/// How memory is accessed, in an instruction's name.
fn how(instruction: &Instruction<'_>) -> &'static str {
    if instruction.has("volatile") { ".volatile" } else { "" }
}

impl Lower<'_> {
    pub(super) fn load(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let ([pointer], of) = (instruction.operands()?, &instruction.of);
        let place = self.one(pointer);
        let name = match (how(instruction), place.space()) {
            ("", Space::ReadOnly) => "ld.global.nc".to_owned(),
            (how, space) => format!("ld{how}{}", space.suffix()),
        };
        self.read(&name, place, (of, instruction.align.unwrap_or_else(|| of.align())))
    }

    fn read(&self, name: &str, place: Part, what: What<'_>) -> Result<Vec<Part>> {
        let kinds = what.0.parts()?;
        let registers = kinds.iter().map(|(kind, _)| self.register(kind.loaded()));
        let loaded: Vec<_> =
            registers.map(|part| self.zeros_from(part, part.kind.bits())).collect();
        self.access(name, place, what, &loaded, true)?;
        let pairs = loaded.into_iter().zip(kinds);
        Ok(pairs.map(|(part, (kind, _))| self.as_loaded(part, kind)).collect())
    }

    /// What has been loaded as a value of a type.
    pub(super) fn as_loaded(&self, part: Part, kind: Scalar) -> Part {
        if kind == Scalar::BOOL { self.is_set(part) } else { part }
    }

    pub(super) fn store(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [value, pointer] = instruction.operands()?;
        let of = &self.function.values[value].kind;
        let what = (of, instruction.align.unwrap_or_else(|| of.align()));
        self.write(how(instruction), self.one(pointer), what, &self.parts(value))
    }

    fn write(&self, how: &str, to: Part, what: What<'_>, parts: &[Part]) -> Result<Vec<Part>> {
        if to.space() == Space::Parameter {
            return Err(Error::new("a parameter is changed; copy it to a variable first"));
        }
        let stored = parts.iter().map(|part| match part.kind {
            Scalar::BOOL => self.extended(*part, Scalar::WORD, false),
            _ => self.in_register(*part),
        });
        let stored: Vec<_> = stored.collect();
        self.access(&format!("st{how}{}", to.space().suffix()), to, what, &stored, false)?;
        Ok(Vec::new())
    }

    /// Loads or stores of parts that are in registers: of those that lie side by side at once, one,
    /// two or four of the same size, at an address that is a multiple of their size.
    fn access(
        &self,
        name: &str,
        to: Part,
        what: What<'_>,
        parts: &[Part],
        loads: bool,
    ) -> Result<()> {
        let (places, mut done) = (what.0.parts()?, 0);
        while let [(kind, at), ..] = places[done..] {
            let size = kind.size();
            let known = if at == 0 { what.1 } else { what.1.min(1 << at.trailing_zeros()) };
            if known < size {
                return Err(Error::unknown(format_args!(
                    "an access of {size} bytes at an address that need not be a multiple of {size}"
                )));
            }
            let fits = |count: &usize| {
                let alike = (at..).step_by(size as usize).map(|at| (kind, at)).take(*count);
                let found = places[done..].iter().take(*count).copied();
                size * *count as u64 <= known.min(WIDEST) && found.eq(alike)
            };
            let count = [4, 2].into_iter().find(fits).unwrap_or(1);
            let these = parts.get(done..done + count).known("a value of another type here")?;
            done += count;
            let (base, address) = self.operand(to.plus(at), count);
            let (vector, values) =
                [("", "$0"), (".v2", "{$0, $1}"), (".v4", "{$0, $1, $2, $3}")][count / 2];
            let name = format!("{name}{vector}.{}", kind.in_memory()?);
            if loads {
                self.emit(&format!("{name} {values}, {address};"), these, vec![base]);
            } else {
                let args = these.iter().map(|part| part.base).chain([base]).collect();
                self.emit(&format!("{name} {address}, {values};"), &[], args);
            }
        }
        Ok(())
    }

    /// An address as an operand with this number: what it begins with, and the text.
    fn operand(&self, mut place: Part, number: usize) -> (Arg, String) {
        // An instruction has room for an offset of 32 bits; null is no address.
        if i32::try_from(place.offset).is_err() || place.bits().is_some() {
            place = self.in_register(self.address(place));
        }
        match place.offset {
            0 => (place.base, format!("[${number}]")),
            offset => (place.base, format!("[${number}+{offset}]")),
        }
    }

    pub(super) fn atomic(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [pointer, value] = instruction.operands()?;
        let (place, mut value) = (self.one(pointer), self.one(value));
        let (kind, swaps) = (value.kind, instruction.op == "cmpxchg");
        let (name, bits) =
            (if swaps { "compare" } else { instruction.name }, kind.bits().to_string());
        let operation = find("atomic", name).map(|text| text.replace('N', &bits));
        let operation = operation.filter(|text| kind.bits() >= 32 && text.ends_with(&bits));
        let operation =
            operation.known(format_args!("the atomic operation {name} on {bits} bits"))?;
        if name == "sub" {
            value = self.negated(value);
        }
        let (base, address) = self.operand(place, 1);
        let mut args = vec![base, self.arg(value)];
        let mut text = format!("atom{}.{operation} $0, {address}, $2", place.space().suffix());
        if swaps {
            args.push(self.arg(self.one(instruction.operands::<3>()?[2])));
            text += ", $3";
        }
        let old = self.register(kind);
        self.emit(&(text + ";"), &[old], args);
        let mut parts = vec![old];
        if swaps {
            parts.push(self.by_table("icmp.eq", Scalar::BOOL, &[old, value]));
        }
        Ok(parts)
    }

    /// `memcpy`, `memmove` and `memset` of a number of bytes that is known.
    pub(super) fn fill(&self, call: &Instruction<'_>) -> Result<Vec<Part>> {
        let ([to, from, bytes], name) = (call.operands()?, call.name.split('.').nth(1));
        let name = name.unwrap_or_default();
        let bytes = self.function.number(bytes).filter(|bytes| *bytes <= MOST).ok_or_else(|| {
            Error::new(format!(
                "{name} of more than {MOST} bytes, or of a number of bytes that is known only when \
                 the kernel runs: write a loop"
            ))
        })?;
        // Four bytes at a time, where both addresses are known to be multiples of four.
        let words = bytes % 4 == 0 && call.align >= Some(4);
        let kind = Scalar::Int(if words { 32 } else { 8 });
        let all = Type::Array(false, bytes / kind.size(), Type::Scalar(kind).into());
        let what = (&all, kind.size());
        let parts = if name == "memset" {
            let byte = self.function.number(from).known("memset of a byte that varies")?;
            vec![Part::number(kind, byte * 0x0101_0101); (bytes / kind.size()) as usize]
        } else {
            let source = self.one(from);
            self.read(&format!("ld{}", source.space().suffix()), source, what)?
        };
        self.write("", self.one(to), what, &parts)
    }
}
