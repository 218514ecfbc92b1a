//! Parts of instructions: operands, accesses, calls.

use crate::ir::{Access, Op, Typed, Value};
use crate::read::Locals;
use crate::read::cursor::Cursor;
use crate::read::instruction::FLAGS;
use crate::types::Type;
use crate::{Error, Result};

/// Calls that say something to the optimiser only.
const IGNORED: [&str; 4] =
    ["llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.", "llvm.dbg."];

pub(super) fn two(cursor: &mut Cursor<'_>, locals: &mut Locals) -> Result<(Typed, Value)> {
    let a = cursor.typed(locals)?;
    cursor.expect(",")?;
    let b = cursor.value(&a.kind, locals)?;
    Ok((a, b))
}

pub(super) fn block(cursor: &mut Cursor<'_>, locals: &Locals) -> Result<usize> {
    let name = cursor.local().ok_or_else(|| cursor.wrong("a block"))?;
    locals.block(name)
}

pub(super) fn align(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    match cursor.take(", align") {
        true => Ok(Some(cursor.number()?)),
        false => Ok(None),
    }
}

pub(super) fn access(
    cursor: &mut Cursor<'_>,
    atomic: bool,
    volatile: bool,
    kind: &Type,
) -> Result<Access> {
    if atomic {
        relaxed(cursor)?;
    }
    let align = align(cursor)?.unwrap_or_else(|| kind.align());
    Ok(Access { align, volatile, atomic })
}

/// The order of an atomic access: the prelude asks for none, and by PTX for all others.
pub(super) fn relaxed(cursor: &mut Cursor<'_>) -> Result<()> {
    let mut order = cursor.word();
    if order == "syncscope" {
        let scope = cursor.rest().to_owned();
        cursor.parentheses();
        if !scope.starts_with("(\"\")") {
            return Err(Error::unknown(format!("the scope of an atomic operation at `{scope}`")));
        }
        order = cursor.word();
    }
    let failing = cursor.flags(&["monotonic"]);
    match (order, failing.len()) {
        ("monotonic", 0 | 1) => Ok(()),
        _ => Err(Error::unknown(format!(
            "the order {order} of atomic operations; use __threadfence()"
        ))),
    }
}

pub(super) fn indices(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let mut indices = Vec::new();
    while cursor.take(",") && !cursor.rest().starts_with('!') {
        indices.push(cursor.number()?);
    }
    Ok(indices)
}

pub(super) fn within(kind: &Type, indices: &[u64]) -> Result<Type> {
    indices.iter().try_fold(kind.clone(), |kind, index| Ok(kind.field(*index)?.0.clone()))
}

/// Which element a vector is to have in a place; none, if nobody cares.
pub(super) fn place(value: &Value) -> Option<usize> {
    match value {
        Value::Bits(place) => Some(*place as usize),
        Value::Zero => Some(0),
        _ => None,
    }
}

pub(super) fn call(cursor: &mut Cursor<'_>, locals: &mut Locals) -> Result<Option<(Op, Type)>> {
    cursor.flags(&FLAGS);
    cursor.attributes()?;
    let kind = cursor.kind()?;
    cursor.parentheses(); // the types of a function with any number of parameters
    if cursor.take("asm") {
        cursor.flags(&["sideeffect", "alignstack", "unwind"]);
        cursor.expect("\"")?;
        let text = cursor.until_quote().to_owned();
        cursor.expect(", \"")?;
        let constraints = cursor.until_quote().to_owned();
        let arguments = arguments(cursor, locals)?;
        return Ok(Some((Op::Assembly { text, constraints, arguments }, kind)));
    }
    if !cursor.take("@") {
        return Err(Error::unknown("calls through a pointer"));
    }
    let name = cursor.name().to_owned();
    if IGNORED.iter().any(|ignored| name.starts_with(ignored)) {
        return Ok(None);
    }
    let arguments = arguments(cursor, locals)?;
    Ok(Some((Op::Call { name, arguments }, kind)))
}

pub(super) fn arguments(cursor: &mut Cursor<'_>, locals: &mut Locals) -> Result<Vec<Typed>> {
    let mut arguments = Vec::new();
    cursor.expect("(")?;
    while !cursor.take(")") {
        arguments.push(cursor.typed(locals)?);
        cursor.take(",");
    }
    Ok(arguments)
}
