//! What `<page>.toml` defines, which lies beside `<page>.md`: the page's experiment, its
//! quantities and conditions, and its blocks, which are what it shows by kind and name.
//!
//! ```toml
//! experiment = "host-memory"
//!
//! [quantities]
//! copies = "[host-memory copy bytes=1GiB]"
//!
//! [conditions]
//! pinned_is_faster = "pinned > 2 * pageable"
//!
//! [chart.copies]
//! title = "Pinned memory is faster at every size"
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::editor::Kernel;
use crate::explorer::{Behind, Task};
use crate::figure::ChartBlock;
use crate::names::{Defaults, did_you_mean};
use crate::page::blocks::{Goals, Prediction};
use crate::{counted, table};

/// Reads TOML; the error is one line that says on which line of `toml` it is, unless it is
/// of the whole.
pub fn parse<T: DeserializeOwned>(toml: &str) -> Result<T, String> {
    read(toml).map_err(|(at, message)| match at {
        Some(at) => format!("line {}: {message}", line(toml, at.start)),
        None => message,
    })
}

/// Reads TOML; the error says where in it something is wrong, unless the whole is.
fn read<T: DeserializeOwned>(toml: &str) -> Result<T, (Option<Range<usize>>, String)> {
    toml::from_str(toml).map_err(|e| {
        let message = e.message().replace('\n', "; ");
        let unknown = message.strip_prefix("unknown field `").and_then(|m| m.split_once('`'));
        let near =
            unknown.map(|(name, rest)| did_you_mean(name, rest.split('`').skip(1).step_by(2)));
        (e.span().filter(|span| *span != (0..0)), message.clone() + &near.unwrap_or_default())
    })
}

/// The line, counted from 1, that the byte `at` of `text` lies on.
fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// What a page shows: `{{chart copies}}` shows what `[chart.copies]` says.
#[derive(Debug)]
pub enum Block {
    Chart(Box<ChartBlock>),
    Table(table::Block),
    Counted(counted::Block),
    Prediction(Prediction),
    Goals(Goals),
    Kernel(Kernel),
    Explorer(Behind),
    Task(Task),
}

/// The words of the kinds of blocks, in directives and at their heads.
pub const KINDS: [&str; 6] = ["chart", "table", "counted", "prediction", "goals", "kernel"];

/// The kind of what stands behind an explorer, which is shown without it as well.
pub const EXPLORER: &str = "explorer";

/// The kind of what a page asks of an explorer.
pub const TASK: &str = "task";

/// Kind and name of a block.
pub type Name = (&'static str, String);

/// Something, and the line of the file on which it stands.
#[derive(Debug)]
pub struct Placed<T> {
    /// Counted from 1.
    pub line: usize,
    pub what: T,
}

/// What a page's file defines.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Whose record the page shows.
    pub experiment: Option<String>,
    /// `[quantities]`.
    pub quantities: BTreeMap<String, Placed<String>>,
    /// `[conditions]`.
    pub conditions: BTreeMap<String, Placed<String>>,
    /// `[routes]`: pages that are read one after the other.
    pub routes: BTreeMap<String, Vec<String>>,
    /// `[along]`: the routes along which pages lead on, and what they call each.
    pub along: BTreeMap<String, String>,
    /// What the page shows.
    pub blocks: BTreeMap<Name, Placed<Block>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    experiment: Option<String>,
    #[serde(default)]
    quantities: Named<String>,
    #[serde(default)]
    conditions: Named<String>,
    #[serde(default)]
    routes: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    along: BTreeMap<String, String>,
    #[serde(default)]
    chart: Named<ChartBlock>,
    #[serde(default)]
    table: Named<table::Block>,
    #[serde(default)]
    counted: Named<counted::Block>,
    #[serde(default)]
    prediction: Named<Prediction>,
    #[serde(default)]
    goals: Named<Goals>,
    #[serde(default)]
    kernel: Named<Kernel>,
    #[serde(default)]
    explorer: Named<Behind>,
    #[serde(default)]
    task: Named<Task>,
}

