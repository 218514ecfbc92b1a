//! Where the results lie, and which run of which revision of the sources this is.

use std::env::consts::EXE_SUFFIX;
use std::io::Read;
use std::path::{Path, PathBuf, is_separator};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use record::Run;

use crate::options::Options;

/// How long git may take for an answer. A record can do without its revision.
const PATIENCE: Duration = Duration::from_secs(5);

/// The workbook's top folder, found upwards from the current one, if it is ours or this
/// program was compiled in it; `None` outside of it (a packed binary on a GPU machine).
pub fn root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let program = std::env::current_exe().unwrap_or_default();
    let is_root = |dir: &&Path| {
        let [book, file] = ["book", "book/book.toml"].map(|path| dir.join(path));
        let compiled_here = program.starts_with(dir.join("target"));
        file.is_file() && (compiled_here || is_ours(&book) && is_ours(&file))
    };
    here.ancestors().find(is_root).map(Path::to_owned)
}

/// Whether the file or folder belongs to this user or to the system's, and not everybody may
/// write there; the same of a link and of what it leads to. On a machine with other users
/// anybody may leave something in a folder such as `/tmp`, above our own.
#[cfg(unix)]
pub(crate) fn is_ours(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_our_user = |owner: u32| owner == 0 || owner == rustix::process::geteuid().as_raw();
    let itself = std::fs::symlink_metadata(path);
    let place = std::fs::metadata(path);
    itself.is_ok_and(|itself| is_our_user(itself.uid()))
        && place.is_ok_and(|place| is_our_user(place.uid()) && place.mode() & 0o002 == 0)
}

/// Whether it [is ours](is_ours), or belongs to whom the program belongs to.
#[cfg(unix)]
pub(crate) fn is_ours_as(path: &Path, program: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path| std::fs::symlink_metadata(path).map(|metadata| metadata.uid()).ok();
    is_ours(path) || owner(path).is_some_and(|of_it| owner(program) == Some(of_it))
}

/// What lies beside a program is ours.
#[cfg(windows)]
pub(crate) fn is_ours_as(_: &Path, _: &Path) -> bool {
    true // who can write there can replace the program, too
}

/// Whether the file or folder lies in this user's home, or in the folder that this user has
/// chosen. Above it, such as in `C:\`, anybody may make folders.
#[cfg(windows)]
pub(crate) fn is_ours(path: &Path) -> bool {
    let chosen = [std::env::home_dir(), std::env::current_dir().ok()];
    chosen.into_iter().flatten().any(|folder| path.starts_with(folder))
}

/// The profile that this program was compiled with, as cargo calls it: what it compiles is
/// compiled with the same, and lies beside it.
pub fn profile() -> &'static str {
    let profile = env!("LAB_PROFILE");
    profile.split_once(',').map_or(profile, |(name, _)| name)
}

/// The folder of records: `results` of the workbook, or of the current folder.
pub fn results() -> PathBuf {
    root().unwrap_or_default().join("results")
}

/// When and how this program was started.
pub(crate) fn run(options: &Options) -> Result<Run> {
    let started = date(SystemTime::now())?;
    let (revision, dirty) = revision();
    let Options { quick, label, .. } = options.clone();
    Ok(Run { started, command: command(arguments()), revision, dirty, quick, label })
}

/// The date of a record, which has a year of four digits.
fn date(now: SystemTime) -> Result<String> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    if now.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since < YEAR_10000) {
        return Ok(humantime::format_rfc3339_seconds(now).to_string());
    }
    bail!("this machine's clock is before 1970 or after 9999, and records are dated: set it")
}

/// The program's name and arguments, whatever bytes are in them.
pub fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())
}

/// The command line with the program's name instead of its path, and without the
/// results folder: where a user keeps files is nobody else's business.
fn command(mut arguments: impl Iterator<Item = String>) -> String {
    let mut words = vec![];
    while let Some(argument) = arguments.next() {
        if words.is_empty() {
            let name = argument.rsplit(is_separator).next().unwrap_or_default();
            words.push(name.strip_suffix(EXE_SUFFIX).unwrap_or(name).to_owned());
        } else if argument == "--results" {
            arguments.next();
        } else if !argument.starts_with("--results=") {
            words.push(argument);
        }
    }
    words.join(" ")
}

/// A program's name and what it was made from: `coalescing 0.1.0, revision 1ee1bb9, edited`.
pub(crate) fn version(name: &str) -> String {
    let version = format!("{name} {}", env!("CARGO_PKG_VERSION"));
    match revision() {
        (None, _) => format!("{version}, revision unknown"),
        (Some(revision), Some(true)) => {
            format!("{version}, revision {revision}, edited")
        }
        (Some(revision), _) => format!("{version}, revision {revision}"),
    }
}

/// Git revision of the sources and whether they were changed since. A packed binary is
/// told by its runner (`WORKBOOK_REVISION`, `WORKBOOK_DIRTY`), a checkout asks git.
/// What an experiment or a redraw writes does not make sources dirty.
fn revision() -> (Option<String>, Option<bool>) {
    if let Ok(revision) = std::env::var("WORKBOOK_REVISION") {
        let dirty = std::env::var("WORKBOOK_DIRTY").ok().map(|d| d != "0");
        return (Some(revision), dirty);
    }
    let Some(root) = root() else { return (None, None) };
    let Some(revision) = git(&root, &["rev-parse", "--short=12", "HEAD"]) else {
        return (None, None);
    };
    let sources = ["status", "--porcelain", "--", ".", ":!results", ":!book/src/figures"];
    (Some(revision), git(&root, &sources).map(|changed| !changed.is_empty()))
}

/// What git says in the folder; `None` if there is none, if it fails or takes too long, or if no
/// thread can listen.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(arguments);
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = git.spawn().ok()?;
    let (mut said, (tell, told)) = (child.stdout.take()?, mpsc::channel());
    // Without a thread, `tell` is gone, and nothing will be told.
    let _ = std::thread::Builder::new().spawn(move || {
        let mut text = String::new();
        // If nobody waits any more, nobody is to be told.
        let _ = said.read_to_string(&mut text).map(|_| tell.send(text));
    });
    let Ok(text) = told.recv_timeout(PATIENCE) else {
        let _ = child.kill(); // it may just have ended
        let _ = child.wait();
        return None;
    };
    child.wait().ok()?.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_no_record_can_tell_is_refused() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(date(at(253_402_300_799)).unwrap(), "9999-12-31T23:59:59Z");
        for clock in [at(253_402_300_800), SystemTime::UNIX_EPOCH - Duration::from_secs(1)] {
            assert!(date(clock).unwrap_err().to_string().contains("clock is before 1970 or"));
        }
    }

    #[test]
    fn commands_are_recorded_without_paths() {
        for (line, recorded) in [
            ("/somewhere/target/release/copy --quick", "copy --quick"),
            ("copy --results /somewhere/r --samples 3", "copy --samples 3"),
            ("copy --results=/somewhere/r", "copy"),
        ] {
            let words = line.split(' ').map(str::to_owned);
            assert_eq!(command(words), recorded);
        }
    }
}
