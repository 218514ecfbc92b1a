//! What a model keeps and computes: activations, micro-batches, keys and values, packed weights.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, MEMORY, Pen, UPLOAD, area};
use super::facts::{Facts, Of};
use super::timetable::timetable;

pub(super) const SEGMENTS: Drawing = Drawing {
    name: "segments",
    title: "The backward pass computes one segment after another again, the last one first",
    description: "A row of 24 layers in four segments of six, for the forward pass: the first \
        activation of each segment is filled, because it is kept. Below are four rows for the \
        backward pass. In each, the six layers of one segment are filled, in the first row those \
        of the last segment, and so on to the first segment.",
    caption: "24 layers in four segments. Forward, the first activation of each is kept. \
        Backward, a segment's other activations are computed when they are needed: those of the \
        last segment for the first time, those of the others once more.",
    of: Of::Nobody,
    draw: segments,
};

fn segments(c: &mut Canvas, _: &Facts) {
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

pub(super) const MICRO_BATCHES: Drawing = Drawing {
    name: "micro-batches",
    title: "Each GPU begins a step after the one before, and ends a step later",
    description: "A timetable with a row for each of four GPUs and 11 steps. GPU 0 works on the \
        micro-batches 1 to 8 in the steps 1 to 8, GPU 1 in the steps 2 to 9, GPU 2 in the steps 3 \
        to 10, and GPU 3 in the steps 4 to 11. Each is idle in the three other steps.",
    caption: "Four GPUs, and eight micro-batches on the way forward.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Eight micro-batches
GPU 0: 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8, 3 .
GPU 1: 1 ., 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8, 2 .
GPU 2: 2 ., 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8, 1 .
GPU 3: 3 ., 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8";
        timetable(c, panels);
    },
};

pub(super) const KEYS: Drawing = Drawing {
    name: "keys",
    title: "A token's query meets the keys of all tokens so far, and their values become one sum",
    description: "Five columns, one for each token, with a key above a value: these are kept. \
        Above them is the query of token 5, with an arrow to each of the five keys. Below them \
        arrows lead from each of the five values to one sum, from which token 6 is made.",
    caption: "While token 6 is generated, the query of token 5 meets all five keys. Keys and \
        values are kept: that is the cache.",
    of: Of::Nobody,
    draw: keys,
};

fn keys(c: &mut Canvas, _: &Facts) {
    const TOKENS: usize = 5;
    const HEIGHT: f64 = 30.0;
    let (label, width, pitch) = c.pick((80.0, 76.0, 104.0), (58.0, 46.0, 58.0));
    let left = |token: usize| label + token as f64 * pitch;
    let rows = [1.0, 84.0, 84.0 + HEIGHT + 8.0, 84.0 + 2.0 * HEIGHT + 60.0];
    for (name, y) in ["query", "keys", "values"].into_iter().zip(rows) {
        c.text((1.0, y + HEIGHT / 2.0), Anchor::Start, Pen::INK, name);
    }
    let query = area(left(TOKENS - 1), rows[0], width, HEIGHT);
    c.cell(query, COMPUTE, 0.25);
    c.label(query, "q5");
    let sum = area(left(TOKENS / 2), rows[3], width, HEIGHT);
    for token in 0..TOKENS {
        let middle = left(token) + width / 2.0;
        for (letter, y) in [("k", rows[1]), ("v", rows[2])] {
            let place = area(left(token), y, width, HEIGHT);
            c.cell(place, MEMORY, 0.2);
            c.label(place, &format!("{letter}{}", token + 1));
        }
        let spread = |middle_of: f64| middle_of + (middle - middle_of) / 12.0;
        let from = (spread(query.middle().0), query.bottom + 2.0);
        c.arrow(&[from, (middle, rows[1] - 3.0)], COMPUTE);
        let to = (spread(sum.middle().0), sum.top - 3.0);
        c.arrow(&[(middle, rows[2] + HEIGHT + 2.0), to], UPLOAD);
    }
    c.cell(sum, COMPUTE, 0.25);
    c.label(sum, "sum");
    c.arrow(&[(sum.right + 2.0, sum.middle().1), (left(3) + 4.0, sum.middle().1)], COMPUTE);
    c.text((left(3) + 10.0, sum.middle().1), Anchor::Start, Pen::INK, "token 6");
}

pub(super) const PACKED: Drawing = Drawing {
    name: "packed",
    title: "16 bytes hold 4 weights in FP32, and 32 in INT4",
    description: "Four bars of equal length, 16 bytes each, divided into weights: FP32 into 4, \
        each a float; FP16 into 8, each a float of half the bits; INT8 into 16, each a number \
        from -127 to 127 times a scale; INT4 into 32, each a number from -7 to 7 times a scale.",
    caption: "16 bytes of a row of weights in four formats.",
    of: Of::Nobody,
    draw: packed,
};

fn packed(c: &mut Canvas, _: &Facts) {
    let formats = [
        ("FP32", 4, "a float"),
        ("FP16", 8, "a float of half the bits"),
        ("INT8", 16, "−127 to 127, × a scale"),
        ("INT4", 32, "−7 to 7, × a scale"),
    ];
    for (row, (name, weights, what)) in formats.into_iter().enumerate() {
        let top = row as f64 * 58.0;
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        let said = format!("{weights} weights, each {what}");
        c.text((50.0, top + 10.0), Anchor::Start, Pen::MUTED, &said);
        let width = (c.width - 2.0) / f64::from(weights);
        for weight in 0..weights {
            let x = 1.0 + f64::from(weight) * width;
            c.cell(area(x, top + 22.0, width, 24.0).inside(0.5), MEMORY, 0.2);
        }
    }
}

pub(super) const PAGES: Drawing = Drawing {
    name: "pages",
    title: "Two reservations of twelve places waste ten; five pages of four waste six",
    description: "Two rows of places for keys. Contiguous: request A has twelve places of which \
        five are used, request B twelve of which nine are used. Paged: five pages of four places. \
        Page 0 is full of B's, page 1 of A's, page 2 has one of B's, page 3 is full of B's, and \
        page 4 has one of A's. Below is the table: A has pages 1 and 4, B pages 0, 3 and 2.",
    caption: "Two requests of five and of nine tokens. Contiguous, each reserves twelve places; \
        paged, each takes pages of four when it needs them, wherever one is free. Dashed places \
        are reserved but empty.",
    of: Of::Nobody,
    draw: pages,
};

fn pages(c: &mut Canvas, _: &Facts) {
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
                    c.cell(at, pen, 0.25);
                    c.label(at, whose);
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
        c.cell(place, pen, 0.25);
        c.label(place, whose);
        let said = format!("pages {pages}");
        c.text((38.0, top + 18.0), Anchor::Start, Pen::INK, &said);
        top += 30.0;
    }
}
