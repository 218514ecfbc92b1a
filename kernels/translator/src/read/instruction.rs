//! One instruction.

use crate::ir::{Instruction, Op, Value};
use crate::read::Locals;
use crate::read::cursor::Cursor;
use crate::read::part::{access, align, block, call, indices, place, relaxed, two, within};
use crate::types::Type;
use crate::{Error, Result};

/// What arithmetic may promise.
pub(super) const FLAGS: [&str; 16] = [
    "nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "fast", "nnan", "ninf", "nsz", "arcp",
    "contract", "afn", "reassoc", "inbounds", "nusw",
];

/// The instruction, with the line of the source that it comes from. Nothing, if it does nothing.
pub(super) fn read(
    mut cursor: Cursor<'_>,
    locals: &mut Locals,
    line: u32,
) -> Result<Option<Instruction>> {
    let name = cursor.local().map(str::to_owned);
    if name.is_some() {
        cursor.expect("=")?;
    }
    let Some((op, kind)) = operation(&mut cursor, locals)? else { return Ok(None) };
    let result = name.map(|name| locals.value(&name)).filter(|_| kind != Type::Void);
    if let Some(id) = result {
        locals.kinds[id] = kind;
    }
    Ok(Some(Instruction { result, line, op }))
}

/// What it does, and its result's type.
fn operation(cursor: &mut Cursor<'_>, locals: &mut Locals) -> Result<Option<(Op, Type)>> {
    let word = cursor.word();
    let op = match word {
        "add" | "sub" | "mul" | "udiv" | "sdiv" | "urem" | "srem" | "shl" | "lshr" | "ashr"
        | "and" | "or" | "xor" | "fadd" | "fsub" | "fmul" | "fdiv" => {
            let flags = cursor.flags(&FLAGS);
            let has = |flag| flags.contains(&flag);
            let (contract, disjoint) = (has("contract") || has("fast"), has("disjoint"));
            let (unsigned, signed) = (has("nuw") || disjoint, has("nsw") || disjoint);
            let (a, b) = two(cursor, locals)?;
            let kind = a.kind.clone();
            // Such an `or` is a sum.
            let name = if disjoint { "add" } else { word }.to_owned();
            (Op::Binary { name, a, b, contract, unsigned, signed }, kind)
        }
        "fneg" | "freeze" => {
            cursor.flags(&FLAGS);
            let value = cursor.typed(locals)?;
            let kind = value.kind.clone();
            (if word == "fneg" { Op::Negate(value) } else { Op::Freeze(value) }, kind)
        }
        "icmp" | "fcmp" => {
            cursor.flags(&FLAGS);
            let how = cursor.word().to_owned();
            let (a, b) = two(cursor, locals)?;
            let kind = match &a.kind {
                Type::Vector(length, _) => Type::Vector(*length, Type::BOOL.into()),
                _ => Type::BOOL,
            };
            (Op::Compare { how, float: word == "fcmp", a, b }, kind)
        }
        "select" => {
            cursor.flags(&FLAGS);
            let by = cursor.typed(locals)?;
            cursor.expect(",")?;
            let a = cursor.typed(locals)?;
            cursor.expect(",")?;
            let b = cursor.typed(locals)?.value;
            let kind = a.kind.clone();
            (Op::Select { by, a, b }, kind)
        }
        "trunc" | "zext" | "sext" | "fptrunc" | "fpext" | "fptoui" | "fptosi" | "uitofp"
        | "sitofp" | "ptrtoint" | "inttoptr" | "bitcast" | "addrspacecast" => {
            cursor.flags(&FLAGS);
            let from = cursor.typed(locals)?;
            cursor.expect("to")?;
            (Op::Convert { name: word.to_owned(), from }, cursor.kind()?)
        }
        "alloca" => {
            let kind = cursor.kind()?;
            if cursor.take(", i") {
                return Err(Error::unknown("an array on the stack whose size varies"));
            }
            let align = align(cursor)?.unwrap_or_else(|| kind.align());
            (Op::Alloca { kind, align }, Type::Pointer(0))
        }
        "getelementptr" => {
            cursor.flags(&FLAGS);
            let of = cursor.kind()?;
            cursor.expect(",")?;
            let base = cursor.typed(locals)?;
            let mut indices = Vec::new();
            while cursor.take(",") && !cursor.rest().starts_with('!') {
                indices.push(cursor.typed(locals)?);
            }
            let kind = base.kind.clone();
            (Op::Element { of, base, indices }, kind)
        }
        "load" => {
            let (atomic, volatile) = (cursor.take("atomic"), cursor.take("volatile"));
            let kind = cursor.kind()?;
            cursor.expect(",")?;
            let pointer = cursor.typed(locals)?;
            let access = access(cursor, atomic, volatile, &kind)?;
            (Op::Load { pointer, access }, kind)
        }
        "store" => {
            let (atomic, volatile) = (cursor.take("atomic"), cursor.take("volatile"));
            let value = cursor.typed(locals)?;
            cursor.expect(",")?;
            let pointer = cursor.typed(locals)?;
            let access = access(cursor, atomic, volatile, &value.kind)?;
            (Op::Store { value, pointer, access }, Type::Void)
        }
        "atomicrmw" | "cmpxchg" => {
            cursor.flags(&["volatile", "weak"]);
            let name = if word == "cmpxchg" { "cas" } else { cursor.word() }.to_owned();
            let pointer = cursor.typed(locals)?;
            cursor.expect(",")?;
            let value = cursor.typed(locals)?;
            let swaps = word == "cmpxchg";
            let swap = match swaps {
                true => {
                    cursor.expect(",")?;
                    Some(cursor.typed(locals)?.value)
                }
                false => None,
            };
            relaxed(cursor)?;
            let kind = match swaps {
                true => Type::Struct(false, [value.kind.clone(), Type::BOOL].into()),
                false => value.kind.clone(),
            };
            (Op::Atomic { name, pointer, value, swap }, kind)
        }
        "extractvalue" => {
            let from = cursor.typed(locals)?;
            let indices = indices(cursor)?;
            let kind = within(&from.kind, &indices)?;
            (Op::Extract { from, indices }, kind)
        }
        "insertvalue" => {
            let into = cursor.typed(locals)?;
            cursor.expect(",")?;
            let value = cursor.typed(locals)?;
            let indices = indices(cursor)?;
            let kind = into.kind.clone();
            (Op::Insert { into, value, indices }, kind)
        }
        "extractelement" => {
            let from = cursor.typed(locals)?;
            cursor.expect(",")?;
            let index = cursor.typed(locals)?.value;
            let kind = from.kind.field(0)?.0.clone();
            (Op::ExtractElement { from, index }, kind)
        }
        "insertelement" => {
            let into = cursor.typed(locals)?;
            cursor.expect(",")?;
            let value = cursor.typed(locals)?;
            cursor.expect(",")?;
            let index = cursor.typed(locals)?.value;
            let kind = into.kind.clone();
            (Op::InsertElement { into, value, index }, kind)
        }
        "shufflevector" => {
            let a = cursor.typed(locals)?;
            cursor.expect(",")?;
            let b = cursor.typed(locals)?.value;
            cursor.expect(",")?;
            let mask = cursor.typed(locals)?;
            let length = mask.kind.length().unwrap_or(0) as usize;
            let mask = match mask.value {
                Value::Parts(parts) => parts.iter().map(|part| place(&part.value)).collect(),
                value => vec![place(&value); length],
            };
            let kind = Type::Vector(length as u64, a.kind.field(0)?.0.clone().into());
            (Op::Shuffle { a, b, mask }, kind)
        }
        "tail" | "musttail" | "notail" | "call" => {
            if word != "call" {
                cursor.expect("call")?;
            }
            return call(cursor, locals);
        }
        "phi" => {
            cursor.flags(&FLAGS);
            let kind = cursor.kind()?;
            let mut incoming = Vec::new();
            while cursor.take("[") {
                let value = cursor.value(&kind, locals)?;
                cursor.expect(",")?;
                incoming.push((value, block(cursor, locals)?));
                cursor.expect("]")?;
                cursor.take(",");
            }
            (Op::Phi(incoming), kind)
        }
        "br" => match cursor.take("label") {
            true => (Op::Jump(block(cursor, locals)?), Type::Void),
            false => {
                let by = cursor.typed(locals)?.value;
                cursor.expect(", label")?;
                let yes = block(cursor, locals)?;
                cursor.expect(", label")?;
                let no = block(cursor, locals)?;
                (Op::Branch { by, yes, no }, Type::Void)
            }
        },
        "switch" => {
            let by = cursor.typed(locals)?;
            cursor.expect(", label")?;
            let otherwise = block(cursor, locals)?;
            cursor.expect("[")?;
            let mut cases = Vec::new();
            while !cursor.rest().is_empty() && !cursor.take("]") {
                let Value::Bits(value) = cursor.typed(locals)?.value else {
                    return Err(cursor.wrong("a number"));
                };
                cursor.expect(", label")?;
                cases.push((value, block(cursor, locals)?));
            }
            (Op::Switch { by, cases, otherwise }, Type::Void)
        }
        "ret" => (Op::Return, Type::Void),
        "unreachable" => (Op::Unreachable, Type::Void),
        _ => return Err(Error::unknown(format!("the instruction {word}"))),
    };
    Ok(Some(op))
}
