//! A step on the host; and what the emulated driver has seen of a step.

use anyhow::ensure;
use lab::Result;
use lab::emulator::Emulator;
use ledger::{Amount, Ledger};

use crate::cut::{Held, Sent, Shape};
use crate::device::Trainer;
use crate::team::Team;

/// The value that the kernel `fill` writes at index `i` of weights and input.
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
    let (gpus, sent) = (team.trainers.len(), team.sent.get());
    let formula = team.cut.sends(team.shape, gpus, team.micro_batches);
    ensure!(
        sent == formula,
        "{sent:?} was counted, and the formula says {formula:?}"
    );
    let (held, formula) = (team.held(), team.cut.holds(team.shape, gpus));
    ensure!(held == formula, "{held:?} is held, and the formula says {formula:?}");
    Ok(())
}

/// A line for the terminal: what was counted, for each GPU on average.
pub(crate) fn line(team: &Team) -> String {
    let Sent { bytes, messages, waits } = team.sent.get();
    let Held { weights, gradients, activations } = team.held();
    let each = |of_all: usize| of_all / team.trainers.len();
    let [bytes, messages, waits] = [bytes, messages, waits].map(each);
    let [weights, gradients, activations, buffers] =
        [weights, gradients, activations, team.buffer_bytes()].map(each);
    let name = team.cut.name();
    format!(
        "{name:8} sends {bytes:7} B in {messages:3} messages, waits {waits:2} times; holds \
         {weights} + {gradients} + {activations} + {buffers} B"
    )
}

// ANCHOR: witness
/// A step that an emulated driver keeps a ledger of: it has to have seen the same copies
/// between GPUs, and an order in all that touches the same memory.
pub(crate) fn step(team: &Team) -> Result<()> {
    team.trainers.iter().try_for_each(Trainer::begin)?;
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
