//! Cases of a cut: timed, counted, compared.

use lab::{Case, Ceiling, Lab, Result, Timed};

use crate::cut::{Held, Shape};
use crate::device::Trainer;
use crate::team::Team;
use crate::verify;

/// A case with what was counted and is held, for each GPU on average.
fn case(name: &str, team: &Team) -> Case {
    let (gpus, cut) = (team.trainers.len(), team.cut);
    let sent = cut.sends(team.shape, gpus, team.micro_batches);
    let Held { weights, gradients, activations } = team.held();
    let each = |of_all: usize| of_all as f64 / gpus as f64;
    Case::new(name)
        .with("way", cut)
        .with("rows", team.shape.rows)
        .writes(sent.bytes / gpus)
        .model("messages", each(sent.messages))
        .model("waits", each(sent.waits))
        .model("weights_bytes", each(weights))
        .model("gradients_bytes", each(gradients))
        .model("activations_bytes", each(activations))
        .model("buffers_bytes", each(team.buffer_bytes()))
}

/// Times steps, each from the same weights on. What the last one sent has to be what the
/// formulas say.
fn time(lab: &Lab, team: &Team, case: Case) -> Result<Timed> {
    let begin = || {
        team.trainers.iter().try_for_each(Trainer::begin)?;
        team.finish()
    };
    let timed = case.time_on_host_after(lab, begin, |()| team.step())?;
    verify::counts(team)?;
    Ok(timed)
}

pub(crate) fn step(lab: &Lab, team: &Team) -> Result<Timed> {
    let Shape { rows, width, layers } = team.shape;
    let case = case("step", team);
    time(lab, team, case.computes(6 * rows * width * width * layers))
}

/// The step's transfers alone: the GPUs compute nothing but sums.
pub(crate) fn exchange(lab: &mut Lab, team: &mut Team) -> Result<()> {
    let case = case("exchange", team).ceiling(Ceiling::NvLink);
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
    let gpus = team.trainers.len();
    let parts = (0..6).map(|power| 1 << power);
    for parts in parts.filter(|parts| *parts <= team.shape.rows) {
        team.micro_batches = parts;
        let turns = (parts + gpus - 1) as f64 / parts as f64;
        let case = case("pipeline", team)
            .with("micro_batches", parts)
            .model("time_seconds", one_seconds / gpus as f64 * turns);
        let timed = time(lab, team, case)?;
        timed.check(&team.weights()?, |i| expected[i])?.record(lab)?;
    }
    Ok(())
}
