//! `cargo run -p budget`: will it fit?

use std::io::{Write, stdout};
use std::process::ExitCode;

use budget::{
    Attention, Budget, Card, Model, Offload, Optimiser, Plan, Precision, Quantised, Sharding, Task,
    cards, models,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Parser};

/// What a language model takes of each GPU's memory, for inference and for training.
#[derive(Parser)]
#[command(
    name = "budget",
    after_help = "Examples:
  budget --model llama-2-7b --tokens 4096 --batch 32
  budget --model llama-2-7b --training --checkpointing
  budget --model llama-3-70b --training --gpus 8 --sharding zero3 --tokens 4096
  budget --model llama-2-7b --training --lora-rank 16 --quantised 4bit --checkpointing
  budget --parameters 7e9 --training --gpus 4 --sharding zero1"
)]
#[command(group = ArgGroup::new("what").required(true))]
struct Options {
    /// A published model
    #[arg(long, group = "what", value_parser = published())]
    model: Option<&'static Model>,
    /// Or only how many parameters: neither activations nor the KV cache are known then
    #[arg(long, group = "what", value_name = "COUNT")]
    parameters: Option<f64>,
    /// Train it; without, it answers
    #[arg(long)]
    training: bool,
    /// Sequences at once: for training on each GPU, for inference in all
    #[arg(long, default_value = "1")]
    batch: f64,
    /// Tokens of each sequence
    #[arg(long, default_value = "2048")]
    tokens: f64,
    /// GPUs that share the work
    #[arg(long, default_value = "1")]
    gpus: f64,
    /// Formats of weights and states
    #[arg(long, default_value = "mixed", value_parser = choice(Precision::ALL))]
    precision: Precision,
    /// What is divided among the GPUs in training
    #[arg(long, default_value = "ddp", value_parser = choice(Sharding::ALL))]
    sharding: Sharding,
    /// What turns gradients into steps
    #[arg(long, default_value = "adamw", value_parser = choice(Optimiser::ALL))]
    optimiser: Optimiser,
    /// Train adapters of this rank in place of all weights
    #[arg(long, value_name = "RANK", default_value = "0", hide_default_value = true)]
    lora_rank: f64,
    /// Bits of the weights that nothing trains
    #[arg(long, default_value = "no", value_parser = choice(Quantised::ALL))]
    quantised: Quantised,
    /// Keep only each block's input, and compute the block again
    #[arg(long)]
    checkpointing: bool,
    /// Whether attention's scores are written to memory
    #[arg(long, default_value = "flash", value_parser = choice(Attention::ALL))]
    attention: Attention,
    /// What lies in the host's memory
    #[arg(long, default_value = "nothing", value_parser = choice(Offload::ALL))]
    offload: Offload,
    /// Share of a card, in percent, for the driver, libraries and fragments
    #[arg(long, value_name = "PERCENT", default_value = "10")]
    reserve: f64,
}

/// Takes the name of a published model.
fn published() -> impl TypedValueParser<Value = &'static Model> {
    let names = models().iter().map(|model| model.name.as_str());
    PossibleValuesParser::new(names).map(|name| {
        let model = models().iter().find(|model| model.name == name);
        model.expect("only these are possible")
    })
}

/// Takes one of these names.
fn choice<T: Copy + Send + Sync>(
    all: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|(name, _)| *name)).map(|name| {
        let chosen = all.iter().find(|(known, _)| *known == name);
        chosen.expect("only these are possible").1
    })
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(text) => {
            // Whoever closed the pipe has read enough.
            let _ = stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<String, String> {
    if !(0.0..100.0).contains(&options.reserve) {
        return Err("reserve: take from 0 to 99 percent".to_owned());
    }
    let count = options.parameters.unwrap_or_default();
    let model = options.model.cloned().unwrap_or_else(|| Model::of_parameters(count));
    let plan = options.plan();
    let budget = Budget::of(&model, &plan).map_err(|e| e.to_string())?;
    Ok(show(&model, &plan, &budget, options.reserve))
}

impl Options {
    fn plan(&self) -> Plan {
        Plan {
            task: if self.training { Task::Training } else { Task::Inference },
            batch: self.batch,
            tokens: self.tokens,
            gpus: self.gpus,
            precision: self.precision,
            optimiser: self.optimiser,
            sharding: self.sharding,
            lora_rank: self.lora_rank,
            quantised: self.quantised,
            checkpointing: self.checkpointing,
            attention: self.attention,
            offload: self.offload,
        }
    }
}

/// Columns of the longest bar.
const BAR: f64 = 50.0;

fn show(model: &Model, plan: &Plan, budget: &Budget, reserve: f64) -> String {
    let total = budget.total();
    let task = if plan.task == Task::Training { "training" } else { "inference" };
    let on =
        if plan.gpus > 1.0 { format!("each of {} GPUs", plan.gpus) } else { "one GPU".to_owned() };
    let Plan { batch, tokens, .. } = plan;
    let mut text = format!(
        "{}, {:.3} billion parameters: {task}, batch {batch}, {tokens} tokens, on {on}\n\n",
        model.name,
        model.parameters() / 1e9
    );
    let mut row = |name: &str, bytes: f64, bar: String| {
        text += format!("{name:<18}{:>10} {bar}", gigabytes(bytes)).trim_end();
        text.push('\n');
    };
    for (name, bytes) in budget.parts() {
        if bytes > 0.0 {
            row(name, bytes, "█".repeat((bytes / total * BAR).round() as usize));
        }
    }
    row("total", total, String::new());
    if budget.host > 0.0 {
        row("in host memory", budget.host * plan.gpus, String::new());
    }
    text.push('\n');
    if !model.has_shape() {
        text += "Not counted, for they depend on the model's shape: activations, KV cache.\n";
    }
    let room = |card: &&Card| card.gigabytes * (1.0 - reserve / 100.0) * 1e9;
    let fits: Vec<String> =
        cards().iter().filter(|card| total <= room(card)).map(|card| card.name.clone()).collect();
    text += &match fits.is_empty() {
        false => {
            format!("fits, with {reserve} % to spare, on {}\n", fits.join(", "))
        }
        true => format!("fits on none of the cards, with {reserve} % to spare\n"),
    };
    text
}

/// In 10^9 bytes, with three digits.
fn gigabytes(bytes: f64) -> String {
    let gb = bytes / 1e9;
    let digits = if gb >= 100.0 {
        0
    } else if gb >= 10.0 {
        1
    } else {
        2
    };
    format!("{gb:.digits$} GB")
}
