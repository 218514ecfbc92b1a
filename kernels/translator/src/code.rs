//! PTX of one kernel before its registers have their names: blocks of instructions.

use std::collections::HashSet;
use std::fmt::Write;

use crate::types::{REGISTERS, Scalar, Space, mask, sign_extended};

/// A register, by its number.
pub(crate) type Reg = usize;

/// What has an address with a name: variables of the module, parameters, variables on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Symbol {
    Global(usize),
    Parameter(usize),
    Local(usize),
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arg {
    Reg(Reg),
    Number(i64),
    /// The bits of a float.
    Float(u32),
    Double(u64),
    Symbol(Symbol),
}

impl Arg {
    pub(crate) fn reg(&self) -> Option<Reg> {
        match self {
            Self::Reg(reg) => Some(*reg),
            _ => None,
        }
    }
}

/// One of the scalars that a value is made of. An address has an offset, and its kind says in
/// which space it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) kind: Scalar,
    pub(crate) base: Arg,
    pub(crate) offset: i64,
}

impl Part {
    pub(crate) fn new(kind: Scalar, base: Arg) -> Self {
        Self { kind, base, offset: 0 }
    }

    pub(crate) fn number(kind: Scalar, bits: u64) -> Self {
        let base = match kind {
            Scalar::Float => Arg::Float(bits as u32),
            Scalar::Double => Arg::Double(bits),
            _ => Arg::Number(sign_extended(bits, kind.bits())),
        };
        Self::new(kind, base)
    }

    /// The bits of a constant.
    pub(crate) fn bits(self) -> Option<u64> {
        match self.base {
            Arg::Number(number) => Some(number as u64 & mask(self.kind.bits())),
            Arg::Float(bits) => Some(bits.into()),
            Arg::Double(bits) => Some(bits),
            Arg::Reg(_) | Arg::Symbol(_) => None,
        }
    }

    /// An address so many bytes further.
    pub(crate) fn plus(self, bytes: i64) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }

    /// In which space an address is.
    pub(crate) fn space(self) -> Space {
        match self.kind {
            Scalar::Pointer(space) => space,
            _ => Space::Generic,
        }
    }
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effect {
    /// It moves from register to register of the same class.
    Moves,
    /// It does nothing but set its results.
    Computes,
    Acts,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// PTX with `$0`, `$1` and so on for the operands.
    pub(crate) text: String,
    /// First the registers that it sets.
    pub(crate) args: Vec<Arg>,
    pub(crate) results: usize,
    pub(crate) effect: Effect,
    /// The line of the source, or 0.
    pub(crate) line: u32,
}

impl Code {
    pub(crate) fn set(&self) -> impl Iterator<Item = Reg> {
        self.args[..self.results].iter().filter_map(Arg::reg)
    }

    pub(crate) fn used(&self) -> impl Iterator<Item = Reg> {
        self.args[self.results..].iter().filter_map(Arg::reg)
    }

