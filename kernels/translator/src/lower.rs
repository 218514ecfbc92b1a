//! From one kernel's IR to PTX instructions: values become registers, numbers or addresses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Display;

use crate::code::{Arg, Block, Code, Kernel, Part};
use crate::ir::{Function, Id, Instruction, Module, Origin};
use crate::types::{Scalar, Space, Type};
use crate::{Error, Known, Result, graph};

mod call;
mod flow;
mod memory;
mod numbers;

/// A kernel while it is translated. What grows is in cells: so an operand of an instruction may be
/// the result of another in one expression. What is refused goes on, and is an error in the end.
pub(crate) struct Lower<'m> {
    function: &'m Function<'m>,
    kernel: RefCell<Kernel>,
    /// The parts of each value that has been computed.
    values: RefCell<HashMap<Id, Vec<Part>>>,
    /// What has been computed where, to be used again.
    computed: RefCell<HashMap<Computation, Vec<(usize, Part)>>>,
    /// Registers in which all bits from this one on are zero.
    short: RefCell<HashMap<Arg, u32>>,
    /// Addresses in a space: the generic one that each was made of.
    generic: RefCell<HashMap<Arg, Arg>>,
    refused: RefCell<Option<Error>>,
    /// The block of the IR, and the one that is written for it.
    from: Cell<Id>,
    block: Cell<usize>,
    /// The line of the source.
    line: Cell<u32>,
}

/// An instruction's text and operands.
type Computation = (String, Vec<Arg>);

/// A kernel's code.
pub(crate) fn kernel(module: &Module<'_>, function: &Function<'_>) -> Result<Kernel> {
    let end = |block| function.instructions(block).last().map(|(_, end)| end.blocks.clone());
    let ways = (0..function.blocks.len()).map(|block| end(block).unwrap_or_default());
    let ways: Vec<_> = ways.collect();
    let order = graph::order(&ways);
    let above = graph::dominators(&ways, &order).into_iter();
    let blocks = above.map(|above| Block { above, ..Block::default() });
    let lower = Lower {
        function,
        kernel: Kernel { blocks: blocks.collect(), ..Kernel::default() }.into(),
        values: RefCell::default(),
        computed: RefCell::default(),
        short: RefCell::default(),
        generic: RefCell::default(),
        refused: RefCell::default(),
        from: Cell::default(),
        block: Cell::default(),
        line: Cell::default(),
    };
    lower.named(module)?;
    for block in order {
        lower.from.set(block);
        lower.block.set(block);
        for (id, instruction) in function.instructions(block) {
            lower.line.set(instruction.line);
            let parts = lower.or_refuse(lower.instruction(id, instruction));
            lower.values.borrow_mut().insert(id, parts);
            if let Some(refused) = lower.refused.take() {
                return Err(refused.at(instruction.line));
            }
        }
    }
    Ok(lower.kernel.into_inner())
}

impl<'m> Lower<'m> {
    /// What a kernel is given is read first of all, and addresses that its variables have.
    fn named(&self, module: &Module<'_>) -> Result<()> {
        for global in &module.globals {
            self.symbol(global.space, global.symbol.clone());
        }
        for (id, value) in self.function.values.iter().enumerate() {
            let Origin::Given(space, kind) = &value.origin else { continue };
            let name = format!("{}_param_{id}", self.function.name);
            let place = self.symbol(Space::Parameter, name.clone());
            let (declared, parts) = match kind {
                _ if *space == Space::Parameter => {
                    (format!(".align {} .b8 {name}[{}]", kind.align(), kind.size()), vec![place])
                }
                Type::Scalar(of) => {
                    // A truth value has a byte.
                    let whole = if *of == Scalar::BOOL { Scalar::Int(8) } else { *of };
                    let what = (&Type::Scalar(whole), whole.size());
                    let mut parts = self.read("ld.param", place, what)?;
                    parts[0] = match *of {
                        Scalar::Pointer(_) => self.in_space(parts[0], *space),
                        Scalar::BOOL => self.pure(Scalar::BOOL, "setp.ne.u32 $0, $1, 0", &parts),
                        _ => parts[0],
                    };
                    (format!(".{} {name}", whole.in_memory()?), parts)
                }
                _ => return Err(Error::unknown(format_args!("a parameter of type {kind:?}"))),
            };
            self.kernel.borrow_mut().parameters.push(format!("\t.param {declared}"));
            self.values.borrow_mut().insert(id, parts);
        }
        Ok(())
    }

