//! Pictures on their way around mdBook: they are taken out of the pages before it reads
//! them, so that its search does not index every number of every chart, and put back, in
//! fewer bytes, when the book is finished.

use std::ops::Range;

use mdbook_preprocessor::book::Book;

/// Where a picture was.
const MARK: &str = "<!--picture ";
const MARK_END: &str = "-->";

/// The pictures of a book, in the order of their marks.
#[derive(Clone, Debug, Default)]
pub struct Pictures(Vec<String>);

impl Pictures {
    /// Takes the pictures out of all pages, and leaves marks.
    pub fn take_out(book: &mut Book) -> Pictures {
        let mut pictures = Pictures::default();
        book.for_each_chapter_mut(|chapter| {
            chapter.content = pictures.take(&chapter.content);
        });
        pictures
    }

    fn take(&mut self, text: &str) -> String {
        let (mut out, mut end) = (String::new(), 0);
        for picture in find(text) {
            out += &text[end..picture.start];
            out += &format!("{MARK}{}{MARK_END}\n", self.0.len());
            end = picture.end;
            self.0.push(thin(&text[picture]));
        }
        out + &text[end..]
    }

    /// A finished page with its pictures.
    pub fn put_back(&self, html: &str) -> String {
        let mut parts = html.split(MARK);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let marked = part.split_once(MARK_END).and_then(|(number, rest)| {
                Some((self.0.get(number.parse::<usize>().ok()?)?, rest))
            });
            match marked {
                Some((picture, rest)) => {
                    out += picture.trim_end();
                    out += rest;
                }
                None => out = out + MARK + part,
            }
        }
        out
    }
}

/// Where the pictures are: at the beginning of a line, each with the class of its width.
fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = vec![];
    for (start, _) in text.match_indices("<svg class=\"") {
        let begins_a_line = start == 0 || text[..start].ends_with('\n');
        if let (true, Some(length)) = (begins_a_line, text[start..].find("</svg>\n")) {
            found.push(start..start + length + "</svg>\n".len());
        }
    }
    found
}

