//! The same step on the host; and what the emulated driver has seen of a step.

use anyhow::ensure;
use lab::Result;
use lab::emulator::Emulator;
use ledger::{Amount, Ledger};

use crate::cut::Shape;
use crate::team::{Sent, Team};

/// Number i of weights and input, as the kernel `fill` makes it.
fn number(i: usize) -> u32 {
    let bits = (i as u32).wrapping_add(1).wrapping_mul(2_654_435_761);
    (bits ^ (bits >> 15)).wrapping_mul(2_654_435_761)
}

/// All weights after a step.
pub(crate) fn on_host(shape: Shape) -> Vec<u32> {
    let Shape { rows, width, layers } = shape;
    let square = width * width;
    let weights: Vec<u32> = (0..layers * square).map(number).collect();
    let input = (0..rows * width).map(|i| number(layers * square + i)).collect();
    let mut x: Vec<Vec<u32>> = vec![input];
    for layer in 0..layers {
        let (before, w) = (&x[layer], &weights[layer * square..]);
        let y = product(rows, width, width, |row, column, k| {
            (before[row * width + k], w[k * width + column])
        });
        let relu = |y: u32| if (y as i32) < 0 { 0 } else { y };
        let is_even = layer.is_multiple_of(2);
        x.push(if is_even { y.into_iter().map(relu).collect() } else { y });
    }
    let mut after = weights.clone();
    let mut dz = x[layers].clone();
    for layer in (0..layers).rev() {
        let (x, w) = (&x[layer], &weights[layer * square..]);
        let dw = product(width, width, rows, |row, column, k| {
            (x[k * width + row], dz[k * width + column])
        });
        let kept = after[layer * square..].iter_mut().zip(dw);
        kept.for_each(|(w, dw)| *w = w.wrapping_sub(dw));
        let dx = product(rows, width, width, |row, column, k| {
            (dz[row * width + k], w[column * width + k])
        });
        let is_zero = |x: &u32| !layer.is_multiple_of(2) && *x == 0;
        let masked = x.iter().zip(dx).map(|(x, dx)| if is_zero(x) { 0 } else { dx });
        dz = masked.collect();
    }
    after
}

/// Row after row; `factors(row, column, k)` are those of the k-th product of a sum.
fn product(
    rows: usize,
    columns: usize,
    inner: usize,
    factors: impl Fn(usize, usize, usize) -> (u32, u32),
) -> Vec<u32> {
    let element = |row, column| {
        let products = (0..inner).map(|k| factors(row, column, k));
        products.fold(0u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(b)))
    };
    (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| element(row, column))
        .collect()
}

/// What was counted has to be what the formulas say, of what is sent and of what is held.
pub(crate) fn counts(team: &Team) -> Result<()> {
    let (gpus, sent) = (team.gpus.len(), team.sent.get());
    let formula = team.way.sends(team.shape, gpus, team.micro);
    ensure!(
        sent == formula,
        "{sent:?} was counted, and the formula says {formula:?}"
    );
    let (held, formula) = (team.held(), team.way.holds(team.shape, gpus));
    ensure!(
        held[..3] == formula,
        "{held:?} is held, and the formula says {formula:?}"
    );
    Ok(())
}

/// A line for the terminal: what was counted, for each GPU on average.
pub(crate) fn line(name: &str, team: &Team) -> String {
    let Sent { bytes, messages, waits } = team.sent.get();
    let each = |of_all: usize| of_all / team.gpus.len();
    let [bytes, messages, waits] = [bytes, messages, waits].map(each);
    let [weights, gradients, activations, buffers] = team.held().map(each);
    format!(
        "{name:8} sends {bytes:7} B in {messages:3} messages, waits {waits:2} times; holds \
         {weights} + {gradients} + {activations} + {buffers} B"
    )
}

// ANCHOR: witness
/// A step that an emulated driver keeps a ledger of: it has to have seen the same copies
/// between GPUs, and an order in all that touches the same memory.
pub(crate) fn step(team: &Team) -> Result<()> {
    team.gpus.iter().try_for_each(|gpu| gpu.begin())?;
    team.finish()?;
    let Some(emulator) = Emulator::loaded() else { return team.step() };
    emulator.start_ledger();
    team.step()?;
    let ledger: Ledger = emulator.ledger().parse()?;
    let (seen, sent) = (ledger::totals(&ledger).peer_copies, team.sent.get());
    let counted = Amount { count: sent.messages as u64, bytes: sent.bytes as u64 };
    ensure!(
        seen == counted,
        "the driver has seen {seen:?}, and we have {counted:?}"
    );
    let conflict = ledger::unordered(&ledger).into_iter().next();
    ensure!(conflict.is_none(), "{}", conflict.expect("there is one"));
    Ok(())
}
// ANCHOR_END: witness