    /// The registers of a move: to and from.
    pub(crate) fn ends(&self) -> Option<(Reg, Reg)> {
        match self.args[..] {
            [Arg::Reg(to), Arg::Reg(from)] if self.effect == Effect::Moves => Some((to, from)),
            _ => None,
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Block {
    pub(crate) code: Vec<Code>,
    /// What may come next: nothing, one block; or the first of two, if the predicate is true.
    pub(crate) next: Vec<usize>,
    pub(crate) by: Option<Reg>,
    /// The line of its end.
    pub(crate) line: u32,
}

/// A kernel's variables on the stack, and its blocks.
#[derive(Default)]
pub(crate) struct Kernel {
    /// Alignment and size of each.
    pub(crate) locals: Vec<(u64, u64)>,
    pub(crate) blocks: Vec<Block>,
    /// What each register holds.
    pub(crate) registers: Vec<Scalar>,
}

impl Kernel {
    pub(crate) fn register(&mut self, kind: Scalar) -> Arg {
        self.registers.push(kind.register());
        Arg::Reg(self.registers.len() - 1)
    }

    /// Declarations, and the blocks in this order.
    pub(crate) fn write(&self, order: &[usize], symbol: impl Fn(Symbol) -> String) -> String {
        let mut out = String::new();
        for (number, (align, bytes)) in self.locals.iter().enumerate() {
            let name = symbol(Symbol::Local(number));
            let _ = writeln!(out, "\t.local .align {align} .b8 {name}[{bytes}];");
        }
        let names = self.names(order, &mut out);
        let name = |arg: &Arg| match arg {
            // A register that nothing sets: what is in it does not matter.
            Arg::Reg(reg) => names[*reg].clone().unwrap_or_default(),
            Arg::Number(number) => number.to_string(),
            Arg::Float(bits) => format!("0f{bits:08X}"),
            Arg::Double(bits) => format!("0d{bits:016X}"),
            Arg::Symbol(name) => symbol(*name),
        };
        let (mut written, mut led_to, mut last) = (Vec::new(), HashSet::new(), 0);
        for (at, block) in order.iter().map(|number| &self.blocks[*number]).enumerate() {
            let mut lines = Vec::new();
            for code in &block.code {
                let args: Vec<_> = code.args.iter().map(name).collect();
                lines.push((code.line, filled(&code.text, &args)));
            }
            let place = |block: usize| order.iter().position(|other| *other == block);
            let mut jump = |how: &str, to: usize| {
                led_to.insert(to);
                lines.push((block.line, format!("{how} $L{to};")));
            };
            let mut rest = block.next.first().copied();
            if let (Some(by), [yes, no]) = (block.by, &block.next[..]) {
                // To the next block there is no jump; a loop goes round with one.
                let turned = match (place(*yes), place(*no)) {
                    (yes, _) if yes == Some(at + 1) => true,
                    (yes, no) => no != Some(at + 1) && no < yes,
                };
                let (not, to, other) = if turned { ("!", no, yes) } else { ("", yes, no) };
                jump(&format!("@{not}{} bra", name(&Arg::Reg(by))), *to);
                rest = Some(*other);
            }
            if let Some(to) = rest.filter(|to| place(*to) != Some(at + 1)) {
                jump("bra.uni", to);
            }
            written.push(lines);
        }
        for (number, lines) in order.iter().zip(written) {
            if led_to.contains(number) {
                let _ = writeln!(out, "$L{number}:");
            }
            for (line, text) in lines {
                if line != 0 && line != last {
                    let _ = writeln!(out, "\t.loc 1 {line} 0");
                    last = line;
                }
                let _ = writeln!(out, "\t{text}");
            }
        }
        out
    }

    /// Names for all registers that are set, in this order, and their declarations.
    fn names(&self, order: &[usize], out: &mut String) -> Vec<Option<String>> {
        let mut counts = REGISTERS.map(|_| 1);
        let mut names = vec![None; self.registers.len()];
        for reg in order.iter().flat_map(|block| &self.blocks[*block].code).flat_map(Code::set) {
            let place = REGISTERS.iter().position(|(own, ..)| *own == self.registers[reg]);
            let place = place.unwrap_or_default();
            names[reg].get_or_insert_with(|| {
                counts[place] += 1;
                format!("{}{}", REGISTERS[place].2, counts[place] - 1)
            });
        }
        for (count, (_, ptx, prefix)) in counts.iter().zip(REGISTERS).filter(|(n, _)| **n > 1) {
            let _ = writeln!(out, "\t.reg .{ptx} {prefix}<{count}>;");
        }
        names
    }
}

/// The text with the operands in their places: `$0`, `$12`; `$$` is a dollar.
fn filled(text: &str, args: &[String]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (place, after) = after.split_at(digits);
        let arg = place.parse::<usize>().ok().and_then(|place| args.get(place));
        out = out + before + arg.map_or("$", String::as_str);
        rest = if digits == 0 { after.strip_prefix('$').unwrap_or(after) } else { after };
    }
    out + rest
}
