//! A tile in shared memory, and the wavefronts that a warp's read of it takes.

use emulator::access::{BANKS, WORD_BYTES, served};
use emulator::{Request as Access, Traffic, WARP};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Drawn, Explorer, Knob, State, Values, active, case, count, run};
use crate::launch::{Argument, Content, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "banks",
    title: "Which bank each lane wants, wavefront by wavefront",
    task: "A warp reads a column of a tile of 32 × 32. Which paddings are best, and what do they \
        have in common? Then let the elements have 16 bytes: how many wavefronts does a row take, \
        although no two lanes meet in a bank?",
    finding: "Any odd padding will do: it moves each row on by an odd number of banks, so that a \
        column uses all 32, in one wavefront. An even one leaves 2, 4, 8, 16 or 32. To store element \
        x of row y at x ^ y does the same without a padding. Wide elements go in parts: a row of 8 \
        bytes takes 2 wavefronts, and one of 16 takes 4, without any conflict.",
    knobs: &[
        Knob { name: "padding", label: "padding", first: "0", values: Values::Range(0, 32) },
        Knob {
            name: "read",
            label: "reads a",
            first: "column",
            values: Values::Choice(&[("column", "column"), ("row", "row")]),
        },
        Knob {
            name: "stored",
            label: "element x of row y at",
            first: "x",
            values: Values::Choice(&[("x", "x"), ("xor", "x ^ y")]),
        },
        Knob {
            name: "bytes",
            label: "bytes of an element",
            first: "4",
            values: Values::Choice(&[("4", "4"), ("8", "8"), ("16", "16")]),
        },
        Knob {
            name: "wavefront",
            label: "only wavefront (0: all)",
            first: "0",
            values: Values::Range(0, 32),
        },
    ],
    show,
};

/// Elements of a row, without its padding.
const ROW: u32 = 32;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let (padding, bytes) = (state.number("padding")?, state.number("bytes")?);
    let (is_column, is_xor) = (state.text("read")? == "column", state.text("stored")? == "xor");
    // Of a column each lane has a row; its first element is what the kernel reads first.
    let start = |lane: u32| match (is_column, is_xor) {
        (true, false) => lane * (ROW + padding),
        (true, true) => lane * (ROW + padding) + lane,
        (false, _) => lane,
    };
    let row = WORD_BYTES * u64::from(ROW);
    let arguments = vec![
        Argument::Buffer("start", row, Content::Words((0..ROW).map(start).collect())),
        Argument::Buffer("out", row, Content::Unwritten),
        Argument::U32(1), // rounds
        Argument::U32(0), // step
    ];
    let ptx = include_str!(concat!(env!("OUT_DIR"), "/bank-conflicts.ptx"));
    let ran = run(&Request::of_a_warp(ptx, &format!("read{bytes}"), arguments))?;
    let mut requests = ran.counts.requests.into_iter().filter(|request| !request.stores);
    let (access, wavefronts) = requests
        .find_map(|request| match request.traffic {
            Traffic::Shared(cost) => Some((request, cost.wavefronts)),
            Traffic::Global(_) => None,
        })
        .ok_or("the kernel did not read shared memory")?;
    let asked = state.number("wavefront")?;
    let wavefront = u64::from(asked).min(wavefronts);
    let words = Word::all(&access);
    let what = if is_column { "column" } else { "row" };
    let each = count(wavefronts, "wavefront");
    let said = match wavefront {
        0 => format!("A {what} of elements of {bytes} bytes: {each}."),
        one => {
            let of = words.iter().filter(|word| word.turn == one - 1);
            let mut lanes: Vec<usize> = of.map(|word| word.lane).collect();
            lanes.dedup();
            let lanes = count(lanes.len() as u64, "lane");
            let last = if u64::from(asked) > one { ", the last," } else { "" };
            format!(
                "A {what} of elements of {bytes} bytes: {each}. Number {one}{last} serves {lanes}."
            )
        }
    };
    let [padding, bytes] = [padding, bytes].map(|number| number.to_string());
    let case = match (is_column, is_xor) {
        (true, false) => {
            case([("case", "column"), ("padding", &padding), ("access_bytes", &bytes)])
        }
        (false, false) => case([("case", "row"), ("access_bytes", &bytes)]),
        (_, true) => vec![], // nobody has timed it
    };
    let draw = move |picture: &mut Picture| draw(picture, &words, wavefronts, wavefront);
    Ok(Drawn { said, draw: Box::new(draw), case: Some(case), limit: None })
}

