//! Arithmetic of integers. What is divided by zero becomes all ones, as on the hardware;
//! PTX leaves it open.

use crate::registers::{Operation, operation};
use crate::table::Form;

macro_rules! integers {
    ($kind:expr, |$($name:ident),*| $body:expr) => {
        match $kind {
            "u16" => operation!(|$($name: u16),*| -> u16 { $body }),
            "s16" => operation!(|$($name: i16),*| -> i16 { $body }),
            "u32" => operation!(|$($name: u32),*| -> u32 { $body }),
            "s32" => operation!(|$($name: i32),*| -> i32 { $body }),
            "u64" => operation!(|$($name: u64),*| -> u64 { $body }),
            "s64" => operation!(|$($name: i64),*| -> i64 { $body }),
            _ => return None,
        }
    };
}

macro_rules! signed {
    ($kind:expr, |$($name:ident),*| $body:expr) => {
        match $kind {
            "s16" => operation!(|$($name: i16),*| -> i16 { $body }),
            "s32" => operation!(|$($name: i32),*| -> i32 { $body }),
            "s64" => operation!(|$($name: i64),*| -> i64 { $body }),
            _ => return None,
        }
    };
}

pub(crate) fn lookup(form: &mut Form<'_>) -> Option<Operation> {
    let kind = form.only_type()?;
    let part = form.take_one_of(&["lo", "hi", "wide"]);
    Some(match (form.base, part) {
        ("add", None) if form.take("sat") => match kind {
            "s32" => operation!(|a: i32, b: i32| -> i32 { a.saturating_add(b) }),
            _ => return None,
        },
        ("sub", None) if form.take("sat") => match kind {
            "s32" => operation!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) }),
            _ => return None,
        },
        ("add", None) => integers!(kind, |a, b| a.wrapping_add(b)),
        ("sub", None) => integers!(kind, |a, b| a.wrapping_sub(b)),
        ("mul", Some("lo")) => integers!(kind, |a, b| a.wrapping_mul(b)),
        ("mad", Some("lo")) => {
            integers!(kind, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        ("mul", Some("hi")) => high(kind)?,
        ("mad", Some("hi")) => high_add(kind)?,
        ("mul", Some("wide")) => wide(kind)?,
        ("mad", Some("wide")) => wide_add(kind)?,
        ("div", None) => {
            integers!(kind, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) })
        }
        ("rem", None) => {
            integers!(kind, |a, b| if b == 0 { !0 } else { a.wrapping_rem(b) })
        }
        ("abs", None) => signed!(kind, |a| a.wrapping_abs()),
        ("neg", None) => signed!(kind, |a| a.wrapping_neg()),
        ("min", None) => integers!(kind, |a, b| a.min(b)),
        ("max", None) => integers!(kind, |a, b| a.max(b)),
        _ => return None,
    })
}

/// The upper half of a product.
macro_rules! upper {
    ($a:ident, $b:ident, $narrow:ty, $wide:ty) => {
        (<$wide>::from($a) * <$wide>::from($b) >> <$narrow>::BITS) as $narrow
    };
}

fn high(kind: &str) -> Option<Operation> {
    Some(match kind {
        "u16" => operation!(|a: u16, b: u16| -> u16 { upper!(a, b, u16, u32) }),
        "s16" => operation!(|a: i16, b: i16| -> i16 { upper!(a, b, i16, i32) }),
        "u32" => operation!(|a: u32, b: u32| -> u32 { upper!(a, b, u32, u64) }),
        "s32" => operation!(|a: i32, b: i32| -> i32 { upper!(a, b, i32, i64) }),
        "u64" => operation!(|a: u64, b: u64| -> u64 { upper!(a, b, u64, u128) }),
        "s64" => operation!(|a: i64, b: i64| -> i64 { upper!(a, b, i64, i128) }),
        _ => return None,
    })
}

fn high_add(kind: &str) -> Option<Operation> {
    Some(match kind {
        "u32" => operation!(|a: u32, b: u32, c: u32| -> u32 {
            upper!(a, b, u32, u64).wrapping_add(c)
        }),
        "s32" => operation!(|a: i32, b: i32, c: i32| -> i32 {
            upper!(a, b, i32, i64).wrapping_add(c)
        }),
        "u64" => operation!(|a: u64, b: u64, c: u64| -> u64 {
            upper!(a, b, u64, u128).wrapping_add(c)
        }),
        "s64" => operation!(|a: i64, b: i64, c: i64| -> i64 {
            upper!(a, b, i64, i128).wrapping_add(c)
        }),
        _ => return None,
    })
}

fn wide(kind: &str) -> Option<Operation> {
    Some(match kind {
        "u16" => {
            operation!(|a: u16, b: u16| -> u32 { u32::from(a) * u32::from(b) })
        }
        "s16" => {
            operation!(|a: i16, b: i16| -> i32 { i32::from(a) * i32::from(b) })
        }
        "u32" => {
            operation!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) })
        }
        "s32" => {
            operation!(|a: i32, b: i32| -> i64 { i64::from(a) * i64::from(b) })
        }
        _ => return None,
    })
}

fn wide_add(kind: &str) -> Option<Operation> {
    Some(match kind {
        "u16" => operation!(|a: u16, b: u16, c: u32| -> u32 {
            (u32::from(a) * u32::from(b)).wrapping_add(c)
        }),
        "s16" => operation!(|a: i16, b: i16, c: i32| -> i32 {
            (i32::from(a) * i32::from(b)).wrapping_add(c)
        }),
        "u32" => operation!(|a: u32, b: u32, c: u64| -> u64 {
            (u64::from(a) * u64::from(b)).wrapping_add(c)
        }),
        "s32" => operation!(|a: i32, b: i32, c: i64| -> i64 {
            (i64::from(a) * i64::from(b)).wrapping_add(c)
        }),
        _ => return None,
    })
}
