//! What a pool of the driver holds.

use super::canvas::{Anchor, Canvas, DRIVER, MEMORY, Pen, area};

/// A call, and how many blocks are reserved and used after it.
type After = (&'static str, usize, usize);

/// Bars of blocks from `top` on; where the next may begin.
fn bars(c: &mut Canvas, top: f64, most: usize, calls: &[After]) -> f64 {
    let pitch = c.width / calls.len() as f64;
    let width = pitch.min(70.0) - 8.0;
    let block = 36.0;
    let floor = top + 24.0 + most as f64 * block;
    let mut before = 0;
    for (n, (call, reserved, used)) in calls.iter().enumerate() {
        let middle = (n as f64 + 0.5) * pitch;
        for at in 0..most {
            let y = floor - (at + 1) as f64 * block;
            let place = area(middle - width / 2.0, y, width, block).inside(1.5);
            if at < *used {
                c.cell(place, MEMORY, 0.45);
            } else if at < *reserved {
                c.ghost(place, MEMORY);
            }
        }
        if *reserved > before {
            let y = floor - *reserved as f64 * block;
            c.arrow(&[(middle, y - 22.0), (middle, y)], DRIVER);
        }
        before = *reserved;
        c.text((middle, floor + 12.0), Anchor::Middle, Pen::INK, call);
    }
    c.line(&[(0.0, floor), (c.width, floor)], Pen::MUTED);
    floor + 40.0
}

/// What the blocks of [`bars`] mean.
fn key(c: &mut Canvas, y: f64) {
    let mut x = 1.0;
    let sample = |x| area(x, y - 6.0, 16.0, 12.0);
    c.cell(sample(x), MEMORY, 0.45);
    c.text((x + 22.0, y), Anchor::Start, Pen::INK, "used");
    x += 68.0;
    c.ghost(sample(x), MEMORY);
    c.text((x + 22.0, y), Anchor::Start, Pen::INK, "reserved, free");
    x += 132.0;
    c.arrow(&[(x + 8.0, y - 8.0), (x + 8.0, y + 8.0)], DRIVER);
    c.text((x + 20.0, y), Anchor::Start, Pen::INK, "from the system");
}

pub(super) fn pool(c: &mut Canvas) {
    let (allocate, free) = c.pick(("allocate", "free"), ("alloc", "free"));
    let calls = [
        (allocate, 1, 1),
        (allocate, 2, 2),
        (free, 2, 1),
        (allocate, 2, 2),
        (free, 2, 1),
        (free, 2, 0),
        ("wait", 0, 0),
    ];
    key(c, 9.0);
    bars(c, 20.0, 2, &calls);
}

pub(super) fn threshold(c: &mut Canvas) {
    let allocate = c.pick("allocate", "alloc");
    key(c, 9.0);
    let mut top = 44.0;
    for (name, kept) in [("Threshold 0", 0), ("A high threshold", 1)] {
        let calls = [
            (allocate, 1, 1),
            ("free", 1, 0),
            ("wait", kept, 0),
            (allocate, 1, 1),
            ("free", 1, 0),
            ("wait", kept, 0),
        ];
        c.heading((1.0, top), Anchor::Start, name);
        top = bars(c, top + 14.0, 1, &calls);
    }
}
