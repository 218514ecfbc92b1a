//! Batches that take turns in two halves of a buffer, with a wait too few.

use ledger::{Kind, Operation, Range, unordered};
use streams::queue;

use super::picture::{Anchor, BAD, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::program::{Program, operation};
use super::{Drawn, Explorer, Knob, State, Values};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "waits",
    title: "Uploads in one stream and kernels in another, and what the GPU makes of them",
    task: "Batches take turns in two halves of a buffer. Take one wait away, and try schedules: in \
        how many is the result still right? Which batch goes wrong, and why that one?",
    finding: "Streams may overtake each other, but need not: with a wait missing, many schedules are \
        right, and so are many test runs. If the kernel of batch 7 does not wait for its upload, \
        it may read batch 5, which was there before. If the upload of batch 7 does not wait, it \
        may overwrite batch 5 before its kernel has read it: the batch that goes wrong is not the \
        one whose wait is missing. The uploads of batches 1 and 2 have nothing to wait for. Which \
        calls wait for each other is the same in every schedule, so the pair is named also where \
        the result is right.",
    knobs: &[
        Knob {
            name: "without",
            label: "without the wait of",
            first: "none",
            values: Values::Choice(&[
                ("none", "none: all wait"),
                ("kernel", "a kernel for its upload"),
                ("upload", "an upload for its half"),
            ]),
        },
        Knob { name: "batch", label: "of batch", first: "7", values: Values::Range(1, BATCHES) },
        Knob {
            name: "schedule",
            label: "schedule",
            first: "1",
            values: Values::Range(1, SCHEDULES),
        },
    ],
    show,
};

const BATCHES: u32 = 8;
const SCHEDULES: u32 = 32;
/// Bytes of a half.
const HALF: u64 = 1 << 20;

/// What a piece of work does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Nothing: an event is recorded or waited for.
    Nothing,
    /// The batch comes into its half.
    Upload(u32),
    /// The batch is added up: whatever is in its half.
    Add(u32),
}

/// A schedule of the program.
struct Ran {
    /// Uploads and kernels, in the order in which they were done.
    order: Vec<Does>,
    /// Batches whose kernels found another one in their half, and which.
    wrong: Vec<(u32, Option<u32>)>,
    /// The first pair that nothing orders.
    unordered: Option<String>,
}

impl Ran {
    fn run(seed: u32, without: &str, of: u32) -> Ran {
        let mut program = Program::new(Some(seed.into()));
        let [copies, compute] = [(); 2].map(|()| program.stream(queue::Kind::NonBlocking));
        let mut free = [None; 2];
        for batch in 1..=BATCHES {
            let half = batch as usize % 2;
            let range = Range {
                address: half as u64 * HALF,
                bytes: HALF,
                name: format!("half {half}"),
                offset: 0,
            };
            let waits = |who: &str| batch != of || without != who;
            if let Some(free) = free[half].filter(|_| waits("upload")) {
                program.call(copies, operation(Kind::Wait, 0), Does::Nothing, &[free]);
            }
            let mut upload = operation(Kind::Upload, HALF);
            upload.written = vec![range.clone()];
            program.call(copies, upload, Does::Upload(batch), &[]);
            let arrived = program.call(copies, operation(Kind::Record, 0), Does::Nothing, &[]);
            if waits("kernel") {
                program.call(compute, operation(Kind::Wait, 0), Does::Nothing, &[arrived]);
            }
            let mut add = operation(Kind::Kernel(format!("add batch {batch}")), 0);
            add.read = vec![range];
            program.call(compute, add, Does::Add(batch), &[]);
            free[half] =
                Some(program.call(compute, operation(Kind::Record, 0), Does::Nothing, &[]));
        }
        let (ledger, mut order) = program.end();
        order.retain(|does| *does != Does::Nothing);
        let (mut halves, mut wrong) = ([None; 2], vec![]);
        for does in &order {
            match *does {
                Does::Upload(batch) => halves[batch as usize % 2] = Some(batch),
                Does::Add(batch) if halves[batch as usize % 2] != Some(batch) => {
                    wrong.push((batch, halves[batch as usize % 2]));
                }
                _ => {}
            }
        }
        let unordered = unordered(&ledger).into_iter().next().map(|pair| {
            // Each batch has one of each, in order.
            let named = |operation: &Operation| {
                let is_upload = operation.kind == Kind::Upload;
                let same = |other: &&Operation| match is_upload {
                    true => other.kind == Kind::Upload,
                    false => matches!(other.kind, Kind::Kernel(_)),
                };
                let until = ledger.operations.iter().filter(|o| o.number <= operation.number);
                let batch = until.filter(same).count();
                format!("the {} of batch {batch}", if is_upload { "upload" } else { "kernel" })
            };
            let [first, second] = [&pair.first, &pair.second].map(named);
            format!("nothing makes {second} wait for {first}")
        });
        Ran { order, wrong, unordered }
    }
}

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let (without, of, seed) =
        (state.text("without")?, state.number("batch")?, state.number("schedule")?);
    let all: Vec<Ran> = (1..=SCHEDULES).map(|seed| Ran::run(seed, without, of)).collect();
    let ran = &all[seed as usize - 1];
    let result = match ran.wrong.first() {
        None => "all batches are right".to_owned(),
        Some((batch, None)) => {
            format!("the kernel of batch {batch} read memory that was never written")
        }
        Some((batch, Some(found))) => format!("the kernel of batch {batch} read batch {found}"),
    };
    let unordered = match &ran.unordered {
        None => "Whenever two calls use the same half, the second waits for the first",
        Some(pair) => &format!("In every schedule, {pair}"),
    };
    let right: Vec<bool> = all.iter().map(|ran| ran.wrong.is_empty()).collect();
    let said = format!("Schedule {seed}: {result}. {unordered}. {}", counted(&right));
    let (order, wrong) = (ran.order.clone(), ran.wrong.clone());
    let draw = move |picture: &mut Picture| draw(picture, &order, &wrong, &right, seed);
    Ok(Drawn { said, draw: Box::new(draw), case: None, limit: None })
}

