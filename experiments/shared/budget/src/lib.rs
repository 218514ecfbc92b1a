//! What a language model takes of a GPU's memory, in bytes: for inference and for training.
//!
//! Pure arithmetic, in one place: the lesson `memory-budget` and its page's tables call it, and the
//! page's calculator is made of it. Counts and bytes are `f64`, which is exact up to 2^53 and is
//! what a browser computes with.
//!
//! | module | what is in it |
//! |---|---|
//! | [`model`] | what a model is made of, and published ones |
//! | [`plan`] | what is to be done with it |
//! | [`mod@choices`] | what a plan can choose from: formats, optimisers, what is divided |
//! | `formulas` | the formulas, for Rust and for JavaScript |

#![warn(missing_docs)]

pub mod choices;
pub mod formulas;
pub mod model;
pub mod plan;

use serde::Serialize;

pub use choices::{Attention, Offload, Optimiser, Precision, Quantised, Sharding, Task, choices};
pub use formulas::JAVASCRIPT;
pub use model::{Card, Model, cards, models};
pub use plan::Plan;

/// Why there is no budget; says what to change.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// The bytes that each part takes of **one** GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
        Ok(formulas::budget(model, plan))
    }
}

#[cfg(test)]
mod tests;
