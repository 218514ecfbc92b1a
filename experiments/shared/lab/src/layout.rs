//! Columns for rows that come one by one: each is printed at once, and stands under a heading
//! that was printed before it. So widths are guesses, and where one turns out too narrow, or
//! rows have other parameters, the heading is printed again.

use std::collections::BTreeSet;

use anstyle::Style;

/// Characters of a line at most, however wide the terminal is.
const WIDEST: usize = 100;
/// Characters of a line at least, however narrow the terminal is.
const NARROWEST: usize = 40;
/// Spaces between columns.
const GAP: usize = 2;
const HEADING_LINES: usize = 2;
/// Room that most texts beside the figures need.
const BESIDE: usize = 26;
/// Where a row has nothing under a heading.
const NOTHING: &str = "–";

/// How many characters a line may have here: 100, or fewer if the terminal, or `COLUMNS`,
/// has fewer.
pub fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.or_else(of_terminal).unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

#[cfg(unix)]
fn of_terminal() -> Option<usize> {
    use rustix::termios::tcgetwinsize;
    let size = tcgetwinsize(std::io::stdout()).or_else(|_| tcgetwinsize(std::io::stderr()));
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn of_terminal() -> Option<usize> {
    None
}

/// The words of `text` on lines of at most `width` characters; all but the first begin with
/// `indent` spaces. A word that is longer than a line has one for itself.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let (mut lines, mut line) = (vec![], String::new());
    for word in text.split_whitespace() {
        if !line.trim().is_empty() {
            if length(&line) + 1 + length(word) > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            } else {
                line.push(' ');
            }
        }
        line += word;
    }
    lines.push(line);
    lines.join("\n")
}

/// A program's options with their help, and that of its commands, on lines of at most 100
/// characters: clap leaves a text on one.
pub fn wrap_help(command: clap::Command) -> clap::Command {
    /// Around the option: what indents it, room for a short one, and a gap.
    const AROUND: usize = 8;
    // `--name <VALUE>`, or `[VALUE]...`
    let of_option = |option: &clap::Arg| {
        let value = option.get_value_names().and_then(|names| names.first());
        let value = value.map_or(option.get_id().as_str(), |value| value.as_str());
        let value = if option.get_action().takes_values() { value.len() + 5 } else { 0 };
        option.get_long().map_or(0, |name| name.len() + 2) + value
    };
    let room = WIDEST - command.get_arguments().map(of_option).max().unwrap_or(0) - AROUND;
    let after = command.get_after_help().map(|text| wrap_lines(&text.to_string(), WIDEST));
    let command = command.mut_args(|option| match option.get_help() {
        Some(text) => {
            let text = wrap_lines(&text.to_string(), room);
            option.help(text)
        }
        None => option,
    });
    let command = command.mut_subcommands(wrap_help);
    match after {
        Some(after) => command.after_help(after),
        None => command,
    }
}

/// Each line of `text` on lines of at most `width` characters.
fn wrap_lines(text: &str, width: usize) -> String {
    text.lines().map(|line| wrap(line, width, 0)).collect::<Vec<_>>().join("\n")
}

/// The words of `text`, to be printed after `before` other characters: the further lines are
/// under the first.
pub fn beside(text: &str, before: usize) -> String {
    let lines = wrap(text, width().saturating_sub(before), 0);
    lines.replace('\n', &format!("\n{:before$}", ""))
}

/// `text`, or as much of it as there is room for.
pub fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept.trim_end().to_owned() + "…"
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// What stands in one column of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What the column is called, unlike any other.
    pub(crate) name: String,
    /// Its heading, on as many lines as it has words.
    pub(crate) heading: String,
    pub(crate) text: String,
    /// Room that all texts of the column are known to need.
    pub(crate) room: usize,
    pub(crate) place: Place,
    pub(crate) style: Style,
}

/// What a column is for. Columns stand in this order, and where there is no room for all, the
/// last ones are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The name of the case.
    Case,
    /// A parameter that is a word.
    Word,
    /// A parameter that is a number.
    Number,
    /// A figure, by its rank among them.
    Figure(u8),
    /// Something that is not as important, by its rank.
    Extra(u8),
    /// Something to compare the figures with.
    Beside,
}

