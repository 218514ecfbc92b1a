//! Batches that are uploaded, computed and downloaded, in some streams.

use ledger::{Kind, schedule};
use streams::queue;

use super::picture::{Anchor, Picture};
use super::program::{Program, costs, timeline};
use super::{Case, Drawn, Explorer, Knob, State, Values, case, count};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "pipeline",
    title: "Six batches, each with an upload, a kernel and a download",
    task: "Lengths have no unit here: only their ratios count. With three streams, make one of \
        the steps longer, then another, then a third time the same. How long after the one \
        before does a batch end, on average? Halve the steps, one at a time: which of them is \
        worth it? How few streams will do? And what does pageable memory leave of it all?",
    finding: "The longest step sets the pace: one batch ends after another, in just its length. \
        To shorten another step gains next to nothing. As many streams will do as the longest \
        step goes into the sum of all three, rounded up: three if they are equal, two if the \
        longest is half of the sum. From pageable memory the host is held by each copy, and no \
        batch begins before the last one has ended, in however many streams.",
    knobs: &[
        Knob { name: "upload", label: "upload", first: "2", values: Values::Range(1, MOST) },
        Knob { name: "kernel", label: "kernel", first: "2", values: Values::Range(1, MOST) },
        Knob { name: "download", label: "download", first: "2", values: Values::Range(1, MOST) },
        Knob { name: "streams", label: "streams", first: "1", values: Values::Range(1, 4) },
        Knob {
            name: "memory",
            label: "the host's memory",
            first: "pinned",
            values: Values::Choice(&[("pinned", "pinned"), ("pageable", "pageable")]),
        },
    ],
    show,
};

/// The longest step.
const MOST: u32 = 7;
const BATCHES: usize = 6;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let length = |step: &str| state.number(step);
    let (upload, kernel, download) = (length("upload")?, length("kernel")?, length("download")?);
    let is_pageable = state.text("memory")? == "pageable";
    let mut program = Program::new(None);
    let streams = state.number("streams")?;
    let streams: Vec<u32> =
        (0..streams).map(|_| program.stream(queue::Kind::NonBlocking)).collect();
    for batch in 0..BATCHES {
        let stream = streams[batch % streams.len()];
        program.step(stream, Kind::Upload, upload, is_pageable);
        program.step(stream, Kind::Kernel("kernel".to_owned()), kernel, is_pageable);
        program.step(stream, Kind::Download, download, is_pageable);
    }
    let (ledger, _) = program.end();
    let schedule = schedule(&ledger, &costs(kernel));
    let ends: Vec<f64> = schedule.runs.iter().skip(2).step_by(3).map(|run| run.end).collect();
    let (takes, pace) = (schedule.makespan(), (ends[BATCHES - 1] - ends[0]) / (BATCHES - 1) as f64);
    let pace = format!("{pace:.1}");
    let pace = pace.trim_end_matches(".0").to_owned();
    let said = format!(
        "In {}, from and to {} memory, {BATCHES} batches take {takes}. After the first, one ends \
         every {pace}, on average over these six.",
        count(streams.len() as u64, "stream"),
        state.text("memory")?,
    );
    // The longest that it can take, so that lengths can be compared.
    let all = f64::from(upload + kernel + download) * BATCHES as f64;
    let draw = move |picture: &mut Picture| {
        let batch = |number: usize| ((number - 1) / 3 + 1).to_string();
        let below = timeline(picture, 1.0, &schedule.runs, all, batch);
        let right = picture.width - 2.0;
        picture.heading((1.0, below), Anchor::Start, &format!("{takes} in all"));
        picture.heading(
            (right, below),
            Anchor::End,
            &format!("after the first, a batch every {pace}"),
        );
    };
    let case = called([upload, kernel, download], streams.len(), state.text("memory")?);
    Ok(Drawn { said, draw: Box::new(draw), case: Some(case), limit: None })
}

/// What the experiment calls it: its steps have such proportions.
fn called([upload, kernel, download]: [u32; 3], streams: usize, memory: &str) -> Case {
    let load = match kernel {
        _ if upload != download => return vec![],
        kernel if kernel == upload => "balanced",
        kernel if kernel == 3 * upload => "kernel_bound",
        _ => return vec![],
    };
    let streams = streams.to_string();
    case([("case", "pipeline"), ("load", load), ("kind", memory), ("streams", &streams)])
}

#[cfg(test)]
mod tests {
    use super::super::said;

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        let takes = |state: &[(&str, &str)], all: u32, pace: &str| {
            let said = said("pipeline", state);
            let told = format!("take {all}. After the first, one ends every {pace}, on average");
            assert!(said.contains(&told), "{state:?}: {said}, and not {told}");
        };
        takes(&[], 36, "6");
        takes(&[("kernel", "4")], 48, "8");
        takes(&[("streams", "2"), ("kernel", "4")], 28, "4");
        takes(&[("streams", "3"), ("kernel", "4")], 28, "4");
        takes(&[("streams", "3"), ("kernel", "4"), ("upload", "1")], 27, "4");
        takes(&[("streams", "2")], 20, "2.8");
        takes(&[("streams", "3")], 16, "2");
        takes(&[("streams", "4")], 16, "2");
        takes(&[("streams", "3"), ("kernel", "4"), ("download", "6")], 42, "6");
        takes(&[("streams", "3"), ("memory", "pageable")], 36, "6");
        takes(&[("streams", "4"), ("memory", "pageable")], 36, "6");
    }
}
