//! `cargo workbook serve`: build, show, and build again on every change.
//!
//! Pages ask `/changed?since=N` and get an answer when build N is out of date; then they
//! load again. mdBook's own server does the same for those who have it, but it comes as
//! a program only, not as a library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, anyhow};
use tiny_http::{Header, Request, Response, Server};
use walkdir::{DirEntry, WalkDir};

use crate::book;
use crate::terminal::{complain, say};

/// Options of `cargo workbook serve`.
#[derive(clap::Args, Debug)]
#[group(skip)] // the name of its group would be that of the flattened one's
pub(crate) struct Arguments {
    /// Port on this machine's loopback address
    #[arg(long, default_value_t = 3000)]
    port: u16,
    #[command(flatten)]
    book: book::Arguments,
}

/// How often the sources are looked at.
const INTERVAL: Duration = Duration::from_millis(300);
/// How long a page's question may stay unanswered.
const PATIENCE: Duration = Duration::from_secs(20);
/// What makes a page load again. It goes into pages on their way out, not into the book.
const RELOAD: &str = "<script>(function ask(){fetch('/changed?since=BUILD')\
.then(r=>r.text()).then(t=>{if(t==='yes')location.reload();else ask()})\
.catch(()=>setTimeout(ask,1000))})()</script></body>";

/// Serves until interrupted. A build that fails is reported, and the last good one
/// stays; only the first has to succeed.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let seen = sources(root);
    let html = book::build(root, &arguments.book)?;
    let good = Arc::new(Mutex::new(Arc::new(files(&html)?)));
    let address = format!("127.0.0.1:{}", arguments.port);
    let server = Server::http(&address).map_err(|e| {
        anyhow!("cannot serve on {address}: {e}; choose another with --port")
    })?;
    say!("showing it at http://{address} (Ctrl-C ends)");
    let build = Arc::new(AtomicUsize::new(0));
    {
        let (build, good) = (build.clone(), good.clone());
        let (root, options) = (root.to_owned(), arguments.book.clone());
        std::thread::spawn(move || watch(&root, &options, seen, &build, &good));
    }
    for request in server.incoming_requests() {
        let (build, good) = (build.clone(), good.clone());
        std::thread::spawn(move || answer(request, &build, &good));
    }
    Ok(())
}

/// The last good build: every file of it by its path in URLs. It is kept in memory, as a
/// build empties the folder first, and may fail after that.
type Files = BTreeMap<String, Vec<u8>>;

fn files(html: &Path) -> Result<Files> {
    let mut files = Files::new();
    for file in WalkDir::new(html) {
        let file = file?;
        if file.file_type().is_file() {
            let name = file.path().strip_prefix(html)?;
            let bytes = std::fs::read(file.path())?;
            files.insert(name.to_string_lossy().into_owned(), bytes);
        }
    }
    Ok(files)
}

fn watch(
    root: &Path,
    options: &book::Arguments,
    mut seen: BTreeMap<PathBuf, SystemTime>,
    build: &AtomicUsize,
    good: &Mutex<Arc<Files>>,
) {
    loop {
        std::thread::sleep(INTERVAL);
        let now = sources(root);
        if now == seen {
            continue;
        }
        seen = now; // what is saved while the build runs is the next change
        match book::build(root, options).and_then(|html| files(&html)) {
            Ok(files) => {
                if let Ok(mut good) = good.lock() {
                    *good = Arc::new(files);
                }
                build.fetch_add(1, Ordering::Release);
            }
            Err(e) => complain!("error: {e:#}\nthe last good build stays"),
        }
    }
}

/// Everything a page can show, with its time of change.
fn sources(root: &Path) -> BTreeMap<PathBuf, SystemTime> {
    // A build writes figures itself; they are no news.
    let is_source = |e: &DirEntry| !e.path().ends_with("book/src/figures");
    let parts = ["book/src", "book/theme", "book/book.toml", "book/claims.toml"];
    let parts = parts.into_iter().chain(["results", "experiments", "kernels"]);
    let entries = parts.flat_map(|part| {
        WalkDir::new(root.join(part)).into_iter().filter_entry(is_source)
    });
    let files = entries.flatten().filter(|entry| !entry.file_type().is_dir());
    let time = |file: &DirEntry| file.metadata().ok()?.modified().ok();
    files.filter_map(|file| Some((file.path().to_owned(), time(&file)?))).collect()
}

fn answer(request: Request, build: &AtomicUsize, good: &Mutex<Arc<Files>>) {
    let url = request.url().to_owned();
    let (path, query) = url.split_once('?').unwrap_or((&url, ""));
    let sent = if path == "/changed" {
        let since = query.strip_prefix("since=").and_then(|n| n.parse().ok());
        let start = Instant::now();
        let changed = || since != Some(build.load(Ordering::Acquire));
        while !changed() && start.elapsed() < PATIENCE {
            std::thread::sleep(INTERVAL);
        }
        request.respond(Response::from_string(if changed() { "yes" } else { "no" }))
    } else {
        // In this order: a page that is newer than it says loads once too often.
        let version = build.load(Ordering::Acquire);
        let files = good.lock().map(|good| good.clone()).unwrap_or_default();
        let name = match path.trim_start_matches('/') {
            "" => "index.html",
            name => name,
        };
        match files.get(name) {
            Some(bytes) => {
                let kind = content_type(Path::new(name));
                let bytes = if kind.starts_with("text/html") {
                    let page = String::from_utf8_lossy(bytes);
                    let script = RELOAD.replace("BUILD", &version.to_string());
                    page.replacen("</body>", &script, 1).into_bytes()
                } else {
                    bytes.clone()
                };
                let header =
                    Header::from_bytes("Content-Type", kind).expect("plain ASCII");
                request.respond(Response::from_data(bytes).with_header(header))
            }
            None => request
                .respond(Response::from_string("not found").with_status_code(404)),
        }
    };
    drop(sent); // a browser that went away is no failure
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|e| e.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
