//! The one entry: load the book, expand it, store the figures, finish what mdBook wrote,
//! check the links.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, bail};
use excerpt::page::FILE;
use mdbook_driver::MDBook;
use mdbook_preprocessor::book::{Book, BookItem, Chapter};
use mdbook_preprocessor::config::Config;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use rayon::prelude::*;
use record::Results;
use record::file::write_atomically;
use serde::de::DeserializeOwned;
use walkdir::WalkDir;

use crate::claims::{Claim, Claims, Entry, Verdict};
use crate::exercise::Tasks;
use crate::expand::{self, Context, Text};
use crate::figure::{self, Picture};
use crate::glossary::{self, Glossary};
use crate::includes::{self, Repository};
use crate::minutes::Shown;
use crate::names::Defaults;
use crate::output::Output;
use crate::page::Page;
use crate::pictures::Pictures;
use crate::print::Contents;
use crate::records::{Records, Unused};
use crate::sources::Sources;
use crate::this_machine::Account;
use crate::{block, export, links, minutes, programs};

/// Where a book's parts lie, and what to do with its figures.
#[derive(Clone, Debug)]
pub struct Options {
    /// The book's folder, with `book.toml` and `src/`.
    pub book: PathBuf,
    pub results: PathBuf,
    pub claims: PathBuf,
    /// The folder of the reference machines' figures: `<figures>/<machine>/<id>.svg`. Those of
    /// another machine are in the finished book alone.
    pub figures: PathBuf,
    /// Pages, by their paths in `src`, of experiments that no reference machine has to have
    /// recorded.
    pub drafts: BTreeSet<String>,
    /// The experiments that there are, and how many GPUs each needs.
    pub lessons: BTreeMap<String, u32>,
    /// The machine to show before the references; none shows them alone.
    pub this_machine: Option<String>,
    /// Where the finished book goes, a place for it alone; none is `html` in its folder, which
    /// is the workbook's own.
    pub output: Option<PathBuf>,
    /// Fail if a stored figure, or what experiments print, is not what pages and records give,
    /// instead of storing it.
    pub check: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The folder of the finished book.
    pub html: PathBuf,
    pub pages: usize,
    /// Figures of reference machines that were stored because they were new or had changed.
    pub stored: Vec<PathBuf>,
    /// Figures that were removed because no chart makes them any more.
    pub removed: Vec<PathBuf>,
    /// The machine shown before the references, if it has any record.
    pub this_machine: Option<String>,
    /// What was measured on the reference machines and is on no page.
    pub unused: Vec<Unused>,
    /// What is wrong with records of that machine, which are left out.
    pub broken: Vec<String>,
    /// What there is to say of it.
    pub account: Option<Account>,
}

/// What parameters and metrics are called, in the book's folder.
const NAMES: &str = "names.toml";

impl Options {
    /// The parts of a book in their usual places, and the machine that last recorded here, or else
    /// the only one that was imported.
    pub fn of(book: &Path) -> Result<Options> {
        let root = match book.file_name() {
            Some(_) => book.parent().unwrap_or(Path::new("")).to_owned(),
            None => book.join(".."), // `.` and the like
        };
        let folder = Results::new(root.join("results"));
        let this_machine = match (folder.this_machine()?, &folder.imported()?[..]) {
            (None, [only]) => Some(only.clone()),
            (recorded, _) => recorded,
        };
        Ok(Options {
            book: book.to_owned(),
            claims: book.join("claims.toml"),
            figures: book.join("src/figures"),
            drafts: BTreeSet::new(),
            lessons: BTreeMap::new(),
            this_machine,
            results: folder.folder().to_owned(),
            output: None,
            check: false,
        })
    }
}

