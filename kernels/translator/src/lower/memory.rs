//! Loads, stores and atomics.

use crate::code::{Arg, Part};
use crate::ir::Instruction;
use crate::lower::Lower;
use crate::table::find;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

/// Bytes of the widest access.
const WIDEST: u64 = 16;

/// What is accessed: scalars of a type, at an address that is a multiple of so much.
type What<'t> = (&'t Type, u64);

/// How memory is accessed, in an instruction's name.
fn how(instruction: &Instruction<'_>) -> &'static str {
    match (instruction.has("volatile"), instruction.has("atomic")) {
        (true, _) => ".volatile",
        (_, true) => ".relaxed.gpu",
        _ => "",
    }
}

impl Lower<'_> {
    pub(super) fn load(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let ([pointer], of) = (instruction.operands()?, &instruction.of);
        let place = self.one(pointer)?;
        let name = match (how(instruction), place.space()) {
            ("", Space::ReadOnly) => "ld.global.nc".to_owned(),
            (how, space) => format!("ld{how}{}", space.suffix()),
        };
        self.read(&name, place, (of, instruction.align.unwrap_or_else(|| of.align())))
    }

    fn read(&mut self, name: &str, place: Part, what: What<'_>) -> Result<Vec<Part>> {
        let mut loaded = what.0.parts()?;
        for (kind, _) in &mut loaded {
            *kind = if *kind == Scalar::BOOL { Scalar::Int(8) } else { *kind };
        }
        let loaded = self.results(&loaded);
        loaded.iter().for_each(|part| _ = self.short.insert(part.base, part.kind.bits()));
        self.access(name, place, what, &loaded, true)?;
        let kinds = what.0.parts()?.into_iter();
        let truth = |(part, (kind, _)): (Part, _)| {
            if kind == Scalar::BOOL { self.is_set(part) } else { Ok(part) }
        };
        loaded.into_iter().zip(kinds).map(truth).collect()
    }

    pub(super) fn store(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [value, pointer] = instruction.operands()?;
        let (place, parts) = (self.one(pointer)?, self.parts(value)?);
        let of = &self.function.values[value].kind;
        let what = (of, instruction.align.unwrap_or_else(|| of.align()));
        self.write(how(instruction), place, what, &parts)
    }

    fn write(&mut self, how: &str, to: Part, what: What<'_>, parts: &[Part]) -> Result<Vec<Part>> {
        if to.space() == Space::Parameter {
            return Err(Error::new("a parameter is changed; copy it to a variable first"));
        }
        let stored = parts.iter().map(|part| match part.kind {
            Scalar::BOOL => self.extended(*part, Scalar::WORD, false),
            _ => self.in_register(*part),
        });
        let stored = stored.collect::<Result<Vec<_>>>()?;
        self.access(&format!("st{how}{}", to.space().suffix()), to, what, &stored, false)?;
        Ok(Vec::new())
    }

    /// Loads or stores of parts that are in registers: of those that lie side by side at once, one,
    /// two or four of the same size, at an address that is a multiple of their size.
    fn access(
        &mut self,
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
                return Err(Error::unknown(format!(
                    "an access of {size} bytes at an address that need not be a multiple of {size}"
                )));
            }
            let fits = |count: &usize| {
                let alike = (at..).step_by(size as usize).map(|at| (kind, at)).take(*count);
                let found = places[done..].iter().take(*count).copied();
                size * *count as u64 <= known.min(WIDEST) && found.eq(alike)
            };
            let count = [4, 2].into_iter().find(fits).unwrap_or(1);
            let these = parts.get(done..done + count);
            let these = these.ok_or_else(|| Error::unknown("a value of another type here"))?;
            done += count;
            let (base, address) = self.operand(to.plus(at), count)?;
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
    fn operand(&mut self, mut place: Part, number: usize) -> Result<(Arg, String)> {
        // An instruction has room for an offset of 32 bits; null is no address.
        if i32::try_from(place.offset).is_err() || place.bits().is_some() {
            let far = self.address(place)?;
            place = self.in_register(far)?;
        }
        Ok(match place.offset {
            0 => (place.base, format!("[${number}]")),
            offset => (place.base, format!("[${number}+{offset}]")),
        })
    }

    pub(super) fn atomic(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [pointer, value] = instruction.operands()?;
        let (place, mut value) = (self.one(pointer)?, self.one(value)?);
        let (kind, swaps) = (value.kind, instruction.op == "cmpxchg");
        let (name, bits) =
            (if swaps { "compare" } else { instruction.name }, kind.bits().to_string());
        let operation = find("atomic", name).map(|text| text.replace('N', &bits));
        let operation = operation.filter(|text| kind.bits() >= 32 && text.ends_with(&bits));
        let unknown = || Error::unknown(format!("the atomic operation {name} on {bits} bits"));
        let operation = operation.ok_or_else(unknown)?;
        if name == "sub" {
            value = self.negated(value)?;
        }
        let (base, address) = self.operand(place, 1)?;
        let mut args = vec![base, self.arg(value)?];
        let mut text = format!("atom{}.{operation} $0, {address}, $2", place.space().suffix());
        if swaps {
            let swap = self.one(instruction.operands::<3>()?[2])?;
            args.push(self.arg(swap)?);
            text += ", $3";
        }
        let mut parts = self.results(&[(kind, 0)]);
        self.emit(&(text + ";"), &parts, args);
        if swaps {
            parts.push(self.by_table("icmp.eq", Scalar::BOOL, &[parts[0], value])?);
        }
        Ok(parts)
    }

    /// `memcpy`, `memmove` and `memset` of a number of bytes that is known.
    pub(super) fn fill(&mut self, call: &Instruction<'_>) -> Result<Vec<Part>> {
        let ([to, from, bytes], name) = (call.operands()?, call.name.split('.').nth(1));
        let name = name.unwrap_or_default();
        let Some(bytes) = self.function.number(bytes) else {
            return Err(Error::new(format!(
                "{name} of a number of bytes that is known only when the kernel runs: write a loop"
            )));
        };
        if bytes > 4096 {
            let what = format!("{bytes} bytes are copied or set at once: write a loop");
            return Err(Error::new(what));
        }
        let target = self.one(to)?;
        let source = if name == "memset" { None } else { Some(self.one(from)?) };
        // Four bytes at a time, where both addresses are known to be multiples of four: those of
        // variables whose alignment is known.
        let is_aligned = |place: &Part| match place.base {
            Arg::Symbol(number) => place.offset % 4 == 0 && self.kernel.symbols[number].1 >= 4,
            _ => false,
        };
        let words = bytes % 4 == 0 && [Some(target), source].iter().flatten().all(is_aligned);
        let kind = Scalar::Int(if words { 32 } else { 8 });
        let count = bytes / kind.size();
        let all = Type::Array(count, Type::Scalar(kind).into());
        let parts = match (source, self.function.number(from)) {
            (Some(source), _) => {
                let name = format!("ld{}", source.space().suffix());
                self.read(&name, source, (&all, kind.size()))?
            }
            (None, Some(byte)) => vec![Part::number(kind, byte * 0x0101_0101); count as usize],
            _ => return Err(Error::unknown("memset of a byte that varies")),
        };
        self.write("", target, (&all, kind.size()), &parts)
    }
}
