//! What a plan can choose from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An enum whose variants are read and written by the same names everywhere, with the numbers
/// that formulas ask it for.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }
        gives $($number:ident),*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// Every choice, by its name.
            pub const ALL: &[(&str, $name)] = &[$(($text, $name::$variant)),*];

            fn all() -> BTreeMap<&'static str, Numbers> {
                let numbers = |of: $name| [$((stringify!($number), of.$number().into())),*].into();
                Self::ALL.iter().map(|(name, of)| (*name, numbers(*of))).collect()
            }
        }
    };
}

/// What a choice gives to formulas, by the names of its methods.
pub type Numbers = BTreeMap<&'static str, f64>;

/// The numbers of every choice, by what it is of in a [`Plan`](crate::Plan) and by its name.
pub fn choices() -> BTreeMap<&'static str, BTreeMap<&'static str, Numbers>> {
    [
        ("task", Task::all()),
        ("precision", Precision::all()),
        ("optimiser", Optimiser::all()),
        ("sharding", Sharding::all()),
        ("quantised", Quantised::all()),
        ("attention", Attention::all()),
        ("offload", Offload::all()),
    ]
    .into()
}

choice! {
    /// What the model is to do.
    Task {
        /// To answer.
        Inference = "inference",
        /// To learn.
        Training = "training",
    }
    gives trains
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
    gives element_bytes, weight_bytes, master_bytes, moment_bytes, casts
}

choice! {
    /// What turns gradients into steps.
    Optimiser {
        /// Two moments for each parameter.
        Adamw = "adamw",
        /// The same in a byte each; their scales, under 2% of them, are left out.
        Adamw8bit = "adamw-8bit",
        /// One moment.
        Momentum = "momentum",
        /// None.
        Sgd = "sgd",
    }
    gives moments, quantised_bytes
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
    gives stage
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
    gives bits
}

choice! {
    /// Whether attention's scores are written to memory.
    Attention {
        /// No: a sum of each row is enough.
        Flash = "flash",
        /// Yes, *tokens × tokens* for each head.
        Materialised = "materialised",
    }
    gives writes_scores
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
    gives takes_optimiser, takes_weights
}

impl Task {
    pub(crate) fn trains(self) -> bool {
        self == Task::Training
    }
}

impl Precision {
    /// Bytes of a number that is multiplied, and of the activations.
    pub(crate) fn element_bytes(self) -> f64 {
        if self == Precision::Fp32 { 4.0 } else { 2.0 }
    }

    /// Bytes of a trained parameter, of its gradient, and of a number in the residual stream.
    pub(crate) fn weight_bytes(self) -> f64 {
        match self {
            Precision::Mixed | Precision::Bf16 => 2.0,
            Precision::Autocast | Precision::Fp32 => 4.0,
        }
    }

    /// Bytes of the optimiser's own copy of a parameter.
    pub(crate) fn master_bytes(self) -> f64 {
        if self == Precision::Mixed { 4.0 } else { 0.0 }
    }

    /// Bytes of a moment.
    pub(crate) fn moment_bytes(self) -> f64 {
        if self == Precision::Bf16 { 2.0 } else { 4.0 }
    }

    /// Whether what is multiplied is a copy in fewer bits.
    pub(crate) fn casts(self) -> bool {
        self == Precision::Autocast
    }
}

impl Optimiser {
    /// Moments of each trained parameter, in the precision's format.
    pub(crate) fn moments(self) -> f64 {
        match self {
            Optimiser::Adamw => 2.0,
            Optimiser::Momentum => 1.0,
            Optimiser::Adamw8bit | Optimiser::Sgd => 0.0,
        }
    }

    /// Bytes of moments in a format of its own, for each trained parameter.
    pub(crate) fn quantised_bytes(self) -> f64 {
        if self == Optimiser::Adamw8bit { 2.0 } else { 0.0 }
    }
}

impl Sharding {
    /// How many of optimiser, gradients and weights are divided.
    pub(crate) fn stage(self) -> f64 {
        f64::from(self as u8)
    }
}

impl Quantised {
    /// Bits for each weight, with its share of the scales; 0 as the precision says.
    pub(crate) fn bits(self) -> f64 {
        match self {
            Quantised::No => 0.0,
            Quantised::Bits8 => 8.0,
            Quantised::Bits4 => 4.127,
        }
    }
}

impl Attention {
    pub(crate) fn writes_scores(self) -> bool {
        self == Attention::Materialised
    }
}

impl Offload {
    pub(crate) fn takes_optimiser(self) -> bool {
        self != Offload::Nothing
    }

    pub(crate) fn takes_weights(self) -> bool {
        self == Offload::Everything
    }
}