/// Builds the book. The error lists everything that is wrong with it.
pub fn build(options: &Options) -> Result<Built> {
    // Not `MDBook::load`, which lets the environment say where the book goes.
    let mut config = Config::from_disk(options.book.join("book.toml"))?;
    let (place, own) = match &options.output {
        Some(place) => (place.clone(), false),
        None => (options.book.join("html"), true),
    };
    let output = Output::at(&place, own)?;
    config.build.build_dir = output.building();
    let (title, about) = (config.book.title.clone(), config.book.description.clone());
    let styles = config.html_config().unwrap_or_default();
    let styles = styles.additional_css.into_iter().chain(styles.additional_js);
    let mut book = MDBook::load_with_config(&options.book, config)?;
    let chapters = book.book.chapters().filter_map(|chapter| chapter.path.clone());
    // mdBook would write outside of the folder that it builds in.
    let leaves = |path: &PathBuf| !path.components().all(|c| matches!(c, Component::Normal(_)));
    if let Some(path) = styles.chain(chapters).find(leaves) {
        bail!("{} in book.toml or SUMMARY.md leaves the book", path.display());
    }
    let made = Rc::new(RefCell::new(Made::default()));
    book.with_preprocessor(Workbook { options: options.clone(), made: made.clone() });
    book.build()?;
    let made = made.take();
    made.finish(&output.building(), &title.unwrap_or_default(), &about.unwrap_or_default())?;
    fail("the finished book", links::check(&output.building())?)?;
    let html = output.publish()?;
    Ok(Built { html, ..made.expanded.built })
}

/// What a build made, and what becomes of the finished pages.
#[derive(Default)]
struct Made {
    expanded: Expanded,
    taken_out: Pictures,
    contents: Contents,
}

impl Made {
    /// Does what mdBook leaves to be done in the book in `folder`.
    fn finish(&self, folder: &Path, title: &str, about: &str) -> Result<()> {
        let files = WalkDir::new(folder).into_iter();
        let files = files.map(|entry| Ok(entry?.into_path())).collect::<Result<Vec<_>>>()?;
        let finish = |path: &PathBuf| {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("html") => self.finish_page(path, title, about),
                // What pages define, which mdBook copies.
                Some("toml") => Ok(std::fs::remove_file(path)?),
                _ => Ok(()),
            }
            .with_context(|| path.display().to_string())
        };
        files.par_iter().try_for_each(finish)?;
        self.store_figures(&folder.join("figures"))?;
        for (name, text) in &self.expanded.files {
            std::fs::write(folder.join(name), text).with_context(|| name.to_string())?;
        }
        Ok(())
    }

    fn finish_page(&self, path: &Path, title: &str, about: &str) -> Result<()> {
        let mut html = std::fs::read_to_string(path)?;
        if path.ends_with("print.html") {
            html = self.contents.edition(&html, title, about)?;
        }
        let html = without_empty_heads(&self.taken_out.put_back(&html));
        Ok(std::fs::write(path, with_good_line_ends(&with_landmarks(&html)))?)
    }

    /// Stores what charts show in the finished book's `folder` of figures, and the pictures of
    /// machines that are no references: mdBook copies the others.
    fn store_figures(&self, folder: &Path) -> Result<()> {
        let Expanded { pictures, references, .. } = &self.expanded;
        for Picture { machine, stem, svg, csv } in pictures {
            let folder = folder.join(machine);
            let is_copied = references.contains(machine);
            let svg = (!is_copied).then_some(("svg", svg));
            for (kind, text) in svg.into_iter().chain(csv.as_ref().map(|csv| ("csv", csv))) {
                let path = folder.join(format!("{stem}.{kind}"));
                std::fs::create_dir_all(&folder)
                    .and_then(|()| std::fs::write(&path, text))
                    .with_context(|| path.display().to_string())?;
            }
        }
        Ok(())
    }
}

/// A head without text heads nothing: it is a cell as others are.
fn without_empty_heads(html: &str) -> String {
    let styles = ["left", "center", "right"].map(|side| format!(" style=\"text-align: {side}\""));
    let kinds = styles.into_iter().chain(["", " scope=\"col\""].map(str::to_owned));
    kinds.fold(html.to_owned(), |html, kind| html.replace(&format!("<th{kind}></th>"), "<td></td>"))
}

