//! An all-reduce in a ring, step by step: whose figures each GPU has of which chunk.

use std::error::Error;

use emulator::{Arguments, Launch, Memory, Module, Options, WARP, Watch};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Drawn, Explorer, Knob, State, Values, active, count};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "ring",
    title: "Chunks of vectors that go round a ring of GPUs",
    task: "Go through the steps. After how many are the first chunks complete, and after how many \
        has each GPU all of them? How much has each sent by then, measured in vectors? Then try \
        more GPUs: does that grow with their number?",
    finding: "With n GPUs each has one complete chunk after n − 1 steps, and all of them after \
        2 (n − 1). A GPU sends one chunk in each step, which is 1 / n of its \
        vector: 2 (n − 1) / n vectors in all. That is 1 with two GPUs, 1.5 with four, 1.75 with \
        eight, and never 2, however many there are.",
    knobs: &[
        Knob { name: "gpus", label: "GPUs", first: "4", values: Values::Range(2, MOST) },
        Knob {
            name: "step",
            label: "steps done",
            first: "1",
            values: Values::Range(0, 2 * MOST - 2),
        },
    ],
    show,
};

const MOST: u32 = 8;
/// Elements of a piece: what one thread passes on.
const PIECE: u64 = 4;
const PIECE_BYTES: u64 = 4 * PIECE;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let gpus = state.number("gpus")?;
    let steps = 2 * (gpus - 1);
    let done = state.number("step")?.min(steps);
    let ring = Ring::run(gpus, done).map_err(|error| error.to_string())?;
    let complete = ring.held.iter().filter(|held| held.count_ones() == gpus).count();
    let said = format!(
        "{gpus} GPUs after {done} of {steps} steps: each has sent {}, {:.3} of its vector. \
         {complete} of {} chunks are complete.",
        count(ring.sent / PIECE_BYTES, "chunk"),
        (ring.sent / PIECE_BYTES) as f64 / f64::from(gpus),
        ring.held.len(),
    );
    let draw = move |picture: &mut Picture| draw(picture, &ring, done);
    Ok(Drawn { said, draw: Box::new(draw), case: None, limit: Some(("step", steps)) })
}

/// What is where after some steps.
struct Ring {
    gpus: usize,
    /// Of each GPU and piece whose figures it has, one bit for each: what has arrived, and its own,
    /// which it adds when it passes the piece on.
    held: Vec<u32>,
    /// Bytes that a GPU has sent.
    sent: u64,
    /// The piece that each GPU sent in the last step.
    last: Vec<u64>,
}

impl Ring {
    /// Runs `ring_step` for each step and each GPU, whose figures are all 2 to the power of its
    /// number: so a sum tells whose are in it.
    fn run(gpus: u32, steps: u32) -> Result<Ring, Box<dyn Error>> {
        let (mut memory, bytes) = (Memory::new(1 << 20), u64::from(gpus) * PIECE_BYTES);
        let mut module = Module::parse(include_str!(concat!(env!("OUT_DIR"), "/all-reduce.ptx")))?;
        module.place(&mut memory)?;
        let mut buffers = |name| -> Result<Vec<u64>, Box<dyn Error>> {
            let buffer = |gpu| memory.allocate(bytes, &format!("{name} {gpu}"));
            Ok((0..gpus).map(buffer).collect::<Result<_, _>>()?)
        };
        let (inputs, outputs) = (buffers("input")?, buffers("output")?);
        for (gpu, input) in inputs.iter().enumerate() {
            let figure = ((1 << gpu) as f32).to_le_bytes();
            memory.fill(*input, &figure, bytes / 4)?;
        }
        let mut sent = vec![0; inputs.len()];
        let mut last = vec![];
        let watch = Some(Watch { block: [0; 3], warp: 0 });
        let options = Options { watch, ..Options::default() };
        for step in 0..steps {
            last.clear();
            for rank in 0..gpus {
                let gpu = rank as usize;
                let next = outputs[(gpu + 1) % outputs.len()];
                let arguments = Arguments::new()
                    .with(inputs[gpu].to_le_bytes())
                    .with(outputs[gpu].to_le_bytes())
                    .with(next.to_le_bytes())
                    .with((bytes / 4).to_le_bytes());
                let arguments = [rank, gpus, step]
                    .iter()
                    .fold(arguments, |arguments, number| arguments.with(number.to_le_bytes()));
                let launch = Launch::new([1; 3], [WARP as u32, 1, 1], arguments.bytes());
                let counts = emulator::run(&module, "ring_step", &launch, &mut memory, &options)?;
                for request in counts.requests.iter().filter(|request| request.stores) {
                    for address in active(request.lanes).map(|lane| request.addresses[lane]) {
                        if (next..next + bytes).contains(&address) {
                            sent[gpu] += request.bytes;
                            last.push((address - next) / PIECE_BYTES);
                        }
                    }
                }
            }
        }
        let mut held = vec![];
        for (input, output) in inputs.iter().zip(&outputs) {
            for piece in 0..u64::from(gpus) {
                let at = output + piece * PIECE_BYTES;
                let arrived = memory.first_unwritten(at, 4)?.is_none();
                let figure = |at| -> Result<u32, Box<dyn Error>> {
                    let mut figure = [0; 4];
                    memory.read(at, &mut figure)?;
                    Ok(f32::from_le_bytes(figure) as u32)
                };
                held.push(figure(*input)? | if arrived { figure(at)? } else { 0 });
            }
        }
        let sent = sent.into_iter().max().unwrap_or(0);
        Ok(Ring { gpus: gpus as usize, held, sent, last })
    }
}

