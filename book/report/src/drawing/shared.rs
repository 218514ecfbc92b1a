//! Shared memory: its banks, and a tile that is turned in it.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, UPLOAD, area};

const COLUMN: usize = 6;

/// In which bank the column's element in this row is.
type Bank = fn(usize) -> usize;

pub(super) fn banks(c: &mut Canvas) {
    let (cell, pitch) = c.pick((6.0, 223.0), (3.5, 124.0));
    let side = 32.0 * cell;
    let tiles: [(&str, &str, Bank); 3] = [
        ("Plain", "all in one bank", |_| COLUMN),
        ("Padded", "one in each", |row| (row * 33 + COLUMN) % 32),
        ("Swizzled", "one in each", |row| row ^ COLUMN),
    ];
    for (n, (name, found, bank)) in tiles.into_iter().enumerate() {
        let left = 1.0 + n as f64 * (pitch - 1.0);
        let square = area(left, 24.0, side, side);
        c.heading((left, 10.0), Anchor::Start, name);
        c.cell(square, MEMORY, 0.08);
        for row in 0..32 {
            let x = left + bank(row) as f64 * cell;
            let y = square.top + row as f64 * cell;
            c.fill(area(x, y, cell, cell), COMPUTE, 1.0);
        }
        let (y, right) = (square.bottom + 12.0, square.right);
        c.text((left, y), Anchor::Start, Pen::MUTED, "0");
        c.text((square.middle().0, y), Anchor::Middle, Pen::MUTED, "bank");
        c.text((right, y), Anchor::End, Pen::MUTED, "31");
        c.text((left, y + 20.0), Anchor::Start, Pen::INK, found);
    }
}

pub(super) fn tile(c: &mut Canvas) {
    let (cell, pitch) = c.pick((40.0, 239.0), (25.0, 129.0));
    let side = 4.0 * cell;
    let names = c.pick(
        ["A tile of the input", "In shared memory", "A tile of the output"],
        ["Input", "Shared memory", "Output"],
    );
    for (n, name) in names.into_iter().enumerate() {
        let left = 1.0 + n as f64 * pitch;
        c.heading((left, 10.0), Anchor::Start, name);
        for row in 0..4 {
            for column in 0..4 {
                let (x, y) = (left + f64::from(column) * cell, 24.0 + f64::from(row) * cell);
                let place = area(x, y, cell, cell);
                let element = if n < 2 { 4 * row + column } else { 4 * column + row };
                c.cell(place, MEMORY, 0.08);
                if n < 2 && row == 1 {
                    c.fill(place, UPLOAD, 0.3);
                }
                if n == 1 && column == 1 || n == 2 && row == 1 {
                    c.fill(place, DOWNLOAD, 0.3);
                }
                c.label(place, &element.to_string());
            }
        }
    }
    let (one, two, three) = (1.0, 1.0 + pitch, 1.0 + 2.0 * pitch);
    let row = 24.0 + 1.5 * cell;
    c.arrow(&[(one + side + 3.0, row), (two - 3.0, row)], UPLOAD);
    let (column, below) = (two + 1.5 * cell, 24.0 + side);
    let turn = (two + side + three) / 2.0;
    let under = below + 18.0;
    c.arrow(
        &[(column, below), (column, under), (turn, under), (turn, row), (three - 3.0, row)],
        DOWNLOAD,
    );
    let y = under + 16.0;
    c.text((one, y), Anchor::Start, UPLOAD, "a row in");
    c.text((three, y), Anchor::Start, DOWNLOAD, "out as a row");
}