/// mdBook's bar as parts that a screen reader can name, and its switch for the table of contents
/// as an element that may be a button, around the label that it is without JavaScript.
fn with_landmarks(html: &str) -> String {
    const FOR: &str = "class=\"icon-button\" for=\"mdbook-sidebar-toggle-anchor\"";
    let switch = format!("<label id=\"mdbook-sidebar-toggle\" {FOR}");
    let roles = [("mdbook-menu-bar", "banner"), ("mdbook-search-wrapper", "search")];
    let html = roles.iter().fold(html.to_owned(), |html, (id, role)| {
        let part = format!("<div id=\"{id}\"");
        html.replace(&part, &format!("{part} role=\"{role}\""))
    });
    let with_button = html.split_once(&switch).and_then(|(before, rest)| {
        let (attributes, rest) = rest.split_once('>')?;
        let (picture, after) = rest.split_once("</label>")?;
        Some(format!(
            "{before}<span id=\"mdbook-sidebar-toggle\"{attributes}>\
             <label {FOR}>{picture}</label></span>{after}"
        ))
    });
    with_button.unwrap_or(html)
}

/// A page whose lines end at good places: numbers stay on the line of their units, and code in
/// running text is broken where that does no harm.
fn with_good_line_ends(html: &str) -> String {
    const AS_IT_IS: [&str; 6] = ["pre", "code", "script", "style", "svg", "textarea"];
    let (mut out, mut rest) = (String::new(), html);
    while let Some((text, after)) = rest.split_once('<') {
        out += &with_whole_numbers(text);
        let name = after.split([' ', '\n', '>']).next().unwrap_or_default();
        let end = AS_IT_IS.contains(&name).then(|| after.find(&format!("</{name}>"))).flatten();
        let end = end.or(after.find('>').map(|at| at + 1)).unwrap_or(after.len());
        let (element, others) = after.split_at(end);
        out += &element.strip_prefix("code>").map_or(format!("<{element}"), with_good_breaks);
        rest = others;
    }
    out + &with_whole_numbers(rest)
}

/// Code where a line may end: browsers break one after a hyphen, and options of commands are
/// elements that they keep whole. What is longer than a phone's line may be broken between the
/// names of a path or of a constant.
fn with_good_breaks(code: &str) -> String {
    const LONG: usize = 30;
    let escaped: usize = code.split('&').skip(1).filter_map(|rest| Some(rest.find(';')? + 1)).sum();
    let is_long = code.chars().count() - escaped > LONG && !code.contains('<');
    let words = code.split(' ').map(|word| match word.strip_prefix("--") {
        Some(name) if name.starts_with(|c: char| c.is_ascii_lowercase()) => {
            format!("<span class=\"option\">{word}</span>")
        }
        _ if is_long => word.replace('/', "/<wbr>").replace('_', "_<wbr>"),
        _ => word.to_owned(),
    });
    let class = if is_long { " class=\"long\"" } else { "" };
    format!("<code{class}>{}", words.collect::<Vec<_>>().join(" "))
}

fn with_whole_numbers(text: &str) -> String {
    const UNITS: [&str; 20] = [
        "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "ns", "µs", "ms", "s", "W", "kHz",
        "MHz", "GHz", "GFLOP", "TFLOP", "FLOP",
    ];
    let (mut whole, mut words) = (String::new(), text.split(' ').peekable());
    while let Some(word) = words.next() {
        whole += word;
        if let Some(next) = words.peek() {
            let unit = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let is_one = word.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit);
            whole.push(if is_one { '\u{a0}' } else { ' ' });
        }
    }
    whole
}

/// Each page, by its path in `src/` without `.md` and in the order of the book: its text with its
/// directives replaced, and what it shows before anything is unfolded.
pub fn texts(options: &Options) -> Result<Vec<(String, String, Shown)>> {
    let config = Config::from_disk(options.book.join("book.toml"))?;
    let mut book = MDBook::load_with_config(&options.book, config.clone())?.book;
    let mut expanded = replace(&mut book, &config, options, false)?;
    fail("the book", std::mem::take(&mut expanded.problems))?;
    let text = |chapter: &Chapter| {
        let stem = chapter.source_path.as_ref()?.to_str()?.trim_end_matches(".md").to_owned();
        let shown = expanded.shown.remove(&stem)?;
        Some((stem, chapter.content.clone(), shown))
    };
    Ok(book.chapters().filter_map(text).collect())
}

