//! Operations on bits: moves, logic, shifts, counting.

use crate::registers::{Operation, operation};
use crate::space;
use crate::table::Form;

/// Operations with results of the operands' size, for bits of any type.
macro_rules! any_bits {
    ($size:expr, |$($name:ident),*| $body:expr) => {
        match $size {
            2 => operation!(|$($name: u16),*| -> u16 { $body }),
            4 => operation!(|$($name: u32),*| -> u32 { $body }),
            8 => operation!(|$($name: u64),*| -> u64 { $body }),
            _ => return None,
        }
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
        "mov" => any_bits!(size, |a| a),
        "and" => any_bits!(size, |a, b| a & b),
        "or" => any_bits!(size, |a, b| a | b),
        "xor" => any_bits!(size, |a, b| a ^ b),
        "not" => any_bits!(size, |a| !a),
        "cnot" => any_bits!(size, |a| if a == 0 { 1 } else { 0 }),
        "selp" => match size {
            2 => operation!(|a: u16, b: u16, p: bool| -> u16 {
                if p { a } else { b }
            }),
            4 => operation!(|a: u32, b: u32, p: bool| -> u32 {
                if p { a } else { b }
            }),
            8 => operation!(|a: u64, b: u64, p: bool| -> u64 {
                if p { a } else { b }
            }),
            _ => return None,
        },
        "shl" => match size {
            2 => operation!(|a: u16, b: u32| -> u16 {
                if b < 16 { a << b } else { 0 }
            }),
            4 => operation!(|a: u32, b: u32| -> u32 {
                if b < 32 { a << b } else { 0 }
            }),
            8 => operation!(|a: u64, b: u32| -> u64 {
                if b < 64 { a << b } else { 0 }
            }),
            _ => return None,
        },
        "shr" if signed => match size {
            2 => operation!(|a: i16, b: u32| -> i16 { a >> b.min(15) }),
            4 => operation!(|a: i32, b: u32| -> i32 { a >> b.min(31) }),
            8 => operation!(|a: i64, b: u32| -> i64 { a >> b.min(63) }),
            _ => return None,
        },
        "shr" => match size {
            2 => operation!(|a: u16, b: u32| -> u16 {
                if b < 16 { a >> b } else { 0 }
            }),
            4 => operation!(|a: u32, b: u32| -> u32 {
                if b < 32 { a >> b } else { 0 }
            }),
            8 => operation!(|a: u64, b: u32| -> u64 {
                if b < 64 { a >> b } else { 0 }
            }),
            _ => return None,
        },
        "shf" => funnel(form, size)?,
        "popc" => match size {
            4 => operation!(|a: u32| -> u32 { a.count_ones() }),
            8 => operation!(|a: u64| -> u32 { a.count_ones() }),
            _ => return None,
        },
        "clz" => match size {
            4 => operation!(|a: u32| -> u32 { a.leading_zeros() }),
            8 => operation!(|a: u64| -> u32 { a.leading_zeros() }),
            _ => return None,
        },
        "brev" => any_bits!(size, |a| a.reverse_bits()),
        "bfind" => find(form, size, signed)?,
        "bfe" => extract(size, signed)?,
        "bfi" => match size {
            4 => operation!(|a: u32, b: u32, start: u32, length: u32| -> u32 {
                insert(a.into(), b.into(), start, length, 32) as u32
            }),
            8 => operation!(|a: u64, b: u64, start: u32, length: u32| -> u64 {
                insert(a, b, start, length, 64)
            }),
            _ => return None,
        },
        "prmt" if size == 4 => {
            operation!(|a: u32, b: u32, choice: u32| -> u32 {
                permute(a, b, choice)
            })
        }
        "lop3" if size == 4 => {
            operation!(|a: u32, b: u32, c: u32, table: u32| -> u32 {
                by_table(a, b, c, table)
            })
        }
        "isspacep" => space_of(form)?,
        _ => return None,
    })
}

fn predicates(form: &Form<'_>) -> Option<Operation> {
    Some(match form.base {
        "mov" => operation!(|a: bool| -> bool { a }),
        "not" => operation!(|a: bool| -> bool { !a }),
        "and" => operation!(|a: bool, b: bool| -> bool { a & b }),
        "or" => operation!(|a: bool, b: bool| -> bool { a | b }),
        "xor" => operation!(|a: bool, b: bool| -> bool { a ^ b }),
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
    macro_rules! shifted {
        ($distance:expr) => {
            if left {
                operation!(|a: u32, b: u32, c: u32| -> u32 {
                    ((join(a, b) << $distance(c)) >> 32) as u32
                })
            } else {
                operation!(|a: u32, b: u32, c: u32| -> u32 {
                    (join(a, b) >> $distance(c)) as u32
                })
            }
        };
    }
    Some(match form.take_one_of(&["wrap", "clamp"])? {
        "wrap" => shifted!(|c: u32| c & 31),
        _ => shifted!(|c: u32| c.min(32)),
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
                operation!(|a: $type| -> u32 {
                    $positive(a).checked_ilog2().unwrap_or(u32::MAX)
                })
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

fn extract(size: u64, signed: bool) -> Option<Operation> {
    Some(match (size, signed) {
        (4, false) => operation!(|a: u32, start: u32, length: u32| -> u32 {
            field(u64::from(a).into(), start, length) as u32
        }),
        (4, true) => operation!(|a: i32, start: u32, length: u32| -> u32 {
            signed_field(i64::from(a).into(), start, length) as u32
        }),
        (8, false) => operation!(|a: u64, start: u32, length: u32| -> u64 {
            field(a.into(), start, length) as u64
        }),
        (8, true) => operation!(|a: i64, start: u32, length: u32| -> u64 {
            signed_field(a.into(), start, length) as u64
        }),
        _ => return None,
    })
}

/// Start and length of a bit field are given in 8 bits.
fn field(bits: u128, start: u32, length: u32) -> u128 {
    let (start, length) = (start & 255, length & 255);
    let mask = 1u128.checked_shl(length).map_or(u128::MAX, |end| end - 1);
    bits.checked_shr(start).unwrap_or(0) & mask
}

fn signed_field(bits: i128, start: u32, length: u32) -> i128 {
    let (start, length) = (start & 255, length & 255);
    let unused = 128 - length.min(64);
    if unused == 128 {
        return 0;
    }
    bits >> start.min(127) << unused >> unused
}

fn insert(field: u64, into: u64, start: u32, length: u32, size: u32) -> u64 {
    let (start, length) = (start & 255, length & 255);
    if start >= size || length == 0 {
        return into;
    }
    let mask = 1u64.checked_shl(length).map_or(u64::MAX, |end| end - 1) << start;
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

fn by_table(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let of = |value: u32, bit: u32| {
                if row >> bit & 1 == 1 { value } else { !value }
            };
            result |= of(a, 2) & of(b, 1) & of(c, 0);
        }
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
