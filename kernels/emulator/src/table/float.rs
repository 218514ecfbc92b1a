//! Arithmetic of floating-point numbers. Rounding to the nearest is Rust's own; what PTX
//! only promises approximately is computed in double precision and rounded once.

use crate::half::{Bf16, F16, FlushedF16, Half, each_half};
use crate::registers::{Operation, operation, vector_operation};
use crate::rounding::{self, Towards, double, flush, saturate};
use crate::table::{Form, fused};

/// How an operation on `f32` treats small operands and its result.
#[derive(Clone, Copy)]
struct Style {
    flush: bool,
    saturate: bool,
}

/// An operation on `f32` in the given style. `plain`: the macro for one without any.
macro_rules! single {
    ($style:expr, |$($name:ident),*| $body:expr) => {
        single!(operation, $style, |$($name),*| $body)
    };
    ($plain:ident, $style:expr, |$($name:ident),*| $body:expr) => {
        match ($style.flush, $style.saturate) {
            (false, false) => $plain!(|$($name: f32),*| -> f32 { $body }),
            (false, true) => {
                operation!(|$($name: f32),*| -> f32 { saturate($body) })
            }
            (true, false) => operation!(|$($name: f32),*| -> f32 {{
                $(let $name = flush($name);)*
                flush($body)
            }}),
            (true, true) => operation!(|$($name: f32),*| -> f32 {{
                $(let $name = flush($name);)*
                saturate(flush($body))
            }}),
        }
    };
}

/// An operation on `f32` that rounds in any direction.
macro_rules! rounded {
    ($style:expr, $towards:expr, $nearest:expr, $directed:path, |$($name:ident),*|) => {
        match $towards {
            None => single!(vector_operation, $style, |$($name),*| $nearest($($name),*)),
            Some(Towards::Zero) => {
                single!($style, |$($name),*| $directed($($name,)* Towards::Zero))
            }
            Some(Towards::Down) => {
                single!($style, |$($name),*| $directed($($name,)* Towards::Down))
            }
            Some(Towards::Up) => {
                single!($style, |$($name),*| $directed($($name,)* Towards::Up))
            }
        }
    };
}

pub(crate) fn lookup(form: &mut Form<'_>) -> Option<Operation> {
    match form.only_type()? {
        "f32" => of_32(form),
        "f64" => of_64(form),
        kind => of_16(form, kind),
    }
}

