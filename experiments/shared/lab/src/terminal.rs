//! The table an experiment prints: a row as soon as it is measured, so that it is the
//! progress display too. Where rows are kept for the end, a terminal shows how many there are.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use record::statistics::{CONFIDENCE, Statistics};
use record::{Measurement, Parameter, Record, Skipped, units};

use crate::emulator::{Counts, LineCounts};
use crate::layout::{self, Cell, Layout, Place, cut, wrap};
use crate::reference;
use crate::words::{label, parameter, quantity};

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();
/// Room after a row for the number of a note.
const MARK: usize = " [10]".len();

/// Where the table goes: standard output, or standard error beside `--json`.
pub(crate) struct Table {
    to_stderr: bool,
    /// What emulated rows show beside the counts, where there is one: a record of another
    /// machine, which measured.
    pub(crate) reference: Option<Record>,
    width: usize,
    layout: Layout,
    /// What was said of rows; each is said once, and has a number.
    notes: Vec<String>,
    /// Why the last case was skipped.
    skipped: Option<String>,
    /// What the columns mean that there were.
    meanings: BTreeMap<u8, &'static str>,
    /// Columns of the lesson's model.
    model: BTreeSet<String>,
    /// Columns that were shown in a table, and those that one had no room for.
    shown: BTreeSet<String>,
    left_out: BTreeSet<String>,
    /// The rows so far, where they are printed at the end, in the record's order.
    kept: Option<Vec<Kept>>,
    /// Whether it is shown how many those are.
    progress: bool,
    /// The columns of those that are printed as they are.
    explained: BTreeSet<Place>,
}

struct Kept {
    cells: Vec<Cell>,
    notes: Vec<String>,
}

/// Erases what stands on the line.
const ERASE: &str = "\x1b[2K";

impl Drop for Table {
    fn drop(&mut self) {
        self.write(self.erase());
    }
}

impl Table {
    pub(crate) fn new(to_stderr: bool) -> Table {
        let width = layout::width();
        Table {
            to_stderr,
            reference: None,
            width,
            layout: Layout::new(width - MARK),
            notes: vec![],
            skipped: None,
            meanings: BTreeMap::new(),
            model: BTreeSet::new(),
            shown: BTreeSet::new(),
            left_out: BTreeSet::new(),
            kept: None,
            progress: false,
            explained: BTreeSet::new(),
        }
    }

    /// From now on keeps rows, instead of printing them at once.
    pub(crate) fn keep_rows(&mut self) {
        self.kept = Some(vec![]);
        let choice = match self.to_stderr {
            true => (std::io::stderr().is_terminal(), AutoStream::choice(&std::io::stderr())),
            false => (std::io::stdout().is_terminal(), AutoStream::choice(&std::io::stdout())),
        };
        self.progress = choice.0 && choice.1 != ColorChoice::Never;
    }

