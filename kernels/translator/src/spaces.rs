//! The address space of each pointer, found once for all: an access through a pointer of which it
//! is known is an instruction of that space.

use crate::ir::{Function, Op, Typed, Value};
use crate::types::{Type, space};

/// What is known of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) space: u32,
    /// Nobody writes there while the kernel runs.
    pub(crate) read_only: bool,
}

const GENERIC: Known = Known { space: space::GENERIC, read_only: false };

/// For each value of a kernel, by its number, what is known of it if it is a pointer.
///
/// It begins with nothing known and adds what follows from what is known, until nothing changes:
/// so a pointer that walks through an array in a loop has the space that it began with.
pub(crate) fn of(function: &Function) -> Vec<Known> {
    let mut known: Vec<Option<Known>> = vec![None; function.kinds.len()];
    for (id, parameter) in function.parameters.iter().enumerate() {
        let space = match parameter.by_value {
            Some(_) => space::PARAMETER,
            None => space::GLOBAL,
        };
        known[id] = Some(Known { space, read_only: parameter.read_only });
    }
    let code = || function.blocks.iter().flat_map(|block| &block.code);
    loop {
        let before = known.clone();
        for instruction in code() {
            let Some(id) = instruction.result else { continue };
            if matches!(function.kinds[id], Type::Pointer(_)) {
                known[id] = join(known[id], found(&instruction.op, &function.kinds[id], &known));
            }
        }
        if known == before {
            return known.into_iter().map(|known| known.unwrap_or(GENERIC)).collect();
        }
    }
}

fn found(op: &Op, kind: &Type, known: &[Option<Known>]) -> Option<Known> {
    let of = |value: &Value, kind: &Type| of_value(value, kind, known);
    match op {
        Op::Element { base, .. } => of(&base.value, &base.kind),
        Op::Freeze(Typed { kind, value }) => of(value, kind),
        Op::Convert { name, from } if name == "addrspacecast" => match kind {
            Type::Pointer(space::GENERIC) => of(&from.value, &from.kind),
            Type::Pointer(space) => Some(Known { space: *space, read_only: false }),
            _ => Some(GENERIC),
        },
        Op::Alloca { .. } => Some(Known { space: space::LOCAL, read_only: false }),
        Op::Select { a, b, .. } => join(of(&a.value, &a.kind), of(b, &a.kind)),
        Op::Phi(incoming) => {
            let all = incoming.iter().map(|(value, _)| of(value, kind));
            all.fold(None, join)
        }
        // What a kernel is given points to device memory.
        Op::Load { pointer, .. } => {
            let from = of(&pointer.value, &pointer.kind)?;
            let is_given = from.space == space::PARAMETER;
            Some(if is_given { Known { space: space::GLOBAL, ..from } } else { GENERIC })
        }
        _ => Some(GENERIC),
    }
}

fn of_value(value: &Value, kind: &Type, known: &[Option<Known>]) -> Option<Known> {
    match (value, kind) {
        (Value::Undefined, _) => None,
        (Value::Local(id), Type::Pointer(space::GENERIC)) => known[*id],
        (Value::Local(id), Type::Pointer(space)) => {
            let read_only = known[*id].is_some_and(|known| known.read_only);
            Some(Known { space: *space, read_only })
        }
        (Value::Address { space, .. }, _) => Some(Known { space: *space, read_only: false }),
        (_, Type::Pointer(space)) => Some(Known { space: *space, read_only: false }),
        _ => Some(GENERIC),
    }
}

/// What holds for both.
fn join(a: Option<Known>, b: Option<Known>) -> Option<Known> {
    match (a, b) {
        (Some(a), Some(b)) if a.space == b.space => {
            Some(Known { space: a.space, read_only: a.read_only && b.read_only })
        }
        (Some(_), Some(_)) => Some(GENERIC),
        (one, other) => one.or(other),
    }
}