/// The same picture in fewer bytes: without the colours for where there is no theme, and, in
/// a chart, with one element for what follows each other and looks alike.
fn thin(svg: &str) -> String {
    let svg = without_fallbacks(svg);
    // Where a guess is drawn, the script looks for the bars that its label must not cover; and
    // shapes of other pictures than charts may have round corners and arrowheads.
    let is_chart = svg.contains("aria-labelledby=\"chart-");
    if !is_chart || svg.contains("data-value-axis") {
        return svg;
    }
    let mut out = String::new();
    let mut shapes: Vec<Shape> = vec![];
    let mut texts: Vec<&str> = vec![];
    for line in svg.lines() {
        let shape = Shape::read(line);
        let text = look_of_text(line);
        if shape.is_none() {
            out += &write(&std::mem::take(&mut shapes));
        }
        let same = texts.first().is_none_or(|first| look_of_text(first) == text);
        if text.is_none() || !same {
            out += &together(&std::mem::take(&mut texts));
        }
        match (shape, text) {
            (Some(shape), _) => shape.draw(&mut shapes),
            (None, Some(_)) => texts.push(line),
            (None, None) => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
}

/// `var(--chart-1,#0065b4)` is `var(--chart-1)` in a book, which has the theme.
fn without_fallbacks(svg: &str) -> String {
    let mut parts = svg.split("var(--chart-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inside, rest) = part.split_once(')').unwrap_or((part, ""));
        let name = inside.split(',').next().unwrap_or_default();
        out += &format!("var(--chart-{name}){rest}");
    }
    out
}

/// A shape without words: its path, and all else that is said of it.
struct Shape {
    path: String,
    look: String,
}

impl Shape {
    /// The rectangle or the line that a line of SVG draws.
    fn read(line: &str) -> Option<Shape> {
        let inside = line.strip_suffix("/>")?.trim_end();
        if let Some(inside) = inside.strip_prefix("<polyline ") {
            let (look, points) = inside.split_once(" points=\"")?;
            let path = path(points.strip_suffix('"')?)?;
            return Some(Shape { path, look: look.to_owned() });
        }
        let mut rest = inside.strip_prefix("<rect")?;
        let mut numbers = [0i64; 4];
        for (number, name) in numbers.iter_mut().zip(["x", "y", "width", "height"]) {
            let value = rest.strip_prefix(&format!(" {name}=\""))?;
            let (value, after) = value.split_once('"')?;
            (*number, rest) = (value.parse().ok()?, after);
        }
        let [x, y, width, height] = numbers;
        let path = format!("M{x},{y}h{width}v{height}h-{width}z");
        Some(Shape { path, look: rest.trim_start().to_owned() })
    }

    /// Adds it to what was drawn just before, if that looks alike. A fill may also go below
    /// the outlines, in its colour, of the fills before it: so bars become two shapes.
    fn draw(self, drawn: &mut Vec<Shape>) {
        let count = drawn.len();
        let like = match drawn.as_mut_slice() {
            [.., last] if last.look == self.look => Some(count - 1),
            [.., fill, outline] if fill.look == self.look && outline.is_around(fill) => {
                Some(count - 2)
            }
            _ => None,
        };
        match like {
            Some(like) => drawn[like].path += &self.path,
            None => drawn.push(self),
        }
    }

    /// Whether it is the outlines of what `fill` fills, each a stroke of its colour.
    fn is_around(&self, fill: &Shape) -> bool {
        let colour = fill.look.split("fill=\"").nth(1).and_then(|c| c.split('"').next());
        let stroke = colour.map(|colour| format!("fill=\"none\" stroke=\"{colour}\""));
        let pairs = || self.path.split('M').zip(fill.path.split('M'));
        stroke.is_some_and(|stroke| self.look.starts_with(&stroke))
            && self.path.matches('M').count() == fill.path.matches('M').count()
            && pairs().all(|(line, area)| line.starts_with(area.trim_end_matches('z')))
    }
}

/// Shapes as SVG; a fill and its outline are one path.
fn write(shapes: &[Shape]) -> String {
    let mut out = String::new();
    let mut shapes = shapes.iter().peekable();
    while let Some(shape) = shapes.next() {
        let Shape { path, look } = shape;
        out += "<path ";
        match shapes.next_if(|next| next.is_around(shape)) {
            Some(outline) => {
                out += &look.replacen("opacity=", "fill-opacity=", 1);
                out += &outline.look.replacen("fill=\"none\"", "", 1);
            }
            None => out += look,
        }
        out += &format!(" d=\"{path}\"/>\n");
    }
    out
}

/// A path through points that stand as they do in a `polyline`, in whole numbers.
fn path(points: &str) -> Option<String> {
    let mut out = String::new();
    let mut last: Option<(i64, i64)> = None;
    for point in points.split_whitespace() {
        let (x, y) = point.split_once(',')?;
        let (x, y): (i64, i64) = (x.parse().ok()?, y.parse().ok()?);
        out += &match last.map(|(a, b)| (x - a, y - b)) {
            None => format!("M{x},{y}"),
            Some((dx, 0)) => format!("h{dx}"),
            Some((0, dy)) => format!("v{dy}"),
            Some((dx, dy)) => format!("l{dx},{dy}"),
        };
        last = Some((x, y));
    }
    Some(out)
}

/// What is said of a text besides its place and its words.
fn look_of_text(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("<text x=\"").filter(|_| line.ends_with("</text>"))?;
    let (_, rest) = inside.split_once("\" y=\"")?;
    let (_, rest) = rest.split_once('"')?;
    Some(rest.split_once('>')?.0)
}

/// Texts that look alike.
fn together(texts: &[&str]) -> String {
    let [first, _, _, ..] = texts else {
        return texts.iter().map(|text| format!("{text}\n")).collect();
    };
    let look = look_of_text(first).unwrap_or_default();
    let texts: String =
        texts.iter().map(|text| text.replacen(&format!("{look}>"), ">", 1)).collect();
    format!("<g{look}>{texts}</g>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_its_own_pictures_back() {
        let svg = "<svg class=\"wide\">\n<circle r=\"1\"/>\n</svg>\n";
        let page = format!("# P\n\n<figure>\n{svg}</figure>\n\n`<svg class=\"` </svg>\n");
        let mut pictures = Pictures::default();
        pictures.take("\n<svg class=\"narrow\">\n</svg>\n");
        let taken = pictures.take(&page);
        assert!(!taken.contains("<circle"), "{taken}");
        assert_eq!(pictures.put_back(&taken), page);
        // What nobody took out is left alone.
        let strange = "<!--picture 7--> <!--picture x--> <!--picture 1";
        assert_eq!(pictures.put_back(strange), strange);
    }

    #[test]
    fn bars_become_a_fill_and_an_outline() {
        let bar = |x: i32, colour: &str| {
            format!(
                "<rect x=\"{x}\" y=\"2\" width=\"3\" height=\"4\" opacity=\"0.36\" \
                 fill=\"var(--chart-{colour},#000)\" />\n\
                 <polyline fill=\"none\" stroke=\"var(--chart-{colour},#000)\" \
                 points=\"{x},2 {end},2 {end},6 {x},6 {x},2\" />\n",
                end = x + 3
            )
        };
        let label =
            |n: i32| format!("<text x=\"{n}\" y=\"0\" fill=\"var(--chart-ink,#000)\">{n}</text>\n");
        let svg = format!(
            "<svg aria-labelledby=\"chart-x\">\n{}{}{}{}{}{}</svg>\n",
            bar(10, "1"),
            bar(20, "1"),
            bar(30, "2"),
            label(1),
            label(2),
            label(3)
        );
        let bars = |colour, path| {
            format!(
                "<path fill-opacity=\"0.36\" fill=\"var(--chart-{colour})\" \
                 stroke=\"var(--chart-{colour})\" d=\"{path}\"/>\n"
            )
        };
        let want = format!(
            "<svg aria-labelledby=\"chart-x\">\n{}{}<g fill=\"var(--chart-ink)\"><text x=\"1\" y=\"0\">1</text>\
             <text x=\"2\" y=\"0\">2</text><text x=\"3\" y=\"0\">3</text></g>\n</svg>\n",
            bars("1", "M10,2h3v4h-3zM20,2h3v4h-3z"),
            bars("2", "M30,2h3v4h-3z"),
        );
        assert_eq!(thin(&svg), want);
        let guessed = svg.replace("<svg", "<svg data-value-axis=\"y\"");
        let drawing = svg.replace("chart-x", "drawing-x");
        for other in [guessed, drawing] {
            assert!(thin(&other).contains("<rect x=\"20\""));
        }
    }
}
