//! Streams and the engines that do their work.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, DRIVER, MEMORY, Pen, UPLOAD, area};
use super::facts::{Facts, Of};

pub(super) const STREAMS: Drawing = Drawing {
    name: "streams",
    title: "Streams are queues; the first entry of each runs when its engine is free",
    description: "At the top are three engines, and below them two queues, the streams, which \
        the host fills from below. In stream 1 a kernel is first, an event is recorded after it, \
        then comes a copy to the host. In stream 2 a copy to the GPU is first, then the stream \
        waits for the event, then comes a kernel. The kernel of stream 1 runs on the \
        multiprocessors while the copy of stream 2 runs on a copy engine. A dashed arrow leads \
        from the event in stream 1 to the wait in stream 2.",
    caption: "Each stream is a queue: the first entry runs as soon as its engine is free, and \
        the next one only after it. An event lets one stream wait for another.",
    of: Of::Nobody,
    draw: streams,
};

fn streams(c: &mut Canvas, _: &Facts) {
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
            c.frame(place, pen);
            c.label(place, what);
        }
        c.arrow(&[(middle, TOP), (middle, ENGINES)], queue[0].1);
    }
    let y = TOP + STEP + (STEP - 4.0) / 2.0;
    c.signal(&[(1.0 + width, y), (1.0 + pitch, y)], DRIVER);
    for (n, (engine, pen)) in engines.into_iter().enumerate() {
        let place = area(1.0 + n as f64 * pitch, 1.0, width, ENGINES - 2.0);
        c.cell(place, pen, if n < 2 { 0.4 } else { 0.1 });
        c.label(place, engine);
    }
    let idle = (1.0 + 2.0 * pitch + width / 2.0, ENGINES + 14.0);
    c.text(idle, Anchor::Middle, Pen::MUTED, "idle");
}

pub(super) const PIPELINE: Drawing = Drawing {
    name: "pipeline",
    title: "Four batches take twelve steps one after another, and six if the engines overlap",
    description: "Two timetables with a row each for upload, kernel and download. One after the \
        other, the three steps of four batches take twelve time slots, and only one row is busy \
        at a time. Overlapped, batch 2 is uploaded while the kernel works on batch 1, \
        and so on: six slots, and all three rows are busy in the middle.",
    caption: "Four batches, each of which is uploaded, computed and downloaded: one after \
        another, and overlapped. The slots are drawn equally long; in fact the \
        longest step sets the pace.",
    of: Of::Nobody,
    draw: pipeline,
};

/// In which slot a step of a batch is done.
type Slot = fn(usize, usize) -> usize;

fn pipeline(c: &mut Canvas, _: &Facts) {
    const BATCHES: usize = 4;
    const ROW: f64 = 28.0;
    let steps = [("upload", UPLOAD), ("kernel", COMPUTE), ("download", DOWNLOAD)];
    let label = 72.0;
    let slot = (c.width - label - 1.0) / (3 * BATCHES) as f64;
    let ways: [(&str, Slot); 2] = [
        ("One after another: 12 steps", |batch, step| 3 * batch + step),
        ("Overlapped: 6 steps", |batch, step| batch + step),
    ];
    for (n, (name, when)) in ways.into_iter().enumerate() {
        let top = n as f64 * 132.0;
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        for (step, (what, pen)) in steps.into_iter().enumerate() {
            let y = top + 24.0 + step as f64 * ROW;
            c.text((1.0, y + ROW / 2.0), Anchor::Start, Pen::INK, what);
            let lane = area(label, y + 2.0, 3.0 * BATCHES as f64 * slot, ROW - 4.0);
            c.fill(lane, Pen::MUTED, 0.07);
            for batch in 0..BATCHES {
                let x = label + when(batch, step) as f64 * slot;
                let place = area(x, y + 2.0, slot, ROW - 4.0).inside(0.5);
                c.cell(place, pen, 0.25);
                c.label(place, &(batch + 1).to_string());
            }
        }
    }
    let y = 2.0 * 132.0 + 6.0;
    let end = c.width - 1.0;
    c.arrow(&[(label, y - 14.0), (end, y - 14.0)], Pen::MUTED);
    c.text((end, y), Anchor::End, Pen::MUTED, "time");
}

