//! What a language model takes of a GPU's memory, in bytes: for inference and for training.
//!
//! Pure arithmetic, in one place: the program `budget`, the lesson `memory-budget`, and the
//! tables of its page call it, and the page's script is tested against it. Counts and bytes are
//! `f64`, which is exact up to 2^53 and is what a browser computes with.
//!
//! | module | what is in it |
//! |---|---|
//! | [`model`] | what a model is made of, and published ones |
//! | [`plan`] | what is to be done with it |

pub mod model;
pub mod plan;

use serde::Serialize;

pub use model::{Card, Model, cards, models};
pub use plan::{
    Attention, Offload, Optimiser, Plan, Precision, Quantised, Sharding, Task,
};

/// Why there is no budget; says what to change.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// The bytes that each part takes of **one** GPU's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Budget {
    /// The parameters, frozen and trained.
    pub weights: f64,
    /// Their gradients.
    pub gradients: f64,
    /// What the optimiser keeps, with 32-bit copies of the weights where it has them.
    pub optimiser: f64,
    /// Copies of weights that exist while they are used.
    pub working: f64,
    /// What the forward pass keeps for the backward pass.
    pub activations: f64,
    /// Keys and values of the tokens so far.
    pub kv_cache: f64,
    /// In the **host's** memory, for this GPU; no part of the total.
    pub host: f64,
}

impl Budget {
    /// The parts with what they are called, without the host's.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimiser", self.optimiser),
            ("working copies", self.working),
            ("activations", self.activations),
            ("KV cache", self.kv_cache),
        ]
    }

    /// All parts together. The largest gradients and the largest activations are not there
    /// at the same moment, so a program's peak is at most this.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// What `plan` needs of each of its GPUs for `model`.
    ///
    /// # Errors
    ///
    /// If the plan contradicts itself, or needs to know more of the model; says which option.
    pub fn of(model: &Model, plan: &Plan) -> Result<Budget, Error> {
        plan.check(model).map_err(Error)?;
        Ok(match plan.task {
            Task::Inference => inference(model, plan),
            Task::Training => training(model, plan),
        })
    }
}

// ANCHOR: inference
fn inference(model: &Model, plan: &Plan) -> Budget {
    Budget {
        weights: stored(model, plan) / plan.gpus,
        kv_cache: kv_cache(model, plan) / plan.gpus,
        ..Budget::default()
    }
}

/// The weights as they are kept where nothing trains them: what the blocks multiply with may
/// be quantised.
fn stored(model: &Model, plan: &Plan) -> f64 {
    let (all, linear) = (model.parameters(), model.linear_parameters());
    let element = plan.precision.element_bytes();
    let bits = plan.quantised.bits().unwrap_or(8.0 * element);
    linear * bits / 8.0 + (all - linear) * element
}

/// A key and a value for each token, layer and key-value head.
fn kv_cache(model: &Model, plan: &Plan) -> f64 {
    let element = plan.precision.element_bytes();
    let per_token = 2.0 * model.layers * model.kv_heads * model.head_dim * element;
    per_token * plan.tokens * plan.batch
}
// ANCHOR_END: inference

// ANCHOR: training
fn training(model: &Model, plan: &Plan) -> Budget {
    let adapts = plan.lora_rank > 0.0;
    let trained = match adapts {
        true => model.lora_parameters(plan.lora_rank),
        false => model.parameters(),
    };
    let frozen = if adapts { stored(model, plan) } else { 0.0 };
    let weight = plan.precision.weight_bytes();
    let state = plan.optimiser.bytes(plan.precision);
    // Each stage divides one more kind among the GPUs.
    let divided = |bytes: f64, stage: u32| match plan.sharding.stage() >= stage {
        true => bytes / plan.gpus,
        false => bytes,
    };
    let mut budget = Budget {
        optimiser: divided(trained * state, 1),
        gradients: divided(trained * weight, 2),
        weights: divided(trained * weight + frozen, 3),
        working: working(model, plan),
        activations: activations(model, plan),
        ..Budget::default()
    };
    // ANCHOR_END: training
    if plan.offload != Offload::Nothing {
        budget.host += std::mem::take(&mut budget.optimiser);
    }
    if plan.offload == Offload::Everything {
        budget.host += std::mem::take(&mut budget.weights);
    }
    budget
}

/// Copies of weights that exist while they are used: with everything divided, the layer that
/// is computed and the next, which is being gathered; with autocast, 16-bit ones of whatever
/// is multiplied.
fn working(model: &Model, plan: &Plan) -> f64 {
    let all_divided = plan.sharding == Sharding::Zero3 && plan.gpus > 1.0;
    match plan.precision {
        _ if all_divided => {
            2.0 * model.layer_parameters() * plan.precision.element_bytes()
        }
        Precision::Autocast if plan.lora_rank == 0.0 => {
            2.0 * model.linear_parameters()
        }
        _ => 0.0,
    }
}

// ANCHOR: activations
/// What the forward pass keeps: Korthikanti et al., <https://arxiv.org/abs/2205.05198>, counted
/// for any numbers of heads and any feed-forward block.
fn activations(model: &Model, plan: &Plan) -> f64 {
    let Model { hidden, heads, kv_heads, head_dim, intermediate, .. } = *model;
    let (element, residual) =
        (plan.precision.element_bytes(), plan.precision.residual_bytes());
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
            Attention::Materialised => {
                plan.tokens * (element + dropout * (1.0 + element))
            }
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

#[cfg(test)]
mod tests;