/// Expands a book for the stock `mdbook` program, which hands it over and takes it back
/// as JSON. Figures are not stored, which would start the next build under `mdbook serve`, nor
/// offered as files.
pub fn preprocess(options: &Options, input: impl Read, output: impl Write) -> Result<()> {
    let (context, mut book) = mdbook_preprocessor::parse_input(input)?;
    let expanded = replace(&mut book, &context.config, options, false)?;
    fail("the book", expanded.problems)?;
    book.for_each_chapter_mut(|chapter| {
        chapter.content = figure::without_files(&chapter.content);
    });
    Ok(serde_json::to_writer(output, &book)?)
}

/// The preprocessor that `book.toml` names, run in this process instead of as a command.
struct Workbook {
    options: Options,
    made: Rc<RefCell<Made>>,
}

impl Preprocessor for Workbook {
    fn name(&self) -> &str {
        "workbook"
    }

    /// Also stores the figures: mdBook copies them into the finished book after this.
    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let mut expanded = replace(&mut book, &context.config, &self.options, true)?;
        let mut figures = Figures::compare(&expanded, &self.options.figures)?;
        figures.also(self.options.book.join(FILE), &expanded.programs);
        if self.options.check {
            expanded.problems.extend(figures.problems());
        }
        fail("the book", std::mem::take(&mut expanded.problems))?;
        if !self.options.check {
            figures.store()?;
        }
        let built = &mut expanded.built;
        built.stored = figures.changed.into_iter().map(|(path, _)| path).collect();
        built.removed = figures.stale.into_iter().filter(|path| !path.exists()).collect();
        let (contents, taken_out) = (Contents::of(&book), Pictures::take_out(&mut book));
        *self.made.borrow_mut() = Made { expanded, taken_out, contents };
        Ok(book)
    }

    fn supports_renderer(&self, renderer: &str) -> Result<bool> {
        Ok(renderer == "html")
    }
}