/// How many schedules are right, and which are not.
fn counted(right: &[bool]) -> String {
    let wrong: Vec<String> =
        (1..).zip(right).filter(|(_, right)| !**right).map(|(of, _)| of.to_string()).collect();
    let count = right.len() - wrong.len();
    let but = match &wrong[..] {
        [] => String::new(),
        wrong => format!(", all but {}", wrong.join(", ")),
    };
    format!("{count} of {} schedules are right{but}.", right.len())
}

/// Both streams in the order in which things happen, and a box for each schedule.
fn draw(
    picture: &mut Picture,
    order: &[Does],
    wrong: &[(u32, Option<u32>)],
    right: &[bool],
    seed: u32,
) {
    let left = picture.pick(70.0, 58.0);
    let width = (picture.width - 2.0 - left) / order.len() as f64;
    for (row, name) in ["uploads", "kernels"].iter().enumerate() {
        let y = 1.0 + row as f64 * 34.0;
        picture.text((1.0, y + 13.0), Anchor::Start, INK, name);
        picture.cell([left, y, picture.width - 2.0 - left, 26.0], MUTED, 0.05, false);
    }
    for (place, does) in order.iter().enumerate() {
        let (batch, y, pen) = match does {
            Does::Upload(batch) => (*batch, 1.0, MEMORY),
            Does::Add(batch) => (*batch, 35.0, COMPUTE),
            Does::Nothing => continue,
        };
        let is_wrong = y > 1.0 && wrong.iter().any(|(wrong, _)| *wrong == batch);
        let x = left + place as f64 * width;
        let pen = if is_wrong { BAD } else { pen };
        let fill = if is_wrong { 0.25 } else { 0.15 + 0.3 * f64::from(batch % 2) };
        picture.cell([x + 0.5, y, width - 1.0, 26.0], pen, fill, true);
        picture.text((x + width / 2.0, y + 13.0), Anchor::Middle, INK, &batch.to_string());
    }
    let count = right.iter().filter(|right| **right).count();
    let text = format!("{count} of {} schedules are right", right.len());
    picture.heading((1.0, 84.0), Anchor::Start, &text);
    let across = picture.pick(32, 16);
    let cell = (picture.width - 2.0) / f64::from(across);
    for (number, right) in (0..).zip(right) {
        let (column, row) = (number % across, number / across);
        let area = [1.0 + f64::from(column) * cell, 98.0 + f64::from(row) * 26.0, cell - 2.0, 22.0];
        let is_chosen = number + 1 == seed;
        let pen = if *right { MUTED } else { BAD };
        picture.cell(area, pen, if is_chosen { 0.45 } else { 0.1 }, true);
        let middle = (area[0] + area[2] / 2.0, area[1] + 11.0);
        picture.text(middle, Anchor::Middle, INK, if *right { "" } else { "×" });
        picture.target(area, &format!("schedule={}", number + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::{Ran, SCHEDULES};

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for (without, broken, found) in [("kernel", 7, 5), ("upload", 5, 7)] {
            let all: Vec<Ran> = (1..=SCHEDULES).map(|seed| Ran::run(seed, without, 7)).collect();
            let wrong: Vec<_> = all.iter().flat_map(|ran| &ran.wrong).collect();
            assert!(!wrong.is_empty() && wrong.len() < all.len(), "{without}: {}", wrong.len());
            assert!(wrong.iter().all(|wrong| **wrong == (broken, Some(found))), "{without}");
            assert!(all.iter().all(|ran| ran.unordered == all[0].unordered), "{without}");
            let pair = all[0].unordered.as_deref().unwrap_or_default();
            let told = match without {
                "kernel" => "nothing makes the kernel of batch 7 wait for the upload of batch 7",
                _ => "nothing makes the upload of batch 7 wait for the kernel of batch 5",
            };
            assert_eq!(pair, told);
        }
        let all = (1..=SCHEDULES).map(|seed| Ran::run(seed, "none", 7));
        assert!(all.into_iter().all(|ran| ran.wrong.is_empty() && ran.unordered.is_none()));
        let without = said("waits", &[("without", "upload")]);
        assert!(without.ends_with(" 30 of 32 schedules are right, all but 4, 32."), "{without}");
        let said = said("waits", &[]);
        assert!(
            said.starts_with("Schedule 1: all batches are right. Whenever two calls"),
            "{said}"
        );
        assert!(said.ends_with(" 32 of 32 schedules are right."), "{said}");
    }
}
