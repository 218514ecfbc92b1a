//! Timetables: who does what, and when; those of a copy between host and GPU.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, DRIVER, MEMORY, Pen, UPLOAD, area};
use super::facts::Of;
use crate::svg::text;

/// What a word is drawn with; a number is drawn as who does it.
fn pen(word: &str) -> Option<Pen> {
    Some(match word {
        "call" | "start" | "notice" | "fault" | "allocation" | "free" | "return" => DRIVER,
        "clone" | "zeros" | "alloc" | "core" | "caller" | "thread 1" | "thread 2" | "B" => MEMORY,
        "copy" | "bytes" | "trip" | "up" | "engine" => UPLOAD,
        "down" => DOWNLOAD,
        "kernel" | "GPU" | "A" => COMPUTE,
        "wait" | "runs" => Pen::MUTED,
        "starting" | "thread" | "launch 0" | "launch 1" | "launch 2" => DRIVER,
        "load" | "loads" | "fetch" | "memory" => UPLOAD,
        "store" | "stores" => DOWNLOAD,
        "share 0" | "threads" => MEMORY,
        "work" | "all-reduce" | "GPU 0" | "GPU 1" | "GPU 2" | "GPU 3" => COMPUTE,
        _ => return None,
    })
}

/// Draws panels one below the other, to one scale. A line is a panel's name, or a row: who, and
/// after a colon what is done, each with the number of its slots; `.` is nothing. A word is
/// written where it fits.
pub(super) fn timetable(c: &mut Canvas, panels: &str) {
    let (left, bottom) = strips(c, panels);
    let (y, end) = (bottom + 30.0, c.width - 1.0);
    c.arrow(&[(left, y - 14.0), (end, y - 14.0)], Pen::MUTED);
    c.text((end, y), Anchor::End, Pen::MUTED, "time");
}

/// The panels of a timetable alone, for what is no time; gives the left and the lower end of the
/// slots.
pub(super) fn strips(c: &mut Canvas, panels: &str) -> (f64, f64) {
    const ROW: f64 = 28.0;
    let rows = || panels.lines().filter_map(|line| line.split_once(": "));
    let label = rows().map(|(who, _)| text::width(who)).fold(0.0, f64::max) + 14.0;
    let slots =
        rows().map(|(_, row)| done(row).map(|(_, slots)| slots).sum::<f64>()).fold(1.0, f64::max);
    let slot = (c.width - label - 1.0) / slots;
    let mut top = -24.0;
    for line in panels.lines() {
        let Some((who, row)) = line.split_once(": ") else {
            top += 24.0;
            c.heading((1.0, top + 10.0), Anchor::Start, line);
            top += 24.0;
            continue;
        };
        c.text((1.0, top + ROW / 2.0), Anchor::Start, Pen::INK, who);
        c.fill(area(label, top + 2.0, slots * slot, ROW - 4.0), Pen::MUTED, 0.07);
        let mut x = label;
        for (what, slots) in done(row) {
            let place = area(x, top + 2.0, slots * slot, ROW - 4.0).inside(0.5);
            x += slots * slot;
            if what == "." {
                continue;
            }
            c.cell(place, pen(what).or(pen(who)).unwrap_or(Pen::MUTED), 0.25);
            if text::width(what) + 4.0 < place.right - place.left {
                c.label(place, what);
            }
        }
        top += ROW;
    }
    (label, top)
}

/// What is done in a row, and for how many slots.
fn done(row: &str) -> impl Iterator<Item = (&str, f64)> {
    row.split(", ").map(|work| {
        let (slots, what) = work.split_once(' ').unwrap_or(("1", work));
        (what, slots.parse().expect("a number of slots"))
    })
}

pub(super) const CLOCK: Drawing = Drawing {
    name: "clock",
    title: "What a clock encloses decides what it times",
    description: "Three timetables of a clock, the host and the GPU. In the chapter's listing the \
        clock runs through a clone, an allocation and the copy. In the second it stops when the \
        call returns, and the copy goes on. In the third it runs through the call and the wait, \
        until the copy is done.",
    caption: "The same copy under three clocks. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "The chapter's listing
clock: 12 runs
host: 4 clone, 4 allocation, 4 wait
engine: 8 ., 4 copy
Stopped when the call returns
clock: 2 runs
host: 2 call
engine: 2 ., 4 copy
The right way
clock: 6 runs
host: 2 call, 4 wait
engine: 2 ., 4 copy";
        timetable(c, panels);
    },
};

pub(super) const COPY_TIME: Drawing = Drawing {
    name: "copy-time",
    title: "Every copy takes a start, and then the time of its bytes",
    description: "Three copies. Each begins with a start of the same length. In the second copy \
        start and bytes take equally long; in the first the bytes take half of that, in the \
        third five times as long.",
    caption: "Three copies of different sizes: the start takes as long in each.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "The same start for each
small: 2 start, 1 bytes
medium: 2 start, 2 bytes
large: 2 start, 10 bytes";
        timetable(c, panels);
    },
};

pub(super) const LATENCY: Drawing = Drawing {
    name: "latency",
    title: "A copy that the host waits for has a call, a start, a trip and a notice",
    description: "Two timetables of the host and the copy engine. One copy: the host calls, the \
        engine starts, the bytes make their trip, and a notice goes back to the host, which \
        waits until then. Four queued copies: the host calls four times, and the engine's copies \
        follow one another without a gap.",
    caption: "One copy with a wait, and four in a queue. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "One copy, and a wait
host: 2 call, 8 wait
engine: 3 ., 2 start, 2 trip, 3 notice
Four copies in a queue
host: 4 call
engine: 4 ., 2 1, 2 2, 2 3, 2 4";
        timetable(c, panels);
    },
};

pub(super) const TRIPS: Drawing = Drawing {
    name: "trips",
    title: "Three kernels need three round trips, or one",
    description: "Two timetables of the link and the GPU. With a round trip for each kernel the \
        link carries the data to the GPU and back three times, and a kernel runs in between. \
        With data that stays, there is one copy to the GPU, then three kernels, then one copy \
        back.",
    caption: "Three kernels on the same data: with a round trip for each, and with data that \
        stays on the GPU.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "A round trip for each kernel
link: 2 up, 1 ., 2 down, 2 up, 1 ., 2 down, 2 up, 1 ., 2 down
GPU: 2 ., 1 1, 4 ., 1 2, 4 ., 1 3
Data that stays
link: 2 up, 3 ., 2 down
GPU: 2 ., 1 1, 1 2, 1 3";
        timetable(c, panels);
    },
};
