//! Comparisons.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use crate::half::{Bf16, F16, FlushedF16, Half};
use crate::registers::{Operation, operation, vector_operation};
use crate::rounding::flush;
use crate::table::Form;

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

macro_rules! of_integers {
    ($how:expr, $made:ident, $type:ty) => {
        match $how {
            "eq" => $made!(|a: $type, b: $type| -> bool { a == b }),
            "ne" => $made!(|a: $type, b: $type| -> bool { a != b }),
            "lt" | "lo" => $made!(|a: $type, b: $type| -> bool { a < b }),
            "le" | "ls" => $made!(|a: $type, b: $type| -> bool { a <= b }),
            "gt" | "hi" => $made!(|a: $type, b: $type| -> bool { a > b }),
            "ge" | "hs" => $made!(|a: $type, b: $type| -> bool { a >= b }),
            _ => return None,
        }
    };
}

/// A comparison whose name ends in `u` is true if an operand is no number, others are
/// false then.
macro_rules! of_floats {
    ($how:expr, $made:ident, |$x:ident: $type:ty| $value:expr) => {{
        macro_rules! compared {
            ($test:expr) => {
                $made!(|a: $type, b: $type| -> bool {
                    {
                        let value = |$x: $type| $value;
                        $test(value(a).partial_cmp(&value(b)))
                    }
                })
            };
        }
        match $how {
            "eq" => compared!(|order| order == Some(Equal)),
            "ne" => compared!(|order| matches!(order, Some(Less | Greater))),
            "lt" => compared!(|order| order == Some(Less)),
            "le" => compared!(|order| matches!(order, Some(Less | Equal))),
            "gt" => compared!(|order| order == Some(Greater)),
            "ge" => compared!(|order| matches!(order, Some(Greater | Equal))),
            "equ" => compared!(|order| matches!(order, Some(Equal) | None)),
            "neu" => compared!(|order| order != Some(Equal)),
            "ltu" => compared!(|order| matches!(order, Some(Less) | None)),
            "leu" => compared!(|order| order != Some(Greater)),
            "gtu" => compared!(|order| matches!(order, Some(Greater) | None)),
            "geu" => compared!(|order| order != Some(Less)),
            "num" => compared!(|order: Option<Ordering>| order.is_some()),
            "nan" => compared!(|order: Option<Ordering>| order.is_none()),
            _ => return None,
        }
    }};
}

/// `setp` without a further predicate: `a` compared with `b`. Of pairs it is the half that
/// the name has as a modifier.
pub(crate) fn lookup(form: &mut Form<'_>) -> Option<Operation> {
    let how = form.take_one_of(&COMPARISONS)?;
    Some(match form.only_type()? {
        "f16" if form.take("ftz") => of_floats!(how, operation, |x: FlushedF16| x.value()),
        "f16" => of_floats!(how, operation, |x: F16| x.to_f64()),
        "f16x2" => {
            let upper = form.take("upper");
            match (upper || form.take("lower"), upper, form.take("ftz")) {
                (false, ..) => return None,
                (_, true, true) => {
                    of_floats!(how, operation, |x: u32| FlushedF16((x >> 16) as u16).value())
                }
                (_, false, true) => {
                    of_floats!(how, operation, |x: u32| FlushedF16(x as u16).value())
                }
                (_, true, false) => {
                    of_floats!(how, operation, |x: u32| F16((x >> 16) as u16).to_f64())
                }
                (_, false, false) => of_floats!(how, operation, |x: u32| F16(x as u16).to_f64()),
            }
        }
        "bf16" => of_floats!(how, operation, |x: Bf16| x.to_f32()),
        "bf16x2" if form.take("upper") => {
            of_floats!(how, operation, |x: u32| Bf16((x >> 16) as u16).to_f32())
        }
        "bf16x2" if form.take("lower") => {
            of_floats!(how, operation, |x: u32| Bf16(x as u16).to_f32())
        }
        "f32" if form.take("ftz") => of_floats!(how, operation, |x: f32| flush(x)),
        "f32" => of_floats!(how, vector_operation, |x: f32| x),
        "f64" => of_floats!(how, operation, |x: f64| x),
        "u16" | "b16" => of_integers!(how, operation, u16),
        "s16" => of_integers!(how, operation, i16),
        "u32" | "b32" => of_integers!(how, vector_operation, u32),
        "s32" => of_integers!(how, vector_operation, i32),
        "u64" | "b64" => of_integers!(how, vector_operation, u64),
        "s64" => of_integers!(how, vector_operation, i64),
        _ => return None,
    })
}
