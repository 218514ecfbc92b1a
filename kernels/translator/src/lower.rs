//! From one kernel's IR to PTX instructions: values become registers, numbers or addresses.

use std::collections::HashMap;

use crate::code::{Arg, Block, Code, Effect, Kernel, Part};
use crate::graph::Graph;
use crate::ir::{Function, Id, Instruction, Module, Origin};
use crate::spaces;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

mod address;
mod arithmetic;
mod call;
mod convert;
mod flow;
mod memory;

/// A kernel while it is translated.
pub(crate) struct Lower<'m> {
    function: &'m Function<'m>,
    /// Where each value points to, if it is a pointer.
    spaces: Vec<Space>,
    kernel: Kernel,
    /// For each block the one before it that is always executed before it. Blocks that were added
    /// come last, and are dominated by the one that they were made for.
    above: Vec<usize>,
    /// The parts of each value that has been computed.
    values: Vec<Option<Vec<Part>>>,
    /// What has been computed where, to be used again.
    computed: HashMap<Computation, Vec<(usize, Arg)>>,
    /// Registers in which all bits from this one on are zero.
    short: HashMap<Arg, u32>,
    /// Addresses in a space: the generic one that each was made of.
    generic: HashMap<Arg, Arg>,
    /// The block of the IR, and the one that is written for it.
    from: Id,
    block: usize,
    /// The line of the source.
    line: u32,
}

/// An instruction's text and operands.
type Computation = (String, Vec<Arg>);

/// A kernel's code.
pub(crate) fn kernel(module: &Module<'_>, function: &Function<'_>) -> Result<Kernel> {
    let all = 0..function.blocks.len();
    let end = |block| function.instructions(block).last();
    let ways =
        all.clone().map(|block| end(block).map_or(Vec::new(), |(_, end)| end.blocks.clone()));
    let graph = Graph::new(ways.collect());
    let mut lower = Lower {
        function,
        spaces: spaces::of(function),
        kernel: Kernel::default(),
        above: graph.dominators(),
        values: vec![None; function.values.len()],
        computed: HashMap::new(),
        short: HashMap::new(),
        generic: HashMap::new(),
        from: 0,
        block: 0,
        line: 0,
    };
    lower.kernel.blocks.extend(all.clone().map(|_| Block::default()));
    lower.named(module)?;
    for (id, phi) in all.flat_map(|block| function.instructions(block)) {
        if phi.op == "phi" {
            lower.phi(id, phi)?;
        }
    }
    for block in graph.order {
        (lower.from, lower.block) = (block, block);
        for (id, instruction) in function.instructions(block) {
            lower.line = instruction.line;
            lower.result(id, instruction).map_err(|error| error.at(instruction.line))?;
        }
    }
    Ok(lower.kernel)
}

impl<'m> Lower<'m> {
    /// What a kernel is given is read first of all, and addresses that its variables have.
    fn named(&mut self, module: &Module<'_>) -> Result<()> {
        for global in &module.globals {
            let name = self.kernel.symbol(global.symbol(), global.align);
            self.address(Part::new(Scalar::LONG, name))?;
        }
        for (id, value) in self.function.values.iter().enumerate() {
            let Origin::Given(space, kind) = &value.origin else { continue };
            let name = format!("{}_param_{id}", self.function.name);
            let symbol = self.kernel.symbol(name.clone(), 1);
            let (declared, part) = match (*space, kind) {
                (space @ Space::Parameter, kind) => {
                    let place = Part::new(Scalar::Pointer(space), symbol);
                    self.address(place)?;
                    (format!(".align {} .b8 {name}[{}]", kind.align(), kind.size()), place)
                }
                (space, Type::Scalar(kind)) => {
                    let of = kind.in_memory()?;
                    let word = if *kind == Scalar::BOOL { Scalar::WORD } else { *kind };
                    let given =
                        self.compute(word, &format!("ld.param.{of} $0, [$1];"), vec![symbol]);
                    self.short.insert(given.base, kind.bits());
                    let part = match *kind {
                        Scalar::BOOL => self.is_set(given)?,
                        Scalar::Pointer(_) => self.in_space(given, space)?,
                        _ => given,
                    };
                    (format!(".{of} {name}"), part)
                }
                (_, kind) => return Err(Error::unknown(format!("a parameter of type {kind:?}"))),
            };
            self.kernel.parameters.push(format!("\t.param {declared}"));
            self.values[id] = Some(vec![part]);
        }
        Ok(())
    }

