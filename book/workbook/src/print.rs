//! `cargo workbook print`: the book as a PDF, by a Chromium of this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use record::file::visible_lines;

use crate::book;
use crate::terminal::{misused, say};

/// Options of `cargo workbook print`.
#[derive(clap::Args, Debug)]
#[group(skip)] // the name of its group would be that of the flattened one's
pub(crate) struct Arguments {
    /// The PDF to write [default: book/gpu-memory-workbook.pdf]
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    #[command(flatten)]
    book: book::Arguments,
}

/// What a Chromium is called.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome.exe",
    "msedge.exe",
];

/// Builds the book and prints its page of all pages.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let browser = browser().context(
        "no Chromium was found, which prints the book; install one, or set CHROMIUM to the \
         path of Chromium, Chrome or Edge",
    )?;
    let default = root.join("book/gpu-memory-workbook.pdf");
    let pdf = arguments.pdf.as_deref().map_or(Ok(default), std::path::absolute)?;
    // What is in the way is told now, not after the minutes that printing takes.
    let folder = pdf.parent().filter(|_| !pdf.is_dir());
    let Some(folder) = folder else { misused!("{} is a folder", pdf.display()) };
    tempfile::tempfile_in(folder)
        .map_err(|e| anyhow!("{} cannot be written: {}", pdf.display(), e.kind()))?;
    let cannot = || format!("cannot start {}", browser.display());
    Command::new(&browser).arg("--version").output().with_context(cannot)?;
    let html = book::build(root, &arguments.book)?.html;
    // It prints into a folder of its own: what lay at the place stays if it fails.
    let folder = tempfile::tempdir()?;
    let made = folder.path().join("book.pdf");
    let mut command = Command::new(&browser);
    command
        .args(["--headless", "--disable-gpu", "--no-pdf-header-footer"])
        .args(["--generate-pdf-document-outline", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--print-to-pdf={}", made.display()))
        .arg(std::path::absolute(html.join("print.html"))?)
        .stdin(Stdio::null());
    if is_root() {
        // Chromium refuses to run without; it shows what was built here and nothing else.
        command.arg("--no-sandbox");
    }
    say!("printing, which takes a minute");
    let output = command.output().with_context(cannot)?;
    if !made.exists() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} has printed nothing ({}); it said: {}",
            browser.display(),
            output.status,
            visible_lines(said.trim())
        );
    }
    std::fs::copy(&made, &pdf).with_context(|| pdf.display().to_string())?;
    say!("the print edition: {}", pdf.display());
    Ok(())
}

/// `CHROMIUM`, or the first of its usual names on the PATH.
fn browser() -> Option<PathBuf> {
    if let Some(chosen) = env::var_os("CHROMIUM") {
        return Some(chosen.into());
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    let mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
    places.chain([mac.into()]).find(|place| place.is_file())
}

/// Whether this process may do anything, as in a container.
fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
    }
    #[cfg(not(target_os = "linux"))]
    false
}