    /// An address with a name, which is in a register from here on.
    fn symbol(&self, space: Space, name: String) -> Part {
        let number = self.kernel.borrow().symbols.len();
        self.kernel.borrow_mut().symbols.push(name);
        let place = Part::new(Scalar::Pointer(space), Arg::Symbol(number));
        self.address(place);
        place
    }

    /// Refuses the kernel, if it is not refused already, and goes on with anything.
    fn refuse(&self, what: impl Display) -> Part {
        self.or_refuse(Err::<(), _>(Error::unknown(what)));
        Part::number(Scalar::WORD, 0)
    }

    fn or_refuse<T: Default>(&self, found: Result<T>) -> T {
        found.unwrap_or_else(|error| {
            self.refused.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    /// The parts of an instruction's result.
    fn instruction(&self, id: Id, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        match instruction.op {
            "phi" => Ok(self.parts(id)),
            "br" | "switch" | "ret" | "unreachable" => self.end(instruction),
            "alloca" => self.variable(instruction),
            "getelementptr" => self.element(instruction),
            "load" => self.load(instruction),
            "store" => self.store(instruction),
            "atomicrmw" | "cmpxchg" => self.atomic(instruction),
            "call" => self.call(instruction),
            "asm" => self.assembly(instruction),
            "select" => self.select(instruction),
            "icmp" | "fcmp" => self.compare(instruction),
            "freeze" => Ok(self.parts(instruction.operands::<1>()?[0])),
            "extractvalue" | "insertvalue" | "extractelement" | "insertelement" => {
                self.element_of_value(instruction)
            }
            "shufflevector" => self.shuffle(instruction),
            _ if instruction.of != Type::Void => self.convert(instruction),
            _ => self.arithmetic(instruction),
        }
    }

    /// What is done with each part of the operands; of an operand with one part, with that one.
    fn each(&self, operands: &[Id], what: impl Fn(usize, &[Part]) -> Part) -> Vec<Part> {
        let columns: Vec<_> = operands.iter().map(|operand| self.parts(*operand)).collect();
        let count = columns.iter().map(Vec::len).max().unwrap_or(1);
        let rows = (0..count).map(|at| {
            let row = columns.iter().map(|column| column.get(at).or(column.first()).copied());
            let row = row.collect::<Option<Vec<_>>>();
            row.map_or_else(|| self.refuse("a value of no parts here"), |row| what(at, &row))
        });
        rows.collect()
    }

    /// A part of a value that is taken out or put in.
    fn element_of_value(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [first] = instruction.operands()?;
        let mut path = instruction.indices.clone();
        if instruction.op.ends_with("element") {
            let index = instruction.operands.last().and_then(|id| self.function.number(*id));
            path.push(index.known("an element of a vector whose number varies")?);
        }
        let (mut kind, mut place) = (&self.function.values[first].kind, 0);
        let all = kind.parts()?;
        for index in path {
            let field = kind.fields().get(index as usize).copied();
            let (field, at) = field.known("an element that its value does not have")?;
            (kind, place) = (field, place + at);
        }
        let begin = all.iter().position(|(_, at)| *at == place).unwrap_or(all.len());
        let range = begin..begin + kind.parts()?.len();
        let mut parts = self.parts(first);
        let found = parts.get(range.clone()).known("an element that its vector does not have")?;
        if instruction.op.starts_with("extract") {
            return Ok(found.to_vec());
        }
        parts.splice(range, self.parts(instruction.operands::<2>()?[1]));
        Ok(parts)
    }

    fn shuffle(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [first, second, mask] = instruction.operands()?;
        let parts = [self.parts(first), self.parts(second)].concat();
        let part = |place: Part| parts.get(place.bits()? as usize).copied();
        let all = self.parts(mask).into_iter().map(part).collect::<Option<_>>();
        all.known("a shuffle beyond the vectors")
    }

    fn parts(&self, id: Id) -> Vec<Part> {
        if let Some(parts) = self.values.borrow().get(&id) {
            return parts.clone();
        }
        let value = &self.function.values[id];
        match &value.origin {
            Origin::Constant(parts) => parts.clone(),
            Origin::Undefined => self.or_refuse(Part::zeros(&value.kind)),
            Origin::Computed(phi) if phi.op == "phi" => self.phi(id, phi),
            Origin::Computed(by) if by.block.is_none() => self.or_refuse(self.instruction(id, by)),
            _ => vec![self.refuse("a value that is used before it is computed")],
        }
    }

    /// The only part of a value that is no aggregate.
    fn one(&self, id: Id) -> Part {
        match self.parts(id)[..] {
            [part] => part,
            ref parts => self.refuse(format_args!("a value of {} parts here", parts.len())),
        }
    }

    /// A part as an operand: a register, or a number. A pointer is generic.
    fn arg(&self, part: Part) -> Arg {
        match (part.kind, part.base) {
            (Scalar::Pointer(_), Arg::Reg(_) | Arg::Symbol(_)) => {
                self.address_in(part, Space::Generic).base
            }
            (Scalar::BOOL, Arg::Number(_, bit)) => {
                let word = self.in_register(Part::number(Scalar::WORD, bit));
                self.pure(Scalar::BOOL, "setp.ne.u32 $0, $1, 0", &[word]).base
            }
            (_, base) => base,
        }
    }

    /// The same part in a register.
    fn in_register(&self, part: Part) -> Part {
        match self.arg(part) {
            reg @ Arg::Reg(_) => Part::new(part.kind, reg),
            number => self.compute(part.kind, &move_text(part.kind), vec![number]),
        }
    }

    /// Notes that all bits of a register from this one on are zero.
    fn zeros_from(&self, part: Part, bits: u32) -> Part {
        self.short.borrow_mut().insert(part.base, bits);
        part
    }

    /// The result of an instruction that does nothing else. Its operands follow the text, if that
    /// has no places for them; a single one is in a register.
    fn pure(&self, kind: Scalar, text: &str, parts: &[Part]) -> Part {
        let args = match parts {
            [only] => vec![self.in_register(*only).base],
            parts => parts.iter().map(|part| self.arg(*part)).collect(),
        };
        let places: Vec<_> = (0..=args.len()).map(|place| format!("${place}")).collect();
        let places = if text.contains('$') { "" } else { &format!(" {}", places.join(", ")) };
        self.compute(kind, &format!("{text}{places}"), args)
    }

    /// The result of an instruction that does nothing else: of an earlier one, if it is the same
    /// and has been executed whenever this place is reached.
    fn compute(&self, kind: Scalar, text: &str, args: Vec<Arg>) -> Part {
        let key = (text.to_owned(), args);
        let earlier = self.computed.borrow().get(&key).and_then(|all| {
            all.iter().find(|(block, _)| self.dominates(*block)).map(|(_, result)| *result)
        });
        if let Some(earlier) = earlier {
            return Part { kind, ..earlier };
        }
        let result = self.register(kind);
        self.push(false, text, &[result], key.1.clone());
        let place = (self.block.get(), result);
        self.computed.borrow_mut().entry(key).or_default().push(place);
        result
    }

    /// Whether a block is executed before the one that is written, whenever that is.
    fn dominates(&self, one: usize) -> bool {
        let mut other = self.block.get();
        while other != one && other != 0 {
            other = self.kernel.borrow().blocks[other].above;
        }
        other == one
    }

    fn register(&self, kind: Scalar) -> Part {
        let registers = &mut self.kernel.borrow_mut().registers;
        registers.push(kind);
        Part::new(kind, Arg::Reg(registers.len() - 1))
    }

    /// Registers for all parts of a result.
    fn results(&self, kind: &Type) -> Vec<Part> {
        let kinds = self.or_refuse(kind.parts()).into_iter();
        kinds.map(|(kind, _)| self.register(kind)).collect()
    }

    /// A move into a register of this class.
    fn copy(&self, to: Part, from: Arg) {
        self.push(false, &move_text(to.kind), &[to], vec![from]);
    }

    /// Writes an instruction; whether it does more than to set its results, is said first.
    fn push(&self, acts: bool, text: &str, results: &[Part], args: Vec<Arg>) {
        let (text, line, count) = (text.to_owned(), self.line.get(), results.len());
        let args = results.iter().map(|part| part.base).chain(args).collect();
        let code = Code { text, args, results: count, acts, line };
        self.kernel.borrow_mut().blocks[self.block.get()].code.push(code);
    }
}

fn move_text(kind: Scalar) -> String {
    format!("mov.{} $0, $1", kind.ptx().replace('b', "u"))
}
