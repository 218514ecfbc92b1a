//! What a plan can choose from.

use serde::{Deserialize, Serialize};

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
