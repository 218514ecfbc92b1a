//! Loads, stores and atomics.

use crate::code::{Arg, Reg};
use crate::ir::{Access, Id, Typed, Value};
use crate::lower::{Lower, Part, Place, memory_kind};
use crate::types::{Class, Type, space};
use crate::{Error, Result};

/// Bytes of the widest access.
const WIDEST: u64 = 16;

impl Lower<'_> {
    pub(super) fn load(
        &mut self,
        pointer: &Typed,
        access: &Access,
        kind: &Type,
        result: Option<Id>,
    ) -> Result<Vec<Part>> {
        let place = self.place(pointer)?;
        let read_only = match &pointer.value {
            Value::Local(id) => self.known[*id].read_only && place.space == space::GLOBAL,
            _ => false,
        };
        let name = match access {
            Access { volatile: true, .. } => format!("ld.volatile{}", space::suffix(place.space)),
            Access { atomic: true, .. } => format!("ld.relaxed.gpu{}", space::suffix(place.space)),
            _ if read_only => "ld.global.nc".to_owned(),
            _ => format!("ld{}", space::suffix(place.space)),
        };
        let mut parts = Vec::new();
        for group in groups(kind, access.align)? {
            let mut loaded: Vec<Reg> = Vec::new();
            for (part, _) in &group {
                let class = if *part == Type::BOOL { Class::Word } else { part.class()? };
                loaded.push(self.kernel.register(class));
            }
            self.access(&name, &place, &group, &loaded, &[])?;
            for ((part, _), reg) in group.iter().zip(loaded) {
                if let Type::Int(bits @ ..32) = part {
                    self.short.insert(reg, if *bits == 1 { 8 } else { *bits });
                }
                parts.push(match part {
                    Type::Int(1) => {
                        let text = "setp.ne.u32 $0, $1, 0;";
                        let args = vec![Arg::Reg(reg)];
                        let is_set = self.pure(Class::Predicate, text, args);
                        self.part(is_set, part)
                    }
                    part => self.part(Arg::Reg(reg), part),
                });
            }
        }
        // A pointer that the kernel is given within a structure.
        if let (Some(id), [Part::Place(place)]) = (result, &parts[..])
            && place.space != self.space_of(id)
        {
            let place = self.in_space(&place.clone(), self.space_of(id))?;
            return Ok(vec![Part::Place(place)]);
        }
        Ok(parts)
    }

    pub(super) fn store(&mut self, value: &Typed, to: &Typed, access: &Access) -> Result<()> {
        let place = self.place(to)?;
        if place.space == space::PARAMETER {
            return Err(Error::new("a parameter is changed; copy it to a variable first"));
        }
        let suffix = space::suffix(place.space);
        let name = match access {
            Access { volatile: true, .. } => format!("st.volatile{suffix}"),
            Access { atomic: true, .. } => format!("st.relaxed.gpu{suffix}"),
            _ => format!("st{suffix}"),
        };
        let mut parts = self.parts(&value.value, &value.kind)?.into_iter();
        for group in groups(&value.kind, access.align)? {
            let mut stored = Vec::new();
            for ((kind, _), part) in group.iter().zip(&mut parts) {
                stored.push(match kind {
                    Type::Int(1) => {
                        let is_set = self.reg(&part, kind)?;
                        self.pure(Class::Word, "selp.u32 $0, 1, 0, $1;", vec![is_set])
                    }
                    kind => self.reg(&part, kind)?,
                });
            }
            self.access(&name, &place, &group, &[], &stored)?;
        }
        Ok(())
    }

    /// One load or store of parts that lie side by side.
    fn access(
        &mut self,
        name: &str,
        place: &Place,
        group: &[(Type, u64)],
        loaded: &[Reg],
        stored: &[Arg],
    ) -> Result<()> {
        let (kind, at) = &group[0];
        let kind = memory_kind(kind)?;
        let offset = place.offset + *at as i64;
        // An instruction has room for an offset of 32 bits.
        let (base, offset) = match i32::try_from(offset) {
            Ok(offset) => (place.base.clone(), offset),
            Err(_) => (self.address(&Place { offset, ..place.clone() }), 0),
        };
        let list = |first: usize| {
            let all: Vec<_> = (first..first + group.len()).map(|at| format!("${at}")).collect();
            match group.len() {
                1 => all[0].clone(),
                _ => format!("{{{}}}", all.join(", ")),
            }
        };
        let vector = if group.len() == 1 { String::new() } else { format!(".v{}", group.len()) };
        let (address, values) = match loaded.is_empty() {
            true => (0, 1),
            false => (loaded.len(), 0),
        };
        let address = match offset {
            0 => format!("[${address}]"),
            offset => format!("[${address}+{offset}]"),
        };
        let values = list(values);
        let text = match loaded.is_empty() {
            true => format!("{name}{vector}.{kind} {address}, {values};"),
            false => format!("{name}{vector}.{kind} {values}, {address};"),
        };
        let args = [&[base], stored].concat();
        self.emit(&text, loaded, args);
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        name: &str,
        pointer: &Typed,
        value: &Typed,
        swap: Option<&Value>,
    ) -> Result<Vec<Part>> {
        let place = self.place(pointer)?;
        let kind = &value.kind;
        let is_float = matches!(kind, Type::Float | Type::Double);
        let bits = kind.bits();
        let operation = match (name, is_float) {
            ("fadd", true) => format!("add.f{bits}"),
            ("add" | "sub", false) => format!("add.u{bits}"),
            ("and" | "or" | "xor", false) => format!("{name}.b{bits}"),
            ("max" | "min", false) => format!("{name}.s{bits}"),
            ("umax" | "umin", false) => format!("{}.u{bits}", &name[1..]),
            ("uinc_wrap", false) if bits == 32 => "inc.u32".to_owned(),
            ("udec_wrap", false) if bits == 32 => "dec.u32".to_owned(),
            ("xchg", _) => format!("exch.b{bits}"),
            ("cas", false) => format!("cas.b{bits}"),
            _ => return Err(Error::unknown(format!("the atomic operation {name} of {kind:?}"))),
        };
        if !matches!(bits, 32 | 64) {
            return Err(Error::unknown(format!("atomic operations on {bits} bits")));
        }
        let mut operand = self.arg_of(value)?;
        if name == "sub" {
            let text = format!("neg.s{bits} $0, $1;");
            operand = self.pure(kind.class()?, &text, vec![operand]);
        }
        let mut args = vec![place.base.clone(), operand.clone()];
        let address = match place.offset {
            0 => "[$1]".to_owned(),
            offset => format!("[$1+{offset}]"),
        };
        let old = self.kernel.register(kind.class()?);
        let suffix = space::suffix(place.space);
        let Some(swap) = swap else {
            self.emit(&format!("atom{suffix}.{operation} $0, {address}, $2;"), &[old], args);
            return Ok(vec![self.part(Arg::Reg(old), kind)]);
        };
        let swap = self.one(swap, kind)?;
        args.push(self.arg(&swap, kind)?);
        self.emit(&format!("atom{suffix}.{operation} $0, {address}, $2, $3;"), &[old], args);
        let args = vec![Arg::Reg(old), operand];
        let text = format!("setp.eq.u{bits} $0, $1, $2;");
        let swapped = self.pure(Class::Predicate, &text, args);
        Ok(vec![self.part(Arg::Reg(old), kind), self.part(swapped, &Type::BOOL)])
    }

    /// `memcpy` and `memset` of so many bytes, which are known.
    pub(super) fn fill(
        &mut self,
        to: &Typed,
        from: Option<&Typed>,
        byte: u64,
        bytes: u64,
    ) -> Result<()> {
        if bytes > 4096 {
            return Err(Error::new(format!(
                "{bytes} bytes are copied or set at once: write a loop"
            )));
        }
        let mut moved = Vec::new();
        let target = self.place(to)?;
        let source = from.map(|from| self.place(from)).transpose()?;
        let mut places = [Some(&target), source.as_ref()].into_iter().flatten();
        // Four bytes at a time, where both addresses are known to be multiples of four.
        let width = match places.all(|place| self.is_aligned(place)) && bytes.is_multiple_of(4) {
            true => 4,
            false => 1,
        };
        let kind = Type::Int(8 * width as u32);
        for at in (0..bytes).step_by(width) {
            let value = match &source {
                None => {
                    let all = byte * if width == 4 { 0x0101_0101 } else { 1 };
                    self.reg(&Part::Bits(all), &kind)?
                }
                Some(source) => {
                    let reg = self.kernel.register(Class::Word);
                    let name = format!("ld{}", space::suffix(source.space));
                    self.access(&name, source, &[(kind.clone(), at)], &[reg], &[])?;
                    Arg::Reg(reg)
                }
            };
            moved.push((at, value));
        }
        let name = format!("st{}", space::suffix(target.space));
        for (at, value) in moved {
            self.access(&name, &target, &[(kind.clone(), at)], &[], &[value])?;
        }
        Ok(())
    }

    /// Whether an address is a multiple of four for certain: that of a variable on the stack, or
    /// of one whose alignment is known.
    fn is_aligned(&self, place: &Place) -> bool {
        let Arg::Text(name) = &place.base else { return false };
        let local = self.locals.iter().find(|local| *local.0 == **name).map(|local| local.1);
        let mut globals = self.module.globals.iter();
        let global = globals.find(|global| *crate::lower::global_name(&global.name) == **name);
        let align = local.or(global.map(|global| global.align));
        place.offset % 4 == 0 && align.is_some_and(|align| align >= 4)
    }
}

/// Parts of a value that one instruction can access: one, two or four of the same size, at an
/// address that is a multiple of their size.
fn groups(kind: &Type, align: u64) -> Result<Vec<Vec<(Type, u64)>>> {
    let parts = kind.parts()?;
    let mut groups = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let size = parts[at].0.size();
        let known = |place: u64| {
            if place == 0 { align } else { align.min(1 << place.trailing_zeros()) }
        };
        if known(parts[at].1) < size {
            return Err(Error::unknown(format!(
                "an access of {size} bytes at an address that need not be a multiple of {size}"
            )));
        }
        let fits = |count: usize| {
            let bytes = size * count as u64;
            bytes <= WIDEST
                && known(parts[at].1) >= bytes
                && parts.len() >= at + count
                && (0..count).all(|place| {
                    let part = &parts[at + place];
                    part.0 == parts[at].0 && part.1 == parts[at].1 + place as u64 * size
                })
        };
        let count = [4, 2].into_iter().find(|count| fits(*count)).unwrap_or(1);
        groups.push(parts[at..at + count].to_vec());
        at += count;
    }
    Ok(groups)
}