    fn erase(&self) -> &'static str {
        if self.progress { ERASE } else { "" }
    }

    fn write(&self, text: &str) {
        // Nobody is there to be told when the terminal has gone away.
        let _ = if self.to_stderr {
            let mut stderr = anstream::stderr();
            write!(stderr, "{text}").and_then(|()| stderr.flush())
        } else {
            let mut stdout = anstream::stdout();
            write!(stdout, "{text}").and_then(|()| stdout.flush())
        };
    }

    pub(crate) fn line(&self, text: &str) {
        self.write(&format!("{}{text}\n", self.erase()));
    }

    /// A line that heads what follows.
    pub(crate) fn heading(&self, text: &str) {
        let bold = Style::new().bold();
        for line in wrap(text, self.width, 0).lines() {
            self.line(&format!("{bold}{line}{bold:#}"));
        }
    }

    /// A sentence or more, on as many lines as it needs.
    pub(crate) fn say(&self, text: &str) {
        self.line(&wrap(text, self.width, 0));
    }

    /// A line of text on standard error.
    pub(crate) fn complain(text: &str) {
        let _ = writeln!(anstream::stderr(), "{text}"); // as above
    }

    /// A note that the reader should not miss.
    pub(crate) fn warn(&self, text: &str) {
        self.mark("note:", text);
    }

    /// A sentence after a word that is not to be missed.
    fn mark(&self, mark: &str, text: &str) {
        let text = wrap(&format!("{mark} {text}"), self.width, 2);
        let text = text.strip_prefix(mark).unwrap_or(&text);
        self.line(&format!("{WARNING}{mark}{WARNING:#}{text}"));
    }

    /// One measurement; `record` is the one being made. With it come notes.
    pub(crate) fn measured(&mut self, record: &Record, m: &Measurement, notes: &[String]) {
        let mut cells = labels(m);
        let time = units::time(m.median_seconds().unwrap_or(f64::NAN));
        cells.push(self.figure(MEDIAN, time, PLAIN));
        let enough = |s: &Statistics| s.confidence >= CONFIDENCE;
        if let Some(s) = m.statistics().filter(enough) {
            let spread = units::spread(s.relative_half_width());
            cells.push(self.figure(SPREAD, spread, DIM));
        }
        if let Some(bandwidth) = m.bandwidth_bytes_per_second() {
            cells.push(self.figure(BANDWIDTH, units::bandwidth(bandwidth), PLAIN));
        }
        if let Some(rate) = m.arithmetic_per_second() {
            cells.push(self.figure(ARITHMETIC, units::arithmetic_rate(rate), PLAIN));
        }
        let share = record.share_of_peak(m);
        if let Some(share) = share {
            cells.push(self.figure(SHARE, units::percent(share), PLAIN));
        }
        for (name, value) in &m.model {
            let (heading, text, room) = quantity(name, *value);
            self.model.insert(heading.clone());
            let place = Place::Extra(u8::from(!name.contains("bound")));
            let name = format!("model {name}");
            cells.push(Cell { name, heading, text, room, place, style: DIM });
        }
        let mut notes = notes.to_vec();
        if share.is_some_and(|share| share > 1.0) {
            notes.push(
                "more than the theoretical peak, so something other than this path was \
                 measured: do not quote it"
                    .to_owned(),
            );
        }
        self.row(&cells, &notes);
    }

    /// What an emulated GPU counted of one case, and how much was checked. In place of what
    /// the reference machine measured stands that it was `other_kernel`.
    pub(crate) fn emulated(&mut self, m: &Measurement, other_kernel: bool) {
        let mut cells = labels(m);
        self.add_requests(&mut cells, &m.counters);
        if m.elements_checked > 0 {
            let checked = units::count(m.elements_checked);
            cells.push(self.figure(CHECKED, checked, PLAIN));
        }
        if let Some(record) = &self.reference
            && let Some(figure) = reference::figure(record, m)
        {
            let heading = reference::hardware(record);
            let text = if other_kernel { "other kernel".to_owned() } else { figure };
            let (name, place) = ("reference".to_owned(), Place::Beside);
            cells.push(Cell { name, heading, text, room: 12, place, style: DIM });
        }
        self.row(&cells, &m.remarks);
    }

    /// What a profiler counted of one case: traffic per request, and DRAM's bytes.
    pub(crate) fn counted(&mut self, m: &Measurement) {
        let mut cells = labels(m);
        self.add_requests(&mut cells, &m.counters);
        for (what, counter) in [(DRAM_IN, "dram_read_bytes"), (DRAM_OUT, "dram_write_bytes")] {
            if let Some(bytes) = m.counters.get(counter) {
                cells.push(self.figure(what, units::bytes(*bytes), PLAIN));
            }
        }
        self.row(&cells, &[]);
    }

    /// What the lines of a kernel's source did that access memory; `text` is the source.
    pub(crate) fn lines<'a>(
        &self,
        lines: &[LineCounts],
        text: impl Fn(&str, usize) -> Option<&'a str>,
    ) {
        for line in lines {
            let each = per_request(&line.counts);
            let each: Vec<String> = each
                .into_iter()
                .map(|(_, access, each)| format!("{} {each}", access.replace('_', " ")))
                .collect();
            let also = pieces(&line.counts);
            if each.is_empty() && also.is_empty() {
                continue;
            }
            let text = text(&line.file, line.number).unwrap_or_default().trim();
            let each = each.join(", ") + if each.is_empty() { "" } else { ": " };
            let text = format!("    line {}: {each}{text}", line.number);
            let also = also.into_iter().map(|also| format!("        {also}"));
            for text in [text].into_iter().chain(also) {
                self.line(&format!("{DIM}{}{DIM:#}", cut(&text, self.width)));
            }
        }
    }

    /// One case that cannot be measured here.
    pub(crate) fn skipped(&mut self, skipped: &Skipped) {
        if self.kept.is_some() {
            return;
        }
        let label = label(&skipped.case, &skipped.parameters);
        let reason = Some(skipped.reason.clone());
        if self.skipped == reason {
            self.mark("skipped:", &format!("{label}, too"));
        } else {
            self.mark("skipped:", &format!("{label}: {}", skipped.why()));
        }
        self.skipped = reason;
    }

    /// All skipped cases, by the reasons.
    pub(crate) fn all_skipped(&self, all: &[Skipped]) {
        let mut reasons: Vec<&str> = vec![];
        for skipped @ Skipped { case, parameters, reason } in all {
            if reasons.contains(&reason.as_str()) {
                continue;
            }
            reasons.push(reason);
            let label = label(case, parameters);
            let others = all.iter().filter(|other| other.reason == *reason).count() - 1;
            let others = match others {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            self.mark("skipped:", &format!("{label}{others}: {}", skipped.why()));
        }
    }

    /// The figures that are kept of the measurement at this place in the record.
    pub(crate) fn figures(&mut self, at: usize) -> Vec<Cell> {
        let cells = self.kept.iter().flatten().nth(at).map_or(&[][..], |kept| &kept.cells);
        let figures = cells.iter().filter(|cell| !cell.place.is_label());
        let figures: Vec<Cell> = figures.cloned().collect();
        self.explained.extend(figures.iter().map(|cell| cell.place));
        figures
    }

    /// Rows under one heading, each with the measurements in it by their places in the record,
    /// and below them what there is to note of those. Nothing, and false, if `every` column is to
    /// be there and there is no room.
    pub(crate) fn rows(&mut self, rows: &[(Vec<Cell>, Vec<usize>)], every: bool) -> bool {
        let cells: Vec<_> = rows.iter().map(|(cells, _)| cells.clone()).collect();
        let table = Layout::table(self.width - MARK, &cells, !every);
        let Some((heading, lines)) = table else { return false };
        self.line(&heading);
        let mut new = vec![];
        for (line, (_, cases)) in lines.iter().zip(rows) {
            let kept = self.kept.iter().flatten().enumerate();
            let notes = kept.filter(|(at, _)| cases.contains(at)).flat_map(|(_, kept)| &kept.notes);
            let notes: BTreeSet<&str> = notes.map(String::as_str).collect();
            if notes.is_empty() {
                self.line(line);
                continue;
            }
            let note = notes.into_iter().collect::<Vec<_>>().join("; ");
            let (number, is_new) = self.number(&note);
            new.extend(is_new.then_some((number, note)));
            self.line(&format!("{line} {WARNING}[{number}]{WARNING:#}"));
        }
        for (number, note) in new {
            self.mark(&format!("note [{number}]:"), &note);
        }
        true
    }

    /// The number of a note, and whether it has not been said yet.
    fn number(&mut self, note: &str) -> (usize, bool) {
        if let Some(known) = self.notes.iter().position(|known| known == note) {
            return (known + 1, false);
        }
        self.notes.push(note.to_owned());
        (self.notes.len(), true)
    }

    /// What the columns mean, once, after all rows.
    pub(crate) fn explain(&self) {
        let mut meanings = self.meanings.clone();
        if self.kept.is_some() {
            meanings.retain(|rank, _| self.explained.contains(&Place::Figure(*rank)));
        }
        let mut meanings: Vec<&str> = meanings.into_values().collect();
        if meanings.is_empty() {
            return;
        }
        meanings.dedup();
        self.line("");
        self.say(&format!("{}.", capital(&meanings.join("; "))));
        let listed = |names: &BTreeSet<String>| {
            names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let model = &self.model & &self.shown;
        if !model.is_empty() {
            self.say(&format!("By the lesson's model: {}.", listed(&model)));
        }
        let left_out = &self.left_out - &self.shown;
        if !left_out.is_empty() {
            self.say(&format!("No room for: {}.", listed(&left_out)));
        }
    }

    fn row(&mut self, cells: &[Cell], notes: &[String]) {
        if let Some(kept) = &mut self.kept {
            kept.push(Kept { cells: cells.to_vec(), notes: notes.to_vec() });
            return self.show_progress(cells);
        }
        let (heading, row) = self.layout.row(cells);
        if let Some(heading) = heading {
            self.line(&format!("\n{heading}"));
        }
        let (shown, left_out) = self.layout.headings();
        self.shown.extend(shown);
        self.left_out.extend(left_out);
        if notes.is_empty() {
            return self.line(&row);
        }
        let note = notes.join("; ");
        let (number, is_new) = self.number(&note);
        self.line(&format!("{row} {WARNING}[{number}]{WARNING:#}"));
        if is_new {
            self.mark(&format!("note [{number}]:"), &note);
        }
    }

    /// How many rows are kept, and which is the last, on a line that the next one replaces.
    fn show_progress(&self, last: &[Cell]) {
        if self.progress {
            let count = self.kept.iter().flatten().count();
            let last: Vec<_> = last.iter().map(|cell| cell.text.as_str()).collect();
            let text = cut(&format!("{count} measured: {}", last.join("  ")), self.width - 1);
            self.write(&format!("{ERASE}{DIM}{text}{DIM:#}\r"));
        }
    }

    fn figure(&mut self, what: Figure, text: String, style: Style) -> Cell {
        self.meanings.insert(what.rank, what.meaning);
        let place = Place::Figure(what.rank);
        let heading = what.heading.to_owned();
        Cell { name: heading.clone(), heading, text, room: what.room, place, style }
    }

    fn add_requests(&mut self, cells: &mut Vec<Cell>, counts: &Counts) {
        for (what, _, each) in per_request(counts) {
            cells.push(self.figure(what, each, PLAIN));
        }
    }
}

/// A kind of figure: its place among them, its heading, how wide figures are, and what it
/// means.
#[derive(Clone, Copy)]
struct Figure {
    rank: u8,
    heading: &'static str,
    room: usize,
    meaning: &'static str,
}

const fn figure(rank: u8, heading: &'static str, room: usize, meaning: &'static str) -> Figure {
    Figure { rank, heading, room, meaning }
}

const MEDIAN: Figure = figure(0, "median", 7, "median: time of one operation");
const SPREAD: Figure = figure(1, "± 95%", 7, "± 95%: half its confidence interval, relative to it");
const BANDWIDTH: Figure = figure(
    2,
    "bandwidth",
    10,
    "bandwidth: bytes that the operation asks to read and write, over that time",
);
const ARITHMETIC: Figure = figure(
    3,
    "arithmetic",
    12,
    "arithmetic: additions and multiplications that the operation asks for, over that time",
);
const SHARE: Figure =
    figure(4, "of peak", 7, "of peak: relative to the theoretical peak of the path");

const SECTORS: &str = "sectors: pieces of 32 bytes that a warp's request to global memory touches";
const WAVEFRONTS: &str = "wavefronts: passes that a warp's request to shared memory takes";
const LOADS: Figure = figure(0, "sectors per load", 5, SECTORS);
const STORES: Figure = figure(1, "sectors per store", 5, SECTORS);
const SHARED_LOADS: Figure = figure(2, "wavefronts per load", 5, WAVEFRONTS);
const SHARED_STORES: Figure = figure(3, "wavefronts per store", 5, WAVEFRONTS);
const CHECKED: Figure =
    figure(4, "elements checked", 10, "elements checked: compared with what they must be");
const DRAM: &str = "DRAM: bytes that were read from device memory, and written to it";
const DRAM_IN: Figure = figure(5, "DRAM in", 8, DRAM);
const DRAM_OUT: Figure = figure(6, "DRAM out", 8, DRAM);

/// Sectors of global loads and stores, and wavefronts of shared ones, each per request;
/// without those that there were none of.
fn per_request(counts: &Counts) -> Vec<(Figure, &'static str, String)> {
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let each = [
        (LOADS, "global_load", "sectors"),
        (STORES, "global_store", "sectors"),
        (SHARED_LOADS, "shared_load", "wavefronts"),
        (SHARED_STORES, "shared_store", "wavefronts"),
    ]
    .map(|(what, operation, pieces)| {
        let requests = count(&format!("{operation}_requests"));
        let pieces = count(&format!("{operation}_{pieces}"));
        let each = format!("{:.2}", pieces as f64 / requests as f64);
        (requests > 0).then_some((what, operation, each))
    });
    each.into_iter().flatten().collect()
}

/// What else was counted of a line, in words.
fn pieces(counts: &Counts) -> Vec<String> {
    let count = |name: &str| counts.get(name).copied().filter(|count| *count > 0);
    let loads = [
        ("lines", "lines of 128 bytes"),
        ("fetches", "pieces of 64"),
        ("block_sectors", "sectors, each once a block"),
    ];
    let stores = [("lines", "lines of 128 bytes"), ("partial_sectors", "sectors in part")];
    let of = |access: &str, pieces: &[(&str, &str)]| {
        let requests = count(&format!("global_{access}_requests"))? as f64;
        let each = pieces.iter().filter_map(|(name, words)| {
            let pieces = count(&format!("global_{access}_{name}"))?;
            Some(format!("{:.2} {words}", pieces as f64 / requests))
        });
        let each = each.collect::<Vec<_>>();
        (!each.is_empty()).then(|| format!("a {access}: {}", each.join(", ")))
    };
    let local = count("local_requests").map(|requests| format!("{requests} to local memory"));
    [of("load", &loads), of("store", &stores), local].into_iter().flatten().collect()
}

/// The case and its parameters, each in a column of its own.
fn labels(m: &Measurement) -> Vec<Cell> {
    let (name, heading) = ("case".to_owned(), "case".to_owned());
    let (text, place) = (m.case.clone(), Place::Case);
    let case = Cell { name, heading, text, room: 0, place, style: PLAIN };
    let parameters = m.parameters.iter().map(|(name, value)| {
        let (heading, text) = parameter(name, value);
        let (place, room) = match value {
            Parameter::Name(_) => (Place::Word, 0),
            Parameter::Integer(_) if name.ends_with("bytes") => (Place::Number, 8),
            Parameter::Integer(_) => (Place::Number, 5),
        };
        Cell { name: name.clone(), heading, text, room, place, style: PLAIN }
    });
    std::iter::once(case).chain(parameters).collect()
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |c| c.to_uppercase().chain(rest).collect())
}
