//! SVG in the house style: the colours are the theme's, which are also those of the book's
//! drawings; text has one size; the sheet is 640 pixels wide, or 360 for a phone.

use std::fmt::Write;

/// A kernel, and the threads that run it; as in the book's drawings.
pub(super) const COMPUTE: &str = "var(--chart-1,#0065b4)";
/// Memory, and what lies in it.
pub(super) const MEMORY: &str = "var(--chart-5,#5c4200)";
/// What has to be read.
pub(super) const INK: &str = "var(--chart-ink,#1a1a1a)";
/// What is wrong.
pub(super) const BAD: &str = "var(--workbook-bad,#9b1c31)";
/// What need not be.
pub(super) const MUTED: &str = "var(--chart-muted,#595959)";

/// What is there to be clicked or dragged, and not to be seen.
const UNSEEN: &str = "transparent";

/// A sheet that is drawn on.
pub(super) struct Picture {
    pub(super) width: f64,
    is_narrow: bool,
    bottom: f64,
    body: String,
}

/// A rectangle: left, top, width, height.
pub(super) type Area = [f64; 4];

/// Where a text is held.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The finished picture for a page or for a phone.
pub(super) fn svg(label: &str, is_narrow: bool, draw: &dyn Fn(&mut Picture)) -> String {
    let (class, width) = if is_narrow { ("narrow", 360.0) } else { ("wide", 640.0) };
    let mut picture = Picture { width, is_narrow, bottom: 0.0, body: String::new() };
    draw(&mut picture);
    format!(
        "<svg class=\"{class}\" xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"{}\" \
         font-family=\"'Open Sans',Arial,sans-serif\" font-size=\"13\">\n{}</svg>\n",
        short(picture.bottom + 4.0),
        escape(&label.replace('`', "")),
        picture.body
    )
}

impl Picture {
    /// What belongs to its width.
    pub(super) fn pick<T>(&self, wide: T, narrow: T) -> T {
        if self.is_narrow { narrow } else { wide }
    }

    /// Draws a rectangle, filled with so much of a colour, with an edge or without.
    pub(super) fn cell(&mut self, area: Area, pen: &str, fill: f64, has_edge: bool) {
        self.bottom = self.bottom.max(area[1] + area[3]);
        let edge = if has_edge { format!(" stroke=\"{pen}\"") } else { String::new() };
        self.rect(area, pen, &format!("fill-opacity=\"{}\"{edge}", short(fill)));
    }

    /// Draws many lines of one look.
    pub(super) fn lines(&mut self, lines: &[[f64; 4]], pen: &str, opacity: f64) {
        let path = |[x, y, to_x, to_y]: [String; 4]| format!("M{x} {y}L{to_x} {to_y}");
        let path: String = lines.iter().map(|line| path(line.map(short))).collect();
        let opacity = short(opacity);
        let _ = writeln!(self.body, "<path d=\"{path}\" stroke=\"{pen}\" opacity=\"{opacity}\"/>");
    }

    /// Writes a line of text, `y` its middle.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, pen: &str, text: &str) {
        self.write((x, y), anchor, pen, "", text);
    }

    /// The same, in bold.
    pub(super) fn heading(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.write(at, anchor, INK, " font-weight=\"600\"", text);
    }

    fn write(&mut self, (x, y): (f64, f64), anchor: Anchor, pen: &str, weight: &str, text: &str) {
        self.bottom = self.bottom.max(y + 6.5);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (short(x), short(y + 4.5), escape(text));
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{pen}\"{anchor}{weight}>{text}</text>"
        );
    }

    /// A place that sets knobs where it is clicked or tapped: `warp=3`, as an address has it.
    pub(super) fn target(&mut self, area: Area, sets: &str) {
        self.rect(area, UNSEEN, &format!("data-state=\"{}\"", escape(sets)));
    }

    /// Something that is dragged, by mouse or by touch, onto the [places](Self::place) for it.
    pub(super) fn handle(&mut self, area: Area, name: &str) {
        self.rect(area, UNSEEN, &format!("data-drag=\"{name}\""));
    }

    /// A place that sets knobs as soon as the thing of this name is dragged there.
    pub(super) fn place(&mut self, area: Area, name: &str, sets: &str) {
        self.rect(area, UNSEEN, &format!("data-for=\"{name}\" data-state=\"{}\"", escape(sets)));
    }

    fn rect(&mut self, area: Area, pen: &str, attributes: &str) {
        let [x, y, width, height] = area.map(short);
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{pen}\" \
             {attributes}/>"
        );
    }

    /// Draws what was measured. A page hides it while the chart of this name is veiled, and says
    /// so in its room; a click there leads to the chart and its prediction.
    pub(super) fn measured(
        &mut self,
        chart: Option<&str>,
        room: Area,
        draw: impl FnOnce(&mut Self),
    ) {
        let Some(chart) = chart else {
            self.body += "<g class=\"measured\">\n";
            draw(self);
            self.body += "</g>\n";
            return;
        };
        let _ = writeln!(self.body, "<g class=\"measured\" data-chart=\"figure-{chart}\">");
        draw(self);
        self.body += "<g class=\"until\">\n";
        self.cell(room, MUTED, 0.05, false);
        let middle = (room[0] + room[2] / 2.0, room[1] + room[3] / 2.0);
        let text = "What was measured shows after the prediction of its chart.";
        self.text(middle, Anchor::Middle, MUTED, text);
        self.body += "</g>\n</g>\n";
    }

    /// How far down it is drawn on.
    pub(super) fn bottom(&self) -> f64 {
        self.bottom
    }

    /// Leaves room down to here, so that nothing below moves with what is drawn.
    pub(super) fn reach(&mut self, bottom: f64) {
        self.bottom = self.bottom.max(bottom);
    }
}

/// A number with at most two digits after the point.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
