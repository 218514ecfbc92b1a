//! What a model keeps and computes: activations, micro-batches, keys and values, packed weights,
//! adapters.

use super::canvas::{Anchor, COMPUTE, Canvas, MEMORY, Pen, UPLOAD, area};

pub(super) fn segments(c: &mut Canvas) {
    const SEGMENTS: usize = 4;
    const LAYERS: usize = 6;
    const ROW: f64 = 30.0;
    let label = c.pick(92.0, 76.0);
    let (gap, all) = (5.0, SEGMENTS * LAYERS);
    let width = (c.width - label - 2.0 - (SEGMENTS - 1) as f64 * gap) / all as f64;
    let place = |layer: usize, row: usize| {
        let x = label + layer as f64 * width + (layer / LAYERS) as f64 * gap;
        area(x, 4.0 + row as f64 * ROW, width, ROW - 6.0)
    };
    for row in 0..=SEGMENTS {
        let name = match row {
            0 => "forward".to_owned(),
            _ => format!("backward {row}"),
        };
        let middle = place(0, row).middle().1;
        c.text((1.0, middle), Anchor::Start, Pen::INK, &name);
        for layer in 0..all {
            let segment = SEGMENTS - layer / LAYERS;
            let (pen, opacity) = match (row, layer % LAYERS) {
                (0, 0) => (MEMORY, 0.5),
                (0, _) => (Pen::MUTED, 0.0),
                (_, 0) if row <= segment => (MEMORY, 0.5),
                _ if row == segment => (COMPUTE, 0.35),
                _ => continue,
            };
            c.cell(place(layer, row).inside(0.5), pen, opacity);
        }
    }
    let y = place(0, SEGMENTS).bottom + 20.0;
    let mut x = label;
    for (pen, opacity, what) in
        [(MEMORY, 0.5, "kept"), (COMPUTE, 0.35, "computed for the way back")]
    {
        c.cell(area(x, y - 7.0, 14.0, 14.0), pen, opacity);
        c.text((x + 20.0, y), Anchor::Start, Pen::MUTED, what);
        x += 80.0;
    }
}

pub(super) fn keys(c: &mut Canvas) {
    const TOKENS: usize = 5;
    const HEIGHT: f64 = 30.0;
    let (label, width, pitch) = c.pick((80.0, 76.0, 104.0), (58.0, 46.0, 58.0));
    let left = |token: usize| label + token as f64 * pitch;
    let rows = [1.0, 84.0, 84.0 + HEIGHT + 8.0, 84.0 + 2.0 * HEIGHT + 60.0];
    for (name, y) in ["query", "keys", "values"].into_iter().zip(rows) {
        c.text((1.0, y + HEIGHT / 2.0), Anchor::Start, Pen::INK, name);
    }
    let query = area(left(TOKENS - 1), rows[0], width, HEIGHT);
    c.named(query, COMPUTE, 0.25, "q5");
    let sum = area(left(TOKENS / 2), rows[3], width, HEIGHT);
    for token in 0..TOKENS {
        let middle = left(token) + width / 2.0;
        for (letter, y) in [("k", rows[1]), ("v", rows[2])] {
            let place = area(left(token), y, width, HEIGHT);
            c.named(place, MEMORY, 0.2, &format!("{letter}{}", token + 1));
        }
        let spread = |middle_of: f64| middle_of + (middle - middle_of) / 12.0;
        let from = (spread(query.middle().0), query.bottom + 2.0);
        c.arrow(&[from, (middle, rows[1] - 3.0)], COMPUTE);
        let to = (spread(sum.middle().0), sum.top - 3.0);
        c.arrow(&[(middle, rows[2] + HEIGHT + 2.0), to], UPLOAD);
    }
    c.named(sum, COMPUTE, 0.25, "sum");
    c.arrow(&[(sum.right + 2.0, sum.middle().1), (left(3) + 4.0, sum.middle().1)], COMPUTE);
    c.text((left(3) + 10.0, sum.middle().1), Anchor::Start, Pen::INK, "token 6");
}

pub(super) fn pages(c: &mut Canvas) {
    let (cell, gap) = c.pick((25.0, 8.0), (14.0, 4.0));
    // For each piece that is taken, whose it is, and how many of its places are used.
    let contiguous = [("A", 5), ("B", 9)];
    let paged = [("B", 4), ("A", 4), ("B", 1), ("B", 4), ("A", 1)];
    let ways = [("Contiguous", &contiguous[..], 12), ("Paged", &paged[..], 4)];
    let mut top = 0.0;
    for (name, pieces, places) in ways {
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        let mut x = 1.0;
        for (number, (whose, used)) in pieces.iter().enumerate() {
            let pen = if *whose == "A" { COMPUTE } else { UPLOAD };
            let start = x;
            for place in 0..places {
                let at = area(x, top + 24.0, cell, 28.0).inside(0.5);
                x += cell;
                if place < *used {
                    c.named(at, pen, 0.25, whose);
                } else {
                    c.ghost(at, Pen::MUTED);
                }
            }
            if places == 4 {
                let middle = (start + x) / 2.0;
                let page = format!("page {number}");
                c.text((middle, top + 64.0), Anchor::Middle, Pen::MUTED, &page);
            }
            x += gap;
        }
        top += 72.0;
    }
    for (whose, pages, pen) in [("A", "1, 4", COMPUTE), ("B", "0, 3, 2", UPLOAD)] {
        let place = area(1.0, top + 6.0, 28.0, 24.0);
        c.named(place, pen, 0.25, whose);
        let said = format!("pages {pages}");
        c.text((38.0, top + 18.0), Anchor::Start, Pen::INK, &said);
        top += 30.0;
    }
}

pub(super) fn adapter(c: &mut Canvas) {
    const THIN: f64 = 24.0;
    let (side, left, gap) = c.pick((150.0, 110.0, 90.0), (116.0, 1.0, 44.0));
    let top = 28.0;
    let w = area(left, top, side, side);
    let b = area(w.right + gap, top, THIN, side);
    let a = area(b.right + 14.0, top, side, THIN);
    let named = [(w, "W", MEMORY, 0.2), (b, "B", COMPUTE, 0.35), (a, "A", COMPUTE, 0.35)];
    for (place, name, pen, fill) in named {
        c.named(place, pen, fill, name);
    }
    c.heading((w.left, 10.0), Anchor::Start, "frozen");
    c.heading((b.left, 10.0), Anchor::Start, "trained");
    c.heading((w.right + gap / 2.0, w.middle().1), Anchor::Middle, "+");
    c.text((a.left, a.bottom + 16.0), Anchor::Start, Pen::MUTED, "r rows");
    c.text((b.right + 14.0, b.bottom - 10.0), Anchor::Start, Pen::MUTED, "r columns");
    let mut y = w.bottom + 34.0;
    let width = c.pick(80.0, 62.0);
    let kept = [("weight", 1.0, MEMORY), ("gradient", 1.0, COMPUTE), ("states", 3.0, COMPUTE)];
    for (of, parts) in [("W", &kept[..1]), ("A, B", &kept[..])] {
        c.text((w.left, y), Anchor::Start, Pen::INK, of);
        let mut x = w.left + 40.0;
        for (part, widths, pen) in parts {
            let place = area(x, y - 14.0, widths * width, 28.0);
            c.cell(place.inside(0.5), *pen, 0.2);
            c.label(place, part);
            x = place.right;
        }
        y += 36.0;
    }
}
