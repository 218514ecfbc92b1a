//! What the data sheet promises, to stand beside what the driver reports and what was measured.

use std::collections::BTreeMap;

use anyhow::Context;
use lab::{Case, Lab, Result};

/// What a data sheet says.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Brochure {
    multiprocessors: u32,
    fp32_tflops: f64,
    bf16_tflops: f64,
    memory_gb: f64,
    bandwidth_gb_per_second: f64,
    watts: f64,
    /// Where it says so.
    source: String,
}

/// Takes the row of this GPU into the record, if there is one.
pub(crate) fn note(lab: &mut Lab) -> Result<()> {
    let brochures: BTreeMap<String, Brochure> =
        toml::from_str(include_str!("../brochures.toml"))
            .context("brochures.toml cannot be read")?;
    let (name, case) = (lab.context().name()?, Case::new("brochure"));
    let Some(brochure) = brochures.get(&name) else {
        lab.skip(case, format!("brochures.toml does not know `{name}`"));
        return Ok(());
    };
    lab.print(&format!("\nNVIDIA's figures for this GPU: {}", brochure.source));
    case.model("multiprocessors", brochure.multiprocessors.into())
        .model("fp32_tflops", brochure.fp32_tflops)
        .model("bf16_tflops", brochure.bf16_tflops)
        .model("memory_bytes", 1e9 * brochure.memory_gb)
        .model("bandwidth_bytes_per_second", 1e9 * brochure.bandwidth_gb_per_second)
        .model("watts", brochure.watts)
        .time_on_host(lab, || Ok(lab.context().name()?))?
        .record(lab)
}
