//! PTX of one kernel before its registers have their names: blocks of instructions.

use std::collections::HashSet;
use std::fmt::Write;

use crate::Result;
use crate::types::{CLASSES, Scalar, Space, Type, mask, sign_extended};

/// A register, by its number.
pub(crate) type Reg = usize;

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arg {
    Reg(Reg),
    /// The bits of a number of this type.
    Number(Scalar, u64),
    /// One of a kernel's [symbols](Kernel::symbols).
    Symbol(usize),
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
        Self::new(kind, Arg::Number(kind, bits & mask(kind.bits())))
    }

    /// Zeros of all scalars that a type has.
    pub(crate) fn zeros(kind: &Type) -> Result<Vec<Self>> {
        Ok(kind.parts()?.into_iter().map(|(kind, _)| Self::number(kind, 0)).collect())
    }

    /// The bits of a constant.
    pub(crate) fn bits(self) -> Option<u64> {
        if let Arg::Number(_, bits) = self.base { Some(bits) } else { None }
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

/// An instruction.
pub(crate) struct Code {
    /// PTX with `$0`, `$1` and so on for the operands; it need not end with `;`.
    pub(crate) text: String,
    /// First the registers that it sets.
    pub(crate) args: Vec<Arg>,
    pub(crate) results: usize,
    /// Whether it does more than to set them.
    pub(crate) acts: bool,
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

    /// The registers of a move within a class: to and from. Others move bits, such as `mov.b32`.
    pub(crate) fn ends(&self) -> Option<(Reg, Reg)> {
        let moves = !self.acts && self.text.starts_with("mov.") && !self.text.starts_with("mov.b");
        match self.args[..] {
            [Arg::Reg(to), Arg::Reg(from)] if moves => Some((to, from)),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(crate) struct Block {
    pub(crate) code: Vec<Code>,
    /// What may come next: nothing, one block; or the first of two, if the predicate is true.
    pub(crate) next: Vec<usize>,
    pub(crate) by: Option<Reg>,
    /// The line of its end.
    pub(crate) line: u32,
    /// The last block before it that is always executed before it.
    pub(crate) above: usize,
}

#[derive(Default)]
pub(crate) struct Kernel {
    /// Declarations of parameters, and of variables on the stack.
    pub(crate) parameters: Vec<String>,
    pub(crate) locals: Vec<String>,
    /// What has an address with a name: the module's variables first, in their order.
    pub(crate) symbols: Vec<String>,
    pub(crate) blocks: Vec<Block>,
    /// What each register holds.
    pub(crate) registers: Vec<Scalar>,
}

impl Kernel {
    /// Declarations, and the blocks in this order.
    pub(crate) fn write(&self, order: &[usize]) -> String {
        let (mut names, mut counts) =
            (vec![String::new(); self.registers.len()], [1; CLASSES.len()]);
        let mut name = |arg: &Arg| match arg {
            Arg::Reg(reg) => {
                let class = self.registers[*reg].class();
                if names[*reg].is_empty() {
                    names[*reg] = format!("{}{}", CLASSES[class].1, counts[class]);
                    counts[class] += 1;
                }
                names[*reg].clone()
            }
            Arg::Number(Scalar::Float, bits) => format!("0f{bits:08X}"),
            Arg::Number(Scalar::Double, bits) => format!("0d{bits:016X}"),
            Arg::Number(kind, bits) => sign_extended(*bits, kind.bits()).to_string(),
            Arg::Symbol(number) => self.symbols[*number].clone(),
        };
        let (mut led_to, mut texts, mut last) = (HashSet::new(), Vec::new(), 0);
        for (at, number) in order.iter().enumerate() {
            let (block, next) = (&self.blocks[*number], order.get(at + 1));
            let mut text = String::new();
            let mut put = |line: u32, code: &str| {
                if line != 0 && line != last {
                    let _ = writeln!(text, "\t.loc 1 {line} 0");
                    last = line;
                }
                // What the source has in it may end in another way.
                let is_whole =
                    code.is_empty() || code.trim_end().ends_with(';') || code.starts_with('{');
                let _ = writeln!(text, "\t{code}{}", if is_whole { "" } else { ";" });
            };
            for code in &block.code {
                let args: Vec<_> = code.args.iter().map(&mut name).collect();
                put(code.line, &filled(&code.text, &args));
            }
            let mut rest = block.next.first();
            if let (Some(by), [yes, no]) = (block.by, &block.next[..]) {
                // To the next block there is no jump; a loop goes round with one.
                let place = |block: &usize| order.iter().position(|one| one == block);
                let turned = Some(yes) == next || Some(no) != next && place(no) < place(yes);
                let (not, to, other) = if turned { ("!", no, yes) } else { ("", yes, no) };
                put(block.line, &format!("@{not}{} bra $L{to}", name(&Arg::Reg(by))));
                led_to.insert(to);
                rest = Some(other);
            }
            if let Some(to) = rest.filter(|to| Some(*to) != next) {
                put(block.line, &format!("bra.uni $L{to}"));
                led_to.insert(to);
            }
            texts.push((number, text));
        }
        let texts = texts.iter().map(|(number, text)| match led_to.contains(number) {
            true => format!("$L{number}:\n{text}"),
            false => text.clone(),
        });
        let used = counts.iter().zip(CLASSES).filter(|(count, _)| **count > 1);
        let registers = used.map(|(n, (ptx, prefix))| format!("\t.reg .{ptx} {prefix}<{n}>;\n"));
        self.locals.iter().cloned().chain(registers).chain(texts).collect()
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
