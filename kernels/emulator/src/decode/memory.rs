//! Instructions that access memory.

use crate::decode::{Decoder, Result};
use crate::program::{
    Access, Address, Atomic, AtomicKind, CopyAsync, Number, Op, Preset, Program, Scope, Strength,
};
use crate::registers::{Class, Slot, operation};
use crate::space::{LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, Space};
use crate::syntax::{Operand, size_of};
use crate::table::{self, Form};

/// Hints about caches, which change no result and no count, and the scope of an access.
const HINTS: [&str; 26] = [
    "weak",
    "cta",
    "gpu",
    "sys",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::cache_hint",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_normal",
    "L2::evict_last",
    "L2::evict_first",
    "noftz",
    "uni",
];
const ATOMIC: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "mmio"];

/// What the name of an access says.
struct Named {
    space: Space,
    strength: Strength,
    scope: Scope,
    acquires: bool,
    releases: bool,
    elements: usize,
    /// What is left of the modifiers.
    rest: Vec<String>,
    kind: String,
    bytes: usize,
}

impl Decoder<'_> {
    fn access(&self, name: &str) -> Result<Named> {
        let mut form = Form::new(name);
        while form.take_one_of(&HINTS).is_some() {}
        let (mut strength, mut acquires, mut releases) = (Strength::Weak, false, false);
        while let Some(how) = form.take_one_of(&ATOMIC) {
            strength = Strength::Atomic;
            acquires |= matches!(how, "acquire" | "acq_rel");
            releases |= matches!(how, "release" | "acq_rel");
        }
        if form.take("volatile") {
            strength = Strength::Volatile;
        }
        let spaces = [
            "global",
            "shared",
            "shared::cta",
            "local",
            "const",
            "param",
            "param::entry",
            "param::func",
        ];
        let space = match form.take_one_of(&spaces) {
            Some("global") => Space::Global,
            Some("shared" | "shared::cta") => Space::Shared,
            Some("local") => Space::Local,
            Some("const") => Space::Constant,
            Some(_) => Space::Parameter,
            None => Space::Generic,
        };
        let elements = match form.take_one_of(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1,
        };
        let kind = form.only_type().ok_or_else(|| self.unsupported(name))?;
        let bytes = size_of(kind).unwrap_or(16) as usize;
        if bytes > 8 || elements * bytes > 32 {
            return Err(self.unsupported(name));
        }
        let rest = form.modifiers.iter().map(|rest| (*rest).to_owned()).collect();
        let kind = kind.to_owned();
        let scope = scope_of(name);
        acquires &= scope == Scope::Grid;
        Ok(Named { space, strength, scope, acquires, releases, elements, rest, kind, bytes })
    }

    /// An access to this space of this width may be to shared or device memory.
    pub(super) fn note_width(&mut self, space: Space, bytes: usize) {
        let Program { granule, global_granule, .. } = &mut self.program;
        if matches!(space, Space::Shared | Space::Generic) {
            *granule = (*granule).min(bytes as u32);
        }
        if matches!(space, Space::Global | Space::Generic) {
            *global_granule = (*global_granule).min(bytes as u32);
        }
    }

    pub(super) fn address(&mut self, operand: &Operand, space: Space) -> Result<Address> {
        // A second part in the brackets would be a cache policy or coordinates.
        let Operand::Memory(base, offset, rest) = operand else {
            return Err(self.error("the operand is not an address"));
        };
        if !rest.is_empty() {
            return Err(self.unsupported("an address of several parts"));
        }
        let (mut space, offset) = (space, *offset);
        if let Operand::Name(name) = &**base {
            if let Some(own) = self.space_of(name) {
                space = own;
            }
            if let Some(slot @ Slot { class: Class::Narrow | Class::Wide, .. }) =
                self.register_if_any(name)
            {
                return Ok(Address { space, base: slot, offset });
            }
        }
        let base = self.source(base, Class::Wide)?;
        Ok(Address { space, base, offset })
    }

    fn register_if_any(&mut self, name: &str) -> Option<Slot> {
        self.any_register(&Operand::Name(name.to_owned())).ok().flatten()
    }

    fn elements(&mut self, operand: &Operand, count: usize) -> Result<Vec<Operand>> {
        let elements = match operand {
            Operand::Vector(elements) => elements.clone(),
            single => vec![single.clone()],
        };
        if elements.len() != count {
            return Err(self.error("not as many registers as elements"));
        }
        Ok(elements)
    }

    pub(super) fn load(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let named = self.access(name)?;
        // Behind the address there may be a cache policy.
        let ([result, address] | [result, address, _]) = operands else {
            return Err(self.wrong_operands(name));
        };
        if !named.rest.is_empty() {
            return Err(self.unsupported(name));
        }
        let mut registers = Vec::new();
        for element in self.elements(result, named.elements)? {
            registers.push(self.any_register(&element)?);
        }
        if registers.iter().flatten().any(|slot| slot.class == Class::Predicate) {
            return Err(self.error("a predicate cannot be loaded"));
        }
        let address = self.address(address, named.space)?;
        let signed = named.kind.starts_with('s');
        if let Some(start) = self.constant_parameter(&address) {
            return self.load_parameter(&registers, start, named.bytes, signed);
        }
        self.note_width(address.space, named.bytes * named.elements);
        let access = Access {
            address,
            bytes: named.bytes,
            signed,
            strength: named.strength,
            scope: named.scope,
            read_only: name.starts_with("ldu") || name.split('.').any(|part| part == "nc"),
            unused: std::mem::take(&mut self.unused_bytes) as u32,
            acquires: named.acquires,
            releases: named.releases,
            registers: registers.into(),
        };
        self.emit(Op::Load(Box::new(access)))
    }

    /// The offset among the arguments, if the address is known now.
    fn constant_parameter(&self, address: &Address) -> Option<u32> {
        if address.space != Space::Parameter {
            return None;
        }
        let mut presets = self.program.presets.iter();
        let (_, preset) = presets.find(|(slot, _)| *slot == address.base)?;
        let Preset::Bits(start) = preset else { return None };
        u32::try_from(start.wrapping_add(address.offset as u64)).ok()
    }

    fn load_parameter(
        &mut self,
        registers: &[Option<Slot>],
        start: u32,
        bytes: usize,
        signed: bool,
    ) -> Result<()> {
        for (number, slot) in registers.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let offset = start.saturating_add((number * bytes) as u32);
            let size = self.parameter_bytes;
            if offset.saturating_add(bytes as u32) > size {
                let what = format!("reads {bytes} bytes at {offset} of {size} bytes of parameters");
                return Err(self.error(what));
            }
            let preset = Preset::Parameter { offset, bytes: bytes as u8, signed };
            let value = self.constant(slot.class, preset)?;
            self.apply(table::copy(slot.class), slot, &[value])?;
        }
        Ok(())
    }

    pub(super) fn store(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let named = self.access(name)?;
        let ([address, value] | [address, value, _]) = operands else {
            return Err(self.wrong_operands(name));
        };
        if !named.rest.is_empty() || named.space == Space::Constant {
            return Err(self.unsupported(name));
        }
        let class = if named.bytes == 8 { Class::Wide } else { Class::Narrow };
        let mut registers = Vec::new();
        for element in self.elements(value, named.elements)? {
            // A register may be wider than what is stored of it.
            let slot = match &element {
                Operand::Name(name) => self.register_if_any(name),
                _ => None,
            };
            let slot = match slot {
                Some(slot) if named.bytes < 8 && slot.class == Class::Wide => slot,
                _ => self.source(&element, class)?,
            };
            registers.push(Some(slot));
        }
        let address = self.address(address, named.space)?;
        self.note_width(address.space, named.bytes * named.elements);
        let access = Access {
            address,
            bytes: named.bytes,
            signed: false,
            strength: named.strength,
            scope: named.scope,
            read_only: false,
            unused: 0,
            acquires: false,
            releases: named.releases,
            registers: registers.into(),
        };
        self.emit(Op::Store(Box::new(access)))
    }

    pub(super) fn atomic(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let named = self.access(name)?;
        let kind = match named.rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [kind] => atomic_kind(kind),
            _ => None,
        };
        let number = number(&named.kind, named.bytes);
        let (Some(kind), Some(number), 1) = (kind, number, named.elements) else {
            return Err(self.unsupported(name));
        };
        let only_add = !matches!(number, Number::Signed | Number::Unsigned);
        let is_swap = kind == AtomicKind::CompareAndSwap;
        let exchange = is_swap || kind == AtomicKind::Exchange;
        let fits = match only_add {
            true => kind == AtomicKind::Add,
            false => named.bytes >= 4,
        };
        if !exchange && !fits {
            return Err(self.unsupported(name));
        }
        let class = if named.bytes == 8 { Class::Wide } else { Class::Narrow };
        let mut rest = operands.iter();
        let result = match name.starts_with("atom") {
            true => match rest.next() {
                Some(result) => self.any_register(result)?,
                None => None,
            },
            false => None,
        };
        if result.is_some_and(|result| result.class != class) {
            return Err(self.error("the result has another size than the operation"));
        }
        let (Some(address), Some(operand)) = (rest.next(), rest.next()) else {
            return Err(self.error(format!("{name}: operands are missing")));
        };
        let address = self.address(address, named.space)?;
        let operand = self.source(operand, class)?;
        let swap = match (is_swap, rest.next()) {
            (true, Some(swap)) => Some(self.source(swap, class)?),
            (false, None) => None,
            _ => return Err(self.wrong_operands(name)),
        };
        self.note_width(address.space, named.bytes);
        self.emit(Op::Atomic(Box::new(Atomic {
            address,
            kind,
            number,
            bytes: named.bytes,
            scope: named.scope,
            acquires: named.acquires,
            releases: named.releases,
            is_reduction: name.starts_with("red"),
            counts: false,
            after_plain_read: false,
            result,
            operand,
            swap,
        })))
    }

    pub(super) fn copy_async(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        if !form.take("async") {
            return Err(self.unsupported(name));
        }
        while form.take_one_of(&HINTS).is_some() {}
        match form.modifiers[..] {
            ["commit_group"] => return self.emit(Op::CommitCopies),
            ["wait_all"] => {
                self.emit(Op::CommitCopies)?;
                return self.emit(Op::WaitForCopies(0));
            }
            ["wait_group"] => {
                let [Operand::Bits(groups)] = self.exactly(name, operands)? else {
                    return Err(self.unsupported(name));
                };
                return self.emit(Op::WaitForCopies(*groups as u32));
            }
            ["shared" | "shared::cta", "global"] => {}
            _ => return Err(self.unsupported(name)),
        }
        let (to, from, bytes, rest) = match operands {
            [to, from, Operand::Bits(bytes), rest @ ..] => (to, from, *bytes, rest),
            _ => return Err(self.wrong_operands(name)),
        };
        if !matches!(bytes, 4 | 8 | 16) {
            return Err(self.error(format!("{name} copies 4, 8 or 16 bytes")));
        }
        let source_bytes = match rest {
            [] => None,
            [_] if name.contains("cache_hint") => None,
            [size] | [size, _] => Some(self.source(size, Class::Narrow)?),
            _ => return Err(self.wrong_operands(name)),
        };
        let to = self.address(to, Space::Shared)?;
        let from = self.address(from, Space::Global)?;
        let bytes = bytes as usize;
        self.note_width(Space::Shared, bytes);
        self.note_width(Space::Global, bytes);
        self.emit(Op::CopyAsync(Box::new(CopyAsync { to, from, bytes, source_bytes })))
    }

    pub(super) fn convert_address(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let from_generic = form.take("to");
        let space =
            form.take_one_of(&["global", "const", "shared", "shared::cta", "local", "param"]);
        let operation = match (space, from_generic) {
            (Some("global" | "const"), _) => table::copy(Class::Wide),
            (Some("shared" | "shared::cta"), false) => {
                operation!(|a: u64| -> u64 { a.wrapping_add(SHARED_WINDOW) })
            }
            (Some("shared" | "shared::cta"), true) => {
                operation!(|a: u64| -> u64 { a.wrapping_sub(SHARED_WINDOW) })
            }
            (Some("local"), false) => {
                operation!(|a: u64| -> u64 { a.wrapping_add(LOCAL_WINDOW) })
            }
            (Some("local"), true) => {
                operation!(|a: u64| -> u64 { a.wrapping_sub(LOCAL_WINDOW) })
            }
            (Some(_), false) => {
                operation!(|a: u64| -> u64 { a.wrapping_add(PARAMETER_WINDOW) })
            }
            (Some(_), true) => {
                operation!(|a: u64| -> u64 { a.wrapping_sub(PARAMETER_WINDOW) })
            }
            (None, _) => return Err(self.unsupported(name)),
        };
        if form.only_type() != Some("u64") || !form.modifiers.is_empty() {
            return Err(self.unsupported(name));
        }
        let [result, source] = self.exactly(name, operands)?;
        let source = self.source(source, Class::Wide)?;
        let result = self.result(result, Class::Wide)?;
        self.apply(operation, result, &[source])
    }

    /// A cache policy is a hint: any number will do.
    pub(super) fn policy(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let Some(result) = operands.first().filter(|_| name.contains(".fractional.")) else {
            return Err(self.unsupported(name));
        };
        let result = self.result(result, Class::Wide)?;
        let zero = self.constant(Class::Wide, Preset::Bits(0))?;
        self.apply(table::copy(Class::Wide), result, &[zero])
    }
}

/// For which threads a fence or an access with this name counts.
pub(super) fn scope_of(name: &str) -> Scope {
    match name.split('.').any(|part| part == "cta") {
        true => Scope::Block,
        false => Scope::Grid,
    }
}

pub(super) fn atomic_kind(name: &str) -> Option<AtomicKind> {
    Some(match name {
        "add" => AtomicKind::Add,
        "min" => AtomicKind::Min,
        "max" => AtomicKind::Max,
        "and" => AtomicKind::And,
        "or" => AtomicKind::Or,
        "xor" => AtomicKind::Xor,
        "inc" => AtomicKind::Increment,
        "dec" => AtomicKind::Decrement,
        "exch" => AtomicKind::Exchange,
        "cas" => AtomicKind::CompareAndSwap,
        _ => return None,
    })
}

pub(super) fn number(kind: &str, bytes: usize) -> Option<Number> {
    Some(match kind {
        "f16x2" => Number::Pair,
        "bf16" => Number::BrainFloat,
        "bf16x2" => Number::BrainPair,
        "f16" | "f32" | "f64" => Number::Float,
        "s32" | "s64" => Number::Signed,
        _ if kind.contains('f') || bytes > 8 => return None,
        _ => Number::Unsigned,
    })
}
