//! From one kernel's IR to PTX instructions: values become registers, numbers or addresses.

use std::collections::HashMap;
use std::rc::Rc;

use crate::code::{Arg, Block, Code, End, Kernel, Reg};
use crate::ir::{Function, Id, Instruction, Module, Op, Value};
use crate::spaces::{self, Known};
use crate::types::{Class, Type, space};
use crate::{Error, Result};
use flow::Flow;

mod address;
mod arithmetic;
mod call;
mod compare;
mod convert;
mod flow;
mod intrinsic;
mod memory;
mod operand;

/// One of the parts that a value is made of, which are no aggregates.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Reg(Reg),
    /// A number, or the bits of a float.
    Bits(u64),
    Place(Place),
}

/// An address: all pointers that are not null are of this form.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    base: Arg,
    offset: i64,
    space: u32,
}

/// A kernel while it is translated.
pub(crate) struct Lower<'m> {
    module: &'m Module,
    function: &'m Function,
    known: Vec<Known>,
    flow: Flow,
    kernel: Kernel,
    /// The parts of each value, once it is computed.
    values: Vec<Option<Vec<Part>>>,
    /// For each value, how many instructions use it.
    uses: Vec<u32>,
    definitions: Vec<Option<(usize, &'m Instruction)>>,
    /// Whether a phi takes it.
    into_phi: Vec<bool>,
    /// What is computed once, before everything else.
    first: Vec<Code>,
    /// What has been computed where, to be used again.
    computed: HashMap<Computation, Vec<(usize, Reg)>>,
    /// Registers in which all bits from this one on are zero.
    short: HashMap<Reg, u32>,
    /// Addresses in a space: the generic one that each was made of.
    generic: HashMap<Reg, Arg>,
    /// Variables on the stack.
    locals: Vec<Local>,
    /// The block that is written, and the line of the source.
    block: usize,
    line: u32,
}

/// An instruction's text and operands.
type Computation = (Rc<str>, Vec<Arg>);

/// A variable on the stack: its name, alignment and size.
pub(crate) type Local = (String, u64, u64);

/// A kernel's variables on the stack, and its code.
pub(crate) fn kernel(module: &Module, function: &Function) -> Result<(Vec<Local>, Kernel)> {
    let mut uses = vec![0; function.kinds.len()];
    let mut definitions = vec![None; function.kinds.len()];
    let mut into_phi = vec![false; function.kinds.len()];
    for (number, block) in function.blocks.iter().enumerate() {
        for instruction in &block.code {
            if let Some(id) = instruction.result {
                definitions[id] = Some((number, instruction));
            }
            instruction.op.each_value(&mut |value| {
                if let Value::Local(id) = value {
                    uses[*id] += 1;
                    into_phi[*id] |= matches!(instruction.op, Op::Phi(_));
                }
            });
        }
    }
    let block = Block { code: Vec::new(), end: End::Trap, line: 0 };
    let lower = Lower {
        module,
        function,
        known: spaces::of(function),
        flow: Flow::new(function),
        kernel: Kernel { blocks: vec![block; function.blocks.len()], ..Kernel::default() },
        values: vec![None; function.kinds.len()],
        uses,
        definitions,
        into_phi,
        first: Vec::new(),
        computed: HashMap::new(),
        short: HashMap::new(),
        generic: HashMap::new(),
        locals: Vec::new(),
        block: 0,
        line: 0,
    };
    lower.all()
}

impl<'m> Lower<'m> {
    fn all(mut self) -> Result<(Vec<Local>, Kernel)> {
        self.parameters()?;
        self.phis()?;
        for block in self.flow.order.clone() {
            self.block = block;
            for instruction in &self.function.blocks[block].code {
                self.line = instruction.line;
                self.instruction(instruction).map_err(|error| error.at(instruction.line))?;
            }
        }
        self.edges()?;
        self.first.append(&mut self.kernel.blocks[0].code);
        self.kernel.blocks[0].code = std::mem::take(&mut self.first);
        Ok((self.locals, self.kernel))
    }

