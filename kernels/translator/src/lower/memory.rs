//! Loads, stores and atomics.

use crate::code::{Arg, Part, Symbol};
use crate::ir::{Instruction, Op};
use crate::lower::Lower;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

/// Bytes of the widest access.
const WIDEST: u64 = 16;

/// Scalars that lie side by side, with their places.
type Group = Vec<(Scalar, i64)>;

/// How memory is accessed, in an instruction's name.
fn how(instruction: &Instruction<'_>) -> &'static str {
    match (instruction.has("volatile"), instruction.has("atomic")) {
        (true, _) => ".volatile",
        (_, true) => ".relaxed.gpu",
        _ => "",
    }
}

impl<'m> Lower<'m> {
    pub(super) fn load(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let pointer = &instruction.operands::<1>()?[0];
        let place = self.place_of(pointer)?;
        let name = match (how(instruction), place.space()) {
            ("", Space::ReadOnly) => "ld.global.nc".to_owned(),
            (how, space) => format!("ld{how}{}", space.suffix()),
        };
        self.read(&name, place, &groups(&instruction.of, instruction.align)?)
    }

    fn read(&mut self, name: &str, place: Part, groups: &[Group]) -> Result<Vec<Part>> {
        let kinds = groups.iter().flatten().map(|(kind, _)| *kind);
        let loaded = kinds.map(|kind| {
            let word = if kind == Scalar::BOOL { Scalar::WORD } else { kind };
            let reg = self.kernel.register(word);
            self.short.insert(reg, kind.bits().max(8));
            Part::new(kind, reg)
        });
        let loaded: Vec<Part> = loaded.collect();
        self.access(name, place, groups, &loaded, true)?;
        let truth = |part: Part| {
            if part.kind == Scalar::BOOL { self.is_set(part) } else { Ok(part) }
        };
        loaded.into_iter().map(truth).collect()
    }

    pub(super) fn store(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let [value, pointer] = instruction.operands()?;
        let (place, parts) = (self.place_of(pointer)?, self.parts(value)?);
        let name = format!("st{}{}", how(instruction), place.space().suffix());
        self.write(&name, place, &groups(&value.kind, instruction.align)?, &parts)?;
        Ok(Vec::new())
    }

    fn write(&mut self, name: &str, place: Part, groups: &[Group], parts: &[Part]) -> Result<()> {
        if place.space() == Space::Parameter {
            return Err(Error::new("a parameter is changed; copy it to a variable first"));
        }
        let stored = parts.iter().map(|part| match part.kind {
            Scalar::BOOL => self.converted(Op::ZExt, *part, Scalar::WORD),
            _ => self.in_register(*part),
        });
        let stored = stored.collect::<Result<Vec<_>>>()?;
        match stored.len() == groups.iter().flatten().count() {
            true => self.access(name, place, groups, &stored, false),
            false => Err(Error::unknown("a value of another type here")),
        }
    }

    /// Loads or stores of parts that are in registers: of those that lie side by side at once.
    fn access(
        &mut self,
        name: &str,
        place: Part,
        groups: &[Group],
        mut parts: &[Part],
        loads: bool,
    ) -> Result<()> {
        for group in groups {
            let ((kind, at), (these, others)) = (group[0], parts.split_at(group.len()));
            parts = others;
            let number = if loads { these.len() } else { 0 };
            let (base, address) = self.operand(place.plus(at), number)?;
            let first = usize::from(!loads);
            let values: Vec<_> = (first..first + these.len()).map(|at| format!("${at}")).collect();
            let (vector, values) = match &values[..] {
                [one] => (String::new(), one.clone()),
                all => (format!(".v{}", all.len()), format!("{{{}}}", all.join(", "))),
            };
            let name = format!("{name}{vector}.{}", kind.in_memory()?);
            if loads {
                self.emit(&format!("{name} {values}, {address};"), these, vec![base]);
            } else {
                let args = [base].into_iter().chain(these.iter().map(|part| part.base)).collect();
                self.emit(&format!("{name} {address}, {values};"), &[], args);
            }
        }
        Ok(())
    }

    /// An address as an operand with this number: what it begins with, and the text.
    fn operand(&mut self, mut place: Part, number: usize) -> Result<(Arg, String)> {
        // An instruction has room for an offset of 32 bits.
        if i32::try_from(place.offset).is_err() {
            place = self.address(place)?;
        }
        Ok(match place.offset {
            0 => (place.base, format!("[${number}]")),
            offset => (place.base, format!("[${number}+{offset}]")),
        })
    }

    pub(super) fn atomic(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let [pointer, value] = instruction.operands()?;
        let place = self.place_of(pointer)?;
        let value = self.one(value)?;
        let (kind, bits, name) = (value.kind, value.kind.bits(), instruction.name);
        let operation = match (name, kind.is_float()) {
            ("fadd", true) => "add.f",
            ("add" | "sub", false) => "add.u",
            ("and", false) => "and.b",
            ("or", false) => "or.b",
            ("xor", false) => "xor.b",
            ("max", false) => "max.s",
            ("min", false) => "min.s",
            ("umax", false) => "max.u",
            ("umin", false) => "min.u",
            ("uinc_wrap", false) if bits == 32 => "inc.u",
            ("udec_wrap", false) if bits == 32 => "dec.u",
            ("xchg", _) => "exch.b",
            ("", false) => "cas.b",
            _ => return Err(Error::unknown(format!("the atomic operation {name} of {kind:?}"))),
        };
        if !matches!(bits, 32 | 64) {
            return Err(Error::unknown(format!("atomic operations on {bits} bits")));
        }
        let value = match name {
            "sub" => self.pure(kind, &format!("neg.s{bits}"), &[value])?,
            _ => value,
        };
        let (base, address) = self.operand(place, 1)?;
        let mut args = vec![base, self.arg(value)?];
        let mut text =
            format!("atom{}.{operation}{bits} $0, {address}, $2", place.space().suffix());
        if instruction.op == Op::CmpXchg {
            let swap = self.one(&instruction.operands::<3>()?[2])?;
            args.push(self.arg(swap)?);
            text += ", $3";
        }
        let mut parts = self.results(&[(kind, 0)]);
        self.emit(&(text + ";"), &parts, args);
        if instruction.op == Op::CmpXchg {
            let text = format!("setp.eq.u{bits}");
            parts.push(self.pure(Scalar::BOOL, &text, &[parts[0], value])?);
        }
        Ok(parts)
    }

    /// `memcpy`, `memmove` and `memset` of a number of bytes that is known.
    pub(super) fn fill(&mut self, call: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let ([to, from, bytes], name) = (call.operands()?, call.name.split('.').nth(1));
        let name = name.unwrap_or_default();
        let Some(bytes) = bytes.number() else {
            return Err(Error::new(format!(
                "{name} of a number of bytes that is known only when the kernel runs: write a loop"
            )));
        };
        if bytes > 4096 {
            let what = format!("{bytes} bytes are copied or set at once: write a loop");
            return Err(Error::new(what));
        }
        let target = self.place_of(to)?;
        let source = if name == "memset" { None } else { Some(self.place_of(from)?) };
        // Four bytes at a time, where both addresses are known to be multiples of four.
        let words = bytes % 4 == 0
            && [Some(target), source].iter().flatten().all(|place| self.is_aligned(*place));
        let kind = Scalar::Int(if words { 32 } else { 8 });
        let all = Type::Array(bytes / kind.size(), Type::Scalar(kind).into());
        let groups = groups(&all, Some(kind.size()))?;
        let parts = match (source, from.number()) {
            (Some(source), _) => {
                self.read(&format!("ld{}", source.space().suffix()), source, &groups)?
            }
            (None, Some(byte)) => vec![Part::number(kind, byte * 0x0101_0101); bytes as usize],
            _ => return Err(Error::unknown("memset of a byte that varies")),
        };
        let count = groups.iter().flatten().count();
        self.write(&format!("st{}", target.space().suffix()), target, &groups, &parts[..count])?;
        Ok(Vec::new())
    }

    /// Whether an address is a multiple of four for certain: that of a variable on the stack, or
    /// of one whose alignment is known.
    fn is_aligned(&self, place: Part) -> bool {
        let align = match place.base {
            Arg::Symbol(Symbol::Local(number)) => self.kernel.locals[number].0,
            Arg::Symbol(Symbol::Global(number)) => self.module.globals[number].align,
            _ => 1,
        };
        place.offset % 4 == 0 && align >= 4
    }
}

/// Parts of a value that one instruction can access: one, two or four of the same size, at an
/// address that is a multiple of their size.
fn groups(kind: &Type, align: Option<u64>) -> Result<Vec<Group>> {
    let align = align.unwrap_or_else(|| kind.align());
    let (parts, mut groups) = (kind.parts()?, Vec::new());
    let mut rest = &parts[..];
    while let [(first, at), ..] = rest {
        let size = first.size();
        let known = if *at == 0 { align } else { align.min(1 << at.trailing_zeros()) };
        if known < size {
            return Err(Error::unknown(format!(
                "an access of {size} bytes at an address that need not be a multiple of {size}"
            )));
        }
        let fits = |count: &usize| {
            let places = (*at..).step_by(size as usize);
            let alike = rest.iter().take(*count).zip(places);
            let alike = alike.filter(|(part, place)| **part == (*first, *place)).count() == *count;
            alike && size * *count as u64 <= known.min(WIDEST)
        };
        let (group, after) = rest.split_at([4, 2].into_iter().find(fits).unwrap_or(1));
        groups.push(group.to_vec());
        rest = after;
    }
    Ok(groups)
}
