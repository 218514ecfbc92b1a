//! Threads that go one way or another in groups, and what their warps run for it.

use emulator::{Step, WARP, Watch};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Drawn, Explorer, Knob, State, Values, count, run};
use crate::launch::{Argument, Content, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "warps",
    title: "Which way each lane goes, and what its warp runs",
    task: "At which sizes of groups do all eight warps go both ways, and at which does none? Then \
        step through the instructions of a warp that goes both ways. What do its other lanes do?",
    finding: "All eight below 32, since there is a border inside every warp then. None at 32 and 64 \
        only, where every border of groups is one of warps as well. A warp that goes both ways \
        runs 831 instructions instead of 425, one side after the other, and the lanes of the \
        other side are idle meanwhile.",
    knobs: &[
        Knob {
            name: "group",
            label: "threads of a group",
            first: "16",
            values: Values::Range(1, 64),
        },
        Knob {
            name: "warp",
            label: "warp",
            first: "1",
            values: Values::Range(0, WARPS as u32 - 1),
        },
        Knob {
            name: "step",
            label: "its instruction (0: none yet)",
            first: "0",
            values: Values::Range(0, MOST_STEPS),
        },
    ],
    show,
};

/// Warps of the one block.
const WARPS: usize = 8;
/// How often each side repeats its line, as in the experiment.
const ROUNDS: u32 = 100;
/// Instructions of a warp that goes both ways.
const MOST_STEPS: u32 = 831;
/// The kernel: its lines are what a warp is at.
const SOURCE: &str = include_str!("../../../../kernels/warps.cu");

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let group = state.number("group")?;
    let chosen = state.number("warp")? as usize;
    let request = |warp| Request {
        ptx: include_str!(concat!(env!("OUT_DIR"), "/warps.ptx")),
        kernel: "sides",
        grid: [1; 3],
        block: [(WARPS * WARP) as u32, 1, 1],
        arguments: vec![
            Argument::Buffer("out", 4 * (WARPS * WARP) as u64, Content::Unwritten),
            Argument::U32(group),
            Argument::U32(ROUNDS),
        ],
        watch: Some(Watch { block: [0; 3], warp }),
    };
    let ran = (0..WARPS).map(|warp| run(&request(warp))).collect::<Result<Vec<_>, _>>()?;
    let total = ran[0].counts.total();
    let warps: Vec<Vec<Step>> = ran.into_iter().map(|ran| ran.counts.steps).collect();
    let (split, each) = (total.divergent_branches, total.instructions / WARPS as u64);
    let went = if split == 1 { "goes" } else { "go" };
    let mut said = format!(
        "In groups of {group}, {split} of {WARPS} warps {went} both ways: {each} instructions for \
         each warp on average."
    );
    let steps = &warps[chosen];
    let step = (state.number("step")? as usize).min(steps.len());
    let limit = Some(("step", steps.len() as u32));
    if let Some(Step { line, lanes }) = step.checked_sub(1).map(|at| &steps[at]) {
        let lanes = count(u64::from(lanes.count_ones()), "lane");
        let code = SOURCE.lines().nth((*line as usize).wrapping_sub(1)).unwrap_or("the if");
        let code = code.trim().trim_end_matches([';', '{', ' ']);
        said += &format!(" Instruction {step} of warp {chosen}, run by {lanes}: `{code}`");
    }
    let rows: Vec<Row> = warps.iter().map(|steps| Row::of(steps, step)).collect();
    let drawn = move |picture: &mut Picture| draw(picture, &rows, chosen, step);
    Ok(Drawn { said, draw: Box::new(drawn), case: None, limit })
}

