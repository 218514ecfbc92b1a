//! What a multiprocessor is made of, with what it does in a cycle.

use super::canvas::{Anchor, COMPUTE, Canvas, DRIVER, MEMORY, Pen, area};

pub(super) fn multiprocessor(c: &mut Canvas) {
    let facts = c.facts;
    const HEIGHT: f64 = 30.0;
    const STEP: f64 = 36.0;
    let left = c.pick(168.0, 128.0);
    let gap = c.pick(10.0, 5.0);
    let width = (c.width - left - 1.0 - 3.0 * gap) / 4.0;
    let rows = [
        ("scheduler", DRIVER, ""),
        ("registers", MEMORY, ""),
        ("FP32", COMPUTE, "fp32"),
        ("INT32", COMPUTE, ""),
        ("FP64", COMPUTE, "fp64"),
        ("tensor core", COMPUTE, "tensor"),
    ];
    let top = |row: usize| 1.0 + row as f64 * STEP;
    for (row, (name, pen, rate)) in rows.into_iter().enumerate() {
        let text = facts.with(name, ": ", rate);
        let middle = top(row) + HEIGHT / 2.0;
        c.text((1.0, middle), Anchor::Start, Pen::INK, &text);
        for column in 0..4 {
            let x = left + f64::from(column) * (width + gap);
            c.frame(area(x, top(row), width, HEIGHT), pen);
        }
    }
    let memory = area(left, top(rows.len()), c.width - left - 1.0, HEIGHT);
    c.thing(memory, MEMORY, "L1 cache and shared memory");
}
