//! Cases of a way: timed, counted, compared.

use lab::{Case, Ceiling, Lab, Result, Timed};

use crate::check;
use crate::cut::Shape;
use crate::gpu::Gpu;
use crate::team::Team;

/// A case with what was counted and is held, for each GPU on average.
fn case(name: &str, way: &str, team: &Team) -> Case {
    let (gpus, Shape { rows, .. }) = (team.gpus.len(), team.shape);
    let sent = team.way.sends(team.shape, gpus, team.micro);
    let [weights, gradients, activations, buffers] = team.held();
    let each = |of_all: usize| of_all as f64 / gpus as f64;
    Case::new(name)
        .with("way", way)
        .with("rows", rows)
        .writes(sent.bytes / gpus)
        .model("messages", each(sent.messages))
        .model("waits", each(sent.waits))
        .model("weights_bytes", each(weights))
        .model("gradients_bytes", each(gradients))
        .model("activations_bytes", each(activations))
        .model("buffers_bytes", each(buffers))
}

/// Times steps, each from the same weights on. What the last one sent has to be what the
/// formulas say.
fn time(lab: &Lab, team: &Team, case: Case) -> Result<Timed> {
    let begin = || {
        team.gpus.iter().try_for_each(Gpu::begin)?;
        team.finish()
    };
    let timed = case.time_on_host_after(lab, begin, |()| team.step())?;
    check::counts(team)?;
    Ok(timed)
}

/// A step.
pub(crate) fn step(lab: &Lab, team: &Team, way: &str) -> Result<Timed> {
    let Shape { rows, width, layers } = team.shape;
    let case = case("step", way, team);
    time(lab, team, case.computes(6 * rows * width * width * layers))
}

/// The same step, but for what the GPUs compute.
pub(crate) fn exchange(lab: &mut Lab, team: &mut Team, way: &str) -> Result<()> {
    let case = case("exchange", way, team).ceiling(Ceiling::NvLink);
    team.computes = false;
    time(lab, team, case)?.record(lab)?;
    team.computes = true;
    Ok(())
}

/// The batch in more and more parts, beside the model: a GPU works for as many turns as there
/// are parts, and waits until the others have begun and ended.
pub(crate) fn pipeline(
    lab: &mut Lab,
    team: &mut Team,
    one_seconds: f64,
    expected: &[u32],
) -> Result<()> {
    let gpus = team.gpus.len();
    let parts = (0..6).map(|power| 1 << power);
    for micro in parts.filter(|micro| *micro <= team.shape.rows) {
        team.micro = micro;
        let turns = (micro + gpus - 1) as f64 / micro as f64;
        let case = case("pipeline", "layers", team)
            .with("micro_batches", micro)
            .model("time_seconds", one_seconds / gpus as f64 * turns);
        let timed = time(lab, team, case)?;
        timed.check(&team.weights()?, |i| expected[i])?.record(lab)?;
    }
    Ok(())
}