fn of_32(form: &mut Form<'_>) -> Option<Operation> {
    let style = Style { flush: form.take("ftz"), saturate: form.take("sat") };
    let approximate = form.take("approx") || form.take("full");
    let (nan, xor_signs) = (form.take("NaN"), take_xor_signs(form));
    let towards = match form.take_one_of(&["rn", "rz", "rm", "rp"]) {
        Some("rz") => Some(Towards::Zero),
        Some("rm") => Some(Towards::Down),
        Some("rp") => Some(Towards::Up),
        _ => None,
    };
    Some(match form.base {
        "add" => {
            rounded!(style, towards, |a: f32, b: f32| a + b, rounding::add, |a, b|)
        }
        "sub" => rounded!(style, towards, |a: f32, b: f32| a - b, subtract, |a, b|),
        "mul" => {
            rounded!(style, towards, |a: f32, b: f32| a * b, rounding::multiply, |a, b|)
        }
        "fma" | "mad" if towards.is_none() && !style.flush && !style.saturate => {
            fused::MULTIPLY_ADD
        }
        // A part of `expf`.
        "fma" if towards == Some(Towards::Down) && !style.flush && !style.saturate => {
            vector_operation!(|a: f32, b: f32, c: f32| -> f32 {
                rounding::multiply_add(a, b, c, Towards::Down)
            })
        }
        "fma" | "mad" => {
            rounded!(style, towards, f32::mul_add, rounding::multiply_add, |a, b, c|)
        }
        "div" => {
            rounded!(style, towards, |a: f32, b: f32| a / b, rounding::divide, |a, b|)
        }
        "rcp" => {
            rounded!(style, towards, |a: f32| 1.0 / a, reciprocal, |a|)
        }
        "sqrt" => {
            rounded!(style, towards, f32::sqrt, rounding::square_root, |a|)
        }
        "abs" => single!(vector_operation, style, |a| a.abs()),
        "neg" => single!(vector_operation, style, |a| -a),
        "min" | "max" if xor_signs => {
            macro_rules! made {
                ($choose:ident) => {
                    single!(style, |a, b| {
                        let (sign, other) = (a.is_sign_negative(), b.is_sign_negative());
                        let size = a.abs().$choose(b.abs());
                        if sign != other { -size } else { size }
                    })
                };
            }
            match (form.base, nan) {
                ("min", false) => made!(minimum_number),
                ("min", true) => made!(minimum_or_nan),
                (_, false) => made!(maximum_number),
                (_, true) => made!(maximum_or_nan),
            }
        }
        _ if xor_signs => return None,
        "min" if nan => single!(style, |a, b| a.minimum_or_nan(b)),
        "max" if nan => single!(style, |a, b| a.maximum_or_nan(b)),
        "min" => single!(vector_operation, style, |a, b| a.minimum_number(b)),
        "max" => single!(vector_operation, style, |a, b| a.maximum_number(b)),
        "copysign" => operation!(|a: f32, b: f32| -> f32 { b.copysign(a) }),
        "testp" => test(form)?,
        _ if !approximate => return None,
        "rsqrt" => single!(vector_operation, style, |a| (1.0 / f64::from(a).sqrt()) as f32),
        "ex2" => single!(style, |a| f64::from(a).exp2() as f32),
        "lg2" => single!(style, |a| f64::from(a).log2() as f32),
        "sin" => single!(style, |a| f64::from(a).sin() as f32),
        "cos" => single!(style, |a| f64::from(a).cos() as f32),
        "tanh" => single!(style, |a| f64::from(a).tanh() as f32),
        _ => return None,
    })
}

fn of_64(form: &mut Form<'_>) -> Option<Operation> {
    let approximate = form.take("approx");
    if approximate {
        form.take("ftz");
    }
    let towards = match form.take_one_of(&["rn", "rz", "rm", "rp"]) {
        Some("rz") => Towards::Zero,
        Some("rm") => Towards::Down,
        Some("rp") => Towards::Up,
        _ => return of_64_to_nearest(form, approximate),
    };
    macro_rules! rounded {
        ($directed:path, |$($name:ident),*|) => {
            match towards {
                Towards::Zero => operation!(|$($name: f64),*| -> f64 {
                    $directed($($name,)* Towards::Zero)
                }),
                Towards::Down => operation!(|$($name: f64),*| -> f64 {
                    $directed($($name,)* Towards::Down)
                }),
                Towards::Up => operation!(|$($name: f64),*| -> f64 {
                    $directed($($name,)* Towards::Up)
                }),
            }
        };
    }
    Some(match form.base {
        "add" => rounded!(double::add, |a, b|),
        "sub" => rounded!(double::subtract, |a, b|),
        "mul" => rounded!(double::multiply, |a, b|),
        "fma" | "mad" => rounded!(double::multiply_add, |a, b, c|),
        "div" => rounded!(double::divide, |a, b|),
        "rcp" => rounded!(double::reciprocal, |a|),
        "sqrt" => rounded!(double::square_root, |a|),
        _ => return None,
    })
}

