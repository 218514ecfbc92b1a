//! A net on two GPUs, cut in four ways.

use super::canvas::{Anchor, Canvas, MEMORY, Pen, UPLOAD, area};

/// A part of a rectangle: left, top, right and bottom, as shares of its sides.
type Has = [f64; 4];
const WHOLE: Has = [0.0, 0.0, 1.0, 1.0];
const NONE: Has = [0.0; 4];
const UPPER: Has = [0.0, 0.0, 1.0, 0.5];
const LOWER: Has = [0.0, 0.5, 1.0, 1.0];
const LEFT: Has = [0.0, 0.0, 0.5, 1.0];
const RIGHT: Has = [0.5, 0.0, 1.0, 1.0];

/// The way, its name in the field, what is sent, and what each GPU has of x, A and B.
const WAYS: [(&str, &str, &str, [[Has; 3]; 2]); 4] = [
    ("data", "DDP", "gradients, at the end", [[UPPER, WHOLE, WHOLE], [LOWER, WHOLE, WHOLE]]),
    ("state", "ZeRO-3, FSDP", "weights, twice, and gradients", [[UPPER; 3], [LOWER; 3]]),
    (
        "columns",
        "tensor parallel",
        "activations, after both layers",
        [[WHOLE, LEFT, UPPER], [WHOLE, RIGHT, LOWER]],
    ),
    (
        "layers",
        "pipeline parallel",
        "activations down, gradients up",
        [[WHOLE, WHOLE, NONE], [NONE, NONE, WHOLE]],
    ),
];

pub(super) fn cuts(c: &mut Canvas) {
    let in_a_row = c.pick(4, 2);
    let (width, side, height) = (148.0, 44.0, 78.0);
    let gap = (c.width - 2.0 - width * in_a_row as f64) / (in_a_row - 1) as f64;
    for (n, (name, known_as, sends, gpus)) in WAYS.into_iter().enumerate() {
        let left = 1.0 + (n % in_a_row) as f64 * (width + gap);
        let top = (n / in_a_row) as f64 * 292.0;
        c.heading((left, top + 9.0), Anchor::Start, name);
        c.text((left, top + 27.0), Anchor::Start, Pen::MUTED, known_as);
        let between = 62.0;
        for (gpu, has) in gpus.into_iter().enumerate() {
            let top = top + 40.0 + gpu as f64 * (height + between);
            c.frame(area(left, top, width, height), Pen::MUTED);
            let label = format!("GPU {gpu}");
            c.text((left + 8.0, top + 14.0), Anchor::Start, Pen::MUTED, &label);
            let things = [("x", UPLOAD, 28.0), ("A", MEMORY, side), ("B", MEMORY, side)];
            let mut x = left + 8.0;
            for ((thing, pen, wide), [l, t, r, b]) in things.into_iter().zip(has) {
                let y = top + 26.0;
                let part = area(x + l * wide, y + t * side, (r - l) * wide, (b - t) * side);
                if r > l {
                    c.fill(part, pen, 0.4);
                }
                let whole = area(x, y, wide, side);
                c.ghost(whole, Pen::MUTED);
                c.label(whole, thing);
                x += wide + 8.0;
            }
        }
        let (from, to) = (top + 40.0 + height + 4.0, top + 40.0 + height + between - 4.0);
        c.both_ways(&[(left + 12.0, from), (left + 12.0, to)], UPLOAD);
        let middle = area(left + 24.0, from, width - 24.0, to - from);
        c.label(middle, sends);
    }
}
