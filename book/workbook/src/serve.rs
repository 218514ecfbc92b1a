//! `cargo workbook serve`: build, show, and build again on every change.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | what is shown, and when it is built again |
//! | `http.rs` | the server: who may ask for what, and how much |
//! | `reload.html` | what pages get on their way out, to follow the builds |
//!
//! mdBook's own server does the same for those who have it, but it comes as a program
//! only, not as a library. A browser on this machine asks for files that are in memory:
//! the standard library is enough for that.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use record::file::visible_lines;
use walkdir::{DirEntry, WalkDir};

use crate::terminal::{complain, say};
use crate::{book, exercise};

mod http;

/// Options of `cargo workbook serve`.
#[derive(clap::Args, Debug)]
#[group(skip)] // the name of its group would be that of the flattened one's
pub(crate) struct Arguments {
    /// Port on this machine's loopback address; 0 takes a free one
    #[arg(long, default_value_t = 3000)]
    port: u16,
    #[command(flatten)]
    book: book::Arguments,
}

/// How often the sources are looked at.
const INTERVAL: Duration = Duration::from_millis(300);
/// What the learner has done, for the marks beside exercises.
const PROGRESS: &str = "exercises.json";
/// Asks for the state of the builds, and loads the page again or shows the error.
const RELOAD: &str = include_str!("serve/reload.html");

/// Serves until interrupted. A build that fails is reported, here and in the pages, and
/// the last good one stays; only the first has to succeed.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    // An interrupt waits for a build in progress, which cleans up after itself.
    let (interrupt, interrupted) = channel();
    ctrlc::set_handler(move || _ = interrupt.send(()))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = TcpListener::bind(address).map_err(|e| {
        anyhow!(
            "cannot serve on {address}: {e}; choose another port with --port, or leave \
             the choice to the system with --port 0"
        )
    })?;
    let address = listener.local_addr()?;
    let mut seen = sources(root);
    say!("building the book, which takes some seconds");
    let shown = Arc::new(Shown(Mutex::new(Site::build(root, &arguments.book)?)));
    http::start(listener, shown.clone());
    say!("showing it at http://{address} (Ctrl-C ends)");
    while let Err(RecvTimeoutError::Timeout) = interrupted.recv_timeout(INTERVAL) {
        let now = sources(root);
        if now == seen {
            continue;
        }
        seen = now; // what is saved while the build runs is the next change
        match Site::build(root, &arguments.book) {
            Ok(site) => shown.change(|last| *last = site),
            Err(e) => {
                shown.change(|last| last.error = Some(format!("{e:#}")));
                complain!("error: {}\nthe last good build stays", visible_lines(&format!("{e:#}")));
            }
        }
    }
    Ok(())
}

/// What the server shows at present.
struct Shown(Mutex<Site>);

impl Shown {
    fn change(&self, change: impl FnOnce(&mut Site)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn site(&self) -> Site {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The last good build, and what went wrong since. It is kept in memory, so that every
/// answer is of one build, whatever happens in the book's folder.
#[derive(Clone)]
struct Site {
    /// The build's time, in milliseconds: no other has the same, not even after a restart.
    build: u64,
    /// Every file by its path in URLs.
    files: Arc<BTreeMap<String, Vec<u8>>>,
    error: Option<String>,
}

impl Site {
    fn build(root: &Path, options: &book::Arguments) -> Result<Site> {
        let html = book::build(root, options)?.html;
        let build = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
        let reload = RELOAD.replace("BUILD", &build.to_string());
        let mut files = BTreeMap::new();
        for file in WalkDir::new(&html) {
            let file = file?;
            if !file.file_type().is_file() {
                continue;
            }
            let mut bytes =
                std::fs::read(file.path()).with_context(|| file.path().display().to_string())?;
            if file.path().extension().is_some_and(|e| e == "html") {
                let page = String::from_utf8_lossy(&bytes);
                let follows = format!("{reload}</body>");
                bytes = page.replacen("</body>", &follows, 1).into_bytes();
            }
            let name = file.path().strip_prefix(&html)?.to_string_lossy();
            files.insert(name.replace(MAIN_SEPARATOR, "/"), bytes);
        }
        files.insert(PROGRESS.to_owned(), exercise::export(root)?.into());
        Ok(Site { build, files: Arc::new(files), error: None })
    }
}

/// Everything a page can show, with its time of change.
fn sources(root: &Path) -> BTreeMap<PathBuf, SystemTime> {
    // A build writes figures itself; they are no news.
    let is_source = |e: &DirEntry| !e.path().ends_with("book/src/figures");
    let files = ["book/book.toml", "book/claims.toml", "book/names.toml"];
    let book = ["book/src", "book/theme"].into_iter().chain(files);
    let shown = ["my/progress.json", "results", "experiments", "kernels", "scripts/baselines"];
    let parts = book.chain(shown);
    let entries =
        parts.flat_map(|part| WalkDir::new(root.join(part)).into_iter().filter_entry(is_source));
    let files = entries.flatten().filter(|entry| !entry.file_type().is_dir());
    let time = |file: &DirEntry| file.metadata().ok()?.modified().ok();
    files.filter_map(|file| Some((file.path().to_owned(), time(&file)?))).collect()
}