fn of_64_to_nearest(form: &mut Form<'_>, approximate: bool) -> Option<Operation> {
    Some(match form.base {
        "add" => vector_operation!(|a: f64, b: f64| -> f64 { a + b }),
        "sub" => vector_operation!(|a: f64, b: f64| -> f64 { a - b }),
        "mul" => vector_operation!(|a: f64, b: f64| -> f64 { a * b }),
        "fma" | "mad" => {
            operation!(|a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c) })
        }
        "div" => operation!(|a: f64, b: f64| -> f64 { a / b }),
        "rcp" if approximate => operation!(|a: f64| -> f64 { upper_half(1.0 / a) }),
        "rcp" => operation!(|a: f64| -> f64 { 1.0 / a }),
        "rsqrt" if approximate => {
            operation!(|a: f64| -> f64 { upper_half(1.0 / a.sqrt()) })
        }
        "sqrt" => operation!(|a: f64| -> f64 { a.sqrt() }),
        "abs" => operation!(|a: f64| -> f64 { a.abs() }),
        "neg" => operation!(|a: f64| -> f64 { -a }),
        "min" => operation!(|a: f64, b: f64| -> f64 { a.minimum_number(b) }),
        "max" => operation!(|a: f64, b: f64| -> f64 { a.maximum_number(b) }),
        "copysign" => operation!(|a: f64, b: f64| -> f64 { b.copysign(a) }),
        "testp" => test(form)?,
        _ => return None,
    })
}

/// Operations on `f16` and `bf16`, and on pairs of them, in double precision: its 53 bits hold
/// every exact result, or enough of it to round it right.
fn of_16(form: &mut Form<'_>, kind: &str) -> Option<Operation> {
    form.take("rn");
    let approximate = form.take("approx");
    if approximate && kind.starts_with("bf16") {
        form.take("ftz");
    }
    let (relu, saturate) = (form.take("relu"), form.take("sat"));
    let (nan, xor_signs) = (form.take("NaN"), take_xor_signs(form));
    let flushes = kind.starts_with("f16") && form.take("ftz");
    macro_rules! of_kind {
        (|$($name:ident),*| $body:expr) => {
            match kind {
                "f16" if flushes => of_kind!(FlushedF16, |$($name),*| $body),
                "f16x2" if flushes => operation!(|$($name: u32),*| -> u32 {
                    each_half::<FlushedF16, _>([$($name),*], |[$($name),*]| $body)
                }),
                "f16" => of_kind!(F16, |$($name),*| $body),
                "bf16" => of_kind!(Bf16, |$($name),*| $body),
                "f16x2" => operation!(|$($name: u32),*| -> u32 {
                    each_half::<F16, _>([$($name),*], |[$($name),*]| $body)
                }),
                _ => operation!(|$($name: u32),*| -> u32 {
                    each_half::<Bf16, _>([$($name),*], |[$($name),*]| $body)
                }),
            }
        };
        ($type:ident, |$($name:ident),*| $body:expr) => {
            operation!(|$($name: $type),*| -> $type {{
                $(let $name = $name.value();)*
                $type::nearest($body)
            }})
        };
    }
    macro_rules! in_double {
        (|$($name:ident),*| $body:expr) => {
            match (relu, saturate) {
                (false, false) => of_kind!(|$($name),*| $body),
                (true, false) => of_kind!(|$($name),*| rounding::relu($body)),
                (false, true) => of_kind!(|$($name),*| $body.maximum_number(0.0).min(1.0)),
                _ => return None,
            }
        };
    }
    let pairs = kind.ends_with("x2");
    Some(match form.base {
        "ex2" if approximate => in_double!(|a| a.exp2()),
        "tanh" if approximate => in_double!(|a| a.tanh()),
        _ if approximate => return None,
        "add" => in_double!(|a, b| rounding::add_to_odd(a, b)),
        "sub" => in_double!(|a, b| rounding::add_to_odd(a, -b)),
        "mul" => in_double!(|a, b| a * b),
        "fma" => in_double!(|a, b, c| rounding::add_to_odd(a * b, c)),
        "min" | "max" if xor_signs => {
            macro_rules! made {
                ($choose:ident) => {
                    in_double!(|a, b| {
                        let size = a.abs().$choose(b.abs());
                        if a.is_sign_negative() != b.is_sign_negative() { -size } else { size }
                    })
                };
            }
            match (form.base, nan) {
                ("min", false) => made!(minimum_number),
                ("min", true) => made!(minimum_or_nan),
                (_, false) => made!(maximum_number),
                (_, true) => made!(maximum_or_nan),
            }
        }
        _ if xor_signs => return None,
        "min" if nan => in_double!(|a, b| a.minimum_or_nan(b)),
        "max" if nan => in_double!(|a, b| a.maximum_or_nan(b)),
        "min" => in_double!(|a, b| a.minimum_number(b)),
        "max" => in_double!(|a, b| a.maximum_number(b)),
        _ if relu || saturate || nan => return None,
        "neg" if flushes => in_double!(|a| -a),
        "abs" if flushes => in_double!(|a| a.abs()),
        "neg" if pairs => operation!(|a: u32| -> u32 { a ^ 0x8000_8000 }),
        "abs" if pairs => operation!(|a: u32| -> u32 { a & 0x7fff_7fff }),
        "neg" => operation!(|a: u16| -> u16 { a ^ 0x8000 }),
        "abs" => operation!(|a: u16| -> u16 { a & 0x7fff }),
        _ => return None,
    })
}

