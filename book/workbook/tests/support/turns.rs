//! What takes long and seldom finds anything is tried in part each day, so that in some days all of
//! it is. What is new is tried at once, and with `WORKBOOK_ALL=1` everything.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is new, or one of `days` of all: another one each day.
pub(crate) fn todays<T>(
    days: u64,
    all: impl IntoIterator<Item = T>,
    is_new: impl Fn(&T) -> bool,
) -> Vec<T> {
    let day = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs() / 86400;
    let is_all = std::env::var_os("WORKBOOK_ALL").is_some();
    let today = (day..).zip(all).filter(|(n, one)| is_all || n % days == 0 || is_new(one));
    today.map(|(_, one)| one).collect()
}

/// Whether git knows the main branch of half a day ago to have had something else in a folder, or in
/// files whose names begin so.
#[allow(dead_code)] // not of all tests
pub(crate) fn is_new(path: &Path) -> bool {
    static NEW: LazyLock<Vec<String>> = LazyLock::new(|| {
        let git = |arguments: &str| {
            let mut git = Command::new("git");
            git.args(arguments.split_whitespace()).current_dir(root()).output().map_or_else(
                |_| String::new(),
                |output| String::from_utf8_lossy(&output.stdout).trim_end().to_owned(),
            )
        };
        let before = git("rev-list -1 --first-parent --before=12.hours.ago HEAD");
        let changed = git(&format!("diff --name-only {before}"));
        let untracked = git("ls-files --others --exclude-standard");
        changed.lines().chain(untracked.lines()).map(str::to_owned).collect()
    });
    let path = path.strip_prefix(root()).unwrap_or(path).to_string_lossy();
    NEW.iter().any(|file| file.starts_with(&*path))
}

fn root() -> std::path::PathBuf {
    lab::workspace::root().expect("the package lies in the workspace")
}
