//! What the forward pass keeps for the backward pass.

use crate::{Attention, Model, Plan, Precision};

// ANCHOR: activations
/// What the forward pass keeps: Korthikanti et al., <https://arxiv.org/abs/2205.05198>, counted
/// for any numbers of heads and any feed-forward block.
pub(crate) fn kept(model: &Model, plan: &Plan) -> f64 {
    let Model { hidden, heads, kv_heads, head_dim, intermediate, .. } = *model;
    let (element, residual) = (plan.precision.element_bytes(), plan.precision.residual_bytes());
    let dropout = if model.dropout { 1.0 } else { 0.0 };
    let rows = plan.batch * plan.tokens;

    // Autocast makes a 16-bit copy of a block's input for each matrix that reads it.
    let copies = |matrices| match plan.precision {
        Precision::Autocast => matrices,
        _ => 1.0,
    };
    let into = if model.gated { 2.0 } else { 1.0 };
    let norms = 2.0 * hidden; // what each of the two normalises
    let attention = copies(3.0) * hidden // what makes queries, keys and values
        + (heads + 2.0 * kv_heads) * head_dim // these
        + heads * head_dim; // and what comes out
    let feed_forward = copies(into) * hidden + 2.0 * into * intermediate;
    let scores = plan.batch
        * heads
        * plan.tokens
        * match plan.attention {
            Attention::Flash => 4.0, // a sum for each row
            Attention::Materialised => plan.tokens * (element + dropout * (1.0 + element)),
        };
    let layer = rows
        * (residual * norms
            + element * (attention + feed_forward)
            + dropout * 2.0 * hidden) // a mask after each half
        + scores;

    let last = if model.vocabulary > 0.0 {
        element * hidden + 4.0 * model.vocabulary // 32-bit logits
    } else {
        0.0
    };
    let outside = rows * (residual * hidden + last);
    match plan.checkpointing {
        // Each layer's input, and the one layer that is computed again.
        true => model.layers * rows * residual * hidden + layer + outside,
        false => model.layers * layer + outside,
    }
}
// ANCHOR_END: activations