/// `.xorsign.abs`: the smaller or larger size, with both signs' product.
fn take_xor_signs(form: &mut Form<'_>) -> bool {
    form.take("xorsign") && form.take("abs")
}

fn test(form: &mut Form<'_>) -> Option<Operation> {
    let tests = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    macro_rules! tested {
        ($test:ident) => {
            match form.only_type()? {
                "f32" => operation!(|a: f32| -> bool { a.$test() }),
                _ => operation!(|a: f64| -> bool { a.$test() }),
            }
        };
    }
    Some(match form.take_one_of(&tests)? {
        "finite" => tested!(is_finite),
        "infinite" => tested!(is_infinite),
        "number" => tested!(is_number),
        "notanumber" => tested!(is_nan),
        "normal" => tested!(is_normal_or_zero),
        _ => tested!(is_subnormal),
    })
}

fn subtract(a: f32, b: f32, towards: Towards) -> f32 {
    rounding::add(a, -b, towards)
}

fn reciprocal(a: f32, towards: Towards) -> f32 {
    rounding::divide(1.0, a, towards)
}

/// What `rcp.approx.ftz.f64` and its like give: the lower half of the bits is zero.
fn upper_half(value: f64) -> f64 {
    f64::from_bits(value.to_bits() >> 32 << 32)
}

/// Minimum and maximum as PTX has them: -0 is less than +0, and a number wins against no
/// number, unless the name says otherwise.
trait Numbers: Copy {
    fn is_number(self) -> bool;
    fn is_normal_or_zero(self) -> bool;
    fn minimum_number(self, other: Self) -> Self;
    fn maximum_number(self, other: Self) -> Self;
    fn minimum_or_nan(self, other: Self) -> Self;
    fn maximum_or_nan(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($type:ty) => {
        impl Numbers for $type {
            fn is_number(self) -> bool {
                !self.is_nan()
            }

            fn is_normal_or_zero(self) -> bool {
                self.is_normal() || self == 0.0
            }

            fn minimum_number(self, other: Self) -> Self {
                let smaller = self < other || self == other && self.is_sign_negative();
                if smaller || other.is_nan() { self } else { other }
            }

            fn maximum_number(self, other: Self) -> Self {
                let larger = self > other || self == other && self.is_sign_positive();
                if larger || other.is_nan() { self } else { other }
            }

            fn minimum_or_nan(self, other: Self) -> Self {
                let nan = self.is_nan() || other.is_nan();
                if nan { Self::NAN } else { self.minimum_number(other) }
            }

            fn maximum_or_nan(self, other: Self) -> Self {
                let nan = self.is_nan() || other.is_nan();
                if nan { Self::NAN } else { self.maximum_number(other) }
            }
        }
    };
}
numbers!(f32);
numbers!(f64);
