//! Operands, and the instructions that are nothing but operations on them.

use crate::WARP;
use crate::decode::{Decoder, Named, Result};
use crate::program::{Op, Preset, Special};
use crate::registers::{Class, Operands, Operation, Role, Slot, operation, predicate_operation};
use crate::space::Space;
use crate::syntax::Operand;
use crate::table::{self, Form};

impl Decoder<'_> {
    /// The register with this name, which must be of this class.
    pub(super) fn register(&mut self, name: &str, class: Class) -> Result<Slot> {
        match self.find(name) {
            Some(Named::Register(slot)) if slot.class == class => Ok(slot),
            Some(Named::Register(_)) => {
                Err(self.error(format!("{name} has another size than the operation")))
            }
            _ => Err(self.error(format!("there is no register {name}"))),
        }
    }

    /// The register for a result.
    pub(super) fn result(&mut self, operand: &Operand, class: Class) -> Result<Slot> {
        match operand {
            Operand::Name(name) if name == "_" => self.new_register(class),
            Operand::Name(name) => self.register(name, class),
            _ => Err(self.error("the result is not a register")),
        }
    }

    /// A register, whatever its class. None for `_`.
    pub(super) fn any_register(&mut self, operand: &Operand) -> Result<Option<Slot>> {
        let Operand::Name(name) = operand else {
            return Err(self.error("an operand is not a register"));
        };
        if name == "_" {
            return Ok(None);
        }
        match self.find(name) {
            Some(Named::Register(slot)) => Ok(Some(slot)),
            _ => Err(self.error(format!("there is no register {name}"))),
        }
    }

    /// A register that holds the operand's value. Constants and addresses have one that
    /// holds them from the start.
    pub(super) fn source(&mut self, operand: &Operand, class: Class) -> Result<Slot> {
        match operand {
            Operand::Bits(bits) => self.constant(class, Preset::Bits(*bits)),
            Operand::Name(name) if name == "WARP_SZ" => {
                self.constant(class, Preset::Bits(WARP as u64))
            }
            Operand::Name(name) => {
                if let Some(Named::Register(_)) = self.find(name) {
                    return self.register(name, class);
                }
                match special(name) {
                    Some(special) => self.constant(class, Preset::Special(special)),
                    None => self.address_of(name, 0, class),
                }
            }
            Operand::Offset(name, offset) => self.address_of(name, *offset, class),
            Operand::Not(name) if class == Class::Predicate => {
                let value = self.register(name, class)?;
                let result = self.new_register(class)?;
                self.apply(predicate_operation!(|a| !a), result, &[value])?;
                Ok(result)
            }
            _ => Err(self.error("an operand of a kind that is not supported")),
        }
    }

    /// `p|q`: the first, and the second if there is one.
    pub(super) fn both(operand: &Operand) -> (&Operand, Option<&Operand>) {
        match operand {
            Operand::Both(first, second) => (first, Some(second)),
            only => (only, None),
        }
    }

    pub(super) fn constant(&mut self, class: Class, preset: Preset) -> Result<Slot> {
        let preset = match preset {
            Preset::Bits(bits) if class == Class::Narrow => {
                Preset::Bits(bits & u64::from(u32::MAX))
            }
            other => other,
        };
        if let Some(slot) = self.presets.get(&(class, preset)) {
            return Ok(*slot);
        }
        let slot = self.new_register(class)?;
        self.presets.insert((class, preset), slot);
        self.program.presets.push((slot, preset));
        Ok(slot)
    }

    /// The address of a variable, in its own space.
    fn address_of(&mut self, name: &str, offset: i64, class: Class) -> Result<Slot> {
        let bits = |place: u32| Preset::Bits(i64::from(place).wrapping_add(offset) as u64);
        let preset = match self.find(name) {
            Some(Named::Variable(Space::Shared, place)) => self.in_shared(place, offset),
            Some(Named::Variable(_, place) | Named::Parameter(place)) => bits(place),
            Some(_) => return Err(self.error(format!("{name} has no address"))),
            None => match self.variables.get(name).copied() {
                Some((_, variable)) if variable.space == "shared" => {
                    if variable.external {
                        let align = &mut self.program.dynamic_align;
                        *align = variable.align.max(u64::from(*align)) as u32;
                        if self.program.shared.iter().all(|array| array.start.is_some()) {
                            self.name_shared(variable, None);
                        }
                        Preset::Dynamic { offset }
                    } else {
                        let place = self.place_shared("", variable)?;
                        self.in_shared(place, offset)
                    }
                }
                Some((index, _)) => {
                    self.program.uses_variables = true;
                    Preset::Variable { index, offset }
                }
                None => match self.file.address_of(name) {
                    Some(address) => Preset::Bits(address.wrapping_add_signed(offset)),
                    None => return Err(self.error(format!("there is no {name}"))),
                },
            },
        };
        self.constant(class, preset)
    }

    /// The address of the array that starts at a place in shared memory.
    fn in_shared(&self, place: u32, offset: i64) -> Preset {
        let arrays = &self.program.shared;
        let array = arrays.iter().rposition(|array| array.start == Some(place));
        Preset::Shared { array: array.unwrap_or_default() as u16, offset }
    }

    /// The space in which a name has its address.
    pub(super) fn space_of(&mut self, name: &str) -> Option<Space> {
        match self.find(name) {
            Some(Named::Variable(space, _)) => Some(space),
            Some(Named::Parameter(_)) => Some(Space::Parameter),
            Some(_) => None,
            None => {
                let (_, variable) = self.variables.get(name)?;
                (variable.space == "shared").then_some(Space::Shared)
            }
        }
    }

    pub(super) fn apply(
        &mut self,
        operation: Operation,
        result: Slot,
        sources: &[Slot],
    ) -> Result<()> {
        let fits = operation.result == result.class
            && sources.iter().map(|s| s.class).eq(operation.sources.iter().copied());
        if !fits {
            return Err(self.error("operands of other sizes than the operation has"));
        }
        let mut operands = Operands { result: result.index, sources: [0; 4] };
        for (place, source) in operands.sources.iter_mut().zip(sources) {
            *place = source.index;
        }
        self.emit(Op::Compute(operation, operands))
    }

    /// An operation of the [table].
    pub(super) fn compute(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let operation = self.lookup(name)?;
        let Some((result, sources)) = operands.split_first() else {
            return Err(self.error(format!("{name} has no operands")));
        };
        if sources.len() != operation.sources.len() {
            return Err(self.wrong_operands(name));
        }
        let mut slots = Vec::new();
        for (source, class) in sources.iter().zip(operation.sources) {
            slots.push(self.source(source, *class)?);
        }
        let result = self.result(result, operation.result)?;
        self.apply(operation, result, &slots)
    }

    /// `setp`, which may combine its result with another predicate, and may give the
    /// opposite, too.
    pub(super) fn compare(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let combine = form.take_one_of(&["and", "or", "xor"]);
        let plain = match combine {
            Some(combine) => name.replacen(&format!(".{combine}"), "", 1),
            None => name.to_owned(),
        };
        let operation = self.lookup(&plain)?;
        let (results, a, b, c) = match (operands, combine) {
            ([results, a, b], None) => (results, a, b, None),
            ([results, a, b, c], Some(_)) => (results, a, b, Some(c)),
            _ => return Err(self.wrong_operands(name)),
        };
        let sources =
            [self.source(a, operation.sources[0])?, self.source(b, operation.sources[1])?];
        let (yes, no) = Self::both(results);
        let yes = self.result(yes, Class::Predicate)?;
        if c.is_none() && no.is_none() {
            return self.apply(operation, yes, &sources);
        }
        let also = c.map(|c| self.source(c, Class::Predicate)).transpose()?;
        let no = no.map(|no| self.result(no, Class::Predicate)).transpose()?;
        // The last of several instructions would run under a changed guard.
        let guard = self.guard.map(|(guard, _)| guard);
        if no.is_some() && [Some(yes.index), no.map(|no| no.index)].contains(&guard) {
            return Err(self.unsupported("a guard that its instruction changes"));
        }
        let compared = self.new_register(Class::Predicate)?;
        self.apply(operation, compared, &sources)?;
        let opposite = self.new_register(Class::Predicate)?;
        self.apply(predicate_operation!(|a| !a), opposite, &[compared])?;
        let combined = combination(combine);
        let also = also.unwrap_or(compared);
        if let Some(no) = no {
            // `also` may be one of the results.
            let kept = self.new_register(Class::Predicate)?;
            self.apply(table::copy(Class::Predicate), kept, &[also])?;
            self.apply(combined, yes, &[compared, kept])?;
            return self.apply(combined, no, &[opposite, kept]);
        }
        self.apply(combined, yes, &[compared, also])
    }

    /// `set`: a comparison whose result is a number, for each half of pairs.
    pub(super) fn set(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let combine = form.take_one_of(&["and", "or", "xor"]);
        let ([to, from], [result, a, b, rest @ ..]) = (&form.types[..], operands) else {
            return Err(self.unsupported(name));
        };
        let also = match (rest, combine) {
            ([], None) => None,
            ([also], Some(_)) => Some(self.source(also, Class::Predicate)?),
            _ => return Err(self.wrong_operands(name)),
        };
        let (to, from) = (*to, *from);
        let pairs = matches!(from, "f16x2" | "bf16x2");
        let number = match (to, pairs) {
            ("u32" | "s32", false) => {
                operation!(|yes: bool| -> u32 { if yes { !0 } else { 0 } })
            }
            ("f32", false) => {
                operation!(|yes: bool| -> u32 { if yes { 0x3f80_0000 } else { 0 } })
            }
            ("u16" | "s16", false) => {
                operation!(|yes: bool| -> u16 { if yes { !0 } else { 0 } })
            }
            ("f16", false) => {
                operation!(|yes: bool| -> u16 { if yes { 0x3c00 } else { 0 } })
            }
            ("u32" | "s32", true) => operation!(|low: bool, high: bool| -> u32 {
                (if low { 0xffff } else { 0 }) | if high { 0xffff_0000 } else { 0 }
            }),
            ("f16x2", true) => operation!(|low: bool, high: bool| -> u32 {
                (if low { 0x3c00 } else { 0 }) | if high { 0x3c00_0000 } else { 0 }
            }),
            _ => return Err(self.unsupported(name)),
        };
        let how = form.modifiers.join(".");
        let halves = if pairs { &[".lower", ".upper"][..] } else { &[""] };
        let mut answers = Vec::new();
        for half in halves {
            let compared = table::lookup(&format!("setp.{how}{half}.{from}"));
            let compared = compared.ok_or_else(|| self.unsupported(name))?;
            let sources =
                [self.source(a, compared.sources[0])?, self.source(b, compared.sources[1])?];
            let answer = self.new_register(Class::Predicate)?;
            self.apply(compared, answer, &sources)?;
            if let Some(also) = also {
                self.apply(combination(combine), answer, &[answer, also])?;
            }
            answers.push(answer);
        }
        let result = self.result(result, Class::Narrow)?;
        self.apply(number, result, &answers)
    }

    /// `cvt`, whose registers may be wider than its types.
    pub(super) fn convert(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let operation = self.lookup(name)?;
        let ([result, source], [_]) = (operands, operation.sources) else {
            return self.compute(name, operands);
        };
        let source = match self.wide_register(source) {
            Some(wide) if operation.sources == [Class::Narrow] => {
                let part = self.new_register(Class::Narrow)?;
                let low = operation!(|a: u64| -> u32 { a as u32 });
                self.apply(low.with(Role::Bits), part, &[wide])?;
                part
            }
            _ => self.source(source, operation.sources[0])?,
        };
        let wide = self.wide_register(result);
        let Some(wide) = wide.filter(|_| operation.result == Class::Narrow) else {
            let result = self.result(result, operation.result)?;
            return self.apply(operation, result, &[source]);
        };
        let part = self.new_register(Class::Narrow)?;
        self.apply(operation, part, &[source])?;
        let extended = match Form::new(name).types[0].starts_with('s') {
            true => operation!(|a: i32| -> i64 { a.into() }),
            false => operation!(|a: u32| -> u64 { a.into() }),
        };
        self.apply(extended.with(Role::Bits), wide, &[part])
    }

    /// The operand, if it is a register of 64 bits.
    fn wide_register(&mut self, operand: &Operand) -> Option<Slot> {
        let slot = self.any_register(operand).ok().flatten();
        slot.filter(|slot| slot.class == Class::Wide)
    }

    /// `mov`: also of addresses and clocks, and between a vector and a register.
    pub(super) fn move_value(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let [result, source] = self.exactly(name, operands)?;
        match (result, source) {
            (Operand::Vector(parts), whole) => self.unpack(name, parts, whole),
            (whole, Operand::Vector(parts)) => self.pack(name, whole, parts),
            (result, Operand::Name(clock)) if is_clock(clock) => {
                match self.any_register(result)? {
                    Some(result) => self.emit(Op::Clock(result)),
                    None => self.emit(Op::Nothing),
                }
            }
            _ => self.compute(name, operands),
        }
    }

    fn pack(&mut self, name: &str, whole: &Operand, parts: &[Operand]) -> Result<()> {
        let size = Form::new(name).only_type().and_then(crate::syntax::size_of);
        let operation = match (size, parts.len()) {
            (Some(4), 2) => {
                operation!(|a: u16, b: u16| -> u32 { u32::from(a) | u32::from(b) << 16 })
            }
            (Some(4), 4) => {
                operation!(|a: u8, b: u8, c: u8, d: u8| -> u32 { u32::from_le_bytes([a, b, c, d]) })
            }
            (Some(8), 2) => {
                operation!(|a: u32, b: u32| -> u64 { u64::from(a) | u64::from(b) << 32 })
            }
            (Some(8), 4) => operation!(|a: u16, b: u16, c: u16, d: u16| -> u64 {
                u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
            }),
            (Some(2), 2) => {
                operation!(|a: u8, b: u8| -> u16 { u16::from_le_bytes([a, b]) })
            }
            _ => return Err(self.unsupported(&format!("{name} of this vector"))),
        };
        let mut sources = Vec::new();
        for part in parts {
            sources.push(self.source(part, Class::Narrow)?);
        }
        let result = self.result(whole, operation.result)?;
        self.apply(operation.with(Role::Bits), result, &sources)
    }

    fn unpack(&mut self, name: &str, parts: &[Operand], whole: &Operand) -> Result<()> {
        let size = Form::new(name).only_type().and_then(crate::syntax::size_of);
        let bits = match (size, parts.len()) {
            (Some(4), 2) | (Some(8), 4) => 16,
            (Some(8), 2) => 32,
            (Some(4), 4) | (Some(2), 2) => 8,
            _ => return Err(self.unsupported(&format!("{name} to this vector"))),
        };
        let class = if size == Some(8) { Class::Wide } else { Class::Narrow };
        let mut whole = self.source(whole, class)?;
        if class == Class::Narrow {
            // A part may take the place of the whole.
            let kept = self.new_register(class)?;
            self.apply(table::copy(class), kept, &[whole])?;
            whole = kept;
        }
        let part_of = match (class, bits) {
            (Class::Wide, 16) => {
                operation!(|a: u64, shift: u32| -> u16 { (a >> shift) as u16 })
            }
            (Class::Wide, _) => {
                operation!(|a: u64, shift: u32| -> u32 { (a >> shift) as u32 })
            }
            (_, 16) => {
                operation!(|a: u32, shift: u32| -> u16 { (a >> shift) as u16 })
            }
            _ => operation!(|a: u32, shift: u32| -> u8 { (a >> shift) as u8 }),
        };
        for (number, part) in parts.iter().enumerate() {
            if *part == Operand::Name("_".to_owned()) {
                continue;
            }
            let shift = Preset::Bits(bits * number as u64);
            let shift = self.constant(Class::Narrow, shift)?;
            let result = self.result(part, Class::Narrow)?;
            self.apply(part_of.with(Role::Bits), result, &[whole, shift])?;
        }
        Ok(())
    }
}

