//! Which experiments there are: the folders of `experiments/` that have a program.

use std::path::Path;

use anyhow::{Context, Result};
use record::{Results, Source};

/// One experiment, as its Cargo.toml describes it.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    /// Crate, kernel, page and record name.
    pub(crate) name: String,
    /// Section of the chapter.
    pub(crate) section: String,
    /// What hardware it needs.
    pub(crate) needs: String,
}

#[derive(serde::Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(serde::Deserialize)]
struct Package {
    name: String,
    metadata: Metadata,
}

#[derive(serde::Deserialize)]
struct Metadata {
    workbook: Workbook,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Workbook {
    section: String,
    needs: String,
}

/// All experiments, in the order of the book's sections.
pub(crate) fn all(root: &Path) -> Result<Vec<Experiment>> {
    let folder = root.join("experiments");
    let mut found = vec![];
    for entry in
        std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?
    {
        let folder = entry?.path();
        if !folder.join("src/main.rs").is_file() {
            continue; // `record` and `lab` are libraries
        }
        let path = folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| path.display().to_string())?;
        let manifest: Manifest =
            toml::from_str(&text).with_context(|| path.display().to_string())?;
        let Package { name, metadata: Metadata { workbook } } = manifest.package;
        found.push(Experiment {
            name,
            section: workbook.section,
            needs: workbook.needs,
        });
    }
    found.sort_by(|a, b| (&a.section, &a.name).cmp(&(&b.section, &b.name)));
    Ok(found)
}

/// `cargo workbook list`.
pub(crate) fn list(root: &Path) -> Result<()> {
    let results = Results::new(root.join("results"));
    let machines = results.machines()?;
    let bold = anstyle::Style::new().bold();
    anstream::println!(
        "{bold}{:<22} {:<8} {:<8} {}{bold:#}",
        "experiment",
        "section",
        "needs",
        "recorded on"
    );
    let here = results.this_machine()?;
    for experiment in all(root)? {
        let mut recorded = vec![];
        for machine in &machines {
            let record = results.read(machine, &experiment.name)?;
            if record.is_some_and(|record| record.source != Source::Emulated) {
                let mark =
                    if here.as_ref() == Some(machine) { " (here)" } else { "" };
                recorded.push(format!("{machine}{mark}"));
            }
        }
        let recorded = if recorded.is_empty() {
            "no machine yet".into()
        } else {
            recorded.join(", ")
        };
        let Experiment { name, section, needs } = experiment;
        anstream::println!("{name:<22} {section:<8} {needs:<8} {recorded}");
    }
    anstream::println!(
        "\nOne of them: cargo run --release -p NAME -- --help. All: cargo workbook run"
    );
    Ok(())
}
