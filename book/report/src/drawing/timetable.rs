//! Timetables: who does what, and when.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, DRIVER, MEMORY, Pen, UPLOAD, area};
use crate::svg::text;

/// What a word is drawn with, whatever its number; a number is drawn as who does it.
fn pen(word: &str) -> Option<Pen> {
    let unnumbered = word.trim_end_matches(|c: char| c == ' ' || c.is_ascii_digit());
    [word, unnumbered].into_iter().find_map(pen_of)
}

fn pen_of(word: &str) -> Option<Pen> {
    Some(match word {
        "call" | "start" | "notice" | "fault" | "allocation" | "free" | "return" => DRIVER,
        "clone" | "zeros" | "alloc" | "core" | "caller" | "thread 1" | "thread 2" | "B" => MEMORY,
        "copy" | "bytes" | "trip" | "up" | "upload" | "engine" => UPLOAD,
        "down" | "download" => DOWNLOAD,
        "kernel" | "matmuls" | "GPU" | "A" => COMPUTE,
        "wait" | "runs" => Pen::MUTED,
        "starting" | "thread" | "launch 0" | "launch 1" | "launch 2" => DRIVER,
        "load" | "loads" | "fetch" | "memory" | "all-reduces" => UPLOAD,
        "store" | "stores" => DOWNLOAD,
        "share 0" | "threads" | "w" => MEMORY,
        "work" | "all-reduce" | "cell" => COMPUTE,
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
