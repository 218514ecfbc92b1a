//! The address space of each pointer, found once for all: an access through a pointer of which it
//! is known is an instruction of that space.

use crate::ir::{Function, Instruction, Origin};
use crate::types::{Scalar, Space, Type};

/// For each value of a kernel, by its number, where it points to, if it is a pointer.
///
/// It begins with nothing known and adds what follows from what is known, until nothing changes:
/// so a pointer that walks through an array in a loop has the space that it began with.
pub(crate) fn of(function: &Function<'_>) -> Vec<Space> {
    let mut known: Vec<Option<Space>> = vec![None; function.values.len()];
    let mut is_known = false;
    while !is_known {
        is_known = true;
        for (id, value) in function.values.iter().enumerate() {
            let found = match &value.origin {
                Origin::Given(space, _) => Some(*space),
                Origin::Constant(parts) => parts.first().map(|part| part.space()),
                Origin::Undefined | Origin::Unknown => None,
                Origin::Computed(by) => join(known[id], found(by, &known)),
            };
            is_known &= found == known[id];
            known[id] = found;
        }
    }
    known.into_iter().map(|space| space.unwrap_or(Space::Generic)).collect()
}

/// The space of the pointer that an instruction computes, if that is known.
fn found(instruction: &Instruction<'_>, known: &[Option<Space>]) -> Option<Space> {
    let mut operands = instruction.operands.iter().map(|id| known[*id]);
    match (instruction.op, &instruction.of) {
        ("getelementptr" | "freeze", _) => operands.next()?,
        ("alloca", _) => Some(Space::Local),
        ("select", _) => operands.skip(1).fold(None, join),
        (_, Type::Scalar(Scalar::Pointer(space))) if *space != Space::Generic => Some(*space),
        ("addrspacecast", _) => operands.next()?,
        ("phi", _) => operands.fold(None, join),
        // What a kernel is given points to device memory.
        ("load", _) if operands.next()?? == Space::Parameter => Some(Space::Global),
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
