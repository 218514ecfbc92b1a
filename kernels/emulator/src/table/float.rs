//! Arithmetic of floating-point numbers. Rounding to the nearest is Rust's own; what PTX
//! only promises approximately is computed in double precision and rounded once.

use crate::half::{Bf16, F16, FlushedF16, each_half};
use crate::registers::{Operation, operation, vector_operation};
use crate::rounding::{self, Towards, double, flush, saturate};
use crate::table::{Form, fused};

/// How an operation on `f32` or `f64` treats small operands, rounds and changes its result.
#[derive(Clone, Copy)]
struct Style {
    flush: bool,
    saturate: bool,
    /// `.xorsign.abs`: of the sizes, with both signs' product.
    xor_signs: bool,
    towards: Option<Towards>,
}

impl Style {
    /// Takes `.rn` and its like.
    fn take_towards(form: &mut Form<'_>) -> Option<Towards> {
        form.take_one_of(&["rn", "rz", "rm", "rp"]).and_then(Towards::named)
    }

    fn bits(self) -> u8 {
        let towards = self.towards.map_or(0, |towards| 1 + towards as u8);
        towards << 3
            | u8::from(self.xor_signs) << 2
            | u8::from(self.saturate) << 1
            | u8::from(self.flush)
    }

    fn of(bits: u8) -> Self {
        let towards = (bits >> 3).checked_sub(1).map(Towards::of);
        let has = |place: u8| bits >> place & 1 == 1;
        Self { flush: has(0), saturate: has(1), xor_signs: has(2), towards }
    }

    fn is_plain(self) -> bool {
        self.bits() == 0
    }

    fn operand(self, value: f32) -> f32 {
        if self.flush { flush(value) } else { value }
    }

    fn result(self, value: f32) -> f32 {
        let value = self.operand(value);
        if self.saturate { saturate(value) } else { value }
    }
}

/// The one of two numbers that `choose` takes, or of their sizes with both signs' product.
fn chosen<Number: Numbers>(
    a: Number,
    b: Number,
    xor_signs: bool,
    choose: fn(Number, Number) -> Number,
) -> Number {
    if !xor_signs {
        return choose(a, b);
    }
    let size = choose(a.size(), b.size());
    if a.is_below_zero() == b.is_below_zero() { size } else { size.negative() }
}

/// An operation on `f32` in the given style, that its body may ask for.
macro_rules! single {
    ($style:ident, |$($name:ident),*| $body:expr) => {
        operation!(|$($name: f32),*; $style| -> f32 {
            let $style = Style::of($style);
            $(let $name = $style.operand($name);)*
            $style.result($body)
        })
        .styled($style.bits())
    };
}

/// The same, and a faster one without any.
macro_rules! fast {
    ($style:ident, |$($name:ident),*| $body:expr) => {
        fast!($style, |$($name),*| $body, $body)
    };
    ($style:ident, |$($name:ident),*| $body:expr, $styled:expr) => {
        match $style.is_plain() {
            true => vector_operation!(|$($name: f32),*| -> f32 { $body }),
            false => single!($style, |$($name),*| $styled),
        }
    };
}

