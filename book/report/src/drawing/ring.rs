//! An all-reduce over a ring, step by step.

use super::canvas::{Anchor, COMPUTE, Canvas, MEMORY, Pen, area};

const GPUS: usize = 4;

/// The ring after a step.
pub(super) struct Step {
    /// How many inputs are in each chunk of each GPU.
    pub(super) inputs: [[usize; GPUS]; GPUS],
    /// Which chunk each GPU has just got.
    got: Option<[usize; GPUS]>,
}

/// The start, and what each step makes of it.
pub(super) fn steps() -> Vec<Step> {
    let mut inputs = [[1; GPUS]; GPUS];
    let mut steps = vec![Step { inputs, got: None }];
    for step in 0..2 * (GPUS - 1) {
        let mut got = [0; GPUS];
        for (gpu, chunks) in { inputs }.iter().enumerate() {
            // Each sends what it got in the step before.
            let chunk = (gpu + 2 * GPUS - step) % GPUS;
            let to = (gpu + 1) % GPUS;
            match step < GPUS - 1 {
                true => inputs[to][chunk] += chunks[chunk],
                false => inputs[to][chunk] = chunks[chunk],
            }
            got[to] = chunk;
        }
        steps.push(Step { inputs, got: Some(got) });
    }
    steps
}

pub(super) fn ring(c: &mut Canvas) {
    let cell = 18.0;
    let side = cell * GPUS as f64;
    let in_a_row = c.pick(7, 4);
    let gap = (c.width - 2.0 - side * in_a_row as f64) / (in_a_row - 1) as f64;
    for (n, Step { inputs, got }) in steps().into_iter().enumerate() {
        let left = 1.0 + (n % in_a_row) as f64 * (side + gap);
        let top = (n / in_a_row) as f64 * (side + 62.0);
        let name = match n {
            0 => "Start".to_owned(),
            n => format!("Step {n}"),
        };
        c.heading((left, top + 10.0), Anchor::Start, &name);
        for (gpu, chunks) in inputs.iter().enumerate() {
            let x = left + gpu as f64 * cell;
            for (chunk, inputs) in chunks.iter().enumerate() {
                let place = area(x, top + 22.0 + chunk as f64 * cell, cell, cell);
                c.fill(place.inside(0.5), MEMORY, 0.11 * *inputs as f64 - 0.05);
                if got.is_some_and(|got| got[gpu] == chunk) {
                    c.outline(place.inside(0.5), COMPUTE);
                }
                c.label(place, &inputs.to_string());
            }
        }
        let what = match n {
            0 => "",
            1..GPUS => "add",
            _ => "pass on",
        };
        c.text((left, top + side + 34.0), Anchor::Start, Pen::MUTED, what);
    }
}
