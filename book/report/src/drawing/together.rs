//! Threads that make one number, or a sum for each, together.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, UPLOAD, area};

pub(super) fn agreement(c: &mut Canvas) {
    const LANES: usize = 8;
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
    c.named(total, MEMORY, 0.2, "total");
    let (end, y) = (left + width, rows[3] + side / 2.0);
    c.arrow(&[(end, y), (total.right + 3.0, y)], DOWNLOAD);
    c.text((end, y - 14.0), Anchor::End, DOWNLOAD, "other blocks");
}

pub(super) fn so_far(c: &mut Canvas) {
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
            c.named(place, COMPUTE, 0.1, &value.to_string());
        }
    }
}
