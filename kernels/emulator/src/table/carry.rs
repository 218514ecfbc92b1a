//! Sums with a carry. The last operand is the carry of the words before.

use crate::registers::{Operation, operation};
use crate::table::Form;

/// An operation for each type, which it calls `Word`, the same without a sign, `Plain`, and
/// the type of twice its width, `Wide`.
macro_rules! of_words {
    ($kind:expr, $operation:expr) => {
        of_words!($kind, $operation, "u32" u32 u32 u64, "s32" i32 u32 i64,
            "u64" u64 u64 u128, "s64" i64 u64 i128)
    };
    ($kind:expr, $operation:expr, $($name:literal $word:ident $plain:ident $wide:ident),*) => {
        match $kind {
            $($name => {
                type Word = $word;
                type Plain = $plain;
                #[allow(dead_code, reason = "products only")]
                type Wide = $wide;
                $operation
            })*
            _ => return None,
        }
    };
}

/// The sum of two words and a carry, and the next carry.
macro_rules! both {
    ($kind:expr, |$($name:ident),*| $sum:expr) => {
        of_words!($kind, [
            operation!(|$($name: Word),*, carry: bool| -> Plain {{
                let (x, y): (Plain, Plain) = $sum;
                x.wrapping_add(y).wrapping_add(Plain::from(carry))
            }}),
            operation!(|$($name: Word),*, carry: bool| -> bool {{
                let (x, y): (Plain, Plain) = $sum;
                let (sum, first) = x.overflowing_add(y);
                first || sum.overflowing_add(Plain::from(carry)).1
            }}),
        ])
    };
}

/// The same for a difference, whose carry is what the next words have to lend.
macro_rules! difference {
    ($kind:expr) => {
        of_words!(
            $kind,
            [
                operation!(|a: Word, b: Word, borrow: bool| -> Word {
                    a.wrapping_sub(b).wrapping_sub(Word::from(borrow))
                }),
                operation!(|a: Word, b: Word, borrow: bool| -> bool {
                    {
                        let (rest, first) = (a as Plain).overflowing_sub(b as Plain);
                        first || rest.overflowing_sub(Plain::from(borrow)).1
                    }
                }),
            ]
        )
    };
}

/// The operation that computes the result, and the one that computes the carry.
pub(crate) fn lookup(form: &mut Form<'_>) -> Option<[Operation; 2]> {
    let kind = form.only_type()?;
    let part = form.take_one_of(&["lo", "hi"]);
    let both = match (form.base, part) {
        ("add" | "addc", None) => both!(kind, |a, b| (a as Plain, b as Plain)),
        ("sub" | "subc", None) => difference!(kind),
        ("mad" | "madc", Some("lo")) => {
            both!(kind, |a, b, c| (a.wrapping_mul(b) as Plain, c as Plain))
        }
        ("mad" | "madc", Some("hi")) => both!(kind, |a, b, c| {
            let product = Wide::from(a) * Wide::from(b);
            ((product >> Word::BITS) as Plain, c as Plain)
        }),
        _ => return None,
    };
    form.modifiers.is_empty().then_some(both)
}
