//! # What does attention cost that never writes its scores down?
//!
//! Page: `book/src/models/attention-memory.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | three ways: bytes and time over the number of tokens |
//! | [`shape`] | The experiment | how many tokens and heads, in which way, in how much memory |
//! | [`attention`] | The experiment | the arrays, the three ways |
//! | [`verify`] | The check | what has to come out |
//! | [`tensor`] | Tensor cores | how fast is it in BF16; what does a causal mask change? |
//!
//! Attention lets each of N tokens look at all N: its *query* is multiplied with every
//! token's *key*, which gives N scores; they become shares, by softmax; and the *values*
//! of the tokens are added up by these shares. All this happens in several *heads*, each
//! for itself:
//!
//! ```text
//! out = softmax(scale · Q Kᵀ) V        Q, K, V, out: N × 64, Q Kᵀ: N × N
//! ```
//!
//! `naive` does it as it is written, and keeps N × N scores for each head. `head_by_head`
//! does the same for one head after the other. `flash` walks along a row of scores once,
//! in tiles, and keeps three things of it: the largest score so far, the sum of
//! exponentials relative to it, and the sum of values weighted by them.
//!
//! **Prediction:** twice the tokens take 4 times the time in all three ways; what they
//! allocate becomes 4 times as much for `naive`, and 2 times for `flash`.

mod attention;
mod shape;
mod tensor;
mod verify;

use std::process::ExitCode;

use lab::memory::power_of_two_within;
use lab::{Lab, MemoryReading, Result};

use attention::{Attention, BOUND, HEAD};
use shape::{Method, Shape};

fn main() -> ExitCode {
    lab::run!(Some(attention::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let attention = Attention::new(lab)?;

    // 1. Small inputs that no tile divides, with and without a mask: every element against
    //    double precision on the host.
    for (tokens, causal) in [(1, false), (69, false), (69, true)] {
        let shape = Shape { tokens, heads: 2, head: HEAD, causal };
        for method in Method::ALL {
            verify::compare(&attention, &shape, method)?;
        }
    }

    // 2. Up to as many tokens as make the scores of one head 32 times the L2 cache; and as
    //    many heads as keep all multiprocessors at work.
    let most = power_of_two_within((32 * lab.l2_bytes() / size_of::<f32>()).isqrt());
    let most = if lab.quick() { most / 8 } else { most };
    let heads = power_of_two_within(lab.multiprocessors() / 8);
    let lengths = (0..6).rev().map(|halvings| most >> halvings);

    // 3. All ways over the number of tokens; with a causal mask for one of them.
    for tokens in lengths.clone() {
        for causal in [false, true] {
            let shape = Shape { tokens, heads, head: HEAD, causal };
            if !causal || tokens == most / 2 {
                for method in Method::ALL {
                    measure(lab, &attention, &shape, method)?;
                }
            }
        }
    }

    // 4. In tiles with tensor cores, for the guide's number of heads.
    tensor::experiment(lab, &attention, lengths, most / 2)
}

/// Times one way, compares every element with another way's, and records what was
/// allocated.
fn measure(
    lab: &mut Lab,
    attention: &Attention,
    shape: &Shape,
    method: Method,
) -> Result<()> {
    let case = shape.case(method.name());
    let needed = method.bytes(shape);
    let free = lab.free_bytes()?;
    // With room for what it is compared with.
    if needed + shape.bytes() + Method::HeadByHead.bytes(shape) > free / 10 * 9 {
        let reason = format!(
            "allocates {} MiB, and {} MiB are free",
            needed >> 20,
            free >> 20
        );
        lab.skip(case, reason);
        return Ok(());
    }

    // What the driver's pool counts as used, before and after.
    let stream = &attention.stream;
    let before = attention.used_bytes()?;
    let inputs = attention.inputs(shape)?;
    let mut scores = attention.scores(shape, method)?;
    let mut out = stream.alloc_zeros(shape.elements())?;
    let bytes = attention.used_bytes()? - before;
    let allocated = vec![MemoryReading { seconds: 0.0, bytes }];

    let other =
        if method == Method::Flash { Method::HeadByHead } else { Method::Flash };
    let mut expected = stream.alloc_zeros(shape.elements())?;
    let mut workspace = attention.scores(shape, other)?;
    attention.run(shape, other, &inputs, &mut workspace, &mut expected)?;

    let timed =
        case.memory("allocated", allocated).time_on_gpu(lab, stream, |_| {
            attention.run(shape, method, &inputs, &mut scores, &mut out)
        })?;
    let checked = attention.compare(shape, &out, &expected, BOUND)?;
    timed.checked(checked).record(lab)
}
