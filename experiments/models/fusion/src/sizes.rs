//! Sizes: the same chain on arrays from tiny to four times the L2 cache. Inputs come from
//! memory in all of them; where what lies between two steps goes is the question.

use lab::{Lab, Result};

use crate::chain::{Chain, Strategy};
use crate::model::Model;

const STEPS: u32 = 8;

pub(crate) fn measure(
    lab: &mut Lab,
    chain: &mut Chain,
    model: &Model,
) -> Result<()> {
    let most = chain.quads;
    // A warp's worth and more: with fewer threads it is all launches.
    let halvings = (most / 64).max(1).ilog2().min(16);
    let every = if lab.emulated() { 4 } else { 1 };
    for halving in (0..=halvings).rev().step_by(every) {
        for strategy in [Strategy::Separate, Strategy::Fused] {
            chain
                .time(lab, "size", strategy, most >> halving, STEPS)?
                .note(|case, shape| Ok(model.describe(case, shape)))?
                .record(lab)?;
        }
    }
    Ok(())
}