    fn result(&mut self, id: Id, instruction: &'m Instruction<'m>) -> Result<()> {
        let mut parts = self.instruction(id, instruction)?;
        if let [Part { kind: Scalar::Pointer(_), .. }] = parts[..] {
            parts[0] = self.in_space(parts[0], self.spaces[id])?;
        }
        self.values[id] = Some(parts);
        Ok(())
    }

    /// The parts of an instruction's result.
    fn instruction(&mut self, id: Id, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        match instruction.op {
            "phi" => self.parts(id),
            "br" | "switch" | "ret" | "unreachable" => self.end(instruction),
            "alloca" => self.variable(instruction),
            "getelementptr" => self.element(instruction),
            "load" => self.load(instruction),
            "store" => self.store(instruction),
            "atomicrmw" | "cmpxchg" => self.atomic(instruction),
            "call" => self.call(instruction),
            "asm" => self.assembly(instruction),
            "select" => self.select(id, instruction),
            "icmp" | "fcmp" => self.compare(instruction),
            "freeze" => self.parts(instruction.operands::<1>()?[0]),
            "bitcast" => self.bitcast(instruction),
            "extractvalue" | "insertvalue" | "extractelement" | "insertelement" => {
                self.element_of_value(instruction)
            }
            "shufflevector" => self.shuffle(instruction),
            _ if instruction.of != Type::Void => self.convert(instruction),
            _ => self.arithmetic(instruction),
        }
    }

    /// What is done with each part of the operands; of an operand with one part, with that one.
    fn each(
        &mut self,
        operands: &[Id],
        mut what: impl FnMut(&mut Self, usize, &[Part]) -> Result<Part>,
    ) -> Result<Vec<Part>> {
        let columns = operands.iter().map(|operand| self.parts(*operand));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let count = columns.iter().map(Vec::len).max().unwrap_or(1);
        let rows = (0..count).map(|at| {
            let row = columns.iter().map(|column| column.get(at).or(column.first()).copied());
            let row = row.collect::<Option<Vec<_>>>();
            what(self, at, &row.ok_or_else(|| Error::unknown("a value of no parts here"))?)
        });
        rows.collect()
    }

    /// A part of a value that is taken out or put in.
    fn element_of_value(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [first] = instruction.operands()?;
        let mut path = instruction.indices.clone();
        if instruction.op.ends_with("element") {
            let index = instruction.operands.last().and_then(|id| self.function.number(*id));
            let varies = || Error::unknown("an element of a vector whose number varies");
            path.push(index.ok_or_else(varies)?);
        }
        let (mut kind, mut place) = (&self.function.values[first].kind, 0);
        let all = kind.parts()?;
        for index in path {
            let (field, at) = kind.field(index as i64)?;
            (kind, place) = (field, place + at);
        }
        let begin = all.iter().position(|(_, at)| *at == place).unwrap_or(all.len());
        let range = begin..begin + kind.parts()?.len();
        let mut parts = self.parts(first)?;
        if range.end > parts.len() {
            return Err(Error::unknown("an element that its vector does not have"));
        }
        if instruction.op.starts_with("extract") {
            return Ok(parts[range].to_vec());
        }
        parts.splice(range, self.parts(instruction.operands::<2>()?[1])?);
        Ok(parts)
    }

    fn shuffle(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [first, second, mask] = instruction.operands()?;
        let parts = [self.parts(first)?, self.parts(second)?].concat();
        let part = |place: Part| parts.get(place.bits()? as usize).copied();
        let all = self.parts(mask)?.into_iter().map(part).collect::<Option<_>>();
        all.ok_or_else(|| Error::unknown("a shuffle beyond the vectors"))
    }

    fn parts(&mut self, id: Id) -> Result<Vec<Part>> {
        let value = &self.function.values[id];
        match (&self.values[id], &value.origin) {
            (Some(parts), _) | (None, Origin::Constant(parts)) => Ok(parts.clone()),
            (None, Origin::Undefined) => Part::zeros(&value.kind),
            (None, Origin::Computed(by)) if by.block.is_none() => self.instruction(id, by),
            _ => Err(Error::unknown("a value that is used before it is computed")),
        }
    }

