//! A copy and a kernel that have nothing to do with each other.

use ledger::{Kind, schedule};
use streams::queue;

use super::picture::{Anchor, Picture};
use super::program::{Program, costs, timeline};
use super::{Drawn, Explorer, Knob, State, Values};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "overlap",
    title: "A copy and a kernel of the same length, by two calls of the host",
    task: "In which settings does the copy run beside the kernel? Find one with pageable memory.",
    finding: "Two streams are needed in any case: in one stream work runs in order. From pinned \
        memory that is enough, for both calls return at once. A copy from pageable memory holds \
        the host until it has ended. If it is called first, the kernel comes too late; if the \
        kernel is launched first, it runs while the host copies.",
    knobs: &[
        Knob {
            name: "issue",
            label: "the host calls",
            first: "copy_first",
            values: Values::Choice(&[
                ("copy_first", "copy first"),
                ("kernel_first", "kernel first"),
            ]),
        },
        Knob { name: "streams", label: "streams", first: "1", values: Values::Range(1, 2) },
        Knob {
            name: "direction",
            label: "the copy goes",
            first: "host_to_device",
            values: Values::Choice(&[
                ("host_to_device", "to the GPU"),
                ("device_to_host", "to the host"),
            ]),
        },
        Knob {
            name: "kind",
            label: "the host's memory",
            first: "pageable",
            values: Values::Choice(&[("pageable", "pageable"), ("pinned", "pinned")]),
        },
    ],
    show,
};

/// How long each takes.
const LENGTH: u32 = 10;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let is_pageable = state.text("kind")? == "pageable";
    let mut program = Program::new(None);
    let [first, second] = [(); 2].map(|()| program.stream(queue::Kind::NonBlocking));
    let copy = match state.text("direction")? {
        "host_to_device" => Kind::Upload,
        _ => Kind::Download,
    };
    let mut calls = [(first, copy), (second, Kind::Kernel("kernel".to_owned()))];
    if state.number("streams")? == 1 {
        calls[1].0 = first;
    }
    if state.text("issue")? == "kernel_first" {
        calls.reverse();
    }
    for (stream, kind) in calls {
        program.step(stream, kind, LENGTH, is_pageable);
    }
    let (ledger, _) = program.end();
    let schedule = schedule(&ledger, &costs(LENGTH));
    let takes = schedule.makespan() / f64::from(LENGTH);
    let why = match (ledger.waits.first(), &ledger.operations[1].after[..]) {
        _ if takes < 1.5 => "They run at the same time",
        (_, [_, ..]) => "The second comes after the first in its stream",
        _ => "The host launches the kernel only when it has copied",
    };
    let long = if takes > 1.5 { "twice as long as" } else { "as long as" };
    let said = format!("Together they take {long} the copy alone. {why}.");
    let names: Vec<&str> = ledger
        .operations
        .iter()
        .map(|operation| if matches!(operation.kind, Kind::Kernel(_)) { "kernel" } else { "copy" })
        .collect();
    let draw = move |picture: &mut Picture| {
        let label = |number: usize| format!("{number}: {}", names[number - 1]);
        let below = timeline(picture, 1.0, &schedule.runs, f64::from(2 * LENGTH), label);
        picture.heading((1.0, below), Anchor::Start, &format!("{takes} × the copy alone"));
    };
    Ok(Drawn { said, draw: Box::new(draw) })
}

#[cfg(test)]
mod tests {
    use super::super::{Request, show};

    /// What the sentence that the reader is to find says. (`tests/recorded.rs` compares all
    /// settings with what was measured.)
    #[test]
    fn what_there_is_to_find_is_there() {
        for (issue, streams, kind, told) in [
            ("copy_first", "2", "pinned", "take as long as the copy alone. They run at the same"),
            (
                "copy_first",
                "2",
                "pageable",
                "take twice as long as the copy alone. The host launches",
            ),
            ("kernel_first", "2", "pageable", "take as long as the copy alone. They run at the"),
            (
                "kernel_first",
                "1",
                "pinned",
                "take twice as long as the copy alone. The second comes",
            ),
        ] {
            let state = [("issue", issue), ("streams", streams), ("kind", kind)];
            let state = state.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let said = show(&Request { name: "overlap".to_owned(), state }).unwrap().said;
            assert!(said.contains(told), "{issue} {streams} {kind}: {said}");
        }
    }
}