pub(super) const OVERLAP: Drawing = Drawing {
    name: "overlap",
    title: "In theory, only the last all-reduce takes time of its own",
    description: "Three timetables with a row each for matmuls and all-reduces of six layers. \
        The matmuls go from layer 6 to layer 1. After them: one all-reduce of all layers begins \
        when the matmuls have ended. A call for each layer: the all-reduce of layer 6 runs beside \
        the matmuls of layer 5, and so on, and that of layer 1 is left over. A call for two \
        layers: three longer all-reduces, and that of layers 2 and 1 is left over.",
    caption: "The backward pass over six layers, from the last to the first, and the all-reduces \
        of their gradients, drawn half as long as the matmuls. A call's own cost is not drawn.",
    of: Of::Nobody,
    draw: overlap,
};

fn overlap(c: &mut Canvas, _: &Facts) {
    const LAYERS: usize = 6;
    const ROW: f64 = 28.0;
    let label = 78.0;
    let slot = (c.width - label - 1.0) / (3 * LAYERS) as f64;
    let ways = [("After the matmuls", LAYERS), ("A call for each layer", 1)];
    let ways = ways.into_iter().chain([("A call for two layers", 2)]);
    for (n, (name, call)) in ways.enumerate() {
        let top = n as f64 * 104.0;
        c.heading((1.0, top + 10.0), Anchor::Start, name);
        let mut cell = |row: usize, start: usize, slots: usize, pen, what: &str| {
            let (x, y) = (label + start as f64 * slot, top + 24.0 + row as f64 * ROW);
            let place = area(x, y + 2.0, slots as f64 * slot, ROW - 4.0).inside(0.5);
            c.cell(place, pen, 0.25);
            c.label(place, what);
        };
        for done in 0..LAYERS {
            let number = (LAYERS - done).to_string();
            cell(0, 2 * done, 2, COMPUTE, &number);
            if (done + 1) % call == 0 {
                let numbers = match call {
                    1 => number,
                    _ => format!("{}–{number}", LAYERS - done + call - 1),
                };
                cell(1, 2 * (done + 1), call, UPLOAD, &numbers);
            }
        }
        for (row, what) in ["matmuls", "all-reduce"].into_iter().enumerate() {
            let y = top + 24.0 + (row as f64 + 0.5) * ROW;
            c.text((1.0, y), Anchor::Start, Pen::INK, what);
        }
    }
    let y = 3.0 * 104.0 + 6.0;
    let end = c.width - 1.0;
    c.arrow(&[(label, y - 14.0), (end, y - 14.0)], Pen::MUTED);
    c.text((end, y), Anchor::End, Pen::MUTED, "time");
}

pub(super) const WAITING: Drawing = Drawing {
    name: "waiting",
    title: "Two blocks of a matmul wait until a call of three blocks is over",
    description: "Two timetables of a GPU with eight multiprocessors, a row each. A matmul has \
        seven blocks. First, a call of three blocks begins on the three last multiprocessors when \
        inputs_back has ended. Five blocks of weights_back begin at once, and two when the call \
        is over; the matmul after them begins later by as much. Second, a call of one block \
        takes three times as long on the last multiprocessor, beside both matmuls, and all \
        blocks of the matmuls begin at once.",
    caption: "A GPU of eight multiprocessors, a row each, and matmuls of seven blocks, \
        `inputs_back` and `weights_back` in turn. Above, the call finds room when `inputs_back` \
        has ended, and two blocks wait for the call. Below, it fits beside the matmuls: it takes \
        three times as long, and no block waits.",
    of: Of::Nobody,
    draw: waiting,
};

fn waiting(c: &mut Canvas, _: &Facts) {
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