type Named<T> = BTreeMap<String, Spanned<T>>;

impl Definitions {
    /// What the file beside the page at `page` defines, if there is one; or what is wrong with
    /// it, each with the line. Blocks call what they do not name as `names` does.
    pub fn beside(page: &Path, names: &Defaults) -> Result<Definitions, Vec<Placed<String>>> {
        let toml = match std::fs::read_to_string(page.with_extension("toml")) {
            Ok(toml) => toml,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(vec![Placed { line: 1, what: e.to_string() }]),
        };
        let file: File = read(&toml).map_err(|(at, what)| {
            vec![Placed { line: line(&toml, at.map_or(0, |at| at.start)), what }]
        })?;
        let place = |texts: Named<String>| {
            let placed = |text: Spanned<String>| {
                let line = line(&toml, text.span().start);
                Placed { line, what: text.into_inner() }
            };
            texts.into_iter().map(|(name, text)| (name, placed(text))).collect()
        };
        let mut read = Blocks { toml: &toml, blocks: BTreeMap::new(), problems: vec![] };
        read.take(
            "chart",
            file.chart,
            |block, id| block.complete(id, names),
            |block| Block::Chart(Box::new(block)),
        );
        read.take("table", file.table, |block, _| block.complete(names), Block::Table);
        read.take("counted", file.counted, |block, _| block.complete(names), Block::Counted);
        read.take("prediction", file.prediction, |block, id| block.complete(id), Block::Prediction);
        read.take("goals", file.goals, |block, _| block.check(), Block::Goals);
        read.take("kernel", file.kernel, |block, _| block.check(), Block::Kernel);
        read.take(EXPLORER, file.explorer, |block, _| block.complete(names), Block::Explorer);
        read.take(TASK, file.task, |_, _| Ok(()), Block::Task);
        match read.problems.is_empty() {
            true => Ok(Definitions {
                experiment: file.experiment,
                quantities: place(file.quantities),
                conditions: place(file.conditions),
                routes: file.routes,
                along: file.along,
                blocks: read.blocks,
            }),
            false => Err(read.problems),
        }
    }

    /// The kind of block that `word` names.
    pub fn kind(word: &str) -> Option<&'static str> {
        KINDS.into_iter().find(|kind| *kind == word)
    }

    pub fn find(&self, name: &Name) -> Result<&Placed<Block>, String> {
        self.blocks.get(name).ok_or_else(|| {
            let same = self.blocks.keys().filter(|(kind, _)| *kind == name.0);
            let near = did_you_mean(&name.1, same.map(|(_, id)| id.as_str()));
            format!("the file beside the page has no `{}`{near}", head(name))
        })
    }
}

/// What errors call the block of this name.
pub fn head((kind, id): &Name) -> String {
    format!("[{kind}.{id}]")
}

/// The blocks of a file that are read so far, and what is wrong with them.
struct Blocks<'t> {
    toml: &'t str,
    blocks: BTreeMap<Name, Placed<Block>>,
    problems: Vec<Placed<String>>,
}

impl Blocks<'_> {
    /// Takes all of a kind. `complete` adds what is not written and checks what types cannot
    /// state.
    fn take<T>(
        &mut self,
        kind: &'static str,
        all: Named<T>,
        complete: impl Fn(&mut T, &str) -> Result<(), String>,
        of: fn(T) -> Block,
    ) {
        for (id, block) in all {
            let line = line(self.toml, block.span().start);
            let mut block = block.into_inner();
            // It is also a file's name and part of an address.
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let checked = match !id.is_empty() && id.chars().all(plain) {
                true => complete(&mut block, &id),
                false => Err("a name has lower-case letters, digits and hyphens".to_owned()),
            };
            let name = (kind, id);
            if let Err(problem) = checked {
                self.problems.push(Placed { line, what: format!("{}: {problem}", head(&name)) });
            }
            self.blocks.insert(name, Placed { line, what: of(block) });
        }
    }
}