impl Place {
    pub(crate) fn is_label(self) -> bool {
        self <= Place::Number
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    heading: String,
    place: Place,
    style: Style,
    /// Its widest text or word so far.
    least: usize,
    /// 0 if there is no room for it.
    width: usize,
}

/// The columns of the rows that are being printed.
pub(crate) struct Layout {
    width: usize,
    columns: Vec<Column>,
    /// The parameters that these columns are for: mostly one set of them.
    sets: Vec<BTreeSet<String>>,
    /// The sets of the columns before.
    before: Vec<BTreeSet<String>>,
}

/// Rows that take turns share columns if not more parameters than these are of one only.
const FEW: usize = 2;

impl Layout {
    /// No columns yet; their rows are to have at most `width` characters.
    pub(crate) fn new(width: usize) -> Layout {
        Layout { width, columns: vec![], sets: vec![], before: vec![] }
    }

    /// The heading to print first, if the row needs another one, and the row.
    pub(crate) fn row(&mut self, cells: &[Cell]) -> (Option<String>, String) {
        let is_label = |cell: &&Cell| cell.place.is_label();
        let labels = cells.iter().filter(is_label).map(|cell| cell.name.clone());
        let labels: BTreeSet<String> = labels.collect();
        let mut columns = self.columns.clone();
        if !self.sets.contains(&labels) {
            let mut before = std::mem::take(&mut self.sets);
            let alternate = self.before.contains(&labels)
                && before.iter().all(|set| set.symmetric_difference(&labels).count() <= FEW);
            if alternate {
                self.sets.append(&mut before);
            } else {
                columns.clear();
            }
            self.before = before;
            self.sets.push(labels);
        }
        for cell in cells {
            widen(&mut columns, cell);
        }
        fit(&mut columns, self.width);
        let heading = |columns: &[Column]| {
            let shown = columns.iter().filter(|column| column.width > 0);
            shown.map(|column| (column.name.clone(), column.width)).collect::<Vec<_>>()
        };
        let is_new = heading(&columns) != heading(&self.columns);
        self.columns = columns;
        (is_new.then(|| self.heading()), self.line(cells))
    }

    /// The heading and the lines of rows that are all known, if there is room for every column or
    /// columns may be left out.
    pub(crate) fn table(
        width: usize,
        rows: &[Vec<Cell>],
        may_leave_out: bool,
    ) -> Option<(String, Vec<String>)> {
        let mut layout = Layout::new(width);
        rows.iter().flatten().for_each(|cell| widen(&mut layout.columns, cell));
        fit(&mut layout.columns, width);
        let has_room = layout.columns.iter().all(|column| column.width > 0);
        let lines = rows.iter().map(|cells| layout.line(cells)).collect();
        (has_room || may_leave_out).then(|| (layout.heading(), lines))
    }

    /// Headings of the columns that are shown, and of those that there is no room for.
    pub(crate) fn headings(&self) -> (Vec<String>, Vec<String>) {
        let (shown, left_out): (Vec<&Column>, _) =
            self.columns.iter().partition(|column| column.width > 0);
        let headings = |columns: Vec<&Column>| {
            columns.into_iter().map(|column| column.heading.clone()).collect()
        };
        (headings(shown), headings(left_out))
    }

    fn heading(&self) -> String {
        let shown = || self.columns.iter().filter(|column| column.width > 0);
        let headings = shown().map(|column| wrap(&column.heading, column.width, 0));
        let headings: Vec<String> = headings.collect();
        let most = headings.iter().map(|heading| heading.lines().count()).max();
        let bold = Style::new().bold();
        let line = |number: usize| {
            let texts = headings.iter().map(|heading| {
                let above = most.unwrap_or(0) - heading.lines().count();
                number.checked_sub(above).and_then(|n| heading.lines().nth(n)).unwrap_or("")
            });
            let texts = shown().zip(texts).map(|(column, text)| pad(column, text));
            let line = texts.collect::<Vec<_>>().join(&" ".repeat(GAP));
            format!("{bold}{}{bold:#}", line.trim_end())
        };
        (0..most.unwrap_or(0)).map(line).collect::<Vec<_>>().join("\n")
    }

