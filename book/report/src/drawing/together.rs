//! Threads that make one number, or a place for each, together.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, UPLOAD, area};
use super::facts::{Facts, Of};

pub(super) const CELLS: Drawing = Drawing {
    name: "cells",
    title: "At one cell eight threads wait for each other; at eight cells none does",
    description: "Two timetables of eight additions by the threads 0 to 7. With one cell they \
        stand one after the other in its row. With eight cells each stands alone at the beginning \
        of a row of its own.",
    caption: "Eight threads add at the same time, to one cell or to eight: each cell takes one \
        addition after another.",
    of: Of::Nobody,
    draw: cells,
};

/// Threads, and cells, that are drawn.
const LANES: usize = 8;

fn cells(c: &mut Canvas, _: &Facts) {
    let (cell, pitch, label) = c.pick((25.0, 330.0, 50.0), (14.0, 184.0, 42.0));
    for (panel, (name, cells)) in [("One cell", 1), ("Eight cells", LANES)].into_iter().enumerate()
    {
        let left = 1.0 + panel as f64 * pitch;
        c.heading((left, 10.0), Anchor::Start, name);
        for row in 0..cells {
            let y = 26.0 + row as f64 * (cell + 3.0);
            c.text((left, y + cell / 2.0), Anchor::Start, Pen::MUTED, &format!("cell {row}"));
            for lane in (row..LANES).step_by(cells) {
                let place = area(left + label + (lane / cells) as f64 * cell, y, cell, cell);
                c.cell(place, COMPUTE, 0.15);
                c.label(place, &lane.to_string());
            }
        }
        let (y, start) = (26.0 + cells as f64 * (cell + 3.0) + 8.0, left + label);
        c.arrow(&[(start, y), (start + LANES as f64 * cell, y)], Pen::MUTED);
        c.text((start, y + 14.0), Anchor::Start, Pen::MUTED, "time");
    }
}

pub(super) const AGREEMENT: Drawing = Drawing {
    name: "agreement",
    title: "Threads are added up in their warp, warps in their block, and blocks in one word",
    description: "Four rows. In the first, eight sums of threads in two warps. Arrows lead from \
        each warp's four to one sum of the warp in the second row, from both to one sum of the \
        block in the third, and from there, beside an arrow from the other blocks, to one word of \
        device memory in the last.",
    caption: "From many sums to one. A real warp has 32 threads, and a block up to 32 warps.",
    of: Of::Nobody,
    draw: agreement,
};

fn agreement(c: &mut Canvas, _: &Facts) {
    let (side, gap, left) = c.pick((34.0, 6.0, 210.0), (22.0, 4.0, 128.0));
    let width = LANES as f64 * (side + gap) - gap;
    let rows = [10.0, 80.0, 150.0, 220.0];
    let names = c.pick(
        [
            "each thread, in a register",
            "each warp, by shuffles",
            "each block, in shared memory",
            "all, by an atomic addition",
        ],
        ["thread: register", "warp: shuffles", "block: shared", "all: atomic"],
    );
    for (name, y) in names.into_iter().zip(rows) {
        c.text((1.0, y + side / 2.0), Anchor::Start, Pen::INK, name);
    }
    let middle = |from: usize, count: usize| {
        left + from as f64 * (side + gap) + (count as f64 * (side + gap) - gap) / 2.0
    };
    let half = LANES / 2;
    for lane in 0..LANES {
        let x = left + lane as f64 * (side + gap);
        c.cell(area(x, rows[0], side, side), COMPUTE, 0.15);
        let warp = middle(lane / half * half, half);
        let toward = warp + (x + side / 2.0 - warp) / 4.0;
        let from = (x + side / 2.0, rows[0] + side + 2.0);
        c.arrow(&[from, (toward, rows[1] - 2.0)], COMPUTE);
    }
    let block = middle(0, LANES);
    for warp in [0, half] {
        let x = middle(warp, half);
        c.cell(area(x - side / 2.0, rows[1], side, side), COMPUTE, 0.3);
        let toward = block + (x - block) / 8.0;
        c.arrow(&[(x, rows[1] + side + 2.0), (toward, rows[2] - 2.0)], UPLOAD);
    }
    c.cell(area(block - side / 2.0, rows[2], side, side), UPLOAD, 0.3);
    c.arrow(&[(block, rows[2] + side + 2.0), (block, rows[3] - 2.0)], DOWNLOAD);
    let total = area(block - side, rows[3], 2.0 * side, side);
    c.cell(total, MEMORY, 0.2);
    c.label(total, "total");
    let (end, y) = (left + width, rows[3] + side / 2.0);
    c.arrow(&[(end, y), (total.right + 3.0, y)], DOWNLOAD);
    c.text((end, y - 14.0), Anchor::End, DOWNLOAD, "other blocks");
}

pub(super) const SO_FAR: Drawing = Drawing {
    name: "so-far",
    title: "Three steps turn eight values into eight prefix sums",
    description: "Four rows of eight numbers. The first row has the values 3, 0, 2, 2, 1, 4, 0 and \
        1. In each further row a number is the one above it plus the one that is 1, then 2, then 4 \
        places to the left in the row above, if there is one. The last row has the sums so far: 3, \
        3, 5, 7, 8, 12, 12 and 13.",
    caption: "Each lane adds what the lane 1, 2 and then 4 places to its left has: after each step \
        it knows the sum of twice as many. For 32 lanes it takes five steps.",
    of: Of::Nobody,
    draw: so_far,
};

fn so_far(c: &mut Canvas, _: &Facts) {
    let (side, pitch, left) = c.pick((34.0, 58.0, 150.0), (24.0, 33.0, 88.0));
    let mut values = vec![3, 0, 2, 2, 1, 4, 0, 1];
    let names = ["values", "1 to the left", "2 to the left", "4 to the left"];
    for (row, name) in names.into_iter().enumerate() {
        let y = 4.0 + row as f64 * 66.0;
        c.text((1.0, y + side / 2.0), Anchor::Start, Pen::INK, name);
        let step = (1 << row) / 2;
        let before = values.clone();
        for (lane, value) in values.iter_mut().enumerate() {
            let place = area(left + lane as f64 * pitch, y, side, side);
            if row > 0 && lane >= step {
                *value += before[lane - step];
                let from = left + (lane - step) as f64 * pitch + side / 2.0;
                let above = y - 66.0 + side + 2.0;
                c.arrow(&[(from, above), (place.left + side / 2.0, y - 2.0)], UPLOAD);
            }
            c.cell(place, COMPUTE, 0.1);
            c.label(place, &value.to_string());
        }
    }
}
