//! What the workbook's programs ask of their surroundings before anything is measured: the
//! environment variables that they listen to, which the book's page on running has in a table, and
//! room for a few open files.

use std::ffi::OsStr;

use anyhow::{Result, bail};

#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    pub may_be: &'static str,
    is_right: fn(&OsStr) -> bool,
}

pub const VARIABLES: &[Variable] = &[
    variable("WORKBOOK_CUDA_LIBS", "folders with CUDA's libraries, as in PATH", |v| {
        !v.is_empty() && std::env::split_paths(v).all(|folder| folder.is_dir())
    }),
    variable("WORKBOOK_PATIENCE", "1 to 86400 seconds", |v| {
        number(v).is_some_and(|n| (1..=86_400).contains(&n))
    }),
    variable("WORKBOOK_UNGATED", "1", |v| v == "1"),
    variable("WORKBOOK_OVERSUBSCRIBE", "yes", |v| v == "yes"),
    variable("WORKBOOK_EMULATED_GPUS", "a number from 0 to 8", |v| {
        number(v).is_some_and(|n| n <= 8)
    }),
    variable("WORKBOOK_EMULATED_GPU", "`7.5`, `8.6`, `8.9` or `9.0`", |v| {
        ["7.5", "8.6", "8.9", "9.0"].iter().any(|known| v == *known)
    }),
    variable("WORKBOOK_EMULATED_MEMORY", "1 to 1048576 MiB", |v| {
        number(v).is_some_and(|n| (1..=1 << 20).contains(&n))
    }),
    variable("WORKBOOK_EMULATED_PEERS", "`none` or a number", |v| {
        v == "none" || number(v).is_some()
    }),
    variable("WORKBOOK_EMULATED_ORDER", "1", |v| v == "1"),
    variable("WORKBOOK_EMULATED_SCHEDULE", "a number", |v| number(v).is_some()),
    variable("WORKBOOK_REVISION", "a revision of git", |v| {
        let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric());
        v.len() <= 64 && v.to_str().is_some_and(is_plain)
    }),
    variable("WORKBOOK_DIRTY", "0 or 1", |v| v == "0" || v == "1"),
];

const fn variable(
    name: &'static str,
    may_be: &'static str,
    is_right: fn(&OsStr) -> bool,
) -> Variable {
    Variable { name, may_be, is_right }
}

fn number(value: &OsStr) -> Option<u64> {
    value.to_str()?.parse().ok()
}

/// How many files a program has to be able to open at a time. With fewer, whatever it cannot open
/// looks as if it were missing: a compiler, git, a driver.
#[cfg(unix)]
const OPEN_FILES: u64 = 32;

/// Fails if one of the variables has a value that means nothing, or if files cannot be opened.
pub fn check() -> Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        if let Some(limit) = getrlimit(Resource::Nofile).current
            && limit < OPEN_FILES
        {
            bail!(
                "only {limit} files may be open at a time here, and {OPEN_FILES} are needed: \
                 `ulimit -n {OPEN_FILES}` or more"
            );
        }
    }
    for Variable { name, may_be, is_right } in VARIABLES {
        if let Some(value) = std::env::var_os(name)
            && !is_right(&value)
        {
            let value = record::file::visible(&value.to_string_lossy());
            bail!("{name} is `{value}`, but may only be {may_be}, or not set");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "WORKBOOK_";

    #[test]
    fn values_are_right_or_wrong() {
        for (name, right, wrong) in [
            ("CUDA_LIBS", "/", "/no/such/folder"),
            ("PATIENCE", "5", "0"),
            ("UNGATED", "1", "0"),
            ("OVERSUBSCRIBE", "yes", "no"),
            ("EMULATED_GPUS", "8", "9"),
            ("EMULATED_GPU", "8.6", "8"),
            ("EMULATED_MEMORY", "256", "0"),
            ("EMULATED_PEERS", "none", "-1"),
            ("EMULATED_ORDER", "1", "0"),
            ("EMULATED_SCHEDULE", "18446744073709551615", "one"),
            ("REVISION", "1ee1bb9", "\u{1b}[31m"),
            ("DIRTY", "0", "yes"),
        ] {
            let name = format!("{PREFIX}{name}");
            let variable = VARIABLES.iter().find(|v| v.name == name).unwrap();
            assert!((variable.is_right)(right.as_ref()), "{name}={right}");
            assert!(!(variable.is_right)(wrong.as_ref()), "{name}={wrong}");
        }
        assert_eq!(VARIABLES.len(), 12, "the others have no test");
    }

    #[test]
    fn the_page_on_running_has_all_of_them() {
        let page = include_str!("../../../../book/src/running.md");
        for Variable { name, .. } in VARIABLES {
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
        }
        assert_eq!(page.matches(&format!("| `{PREFIX}")).count(), VARIABLES.len());
    }
}
