//! Structures in memory.

use super::canvas::{Anchor, Canvas, MEMORY, Pen, area};

const ELEMENTS: usize = 8;
const FIELDS: [&str; 4] = ["x", "y", "z", "q"];
const SECTOR: usize = 8;

/// Where a field of an element is, in words, if the fields of so many elements lie
/// together.
fn place(element: usize, field: usize, tile: usize) -> usize {
    element / tile * tile * FIELDS.len() + field * tile + element % tile
}

pub(super) fn layouts(c: &mut Canvas) {
    let columns = c.pick(32, 16); // in a line of the strip
    let word = (c.width - 2.0) / columns as f64;
    let lines = (32 / columns) as f64;
    let height = 26.0;
    let kinds = [
        (1, "Array of structures", "4 of 4 sectors"),
        (4, "Tiles of 4 elements", "2 of 4 sectors"),
        (ELEMENTS, "Structure of arrays", "1 of 4 sectors"),
    ];
    for (n, (tile, name, moves)) in kinds.into_iter().enumerate() {
        let top = n as f64 * (50.0 + lines * (height + 4.0));
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        c.text((c.width - 1.0, top + 10.0), Anchor::End, Pen::INK, moves);
        let corner = |at: usize| {
            let y = top + 24.0 + (at / columns) as f64 * (height + 4.0);
            (1.0 + (at % columns) as f64 * word, y)
        };
        for element in 0..ELEMENTS {
            for (field, name) in FIELDS.iter().enumerate() {
                let (x, y) = corner(place(element, field, tile));
                let cell = area(x, y, word, height);
                let text = format!("{name}{element}");
                match field {
                    0 => {
                        c.fill(cell.inside(2.0), MEMORY, 0.4);
                        c.label(cell, &text);
                    }
                    _ => c.text(cell.middle(), Anchor::Middle, Pen::MUTED, &text),
                }
            }
        }
        for sector in 0..ELEMENTS * FIELDS.len() / SECTOR {
            let wanted = (0..ELEMENTS).any(|element| place(element, 0, tile) / SECTOR == sector);
            let (x, y) = corner(sector * SECTOR);
            let all = area(x, y, SECTOR as f64 * word, height).inside(0.5);
            if wanted { c.frame(all, MEMORY) } else { c.ghost(all, Pen::MUTED) }
        }
    }
}
