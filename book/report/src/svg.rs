//! SVG, written in one place for charts and drawings.
//!
//! Shapes lie on a grid of quarter pixels, so that curves stay smooth although plotters, through
//! which charts are drawn, knows whole numbers only. Neighbours that look alike are one element.
//! Colours are CSS variables, which the book's theme sets: `--chart-ink`, `--chart-muted`,
//! `--chart-grid`, `--chart-peak`, `--chart-claim`, `--chart-model`, `--chart-paper` and
//! `--chart-1` to `--chart-6`. A picture in a file of its own brings a `standalone` style.

pub(crate) mod text;

use std::convert::Infallible;

use plotters::style::{Color, RGBColor, ShapeStyle};
use plotters_backend::{
    BackendColor, BackendCoord as Dot, BackendStyle, DrawingBackend, DrawingErrorKind,
};

use crate::html::xml;
use text::SIZE;

/// A place, in pixels from the upper left.
pub(crate) type Place = (f64, f64);

/// A rectangle, in pixels; its corners are ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    /// The same, less a margin on all sides.
    pub(crate) fn inside(&self, margin: f64) -> Area {
        let Area { left, top, right, bottom } = self;
        let (left, top) = (left + margin, top + margin);
        Area { left, top, right: right - margin, bottom: bottom - margin }
    }

    pub(crate) fn middle(&self) -> Place {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    /// The upper left, upper right, lower right and lower left one.
    pub(crate) fn corners(&self) -> [Place; 4] {
        let Area { left, top, right, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
    }

    pub(crate) fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Is crossed by the straight line between two places.
    pub(crate) fn crossed_by(&self, a: Place, b: Place) -> bool {
        let ((ax, ay), (bx, by)) = if a.0 <= b.0 { (a, b) } else { (b, a) };
        if bx < self.left || ax > self.right {
            return false;
        }
        // The heights at which the line enters and leaves the area's columns.
        let at = |x: f64| {
            if bx > ax { ay + (by - ay) * (x - ax) / (bx - ax) } else { ay }
        };
        let (enters, leaves) = (at(ax.max(self.left)), at(bx.min(self.right)));
        let leaves = if bx > ax { leaves } else { by };
        enters.min(leaves) < self.bottom && enters.max(leaves) > self.top
    }
}

/// The width that a picture is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A page: 640 pixels.
    Wide,
    /// A phone: 360 pixels.
    Narrow,
}

impl Width {
    pub(crate) fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Width::Wide => wide,
            Width::Narrow => narrow,
        }
    }
}

/// A colour of the theme, and how lines in it are dashed. To plotters it is a colour whose parts
/// are the places in these tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pen {
    color: u8,
    dash: u8,
}

/// Each colour's CSS variable (`--chart-NAME`), and what it is where no theme sets it.
const COLORS: [(&str, &str); 13] = [
    ("ink", "#1a1a1a"),
    ("muted", "#595959"),
    ("grid", "#dedede"),
    ("peak", "#444444"),
    ("claim", "#9b1c31"),
    ("model", "#555555"),
    ("paper", "#ffffff"),
    ("1", "#0065b4"),
    ("2", "#ad3b00"),
    ("3", "#005247"),
    ("4", "#b02a86"),
    ("5", "#5c4200"),
    ("6", "#43329b"),
];

const FIRST_SERIES: u8 = 7;

/// Dash patterns, in quarter pixels.
const DASHES: [&str; 9] =
    ["", "28 16", "6 14", "20 12", "24 10 6 10", "48 24", "24 48", "16 12", "20 16"];

impl Pen {
    pub(crate) const INK: Pen = Pen { color: 0, dash: 0 };
    pub(crate) const MUTED: Pen = Pen { color: 1, dash: 0 };
    pub(crate) const GRID: Pen = Pen { color: 2, dash: 0 };
    pub(crate) const PEAK: Pen = Pen { color: 3, dash: 0 };
    pub(crate) const CLAIM: Pen = Pen { color: 4, dash: 1 };
    /// Around what lies on a bar, in any theme.
    pub(crate) const PAPER: Pen = Pen { color: 6, dash: 0 };
    /// In the key: another machine's.
    pub(crate) const BESIDE: Pen = Pen::INK.short_dashes();

