//! Conversions.

use std::convert::identity;

use crate::half::{Bf16, E4m3, E5m2, F16, Half};
use crate::registers::{Operation, operation, vector_operation};
use crate::rounding::{
    Towards, directed, double_from_integer, flush, from_integer, integer_to_odd, relu, saturate,
};
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
    let is_small = |kind: &str| matches!(kind, "e4m3x2" | "e5m2x2");
    if is_small(to) || is_small(from) {
        return of_8_bits(form, to, from);
    }
    if from == "f32" && matches!(to, "f16" | "bf16" | "f16x2" | "bf16x2" | "tf32") {
        return narrowed(form, to);
    }
    if form.modifiers.is_empty()
        && let Some(operation) = between_integers(to, from)
    {
        return Some(operation);
    }
    let is_float = |kind: &str| kind.contains('f');
    match (is_float(to), is_float(from)) {
        (false, false) if form.take("sat") => {
            Some(of_integer!(to, To: of_integer!(from, From: operation!(|a: From| -> To {
                i128::from(a).clamp(To::MIN.into(), To::MAX.into()) as To
            }))))
        }
        (false, false) => {
            Some(of_integer!(to, To: of_integer!(from, From: operation!(|a: From| -> To {
                a as To
            }))))
        }
        (true, false) => integer_to_float(form, to, from),
        (false, true) => float_to_integer(form, to, from),
        (true, true) => float_to_float(form, to, from),
    }
}

/// A conversion that kernels have in their innermost loops.
fn between_integers(to: &str, from: &str) -> Option<Operation> {
    Some(match (to, from) {
        ("u64" | "s64", "u32") => vector_operation!(|a: u32| -> u64 { a.into() }),
        ("u64" | "s64", "s32") => vector_operation!(|a: i32| -> i64 { a.into() }),
        ("u32" | "s32", "u64" | "s64") => vector_operation!(|a: u64| -> u32 { a as u32 }),
        ("u16", "u32" | "s32") => vector_operation!(|a: u32| -> u16 { a as u16 }),
        ("u32" | "s32", "u16") => vector_operation!(|a: u16| -> u32 { a.into() }),
        // In a register of 32 bits these are the same, whether 16 or 32 of them count.
        ("u32" | "s32" | "u16" | "s16", "u8") => vector_operation!(|a: u8| -> u32 { a.into() }),
        ("u32" | "s32" | "s16", "s8") => vector_operation!(|a: i8| -> i32 { a.into() }),
        _ => return None,
    })
}

fn integer_to_float(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    let rounding = form.take_one_of(&["rn", "rz", "rm", "rp"])?;
    let towards = Towards::named(rounding);
    macro_rules! made {
        ($result:ty, |$a:ident $(; $style:ident)?| $body:expr) => {
            of_integer!(from, From: operation!(|$a: From $(; $style)?| -> $result { $body }))
        };
    }
    let operation = match (to, towards) {
        ("f32", None) if from == "u32" => vector_operation!(|a: u32| -> f32 { a as f32 }),
        ("f32", None) if from == "s32" => vector_operation!(|a: i32| -> f32 { a as f32 }),
        ("f32", None) if from == "s16" => vector_operation!(|a: i16| -> f32 { a.into() }),
        ("f32", None) => made!(f32, |a| a as f32),
        ("f64", None) => made!(f64, |a| a as f64),
        // Those that a double has no room for are above every `f16`.
        ("f16", None) => made!(F16, |a| F16::from_f64(a as f64)),
        ("bf16", None) => made!(Bf16, |a| Bf16::nearest(integer_to_odd(a.into()))),
        ("f32", _) => made!(f32, |a; style| from_integer(a.into(), Towards::of(style))),
        ("f64", _) => made!(f64, |a; style| double_from_integer(a.into(), Towards::of(style))),
        ("f16", _) => made!(F16, |a; style| F16::directed(a as f64, Towards::of(style))),
        _ => return None,
    };
    Some(operation.styled(towards.map_or(0, |towards| towards as u8)))
}

/// Rust's `as` is what PTX asks for: it saturates, and makes 0 of no number. Hardware makes the
/// highest bit of no number where one side has 64 bits.
fn float_to_integer(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    let rounding = form.take_one_of(&["rni", "rzi", "rmi", "rpi"])?;
    form.take("sat");
    let (ftz, is_long) = (form.take("ftz"), to.ends_with("64"));
    let style = whole_style(rounding) | if ftz && from == "f32" { FLUSH } else { 0 };
    macro_rules! made {
        (|$a:ident: $from:ty| $value:expr) => {
            operation!(|$a: $from; style| -> To {
                match to_whole($value, style) {
                    whole if whole.is_nan() && style & HIGHEST != 0 => {
                        (1u64 << (To::BITS - 1)) as To
                    }
                    whole => whole as To,
                }
            })
        };
    }
    let operation = of_integer!(to, To: match from {
        "f16" => made!(|a: F16| a.to_f64()),
        "bf16" => made!(|a: Bf16| a.to_f32().into()),
        "f32" => made!(|a: f32| a.into()),
        "f64" => made!(|a: f64| a),
        _ => return None,
    });
    let highest = if is_long || from == "f64" { HIGHEST } else { 0 };
    Some(operation.styled(style | highest))
}

