//! Three calls in streams of one's choice, and the default stream among them.

use ledger::{Kind, schedule};
use streams::queue;

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::program::{Call, Program, calls, costs};
use super::{Drawn, Explorer, Knob, State, Values};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "legacy",
    title: "Three calls that have nothing to do with each other, in streams",
    task: "An upload, a kernel and a download use different parts of the GPU, and could all run at \
        once. One of them is in the default stream. Drag the calls into other streams and another \
        order, or choose below: what is the shortest and the longest that they take, and what \
        decides?",
    finding: "In blocking streams the call in the default stream takes the whole kitchen: it waits \
        for what was called before it, and what is called after it waits for it. In the middle it \
        makes three turns of it. First or last it costs one turn, and the other two share the \
        second if they are in different streams. Non-blocking streams are next door: wherever \
        that call comes, all three run at once if the other two are in different streams.",
    knobs: &[
        Knob {
            name: "order",
            label: "the host calls",
            first: "upload-kernel-download",
            values: Values::Choice(&[
                ("upload-kernel-download", "upload, kernel, download"),
                ("upload-download-kernel", "upload, download, kernel"),
                ("kernel-upload-download", "kernel, upload, download"),
                ("kernel-download-upload", "kernel, download, upload"),
                ("download-upload-kernel", "download, upload, kernel"),
                ("download-kernel-upload", "download, kernel, upload"),
            ]),
        },
        Knob { name: "upload", label: "the upload in", first: "1", values: STREAMS },
        Knob { name: "kernel", label: "the kernel in", first: "default", values: STREAMS },
        Knob { name: "download", label: "the download in", first: "2", values: STREAMS },
        Knob {
            name: "streams",
            label: "streams 1 and 2 are",
            first: "blocking",
            values: Values::Choice(&[("blocking", "blocking"), ("non_blocking", "non-blocking")]),
        },
    ],
    show,
};

const STREAMS: Values =
    Values::Choice(&[("1", "stream 1"), ("default", "the default stream"), ("2", "stream 2")]);
/// How long each call's work takes.
const LENGTH: u32 = 10;
/// The rows of the picture: what a knob has for the stream, and what it is called.
const ROWS: [(&str, &str); 3] = [("1", "stream 1"), ("default", "default"), ("2", "stream 2")];

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let mut program = Program::new(None);
    let kind = match state.text("streams")? {
        "blocking" => queue::Kind::Blocking,
        _ => queue::Kind::NonBlocking,
    };
    let legacy = program.stream(queue::Kind::Legacy);
    let [first, second] = [(); 2].map(|()| program.stream(kind));
    let mut order = vec![];
    for name in state.text("order")?.split('-') {
        let (name, kind, pen) = match name {
            "upload" => ("upload", Kind::Upload, MEMORY),
            "kernel" => ("kernel", Kind::Kernel("kernel".to_owned()), COMPUTE),
            _ => ("download", Kind::Download, MEMORY),
        };
        let stream = state.text(name)?;
        let row = ROWS.iter().position(|(row, _)| *row == stream).unwrap_or(0);
        program.step([first, legacy, second][row], kind, LENGTH, false);
        order.push(Call { name, row, pen });
    }
    let (ledger, _) = program.end();
    let schedule = schedule(&ledger, &costs(LENGTH));
    let turns = schedule.makespan() / f64::from(LENGTH);
    let waits = ledger.operations.iter().flat_map(|operation| {
        let name = |number: usize| order[number - 1].name;
        let after = operation.after.iter();
        after.map(move |first| {
            format!("the {} waits for the {}", name(operation.number), name(*first))
        })
    });
    let waits: Vec<String> = waits.collect();
    let waits = if waits.is_empty() { "nothing waits".to_owned() } else { waits.join(", ") };
    let turn = if turns == 1.0 { "turn" } else { "turns" };
    let said = format!("The three take {turns} {turn}: {waits}.");
    let draw = move |picture: &mut Picture| {
        let names: Vec<&str> = order.iter().map(|call| call.name).collect();
        let top = calls(picture, &ROWS.map(|(_, name)| name), &order, |name, row, place| {
            let mut order: Vec<&str> = names.iter().copied().filter(|it| *it != name).collect();
            order.insert(place, name);
            format!("{name}={}&order={}", ROWS[row].0, order.join("-"))
        });
        picture.text((1.0, top + 8.0), Anchor::Start, MUTED, "when their work is done");
        let left = picture.pick(74.0, 64.0);
        let scale = (picture.width - 2.0 - left) / f64::from(3 * LENGTH);
        let y = |row: usize| top + 20.0 + row as f64 * 34.0;
        for (row, (_, name)) in ROWS.iter().enumerate() {
            picture.text((1.0, y(row) + 14.0), Anchor::Start, INK, name);
            let fill = if row == 1 { 0.12 } else { 0.05 };
            let area = [left, y(row), picture.width - 2.0 - left, 28.0];
            picture.cell(area, MUTED, fill, row == 1);
        }
        for (call, run) in order.iter().zip(&schedule.runs) {
            let (x, width) = (left + run.start * scale, (run.end - run.start) * scale);
            let y = y(call.row) + 2.0;
            picture.cell([x, y, width - 1.0, 24.0], call.pen, 0.35, true);
            picture.text((x + width / 2.0, y + 12.0), Anchor::Middle, INK, call.name);
        }
        picture.heading((1.0, y(3) + 10.0), Anchor::Start, &format!("{turns} {turn}"));
    };
    Ok(Drawn { said, draw: Box::new(draw), case: None, limit: None })
}

#[cfg(test)]
mod tests {
    use super::super::said;

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        let middle = "The three take 3 turns: the kernel waits for the upload, the download waits \
            for the kernel.";
        assert_eq!(said("legacy", &[]), middle);
        let first = [("kernel", "1"), ("upload", "default")];
        let told = "The three take 2 turns: the kernel waits for the upload, the download waits \
            for the upload.";
        assert_eq!(said("legacy", &first), told);
        let told = "The three take 2 turns: the download waits for the upload, the download waits \
            for the kernel.";
        assert_eq!(said("legacy", &[("kernel", "2"), ("download", "default")]), told);
        // The same by another order.
        let told = "The three take 2 turns: the kernel waits for the upload, the kernel waits for \
            the download.";
        assert_eq!(said("legacy", &[("order", "upload-download-kernel")]), told);
        let apart = [("streams", "non_blocking")];
        assert_eq!(said("legacy", &apart), "The three take 1 turn: nothing waits.");
        // The other two in one stream take turns there.
        let one = [("upload", "default"), ("kernel", "1"), ("download", "1")];
        assert!(said("legacy", &one).starts_with("The three take 3 turns: "));
        let apart = [one[0], one[1], one[2], ("streams", "non_blocking")];
        assert!(said("legacy", &apart).starts_with("The three take 2 turns: "));
    }
}
