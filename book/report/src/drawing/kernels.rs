//! Kernels that follow each other, and what a thread does with what it loads.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, area};

const STEPS: usize = 4;
const HEIGHT: f64 = 30.0;

pub(super) fn fusion(c: &mut Canvas) {
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
            c.named(cell, MEMORY, 0.3, name);
        }
    }
}

pub(super) fn reuse(c: &mut Canvas) {
    let (cell, pitch) = c.pick((30.0, 320.0), (24.0, 180.0));
    for (n, side) in [1, 4].into_iter().enumerate() {
        let left = 1.0 + n as f64 * pitch;
        let name = format!("{side} × {side} sums");
        c.heading((left, 10.0), Anchor::Start, if side == 1 { "One sum" } else { &name });
        let place = |column: usize, row: usize| {
            area(left + column as f64 * cell, 26.0 + row as f64 * cell, cell, cell).inside(1.0)
        };
        for i in 1..=side {
            c.cell(place(0, i), MEMORY, 0.3);
            c.cell(place(i, 0), DOWNLOAD, 0.3);
            for j in 1..=side {
                c.cell(place(i, j), COMPUTE, 0.25);
            }
        }
        let loads = format!("{} loads for {}", 2 * side, side * side);
        c.text((left, 26.0 + 5.0 * cell + 14.0), Anchor::Start, Pen::INK, &loads);
    }
}