    /// The only part of a value that is no aggregate.
    fn one(&mut self, id: Id) -> Result<Part> {
        match self.parts(id)?[..] {
            [part] => Ok(part),
            ref parts => Err(Error::unknown(format!("a value of {} parts here", parts.len()))),
        }
    }

    /// A part as an operand: a register, or a number. A pointer is generic.
    fn arg(&mut self, part: Part) -> Result<Arg> {
        match (part.kind, part.base) {
            (Scalar::Pointer(_), Arg::Reg(_) | Arg::Symbol(_)) => {
                Ok(self.address_in(part, Space::Generic)?.base)
            }
            (Scalar::BOOL, Arg::Number(_, bit)) => {
                let word = self.in_register(Part::number(Scalar::WORD, bit))?;
                Ok(self.is_set(word)?.base)
            }
            (_, base) => Ok(base),
        }
    }

    /// The same part in a register.
    fn in_register(&mut self, part: Part) -> Result<Part> {
        Ok(match self.arg(part)? {
            reg @ Arg::Reg(_) => Part::new(part.kind, reg),
            number => self.compute(part.kind, &move_text(part.kind), vec![number]),
        })
    }

    /// Whether a number in a register is not 0.
    fn is_set(&mut self, part: Part) -> Result<Part> {
        self.pure(Scalar::BOOL, "setp.ne.u32 $0, $1, 0", &[Part { kind: Scalar::WORD, ..part }])
    }

    /// The result of an instruction that does nothing else. Its operands follow the text, if that
    /// has no places for them; a single one is in a register.
    fn pure(&mut self, kind: Scalar, text: &str, parts: &[Part]) -> Result<Part> {
        let args = match parts {
            [only] => vec![self.in_register(*only)?.base],
            parts => parts.iter().map(|part| self.arg(*part)).collect::<Result<_>>()?,
        };
        let mut text = text.to_owned();
        if !text.contains('$') {
            let places: Vec<_> = (0..=args.len()).map(|place| format!("${place}")).collect();
            text = format!("{text} {}", places.join(", "));
        }
        Ok(self.compute(kind, &(text + ";"), args))
    }

    /// The result of an instruction that does nothing else: of an earlier one, if it is the same
    /// and has been executed whenever this place is reached.
    fn compute(&mut self, kind: Scalar, text: &str, args: Vec<Arg>) -> Part {
        let key = (text.to_owned(), args);
        let earlier = self.computed.get(&key).into_iter().flatten();
        if let Some((_, reg)) = { earlier }.find(|(block, _)| self.dominates(*block)) {
            return Part::new(kind, *reg);
        }
        let reg = self.kernel.register(kind);
        self.push(Effect::Computes, text, vec![reg], key.1.clone());
        self.computed.entry(key).or_default().push((self.block, reg));
        Part::new(kind, reg)
    }

    /// Whether a block is executed before the one that is written, whenever that is.
    fn dominates(&self, one: usize) -> bool {
        let mut other = self.block;
        while other != one && other != 0 {
            other = self.above[other];
        }
        other == one
    }

    /// Registers for all parts of a result.
    fn results(&mut self, kinds: &[(Scalar, i64)]) -> Vec<Part> {
        let kinds = kinds.iter().map(|(kind, _)| *kind);
        kinds.map(|kind| Part::new(kind, self.kernel.register(kind))).collect()
    }

    /// Writes an instruction that does more than to compute.
    fn emit(&mut self, text: &str, results: &[Part], args: Vec<Arg>) {
        self.push(Effect::Acts, text, results.iter().map(|part| part.base).collect(), args);
    }

    /// A move into a register of this class.
    fn copy(&mut self, to: Part, from: Arg) {
        let effect = if from.reg().is_some() { Effect::Moves } else { Effect::Computes };
        self.push(effect, &move_text(to.kind), vec![to.base], vec![from]);
    }

    fn push(&mut self, effect: Effect, text: &str, results: Vec<Arg>, args: Vec<Arg>) {
        let (text, count, line) = (text.to_owned(), results.len(), self.line);
        let args = [results, args].concat();
        self.kernel.blocks[self.block].code.push(Code { text, args, results: count, effect, line });
    }
}

fn move_text(kind: Scalar) -> String {
    format!("mov.{} $0, $1;", kind.ptx().replace('b', "u"))
}