    /// The `n`th model: one colour, three dash patterns in turn.
    pub(crate) fn model(n: usize) -> Pen {
        Pen { color: 5, dash: 2 + (n % 3) as u8 }
    }

    /// The `n`th series: six colours in turn.
    pub(crate) const fn series(n: usize) -> Pen {
        Pen { color: FIRST_SERIES + (n % 6) as u8, dash: 0 }
    }

    /// What another machine has of the `n`th series.
    pub(crate) const fn beside(n: usize) -> Pen {
        Pen::series(n).short_dashes()
    }

    /// The same of a series, in dashes that leave gaps to those that it is drawn over:
    /// one, or two and more.
    pub(crate) const fn over(self, others: usize) -> Pen {
        Pen { dash: if others > 1 { 6 } else { 5 }, ..self }
    }

    /// The same for what is gone, not there yet, or another's.
    pub(crate) const fn short_dashes(self) -> Pen {
        Pen { dash: 7, ..self }
    }

    /// The same for another machine's guide: unlike its curves, and unlike the first two models.
    pub(crate) const fn dots_and_dashes(self) -> Pen {
        Pen { dash: 4, ..self }
    }

    /// The same for a signal.
    pub(crate) const fn signal(self) -> Pen {
        Pen { dash: 8, ..self }
    }

    /// The width of its lines in a chart.
    pub(crate) fn width(self) -> f64 {
        match self {
            Pen::PEAK => 1.0,
            Pen::CLAIM | Pen { dash: 7, .. } => 1.25,
            Pen { color: FIRST_SERIES.., .. } => 2.0,
            _ => 1.5,
        }
    }

    pub(crate) fn css(self) -> String {
        format!("var(--chart-{})", COLORS[usize::from(self.color)].0)
    }

    fn style(self, opacity: f64, filled: bool, stroke_width: u32) -> ShapeStyle {
        let color = RGBColor(self.color, self.dash, 0).mix(opacity);
        ShapeStyle { color, filled, stroke_width }
    }

    /// A stroke of this width in pixels.
    pub(crate) fn stroke(self, width: f64) -> ShapeStyle {
        self.style(1.0, false, quarter(width) as u32)
    }

    /// The stroke of what is no data.
    pub(crate) fn faint(self) -> ShapeStyle {
        self.style(0.5, false, LINE_WIDTH)
    }

    pub(crate) fn fill(self, opacity: f64) -> ShapeStyle {
        self.style(opacity, true, 0)
    }
}

/// A length in quarter pixels.
pub(crate) fn quarter(pixels: f64) -> i32 {
    (pixels * 4.0).round() as i32
}

/// A place on the grid of quarter pixels.
pub(crate) fn dot((x, y): Place) -> Dot {
    (quarter(x), quarter(y))
}

/// A coordinate, to the quarter pixel.
pub(crate) fn short(pixels: f64) -> f64 {
    f64::from(quarter(pixels)) / 4.0
}

/// How a shape is drawn.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Look {
    pub(crate) pen: Pen,
    /// The opacity of its inside; none is 0.
    pub(crate) fill: f64,
    /// The opacity of its line; none is 0.
    pub(crate) line: f64,
    /// The width of its line in quarter pixels.
    pub(crate) width: u32,
}

impl Look {
    fn of(style: &impl BackendStyle, is_filled: bool) -> Look {
        let BackendColor { alpha, rgb: (color, dash, _) } = style.color();
        let (pen, width) = (Pen { color, dash }, style.stroke_width());
        match is_filled {
            true => Look { pen, fill: alpha, line: 0.0, width },
            false => Look { pen, fill: 0.0, line: alpha, width },
        }
    }

