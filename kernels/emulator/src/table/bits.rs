//! Operations on bits: moves, logic, shifts, counting.

use crate::registers::{Operation, operation, predicate_operation, vector_operation};
use crate::rounding::flush;
use crate::space;
use crate::table::Form;

/// An operation for each size of its operands, whose type it calls `Bits`.
macro_rules! sized {
    ($size:expr, $operation:expr) => {
        by_type!($size, Bits, [2 u16, 4 u32, 8 u64], $operation)
    };
}

/// The same for 32 and 64 bits only.
macro_rules! long {
    ($size:expr, $operation:expr) => {
        by_type!($size, Bits, [4 u32, 8 u64], $operation)
    };
}

/// An operation for each size, which kernels have in their innermost loops.
macro_rules! frequent {
    ($size:expr, |$($name:ident: $type:ty),*| $body:expr) => {
        sized!($size, vector_operation!(|$($name: $type),*| -> Bits { $body }))
    };
}

pub(crate) fn lookup(form: &mut Form<'_>) -> Option<Operation> {
    let kind = form.only_type().or_else(|| {
        // `isspacep.global` has no type.
        (form.base == "isspacep" && form.types.is_empty()).then_some("b64")
    })?;
    if kind == "pred" {
        return predicates(form);
    }
    let size = crate::syntax::size_of(kind)?;
    let signed = kind.starts_with('s');
    Some(match form.base {
        "mov" => frequent!(size, |a: Bits| a),
        "and" => frequent!(size, |a: Bits, b: Bits| a & b),
        "or" => frequent!(size, |a: Bits, b: Bits| a | b),
        "xor" => frequent!(size, |a: Bits, b: Bits| a ^ b),
        "not" => frequent!(size, |a: Bits| !a),
        "cnot" => sized!(size, operation!(|a: Bits| -> Bits { if a == 0 { 1 } else { 0 } })),
        "selp" => frequent!(size, |a: Bits, b: Bits, p: bool| if p { a } else { b }),
        "shl" => frequent!(size, |a: Bits, b: u32| if b < Bits::BITS { a << b } else { 0 }),
        "shr" if signed => by_type!(
            size,
            Bits,
            [2 i16, 4 i32, 8 i64],
            vector_operation!(|a: Bits, b: u32| -> Bits { a >> b.min(Bits::BITS - 1) })
        ),
        "shr" => frequent!(size, |a: Bits, b: u32| if b < Bits::BITS { a >> b } else { 0 }),
        "shf" => funnel(form, size)?,
        "popc" => long!(size, operation!(|a: Bits| -> u32 { a.count_ones() })),
        "clz" => long!(size, operation!(|a: Bits| -> u32 { a.leading_zeros() })),
        "brev" => sized!(size, operation!(|a: Bits| -> Bits { a.reverse_bits() })),
        "bfind" => find(form, size, signed)?,
        "bfe" if signed => by_type!(
            size,
            Bits,
            [4 i32, 8 i64],
            operation!(|a: Bits, start: u32, length: u32| -> Bits {
                signed_field(a.into(), place::<Bits>(start), place::<Bits>(length)) as Bits
            })
        ),
        "bfe" => long!(
            size,
            operation!(|a: Bits, start: u32, length: u32| -> Bits {
                field(a.into(), place::<Bits>(start), place::<Bits>(length)) as Bits
            })
        ),
        "bfi" => long!(
            size,
            vector_operation!(|a: Bits, b: Bits, start: u32, length: u32| -> Bits {
                insert(a.into(), b.into(), place::<Bits>(start), place::<Bits>(length), Bits::BITS)
                    as Bits
            })
        ),
        "prmt" if size == 4 && !form.modifiers.is_empty() => permutation(form)?,
        "bmsk" if size == 4 => match form.take_one_of(&["clamp", "wrap"])? {
            "clamp" => operation!(|start: u32, length: u32| -> u32 { mask(start, length) }),
            _ => operation!(|start: u32, length: u32| -> u32 { mask(start & 31, length & 31) }),
        },
        "szext" if size == 4 => match (form.take_one_of(&["clamp", "wrap"])?, signed) {
            ("clamp", false) => operation!(|a: u32, length: u32| -> u32 { extended(a, length) }),
            ("clamp", true) => {
                operation!(|a: i32, length: u32| -> i32 { extended_with_sign(a, length) })
            }
            (_, false) => operation!(|a: u32, length: u32| -> u32 { extended(a, length & 31) }),
            (_, true) => {
                operation!(|a: i32, length: u32| -> i32 { extended_with_sign(a, length & 31) })
            }
        },
        "fns" if size == 4 => operation!(|mask: u32, base: u32, offset: i32| -> u32 {
            set_bit_from(mask, base, offset)
        }),
        "prmt" if size == 4 => {
            operation!(|a: u32, b: u32, choice: u32| -> u32 { permute(a, b, choice) })
        }
        "lop3" if size == 4 => {
            vector_operation!(|a: u32, b: u32, c: u32, table: u32| -> u32 {
                by_table(a, b, c, table)
            })
        }
        "isspacep" => space_of(form)?,
        _ => return None,
    })
}