/// What a comparison's result and a further predicate become.
fn combination(how: Option<&str>) -> Operation {
    match how {
        Some("and") => predicate_operation!(|a, b| a & b),
        Some("or") => predicate_operation!(|a, b| a | b),
        Some(_) => predicate_operation!(|a, b| a ^ b),
        None => predicate_operation!(|a, _b| a),
    }
}

fn is_clock(name: &str) -> bool {
    matches!(name, "%clock" | "%clock64" | "%clock_hi" | "%globaltimer")
}

fn special(name: &str) -> Option<Special> {
    let axis = |suffix| ["x", "y", "z"].iter().position(|axis| *axis == suffix);
    Some(match name.split_once('.') {
        Some(("%tid", suffix)) => Special::Thread(axis(suffix)?),
        Some(("%ntid", suffix)) => Special::Threads(axis(suffix)?),
        Some(("%ctaid", suffix)) => Special::Block(axis(suffix)?),
        Some(("%nctaid", suffix)) => Special::Blocks(axis(suffix)?),
        Some(_) => return None,
        None => match name {
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%lanemask_eq" => Special::LanesEqual,
            "%lanemask_lt" => Special::LanesBefore,
            "%lanemask_le" => Special::LanesUpTo,
            "%lanemask_gt" => Special::LanesAfter,
            "%lanemask_ge" => Special::LanesFrom,
            "%dynamic_smem_size" => Special::DynamicSharedBytes,
            "%total_smem_size" => Special::SharedBytes,
            "%smid" | "%gridid" => Special::Zero,
            "%nsmid" => Special::One,
            name if name.starts_with("%envreg") => Special::Cooperation,
            _ => return None,
        },
    })
}