/// A word that a lane wants, its bank, and the wavefront that gives it.
struct Word {
    lane: usize,
    bank: usize,
    turn: u64,
}

impl Word {
    fn all(access: &Access) -> Vec<Word> {
        let start = |lane: usize| (access.lanes >> lane & 1 == 1).then(|| access.addresses[lane]);
        let turns = served(start, access.bytes, false);
        let mut words = vec![];
        for lane in active(access.lanes) {
            let first = access.addresses[lane] / WORD_BYTES;
            let Some(turn) = turns[lane] else { continue };
            for word in first..first + access.bytes.div_ceil(WORD_BYTES) {
                words.push(Word { lane, bank: word as usize % BANKS, turn });
            }
        }
        words
    }
}

/// Lanes above, banks across, wavefronts down: a cell is a word that is given.
fn draw(picture: &mut Picture, words: &[Word], wavefronts: u64, chosen: u64) {
    let left = picture.pick(30.0, 22.0);
    let step = (picture.width - 1.0 - left) / BANKS as f64;
    let (lanes, grid, row) = (24.0, 96.0, 9.0);
    let column = |number: usize| left + number as f64 * step;
    let is_shown = |turn: u64| chosen == 0 || turn == chosen - 1;
    picture.text((left, 8.0), Anchor::Start, MUTED, "32 lanes of a warp");
    let taking: Vec<bool> = (0..WARP)
        .map(|lane| words.iter().any(|word| word.lane == lane && is_shown(word.turn)))
        .collect();
    for (lane, takes) in taking.iter().enumerate() {
        let fill = if *takes { 0.3 } else { 0.04 };
        picture.cell([column(lane), lanes, step, 22.0], COMPUTE, fill, true);
        if picture.pick(true, false) {
            let at = (column(lane) + step / 2.0, lanes + 11.0);
            picture.text(at, Anchor::Middle, INK, &lane.to_string());
        }
    }
    let shown = words.iter().filter(|word| is_shown(word.turn));
    let fan: Vec<[f64; 4]> = shown
        .map(|Word { lane, bank, .. }| {
            [column(*lane) + step / 2.0, lanes + 22.0, column(*bank) + step / 2.0, grid]
        })
        .collect();
    picture.lines(&fan, COMPUTE, 0.55);
    picture.cell([left, grid, picture.width - 1.0 - left, 32.0 * row], MUTED, 0.04, false);
    for Word { bank, turn, .. } in words {
        let fill = if is_shown(*turn) { 0.75 } else { 0.16 };
        let area = [column(*bank) + 0.5, grid + *turn as f64 * row + 0.5, step - 1.0, row - 1.0];
        picture.cell(area, MEMORY, fill, false);
    }
    for number in [1, 8, 16, 24, 32] {
        let at = (left - 5.0, grid + (f64::from(number) - 0.5) * row);
        picture.text(at, Anchor::End, MUTED, &number.to_string());
    }
    let below = grid + 32.0 * row + 12.0;
    for bank in [0, 8, 16, 24, 31] {
        let at = (column(bank) + step / 2.0, below);
        picture.text(at, Anchor::Middle, MUTED, &bank.to_string());
    }
    picture.text((left, below + 18.0), Anchor::Start, MUTED, "across: banks; down: wavefronts");
    picture.heading((left, below + 40.0), Anchor::Start, &count(wavefronts, "wavefront"));
    for turn in 0..wavefronts {
        let area = [left, grid + turn as f64 * row, picture.width - 1.0 - left, row];
        picture.target(area, &format!("wavefront={}", turn + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{count, said};

    const NAME: &str = "banks";

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for padding in 0..=32_u64 {
            let wavefronts = 1 << padding.trailing_zeros().min(5);
            let said = said(NAME, &[("padding", &padding.to_string())]);
            let told = format!(": {}.", count(wavefronts, "wavefront"));
            assert!(said.ends_with(&told), "padding {padding}: {said}");
        }
        assert!(said(NAME, &[("stored", "xor")]).ends_with(": 1 wavefront."));
        for (bytes, wavefronts) in [("4", ": 1 "), ("8", ": 2 "), ("16", ": 4 ")] {
            let said = said(NAME, &[("read", "row"), ("bytes", bytes)]);
            assert!(said.contains(wavefronts), "{said}");
        }
        let of_one = said(NAME, &[("bytes", "16"), ("read", "row"), ("wavefront", "3")]);
        assert!(of_one.ends_with("4 wavefronts. Number 3 serves 8 lanes."), "{of_one}");
    }
}
