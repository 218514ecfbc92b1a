//! From one kernel's IR to PTX instructions: values become registers, numbers or addresses.

use std::collections::HashMap;

use crate::code::{Arg, Block, Kernel, Part, Symbol};
use crate::graph::Graph;
use crate::ir::{Function, Instruction, Module, Op, Typed, Value};
use crate::spaces;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

mod address;
mod arithmetic;
mod call;
mod compare;
mod convert;
mod flow;
mod memory;
mod operand;

/// A kernel while it is translated.
pub(crate) struct Lower<'m> {
    module: &'m Module<'m>,
    function: &'m Function<'m>,
    /// Where each value points to, if it is a pointer.
    spaces: Vec<Space>,
    kernel: Kernel,
    /// For each block the one before it that is always executed before it. Blocks that were added
    /// come last, and are dominated by the one that they were made for.
    above: Vec<usize>,
    /// The parts of each value, once it is computed.
    values: Vec<Option<Vec<Part>>>,
    /// The instruction that each value comes from, and how many times it is used.
    definitions: Vec<Option<&'m Instruction<'m>>>,
    uses: Vec<usize>,
    /// What has been computed where, to be used again.
    computed: HashMap<Computation, Vec<(usize, Arg)>>,
    /// Registers in which all bits from this one on are zero.
    short: HashMap<Arg, u32>,
    /// Addresses in a space: the generic one that each was made of.
    generic: HashMap<Arg, Arg>,
    /// The block that is written, and the line of the source.
    block: usize,
    line: u32,
}

/// An instruction's text and operands.
type Computation = (String, Vec<Arg>);

/// A kernel's code.
pub(crate) fn kernel(module: &Module<'_>, function: &Function<'_>) -> Result<Kernel> {
    let mut uses = vec![0; function.values];
    let mut definitions = vec![None; function.values];
    for instruction in function.blocks.iter().flatten() {
        if let Some(id) = instruction.result {
            definitions[id] = Some(instruction);
        }
        for operand in &instruction.operands {
            if let Value::Local(id) = operand.value {
                uses[id] += 1;
            }
        }
    }
    let ends = function.blocks.iter().map(|block| block.last());
    let ways = ends.map(|end| end.map_or(Vec::new(), |end| end.blocks.clone()));
    let graph = Graph::new(ways.collect());
    let blocks = vec![Block::default(); function.blocks.len()];
    let mut lower = Lower {
        module,
        function,
        spaces: spaces::of(function),
        kernel: Kernel { blocks, ..Kernel::default() },
        above: graph.dominators(),
        values: vec![None; function.values],
        definitions,
        uses,
        computed: HashMap::new(),
        short: HashMap::new(),
        generic: HashMap::new(),
        block: 0,
        line: 0,
    };
    lower.parameters()?;
    for block in graph.order {
        lower.block = block;
        for instruction in &function.blocks[block] {
            lower.line = instruction.line;
            lower.result(instruction).map_err(|error| error.at(instruction.line))?;
        }
    }
    lower.edges()?;
    Ok(lower.kernel)
}

impl<'m> Lower<'m> {
    /// What a kernel is given is read first of all, and addresses that its variables have.
    fn parameters(&mut self) -> Result<()> {
        for number in 0..self.module.globals.len() {
            let name = Part::new(Scalar::LONG, Arg::Symbol(Symbol::Global(number)));
            self.address(name)?;
        }
        for (id, parameter) in self.function.parameters.iter().enumerate() {
            let name = Arg::Symbol(Symbol::Parameter(id));
            let part = match (parameter.space, &parameter.kind) {
                (space @ Space::Parameter, _) => {
                    let place = Part::new(Scalar::Pointer(space), name);
                    self.address(place)?;
                    place
                }
                (space, Type::Scalar(kind)) => {
                    let text = format!("ld.param.{} $0, [$1];", kind.in_memory()?);
                    let word = if *kind == Scalar::BOOL { Scalar::WORD } else { *kind };
                    let given = self.compute(word, &text, vec![name]);
                    self.short.insert(given.base, kind.bits());
                    match *kind {
                        Scalar::BOOL => self.is_set(given)?,
                        Scalar::Pointer(_) => self.in_space(given, space)?,
                        _ => given,
                    }
                }
                (_, kind) => return Err(Error::unknown(format!("a parameter of type {kind:?}"))),
            };
            self.values[id] = Some(vec![part]);
        }
        Ok(())
    }

