//! The formulas, once: Rust computes with them, and the page's calculator with their text. So their
//! bodies are of what Rust and JavaScript write alike: numbers, fields, arithmetic, comparisons,
//! arrays and calls, of `either` in place of `if`.

use crate::{Budget, Model, Plan};

/// One of two values, both of which are computed.
fn either<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

fn min(a: f64, b: f64) -> f64 {
    a.min(b)
}

fn max(a: f64, b: f64) -> f64 {
    a.max(b)
}

/// The body of a formula in JavaScript.
macro_rules! body {
    (let $name:pat_param = $is:expr; $($rest:tt)*) => {
        concat!("const ", stringify!($name), " = ", stringify!($is), "; ", body!($($rest)*))
    };
    (Budget { $($part:ident: $is:expr,)* $(..$others:expr)? }) => {
        concat!(
            "return { ", $("...", stringify!($others), ", ",)?
            $(stringify!($part), ": ", stringify!($is), ", ",)* "};"
        )
    };
    ($value:expr) => {
        concat!("return ", stringify!($value), ";")
    };
}

/// Functions, and [`JAVASCRIPT`].
macro_rules! formulas {
    ($(
        $(#[$about:meta])*
        fn $name:ident($($given:ident: $kind:ty),*) -> $result:ty { $($body:tt)* }
    )*) => {
        $($(#[$about])* pub(crate) fn $name($($given: $kind),*) -> $result { $($body)* })*

        /// The formulas in JavaScript. What a plan has chosen is asked for numbers there as it
        /// is here, by methods; [`choices`](crate::choices()) has what they give.
        pub const JAVASCRIPT: &str = concat!(
            "const { min, max } = Math;\n",
            "const either = (condition, yes, no) => (condition ? yes : no);\n",
            $(
                "function ", stringify!($name), "(", $(stringify!($given), ", ",)* ") { ",
                body!($($body)*), " }\n",
            )*
        );
    };
}

formulas! {
    /// The matrices of a block, each as inputs, outputs, and how many.
    fn matrices(model: &Model) -> [[f64; 3]; 4] {
        let into = either(model.gated, 2.0, 1.0);
        [
            [model.hidden, model.heads * model.head_dim, 2.0], // queries in, their result out
            [model.hidden, model.kv_heads * model.head_dim, 2.0], // keys, values
            [model.hidden, model.intermediate, into],
            [model.intermediate, model.hidden, 1.0],
        ]
    }

    fn entries(matrices: [f64; 3]) -> f64 {
        let [rows, columns, count] = matrices;
        rows * columns * count
    }

    fn sides(matrices: [f64; 3]) -> f64 {
        let [rows, columns, count] = matrices;
        (rows + columns) * count
    }

    /// Parameters of a block's matrices.
    fn layer_parameters(model: &Model) -> f64 {
        let [queries, keys, into, out] = matrices(model);
        entries(queries) + entries(keys) + entries(into) + entries(out)
    }

    /// Parameters of all blocks' matrices.
    fn linear_parameters(model: &Model) -> f64 {
        model.only_parameters + model.layers * layer_parameters(model)
    }

    /// All parameters.
    fn parameters(model: &Model) -> f64 {
        let ends = either(model.tied, 1.0, 2.0);
        let norms = (2.0 * model.layers + 1.0) * model.hidden;
        linear_parameters(model) + ends * model.vocabulary * model.hidden + norms
    }

    /// Parameters of adapters beside every matrix of every block: two thin matrices each,
    /// *inputs × rank* and *rank × outputs*.
    fn lora_parameters(model: &Model, rank: f64) -> f64 {
        let [queries, keys, into, out] = matrices(model);
        model.layers * rank * (sides(queries) + sides(keys) + sides(into) + sides(out))
    }

    // ANCHOR: inference
    fn inference(model: &Model, plan: &Plan) -> Budget {
        Budget {
            weights: stored(model, plan) / plan.gpus,
            // Heads are not divided: more GPUs than heads hold copies of them.
            kv_cache: kv_cache(model, plan) / min(plan.gpus, max(model.kv_heads, 1.0)),
            ..nothing()
        }
    }

    /// The weights as they are kept where nothing trains them: what the blocks multiply with may
    /// be quantised.
    fn stored(model: &Model, plan: &Plan) -> f64 {
        let element = plan.precision.element_bytes();
        let bits = either(plan.quantised.bits() > 0.0, plan.quantised.bits(), 8.0 * element);
        let linear = linear_parameters(model);
        linear * bits / 8.0 + (parameters(model) - linear) * element
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
        let trained = either(adapts, lora_parameters(model, plan.lora_rank), parameters(model));
        let frozen = either(adapts, stored(model, plan), 0.0);
        let weight = plan.precision.weight_bytes();
        let moments = plan.optimiser.moments() * plan.precision.moment_bytes();
        let state = plan.precision.master_bytes() + moments + plan.optimiser.quantised_bytes();
        Budget {
            optimiser: divided(trained * state, 1.0, plan),
            gradients: divided(trained * weight, 2.0, plan),
            weights: divided(trained * weight + frozen, 3.0, plan),
            working: working(model, plan),
            activations: activations(model, plan),
            ..nothing()
        }
    }

    /// Each stage divides one more kind among the GPUs.
    fn divided(bytes: f64, stage: f64, plan: &Plan) -> f64 {
        either(plan.sharding.stage() >= stage, bytes / plan.gpus, bytes)
    }
    // ANCHOR_END: training

    fn nothing() -> Budget {
        Budget {
            weights: 0.0,
            gradients: 0.0,
            optimiser: 0.0,
            working: 0.0,
            activations: 0.0,
            kv_cache: 0.0,
            host: 0.0,
        }
    }

    /// Copies of weights that exist while they are used: with everything divided, the layer that
    /// is computed and the next, which is being gathered; with autocast, 16-bit ones of whatever
    /// is multiplied.
    fn working(model: &Model, plan: &Plan) -> f64 {
        let gathered = 2.0 * layer_parameters(model) * plan.precision.element_bytes();
        let casts = plan.precision.casts() && plan.lora_rank == 0.0;
        let copies = either(casts, 2.0 * linear_parameters(model), 0.0);
        either(plan.sharding.stage() >= 3.0 && plan.gpus > 1.0, gathered, copies)
    }

    // ANCHOR: activations
    /// What the forward pass keeps: Korthikanti et al., <https://arxiv.org/abs/2205.05198>, counted
    /// for any numbers of heads and any feed-forward block.
    fn activations(model: &Model, plan: &Plan) -> f64 {
        let element = plan.precision.element_bytes();
        let residual = plan.precision.weight_bytes(); // autocast leaves it in 32 bits
        let dropout = either(model.dropout, 1.0, 0.0);
        let rows = plan.batch * plan.tokens;
        let into = either(model.gated, 2.0, 1.0);

        // Autocast makes a 16-bit copy of a block's input for each matrix that reads it.
        let inputs = either(plan.precision.casts(), 3.0 + into, 2.0);
        let norms = 2.0 * model.hidden; // what each of the two normalises
        let queries = model.heads * model.head_dim;
        let keys = model.kv_heads * model.head_dim;
        let attention = 2.0 * queries + 2.0 * keys; // queries, keys, values, and what comes out
        let feed_forward = 2.0 * into * model.intermediate;
        let masks = dropout * 2.0 * model.hidden; // after each half
        let score = either(
            plan.attention.writes_scores(),
            plan.tokens * (element + dropout * (1.0 + element)),
            4.0 // a sum for each row
        );
        let multiplied = inputs * model.hidden + attention + feed_forward;
        let layer = rows * (residual * norms + element * multiplied + masks)
            + plan.batch * model.heads * plan.tokens * score;

        let logits = 4.0 * model.vocabulary; // of 32 bits
        let last = either(model.vocabulary > 0.0, element * model.hidden + logits, 0.0);
        let outside = rows * (residual * model.hidden + last);
        // Each layer's input, and the one layer that is computed again.
        let checkpoints = model.layers * rows * residual * model.hidden + layer;
        either(plan.checkpointing, checkpoints, model.layers * layer) + outside
    }
    // ANCHOR_END: activations

    fn offloaded(budget: Budget, plan: &Plan) -> Budget {
        let optimiser = either(plan.offload.takes_optimiser(), budget.optimiser, 0.0);
        let weights = either(plan.offload.takes_weights(), budget.weights, 0.0);
        Budget {
            optimiser: budget.optimiser - optimiser,
            weights: budget.weights - weights,
            host: optimiser + weights,
            ..budget
        }
    }

    /// The bytes of each part on one GPU.
    fn budget(model: &Model, plan: &Plan) -> Budget {
        let trained = offloaded(training(model, plan), plan);
        either(plan.task.trains(), trained, inference(model, plan))
    }

    /// What contradicts itself in a plan; empty if nothing does.
    fn contradiction(plan: &Plan) -> &'static str {
        let trained_bits = plan.lora_rank == 0.0 && plan.quantised.bits() > 0.0;
        let moved_whole = plan.offload.takes_weights() && plan.sharding.stage() < 3.0;
        let moved = "offload: weights are moved out only where they are divided: add zero3";
        let bits = "quantised: steps are smaller than what so few bits can tell: train adapters beside them, with lora-rank";
        let why = either(trained_bits, bits, either(moved_whole, moved, ""));
        either(plan.task.trains(), why, "")
    }
}
