//! `cargo workbook serve`: build, show, and build again on every change.
//!
//! Pages ask `/changed?since=N` and get an answer when build N is out of date; then they
//! load again. mdBook's own server does the same for those who have it, but it comes as
//! a program only, not as a library.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, anyhow};
use tiny_http::{Header, Request, Response, Server};

use crate::book;

/// Options of `cargo workbook serve`.
#[derive(clap::Args, Debug)]
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
    let html = book::build(root, &arguments.book)?;
    let address = format!("127.0.0.1:{}", arguments.port);
    let server = Server::http(&address).map_err(|e| {
        anyhow!("cannot serve on {address}: {e}; choose another with --port")
    })?;
    anstream::println!("showing it at http://{address} (Ctrl-C ends)");
    let build = Arc::new(AtomicUsize::new(0));
    // A page in the middle of a build would miss files, so the two take turns.
    let turn = Arc::new(Mutex::new(()));
    {
        let (build, turn) = (build.clone(), turn.clone());
        let (root, options) = (root.to_owned(), arguments.book.clone());
        std::thread::spawn(move || watch(&root, &options, &build, &turn));
    }
    for request in server.incoming_requests() {
        let (build, turn, html) = (build.clone(), turn.clone(), html.clone());
        std::thread::spawn(move || answer(request, &html, &build, &turn));
    }
    Ok(())
}

fn watch(
    root: &Path,
    options: &book::Arguments,
    build: &AtomicUsize,
    turn: &Mutex<()>,
) {
    let mut seen = sources(root);
    loop {
        std::thread::sleep(INTERVAL);
        let now = sources(root);
        if now == seen {
            continue;
        }
        let _turn = turn.lock();
        match book::build(root, options) {
            Ok(_) => {
                build.fetch_add(1, Ordering::Release);
            }
            Err(e) => anstream::eprintln!("error: {e:#}\nthe last good build stays"),
        }
        // The build itself writes figures; those are no news.
        seen = sources(root);
    }
}

/// Everything a page can show, with its time of change.
fn sources(root: &Path) -> BTreeMap<PathBuf, SystemTime> {
    fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, SystemTime>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.metadata() {
                Ok(m) if m.is_dir() => walk(&path, found),
                Ok(m) => {
                    let time = m.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.insert(path, time);
                }
                Err(_) => {} // it was removed in between
            }
        }
    }
    let mut found = BTreeMap::new();
    for folder in ["book/src", "book/theme", "results", "experiments", "kernels"] {
        walk(&root.join(folder), &mut found);
    }
    for file in ["book/book.toml", "book/claims.toml"] {
        let time = std::fs::metadata(root.join(file)).and_then(|m| m.modified());
        found.insert(root.join(file), time.unwrap_or(SystemTime::UNIX_EPOCH));
    }
    found
}

fn answer(request: Request, html: &Path, build: &AtomicUsize, turn: &Mutex<()>) {
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
        let _turn = turn.lock();
        let version = build.load(Ordering::Acquire);
        match file_of(html, path).map(|file| (std::fs::read(&file), file)) {
            Some((Ok(bytes), file)) => {
                let kind = content_type(&file);
                let bytes = if kind.starts_with("text/html") {
                    let page = String::from_utf8_lossy(&bytes);
                    let script = RELOAD.replace("BUILD", &version.to_string());
                    page.replacen("</body>", &script, 1).into_bytes()
                } else {
                    bytes
                };
                let header =
                    Header::from_bytes("Content-Type", kind).expect("plain ASCII");
                request.respond(Response::from_data(bytes).with_header(header))
            }
            _ => request
                .respond(Response::from_string("not found").with_status_code(404)),
        }
    };
    drop(sent); // a browser that went away is no failure
}

/// The file that a URL's path names inside `html`; `None` if it would leave it.
fn file_of(html: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path.trim_start_matches('/'));
    let inside = relative.components().all(|c| matches!(c, Component::Normal(_)));
    let file = html.join(relative);
    inside.then(|| if file.is_dir() { file.join("index.html") } else { file })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_url_leaves_the_book() {
        let html = Path::new("/book");
        for path in ["/../secret", "/a/../../b", "//etc/passwd/.."] {
            assert_eq!(file_of(html, path), None, "{path}");
        }
        assert_eq!(file_of(html, "/a/b.html"), Some("/book/a/b.html".into()));
        assert_eq!(file_of(html, "//etc/passwd"), Some("/book/etc/passwd".into()));
    }
}