    /// Its attributes, those left out that a group of shapes has.
    fn attributes(&self) -> String {
        let Look { pen, fill, line, width } = *self;
        let css = pen.css();
        let opacity = |of: &str, value: f64| match value {
            1.0 => String::new(),
            value => format!(" {of}-opacity=\"{}\"", (value * 1e3).round() / 1e3),
        };
        let mut out = match fill {
            0.0 => " fill=\"none\"".to_owned(),
            _ => format!(" fill=\"{css}\"{}", opacity("fill", fill)),
        };
        if line > 0.0 {
            out += &format!(" stroke=\"{css}\"{}", opacity("stroke", line));
            if width != LINE_WIDTH {
                out += &format!(" stroke-width=\"{width}\"");
            }
            if let dash @ 1.. = pen.dash {
                out += &format!(" stroke-dasharray=\"{}\"", DASHES[usize::from(dash)]);
            }
        }
        out
    }
}

/// The width of a line that does not say its own: one pixel.
const LINE_WIDTH: u32 = 4;

/// A shape, on the grid.
pub(crate) struct Shape {
    pub(crate) form: Form,
    pub(crate) look: Look,
}

pub(crate) enum Form {
    /// Lines, each through these dots, and back to its first one if they are closed.
    Lines(Vec<Vec<Dot>>, bool),
    /// A rectangle between two corners, which have this radius.
    Rectangle([Dot; 2], i32),
    /// Around a dot, with this radius.
    Disc(Dot, u32),
}

impl Shape {
    fn svg(&self) -> String {
        let look = self.look.attributes();
        match &self.form {
            Form::Lines(lines, closed) => {
                let lines = lines.iter().map(|line| path(line, *closed));
                format!("<path{look} d=\"{}\"/>\n", lines.collect::<String>())
            }
            Form::Rectangle([(x, y), to], radius) => {
                let (width, height) = (to.0 - x, to.1 - y);
                let round = match radius {
                    0 => String::new(),
                    radius => format!(" rx=\"{radius}\""),
                };
                format!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{round}{look}/>\n"
                )
            }
            Form::Disc((x, y), radius) => {
                format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{look}/>\n")
            }
        }
    }
}

/// The commands that draw a line through these dots: its first place, then each from the last.
fn path(dots: &[Dot], closed: bool) -> String {
    let (mut out, mut last) = (String::new(), (0, 0));
    for (n, &(x, y)) in dots.iter().enumerate() {
        let before = ["M", "l", " "][n.min(2)];
        out += &format!("{before}{},{}", x - last.0, y - last.1);
        last = (x, y);
    }
    if closed { out + "z" } else { out }
}