/// In the style of a conversion to whole numbers, beside how it rounds: whether it flushes an
/// `f32` before; whether no number becomes the highest bit.
const FLUSH: u8 = 4;
const HIGHEST: u8 = 8;

fn whole_style(rounding: &str) -> u8 {
    match rounding {
        "rni" => 0,
        "rzi" => 1,
        "rmi" => 2,
        _ => 3,
    }
}

/// The whole number of a style.
fn to_whole(value: f64, style: u8) -> f64 {
    let value = if style & FLUSH != 0 { flush(value as f32).into() } else { value };
    match style & 3 {
        0 => value.round_ties_even(),
        1 => value.trunc(),
        2 => value.floor(),
        _ => value.ceil(),
    }
}

fn float_to_float(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    let (ftz, sat) = (form.take("ftz"), form.take("sat"));
    let rounding = form.take_one_of(&["rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp"]);
    let towards = rounding.and_then(Towards::named).map_or(0, |towards| towards as u8);
    let operation = match (to, from, rounding) {
        ("f32", "f32", None) if sat && ftz => {
            operation!(|a: f32| -> f32 { saturate(flush(a)) })
        }
        ("f32", "f32", None) if sat => vector_operation!(|a: f32| -> f32 { saturate(a) }),
        ("f32", "f64", Some("rn")) if sat && !ftz => {
            operation!(|a: f64| -> f32 { saturate(a as f32) })
        }
        (_, _, Some(rounding @ ("rni" | "rzi" | "rmi" | "rpi"))) => {
            let style = whole_style(rounding) | if ftz { FLUSH } else { 0 };
            let operation = match (to, from) {
                ("f32", "f32") if sat => operation!(|a: f32; style| -> f32 {
                    saturate(to_whole(a.into(), style) as f32)
                }),
                _ if sat => return None,
                ("f32", "f32") => {
                    operation!(|a: f32; style| -> f32 { to_whole(a.into(), style) as f32 })
                }
                ("f64", "f64") => operation!(|a: f64; style| -> f64 { to_whole(a, style & 3) }),
                ("f16", "f16") => operation!(|a: F16; style| -> F16 {
                    F16::from_f64(to_whole(a.to_f64(), style & 3))
                }),
                _ => return None,
            };
            return Some(operation.styled(style));
        }
        _ if sat => return None,
        ("f64", "f32", None) if ftz => {
            operation!(|a: f32| -> f64 { flush(a).into() })
        }
        ("f64", "f32", None) => vector_operation!(|a: f32| -> f64 { a.into() }),
        ("f64", "f16", None) => operation!(|a: F16| -> f64 { a.to_f64() }),
        ("f32", "f16", None) if !ftz => vector_operation!(|a: F16| -> f32 { a.to_f64() as f32 }),
        ("f32", "f16", None) if ftz => operation!(|a: F16| -> f32 { flush(a.to_f64() as f32) }),
        ("f64", "bf16", None) => operation!(|a: Bf16| -> f64 { a.to_f32().into() }),
        ("f32", "bf16", None) => vector_operation!(|a: Bf16| -> f32 { a.to_f32() }),
        ("f32", "f32", None) if ftz => operation!(|a: f32| -> f32 { flush(a) }),
        ("f32", "f64", Some("rn")) if ftz => {
            operation!(|a: f64| -> f32 { flush(a as f32) })
        }
        ("f32", "f64", Some(_)) if ftz => operation!(|a: f64; style| -> f32 {
            flush(directed(a, 0.0, Towards::of(style)))
        }),
        _ if ftz => return None,
        ("f32", "f64", Some("rn")) => vector_operation!(|a: f64| -> f32 { a as f32 }),
        ("f32", "f64", Some(_)) => {
            operation!(|a: f64; style| -> f32 { directed(a, 0.0, Towards::of(style)) })
        }
        ("f16", "f64", Some("rn")) => operation!(|a: f64| -> F16 { F16::from_f64(a) }),
        ("f16", "f64", Some(_)) => {
            operation!(|a: f64; style| -> F16 { F16::directed(a, Towards::of(style)) })
        }
        ("bf16", "f64", Some("rn")) => operation!(|a: f64| -> Bf16 { Bf16::nearest(a) }),
        _ => return None,
    };
    Some(operation.styled(towards))
}

