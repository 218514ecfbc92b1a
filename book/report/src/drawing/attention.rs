//! Attention: the matrix of scores, and the part of it that exists at a time.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, UPLOAD, area};

/// Tiles along a side of the matrix; those of the block; at which of them it is.
const TILES: usize = 8;
const ROW: usize = 2;
const COLUMN: usize = 3;

pub(super) fn scores(c: &mut Canvas) {
    let tile = c.pick(26.0, 18.0);
    let (gap, thin) = (c.pick(14.0, 8.0), c.pick(40.0, 26.0));
    let side = TILES as f64 * tile;
    let (left, top) = (thin + gap + 1.0, 24.0 + thin + gap);
    let (row, column) = (top + ROW as f64 * tile, left + COLUMN as f64 * tile);
    let (right, bottom) = (left + side, top + side);

    // The inputs, and what of them the block has in shared memory.
    c.heading((left, 10.0), Anchor::Start, "K, a column for each key");
    for above in [24.0, bottom + gap] {
        c.cell(area(left, above, side, thin), MEMORY, 0.08);
        c.fill(area(column, above, tile, thin), UPLOAD, 0.35);
    }
    c.heading((left, bottom + gap + thin + 14.0), Anchor::Start, "V, a column for each key");
    c.heading((1.0, top - 14.0), Anchor::Start, "Q");
    c.cell(area(1.0, top, thin, side), MEMORY, 0.08);
    c.fill(area(1.0, row, thin, tile), UPLOAD, 0.35);

    // The matrix that is not there, but for a tile.
    c.ghost(area(left, top, side, side), Pen::MUTED);
    for n in 0..COLUMN {
        c.ghost(area(left + n as f64 * tile, row, tile, tile), Pen::MUTED);
    }
    c.cell(area(column, row, tile, tile), COMPUTE, 0.6);
    let middle = row + tile / 2.0;
    c.arrow(&[(column + tile + 3.0, middle), (right - 3.0, middle)], COMPUTE);
    let below = area(left, row + tile + gap, side, bottom - row - tile - gap);
    c.label(below, "N × N scores: never in memory");

    // What is kept of a row, and what comes out.
    let out = right + gap;
    c.heading((out, top - 14.0), Anchor::Start, "Output");
    c.cell(area(out, top, thin, side), MEMORY, 0.08);
    c.fill(area(out, row, thin, tile), DOWNLOAD, 0.35);
    let kept = out + thin + c.pick(14.0, 8.0);
    let y = row + tile / 2.0;
    c.text((kept, y), Anchor::Start, Pen::INK, c.pick("Kept for each row:", "Kept:"));
    let kept_of_a_row = c.pick(
        ["the largest score so far", "the sum of exponentials", "the weighted sum of values"],
        ["largest score", "sum of exp.", "weighted sum"],
    );
    for (n, what) in kept_of_a_row.into_iter().enumerate() {
        c.text((kept, y + 20.0 * (n + 1) as f64), Anchor::Start, Pen::MUTED, what);
    }
}
