//! The one entry: load the book, expand it, store the figures, check the links.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, bail};
use mdbook_driver::MDBook;
use mdbook_preprocessor::book::Book;
use mdbook_preprocessor::config::Config;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use record::Results;

use crate::claims::Claims;
use crate::figure::Picture;
use crate::includes;
use crate::links;
use crate::page::{Context, Page};
use crate::records::Records;

/// Where a book's parts lie, and what to do with its figures.
#[derive(Clone, Debug)]
pub struct Options {
    /// The book's folder, with `book.toml` and `src/`.
    pub book: PathBuf,
    /// The folder of records.
    pub results: PathBuf,
    /// `claims.toml`.
    pub claims: PathBuf,
    /// The folder of figures: `<figures>/<machine>/<id>.svg`.
    pub figures: PathBuf,
    /// Pages, by their paths in `src`, of experiments that no reference machine has to have
    /// recorded.
    pub drafts: BTreeSet<String>,
    /// The machine to show before the references; none shows them alone.
    pub this_machine: Option<String>,
    /// Where the finished book goes; none leaves it to `book.toml`.
    pub output: Option<PathBuf>,
    /// Fail if a stored figure is not what the records give, instead of storing it.
    pub check: bool,
}

/// What a build made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The folder of the finished book.
    pub html: PathBuf,
    /// How many pages it has.
    pub pages: usize,
    /// Figures that were stored because they were new or had changed.
    pub stored: Vec<PathBuf>,
    /// Figures that were removed because no chart makes them any more.
    pub removed: Vec<PathBuf>,
    /// The machine shown before the references, if it has any record.
    pub this_machine: Option<String>,
}

impl Options {
    /// The parts of a book in their usual places, and the machine that last recorded.
    pub fn of(book: &Path) -> Result<Options> {
        let root = match book.file_name() {
            Some(_) => book.parent().unwrap_or(Path::new("")).to_owned(),
            None => book.join(".."), // `.` and the like
        };
        let results = root.join("results");
        Ok(Options {
            book: book.to_owned(),
            claims: book.join("claims.toml"),
            figures: book.join("src/figures"),
            drafts: BTreeSet::new(),
            this_machine: Results::new(&results).this_machine()?,
            results,
            output: None,
            check: false,
        })
    }
}

/// Builds the book. The error lists everything that is wrong with it.
pub fn build(options: &Options) -> Result<Built> {
    let mut book = MDBook::load(&options.book)?;
    if let Some(output) = &options.output {
        book.config.build.build_dir = output.clone();
    }
    let built = Rc::new(RefCell::new(Built::default()));
    book.with_preprocessor(Workbook {
        options: options.clone(),
        built: built.clone(),
    });
    book.build()?;
    let html = book.build_dir_for("html");
    fail("the finished book", links::check(&html)?)?;
    Ok(Built { html, ..built.take() })
}

/// Expands a book for the stock `mdbook` program, which hands it over and takes it back
/// as JSON. Figures are not stored: that would start the next build under `mdbook serve`.
pub fn preprocess(
    options: &Options,
    input: impl Read,
    output: impl Write,
) -> Result<()> {
    let (context, mut book) = mdbook_preprocessor::parse_input(input)?;
    let expanded = expand(&mut book, &context.config, options)?;
    fail("the book", expanded.problems)?;
    Ok(serde_json::to_writer(output, &book)?)
}

/// The preprocessor that `book.toml` names, run in this process instead of as a command.
struct Workbook {
    options: Options,
    built: Rc<RefCell<Built>>,
}

impl Preprocessor for Workbook {
    fn name(&self) -> &str {
        "workbook"
    }

    /// Also stores the figures: mdBook copies them into the finished book after this.
    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let mut expanded = expand(&mut book, &context.config, &self.options)?;
        let figures = Figures::compare(&expanded, &self.options.figures)?;
        if self.options.check {
            expanded.problems.extend(figures.problems());
        }
        fail("the book", expanded.problems)?;
        if !self.options.check {
            figures.store()?;
        }
        let mut built = self.built.borrow_mut();
        built.pages = expanded.pages;
        built.this_machine = expanded.this_machine;
        built.stored = figures.changed.into_iter().map(|(path, _)| path).collect();
        built.removed = figures.stale;
        Ok(book)
    }

    fn supports_renderer(&self, renderer: &str) -> Result<bool> {
        Ok(supports(renderer))
    }
}

/// Whether pages can be expanded for `renderer`.
pub fn supports(renderer: &str) -> bool {
    renderer == "html"
}

struct Expanded {
    pages: usize,
    pictures: Vec<Picture>,
    /// The machines that the pictures can be of.
    machines: BTreeSet<String>,
    this_machine: Option<String>,
    problems: Vec<String>,
}