/// From `f32` to fewer bits. Of pairs the first operand becomes the upper half.
fn narrowed(form: &mut Form<'_>, to: &str) -> Option<Operation> {
    macro_rules! made {
        ($convert:expr) => {
            if to.ends_with("x2") {
                operation!(|a: f32, b: f32| -> u32 {
                    u32::from($convert(a)) << 16 | u32::from($convert(b))
                })
            } else {
                operation!(|a: f32| -> u16 { $convert(a) })
            }
        };
    }
    let is_f16 = matches!(to, "f16" | "f16x2");
    let rounding = form.take_one_of(&["rn", "rz", "rna", "rm", "rp"])?;
    Some(match (rounding, form.take("relu")) {
        _ if to == "tf32" => return to_tf32(form, rounding),
        ("rn", false) if is_f16 => made!(|a: f32| F16::from_f64(a.into()).0),
        ("rn", true) if is_f16 => made!(|a: f32| F16::from_f64(relu(a.into())).0),
        ("rz", false) if is_f16 => made!(|a: f32| F16::directed(a.into(), Towards::Zero).0),
        ("rz", true) if is_f16 => {
            made!(|a: f32| F16::directed(relu(a.into()), Towards::Zero).0)
        }
        ("rm", false) if to == "f16" => {
            operation!(|a: f32| -> F16 { F16::directed(a.into(), Towards::Down) })
        }
        ("rp", false) if to == "f16" => {
            operation!(|a: f32| -> F16 { F16::directed(a.into(), Towards::Up) })
        }
        _ if is_f16 => return None,
        ("rn", false) if to == "bf16x2" => vector_operation!(|a: f32, b: f32| -> u32 {
            u32::from(Bf16::from_f32(a).0) << 16 | u32::from(Bf16::from_f32(b).0)
        }),
        ("rn", false) => made!(|a: f32| Bf16::from_f32(a).0),
        ("rn", true) => made!(|a: f32| Bf16::nearest(relu(a.into())).0),
        ("rz", false) => made!(|a: f32| Bf16::truncated(a).0),
        ("rz", true) => made!(|a: f32| Bf16::truncated(relu(a.into()) as f32).0),
        _ => return None,
    })
}

/// `tf32`: the upper 19 bits of an `f32`.
fn to_tf32(form: &mut Form<'_>, rounding: &str) -> Option<Operation> {
    form.take("satfinite");
    Some(match rounding {
        "rna" => operation!(|a: f32| -> u32 { tf32(a, HALF_OF_TF32) }),
        "rn" => operation!(|a: f32| -> u32 { tf32(a, HALF_OF_TF32 - 1 + (a.to_bits() >> 13 & 1)) }),
        _ => operation!(|a: f32| -> u32 { tf32(a, 0) }),
    })
}

/// Half of what the last bit of a `tf32` counts.
const HALF_OF_TF32: u32 = 1 << 12;

fn tf32(a: f32, up: u32) -> u32 {
    let up = if a.is_finite() { up } else { 0 };
    (a.to_bits() + up) & !(2 * HALF_OF_TF32 - 1)
}

/// Pairs of 8 bits each.
fn of_8_bits(form: &mut Form<'_>, to: &str, from: &str) -> Option<Operation> {
    if !form.take("rn") {
        return None;
    }
    let (saturates, relus) = (form.take("satfinite"), form.take("relu"));
    let (small, is_result) = match from {
        "f32" | "f16x2" => (to, true),
        _ => (from, false),
    };
    if saturates != is_result || !is_result && to != "f16x2" {
        return None;
    }
    macro_rules! made {
        ($type:ident, $change:expr) => {
            match from {
                "f32" => operation!(|a: f32, b: f32| -> u16 {
                    u16::from_be_bytes([
                        $type::from_f64($change(a.into())).0,
                        $type::from_f64($change(b.into())).0,
                    ])
                }),
                "f16x2" => operation!(|a: u32| -> u16 {
                    u16::from_be_bytes([
                        $type::from_f64($change(F16((a >> 16) as u16).to_f64())).0,
                        $type::from_f64($change(F16(a as u16).to_f64())).0,
                    ])
                }),
                _ => operation!(|a: u16| -> u32 {
                    u32::from(F16::from_f64($change($type((a >> 8) as u8).to_f64())).0) << 16
                        | u32::from(F16::from_f64($change($type(a as u8).to_f64())).0)
                }),
            }
        };
    }
    Some(match (small, relus) {
        ("e4m3x2", false) => made!(E4m3, identity),
        ("e4m3x2", true) => made!(E4m3, relu),
        (_, false) => made!(E5m2, identity),
        (_, true) => made!(E5m2, relu),
    })
}