/// A column for each GPU and a row for each piece: whose figures are in it.
fn draw(picture: &mut Picture, ring: &Ring, done: u32) {
    let gpus = ring.gpus;
    let column = picture.width / gpus as f64;
    let gap = picture.pick(14.0, 8.0);
    let (top, row, height) = (24.0, 26.0, 18.0);
    let wide = column - gap;
    let corner =
        |gpu: usize, piece: usize| (gpu as f64 * column + gap / 2.0, top + piece as f64 * row);
    for gpu in 0..gpus {
        let middle = (gpu as f64 + 0.5) * column;
        picture.heading((middle, 8.0), Anchor::Middle, &format!("GPU {gpu}"));
        for piece in 0..gpus {
            let (x, y) = corner(gpu, piece);
            let held = ring.held[gpu * gpus + piece];
            let pen = if held.count_ones() as usize == gpus { MEMORY } else { COMPUTE };
            let part = wide / gpus as f64;
            for whose in (0..gpus).filter(|whose| held >> whose & 1 == 1) {
                let area = [x + whose as f64 * part, y, part, height];
                picture.cell(area, pen, 0.6, false);
            }
            picture.cell([x, y, wide, height], MUTED, 0.0, true);
        }
    }
    let mut arrows = vec![];
    for (gpu, piece) in ring.last.iter().enumerate() {
        let (x, y) = corner(gpu, *piece as usize);
        let (from, y) = (x + wide, y + height / 2.0);
        let to = (x + column).min(picture.width - 1.0);
        arrows.extend([[from, y, to, y], [to, y, to - 4.0, y - 4.0], [to, y, to - 4.0, y + 4.0]]);
        let (x, y) = corner((gpu + 1) % gpus, *piece as usize);
        picture.cell([x - 2.0, y - 2.0, wide + 4.0, height + 4.0], INK, 0.0, true);
    }
    picture.lines(&arrows, INK, 1.0);
    // As high as for the most GPUs, so that nothing below it moves.
    let below = top + f64::from(MOST) * row + 10.0;
    let text = picture.pick(
        "a row is a chunk, shaded for each GPU whose figures are in it",
        "a row is a chunk, shaded by whose figures it has",
    );
    picture.text((1.0, below), Anchor::Start, MUTED, text);
    let legend = below + 20.0;
    let middle = |entry: usize| picture.pick([1.0, 180.0, 330.0], [1.0, 122.0, 226.0])[entry];
    let [sent, arrived, complete] = [0, 1, 2].map(middle);
    let to = sent + 14.0;
    let arrow = [[sent, legend, to, legend], [to, legend, to - 4.0, legend - 4.0]];
    picture.lines(&[arrow[0], arrow[1], [to, legend, to - 4.0, legend + 4.0]], INK, 1.0);
    picture.cell([arrived, legend - 6.0, 14.0, 12.0], INK, 0.0, true);
    picture.cell([arrived + 2.0, legend - 4.0, 10.0, 8.0], MUTED, 0.0, true);
    picture.cell([complete, legend - 5.0, 10.0, 10.0], MEMORY, 0.6, true);
    let entries = picture.pick(
        [(sent, "sent in the last step"), (arrived, "arrived in it"), (complete, "complete")],
        [(sent, "sent just now"), (arrived, "arrived"), (complete, "complete")],
    );
    for (x, text) in entries {
        picture.text((x + 19.0, legend), Anchor::Start, INK, text);
    }
    let below = legend;
    let steps = 2 * (gpus as u32 - 1);
    let width = (picture.width - 2.0) / f64::from(steps + 1);
    for step in 0..=steps {
        let area = [1.0 + f64::from(step) * width, below + 14.0, width, 22.0];
        picture.cell(area, INK, if step == done { 0.25 } else { 0.02 }, true);
        let middle = (area[0] + width / 2.0, below + 25.0);
        picture.text(middle, Anchor::Middle, INK, &step.to_string());
        picture.target(area, &format!("step={step}"));
    }
}

#[cfg(test)]
mod tests {
    fn said(gpus: u32, step: u32) -> String {
        let [gpus, step] = [gpus, step].map(|number| number.to_string());
        super::super::said("ring", &[("gpus", &gpus), ("step", &step)])
    }

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for gpus in 2..=8u32 {
            let all = gpus * gpus;
            for steps in 0..=2 * (gpus - 1) {
                let complete = gpus * (steps + 2).saturating_sub(gpus);
                let told = format!(" {complete} of {all} chunks are complete.");
                assert!(said(gpus, steps).ends_with(&told), "{gpus} {steps}");
            }
            let end = said(gpus, 2 * (gpus - 1));
            let vectors = 2.0 * f64::from(gpus - 1) / f64::from(gpus);
            let told = format!(
                "each has sent {} chunks, {vectors:.3} of its vector. {all} of {all} chunks are \
                 complete.",
                2 * (gpus - 1)
            );
            assert!(end.ends_with(&told), "{end}");
        }
    }
}