/// `slct`: the first, if the third is not below zero.
pub(crate) fn choose(form: &mut Form<'_>) -> Option<Operation> {
    let [kind, by] = form.types[..] else { return None };
    let size = crate::syntax::size_of(kind)?;
    let flushes = form.take("ftz");
    Some(match by {
        "s32" => sized!(
            size,
            operation!(|a: Bits, b: Bits, c: i32| -> Bits { if c >= 0 { a } else { b } })
        ),
        "f32" if flushes => sized!(
            size,
            operation!(|a: Bits, b: Bits, c: f32| -> Bits { if flush(c) >= 0.0 { a } else { b } })
        ),
        "f32" => sized!(
            size,
            operation!(|a: Bits, b: Bits, c: f32| -> Bits { if c >= 0.0 { a } else { b } })
        ),
        _ => return None,
    })
}

fn predicates(form: &Form<'_>) -> Option<Operation> {
    Some(match form.base {
        "mov" => predicate_operation!(|a| a),
        "not" => predicate_operation!(|a| !a),
        "and" => predicate_operation!(|a, b| a & b),
        "or" => predicate_operation!(|a, b| a | b),
        "xor" => predicate_operation!(|a, b| a ^ b),
        _ => return None,
    })
}

fn funnel(form: &mut Form<'_>, size: u64) -> Option<Operation> {
    if size != 4 {
        return None;
    }
    let left = form.take("l");
    if !left && !form.take("r") {
        return None;
    }
    Some(match (form.take_one_of(&["wrap", "clamp"])?, left) {
        // Rotations, of which hash functions are made.
        ("wrap", true) => vector_operation!(|a: u32, b: u32, c: u32| -> u32 {
            ((join(a, b) << (c & 31)) >> 32) as u32
        }),
        ("wrap", false) => {
            vector_operation!(|a: u32, b: u32, c: u32| -> u32 { (join(a, b) >> (c & 31)) as u32 })
        }
        (_, true) => {
            operation!(|a: u32, b: u32, c: u32| -> u32 { ((join(a, b) << c.min(32)) >> 32) as u32 })
        }
        (_, false) => {
            operation!(|a: u32, b: u32, c: u32| -> u32 { (join(a, b) >> c.min(32)) as u32 })
        }
    })
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The place of the highest bit that differs from the sign.
fn find(form: &mut Form<'_>, size: u64, signed: bool) -> Option<Operation> {
    let shift = form.take("shiftamt");
    macro_rules! found {
        ($type:ty, $positive:expr) => {
            if shift {
                operation!(|a: $type| -> u32 {
                    match $positive(a) {
                        0 => u32::MAX,
                        bits => bits.leading_zeros(),
                    }
                })
            } else {
                operation!(|a: $type| -> u32 { $positive(a).checked_ilog2().unwrap_or(u32::MAX) })
            }
        };
    }
    Some(match (size, signed) {
        (4, false) => found!(u32, |a: u32| a),
        (4, true) => found!(i32, |a: i32| (a ^ a >> 31) as u32),
        (8, false) => found!(u64, |a: u64| a),
        (8, true) => found!(i64, |a: i64| (a ^ a >> 63) as u64),
        _ => return None,
    })
}

/// The start or the length of a bit field in a word. The manual has 8 bits for either; of more,
/// hardware drops the others where the word has 32 bits, and no others.
fn place<Word>(bits: u32) -> u32 {
    if size_of::<Word>() == 4 { bits & 255 } else { bits }
}

fn field(bits: u128, start: u32, length: u32) -> u128 {
    let mask = 1u128.checked_shl(length).map_or(u128::MAX, |end| end - 1);
    bits.checked_shr(start).unwrap_or(0) & mask
}

fn signed_field(bits: i128, start: u32, length: u32) -> i128 {
    let unused = 128 - length.min(64);
    if unused == 128 {
        return 0;
    }
    bits >> start.min(127) << unused >> unused
}

fn insert(field: u128, into: u128, start: u32, length: u32, size: u32) -> u128 {
    if start >= size || length == 0 {
        return into;
    }
    let mask = 1u128.checked_shl(length).map_or(u128::MAX, |end| end - 1) << start;
    field << start & mask | into & !mask
}

/// Each of four digits of `choice` chooses one byte of `a` and `b`, or its sign.
fn permute(a: u32, b: u32, choice: u32) -> u32 {
    let bytes = join(a, b).to_le_bytes();
    let chosen = [0, 4, 8, 12].map(|shift| {
        let digit = choice >> shift;
        let byte = bytes[digit as usize & 7];
        if digit & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    });
    u32::from_le_bytes(chosen)
}

/// `prmt` in a mode: which of eight bytes each place gets, by the lowest bits of the third operand.
fn permutation(form: &mut Form<'_>) -> Option<Operation> {
    macro_rules! made {
        (|$place:ident, $choice:ident| $byte:expr) => {
            operation!(|a: u32, b: u32, choice: u32| -> u32 {
                let bytes = join(a, b).to_le_bytes();
                let byte = |$place: u32, $choice: u32| $byte;
                let chosen = [0, 1, 2, 3].map(|place| bytes[byte(place, choice & 3) as usize & 7]);
                u32::from_le_bytes(chosen)
            })
        };
    }
    Some(match form.take_one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])? {
        "f4e" => made!(|place, choice| choice + place),
        "b4e" => made!(|place, choice| choice.wrapping_sub(place)),
        "rc8" => made!(|_place, choice| choice),
        "ecl" => made!(|place, choice| place.max(choice)),
        "ecr" => made!(|place, choice| place.min(choice)),
        _ => made!(|place, choice| (choice & 1) * 2 + (place & 1)),
    })
}

