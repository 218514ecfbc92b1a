//! Three calls in streams of one's choice, and the default stream among them.

use ledger::{Kind, schedule};
use streams::queue;

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::program::{Program, costs};
use super::{Drawn, Explorer, Knob, State, Values};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "train",
    title: "Three calls that have nothing to do with each other, in streams",
    task: "An upload, a kernel and a download use different parts of the GPU, and could all run at \
        once. One of them stays in the default stream, the other two in streams of their own. \
        What is the shortest and the longest that they take, and what decides?",
    finding: "In blocking streams the call in the default stream is a train: it waits for what was \
        called before it, and what is called after it waits for the train. In the middle it makes \
        three turns of it. First or last it costs one turn, and the other two share the second. \
        Non-blocking streams have a bridge: all three run at once, wherever the train comes.",
    knobs: &[
        Knob { name: "upload", label: "1: upload in", first: "1", values: STREAMS },
        Knob { name: "kernel", label: "2: kernel in", first: "default", values: STREAMS },
        Knob { name: "download", label: "3: download in", first: "2", values: STREAMS },
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
/// The rows of the picture.
const ROWS: [&str; 3] = ["1", "default", "2"];

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let mut program = Program::new(None);
    let kind = match state.text("streams")? {
        "blocking" => queue::Kind::Blocking,
        _ => queue::Kind::NonBlocking,
    };
    let legacy = program.stream(queue::Kind::Legacy);
    let [first, second] = [(); 2].map(|()| program.stream(kind));
    let names = ["upload", "kernel", "download"];
    let mut rows = vec![];
    for (name, kind) in
        names.into_iter().zip([Kind::Upload, Kind::Kernel("kernel".to_owned()), Kind::Download])
    {
        let stream = state.text(name)?;
        rows.push(ROWS.iter().position(|row| *row == stream).unwrap_or(0));
        let stream = match stream {
            "1" => first,
            "2" => second,
            _ => legacy,
        };
        program.step(stream, kind, LENGTH, false);
    }
    let (ledger, _) = program.end();
    let schedule = schedule(&ledger, &costs(LENGTH));
    let turns = schedule.makespan() / f64::from(LENGTH);
    let waits = ledger.operations.iter().flat_map(|operation| {
        let name = |number: usize| names[number - 1];
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
        let left = picture.pick(74.0, 64.0);
        let scale = (picture.width - 2.0 - left) / f64::from(3 * LENGTH);
        let y = |row: usize| 1.0 + row as f64 * 42.0;
        for (row, name) in ROWS.iter().enumerate() {
            let name = if row == 1 { (*name).to_owned() } else { format!("stream {name}") };
            picture.text((1.0, y(row) + 17.0), Anchor::Start, INK, &name);
            let fill = if row == 1 { 0.12 } else { 0.05 };
            let area = [left, y(row), picture.width - 2.0 - left, 34.0];
            picture.cell(area, MUTED, fill, row == 1);
        }
        for (number, run) in schedule.runs.iter().enumerate() {
            let (x, width) = (left + run.start * scale, (run.end - run.start) * scale);
            let pen = if number == 1 { COMPUTE } else { MEMORY };
            let y = y(rows[number]) + 4.0;
            picture.cell([x, y, width - 1.0, 26.0], pen, 0.35, true);
            let text = format!("{}: {}", number + 1, names[number]);
            picture.text((x + width / 2.0, y + 13.0), Anchor::Middle, INK, &text);
        }
        picture.heading((1.0, y(3) + 8.0), Anchor::Start, &format!("{turns} {turn}"));
    };
    Ok(Drawn { said, draw: Box::new(draw) })
}

#[cfg(test)]
mod tests {
    use super::super::{Request, show};

    fn said(state: &[(&str, &str)]) -> String {
        let state = state.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        show(&Request { name: "train".to_owned(), state }).map(|shown| shown.said).unwrap()
    }

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        let middle = "The three take 3 turns: the kernel waits for the upload, the download waits \
            for the kernel.";
        assert_eq!(said(&[]), middle);
        let last = [("kernel", "1"), ("upload", "default")];
        let told = "The three take 2 turns: the kernel waits for the upload, the download waits \
            for the upload.";
        assert_eq!(said(&last), told);
        let told = "The three take 2 turns: the download waits for the upload, the download waits \
            for the kernel.";
        assert_eq!(said(&[("kernel", "2"), ("download", "default")]), told);
        let bridge = [("streams", "non_blocking")];
        assert_eq!(said(&bridge), "The three take 1 turn: nothing waits.");
    }
}