/// What is drawn of a warp.
struct Row {
    /// The lanes that go to the first side.
    first: u32,
    /// Those that are at the chosen instruction, if there is one.
    at: Option<u32>,
    /// Instructions of one side after the other: its pen, and how many.
    parts: Vec<(&'static str, usize)>,
}

impl Row {
    fn of(steps: &[Step], step: usize) -> Row {
        let place = |words: &str| SOURCE.lines().position(|text| text.contains(words));
        let line = |words: &str| place(words).map_or(0, |place| place as u32 + 1);
        let [begin, middle, end] = ["if (", "} else {", "out[i] ="].map(line);
        let side = |line: u32| match line {
            _ if line <= begin || line >= end => MUTED,
            _ if line <= middle => COMPUTE,
            _ => MEMORY,
        };
        let (mut first, mut parts, own) = (0, vec![], line("3 * x"));
        for Step { line, lanes } in steps {
            first |= if *line == own { *lanes } else { 0 };
            match parts.last_mut() {
                Some((pen, count)) if *pen == side(*line) => *count += 1,
                _ => parts.push((side(*line), 1)),
            }
        }
        let at = step.checked_sub(1).map(|at| steps.get(at).map_or(0, |step| step.lanes));
        Row { first, at, parts }
    }
}

/// A row for each warp: its lanes, and what it runs from left to right.
fn draw(picture: &mut Picture, rows: &[Row], chosen: usize, step: usize) {
    let (left, gap) = (16.0, 14.0);
    let cell = picture.pick(6.5, (picture.width - 1.0 - left) / WARP as f64);
    let start = picture.pick(left + 32.0 * cell + gap, left);
    let scale = (picture.width - 1.0 - start) / f64::from(MOST_STEPS);
    let (top, row) = picture.pick((24.0, 26.0), (24.0, 38.0));
    picture.text((left, 8.0), Anchor::Start, MUTED, "lanes");
    let (x, anchor) = picture.pick((start, Anchor::Start), (picture.width - 1.0, Anchor::End));
    picture.text((x, 8.0), anchor, MUTED, "instructions, one after the other");
    for (warp, Row { first, at, parts }) in rows.iter().enumerate() {
        let y = top + warp as f64 * row;
        let pen = if warp == chosen { INK } else { MUTED };
        picture.text((0.0, y + 9.0), Anchor::Start, pen, &warp.to_string());
        for lane in 0..WARP {
            let pen = if first >> lane & 1 == 1 { COMPUTE } else { MEMORY };
            let fill = match at {
                None => 0.4,
                Some(lanes) if lanes >> lane & 1 == 1 => 0.85,
                Some(_) => 0.06,
            };
            picture.cell([left + lane as f64 * cell, y, cell, 18.0], pen, fill, true);
        }
        picture.target([0.0, y, picture.width, row], &format!("warp={warp}"));
        let (y, height) = picture.pick((y, 18.0), (y + 21.0, 8.0));
        let mut x = start;
        for (pen, count) in parts {
            let width = *count as f64 * scale;
            picture.cell([x, y, width, height], pen, 0.6, false);
            x += width;
        }
        if step > 0 {
            let x = start + step as f64 * scale;
            picture.lines(&[[x, y - 3.0, x, y + height + 3.0]], INK, 1.0);
        }
        // The bar of the chosen warp leads to its instructions.
        let ran: usize = parts.iter().map(|(_, count)| count).sum();
        for place in (0..40).filter(|_| warp == chosen) {
            let first = MOST_STEPS as usize * place / 40 + 1;
            let width = f64::from(MOST_STEPS) / 40.0 * scale;
            if first <= ran {
                let area = [start + place as f64 * width, y, width, height];
                picture.target(area, &format!("step={first}"));
            }
        }
    }
    let below = top + rows.len() as f64 * row + 10.0;
    for (x, pen, text) in [(left, COMPUTE, "3 * x + 1"), (left + 100.0, MEMORY, "5 * x + 2")] {
        picture.cell([x, below - 5.0, 10.0, 10.0], pen, 0.6, true);
        picture.text((x + 15.0, below), Anchor::Start, INK, text);
    }
    let (x, y) = picture.pick((left + 200.0, below), (left, below + 18.0));
    if step > 0 {
        picture.text((x, y), Anchor::Start, MUTED, "only outlined: lanes idle at this instruction");
    }
    picture.reach(y + 7.0);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Request, said, show};

    const NAME: &str = "warps";

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for group in [1, 8, 16, 31, 32, 33, 48, 63, 64] {
            let said = said(NAME, &[("group", &group.to_string())]);
            let is_whole = said.contains(" 0 of 8 warps go both ways: 425 instructions");
            assert_eq!(is_whole, group % 32 == 0, "{said}");
            assert_eq!(said.contains(" 8 of 8 warps"), group < 32, "{said}");
        }
        assert!(said(NAME, &[("group", "40")]).contains(" 5 of 8 warps go both ways"));
        let forty = |step: u32| said(NAME, &[("group", "40"), ("step", &step.to_string())]);
        // A round is four instructions, one of which is the line itself.
        for (steps, told) in [
            (300..304, "of warp 1, run by 8 lanes: `x = 3 * x + 1`"),
            (700..704, "of warp 1, run by 24 lanes: `x = 5 * x + 2`"),
        ] {
            let said = steps.map(forty);
            assert_eq!(said.filter(|said| said.ends_with(told)).count(), 1, "{told}");
        }
        // The slider ends where the warp does.
        let state = BTreeMap::from([("group".into(), "64".into()), ("step".into(), "831".into())]);
        let request = Request { name: NAME.into(), state, ..Request::default() };
        let whole = show(&request).unwrap();
        assert_eq!(whole.limit, Some(("step", 425)));
        assert!(whole.said.contains(" Instruction 425 of warp 1, "), "{}", whole.said);
    }
}
