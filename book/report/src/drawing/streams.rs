//! Streams and the engines that do their work.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, DRIVER, MEMORY, Pen, UPLOAD, area};

pub(super) fn streams(c: &mut Canvas) {
    const STEP: f64 = 34.0;
    let (width, pitch) = c.pick((180.0, 229.0), (102.0, 128.0));
    let queues = [
        [("1 kernel A", COMPUTE), ("2 record event", Pen::MUTED), ("3 copy to host", DOWNLOAD)],
        [("1 copy to GPU", UPLOAD), ("2 wait for event", Pen::MUTED), ("3 kernel B", COMPUTE)],
    ];
    let engines = [
        (c.pick("multiprocessors", "SMs"), COMPUTE),
        ("copy engine to the GPU", UPLOAD),
        ("copy engine to the host", DOWNLOAD),
    ];
    const ENGINES: f64 = 50.0;
    const TOP: f64 = ENGINES + 32.0;
    const NAMES: f64 = TOP + 3.0 * STEP + 8.0;
    let host = area(1.0, NAMES + 34.0, c.width - 2.0, 32.0);
    c.outline(host, Pen::MUTED);
    c.label(host, "host: calls return before the work is done");
    for (n, queue) in queues.into_iter().enumerate() {
        let left = 1.0 + n as f64 * pitch;
        let middle = left + width / 2.0;
        c.arrow(&[(middle, host.top), (middle, NAMES + 10.0)], Pen::MUTED);
        let name = format!("Stream {}", n + 1);
        c.heading((middle, NAMES), Anchor::Middle, &name);
        for (row, (what, pen)) in queue.into_iter().enumerate() {
            let place = area(left, TOP + row as f64 * STEP, width, STEP - 4.0);
            c.thing(place, pen, what);
        }
        c.arrow(&[(middle, TOP), (middle, ENGINES)], queue[0].1);
    }
    let y = TOP + STEP + (STEP - 4.0) / 2.0;
    c.signal(&[(1.0 + width, y), (1.0 + pitch, y)], DRIVER);
    for (n, (engine, pen)) in engines.into_iter().enumerate() {
        let place = area(1.0 + n as f64 * pitch, 1.0, width, ENGINES - 2.0);
        c.named(place, pen, if n < 2 { 0.4 } else { 0.1 }, engine);
    }
    let idle = (1.0 + 2.0 * pitch + width / 2.0, ENGINES + 14.0);
    c.text(idle, Anchor::Middle, Pen::MUTED, "idle");
}

pub(super) fn waiting(c: &mut Canvas) {
    const ROW: f64 = 18.0;
    const ROWS: usize = 8;
    const PANEL: f64 = ROWS as f64 * ROW + 44.0;
    let slot = (c.width - 2.0) / 16.0;
    let [inputs, weights, call] = [("inputs", COMPUTE), ("weights", MEMORY), ("call", UPLOAD)];
    // What runs on which multiprocessors, from which slot on, and for how many.
    let three = vec![
        (inputs, 0..7, 0, 4),
        (call, 5..8, 4, 3),
        (weights, 0..5, 4, 4),
        (weights, 5..7, 7, 4),
        (inputs, 0..7, 11, 4),
    ];
    let one = vec![
        (inputs, 0..7, 0, 4),
        (call, 7..8, 0, 9),
        (weights, 0..7, 4, 4),
        (inputs, 0..7, 8, 4),
        (weights, 0..7, 12, 4),
    ];
    let panels = [("A call of three blocks", three), ("A call of one block", one)];
    for (n, (name, blocks)) in panels.into_iter().enumerate() {
        let top = n as f64 * PANEL;
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        let lane = |row: usize| top + 24.0 + row as f64 * ROW;
        let whole = area(1.0, lane(0), 16.0 * slot, ROWS as f64 * ROW);
        c.fill(whole, Pen::MUTED, 0.07);
        for ((what, pen), rows, start, slots) in blocks {
            let first = rows.start;
            for row in rows {
                let x = 1.0 + f64::from(start) * slot;
                let place = area(x, lane(row), f64::from(slots) * slot, ROW).inside(0.5);
                c.cell(place, pen, 0.25);
                if row == first {
                    c.label(place, what);
                }
            }
        }
    }
    let (y, end) = (2.0 * PANEL + 6.0, c.width - 1.0);
    c.arrow(&[(1.0, y - 14.0), (end, y - 14.0)], Pen::MUTED);
    c.text((end, y), Anchor::End, Pen::MUTED, "time");
}
