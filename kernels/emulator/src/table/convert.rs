//! Conversions.

use crate::half::{Bf16, F16};
use crate::registers::{Operation, operation};
use crate::rounding::{Towards, directed, flush, from_integer, saturate};
use crate::table::Form;

/// An operation for each integer type, which it calls by the name that is given.
macro_rules! of_integer {
    ($kind:expr, $name:ident: $operation:expr) => {
        by_type!(
            $kind,
            $name,
            ["u8" u8, "s8" i8, "u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64],
            $operation
        )
    };
}

pub(crate) fn lookup(form: &mut Form<'_>) -> Option<Operation> {
    let [to, from] = form.types[..] else { return None };
    let is_float = |kind: &str| kind.contains('f');
    match (is_float(to), is_float(from)) {
        (false, false) if form.take("sat") => Some(
            of_integer!(to, To: of_integer!(from, From: operation!(|a: From| -> To {
                i128::from(a).clamp(To::MIN.into(), To::MAX.into()) as To
            }))),
        ),
        (false, false) => Some(
            of_integer!(to, To: of_integer!(from, From: operation!(|a: From| -> To {
                a as To
            }))),
        ),
        (true, false) => integer_to_float(form, to, from),
        (false, true) => float_to_integer(form, to, from),
        (true, true) => float_to_float(form, to, from),
    }
}

fn integer_to_float(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    let rounding = form.take_one_of(&["rn", "rz", "rm", "rp"])?;
    macro_rules! made {
        ($result:ty, |$a:ident| $body:expr) => {
            of_integer!(from, From: operation!(|$a: From| -> $result { $body }))
        };
    }
    Some(match (to, rounding) {
        ("f64", "rn") => made!(f64, |a| a as f64),
        ("f32", "rn") => made!(f32, |a| a as f32),
        ("f32", "rz") => made!(f32, |a| from_integer(a.into(), Towards::Zero)),
        ("f32", "rm") => made!(f32, |a| from_integer(a.into(), Towards::Down)),
        ("f32", "rp") => made!(f32, |a| from_integer(a.into(), Towards::Up)),
        ("f16", "rn") => made!(F16, |a| F16::from_f64(a as f64)),
        // An integer of 32 bits fits in a double, whatever the rounding.
        ("f64", _) if !from.ends_with("64") => made!(f64, |a| a as f64),
        _ => return None,
    })
}

/// Rust's `as` is what PTX asks for: it saturates, and makes 0 of no number.
fn float_to_integer(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    let rounding = form.take_one_of(&["rni", "rzi", "rmi", "rpi"])?;
    form.take("sat");
    let ftz = form.take("ftz");
    macro_rules! rounded {
        ($round:ident) => {
            of_integer!(to, To: match from {
                "f16" => operation!(|a: F16| -> To { a.to_f64().$round() as To }),
                "f32" if ftz => operation!(|a: f32| -> To { flush(a).$round() as To }),
                "f32" => operation!(|a: f32| -> To { a.$round() as To }),
                "f64" => operation!(|a: f64| -> To { a.$round() as To }),
                _ => return None,
            })
        };
    }
    Some(match rounding {
        "rni" => rounded!(round_ties_even),
        "rmi" => rounded!(floor),
        "rpi" => rounded!(ceil),
        _ => rounded!(trunc),
    })
}

fn float_to_float(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    let (ftz, sat) = (form.take("ftz"), form.take("sat"));
    let rounding =
        form.take_one_of(&["rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp"]);
    macro_rules! to_whole {
        ($round:ident) => {
            match (to, from) {
                ("f32", "f32") if ftz => {
                    operation!(|a: f32| -> f32 { flush(a).$round() })
                }
                ("f32", "f32") => operation!(|a: f32| -> f32 { a.$round() }),
                ("f64", "f64") => operation!(|a: f64| -> f64 { a.$round() }),
                ("f16", "f16") => operation!(|a: F16| -> F16 {
                    F16::from_f64(a.to_f64().$round())
                }),
                _ => return None,
            }
        };
    }
    Some(match (to, from, rounding) {
        ("f32", "f32", None) if sat => {
            operation!(|a: f32| -> f32 { saturate(a) })
        }
        _ if sat => return None,
        (_, _, Some("rni")) => to_whole!(round_ties_even),
        (_, _, Some("rzi")) => to_whole!(trunc),
        (_, _, Some("rmi")) => to_whole!(floor),
        (_, _, Some("rpi")) => to_whole!(ceil),
        ("f64", "f32", None) if ftz => {
            operation!(|a: f32| -> f64 { flush(a).into() })
        }
        ("f64", "f32", None) => operation!(|a: f32| -> f64 { a.into() }),
        ("f64", "f16", None) => operation!(|a: F16| -> f64 { a.to_f64() }),
        ("f32", "f16", None) => operation!(|a: F16| -> f32 { a.to_f64() as f32 }),
        ("f32", "bf16", None) => operation!(|a: Bf16| -> f32 { a.to_f32() }),
        ("f32", "f32", None) if ftz => operation!(|a: f32| -> f32 { flush(a) }),
        ("f32", "f64", Some("rn")) if ftz => {
            operation!(|a: f64| -> f32 { flush(a as f32) })
        }
        _ if ftz => return None,
        ("f32", "f64", Some("rn")) => operation!(|a: f64| -> f32 { a as f32 }),
        ("f32", "f64", Some("rz")) => {
            operation!(|a: f64| -> f32 { directed(a, 0.0, Towards::Zero) })
        }
        ("f32", "f64", Some("rm")) => {
            operation!(|a: f64| -> f32 { directed(a, 0.0, Towards::Down) })
        }
        ("f32", "f64", Some("rp")) => {
            operation!(|a: f64| -> f32 { directed(a, 0.0, Towards::Up) })
        }
        ("f16", "f32", Some("rn")) => {
            operation!(|a: f32| -> F16 { F16::from_f64(a.into()) })
        }
        ("f16", "f32", Some("rz")) => {
            operation!(|a: f32| -> F16 { F16::truncated(a.into()) })
        }
        ("f16", "f64", Some("rn")) => {
            operation!(|a: f64| -> F16 { F16::from_f64(a) })
        }
        ("bf16", "f32", Some("rn")) => {
            operation!(|a: f32| -> Bf16 { Bf16::from_f32(a) })
        }
        // The first operand becomes the upper half.
        ("f16x2", "f32", Some("rn")) => operation!(|a: f32, b: f32| -> u32 {
            u32::from(F16::from_f64(a.into()).0) << 16
                | u32::from(F16::from_f64(b.into()).0)
        }),
        ("bf16x2", "f32", Some("rn")) => operation!(|a: f32, b: f32| -> u32 {
            u32::from(Bf16::from_f32(a).0) << 16 | u32::from(Bf16::from_f32(b).0)
        }),
        _ => return None,
    })
}