/// What the expanded pages show, and what goes with them.
#[derive(Default)]
struct Expanded {
    built: Built,
    pictures: Vec<Picture>,
    references: Vec<String>,
    /// By their names in the finished book.
    files: Vec<(&'static str, String)>,
    /// What the experiments' programs print.
    programs: String,
    problems: Vec<String>,
    /// What each page shows, by its path in `src/` without `.md`.
    shown: BTreeMap<String, Shown>,
}

/// Replaces every directive of `book`. Links to the expanded book's files are only for a
/// book that gets them: `downloads`.
fn replace(
    book: &mut Book,
    config: &Config,
    options: &Options,
    downloads: bool,
) -> Result<Expanded> {
    let results = Results::new(&options.results);
    let references = results.references()?;
    let records = Records::load(&results, &references, options.this_machine.as_deref())?;
    let claims_name = options.claims.file_name().unwrap_or_default().display();
    let claims: Claims = toml(&options.claims)?;

    let src = options.book.join(&config.book.src);
    let (pages, texts, mut problems) = read(book, &src, options, &records)?;
    let with_own = records.with_own();
    let is_draft = |page: &str| options.drafts.contains(page);
    let records_of = |page: &str| if is_draft(page) { &with_own } else { &records };
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new(); // and the pages they stand on
    for text in &texts {
        for id in text.named() {
            match ids.get(id) {
                Some(page) => problems
                    .push(format!("{}: {id}: is on `{page}` already: link to it there", text.path)),
                None => drop(ids.insert(id, &text.path)),
            }
        }
    }
    let (findings, broken) = claims.judge(&pages);
    problems.extend(broken.into_iter().map(|problem| format!("{claims_name}: {problem}")));

    let account = Account::of(&records, &findings, &pages, &options.lessons);
    let tasks = Tasks::read(options.book.parent().unwrap_or(Path::new("")))?;
    let sources = Sources::at(&src);
    let (mut expanded, mut pictures) = (BTreeMap::new(), vec![]);
    for (page, text) in pages.iter().zip(&texts) {
        let records = records_of(&text.path);
        let (findings, pages, account) = (&findings, &pages, account.as_ref());
        let (tasks, sources) = (&tasks, &sources);
        let context = Context { records, findings, pages, account, tasks, sources, downloads };
        let (new_text, new, found) = text.expand(page, &context);
        expanded.insert(&text.path, new_text);
        pictures.extend(new);
        problems.extend(found);
    }
    let names = toml(&options.book.join(NAMES))?;
    // Only where all else is right is it known what programs print, and what is used.
    let mut programs = String::new();
    if problems.is_empty() {
        match programs::file(&pages, &texts, &names) {
            Ok(file) => programs = file,
            Err(problem) => problems.push(problem),
        }
        let both = pages.iter().zip(&texts);
        problems.extend(both.flat_map(|(page, text)| text.unused(page)));
    }
    let glossary = book
        .chapters()
        .find(|chapter| chapter.source_path.as_deref() == Some(Path::new(glossary::PAGE)));
    let glossary = glossary.map(|chapter| Glossary::read(&chapter.content));
    let glossary = glossary.unwrap_or_default();
    let html = config.html_config().unwrap_or_default();
    let root = options.book.parent().unwrap_or(Path::new(""));
    let repository = Repository { root, url: html.git_repository_url.as_deref() };
    let mut shown = BTreeMap::new();
    book.for_each_chapter_mut(|chapter| {
        let path = chapter.source_path.as_ref().and_then(|path| path.to_str());
        if let Some(path) = path
            && let Some(text) = expanded.remove(&path.to_owned())
        {
            let file = src.join(path);
            let folder = file.parent().unwrap_or(&src);
            let text = glossary.link(&text, path);
            chapter.content = includes::take_in(&text, folder, &repository);
            let stem = path.trim_end_matches(".md").to_owned();
            let page = pages.iter().find(|page| page.stem == stem);
            let practice = page.map_or_else(Vec::new, |page| tasks.minutes(&page.exercises));
            shown.insert(stem, Shown::of(&chapter.content, practice));
        }
    });
    book.for_each_chapter_mut(|chapter| {
        chapter.content = minutes::put_in(&chapter.content, &shown);
    });
    let this_machine = records.here.as_ref().map(|machine| machine.name.clone());
    let (pages, unused) = (pages.len(), records.unused());
    let broken = records.broken.clone();
    let built = Built { pages, this_machine, unused, broken, account, ..Built::default() };
    let files = export::files(&findings)?;
    Ok(Expanded { built, pictures, references, files, programs, problems, shown })
}

/// The pages of `book`, whose folder is `src`, and what is wrong with them.
fn read(
    book: &Book,
    src: &Path,
    options: &Options,
    records: &Records,
) -> Result<(Vec<Page>, Vec<Text>, Vec<String>)> {
    let names: Defaults = toml(&options.book.join(NAMES))?;
    let with_own = records.with_own();
    let (mut pages, mut texts, mut problems) = (vec![], vec![], vec![]);
    let mut part = None;
    for item in book.iter() {
        let chapter = match item {
            BookItem::PartTitle(title) => {
                part = Some(title.as_str());
                continue;
            }
            BookItem::Separator => {
                part = None;
                continue;
            }
            BookItem::Chapter(chapter) => chapter,
        };
        if let Some(path) = chapter.source_path.as_ref().and_then(|path| path.to_str()) {
            let draft = options.drafts.contains(path);
            let records = if draft { &with_own } else { records };
            let (page, text, found) =
                expand::read(path, chapter, part, src, records, &names, draft);
            pages.push(page);
            texts.push(text);
            problems.extend(found);
        }
    }
    Ok((pages, texts, problems))
}

/// The verdicts on the claims that these records can try.
pub(crate) fn verdicts(options: &Options, records: &Records) -> Result<Vec<(Claim, Verdict)>> {
    let config = Config::from_disk(options.book.join("book.toml"))?;
    let src = options.book.join(&config.book.src);
    let book = MDBook::load_with_config(&options.book, config)?.book;
    // What another machine lacks is wrong with a book that it is the reference of, and is no
    // matter here.
    let (pages, _, _) = read(&book, &src, options, records)?;
    let (findings, _) = toml::<Claims>(&options.claims)?.judge(&pages);
    let tried = findings.entries.into_iter().filter(|entry| {
        let Entry { claim, compared, .. } = entry;
        !claim.tests.is_empty() && claim.tests.len() == compared.len()
    });
    Ok(tried.map(|entry| (entry.claim, entry.verdict.reference)).collect())
}

/// What a file of the book says.
fn toml<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let name = path.file_name().unwrap_or_default().display();
    block::parse(&text).map_err(|e| anyhow!("{name}: {e}"))
}