/// The side of its anchor point that a text lies on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// How far a text of this width reaches to the left of its anchor point.
    pub(crate) fn before(self, width: f64) -> f64 {
        match self {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Face {
    Plain,
    Bold,
    /// On a fill, which the halo of other texts would stain.
    Bare,
}

pub(crate) struct Text {
    /// Its anchor point, in the middle of its height.
    at: Place,
    anchor: Anchor,
    pen: Pen,
    face: Face,
    pub(crate) content: String,
}

impl Text {
    /// The area that it covers, if it is so high, and bold letters are so many times as wide.
    pub(crate) fn area(&self, height: f64, bold: f64) -> Area {
        let scale = if self.face == Face::Bold { bold } else { 1.0 };
        let width = text::width(&self.content) * scale;
        let left = self.at.0 - self.anchor.before(width);
        let (top, bottom) = (self.at.1 - height / 2.0, self.at.1 + height / 2.0);
        Area { left, top, right: left + width, bottom }
    }

    /// What it has in common with others.
    fn look(&self) -> String {
        let anchor = match self.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let face = match self.face {
            Face::Plain => "",
            Face::Bold => " font-weight=\"600\"",
            Face::Bare => " stroke=\"none\"",
        };
        format!("{anchor}{face} fill=\"{}\"", self.pen.css())
    }

    fn svg(&self, look: &str) -> String {
        // The baseline: half the height of a capital below the middle.
        let (x, y) = (short(self.at.0), short(self.at.1 + 0.36 * SIZE));
        format!("<text x=\"{x}\" y=\"{y}\"{look}>{}</text>\n", xml(&self.content))
    }
}

/// What is drawn and written so far.
pub(crate) struct Svg {
    /// What lies beyond it is moved to its edge.
    size: Place,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) texts: Vec<Text>,
}

impl Svg {
    pub(crate) fn new(size: Place) -> Svg {
        Svg { size, shapes: vec![], texts: vec![] }
    }

    /// Draws a line through these dots, and back to the first if it is closed.
    pub(crate) fn line(&mut self, line: Vec<Dot>, is_closed: bool, look: Look) {
        match self.shapes.last_mut() {
            Some(Shape { form: Form::Lines(lines, closed), look: same })
                if *same == look && *closed == is_closed =>
            {
                lines.push(line);
            }
            _ => self.draw(Form::Lines(vec![line], is_closed), look),
        }
    }

    pub(crate) fn draw(&mut self, form: Form, look: Look) {
        self.shapes.push(Shape { form, look });
    }

    /// Writes a line of text, if it says anything; `y` is its middle.
    pub(crate) fn text(&mut self, at: Place, anchor: Anchor, pen: Pen, face: Face, content: &str) {
        if !content.is_empty() {
            self.texts.push(Text { at, anchor, pen, face, content: content.to_owned() });
        }
    }

    /// The shapes as an element.
    pub(crate) fn shapes(&self) -> String {
        let shapes: String = self.shapes.iter().map(Shape::svg).collect();
        format!("<g transform=\"scale(.25)\" stroke-width=\"{LINE_WIDTH}\">\n{shapes}</g>\n")
    }

    pub(crate) fn texts(&self) -> String {
        let mut out = String::new();
        for alike in self.texts.chunk_by(|a, b| a.look() == b.look()) {
            let look = alike[0].look();
            let (around, own) = if alike.len() > 2 { (&*look, "") } else { ("", &*look) };
            let texts: String = alike.iter().map(|text| text.svg(own)).collect();
            out += &match around {
                "" => texts,
                look => format!("<g{look}>\n{texts}</g>\n"),
            };
        }
        out
    }
}

/// What drawing on an [`Svg`] returns.
type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl DrawingBackend for &mut Svg {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let (width, height) = dot(self.size);
        (width as u32, height as u32)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): Dot, color: BackendColor) -> Drawn {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_rect<S: BackendStyle>(&mut self, from: Dot, to: Dot, style: &S, fill: bool) -> Drawn {
        self.draw(Form::Rectangle([from, to], 0), Look::of(style, fill));
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = Dot>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.line(path.into_iter().collect(), false, Look::of(style, false));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = Dot>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.line(path.into_iter().collect(), true, Look::of(style, true));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        middle: Dot,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.draw(Form::Disc(middle, radius), Look::of(style, fill));
        Ok(())
    }
}

/// A picture as an `<svg>` element without blank lines, ending with a newline. Its `id` is unique
/// in its page; its title and its description, of what is to be seen, are for screen readers.
pub(crate) fn element(
    id: &str,
    (width, size): (Width, Place),
    [title, description]: [&str; 2],
    attributes: &str,
    body: &str,
) -> String {
    let class = width.pick("wide", "narrow");
    let (id, title, description) = (xml(id), xml(title), xml(description));
    let id = format!("{id}-{class}");
    let (width, height) = (short(size.0), short(size.1));
    format!(
        "<svg class=\"{class}\" xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" \
         font-family=\"'Open Sans',Arial,sans-serif\" font-size=\"{SIZE}\"{attributes}>\n\
         <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{description}</desc>\n\
         {body}</svg>\n"
    )
}

/// The same picture for a file of its own, where no theme sets its colours.
pub(crate) fn standalone(svg: &str) -> String {
    let (head, rest) = svg.split_once('\n').unwrap_or((svg, ""));
    let colors: String =
        COLORS.iter().map(|(name, color)| format!("--chart-{name}:{color};")).collect();
    format!("{head}\n<style>svg{{{}}}</style>\n{rest}", colors.trim_end_matches(';'))
}