    fn line(&self, cells: &[Cell]) -> String {
        let shown = self.columns.iter().filter(|column| column.width > 0);
        let mut before = 0;
        let texts = shown.map(|column| {
            let cell = cells.iter().find(|cell| cell.name == column.name);
            let text = cell.map_or(NOTHING, |cell| &cell.text);
            let text = match column.place {
                // Nothing follows: it may go on below.
                Place::Beside => {
                    let lines = wrap(text, column.width, 0);
                    let lines = lines.lines().map(|line| cut(line, column.width));
                    lines.collect::<Vec<_>>().join(&format!("\n{:before$}", ""))
                }
                _ => pad(column, text),
            };
            before += column.width + GAP;
            let style = column.style;
            format!("{style}{text}{style:#}")
        });
        let line = texts.collect::<Vec<_>>().join(&" ".repeat(GAP));
        line.trim_end().to_owned()
    }
}

/// Adds the cell's column, or makes room for the cell in it. Text beside the figures never widens
/// the table: it takes more lines.
fn widen(columns: &mut Vec<Column>, cell: &Cell) {
    let text = if cell.place == Place::Beside { "" } else { &cell.text };
    if let Some(column) = columns.iter_mut().find(|column| column.name == cell.name) {
        column.least = column.least.max(length(text));
        return;
    }
    let lines = |width: &usize| wrap(&cell.heading, *width, 0).lines().count();
    let words = cell.heading.split_whitespace().chain([text]);
    let least = words.map(length).max().unwrap_or(0).max(cell.room).max(1);
    let least = (least..).find(|width| lines(width) <= HEADING_LINES).unwrap_or(least);
    let at = columns.partition_point(|column| column.place <= cell.place);
    let Cell { name, heading, place, style, .. } = cell.clone();
    columns.insert(at, Column { name, heading, place, style, least, width: 0 });
}

/// Gives each column its width. Labels are never left out, but their words may be cut. What is
/// left over is for words, so that a longer one that comes later fits: as much as most need,
/// then as nearly all do.
fn fit(columns: &mut [Column], width: usize) {
    columns.iter_mut().for_each(|column| column.width = 0);
    let mut room = (width + GAP) as isize;
    let is_word = |place| place <= Place::Word;
    let is_beside = |place| place == Place::Beside;
    let is_extra = |place| matches!(place, Place::Extra(_));
    take(columns, &mut room, |place| place < Place::Extra(0));
    take(columns, &mut room, is_beside);
    give(columns, &mut room, is_word, 10);
    take(columns, &mut room, is_extra);
    give(columns, &mut room, is_beside, BESIDE);
    give(columns, &mut room, is_word, 14);
    give(columns, &mut room, is_word, 20);
    while room < 0 {
        let words = columns.iter_mut().filter(|column| column.place <= Place::Word);
        let Some(widest) = words.max_by_key(|column| column.width) else { return };
        if widest.width <= 4 {
            return; // so narrow is no terminal
        }
        widest.width -= 1;
        room += 1;
    }
}

/// Takes room for columns, as long as there is some.
fn take(columns: &mut [Column], room: &mut isize, which: impl Fn(Place) -> bool) {
    for column in columns.iter_mut().filter(|column| which(column.place)) {
        let needed = (column.least + GAP) as isize;
        if needed <= *room || column.place <= Place::Figure(0) {
            column.width = column.least;
            *room -= needed;
        }
    }
}

/// Makes columns wider, up to `most`, as long as there is room.
fn give(columns: &mut [Column], room: &mut isize, which: impl Fn(Place) -> bool, most: usize) {
    let shown = |column: &&mut Column| column.width > 0 && which(column.place);
    for column in columns.iter_mut().filter(shown) {
        let more = most.saturating_sub(column.width);
        let more = more.min(usize::try_from(*room).unwrap_or(0));
        column.width += more;
        *room -= more as isize;
    }
}

fn pad(column: &Column, text: &str) -> String {
    let (width, text) = (column.width, cut(text, column.width));
    match column.place {
        Place::Case | Place::Word => format!("{text:<width$}"),
        Place::Number | Place::Figure(_) | Place::Extra(_) => {
            format!("{text:>width$}")
        }
        Place::Beside => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str, text: &str, place: Place) -> Cell {
        let (name, heading, text) = (name.to_owned(), name.to_owned(), text.to_owned());
        Cell { name, heading, text, room: 0, place, style: Style::new() }
    }

    /// A row of the case `copy`: parameters that are words, those that are numbers, figures.
    fn cells(text: &str) -> Vec<Cell> {
        let parts = text.split(';').zip([Place::Word, Place::Number, Place::Figure(0)]);
        let cells = parts.flat_map(|(part, place)| {
            part.split(',').filter(|part| !part.is_empty()).enumerate().map(move |(i, part)| {
                let (name, text) = part.split_once('=').unwrap();
                let place = match place {
                    Place::Figure(_) => Place::Figure(i as u8),
                    place => place,
                };
                cell(name.trim(), text, place)
            })
        });
        std::iter::once(cell("case", "copy", Place::Case)).chain(cells).collect()
    }

    /// What is printed of rows, without colours.
    fn printed(width: usize, rows: &[&str]) -> Vec<String> {
        let mut layout = Layout::new(width);
        let mut lines = vec![];
        for row in rows {
            let (heading, row) = layout.row(&cells(row));
            let text: Vec<String> = heading.into_iter().chain([row]).collect();
            let text = anstream::adapter::strip_str(&text.join("\n")).to_string();
            lines.extend(text.lines().map(str::to_owned));
        }
        lines
    }

    #[test]
    fn rows_stand_under_one_heading_while_they_fit() {
        let rows = [
            "kind=pinned;size=4 KiB;median=1 µs",
            "kind=registered;size=1 GiB;median=9 s",
            "kind=registered;size=16 GiB;median=99 s",
        ];
        assert_eq!(
            printed(43, &rows),
            [
                "case            kind           size  median",
                "copy            pinned        4 KiB    1 µs",
                "copy            registered    1 GiB     9 s",
                "case            kind           size  median",
                "copy            registered   16 GiB    99 s",
            ]
        );
    }

    #[test]
    fn long_headings_take_several_lines() {
        let rows = [";threads per multiprocessor=32;± 95%=< 0.1%,of peak=1%"];
        assert_eq!(
            printed(36, &rows),
            [
                "           threads per            of",
                "case    multiprocessor   ± 95%  peak",
                "copy                32  < 0.1%    1%",
            ]
        );
    }

    #[test]
    fn other_parameters_are_another_table_unless_they_take_turns() {
        let (wave, wait) = ("kind=a;waves=8;median=1 s", "kind=a,when=b;waves=8;median=1 s");
        let headings = |rows: &[&str]| {
            let lines = printed(100, rows);
            lines.iter().filter(|line| line.starts_with("case")).count()
        };
        assert_eq!(headings(&[wave, wave, wait, wait]), 2);
        assert_eq!(headings(&[wave, wait, wave, wait, wave]), 2);
        assert!(printed(100, &[wave, wait, wave]).last().unwrap().contains(" – "));
        // Not if they have little in common.
        let other = "from=x,to=y;words=8;median=1 s";
        assert_eq!(headings(&[wave, other, wave, other]), 4);
    }

    #[test]
    fn no_line_is_too_wide() {
        let row = "layout=array_of_structures_as_vectors,direction=host_to_device;fields=8,\
                   used=4;median=1.23 ms,± 95%=< 0.1%,bandwidth=4,of peak=83.1%,bound=9";
        for width in NARROWEST..=WIDEST {
            for line in printed(width, &[row]) {
                assert!(length(&line) <= width, "{width}: {line}");
            }
        }
        assert!(printed(NARROWEST, &[row])[1].contains('…'));
        let mut layout = Layout::new(96);
        layout.row(&cells(row));
        assert_eq!(layout.headings().1, ["of peak", "bound"]);
    }

    #[test]
    fn what_is_beside_the_figures_takes_more_lines_before_it_goes() {
        let row = |width, text| {
            let mut cells = cells("kind=pinned;size=4 KiB;median=1 µs");
            cells.push(Cell { room: 12, ..cell("H200", text, Place::Beside) });
            Layout::new(width).row(&cells).1
        };
        assert!(row(80, "9 GB/s at 1 GiB").ends_with("  9 GB/s at 1 GiB"));
        let two = row(44, "9 GB/s at 1 GiB");
        let (first, second) = two.split_once('\n').expect("it has two lines");
        assert!(first.ends_with("  9 GB/s at 1"), "{two}");
        let before = |line: &str, text: &str| line.split(text).next().map(length);
        assert_eq!(before(first, "9 GB/s"), before(second, "GiB"), "{two}");
        assert!(row(40, "9 GB/s at 1 GiB").ends_with("  1 µs"));
    }

    #[test]
    fn sentences_are_wrapped_between_words() {
        let text = "a sentence of some words and an_unusually_long_one";
        assert_eq!(wrap(text, 16, 2), "a sentence of\n  some words and\n  an_unusually_long_one");
        assert_eq!(wrap("short", 16, 2), "short");
        assert_eq!((cut("abcdef", 6), cut("abcdef", 5)), ("abcdef".into(), "abcd…".into()));
    }
}
