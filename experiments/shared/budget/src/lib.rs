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
//! | [`choices`] | what a plan can choose from: formats, optimisers, what is divided |
//! | `activations` | what the forward pass keeps |

mod activations;
pub mod choices;
pub mod model;
pub mod plan;

use serde::Serialize;

pub use choices::{Attention, Offload, Optimiser, Precision, Quantised, Sharding, Task};
pub use model::{Card, Model, cards, models};
pub use plan::Plan;

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

    /// All parts together. Gradients and activations are seldom all there at the same moment;
    /// on the other hand, no formula has a program's temporary copies.
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
        // Heads are not divided: more GPUs than heads hold copies of them.
        kv_cache: kv_cache(model, plan) / plan.gpus.min(model.kv_heads.max(1.0)),
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
        activations: activations::kept(model, plan),
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
        _ if all_divided => 2.0 * model.layer_parameters() * plan.precision.element_bytes(),
        Precision::Autocast if plan.lora_rank == 0.0 => 2.0 * model.linear_parameters(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests;
