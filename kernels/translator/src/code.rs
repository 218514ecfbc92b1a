//! PTX of one kernel before its registers have their names: blocks of instructions.

use std::fmt::Write;
use std::rc::Rc;

use crate::types::Class;

/// A register, by its number.
pub(crate) type Reg = usize;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arg {
    Reg(Reg),
    /// A number, or the name of a variable.
    Text(Rc<str>),
}

impl Arg {
    pub(crate) fn text(text: impl ToString) -> Self {
        Self::Text(text.to_string().into())
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// PTX with `$0`, `$1` and so on for the operands.
    pub(crate) text: Rc<str>,
    /// First the registers that it sets.
    pub(crate) args: Vec<Arg>,
    pub(crate) results: usize,
    /// It does nothing but set its results.
    pub(crate) pure: bool,
    /// A move from register to register of the same class.
    pub(crate) copy: bool,
    /// The line of the source, or 0.
    pub(crate) line: u32,
}

impl Code {
    pub(crate) fn registers(&self) -> (impl Iterator<Item = Reg>, impl Iterator<Item = Reg>) {
        let reg = |arg: &Arg| match arg {
            Arg::Reg(reg) => Some(*reg),
            Arg::Text(_) => None,
        };
        let (set, used) = self.args.split_at(self.results);
        (set.iter().filter_map(reg), used.iter().filter_map(reg))
    }
}

/// How a block ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Jump(usize),
    /// To the first, if the predicate is true (or false, as the flag says), or else the second.
    Branch(Reg, bool, usize, usize),
    Return,
    Trap,
}

impl End {
    pub(crate) fn targets(&self) -> Vec<usize> {
        match *self {
            Self::Jump(to) => vec![to],
            Self::Branch(_, _, yes, no) => vec![yes, no],
            Self::Return | Self::Trap => Vec::new(),
        }
    }

    pub(crate) fn retarget(&mut self, change: impl Fn(usize) -> usize) {
        match self {
            Self::Jump(to) => *to = change(*to),
            Self::Branch(_, _, yes, no) => (*yes, *no) = (change(*yes), change(*no)),
            Self::Return | Self::Trap => {}
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) code: Vec<Code>,
    pub(crate) end: End,
    /// The line of its end.
    pub(crate) line: u32,
}

/// A kernel's blocks in the order in which they are written.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) blocks: Vec<Block>,
    /// By a block's number, where it is written.
    pub(crate) order: Vec<usize>,
    pub(crate) classes: Vec<Class>,
}

impl Kernel {
    pub(crate) fn register(&mut self, class: Class) -> Reg {
        self.classes.push(class);
        self.classes.len() - 1
    }

    /// Declarations of registers, and the instructions.
    pub(crate) fn write(&self, out: &mut String) {
        let mut counts = Class::ALL.map(|_| 1);
        let mut names = vec![None; self.classes.len()];
        for code in self.order.iter().flat_map(|block| &self.blocks[*block].code) {
            for arg in &code.args[..code.results] {
                let Arg::Reg(reg) = arg else { continue };
                let class = self.classes[*reg];
                names[*reg].get_or_insert_with(|| {
                    counts[class as usize] += 1;
                    format!("{}{}", class.prefix(), counts[class as usize] - 1)
                });
            }
        }
        for class in Class::ALL {
            let count = counts[class as usize];
            if count > 1 {
                let _ = writeln!(out, "\t.reg .{} {}<{count}>;", class.kind(), class.prefix());
            }
        }
        let name = |arg: &Arg| match arg {
            Arg::Text(text) => text.to_string(),
            // A register that nothing sets: what is in it does not matter.
            Arg::Reg(reg) => names[*reg].clone().unwrap_or_default(),
        };
        let mut last = 0;
        let mut line = |out: &mut String, line: u32| {
            if line != 0 && line != last {
                let _ = writeln!(out, "\t.loc 1 {line} 0");
                last = line;
            }
        };
        let mut place = vec![usize::MAX; self.blocks.len()];
        self.order.iter().enumerate().for_each(|(at, block)| place[*block] = at);
        let (mut written, mut led_to) = (Vec::new(), vec![false; self.blocks.len()]);
        for (at, number) in self.order.iter().enumerate() {
            let block = &self.blocks[*number];
            let mut text = String::new();
            for code in &block.code {
                line(&mut text, code.line);
                let code = filled(&code.text, |place| name(&code.args[place]));
                let _ = writeln!(text, "\t{code}");
            }
            line(&mut text, block.line);
            let is_next = |to: usize| place[to] == at + 1;
            let mut jump = |text: &mut String, how: &str, to: usize| {
                led_to[to] = true;
                let _ = writeln!(text, "\t{how} $L{to};");
            };
            match block.end {
                End::Return => text += "\tret;\n",
                End::Trap => text += "\ttrap;\n\texit;\n",
                End::Jump(to) if is_next(to) => {}
                End::Jump(to) => jump(&mut text, "bra.uni", to),
                End::Branch(by, when, yes, no) => {
                    // To the next block there is no jump; a loop goes round with one.
                    let turned = is_next(yes) || !is_next(no) && place[no] < place[yes];
                    let (when, to, rest) = if turned { (!when, no, yes) } else { (when, yes, no) };
                    let not = if when { "" } else { "!" };
                    jump(&mut text, &format!("@{not}{} bra", name(&Arg::Reg(by))), to);
                    if !is_next(rest) {
                        jump(&mut text, "bra.uni", rest);
                    }
                }
            }
            written.push((*number, text));
        }
        for (number, text) in written {
            if led_to[number] {
                let _ = writeln!(out, "$L{number}:");
            }
            *out += &text;
        }
    }
}

/// The text with the operands in their places: `$0`, `$12`; `$$` is a dollar.
pub(crate) fn filled(text: &str, operand: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out += before;
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        match after[..digits].parse() {
            Ok(place) => out += &operand(place),
            Err(_) => out.push('$'),
        }
        rest =
            if digits == 0 { after.strip_prefix('$').unwrap_or(after) } else { &after[digits..] };
    }
    out + rest
}
