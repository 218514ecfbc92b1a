//! What a model is made of, and published models and cards.

use std::sync::LazyLock;

use crate::{Error, formulas};
use serde::{Deserialize, Serialize};

/// A transformer's shape: all blocks alike, without biases.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What it is called.
    pub name: String,
    /// Blocks; 0 if nothing is known but the number of parameters.
    pub layers: f64,
    /// Width of the residual stream.
    pub hidden: f64,
    /// Heads that ask.
    pub heads: f64,
    /// Heads with keys and values; fewer than `heads` with grouped-query attention.
    pub kv_heads: f64,
    /// Width of a head.
    pub head_dim: f64,
    /// Width inside the feed-forward block.
    pub intermediate: f64,
    /// Tokens that it knows; 0 for blocks alone.
    pub vocabulary: f64,
    /// Whether its feed-forward block has a third matrix, the gate.
    #[serde(default)]
    pub gated: bool,
    /// Whether its first and last matrix are one.
    #[serde(default)]
    pub tied: bool,
    /// Whether it is trained with dropout.
    #[serde(default)]
    pub dropout: bool,
    /// Where this is published.
    #[serde(default)]
    pub source: String,
    /// The number of parameters, where nothing else is known.
    #[serde(default)]
    pub only_parameters: f64,
}

/// A card.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// What it is called.
    pub name: String,
    /// Its memory as it is sold.
    pub gigabytes: f64,
    /// Where this is published.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    models: Vec<Model>,
    cards: Vec<Card>,
}

static DATA: LazyLock<Data> =
    LazyLock::new(|| toml::from_str(include_str!("../data.toml")).expect("a test reads it"));

/// Published models.
pub fn models() -> &'static [Model] {
    &DATA.models
}

/// Cards, the smallest first.
pub fn cards() -> &'static [Card] {
    &DATA.cards
}

impl Model {
    /// A model of which only the number of parameters is known.
    pub fn of_parameters(count: f64) -> Model {
        let name = "a model".to_owned();
        Model { name, only_parameters: count, ..Model::default() }
    }

    /// The published model of this name.
    ///
    /// # Errors
    ///
    /// If there is none; lists those there are.
    pub fn find(name: &str) -> Result<&'static Model, Error> {
        models().iter().find(|model| model.name == name).ok_or_else(|| {
            let names: Vec<&str> = models().iter().map(|m| m.name.as_str()).collect();
            Error(format!("no model `{name}`: there are {}", names.join(", ")))
        })
    }

    /// Whether its shape is known, and not only how large it is.
    pub fn has_shape(&self) -> bool {
        self.layers > 0.0
    }

    /// Parameters of a block's matrices.
    pub fn layer_parameters(&self) -> f64 {
        formulas::layer_parameters(self)
    }

    /// Parameters of all blocks' matrices: what is quantised, and what gets adapters.
    pub fn linear_parameters(&self) -> f64 {
        formulas::linear_parameters(self)
    }

    /// All parameters.
    pub fn parameters(&self) -> f64 {
        formulas::parameters(self)
    }

    /// The parameters in each tensor, of those that are not empty.
    pub fn tensors(&self) -> Vec<f64> {
        let mut tensors = vec![self.only_parameters, self.hidden];
        let ends = if self.tied { 1 } else { 2 };
        tensors.extend(vec![self.vocabulary * self.hidden; ends]);
        for _ in 0..self.layers as usize {
            tensors.extend([self.hidden; 2]);
            for [rows, columns, count] in formulas::matrices(self) {
                tensors.extend(vec![rows * columns; count as usize]);
            }
        }
        tensors.retain(|parameters| *parameters > 0.0);
        tensors
    }

    /// Parameters of adapters of this rank beside every matrix of every block.
    pub fn lora_parameters(&self, rank: f64) -> f64 {
        formulas::lora_parameters(self, rank)
    }
}