/// Replaces every directive of `book`.
fn expand(book: &mut Book, config: &Config, options: &Options) -> Result<Expanded> {
    let results = Results::new(&options.results);
    let references = results.references()?;
    let records =
        Records::load(&results, &references, options.this_machine.as_deref())?;
    let claims = std::fs::read_to_string(&options.claims)
        .with_context(|| options.claims.display().to_string())?;
    let claims_name = options.claims.file_name().unwrap_or_default().display();
    let claims =
        Claims::parse(&claims).map_err(|e| anyhow!("{claims_name}: {e}"))?;

    let src = options.book.join(&config.book.src);
    let with_own = records.with_own();
    let is_draft = |page: &str| options.drafts.contains(page);
    let records_of = |page: &str| if is_draft(page) { &with_own } else { &records };
    let (mut pages, mut problems) = (vec![], vec![]);
    for chapter in book.chapters() {
        if let Some(path) =
            chapter.source_path.as_ref().and_then(|path| path.to_str())
        {
            let (text, records) = (&chapter.content, records_of(path));
            let (page, found) =
                Page::read(path, text, &src, records, is_draft(path));
            pages.push(page);
            problems.extend(found);
        }
    }
    let mut ids = BTreeSet::new();
    for page in &pages {
        let repeated = page.named().filter(|id| !ids.insert(id.to_string()));
        problems.extend(
            repeated.map(|id| format!("{}.md: {id}: the id is taken", page.stem)),
        );
    }
    let (ledger, broken) = claims.judge(&pages);
    problems.extend(
        broken.into_iter().map(|problem| format!("{claims_name}: {problem}")),
    );

    let (mut texts, mut pictures) = (BTreeMap::new(), vec![]);
    for page in &pages {
        let path = format!("{}.md", page.stem);
        let records = records_of(&path);
        let context = Context { records, ledger: &ledger, pages: &pages };
        let (text, new, found) = page.expand(&context);
        texts.insert(path, text);
        pictures.extend(new);
        problems.extend(found);
    }
    book.for_each_chapter_mut(|chapter| {
        let path = chapter.source_path.as_ref().and_then(|path| path.to_str());
        if let Some(path) = path
            && let Some(text) = texts.remove(path)
        {
            let file = src.join(path);
            let folder = file.parent().unwrap_or(&src);
            chapter.content = includes::take_in(&text, folder);
        }
    });
    let this_machine = records.here.as_ref().map(|machine| machine.name.clone());
    let machines = references.into_iter().chain(this_machine.clone()).collect();
    Ok(Expanded { pages: pages.len(), pictures, machines, this_machine, problems })
}

/// The figures folder against what it should be, for the machines of this build.
struct Figures {
    /// Missing or different, with what should be there.
    changed: Vec<(PathBuf, String)>,
    /// No chart makes them.
    stale: Vec<PathBuf>,
}

impl Figures {
    fn compare(expanded: &Expanded, folder: &Path) -> Result<Figures> {
        let mut wanted = BTreeMap::new();
        for Picture { machine, stem, svg } in &expanded.pictures {
            wanted.insert(folder.join(machine).join(format!("{stem}.svg")), svg);
        }
        let mut stale = vec![];
        for machine in &expanded.machines {
            let Ok(entries) = std::fs::read_dir(folder.join(machine)) else {
                continue;
            };
            for entry in entries {
                let path = entry?.path();
                let is_figure = path.extension().is_some_and(|e| e == "svg");
                if is_figure && !wanted.contains_key(&path) {
                    stale.push(path);
                }
            }
        }
        stale.sort();
        let is_stored = |(path, svg): &(PathBuf, &String)| {
            std::fs::read_to_string(path).is_ok_and(|stored| stored == **svg)
        };
        let changed = wanted
            .into_iter()
            .filter(|figure| !is_stored(figure))
            .map(|(path, svg)| (path, svg.clone()))
            .collect();
        Ok(Figures { changed, stale })
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        const REMEDY: &str = "run `cargo workbook build` and commit it";
        let changed = self.changed.iter().map(|(path, _)| {
            format!("{}: is not what the records give; {REMEDY}", path.display())
        });
        let stale = self.stale.iter();
        changed.chain(stale.map(|path| {
            format!("{}: no chart makes this figure; {REMEDY}", path.display())
        }))
    }

    fn store(&self) -> Result<()> {
        for (path, svg) in &self.changed {
            let folder = path.parent().unwrap_or(Path::new(""));
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(path, svg))
                .with_context(|| path.display().to_string())?;
        }
        for path in &self.stale {
            std::fs::remove_file(path)
                .with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}

/// An error that lists `problems`, if there are any.
fn fail(what: &str, problems: Vec<String>) -> Result<()> {
    match problems.len() {
        0 => Ok(()),
        1 => bail!("{what} has a problem:\n  {}", problems[0]),
        n => bail!("{what} has {n} problems:\n  {}", problems.join("\n  ")),
    }
}