    fn result(&mut self, instruction: &'m Instruction<'m>) -> Result<()> {
        let mut parts = self.instruction(instruction)?;
        if let Some(id) = instruction.result {
            if let [Part { kind: Scalar::Pointer(_), .. }] = parts[..] {
                parts[0] = self.in_space(parts[0], self.spaces[id])?;
            }
            self.values[id] = Some(parts);
        }
        Ok(())
    }

    /// The parts of an instruction's result.
    fn instruction(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let operands = &instruction.operands;
        match instruction.op {
            Op::Phi => self.phi(instruction),
            Op::Store => self.store(instruction),
            Op::Br | Op::Switch | Op::Ret | Op::Unreachable => self.end(instruction),
            op if op.is_binary() => self.binary(instruction),
            op if op.is_conversion() => self.convert(instruction),
            Op::FNeg => {
                self.each(instruction.operands::<1>()?, |lower, _, parts| lower.negated(parts[0]))
            }
            Op::ICmp | Op::FCmp => {
                self.each(operands, |lower, _, parts| lower.compare(instruction.name, parts))
            }
            Op::Select => self.select(instruction),
            Op::Freeze => self.parts(&instruction.operands::<1>()?[0]),
            Op::Alloca => self.variable(instruction),
            Op::GetElementPtr => self.element(instruction),
            Op::Load => self.load(instruction),
            Op::AtomicRmw | Op::CmpXchg => self.atomic(instruction),
            Op::Call => self.call(instruction),
            Op::Assembly => self.assembly(instruction),
            _ => self.rearranged(instruction),
        }
    }

    /// What is done with each part of the operands; of an operand with one part, with that one.
    fn each(
        &mut self,
        operands: impl IntoIterator<Item = &'m Typed<'m>>,
        mut what: impl FnMut(&mut Self, usize, &[Part]) -> Result<Part>,
    ) -> Result<Vec<Part>> {
        let columns = operands.into_iter().map(|operand| self.parts(operand));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let count = columns.iter().map(Vec::len).max().unwrap_or(1);
        let rows = (0..count).map(|at| {
            let row = columns.iter().map(|column| column.get(at).or(column.first()).copied());
            let row = row.collect::<Option<Vec<_>>>();
            what(self, at, &row.ok_or_else(|| Error::unknown("a value of no parts here"))?)
        });
        rows.collect()
    }

    /// Parts of values that are taken out, put in, or come in another order.
    fn rearranged(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let first = &instruction.operands::<1>()?[0];
        let (mut parts, mut path) = (self.parts(first)?, instruction.indices.clone());
        if matches!(instruction.op, Op::ExtractElement | Op::InsertElement) {
            let index = instruction.operands.last().and_then(Typed::number);
            let varies = || Error::unknown("an element of a vector whose number varies");
            path.push(index.ok_or_else(varies)?);
        }
        // Where what is taken out or replaced begins, and what it is.
        let (mut place, mut kind) = (0, &first.kind);
        for index in path {
            for before in 0..index as i64 {
                place += kind.field(before)?.0.parts()?.len();
            }
            kind = kind.field(index as i64)?.0;
        }
        let places = place..place + kind.parts()?.len();
        if places.end > parts.len() {
            return Err(Error::unknown("an element that its vector does not have"));
        }
        match (instruction.op, &instruction.operands[1..]) {
            (Op::ExtractValue | Op::ExtractElement, _) => Ok(parts[places].to_vec()),
            (Op::InsertValue | Op::InsertElement, [value, ..]) => {
                parts.splice(places, self.parts(value)?);
                Ok(parts)
            }
            (Op::Shuffle, [second, mask]) => {
                parts.extend(self.parts(second)?);
                let places = self.parts(mask)?.into_iter();
                let part = |place: Part| parts.get(place.bits()? as usize).copied();
                let all = places.map(part).collect::<Option<_>>();
                all.ok_or_else(|| Error::unknown("a shuffle beyond the vectors"))
            }
            (op, _) => Err(Error::unknown(format!("{op:?} of such operands"))),
        }
    }
}