/// Whether a build has drawn the file: a picture that somebody put there has another head.
fn is_drawn(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let id = format!("aria-labelledby=\"chart-{}", stem.trim_end_matches("-narrow"));
    let text = record::file::read_small(path);
    text.is_ok_and(|text| text.lines().next().is_some_and(|head| head.contains(&id)))
}

/// The figures folder against what it should be, for the machines of this build.
struct Figures {
    /// Missing or different, with what should be there.
    changed: Vec<(PathBuf, String)>,
    /// No chart makes them. Those that a build has drawn are removed.
    stale: Vec<PathBuf>,
}

impl Figures {
    fn compare(expanded: &Expanded, folder: &Path) -> Result<Figures> {
        let mut wanted = BTreeMap::new();
        for Picture { machine, stem, svg, .. } in &expanded.pictures {
            if expanded.references.contains(machine) {
                wanted.insert(folder.join(machine).join(format!("{stem}.svg")), svg);
            }
        }
        let mut stale = vec![];
        let machines: BTreeSet<&String> =
            expanded.references.iter().chain(&expanded.built.this_machine).collect();
        for machine in machines {
            let folder = folder.join(machine);
            if folder.is_symlink() {
                bail!("{} is a link; figures go into a folder", folder.display());
            }
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
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

    /// What is stored and compared with the figures.
    fn also(&mut self, path: PathBuf, text: &str) {
        if std::fs::read_to_string(&path).is_ok_and(|stored| stored == *text) {
            return;
        }
        self.changed.push((path, text.to_owned()));
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        const REMEDY: &str = "run `cargo workbook build` and commit it";
        let changed = self
            .changed
            .iter()
            .map(|(path, _)| format!("{}: is not what the records give; {REMEDY}", path.display()));
        let stale = self.stale.iter();
        changed.chain(stale.map(|path| {
            let remedy = if is_drawn(path) { REMEDY } else { "move it elsewhere" };
            format!("{}: no chart makes this figure; {remedy}", path.display())
        }))
    }

    fn store(&self) -> Result<()> {
        for (path, svg) in &self.changed {
            write_atomically(path, svg.as_bytes())?; // and not to where a link leads
        }
        for path in self.stale.iter().filter(|path| is_drawn(path)) {
            match std::fs::remove_file(path) {
                Err(e) if e.kind() == ErrorKind::NotFound => {} // another build was here
                removed => removed.with_context(|| path.display().to_string())?,
            }
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

#[cfg(test)]
mod tests {
    use super::with_good_line_ends;

    #[test]
    fn code_may_be_broken_where_it_is_longer_than_a_line() {
        let long = "<code>experiments/first-steps/vector-add/src/main.rs</code>, then";
        let broken = "<code class=\"long\">experiments/<wbr>first-steps/<wbr>vector-add/<wbr>src/\
                      <wbr>main.rs</code>, then";
        assert_eq!(with_good_line_ends(long), broken);
        let option = "<code>cargo run --emulate</code>";
        let whole = "<code>cargo run <span class=\"option\">--emulate</span></code>";
        assert_eq!(with_good_line_ends(option), whole);
        let thirty = format!("<code>{}</code>", "a/&lt;".repeat(10));
        assert_eq!(with_good_line_ends(&thirty), thirty);
        let listing = "<pre><code>experiments/first-steps/vector-add/src/main.rs</code></pre>";
        assert_eq!(with_good_line_ends(listing), listing);
    }

    #[test]
    fn numbers_stay_with_their_units_outside_of_code_and_pictures() {
        let html = "<td>of 64 MiB, 12 blocks, 5 GB/s.</td><code>4 B</code> 3 ms<svg><text>1 s</text></svg>";
        let whole = "<td>of 64\u{a0}MiB, 12 blocks, 5\u{a0}GB/s.</td><code>4 B</code> 3\u{a0}ms\
                     <svg><text>1 s</text></svg>";
        assert_eq!(with_good_line_ends(html), whole);
    }
}
