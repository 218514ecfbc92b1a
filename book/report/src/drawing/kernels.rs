//! Kernels that follow each other.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, MEMORY, Pen, area};
use super::facts::{Facts, Of};

pub(super) const FUSION: Drawing = Drawing {
    name: "fusion",
    title: "Four kernels move eight arrays; one that does the same moves two",
    description: "Above, four kernels stand over five arrays in memory. An arrow leads from an \
        array up to each kernel, and one from each kernel down to the next array: four reads and \
        four writes. Below, one wide kernel with the same four steps stands over two arrays, the \
        input and the output: one read and one write.",
    caption: "Four steps as four kernels, and as one. Every arrow is an array that moves. What lies \
        between the steps of the fused kernel stays in registers.",
    of: Of::Nobody,
    draw: fusion,
};

const STEPS: usize = 4;
const HEIGHT: f64 = 30.0;

fn fusion(c: &mut Canvas, _: &Facts) {
    let arrays = ["in", "a", "b", "a", "out"];
    // Arrays and steps take turns from left to right.
    let pitch = c.width / (2 * STEPS + 1) as f64;
    let kinds = [("Separate", "4 reads, 4 writes", 1), ("Fused", "1 read, 1 write", STEPS)];
    for (n, (name, moves, fused)) in kinds.into_iter().enumerate() {
        let top = n as f64 * 164.0;
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        c.text((c.width - 1.0, top + 10.0), Anchor::End, Pen::INK, moves);
        let (upper, lower) = (top + 26.0, top + 106.0);
        let place = |slot: usize, y: f64, slots: usize| {
            area(slot as f64 * pitch, y, slots as f64 * pitch, HEIGHT).inside(2.0)
        };
        for first in (0..STEPS).step_by(fused) {
            let kernel = place(2 * first + 1, upper, 2 * fused - 1);
            c.frame(kernel, COMPUTE);
            for step in first..first + fused {
                let cell = place(2 * step + 1, upper, 1);
                c.text(cell.middle(), Anchor::Middle, Pen::INK, &format!("{}", step + 1));
            }
            // Up into the kernel's left end, and down from its right one.
            let (from, to) = (2 * first, 2 * (first + fused));
            let bottom = upper + HEIGHT;
            for (slot, at, rises) in [(from, from + 1, true), (to, to - 1, false)] {
                let side = if rises { -8.0 } else { 8.0 };
                let array = ((slot as f64 + 0.5) * pitch - side, lower);
                let kernel = ((at as f64 + 0.5) * pitch + side, bottom);
                let ends = if rises { [array, kernel] } else { [kernel, array] };
                c.arrow(&ends, MEMORY);
            }
        }
        for (array, name) in arrays.into_iter().enumerate().step_by(fused) {
            let cell = place(2 * array, lower, 1);
            c.cell(cell, MEMORY, 0.3);
            c.label(cell, name);
        }
    }
}
