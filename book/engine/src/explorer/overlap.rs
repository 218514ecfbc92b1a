//! A copy and a kernel that have nothing to do with each other.

use ledger::{Kind, schedule};
use streams::queue;

use super::picture::{Anchor, COMPUTE, MEMORY, MUTED, Picture};
use super::program::{Call, Program, calls, costs, timeline};
use super::{Drawn, Explorer, Knob, State, Values, case};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "overlap",
    title: "A copy and a kernel of the same length, by two calls of the host",
    task: "In which settings does the copy run beside the kernel? Drag the calls into other streams \
        and another order, or choose below. Find a setting with pageable memory.",
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
        Knob { name: "copy", label: "the copy in", first: "1", values: STREAMS },
        Knob { name: "kernel", label: "the kernel in", first: "1", values: STREAMS },
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

const STREAMS: Values = Values::Choice(&[("1", "stream 1"), ("2", "stream 2")]);
/// How long each takes.
const LENGTH: u32 = 10;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let (kind, direction) = (state.text("kind")?, state.text("direction")?);
    let mut program = Program::new(None);
    let streams = [(); 2].map(|()| program.stream(queue::Kind::NonBlocking));
    let row = |name: &str| Ok::<_, String>(usize::from(state.text(name)? == "2"));
    let copy = if direction == "host_to_device" { Kind::Upload } else { Kind::Download };
    let mut order = [
        (Call { name: "copy", row: row("copy")?, pen: MEMORY }, copy),
        (Call { name: "kernel", row: row("kernel")?, pen: COMPUTE }, Kind::Kernel("kernel".into())),
    ];
    let issue = state.text("issue")?;
    if issue == "kernel_first" {
        order.reverse();
    }
    let is_one = order[0].0.row == order[1].0.row;
    let order = order.map(|(call, kind_of_work)| {
        program.step(streams[call.row], kind_of_work, LENGTH, kind == "pageable");
        call
    });
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
    let streams = ("streams", if is_one { "1" } else { "2" });
    let case = case([
        ("case", "both"),
        ("issue", issue),
        ("direction", direction),
        ("kind", kind),
        streams,
    ]);
    let draw = move |picture: &mut Picture| {
        let top = calls(picture, &["stream 1", "stream 2"], &order, |name, row, place| {
            let is_first = (name == "copy") == (place == 0);
            let issue = if is_first { "copy_first" } else { "kernel_first" };
            format!("{name}={}&issue={issue}", row + 1)
        });
        picture.text((1.0, top + 8.0), Anchor::Start, MUTED, "when their work is done");
        let label = |number: usize| order[number - 1].name.to_owned();
        let most = f64::from(2 * LENGTH);
        let below = timeline(picture, top + 20.0, &schedule.runs, most, label);
        picture.heading((1.0, below), Anchor::Start, &format!("{takes} × the copy alone"));
    };
    Ok(Drawn { said, draw: Box::new(draw), case: Some(case), limit: None })
}

#[cfg(test)]
mod tests {
    use super::super::said;

    /// What the sentence that the reader is to find says. (`tests/recorded.rs` compares all
    /// settings with what was measured.)
    #[test]
    fn what_there_is_to_find_is_there() {
        for (issue, stream, kind, told) in [
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
            let said = said("overlap", &[("issue", issue), ("kernel", stream), ("kind", kind)]);
            assert!(said.contains(told), "{issue} {stream} {kind}: {said}");
        }
    }
}
