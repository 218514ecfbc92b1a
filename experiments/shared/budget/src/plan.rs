//! What is to be done with a model.

use serde::{Deserialize, Serialize};

use crate::Model;

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

/// An enum whose variants are read and written by the same names everywhere.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// Every choice, by its name.
            pub const ALL: &[(&str, $name)] = &[$(($text, $name::$variant)),*];
        }
    };
}

choice! {
    /// What the model is to do.
    Task {
        /// To answer.
        Inference = "inference",
        /// To learn.
        Training = "training",
    }
}

choice! {
    /// In which formats weights, gradients and the optimiser's states are.
    Precision {
        /// 16-bit weights and gradients; the optimiser has 32-bit weights and moments.
        Mixed = "mixed",
        /// PyTorch's `autocast`: all is 32-bit, and copies for multiplying are 16-bit.
        Autocast = "autocast",
        /// Everything in 16 bits, the optimiser's moments too.
        Bf16 = "bf16",
        /// Everything in 32 bits.
        Fp32 = "fp32",
    }
}

choice! {
    /// What turns gradients into steps.
    Optimiser {
        /// Two moments for each parameter.
        Adamw = "adamw",
        /// The same in a byte each; their scales, under 2 % of them, are left out.
        Adamw8bit = "adamw-8bit",
        /// One moment.
        Momentum = "momentum",
        /// None.
        Sgd = "sgd",
    }
}

choice! {
    /// What is divided among the GPUs in place of being on each.
    Sharding {
        /// Nothing.
        Ddp = "ddp",
        /// The optimiser's states.
        Zero1 = "zero1",
        /// Gradients, too.
        Zero2 = "zero2",
        /// Weights, too, as with FSDP.
        Zero3 = "zero3",
    }
}

choice! {
    /// How the blocks' weights are kept where nothing trains them.
    Quantised {
        /// As the precision says.
        No = "no",
        /// In 8 bits.
        Bits8 = "8bit",
        /// In 4 bits, with 0.127 bits of scales for each (QLoRA's double quantisation,
        /// <https://arxiv.org/abs/2305.14314>).
        Bits4 = "4bit",
    }
}

choice! {
    /// Whether attention's scores are written to memory.
    Attention {
        /// No: a sum of each row is enough.
        Flash = "flash",
        /// Yes, *tokens × tokens* for each head.
        Materialised = "materialised",
    }
}

choice! {
    /// What lies in the host's memory and comes when it is needed.
    Offload {
        /// Nothing.
        Nothing = "nothing",
        /// The optimiser's states.
        Optimiser = "optimiser",
        /// Those and the weights.
        Everything = "everything",
    }
}

impl Precision {
    /// Bytes of a number that is multiplied, and of the activations.
    pub fn element_bytes(self) -> f64 {
        if self == Precision::Fp32 { 4.0 } else { 2.0 }
    }

    /// Bytes of a trained parameter, and of its gradient.
    pub fn weight_bytes(self) -> f64 {
        match self {
            Precision::Mixed | Precision::Bf16 => 2.0,
            Precision::Autocast | Precision::Fp32 => 4.0,
        }
    }

    /// Bytes of a number in the residual stream, which autocast leaves in 32 bits.
    pub fn residual_bytes(self) -> f64 {
        self.weight_bytes()
    }
}

impl Optimiser {
    /// Bytes that it keeps for each trained parameter.
    pub fn bytes(self, precision: Precision) -> f64 {
        let master = if precision == Precision::Mixed { 4.0 } else { 0.0 };
        let moment = if precision == Precision::Bf16 { 2.0 } else { 4.0 };
        master
            + match self {
                Optimiser::Adamw => 2.0 * moment,
                Optimiser::Adamw8bit => 2.0,
                Optimiser::Momentum => moment,
                Optimiser::Sgd => 0.0,
            }
    }
}

impl Sharding {
    /// How many of optimiser, gradients and weights are divided.
    pub fn stage(self) -> u32 {
        self as u32
    }
}

impl Quantised {
    /// Bits for each weight, with its share of the scales; `None` as the precision says.
    pub fn bits(self) -> Option<f64> {
        match self {
            Quantised::No => None,
            Quantised::Bits8 => Some(8.0),
            Quantised::Bits4 => Some(4.127),
        }
    }
}

impl Plan {
    /// What contradicts itself in it, or needs to know more of `model`.
    pub(crate) fn check(&self, model: &Model) -> Result<(), String> {
        let trains = self.task == Task::Training;
        let adapts = self.lora_rank > 0.0;
        for (name, count) in
            [("batch", self.batch), ("tokens", self.tokens), ("gpus", self.gpus)]
        {
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
            return Err(
                "lora-rank: how large adapters are depends on the model's shape: \
                        name a model"
                    .to_owned(),
            );
        }
        if trains && !adapts && self.quantised != Quantised::No {
            return Err(
                "quantised: steps are smaller than what so few bits can tell: \
                        train adapters beside them, with lora-rank"
                    .to_owned(),
            );
        }
        if trains
            && self.offload == Offload::Everything
            && self.sharding != Sharding::Zero3
        {
            return Err(
                "offload: weights are moved out only where they are divided: \
                        add zero3"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
