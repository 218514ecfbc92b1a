//! What is to be done with a model.

use serde::{Deserialize, Serialize};

use crate::{Attention, Model, Offload, Optimiser, Precision, Quantised, Sharding, Task, formulas};

/// What is to be done with a model, and how. The default is one sequence of 2,048 tokens on
/// one GPU, for inference.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Inference or training.
    pub task: Task,
    /// Sequences on each GPU at once; with inference, on all GPUs together.
    pub batch: f64,
    /// Tokens of each.
    pub tokens: f64,
    /// How many GPUs share the work.
    pub gpus: f64,
    /// In which formats weights and states are.
    pub precision: Precision,
    /// Which optimiser.
    pub optimiser: Optimiser,
    /// What is divided among the GPUs.
    pub sharding: Sharding,
    /// Rank of adapters in place of training all weights; 0 for none.
    pub lora_rank: f64,
    /// How the weights that nothing trains are kept.
    pub quantised: Quantised,
    /// Whether each block keeps its input only, and is computed again.
    pub checkpointing: bool,
    /// Whether attention's scores are written to memory.
    pub attention: Attention,
    /// What lies in the host's memory.
    pub offload: Offload,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            task: Task::Inference,
            batch: 1.0,
            tokens: 2048.0,
            gpus: 1.0,
            precision: Precision::Mixed,
            optimiser: Optimiser::Adamw,
            sharding: Sharding::Ddp,
            lora_rank: 0.0,
            quantised: Quantised::No,
            checkpointing: false,
            attention: Attention::Flash,
            offload: Offload::Nothing,
        }
    }
}

impl Plan {
    /// What contradicts itself in it, or needs to know more of `model`.
    pub(crate) fn check(&self, model: &Model) -> Result<(), String> {
        let trains = self.task == Task::Training;
        let adapts = self.lora_rank > 0.0;
        for (name, count) in [("batch", self.batch), ("tokens", self.tokens), ("gpus", self.gpus)] {
            if !(count >= 1.0 && count.fract() == 0.0 && count < 1e9) {
                return Err(format!("{name}: {count} is no number of them"));
            }
        }
        if !(model.parameters() >= 1.0 && model.parameters() < 1e15) {
            return Err("parameters: take from 1 to 10^15".to_owned());
        }
        if !(self.lora_rank >= 0.0 && self.lora_rank.fract() == 0.0) {
            return Err(format!("lora-rank: {} is no rank", self.lora_rank));
        }
        if adapts && !trains {
            return Err("lora-rank: adapters are trained; add training".to_owned());
        }
        if adapts && !model.has_shape() {
            return Err("lora-rank: how large adapters are depends on the model's shape: \
                        name a model"
                .to_owned());
        }
        match formulas::contradiction(self) {
            "" => Ok(()),
            why => Err(why.to_owned()),
        }
    }
}