/// An operation on `f32` that rounds in any direction.
macro_rules! rounded {
    ($style:ident, |$($name:ident),*| $nearest:expr, $directed:path) => {
        fast!($style, |$($name),*| $nearest, match $style.towards {
            None => $nearest,
            Some(towards) => $directed($($name,)* towards),
        })
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
    let (flush, saturate) = (form.take("ftz"), form.take("sat"));
    let approximate = form.take("approx") || form.take("full");
    let (nan, xor_signs) = (form.take("NaN"), take_xor_signs(form));
    let towards = Style::take_towards(form);
    let style = Style { flush, saturate, xor_signs, towards };
    Some(match form.base {
        "min" if nan => single!(style, |a, b| chosen(a, b, style.xor_signs, f32::minimum_or_nan)),
        "max" if nan => single!(style, |a, b| chosen(a, b, style.xor_signs, f32::maximum_or_nan)),
        "min" => fast!(style, |a, b| a.minimum_number(b), {
            chosen(a, b, style.xor_signs, f32::minimum_number)
        }),
        "max" => fast!(style, |a, b| a.maximum_number(b), {
            chosen(a, b, style.xor_signs, f32::maximum_number)
        }),
        _ if xor_signs => return None,
        "add" => rounded!(style, |a, b| a + b, rounding::add),
        "sub" => rounded!(style, |a, b| a - b, subtract),
        "mul" => rounded!(style, |a, b| a * b, rounding::multiply),
        "fma" | "mad" if style.is_plain() => fused::MULTIPLY_ADD,
        // A part of `expf`.
        "fma" if towards == Some(Towards::Down) && !flush && !saturate => {
            vector_operation!(|a: f32, b: f32, c: f32| -> f32 {
                rounding::multiply_add(a, b, c, Towards::Down)
            })
        }
        "fma" | "mad" => single!(style, |a, b, c| match style.towards {
            None => a.mul_add(b, c),
            Some(towards) => rounding::multiply_add(a, b, c, towards),
        }),
        "div" => rounded!(style, |a, b| a / b, rounding::divide),
        "rcp" => rounded!(style, |a| 1.0 / a, reciprocal),
        "sqrt" => rounded!(style, |a| a.sqrt(), rounding::square_root),
        "abs" => fast!(style, |a| a.abs()),
        "neg" => fast!(style, |a| -a),
        "copysign" => operation!(|a: f32, b: f32| -> f32 { b.copysign(a) }),
        "testp" => test(form)?,
        _ if !approximate => return None,
        "rsqrt" => fast!(style, |a| (1.0 / f64::from(a).sqrt()) as f32),
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
    let towards = Style::take_towards(form);
    if towards.is_none() {
        return of_64_to_nearest(form, approximate);
    }
    let style = Style { towards, ..Style::of(0) };
    macro_rules! rounded {
        ($directed:path, |$($name:ident),*|) => {
            operation!(|$($name: f64),*; style| -> f64 {
                $directed($($name,)* Style::of(style).towards.unwrap_or(Towards::Zero))
            })
        };
    }
    let operation = match form.base {
        "add" => rounded!(double::add, |a, b|),
        "sub" => rounded!(double::subtract, |a, b|),
        "mul" => rounded!(double::multiply, |a, b|),
        "fma" | "mad" => rounded!(double::multiply_add, |a, b, c|),
        "div" => rounded!(double::divide, |a, b|),
        "rcp" => rounded!(double::reciprocal, |a|),
        "sqrt" => rounded!(double::square_root, |a|),
        _ => return None,
    };
    Some(operation.styled(style.bits()))
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

/// What numbers of 16 bits are, and what is done with a result.
#[derive(Clone, Copy)]
struct HalfStyle(u8);

impl HalfStyle {
    const FLUSHED: u8 = 1;
    const BRAIN: u8 = 2;
    const PAIR: u8 = 4;
    const RELU: u8 = 8;
    const SATURATED: u8 = 16;
    const XOR_SIGNS: u8 = 32;

    fn has(self, what: u8) -> bool {
        self.0 & what != 0
    }

    /// Computes in double precision: its 53 bits hold every exact result, or enough of it to
    /// round it right.
    fn compute<const COUNT: usize>(
        self,
        operands: [u32; COUNT],
        compute: fn(Self, [f64; COUNT]) -> f64,
    ) -> u32 {
        let changed = |result: f64| match result {
            result if self.has(Self::RELU) => rounding::relu(result),
            result if self.has(Self::SATURATED) => result.maximum_number(0.0).min(1.0),
            result => result,
        };
        let each = match self {
            style if style.has(Self::BRAIN) => each_half::<Bf16, COUNT>,
            style if style.has(Self::FLUSHED) => each_half::<FlushedF16, COUNT>,
            _ => each_half::<F16, COUNT>,
        };
        let halves = if self.has(Self::PAIR) { 2 } else { 1 };
        each(operands, halves, &|operands| changed(compute(self, operands)))
    }

    fn chosen(self, [a, b]: [f64; 2], choose: fn(f64, f64) -> f64) -> f64 {
        chosen(a, b, self.has(Self::XOR_SIGNS), choose)
    }
}

/// Operations on `f16` and `bf16`, and on pairs of them.
fn of_16(form: &mut Form<'_>, kind: &str) -> Option<Operation> {
    form.take("rn");
    let approximate = form.take("approx");
    if approximate && kind.starts_with("bf16") {
        form.take("ftz");
    }
    let (relu, saturate) = (form.take("relu"), form.take("sat"));
    let (nan, xor_signs) = (form.take("NaN"), take_xor_signs(form));
    let flushes = kind.starts_with("f16") && form.take("ftz");
    let pairs = kind.ends_with("x2");
    let style = [
        (flushes, HalfStyle::FLUSHED),
        (kind.starts_with("bf16"), HalfStyle::BRAIN),
        (pairs, HalfStyle::PAIR),
        (relu, HalfStyle::RELU),
        (saturate, HalfStyle::SATURATED),
        (xor_signs, HalfStyle::XOR_SIGNS),
    ];
    let style = style.into_iter().fold(0, |all, (is, bit)| if is { all | bit } else { all });
    macro_rules! in_double {
        (|$($name:ident),*| $body:expr) => {
            in_double!(|_style, $($name),*| [$($name),*] => $body)
        };
        (|$style:ident, $($name:ident),*| $operands:pat => $body:expr) => {
            operation!(|$($name: u32),*; style| -> u32 {
                HalfStyle(style).compute([$($name),*], |$style, $operands| $body)
            })
            .styled(style)
        };
    }
    macro_rules! chosen {
        ($choose:path) => {
            in_double!(|style, a, b| operands => style.chosen(operands, $choose))
        };
    }
    Some(match form.base {
        _ if relu && saturate => return None,
        "ex2" if approximate => in_double!(|a| a.exp2()),
        "tanh" if approximate => in_double!(|a| a.tanh()),
        _ if approximate => return None,
        "min" if nan => chosen!(f64::minimum_or_nan),
        "max" if nan => chosen!(f64::maximum_or_nan),
        "min" => chosen!(f64::minimum_number),
        "max" => chosen!(f64::maximum_number),
        _ if xor_signs => return None,
        "add" => in_double!(|a, b| rounding::add_to_odd(a, b)),
        "sub" => in_double!(|a, b| rounding::add_to_odd(a, -b)),
        "mul" => in_double!(|a, b| a * b),
        "fma" => in_double!(|a, b, c| rounding::add_to_odd(a * b, c)),
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
    fn size(self) -> Self;
    fn negative(self) -> Self;
    fn is_below_zero(self) -> bool;
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
            fn size(self) -> Self {
                self.abs()
            }

            fn negative(self) -> Self {
                -self
            }

            fn is_below_zero(self) -> bool {
                self.is_sign_negative()
            }

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
