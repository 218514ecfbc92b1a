//! Arithmetic of integers. What is divided by zero becomes all ones, as on the hardware;
//! PTX leaves it open.

use crate::registers::{Operation, operation, vector_operation};
use crate::table::Form;

macro_rules! integers {
    ($kind:expr, |$($name:ident),*| $body:expr) => {
        by_type!(
            $kind,
            Integer,
            ["u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64],
            operation!(|$($name: Integer),*| -> Integer { $body })
        )
    };
}

/// An operation whose bits are the same with a sign and without. Kernels have it in their
/// innermost loops.
macro_rules! wrapping {
    ($kind:expr, |$($name:ident),*| $body:expr) => {
        match $kind {
            kind @ ("u16" | "s16") => by_type!(
                kind,
                Integer,
                ["u16" | "s16" u16],
                operation!(|$($name: Integer),*| -> Integer { $body })
            ),
            kind => by_type!(
                kind,
                Integer,
                ["u32" | "s32" u32, "u64" | "s64" u64],
                vector_operation!(|$($name: Integer),*| -> Integer { $body })
            ),
        }
    };
}

/// An operation for each type of up to 32 bits, which it calls `Narrow`, and the type of twice
/// its width, `Wide`.
macro_rules! short_widened {
    ($kind:expr, $operation:expr) => {
        widened!($kind, $operation, "u16" u16 u32, "s16" i16 i32, "u32" u32 u64, "s32" i32 i64)
    };
}

/// The same for each type.
macro_rules! widened {
    ($kind:expr, $operation:expr) => {
        match $kind {
            kind @ ("u64" | "s64") => {
                widened!(kind, $operation, "u64" u64 u128, "s64" i64 i128)
            }
            kind => short_widened!(kind, $operation),
        }
    };
    ($kind:expr, $operation:expr, $($name:literal $narrow:ident $wide:ident),*) => {
        match $kind {
            $($name => {
                type Narrow = $narrow;
                type Wide = $wide;
                $operation
            })*
            _ => return None,
        }
    };
}

/// `dp4a` and `dp2a`: a number and the products of bytes with bytes, or with halves.
pub(crate) fn dot(form: &mut Form<'_>) -> Option<Operation> {
    let part = form.take_one_of(&["lo", "hi"]);
    macro_rules! sum {
        ($a:ident $parts:ident, $b:ident, $from:expr) => {
            operation!(|a: u32, b: u32, c: u32| -> u32 {
                (0..$parts).fold(c, |sum, place| {
                    let a = (a >> (32 / $parts * place)) as $a as i32;
                    let b = (b >> (8 * place + $from)) as $b as i32;
                    sum.wrapping_add(a.wrapping_mul(b) as u32)
                })
            })
        };
    }
    macro_rules! signs {
        ($parts:ident, $unsigned:ident $signed:ident, $from:expr) => {
            match form.types[..] {
                ["u32", "u32"] => sum!($unsigned $parts, u8, $from),
                ["u32", "s32"] => sum!($unsigned $parts, i8, $from),
                ["s32", "u32"] => sum!($signed $parts, u8, $from),
                ["s32", "s32"] => sum!($signed $parts, i8, $from),
                _ => return None,
            }
        };
    }
    const FOUR: u32 = 4;
    const TWO: u32 = 2;
    Some(match (form.base, part) {
        ("dp4a", None) => signs!(FOUR, u8 i8, 0),
        ("dp2a", Some("lo")) => signs!(TWO, u16 i16, 0),
        ("dp2a", Some("hi")) => signs!(TWO, u16 i16, 16),
        _ => return None,
    })
}

/// `vabsdiff2` and `vabsdiff4`: how far halves or bytes are apart; with `add`, a number and the sum
/// of that.
pub(crate) fn differences(form: &mut Form<'_>) -> Option<Operation> {
    const HALF: u32 = 16;
    const BYTE: u32 = 8;
    macro_rules! parts {
        ($bits:ident) => {
            match form.take("add") {
                true => operation!(|a: u32, b: u32, c: u32| -> u32 {
                    apart(a, b, $bits).fold(c, |sum, (part, _)| sum.wrapping_add(part))
                }),
                false => operation!(|a: u32, b: u32, _c: u32| -> u32 {
                    apart(a, b, $bits).fold(0, |all, (part, place)| all | part << place)
                }),
            }
        };
    }
    Some(if form.base == "vabsdiff2" { parts!(HALF) } else { parts!(BYTE) })
}

/// How far the parts of two words are apart, with their places in bits.
fn apart(a: u32, b: u32, bits: u32) -> impl Iterator<Item = (u32, u32)> {
    let part = move |word: u32, place| (word >> place) & ((1 << bits) - 1);
    let places = (0..u32::BITS).step_by(bits as usize);
    places.map(move |place| (part(a, place).abs_diff(part(b, place)), place))
}

/// The product of the lower 24 bits of two numbers.
fn product_of_24(a: u32, b: u32, signed: bool) -> i64 {
    let number = |bits: u32| match signed {
        true => i64::from((bits << 8) as i32 >> 8),
        false => i64::from(bits << 8 >> 8),
    };
    number(a) * number(b)
}

/// `mul24` and `mad24`: the lower 32 of the product's 48 bits, or the upper.
fn of_24(form: &mut Form<'_>, kind: &str, part: Option<&str>) -> Option<Operation> {
    macro_rules! made {
        ($signed:literal, $shift:literal) => {
            match form.base {
                "mul24" => operation!(|a: u32, b: u32| -> u32 {
                    (product_of_24(a, b, $signed) >> $shift) as u32
                }),
                _ => operation!(|a: u32, b: u32, c: u32| -> u32 {
                    ((product_of_24(a, b, $signed) >> $shift) as u32).wrapping_add(c)
                }),
            }
        };
    }
    Some(match (kind, part?) {
        ("s32", "hi") if form.base == "mad24" && form.take("sat") => {
            operation!(|a: u32, b: u32, c: i32| -> i32 {
                ((product_of_24(a, b, true) >> 16) as i32).saturating_add(c)
            })
        }
        ("s32", "lo") => made!(true, 0),
        ("s32", "hi") => made!(true, 16),
        ("u32", "lo") => made!(false, 0),
        ("u32", "hi") => made!(false, 16),
        _ => return None,
    })
}

pub(crate) fn lookup(form: &mut Form<'_>) -> Option<Operation> {
    let kind = form.only_type()?;
    let part = form.take_one_of(&["lo", "hi", "wide"]);
    Some(match (form.base, part) {
        ("add", None) if kind == "s32" && form.take("sat") => {
            operation!(|a: i32, b: i32| -> i32 { a.saturating_add(b) })
        }
        ("sub", None) if kind == "s32" && form.take("sat") => {
            operation!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) })
        }
        ("add", None) => wrapping!(kind, |a, b| a.wrapping_add(b)),
        ("sub", None) => wrapping!(kind, |a, b| a.wrapping_sub(b)),
        ("mul", Some("lo")) => wrapping!(kind, |a, b| a.wrapping_mul(b)),
        ("mad", Some("lo")) => {
            wrapping!(kind, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        ("mul", Some("hi")) if kind == "u32" => {
            vector_operation!(|a: u32, b: u32| -> u32 {
                ((u64::from(a) * u64::from(b)) >> 32) as u32
            })
        }
        ("mul", Some("hi")) => widened!(
            kind,
            operation!(|a: Narrow, b: Narrow| -> Narrow {
                ((Wide::from(a) * Wide::from(b)) >> Narrow::BITS) as Narrow
            })
        ),
        ("mad", Some("hi")) if kind == "s32" && form.take("sat") => {
            operation!(|a: i32, b: i32, c: i32| -> i32 {
                (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
            })
        }
        ("mad", Some("hi")) => {
            widened!(
                kind,
                operation!(|a: Narrow, b: Narrow, c: Narrow| -> Narrow {
                    (((Wide::from(a) * Wide::from(b)) >> Narrow::BITS) as Narrow).wrapping_add(c)
                })
            )
        }
        ("mul", Some("wide")) if kind.ends_with("32") => widened!(
            kind,
            vector_operation!(|a: Narrow, b: Narrow| -> Wide { Wide::from(a) * Wide::from(b) }),
            "u32" u32 u64,
            "s32" i32 i64
        ),
        ("mul", Some("wide")) => short_widened!(
            kind,
            operation!(|a: Narrow, b: Narrow| -> Wide { Wide::from(a) * Wide::from(b) })
        ),
        ("mad", Some("wide")) => {
            short_widened!(
                kind,
                operation!(|a: Narrow, b: Narrow, c: Wide| -> Wide {
                    (Wide::from(a) * Wide::from(b)).wrapping_add(c)
                })
            )
        }
        ("mul24" | "mad24", _) => of_24(form, kind, part)?,
        ("sad", None) => integers!(kind, |a, b, c| {
            let apart = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
            c.wrapping_add(apart)
        }),
        ("div", None) => {
            integers!(kind, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) })
        }
        ("rem", None) => {
            integers!(kind, |a, b| if b == 0 { !0 } else { a.wrapping_rem(b) })
        }
        ("abs", None) => by_type!(
            kind,
            Integer,
            ["s16" i16, "s32" i32, "s64" i64],
            operation!(|a: Integer| -> Integer { a.wrapping_abs() })
        ),
        ("neg", None) if kind.starts_with('s') => wrapping!(kind, |a| a.wrapping_neg()),
        ("min", None) if kind == "u32" => vector_operation!(|a: u32, b: u32| -> u32 { a.min(b) }),
        ("max", None) if kind == "u32" => vector_operation!(|a: u32, b: u32| -> u32 { a.max(b) }),
        ("min", None) if kind == "s32" => vector_operation!(|a: i32, b: i32| -> i32 { a.min(b) }),
        ("max", None) if kind == "s32" => vector_operation!(|a: i32, b: i32| -> i32 { a.max(b) }),
        ("min", None) => integers!(kind, |a, b| a.min(b)),
        ("max", None) => integers!(kind, |a, b| a.max(b)),
        _ => return None,
    })
}
