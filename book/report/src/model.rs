//! What a language model takes of a GPU's memory, by the formulas of the crate `budget`: as
//! quantities, and as the calculator, `{{budget}}`.
//!
//! ```text
//! budget llama-2-7b task=training gpus=4 sharding=zero1 : optimiser
//! budget parameters=7e9 task=training : total
//! ```

use std::fmt::Write;

use budget::{Attention, Budget, Model, Offload, Optimiser, Plan, Precision, Quantised};
use budget::{JAVASCRIPT, Sharding, Task, cards, choices, models};
use serde::Deserialize;
use serde_json::json;
use toml::{Table, Value};

use crate::html::escape;
use crate::unit::Unit;

/// Numbers of a budget and of a model, by the names that pages ask for.
type Part = (&'static str, fn(&Budget) -> f64);
type Count = (&'static str, fn(&Model, &Plan) -> f64);

/// What may be asked for: the bytes of the parts, which are printed in GB of 10^9, and counts.
const BYTES: [Part; 8] = [
    ("weights", |of| of.weights),
    ("gradients", |of| of.gradients),
    ("optimiser", |of| of.optimiser),
    ("working", |of| of.working),
    ("activations", |of| of.activations),
    ("kv_cache", |of| of.kv_cache),
    ("host", |of| of.host),
    ("total", Budget::total),
];
const COUNTS: [Count; 4] = [
    ("parameters", |model, _| model.parameters()),
    ("linear_parameters", |model, _| model.linear_parameters()),
    ("layer_parameters", |model, _| model.layer_parameters()),
    ("lora_parameters", |model, plan| model.lora_parameters(plan.lora_rank)),
];

/// The number `what` of a model: `words` name it, or its parameters, and the keys of a plan.
pub fn number(words: &[&str], what: &str) -> Result<(f64, Unit), String> {
    let (mut model, mut plan) = (None, Table::new());
    for word in words {
        match word.split_once('=') {
            None => model = Some(Model::find(word).map_err(|e| e.to_string())?.clone()),
            Some(("parameters", count)) => {
                let count = count.parse().map_err(|_| format!("`{count}` is no number"))?;
                model = Some(Model::of_parameters(count));
            }
            Some((key, value)) => drop(plan.insert(key.to_owned(), typed(value))),
        }
    }
    let model = model.ok_or("budget of which model?")?;
    let plan = Plan::deserialize(plan).map_err(|error| error.message().to_owned())?;
    let of = Budget::of(&model, &plan).map_err(|error| error.to_string())?;
    if let Some((_, bytes)) = BYTES.iter().find(|(name, _)| *name == what) {
        return Ok((bytes(&of) / 1e9, Unit::Things("GB".to_owned())));
    }
    if let Some((_, count)) = COUNTS.iter().find(|(name, _)| *name == what) {
        return Ok((count(&model, &plan), Unit::Number));
    }
    let names = BYTES.iter().map(|(name, _)| *name);
    let names: Vec<&str> = names.chain(COUNTS.iter().map(|(name, _)| *name)).collect();
    Err(format!("a budget has no `{what}`: there are {}", names.join(", ")))
}

fn typed(text: &str) -> Value {
    match (text.parse(), text.parse()) {
        (Ok(number), _) => Value::Float(number),
        (_, Ok(flag)) => Value::Boolean(flag),
        _ => Value::String(text.to_owned()),
    }
}

/// The calculator as it opens: a form, which only its script shows, and a table, which stands
/// without.
pub fn calculator() -> Result<String, String> {
    let model = Model::find("llama-2-7b").map_err(|error| error.to_string())?;
    let plan = Plan::default();
    let budget = Budget::of(model, &plan).map_err(|error| error.to_string())?;
    let data = json!({ "models": models(), "cards": cards(), "choices": choices() }).to_string();
    let names: Vec<&str> = models().iter().map(|model| model.name.as_str()).collect();
    let mut form = String::new();
    let mut fields = |legend: &str, class: &str, fields: &[String]| {
        let _ = write!(
            form,
            "<fieldset class=\"{class}\"><legend>{legend}</legend>{}</fieldset>",
            fields.concat()
        );
    };
    fields(
        "Model",
        "",
        &[
            select("model", "model", &names, &model.name),
            select("task", "task", &named(Task::ALL), "inference"),
            select("precision", "precision", &named(Precision::ALL), "mixed"),
            select("quantised", "quantised", &named(Quantised::ALL), "no"),
        ],
    );
    fields(
        "Work",
        "",
        &[
            slider("batch", "sequences", 0, 8, 0),
            slider("tokens", "tokens of each", 7, 17, 11),
            slider("gpus", "GPUs", 0, 6, 0),
        ],
    );
    fields(
        "Training",
        "training",
        &[
            select("optimiser", "optimiser", &named(Optimiser::ALL), "adamw"),
            select("sharding", "sharding", &named(Sharding::ALL), "ddp"),
            select("lora_rank", "LoRA rank", &["0", "8", "16", "64", "256"], "0"),
            select("attention", "attention", &named(Attention::ALL), "flash"),
            select("offload", "offload", &named(Offload::ALL), "nothing"),
            "<label><input type=\"checkbox\" name=\"checkpointing\"> checkpointing</label>"
                .to_owned(),
        ],
    );
    let mut rows = String::new();
    for (name, bytes) in budget.parts() {
        rows += &row(name, bytes, budget.total());
    }
    rows += &row("total", budget.total(), budget.total());
    rows += &row("host memory", budget.host, budget.total());
    let fits = cards().iter().filter(|card| budget.total() <= card.gigabytes * 0.9e9);
    let fits: Vec<&str> = fits.map(|card| card.name.as_str()).collect();
    Ok(format!(
        "<section class=\"budget\" aria-label=\"Calculator\" data-budget=\"{}\">\
         <form hidden>{form}</form>\
         <div class=\"table\"><table><caption>One GPU's memory: {}, inference, one sequence of \
         2,048 tokens.</caption><thead><tr><th scope=\"col\">part</th>\
         <th scope=\"col\" class=\"number\">GB</th><th scope=\"col\">share</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\
         <p class=\"fits\" role=\"status\">Fits, with a tenth to spare, on {}.</p></section>\n\
         <script>window.budget = (() => {{\n{JAVASCRIPT}return {{ budget, contradiction }};\n}})();\
         </script>\n",
        escape(&data),
        escape(&model.name),
        escape(&fits.join(", "))
    ))
}

fn named<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}

fn select(name: &str, label: &str, choices: &[&str], chosen: &str) -> String {
    let option = |choice: &&str| {
        let selected = if *choice == chosen { " selected" } else { "" };
        format!("<option{selected}>{}</option>", escape(choice))
    };
    let options: String = choices.iter().map(option).collect();
    format!("<label>{label} <select name=\"{name}\">{options}</select></label>")
}

/// A slider over powers of two.
fn slider(name: &str, label: &str, least: u32, most: u32, at: u32) -> String {
    format!(
        "<label>{label} <b aria-hidden=\"true\">{}</b><input type=\"range\" name=\"{name}\" \
         min=\"{least}\" max=\"{most}\" value=\"{at}\"></label>",
        1 << at
    )
}

fn row(name: &str, bytes: f64, total: f64) -> String {
    let share = 100.0 * bytes / total;
    let hidden = if bytes > 0.0 { "" } else { " hidden" };
    let bar = match name {
        "total" | "host memory" => String::new(),
        _ => format!("<span class=\"bar\" style=\"width:{share:.1}%\"></span>"),
    };
    format!(
        "<tr data-part=\"{name}\"{hidden}><th scope=\"row\">{name}</th>\
         <td class=\"number\">{}</td><td>{bar}</td></tr>",
        Unit::Number.print(bytes / 1e9)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_number_with_a_unit() {
        let (weights, unit) =
            number(&["parameters=7e9", "gpus=4", "task=training"], "weights").unwrap();
        assert_eq!(unit.print(weights), "14 GB");
        let (adapters, unit) = number(
            &["llama-2-7b", "task=training", "lora_rank=16", "checkpointing=true"],
            "lora_parameters",
        )
        .unwrap();
        assert_eq!((adapters, unit), (39_976_960.0, Unit::Number));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, what, part) in [
            (vec!["llama-2-7b"], "weight", "there are weights, gradients"),
            (vec!["llama-9"], "total", "no model `llama-9`"),
            (vec!["task=training"], "total", "of which model"),
            (vec!["llama-2-7b", "cards=3"], "total", "unknown field `cards`"),
            (vec!["llama-2-7b", "sharding=zero4"], "total", "unknown variant `zero4`"),
            (vec!["llama-2-7b", "lora_rank=8"], "total", "add training"),
        ] {
            let error = number(&words, what).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
