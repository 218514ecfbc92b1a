//! Formats of numbers.

use super::canvas::{Anchor, Canvas, DRIVER, MEMORY, Pen, area};

/// Name, bits of the exponent, bits of the fraction.
const ALL: [(&str, usize, usize); 7] = [
    ("FP32", 8, 23),
    ("TF32", 8, 10),
    ("BF16", 8, 7),
    ("FP16", 5, 10),
    ("FP8, E5M2", 5, 2),
    ("FP8, E4M3", 4, 3),
    ("FP4, E2M1", 2, 1),
];

pub(super) fn formats(c: &mut Canvas) {
    let bit = (c.width - 2.0) / 32.0;
    for (row, (name, exponent, fraction)) in ALL.into_iter().enumerate() {
        let top = row as f64 * 48.0;
        c.heading((1.0, top + 9.0), Anchor::Start, name);
        let sizes = format!("1 + {exponent} + {fraction} bits");
        c.text((c.width - 1.0, top + 9.0), Anchor::End, Pen::MUTED, &sizes);
        let parts = [
            ("", Pen::MUTED, 0, 1),
            ("exponent", DRIVER, 1, exponent),
            ("fraction", MEMORY, 1 + exponent, fraction),
        ];
        for (part, pen, first, bits) in parts {
            let left = 1.0 + first as f64 * bit;
            for n in 0..bits {
                let cell = area(left + n as f64 * bit, top + 20.0, bit, 20.0);
                c.fill(cell.inside(1.0), pen, 0.4);
            }
            if row == 0 {
                c.label(area(left, top + 20.0, bits as f64 * bit, 20.0), part);
            }
        }
    }
}
