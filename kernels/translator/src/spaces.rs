//! The address space of each pointer, found once for all: an access through a pointer of which it
//! is known is an instruction of that space.

use crate::ir::{Function, Instruction, Op, Value};
use crate::types::{Scalar, Space, Type};

/// For each value of a kernel, by its number, where it points to, if it is a pointer.
///
/// It begins with nothing known and adds what follows from what is known, until nothing changes:
/// so a pointer that walks through an array in a loop has the space that it began with.
pub(crate) fn of(function: &Function<'_>) -> Vec<Space> {
    let given = function.parameters.iter().map(|parameter| Some(parameter.space));
    let mut known: Vec<Option<Space>> = given.collect();
    known.resize(function.values, None);
    loop {
        let before = known.clone();
        for instruction in function.blocks.iter().flatten() {
            if let Some(id) = instruction.result {
                known[id] = join(known[id], found(instruction, &known));
            }
        }
        if known == before {
            return known.into_iter().map(|space| space.unwrap_or(Space::Generic)).collect();
        }
    }
}

/// The space of the pointer that an instruction computes, if that is known.
fn found(instruction: &Instruction<'_>, known: &[Option<Space>]) -> Option<Space> {
    let mut operands = instruction.operands.iter().map(|operand| match &operand.value {
        Value::Local(id) => known[*id],
        Value::Undefined => None,
        Value::Expression(of) => found(of, known),
        Value::Parts(parts) => parts.first().map(|part| part.space()),
        Value::Zero => Some(Space::Generic),
    });
    match (instruction.op, &instruction.of) {
        (Op::GetElementPtr | Op::Freeze, _) => operands.next()?,
        (Op::Alloca, _) => Some(Space::Local),
        (Op::Select, _) => operands.skip(1).fold(None, join),
        (_, Type::Scalar(Scalar::Pointer(space))) if *space != Space::Generic => Some(*space),
        (Op::AddrSpaceCast, _) => operands.next()?,
        (Op::Phi, _) => operands.fold(None, join),
        // What a kernel is given points to device memory.
        (Op::Load, _) if operands.next()?? == Space::Parameter => Some(Space::Global),
        _ => Some(Space::Generic),
    }
}

/// What holds for both.
fn join(a: Option<Space>, b: Option<Space>) -> Option<Space> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    Some(match a == b {
        true => a,
        false if a.suffix() == b.suffix() => Space::Global,
        false => Space::Generic,
    })
}
