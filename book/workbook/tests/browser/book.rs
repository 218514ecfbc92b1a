//! The book that the tests look at: built once, by the workbook itself.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use walkdir::WalkDir;

/// The folder with the built book. If it does not build, the first test to ask says
/// why.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-book");
        let output = Command::new(env!("CARGO_BIN_EXE_workbook"))
            .args(["build", "--output"])
            .arg(&folder)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .expect("the workbook can be started");
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(folder)
    });
    folder.as_deref().expect("the book builds; another test shows why not")
}

/// Every page with its text, read once, in the order of their names. mdBook's error page is left
/// out, which looks for its style at the root of a web server, and so are the table of contents
/// for browsers without JavaScript, which is a part of the other pages, and what only
/// leads from an old address to the new one.
fn texts() -> &'static [(PathBuf, String)] {
    static TEXTS: OnceLock<Vec<(PathBuf, String)>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let entries = WalkDir::new(folder()).sort_by_file_name().into_iter();
        let paths = entries.map(|e| e.expect("the book can be read").into_path());
        let is_html = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.ends_with(".html") && !["404.html", "toc.html"].contains(&name)
        };
        let read = |path: PathBuf| {
            let html = fs::read_to_string(&path).expect("pages can be read");
            (!html.contains("http-equiv=\"refresh\"")).then_some((path, html))
        };
        let pages: Vec<_> = paths.filter(is_html).filter_map(read).collect();
        assert!(!pages.is_empty(), "the book has no pages");
        pages
    })
}

/// Every page.
pub(crate) fn pages() -> Vec<PathBuf> {
    texts().iter().map(|(page, _)| page.clone()).collect()
}

/// Whether it is one of the copies that mdBook makes of the first chapter, and of all for printing.
pub(crate) fn is_copy(page: &Path) -> bool {
    page.ends_with("print.html") || page.ends_with("index.html")
}

/// What the search looks through and prints.
pub(crate) fn search_index() -> String {
    let files = fs::read_dir(folder()).expect("the book can be read");
    let paths = files.map(|file| file.expect("it can be read").path());
    let is_index = |path: &PathBuf| name(path).starts_with("searchindex");
    let indices: Vec<_> = paths.filter(is_index).collect();
    let [index] = &indices[..] else { panic!("search indices: {indices:?}") };
    fs::read_to_string(index).expect("the index can be read")
}

/// One page per chapter.
pub(crate) fn chapters() -> Vec<PathBuf> {
    pages().into_iter().filter(|page| !is_copy(page)).collect()
}

/// The chapters whose source contains `text`.
pub(crate) fn chapters_with(text: &str) -> Vec<PathBuf> {
    let contains = |(page, html): &&(PathBuf, String)| !is_copy(page) && html.contains(text);
    let found = texts().iter().filter(contains);
    let chapters: Vec<_> = found.map(|(page, _)| page.clone()).collect();
    assert!(!chapters.is_empty(), "no page of the book has {text}");
    chapters
}

/// A page's address within the book.
pub(crate) fn address(page: &Path) -> String {
    let path = page.strip_prefix(folder()).expect("the page is in the book");
    path.to_string_lossy().into_owned()
}

/// A page's path within the book, for messages and file names.
pub(crate) fn name(page: &Path) -> String {
    let path = page.strip_prefix(folder()).expect("the page is in the book");
    path.with_extension("").to_string_lossy().replace('/', "-")
}