/// So many bits from a place on.
fn mask(start: u32, length: u32) -> u32 {
    let ones = 1u32.checked_shl(length).map_or(u32::MAX, |end| end - 1);
    ones.checked_shl(start).unwrap_or(0)
}

/// The lowest bits.
fn extended(a: u32, length: u32) -> u32 {
    a & mask(0, length)
}

/// The lowest bits, the highest of which is the sign.
fn extended_with_sign(a: i32, length: u32) -> i32 {
    match 32u32.saturating_sub(length) {
        32 => 0,
        unused => a << unused >> unused,
    }
}

/// The place of a bit that is set: the `offset`-th from `base` on, downwards if it is below zero.
fn set_bit_from(mask: u32, base: u32, offset: i32) -> u32 {
    let is_set = |place: &u32| mask >> place & 1 == 1;
    let skipped = (offset.unsigned_abs() as usize).saturating_sub(1);
    let base = base & 31;
    let found = match offset {
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(skipped),
        _ => (0..=base).rev().filter(is_set).nth(skipped),
    };
    found.unwrap_or(u32::MAX)
}

fn by_table(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        let of = |value: u32, bit: u32| {
            if row >> bit & 1 == 1 { value } else { !value }
        };
        let is_set = (table >> row & 1).wrapping_neg();
        result |= of(a, 2) & of(b, 1) & of(c, 0) & is_set;
    }
    result
}

fn space_of(form: &mut Form<'_>) -> Option<Operation> {
    Some(match form.take_one_of(&["global", "shared", "local"])? {
        "shared" => operation!(|a: u64| -> bool { space::is_shared(a) }),
        "local" => operation!(|a: u64| -> bool { space::is_local(a) }),
        _ => operation!(|a: u64| -> bool { space::is_global(a) }),
    })
}
