//! What a multiprocessor is made of, with what it does in a cycle.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DRIVER, MEMORY, Pen, area};
use super::facts::{Facts, Of};

pub(super) const MULTIPROCESSOR: Drawing = Drawing {
    name: "multiprocessor",
    title: "A multiprocessor is four schedulers, each with units of its own, over one memory",
    description: "A multiprocessor in four equal columns. Each has, from the top down, a warp \
        scheduler, registers, and units for single precision (FP32), integers (INT32) and double \
        precision (FP64), and a tensor core. Below all four lies one memory: L1 cache and shared \
        memory. Beside some units stands how many operations all four do together in a cycle, as \
        far as it was measured.",
    caption: "A multiprocessor. In a cycle, each of its four schedulers starts one instruction \
        of one warp, if a warp is ready and the unit is free. Numbers are operations that all \
        four do together in a cycle, as measured; a multiply-add is one.",
    of: Of::AMachine,
    draw: multiprocessor,
};

fn multiprocessor(c: &mut Canvas, facts: &Facts) {
    const HEIGHT: f64 = 30.0;
    const STEP: f64 = 36.0;
    let left = c.pick(168.0, 128.0);
    let gap = c.pick(10.0, 5.0);
    let width = (c.width - left - 1.0 - 3.0 * gap) / 4.0;
    let rows = [
        ("scheduler", DRIVER, None),
        ("registers", MEMORY, None),
        ("FP32", COMPUTE, facts.fp32.as_ref()),
        ("INT32", COMPUTE, None),
        ("FP64", COMPUTE, facts.fp64.as_ref()),
        ("tensor core", COMPUTE, facts.tensor.as_ref()),
    ];
    let top = |row: usize| 1.0 + row as f64 * STEP;
    for (row, (name, pen, rate)) in rows.into_iter().enumerate() {
        let text = match rate {
            Some(rate) => format!("{name}: {rate}"),
            None => name.to_owned(),
        };
        let middle = top(row) + HEIGHT / 2.0;
        c.text((1.0, middle), Anchor::Start, Pen::INK, &text);
        for column in 0..4 {
            let x = left + f64::from(column) * (width + gap);
            c.frame(area(x, top(row), width, HEIGHT), pen);
        }
    }
    let memory = area(left, top(rows.len()), c.width - left - 1.0, HEIGHT);
    c.frame(memory, MEMORY);
    c.label(memory, "L1 cache and shared memory");
}
