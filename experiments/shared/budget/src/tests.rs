#![allow(clippy::unwrap_used)]

use super::*;

fn model(name: &str) -> Model {
    Model::find(name).unwrap().clone()
}

fn training() -> Plan {
    Plan { task: Task::Training, ..Plan::default() }
}

#[test]
fn parameters_are_those_that_are_published() {
    for (name, count) in [
        ("llama-2-7b", 6_738_415_616.0),
        ("mistral-7b", 7_241_732_096.0),
        ("llama-3-8b", 8_030_261_248.0),
        ("llama-3-70b", 70_553_706_496.0),
    ] {
        assert_eq!(model(name).parameters(), count, "{name}");
    }
    for model in models() {
        assert_eq!(model.tensors().iter().sum::<f64>(), model.parameters());
    }
    let gpt = model("gpt-3-175b").parameters();
    assert!((gpt / 175e9 - 1.0).abs() < 0.005, "{gpt}");
}

/// What PEFT prints, with adapters beside all seven matrices.
#[test]
fn adapters_are_as_large_as_peft_says() {
    let llama = model("llama-2-7b");
    assert_eq!(llama.lora_parameters(8.0), 19_988_480.0);
    assert_eq!(llama.lora_parameters(16.0), 39_976_960.0);
    assert_eq!(model("mistral-7b").lora_parameters(8.0), 20_971_520.0);
}

/// s·b·h·(34 + 5·a·s/h) for each layer, equations 1 and 2 of Korthikanti et al.
#[test]
fn activations_are_those_of_the_paper() {
    let gpt = Model { vocabulary: 0.0, ..model("gpt-3-175b") };
    let (b, s, h, a) = (2.0, 2048.0, gpt.hidden, gpt.heads);
    let attention = Attention::Materialised;
    let plan = Plan { batch: b, tokens: s, attention, ..training() };
    let layers = gpt.layers * s * b * h * (34.0 + 5.0 * a * s / h);
    let last = 2.0 * s * b * h; // the last normalisation's input
    assert_eq!(Budget::of(&gpt, &plan).unwrap().activations, layers + last);
    // With all recomputed 2·s·b·h for each layer are left, and one layer.
    let plan = Plan { checkpointing: true, ..plan };
    let kept = gpt.layers * 2.0 * s * b * h + layers / gpt.layers + last;
    assert_eq!(Budget::of(&gpt, &plan).unwrap().activations, kept);
}

/// Rajbhandari et al., <https://arxiv.org/abs/1910.02054>, figure 1: 7.5 billion parameters
/// on 64 GPUs.
#[test]
fn zero_divides_as_the_paper_says() {
    for (sharding, gigabytes) in [
        (Sharding::Ddp, 120.0),
        (Sharding::Zero1, 31.4),
        (Sharding::Zero2, 16.6),
        (Sharding::Zero3, 1.9),
    ] {
        let plan = Plan { gpus: 64.0, sharding, ..training() };
        let budget = Budget::of(&Model::of_parameters(7.5e9), &plan).unwrap();
        let total = budget.total() / 1e9;
        assert!((total - gigabytes).abs() < 0.05, "{total} for {gigabytes}");
    }
}

#[test]
fn fewer_heads_with_keys_and_values_need_a_smaller_cache() {
    let plan = Plan { tokens: 4096.0, ..Plan::default() };
    let cache = |name| Budget::of(&model(name), &plan).unwrap().kv_cache;
    assert_eq!(cache("llama-2-7b"), 2_147_483_648.0);
    assert_eq!(cache("mistral-7b") * 4.0, cache("llama-2-7b"));
}

#[test]
fn more_gpus_than_heads_hold_copies_of_the_cache() {
    let cache = |gpus| {
        let plan = Plan { gpus, ..Plan::default() };
        Budget::of(&model("llama-3-70b"), &plan).unwrap().kv_cache
    };
    assert_eq!(cache(8.0), cache(1.0) / 8.0);
    assert_eq!(cache(16.0), cache(8.0));
}

#[test]
fn what_is_offloaded_is_in_the_hosts_memory() {
    let on = |offload| {
        let sharding = Sharding::Zero3;
        let plan = Plan { gpus: 4.0, sharding, offload, ..training() };
        Budget::of(&model("llama-2-7b"), &plan).unwrap()
    };
    let (none, all) = (on(Offload::Nothing), on(Offload::Everything));
    assert_eq!(none.host, 0.0);
    assert_eq!(all.host, none.weights + none.optimiser);
    assert_eq!(all.total(), none.total() - all.host);
}

#[test]
fn a_plan_that_contradicts_itself_says_where() {
    let of = |plan: Plan, model: &Model| Budget::of(model, &plan).unwrap_err().to_string();
    let (llama, bare) = (model("llama-2-7b"), Model::of_parameters(7e9));
    let four = Quantised::Bits4;
    for (error, part) in [
        (of(Plan { batch: 0.0, ..training() }, &llama), "batch: 0"),
        (of(Plan { tokens: 0.5, ..training() }, &llama), "tokens: 0.5"),
        (of(Plan { lora_rank: 8.0, ..training() }, &bare), "name a model"),
        (of(Plan { lora_rank: 8.0, ..Plan::default() }, &llama), "add training"),
        (of(Plan { quantised: four, ..training() }, &llama), "with lora-rank"),
        (of(Plan { offload: Offload::Everything, ..training() }, &llama), "zero3"),
        (of(Plan::default(), &Model::of_parameters(f64::NAN)), "parameters"),
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(Model::find("gpt-9").unwrap_err().to_string().contains("llama-2-7b"));
}

#[test]
fn every_number_has_a_source_and_cards_are_in_order() {
    assert!(models().iter().all(|model| !model.source.is_empty()));
    assert!(cards().iter().all(|card| card.source.starts_with("https://")));
    assert!(cards().is_sorted_by(|a, b| a.gigabytes < b.gigabytes));
}
