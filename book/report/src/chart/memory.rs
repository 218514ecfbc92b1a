//! Memory over time: steps, in one or several panels below each other that have the
//! same axes.
//!
//! A panel is a chart of [`super::lines`], less high.

use std::fmt::Write as _;

use super::legend::nothing;
use super::sheet::sheet;
use super::{Lines, Memory, Picture, Width, lines};
use crate::svg::short;
use crate::svg::text::{self, LINE};

const HEADING: f64 = LINE + 6.0;
/// Between panels.
const BETWEEN: f64 = 14.0;

pub(super) fn draw(memory: &Memory, width: Width) -> Picture {
    let size = width.pick((640.0, 270.0), (360.0, 270.0));
    let all: Vec<&Lines> = memory.panels.iter().map(|panel| &panel.lines).collect();
    let (mut body, mut top) = (String::new(), 0.0);
    for panel in &memory.panels {
        if !panel.label.is_empty() {
            let heading = sheet(size.0, HEADING, |sheet| {
                let label = text::cut(&panel.label, 0.92 * size.0);
                sheet.heading(0.0, LINE / 2.0, &label);
            });
            body += &moved(&heading, top);
            top += HEADING;
        }
        let picture = lines::panel(&panel.lines, &all, size, width);
        body += &moved(&picture.body, top);
        top += picture.size.1 + BETWEEN;
    }
    if memory.panels.is_empty() {
        body = sheet(size.0, size.1, |sheet| {
            nothing(sheet, (size.0 / 2.0, size.1 / 2.0));
        });
        top = size.1 + BETWEEN;
    }
    Picture { size: (size.0, top - BETWEEN), body, reading: None }
}

/// What was drawn on a sheet, further down.
fn moved(body: &str, top: f64) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "<g transform=\"translate(0 {})\">", short(top));
    out + body + "</g>\n"
}