    /// What a kernel is given is read first of all.
    fn parameters(&mut self) -> Result<()> {
        for (id, parameter) in self.function.parameters.iter().enumerate() {
            let name = Arg::text(parameter_name(self.function, id));
            let part = match (&parameter.by_value, &parameter.kind) {
                (Some(_), _) => {
                    Part::Place(Place { base: name, offset: 0, space: space::PARAMETER })
                }
                (None, Type::Int(1)) => {
                    let byte = self.once(Class::Word, "ld.param.u8 $0, [$1];", vec![name]);
                    let p = self.once(Class::Predicate, "setp.ne.u32 $0, $1, 0;", vec![byte]);
                    self.part(p, &Type::BOOL)
                }
                (None, kind) => {
                    let text = format!("ld.param.{} $0, [$1];", memory_kind(kind)?);
                    let given = self.once(kind.class()?, &text, vec![name]);
                    if let (Type::Int(bits @ ..32), Arg::Reg(reg)) = (kind, &given) {
                        self.short.insert(*reg, *bits);
                    }
                    match kind {
                        Type::Pointer(_) => {
                            let text = "cvta.to.global.u64 $0, $1;";
                            let global = self.once(Class::Long, text, vec![given.clone()]);
                            if let Arg::Reg(reg) = global {
                                self.generic.insert(reg, given);
                            }
                            Part::Place(Place { base: global, offset: 0, space: space::GLOBAL })
                        }
                        kind => self.part(given, kind),
                    }
                }
            };
            self.values[id] = Some(vec![part]);
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &'m Instruction) -> Result<()> {
        let kind = instruction.result.map_or(&Type::Void, |id| &self.function.kinds[id]);
        let parts = match &instruction.op {
            Op::Phi(_) => return Ok(()),
            Op::Binary { .. } | Op::Negate(_) | Op::Compare { .. } => {
                self.arithmetic(&instruction.op)?
            }
            Op::Select { by, a, b } => self.select(instruction.result, by, a, b)?,
            Op::Convert { name, from } => self.convert(name, from, kind, instruction.result)?,
            Op::Freeze(value) => self.parts(&value.value, &value.kind)?,
            Op::Alloca { kind, align } => vec![self.variable(kind, *align)],
            Op::Element { of, base, indices } => {
                let mut place = self.element(of, base, indices)?;
                // Computed here, it may be where the phi has it without a move.
                if instruction.result.is_some_and(|id| self.into_phi[id]) {
                    let base = self.address(&place);
                    place = Place { base, offset: 0, space: place.space };
                }
                vec![Part::Place(place)]
            }
            Op::Load { pointer, access } => self.load(pointer, access, kind, instruction.result)?,
            Op::Store { value, pointer, access } => return self.store(value, pointer, access),
            Op::Atomic { name, pointer, value, swap } => {
                self.atomic(name, pointer, value, swap.as_ref())?
            }
            Op::Extract { from, indices } => {
                let (start, kind) = part_at(&from.kind, indices)?;
                let parts = self.parts(&from.value, &from.kind)?;
                parts[start..][..kind.parts()?.len()].to_vec()
            }
            Op::Insert { into, value, indices } => {
                let (start, _) = part_at(&into.kind, indices)?;
                let mut parts = self.parts(&into.value, &into.kind)?;
                let value = self.parts(&value.value, &value.kind)?;
                parts.splice(start..start + value.len(), value);
                parts
            }
            Op::ExtractElement { from, index } => {
                let parts = self.parts(&from.value, &from.kind)?;
                vec![parts[place_in(&parts, index)?].clone()]
            }
            Op::InsertElement { into, value, index } => {
                let mut parts = self.parts(&into.value, &into.kind)?;
                let place = place_in(&parts, index)?;
                parts[place] = self.one(&value.value, &value.kind)?;
                parts
            }
            Op::Shuffle { a, b, mask } => {
                let mut parts = self.parts(&a.value, &a.kind)?;
                parts.extend(self.parts(b, &a.kind)?);
                let part = |place: &Option<usize>| parts.get(place.unwrap_or(0)).cloned();
                let all = mask.iter().map(part).collect::<Option<_>>();
                all.ok_or_else(|| Error::unknown("a shuffle beyond the vectors"))?
            }
            Op::Call { name, arguments } => self.call(name, arguments, kind)?,
            Op::Assembly { text, constraints, arguments } => {
                self.assembly(text, constraints, arguments, kind)?
            }
            op => return self.end(op),
        };
        if let Some(id) = instruction.result {
            self.values[id] = Some(parts);
        }
        Ok(())
    }
}

/// The part at which a field begins, and the field's type.
fn part_at(kind: &Type, indices: &[u64]) -> Result<(usize, Type)> {
    let (mut start, mut kind) = (0, kind.clone());
    for index in indices {
        for before in 0..*index {
            start += kind.field(before)?.0.parts()?.len();
        }
        kind = kind.field(*index)?.0.clone();
    }
    Ok((start, kind))
}

fn place_in(parts: &[Part], index: &Value) -> Result<usize> {
    match index {
        Value::Bits(place) if (*place as usize) < parts.len() => Ok(*place as usize),
        Value::Zero => Ok(0),
        _ => Err(Error::unknown("an element of a vector whose number varies")),
    }
}

/// The type of an access to memory.
fn memory_kind(kind: &Type) -> Result<&'static str> {
    Ok(match kind {
        Type::Int(1 | 8) => "u8",
        Type::Int(16) => "u16",
        Type::Int(32) => "u32",
        Type::Int(64) | Type::Pointer(_) => "u64",
        Type::Float => "f32",
        Type::Double => "f64",
        kind => return Err(Error::unknown(format!("accesses of {kind:?}"))),
    })
}

pub(crate) fn parameter_name(function: &Function, id: Id) -> String {
    format!("{}_param_{id}", function.name)
}

/// A name that PTX has room for: of texts it is `$str1`.
pub(crate) fn global_name(name: &str) -> String {
    name.replace('.', "$")
}
