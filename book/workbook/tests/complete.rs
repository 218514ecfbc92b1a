//! Nothing is missing and nothing is left over: every experiment has its manifest, a page,
//! which it may share, that page's line in the summary, its kernel and, unless it is a draft
//! or a primer, its reference record; every baseline has its record, and there are no others.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/skip.rs"]
mod skip;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use excerpt::page::{Case, Kind, Pages, Table};
use lab::counters::SUFFIX;
use lab::ptx;
use lab::timing::Sampling;
use lessons::Lesson;
use record::{Record, Results, Source};
use report::minutes::{Depth, Shown};
use skip::skip;
use walkdir::WalkDir;

fn root() -> PathBuf {
    lab::workspace::root().expect("the package lies in the workspace")
}

fn exists(path: &str) -> bool {
    root().join(path).is_file()
}

/// A text file of the workbook; empty if it is missing, which fails what it is asked for.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// The file beside a page that has what the page shows by name.
fn beside(page: &str) -> String {
    page.replace(".md", ".toml")
}

/// Paths below `folder` of all files in it, relative to it, sorted.
fn files(folder: &str) -> BTreeSet<String> {
    let top = root().join(folder);
    let entries = WalkDir::new(&top).into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    let relative = |path: &Path| path.strip_prefix(&top).unwrap().display().to_string();
    files.map(|file| relative(file.path())).collect()
}

/// Names of the files `*.<extension>` directly in `folder`, without the extension.
fn stems(folder: &str, extension: &str) -> BTreeSet<String> {
    let stem = |file: &String| {
        let stem = file.strip_suffix(extension)?.strip_suffix('.')?;
        (!stem.contains('/')).then(|| stem.to_owned())
    };
    files(folder).iter().filter_map(stem).collect()
}

/// Paths below `book/src` of all pages.
fn pages() -> impl Iterator<Item = String> {
    files("book/src").into_iter().filter(|file| file.ends_with(".md") && file != "SUMMARY.md")
}

/// Where the links of a Markdown text lead.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// The names of all exercises, and what they ask for.
fn exercises() -> BTreeMap<String, String> {
    let of = |file: String| {
        let folder = file.strip_suffix("/exercise.md")?;
        let name = folder.rsplit('/').next()?.to_owned();
        Some((name, text(&format!("experiments/{file}"))))
    };
    files("experiments").into_iter().filter_map(of).collect()
}

fn experiments() -> Vec<Lesson> {
    let lessons = lessons::all(&root()).unwrap();
    assert!(!lessons.is_empty(), "there are no experiments");
    lessons
}

/// Names of the kernel files that an experiment embeds.
fn kernels(lesson: &Lesson) -> BTreeSet<String> {
    lesson.kernels(&root()).unwrap()
}

/// Names of the baselines: the scripts of `scripts/baselines` that measure.
fn baselines() -> BTreeSet<String> {
    let measures =
        |name: &String| text(&format!("scripts/baselines/{name}.py")).contains("\ndef experiment(");
    stems("scripts/baselines", "py").into_iter().filter(measures).collect()
}

/// The machines whose records the book shows to everybody, in its order.
fn references() -> Vec<String> {
    Results::new(root().join("results")).references().unwrap()
}

type Stored = (String, Record);

/// The records called `name` of all runs of the reference machines, in the book's order, and of
/// each machine the newest first.
fn recorded(name: &str) -> Result<Vec<Stored>, String> {
    let results = Results::new(root().join("results"));
    let mut found = vec![];
    for machine in references() {
        let mut of_machine = vec![];
        for run in results.runs(&machine).map_err(|e| e.to_string())? {
            let record = run.read(&machine, name).map_err(|e| e.to_string())?;
            let label = run.label().map_or(String::new(), |label| format!("{label}/"));
            let path = format!("results/{machine}/{label}{name}.json");
            of_machine.extend(record.map(|record| (path, record)));
        }
        of_machine.sort_by(|(_, a), (_, b)| b.run.started.cmp(&a.run.started));
        found.extend(of_machine);
    }
    Ok(found)
}

/// The reference records of an experiment or a baseline, at least one; the error says what is
/// wrong with them.
fn reference_records(name: &str) -> Result<Vec<Stored>, String> {
    let found = recorded(name)?;
    match found.is_empty() {
        true => Err(format!(
            "results/MACHINE/{name}.json is missing, where MACHINE is one of {}",
            references().join(", ")
        )),
        false => Ok(found),
    }
}

/// Whether `kernel` is what the committed PTX of its file gives today. Kernels that are new
/// in the file do not matter.
fn is_of_today(kernel: &record::Kernel) -> bool {
    let today = ptx::functions(&text(&format!("kernels/ptx/{}.ptx", kernel.name)));
    let same = |(name, hash)| today.get(name) == Some(hash);
    !kernel.functions.is_empty() && kernel.functions.iter().all(same)
}

/// Kernels, and a record, of the checked exercises.
const EXERCISES: &str = "exercises";

/// Fails with all `problems` and what to do about them.
#[track_caller]
fn none(problems: Vec<String>, remedy: &str) {
    assert!(problems.is_empty(), "\n{}\n{remedy}\n", problems.join("\n"));
}

/// What `problem` finds wrong with each experiment.
fn each(problems: impl Fn(&Lesson) -> Vec<String>) -> Vec<String> {
    experiments().iter().flat_map(problems).collect()
}

#[test]
fn every_experiment_has_a_page_with_its_source_and_its_provenance() {
    let problems = each(|lesson| {
        let path = format!("book/src/{}", lesson.page());
        let page = text(&path);
        if page.is_empty() {
            return vec![format!("{path} is missing: write the experiment's page")];
        }
        let mut problems = vec![];
        let source = format!("{{{{#include ../../../{}/src/", lesson.path().display());
        if !page.contains(&source) {
            problems.push(format!("{path}: show the experiment: {source}main.rs}}}}"));
        }
        if !lesson.primer && !page.contains("\n{{provenance}}") {
            problems.push(format!("{path}: end it with {{{{provenance}}}}"));
        }
        problems
    });
    none(problems, "The book's chapter `Adding an experiment` says more.");
}

#[test]
fn the_top_of_an_experiment_says_which_section_of_its_page_shows_each_file() {
    let problems = each(|lesson| {
        let main = format!("{}/src/main.rs", lesson.path().display());
        let (listed, page) = (listed(&text(&main)), format!("book/src/{}", lesson.page()));
        let (headings, shown) = shown(&text(&page), &lesson.name);
        let mut problems = vec![];
        for file in files(&format!("{}/src", lesson.path().display())) {
            if !listed.contains_key(&file) {
                problems.push(format!("{main}: a row for {file} is missing"));
            }
        }
        for section in listed.values().flatten() {
            if !headings.iter().any(|heading| heading.starts_with(section)) {
                problems.push(format!("{main}: {page} has no heading {section}"));
            }
        }
        for (file, heading) in shown {
            let mut said = listed.get(&file).into_iter().flatten();
            if !said.any(|section| heading.starts_with(section)) {
                problems.push(format!("{main}: {page} shows {file} under {heading}"));
            }
        }
        problems
    });
    none(problems, "Each has a row `| file | section; section | question |` there.");
}

/// The sections that each file has in the table at the top of a `main.rs`.
fn listed(main: &str) -> BTreeMap<String, Vec<String>> {
    let rows = main.lines().skip_while(|line| !line.starts_with("//! |"));
    let rows = rows.map_while(|line| line.strip_prefix("//! |"));
    let mut listed = BTreeMap::new();
    for row in rows.skip(2) {
        let mut cells = row.split('|').map(str::trim);
        let (files, sections) =
            (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let sections = sections.split("; ").filter(|section| !section.is_empty());
        let sections: Vec<_> = sections.map(str::to_owned).collect();
        for file in files.split(", ") {
            let file = file.trim_matches(['[', '`', ']']).trim_start_matches("mod@");
            let file = format!("{}.rs", file.trim_end_matches(".rs"));
            listed.insert(file, sections.clone());
        }
    }
    listed
}

/// A page's headings, and which files of its experiment it shows under which of them.
fn shown(page: &str, name: &str) -> (Vec<String>, Vec<(String, String)>) {
    let source = format!("/{name}/src/");
    let (mut headings, mut shown, mut code) = (vec![String::new()], vec![], false);
    for line in page.lines() {
        code ^= line.starts_with("```");
        if !code && line.starts_with('#') {
            headings.push(line.trim_start_matches('#').trim().to_owned());
        }
        let included = line.strip_prefix("{{#include ");
        if let Some((_, file)) = included.and_then(|l| l.split_once(&source)) {
            let end = file.find([':', '}']).unwrap_or(file.len());
            let heading = headings[headings.len() - 1].clone();
            shown.push((file[..end].to_owned(), heading));
        }
    }
    (headings, shown)
}

#[test]
fn no_lesson_measures_something_else_under_a_misspelt_word() {
    let old_form = "match way {\n    \"b\" => {\n        1\n    }\n    _ => 2,\n}";
    assert_eq!(fallbacks(old_form), [5]);
    assert!(
        fallbacks(&old_form.replace("_ => 2", "other => unreachable!(\"{other}\")")).is_empty()
    );
    let problems = each(|lesson| {
        let folder = format!("{}/src", lesson.path().display());
        let sources = files(&folder).into_iter().map(|file| format!("{folder}/{file}"));
        let lines = sources.flat_map(|path| {
            let lines = fallbacks(&text(&path)).into_iter();
            lines.map(move |line| format!("{path}:{line}: a misspelt word comes here"))
        });
        lines.collect()
    });
    none(
        problems,
        "Words that a program looks at are an enum (lab::words!), or stand beside a `bool` in the \
         list that they come from; else the last arm is `other => unreachable!(\"{other}\")`.",
    );
}

/// The lines of formatted code where a `match` on words has an arm for all others that does not
/// fail, and those where something is compared with a word.
fn fallbacks(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_fallback = |&number: &usize| {
        let line = lines[number];
        let line_without_options = line.replace("== \"--", "");
        if ["== \"", "!= \""].iter().any(|start| line_without_options.contains(start)) {
            return true;
        }
        let Some((pattern, arm)) = line.trim().split_once(" =>") else { return false };
        let is_for_all = pattern.chars().all(|c| c.is_lowercase() || c == '_');
        let fails = |text: &&str| {
            let fatal = ["unreachable!", "bail!", "return Err"];
            fatal.iter().any(|start| text.trim().starts_with(start))
        };
        let mut body = [arm].into_iter().chain(lines.get(number + 1).copied());
        let before = lines[..number].iter().rev();
        let mut arms = before.take_while(|other| indent(other) >= indent(line));
        is_for_all
            && arms.any(|arm| indent(arm) == indent(line) && is_word(arm))
            && !body.any(|text| fails(&text))
    };
    (0..lines.len()).filter(is_fallback).map(|number| number + 1).collect()
}

/// Whether an arm of a `match` is for a word.
fn is_word(arm: &str) -> bool {
    arm.split_once(" =>").is_some_and(|(pattern, _)| pattern.contains('"'))
}

#[test]
fn the_summary_lists_the_page_of_every_experiment_once_under_its_section() {
    let summary = text("book/src/SUMMARY.md");
    let problems = each(|lesson| {
        let (page, section) = (lesson.page(), &lesson.section);
        let line = |line: &&str| line.ends_with(&format!("]({page})"));
        // The parts come after their headings; what comes before the first has none.
        let found = summary.split("\n# ").find(|part| part.lines().any(|l| line(&l)));
        let heading = found.and_then(|part| part.lines().next()).unwrap_or_default();
        let is_once = summary.lines().filter(line).count() == 1;
        if is_once && lessons::heads(heading, section) {
            return vec![];
        }
        vec![format!(
            "book/src/SUMMARY.md: list [the page]({page}) once, under the heading `# {section} …`"
        )]
    });
    none(problems, "A page's section is the one in its experiment's Cargo.toml.");
}

#[test]
fn every_reference_record_is_a_full_measured_run_at_a_clean_revision() {
    let names = experiments().into_iter().filter(|lesson| !lesson.primer);
    let names = names.map(|lesson| (lesson.name, lesson.draft));
    // A baseline that only a draft's page needs has not been measured either.
    let of_a_draft = |name: &String| {
        let asks = |lesson: &Lesson| text(&beside(&format!("book/src/{}", lesson.page())));
        let needs = |lesson: &Lesson| lesson.draft && asks(lesson).contains(name);
        experiments().iter().any(needs) && reference_records(name).is_err()
    };
    let baselines = baselines().into_iter().map(|name| (of_a_draft(&name), name));
    let names = names.chain(baselines.map(|(draft, name)| (name, draft)));
    let problems = names.flat_map(|(name, draft)| match (reference_records(&name), draft) {
        (Ok(_), true) => vec![format!(
            "{name} has a reference record: take `status = \"draft\"` out of its Cargo.toml"
        )],
        (Ok(records), false) => records.iter().flat_map(no_full_run).collect(),
        (Err(_), true) => vec![],
        (Err(problem), false) => vec![problem],
    });
    none(
        problems.collect(),
        &format!(
            "Commit, then record on a reference machine with `cargo run -p NAME -- \
             --machine {}` (or scripts/pack and cargo workbook import).",
            references()[0]
        ),
    );
}

/// Why a record is no full measured run at a clean revision.
fn no_full_run((path, record): &Stored) -> Vec<String> {
    let mut problems = vec![];
    let mut require = |kept: bool, broken: String| {
        if !kept {
            problems.push(format!("{path}: {broken}"));
        }
    };
    require(record.source == Source::Measured, "it was not measured".into());
    require(!record.run.quick, "it is a quick run".into());
    require(record.run.dirty == Some(false), "the sources were not clean; commit first".into());
    let revision = record.run.revision.as_deref().unwrap_or_default();
    require(
        revision.len() >= 7 && revision.chars().all(|c| c.is_ascii_hexdigit()),
        format!("`{revision}` is no revision"),
    );
    require(!record.measurements.is_empty(), "it has no measurements".into());
    let least = Sampling::FULL.least;
    for measurement in &record.measurements {
        let samples = measurement.seconds.len();
        if samples < least {
            let case = &measurement.case;
            problems
                .push(format!("{path}: `{case}` has {samples} samples, a full run takes {least}"));
            break; // one tells that it was recorded with --samples
        }
    }
    problems
}

/// What a run reads beside the clock is no parameter: each run would have a case of its own, and
/// the book the newest run's number. A case that only one of two runs has is new, or gone.
#[test]
fn the_runs_of_a_machine_have_the_same_cases() {
    let names = experiments().into_iter().map(|lesson| lesson.name);
    let problems = names.chain(baselines()).flat_map(|name| {
        let stored = recorded(&name).unwrap_or_default();
        let mut problems = vec![];
        for (i, (path, record)) in stored.iter().enumerate() {
            let of_machine = |(_, other): &&Stored| other.machine.name == record.machine.name;
            for (other_path, other) in stored[..i].iter().filter(of_machine) {
                let only_here = cases_besides(record, other);
                let shared = cases_besides(other, record);
                let case = only_here.intersection(&shared).next();
                problems.extend(case.map(|case| {
                    format!("{path}: `{case}` has other parameters than in {other_path}")
                }));
            }
        }
        problems
    });
    let remedy = "What differs from run to run goes into the case's `model`.";
    none(problems.collect(), remedy);
}

/// The names of cases of `record` with parameters that `other` does not have.
fn cases_besides(record: &Record, other: &Record) -> BTreeSet<String> {
    let key = |m: &record::Measurement| (m.case.clone(), m.parameters.clone());
    let there: Vec<_> = other.measurements.iter().map(key).collect();
    let own = record.measurements.iter().map(key);
    own.filter(|own| !there.contains(own)).map(|(case, _)| case).collect()
}

#[test]
fn what_was_counted_was_counted_on_the_kernels_of_today() {
    let problems = each(|lesson| {
        // Only some pages need counters.
        let counted = match recorded(&format!("{}{SUFFIX}", lesson.name)) {
            Ok(counted) => counted,
            Err(problem) => return vec![problem],
        };
        let outdated = counted.iter().filter(|(_, record)| {
            let mut kernels = record.kernel.iter().chain(&record.further_kernels);
            record.source != Source::Profiled
                || record.run.dirty != Some(false)
                || record.kernel.is_none()
                || !kernels.all(is_of_today)
        });
        let problem = |(path, _): &Stored| {
            format!("{path} is not a profiled run of today's kernels at a clean revision")
        };
        outdated.map(problem).collect()
    });
    none(problems, "Record them again, with the experiment's option --counters.");
}

/// Kernels that a lesson loads only where a library is missing.
const STAND_INS: [(&str, &str); 1] = [("gradient-overlap", "activation-checkpointing")];

#[test]
fn every_kernel_is_there_and_is_the_one_that_was_measured() {
    let problems = each(|lesson| {
        let (name, embedded) = (&lesson.name, kernels(lesson));
        let files = embedded.iter().flat_map(|kernel| {
            [format!("kernels/{kernel}.cu"), format!("kernels/ptx/{kernel}.ptx")]
        });
        let missing = files.filter(|path| !exists(path));
        let mut problems: Vec<_> =
            missing.map(|path| format!("{path} is missing, which {name} embeds")).collect();
        // Another test says if there is none.
        let records = reference_records(name).unwrap_or_default();
        let newest = records.iter().map(|(_, record)| &record.run.started).max().cloned();
        for (path, record) in records {
            // An older run may lack what is new, and so may a machine that has not run since.
            let is_newest = Some(&record.run.started) == newest.as_ref();
            let measured = record.kernel.iter().chain(&record.further_kernels);
            let measured: BTreeMap<_, _> =
                measured.map(|kernel| (kernel.name.clone(), kernel)).collect();
            for kernel in embedded.union(&measured.keys().cloned().collect()) {
                let problem = match measured.get(kernel) {
                    None if !is_newest => continue,
                    None if STAND_INS.contains(&(name, kernel)) => continue,
                    None => "was made without it, and now it is embedded",
                    Some(_) if !embedded.contains(kernel) => "was made with it",
                    Some(kernel) if !is_of_today(kernel) => "was made before it changed",
                    Some(_) => continue,
                };
                problems.push(format!("kernels/{kernel}.cu: {path} {problem}"));
            }
        }
        problems
    });
    none(
        problems,
        &format!(
            "`cargo workbook ptx` makes PTX; `cargo run -p NAME -- --machine {}` on \
             a reference machine makes the record again.",
            references()[0]
        ),
    );
}

/// Kernels that are not counted, by their files, and why.
const UNCOUNTED: [(&str, &[&str], &str); 10] = [
    ("transpose-bulk", &["bulk", "bulk_load", "bulk_store"], "the emulator runs no bulk copies"),
    ("launch-overhead-dependent", &["dependent"], "the emulator has no griddepcontrol"),
    (
        "matrix-product-hopper",
        &["warpgroups", "producer", "wide_stores", "pairs", "pairs_clocked"],
        "the emulator runs no wgmma",
    ),
    ("attention-hopper", &["flash"], "the emulator runs no wgmma"),
    (
        "matrix-product-tensor",
        &["pipelined", "pipelined_edges"],
        "launches.txt has no dynamic shared memory",
    ),
    ("matrix-product-deep", &["deep", "shared_out"], "launches.txt has no dynamic shared memory"),
    ("attention-lean", &["flash"], "launches.txt has no dynamic shared memory"),
    (
        "number-formats",
        &["fold", "kahan", "list", "naive", "scaled", "wide"],
        "launches.txt has no structures",
    ),
    ("gradient-overlap", &["sum"], "launches.txt has no structures"),
    ("attention-tensor", &["flash"], "launches.txt has no dynamic shared memory"),
];

#[test]
fn a_small_launch_of_every_kernel_was_counted_on_hardware() {
    let goldens = |file: &str| text(&format!("kernels/emulator/tests/goldens/{file}.txt"));
    let (launches, counters) = (goldens("launches"), goldens("counters"));
    let lines = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    // Launches at the end of the list may wait for a machine to count them.
    assert!(lines(&counters) <= lines(&launches), "more counters than launches");
    let problems = each(|lesson| {
        let counted = !lesson.draft && !lesson.primer;
        let all = kernels(lesson).into_iter().filter(|_| counted);
        let all = all.flat_map(|file| {
            let functions = ptx::functions(&text(&format!("kernels/ptx/{file}.ptx")));
            functions.into_keys().map(move |kernel| (file.clone(), kernel))
        });
        let problem = |(file, kernel): (String, String)| {
            let start = format!("{file} {kernel} ");
            let counted = launches.lines().any(|line| line.starts_with(&start));
            let is = |(name, kernels, _): &&(&str, &[&str], &str)| {
                *name == file && kernels.contains(&kernel.as_str())
            };
            match (counted, UNCOUNTED.iter().find(is)) {
                (false, None) => Some(format!("{start}is in no line")),
                (true, Some((.., why))) => Some(format!("{start}has a line, although {why}")),
                _ => None,
            }
        };
        all.filter_map(problem).collect()
    });
    none(problems, "Add them to launches.txt, and count them with measure.py beside it.");
}

#[test]
fn no_kernel_and_no_record_is_left_over() {
    let experiments = experiments();
    let mut problems = vec![];
    let mut embedded: BTreeSet<_> = experiments.iter().flat_map(kernels).collect();
    embedded.insert(EXERCISES.to_owned()); // in host code launch its kernels
    for file in files("kernels") {
        let listed = file == "ptx/machine-code.txt"; // by `cargo workbook sass`
        let folder = file.split('/').next().unwrap_or_default();
        if listed || exists(&format!("kernels/{folder}/Cargo.toml")) {
            continue;
        }
        let stem =
            file.strip_suffix(".cu").or_else(|| file.strip_prefix("ptx/")?.strip_suffix(".ptx"));
        if !stem.is_some_and(|stem| embedded.contains(stem)) {
            problems.push(format!("kernels/{file}: no experiment embeds it"));
        }
    }
    let baselines = baselines();
    for machine in references() {
        let folder = format!("results/{machine}");
        if !root().join(&folder).is_dir() {
            continue; // not every reference machine has been recorded
        }
        for stem in stems(&folder, "json") {
            // What was counted lies beside what was measured.
            let name = stem.strip_suffix(SUFFIX).unwrap_or(&stem);
            let is_experiment = experiments.iter().any(|e| e.name == name);
            let is_other = baselines.contains(&stem) || stem == EXERCISES;
            if !is_experiment && !is_other {
                problems.push(format!(
                    "{folder}/{stem}.json: there is no experiment or baseline `{stem}`"
                ));
            }
        }
    }
    none(problems, "Remove them, or add the experiment.");
}

#[test]
fn no_page_and_no_drawing_is_left_over() {
    let summary = text("book/src/SUMMARY.md");
    let listed: BTreeSet<_> = links(&summary).map(str::to_owned).collect();
    let sources = files("book/src");
    let mut problems = vec![];
    for page in &listed {
        if !sources.contains(page) {
            problems.push(format!("book/src/{page} is missing, which SUMMARY.md lists"));
        }
    }
    let tomls: Vec<_> = listed.iter().map(|page| beside(page)).collect();
    let tomls = tomls.iter().filter(|toml| sources.contains(*toml));
    let pages: Vec<_> =
        listed.iter().chain(tomls).map(|page| text(&format!("book/src/{page}"))).collect();
    for file in &sources {
        let shown = match file.as_str() {
            "SUMMARY.md" => true,
            // `cargo workbook build --check` looks after these.
            figure if figure.starts_with("figures/") => true,
            // Git does not have it: scripts/page-compiler fetches it.
            compiler if compiler.starts_with("compiler/") => true,
            page if page.ends_with(".md") => listed.contains(page),
            toml if listed.iter().any(|page| beside(page) == toml) => true,
            other => pages.iter().any(|page| page.contains(other)),
        };
        if !shown {
            problems.push(format!("book/src/{file}: nothing in the book shows it"));
        }
    }
    for name in report::drawing::ALL.keys() {
        let directive = format!("{{{{drawing {name}}}}}");
        if !pages.iter().any(|page| page.contains(&directive)) {
            problems.push(format!("{directive}: no page shows it"));
        }
    }
    none(problems, "List pages in book/src/SUMMARY.md, show drawings, remove the rest.");
}

/// On the forge's website a page of the book is its source, which is text only without directives.
#[test]
fn what_is_read_on_the_forge_leads_to_text() {
    let mut problems = vec![];
    for file in ["README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", "results/README.md"]
    {
        let folder = root().join(file).parent().unwrap().to_owned();
        for link in links(&text(file)) {
            let target = link.split('#').next().unwrap_or_default();
            // Elsewhere, or a page that the forge makes.
            if target.is_empty() || target.contains("://") || target.starts_with("../../") {
                continue;
            }
            let path = match target.strip_prefix('/') {
                Some(path) => root().join(path),
                None => folder.join(target),
            };
            let source = fs::read_to_string(&path).unwrap_or_default();
            let shows_source = target.ends_with(".md")
                && (!report::directive::find(&source).is_empty()
                    || source.contains("\n{{#include"));
            if !path.exists() {
                problems.push(format!("{file}: {link} is not there"));
            } else if shows_source {
                problems.push(format!("{file}: {link} is full of directives"));
            }
        }
    }
    none(problems, "Name the page, or link what it shows: README.md links the published book.");
}

/// The book as it is, for everybody.
fn options() -> report::Options {
    let drafts = experiments().into_iter().filter(|lesson| lesson.draft);
    report::Options {
        drafts: drafts.map(|lesson| lesson.page()).collect(),
        lessons: experiments().into_iter().map(|lesson| (lesson.name, lesson.gpus)).collect(),
        this_machine: None,
        ..report::Options::of(&root().join("book")).unwrap()
    }
}

/// Each page, its text and what it shows, in the order of the book.
static TEXTS: LazyLock<Vec<(String, String, Shown)>> =
    LazyLock::new(|| report::texts(&options()).unwrap());

/// What each page of the book shows.
fn shown_by_pages() -> BTreeMap<&'static str, &'static Shown> {
    TEXTS.iter().map(|(page, _, shown)| (page.as_str(), shown)).collect()
}

/// Numbers that stand where a reader sees them before the question, and give nothing away: the
/// prediction, and why.
const SEEN_BEFORE: [(&str, &str); 1] = [(
    "data-layout-count-tile",
    "the fewest sectors that there can be are no answer for these tiles",
)];

/// What a reader sees before a question, on its page or an earlier one, has not its answer: a
/// heading, the question of a fold, the title of a chart, or what to remember; and on its own page
/// all that stands above it.
#[test]
fn no_answer_stands_before_its_question() {
    let (mut seen, mut problems, mut allowed) = (vec![], vec![], BTreeSet::new());
    for (page, text, _) in &*TEXTS {
        let questions: Vec<Asked> = text.split(PREDICTION).skip(1).filter_map(Asked::of).collect();
        let titles: Vec<String> = titles(text);
        for asked in &questions {
            let (above, _) = text.split_once(&asked.head).unwrap();
            let above = unfolded(above).into_iter().map(|line| (page, line));
            let here = titles.iter().map(|title| (page, title.clone()));
            let earlier = seen.iter().map(|(page, title): &(String, String)| (page, title.clone()));
            for (where_, line) in above.chain(here).chain(earlier) {
                if !contains(&line, &asked.answer) {
                    continue;
                }
                match SEEN_BEFORE.iter().find(|(id, _)| *id == asked.id) {
                    Some((id, _)) => drop(allowed.insert(*id)),
                    None => problems.push(format!(
                        "{page}, {}: {} stands on {where_}: {line}",
                        asked.id, asked.answer
                    )),
                }
            }
        }
        seen.extend(titles.into_iter().map(|title| (page.clone(), title)));
    }
    let unused = SEEN_BEFORE.iter().filter(|(id, _)| !allowed.contains(id));
    problems.extend(unused.map(|(id, _)| format!("SEEN_BEFORE has {id}, and needs not")));
    none(problems, "Say it below the question, under a veil or in a fold; or ask something else.");
}

/// How the HTML of a prediction begins.
const PREDICTION: &str = "<section class=\"prediction\"";

/// A prediction whose answer is a number with a unit.
struct Asked {
    id: String,
    /// The beginning of its HTML.
    head: String,
    answer: String,
}

impl Asked {
    fn of(html: &str) -> Option<Asked> {
        let (head, _) = html.split_once('>')?;
        let attribute = |name: &str| {
            let (_, rest) = head.split_once(&format!(" {name}=\""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let answer = attribute("data-answer-text")?;
        let has_unit = answer.contains(|c: char| c.is_alphabetic() || "%×".contains(c));
        let is_number = answer.starts_with(|c: char| c.is_ascii_digit());
        (has_unit && is_number && !head.contains(" data-choices=")).then_some(Asked {
            id: attribute("id")?.trim_start_matches("prediction-").to_owned(),
            head: format!("{PREDICTION}{head}"),
            answer,
        })
    }
}

/// Whether a line has this number, and not only the end of a longer one.
fn contains(line: &str, number: &str) -> bool {
    line.match_indices(number).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + number.len()..].chars().next();
        !before.is_some_and(|c| c.is_ascii_digit() || ".,".contains(c))
            && !after.is_some_and(char::is_alphanumeric)
    })
}

/// A line without its tags.
fn plain(line: &str) -> String {
    let parts = line.split('<').enumerate();
    let texts = parts.map(|(i, part)| match part.split_once('>') {
        Some((_, text)) if i > 0 => text,
        _ => part,
    });
    texts.collect()
}

/// A page's headings, the questions of its folds, the titles of its charts that no prediction
/// veils, and its lines under *Remember*.
fn titles(text: &str) -> Vec<String> {
    let (mut titles, mut code, mut remember) = (vec![], false, false);
    for line in text.lines() {
        code ^= line.starts_with("```");
        if code {
            continue;
        }
        let heading = line.starts_with('#');
        if heading {
            remember = line == "## Remember";
        }
        let fold = line.split_once("<summary>").filter(|(tags, _)| !tags.contains("answer"));
        let question = fold.and_then(|(_, rest)| rest.split("</summary>").next());
        let chart = line.starts_with("<figcaption>") && is_shown_chart(text, line);
        let whole = heading || chart || remember && line.starts_with("- ");
        titles.extend(question.into_iter().chain(whole.then_some(line)).map(plain));
    }
    titles
}

/// Whether the figure with this caption is a chart that no prediction veils.
fn is_shown_chart(text: &str, caption: &str) -> bool {
    let above = text.split(caption).next().unwrap_or_default();
    let figure = above.rsplit("<figure ").next().unwrap_or_default();
    figure.starts_with("class=\"chart\"") && !report::veil::is_veiled(text, figure)
}

/// What of a page's text, up to some place, is in no fold, picture or script.
fn unfolded(text: &str) -> Vec<String> {
    let mut depth = Depth::default();
    text.lines().filter(|line| depth.shows(line)).map(plain).collect()
}

/// The course promises it, and counts one exercise on each page.
#[test]
fn the_route_of_six_hours_takes_no_longer() {
    let routes: toml::Table = text("book/src/course.toml").parse().unwrap();
    let (shown, mut stack, mut minutes) = (shown_by_pages(), vec!["six-hours"], 0);
    while let Some(name) = stack.pop() {
        match shown.get(name) {
            Some(page) => minutes += page.minutes() + page.minutes_of_first(),
            None => {
                let steps = routes["routes"][name].as_array().unwrap();
                stack.extend(steps.iter().filter_map(toml::Value::as_str));
            }
        }
    }
    let hours = minutes as f64 / 60.0;
    assert!((5.5..=6.0).contains(&hours), "{hours:.2} hours: change the route in course.toml");
}

/// Rows whose numbers rise do so within the same words, and each case stands in one row.
fn is_in_order(table: &Table, cases: &[Case]) -> bool {
    let place = |case: &Case| {
        let rising = table.rows.iter().filter(|key| key.kind == Kind::Axis);
        let values = rising.map(|key| case.measurement.parameters[&key.of].integer());
        values.collect::<Vec<_>>()
    };
    let distinct: BTreeSet<_> =
        cases.iter().map(|case| (&case.measurement.case, &case.measurement.parameters)).collect();
    cases.is_sorted_by_key(place) && distinct.len() == cases.len()
}

/// What a program prints comes out of the records as the page has it.
#[test]
fn what_experiments_print_is_in_the_records() {
    let pages: Pages = serde_json::from_str(&text("book/shown.json")).unwrap();
    let lessons: BTreeSet<String> = experiments().into_iter().map(|lesson| lesson.name).collect();
    let mut problems = vec![];
    for (experiment, pages) in &pages {
        assert!(lessons.contains(experiment), "{experiment}");
        let (_, newest) = reference_records(experiment).unwrap().swap_remove(0);
        let emulated = Results::new(root().join("results")).read(record::EMULATED, experiment);
        for page in pages {
            for table in &page.tables {
                let name = format!("{}: {}", page.name, table.title);
                let number = |record: &Record, case: &Case| {
                    table.values.iter().all(|v| table.print(v, record, case.measurement).is_some())
                };
                match table.cases(&newest) {
                    Ok((cases, others)) if others.is_empty() && is_in_order(table, &cases) => {
                        if cases.is_empty() || !cases.iter().all(|case| number(&newest, case)) {
                            problems.push(format!("{name}: lacks numbers"));
                        }
                    }
                    found => problems.push(format!("{name}: {found:?}")),
                }
                // The emulated GPU has the cases, too, but where it cannot run them.
                if let Ok(Some(record)) = &emulated
                    && let Err(problem) = table.cases(record)
                    && record.skipped.is_empty()
                {
                    problems.push(format!("{name}: {problem}"));
                }
            }
            for question in &page.questions {
                let answer = page.value(&question.answer, &newest).and_then(|v| question.print(v));
                problems.extend(answer.err().map(|e| format!("{}: {e}", question.question)));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_lesson_is_short_in_order_and_ends_with_what_to_remember() {
    const MOST: usize = 900;
    /// The page's order; a page may lack those in the second list.
    const ORDER: [&str; 8] = [
        "Your prediction",
        "The experiment",
        "Measured",
        "Why",
        "Exercise",
        "Exercises",
        "Remember",
        "Next",
    ];
    /// Part 0 and the formulas measure nothing, and exercises are under one of two headings.
    const MAY_LACK: [&str; 4] = ["Measured", "Why", "Exercise", "Exercises"];
    /// What explains a page in place of a drawing or an explorer.
    const PICTURES: [(&str, &str); 1] = [("models/memory-budget", "{{budget}}")];
    let folder = |lesson: Lesson| Some(lesson.page().split_once('/')?.0.to_owned());
    let folders: BTreeSet<_> = experiments().into_iter().filter_map(folder).collect();
    let pages = folders.iter().flat_map(|folder| {
        let stems = stems(&format!("book/src/{folder}"), "md").into_iter();
        stems.map(move |stem| format!("{folder}/{stem}"))
    });
    // Drawn last.
    let drafts = experiments().into_iter().filter(|lesson| lesson.draft);
    let drafts: BTreeSet<String> = drafts.map(|lesson| lesson.page()).collect();
    let shown = shown_by_pages();
    let mut problems = vec![];
    for page in pages {
        let source = text(&format!("book/src/{page}.md"));
        let section = |heading| {
            let (_, rest) = source.split_once(&format!("\n## {heading}\n"))?;
            rest.split("\n## ").next()
        };
        let mut faults = vec![];
        let words = shown[&*page].words;
        if words > MOST {
            faults.push(format!("shows {words} words; fold or cut all but {MOST}"));
        }
        let core = unfolded(&source).join("\n") + "\n";
        let stands = |heading: &&str| core.find(&format!("\n## {heading}\n"));
        let lacks = ORDER.iter().filter(|h| !MAY_LACK.contains(h) && stands(h).is_none());
        faults.extend(lacks.map(|heading| format!("needs a section `## {heading}`")));
        if !ORDER.iter().filter_map(stands).is_sorted() {
            faults.push(format!("has its sections in another order than {}", ORDER.join(", ")));
        }
        let instead = PICTURES.iter().find(|(of, _)| *of == page).map(|(_, picture)| *picture);
        let mut pictures = ["{{drawing ", "{{explorer "].into_iter().chain(instead);
        if !drafts.contains(&format!("{page}.md"))
            && !pictures.any(|picture| core.contains(picture))
        {
            faults.push("needs a drawing or an explorer that is not folded".to_owned());
        }
        if !core.contains("\n{{exercise ") && !drafts.contains(&format!("{page}.md")) {
            faults.push("needs a checked exercise that is not folded".to_owned());
        }
        if !section("Your prediction").is_some_and(|asked| asked.contains("\n{{prediction ")) {
            faults.push("asks for no prediction in `## Your prediction`".to_owned());
        }
        let remember = section("Remember").unwrap_or_default();
        if remember.lines().filter(|line| line.starts_with("- ")).count() != 3 {
            faults.push("needs a section `## Remember` with three items".to_owned());
        }
        if section("Next").unwrap_or_default().matches("](").count() != 1 {
            faults.push("needs a section `## Next` with one link".to_owned());
        }
        let claims = |text: &str| {
            ["{{claim ", "{{verdict "].map(|mark| text.matches(mark).count()).iter().sum::<usize>()
        };
        let trials = ["What the chapter claims", "What the sources claim"].map(section);
        let fold = trials.into_iter().flatten().next().unwrap_or_default();
        let fold =
            fold.split_once("<details>").and_then(|(_, fold)| fold.rsplit_once("</details>"));
        if claims(&source) != claims(fold.unwrap_or_default().0) {
            faults
                .push("has claims outside of the fold of `## What the chapter claims`".to_owned());
        }
        problems.extend(faults.into_iter().map(|fault| format!("{page} {fault}")));
    }
    none(problems, "`A page`, on the book's page `Style`, says what a lesson looks like.");
}

/// A part is learned by more than writing kernels. What it asks besides stands on its own pages, or
/// on the page of five questions after it.
#[test]
fn each_part_asks_for_a_diagnosis_and_a_judgement_and_has_a_capstone() {
    const KINDS: [(&str, &[&str]); 2] = [
        ("a diagnosis", &["**Diagnose from "]),
        (
            "a benchmark or a judgement",
            &["**Find what is wrong.**", "**Would you optimise this?**"],
        ),
    ];
    let capstones = exercises().into_iter().filter(|(_, text)| text.starts_with("# Capstone: "));
    let capstones: Vec<_> =
        capstones.map(|(name, _)| format!("\n{{{{exercise {name}}}}}\n")).collect();
    let summary = text("book/src/SUMMARY.md");
    let (parts, _) = summary.split_once("\n# On Monday\n").unwrap();
    let parts: Vec<(&str, String)> = parts
        .split("\n# ")
        .skip(1)
        .map(|part| {
            let pages = links(part).map(|page| text(&format!("book/src/{page}"))).collect();
            (part.lines().next().unwrap(), pages)
        })
        .collect();
    let is_review = |(title, _): &&(&str, String)| title.starts_with("Looking back");
    let mut problems = vec![];
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| !is_review(part)) {
        let (title, own) = part;
        let review = parts[number..].iter().find(is_review).map(|(_, pages)| pages.as_str());
        let all = own.clone() + review.unwrap_or_default();
        let asks = |marks: &[&str]| marks.iter().any(|mark| all.contains(mark));
        let lacks = KINDS.iter().filter(|(_, marks)| !asks(marks)).map(|(kind, _)| *kind);
        let is_there = capstones.iter().any(|capstone| own.contains(capstone));
        let lacks = lacks.chain((!is_there).then_some("a capstone"));
        problems.extend(lacks.map(|kind| format!("{title} has not {kind}")));
    }
    none(problems, "`A page`, on the book's page `Style`, says what each part has.");
}

/// What we cannot explain is said in one place: a page with such an effect leads to the list, and
/// the list back to the page.
#[test]
fn open_questions_are_one_short_list() {
    const LIST: &str = "open-questions.md";
    const MOST: usize = 15;
    let list = text(&format!("book/src/{LIST}"));
    let is_number = |number: &str| number.parse::<usize>().is_ok();
    let is_question = |line: &str| line.split_once(". **").is_some_and(|(n, _)| is_number(n));
    let mut questions: Vec<Vec<&str>> = vec![];
    for line in list.lines() {
        match questions.last_mut() {
            _ if is_question(line) => questions.push(vec![line]),
            Some(question) if line.starts_with("   ") => question.push(line.trim()),
            _ => {}
        }
    }
    let mut problems = vec![];
    if !(1..=MOST).contains(&questions.len()) {
        problems.push(format!("there are {} questions, and {MOST} at most", questions.len()));
    }
    let mut listed = BTreeSet::new();
    for question in questions {
        let [first, experiment @ .., places] = &question[..] else { continue };
        let pages = links(places).filter_map(|link| Some(link.split_once(".md")?.0));
        let pages: Vec<_> = pages.map(|page| format!("{page}.md")).collect();
        if pages.is_empty() || experiment.is_empty() {
            problems.push(format!("no experiment, or no page where it was measured: {first}"));
        }
        listed.extend(pages);
    }
    for page in pages().filter(|page| !page.starts_with("contributing/")) {
        let source = text(&format!("book/src/{page}"));
        match (listed.contains(&page), source.contains(LIST)) {
            (true, false) => problems.push(format!("{page} is in the list, and not linked to it")),
            (false, true) => problems.push(format!("{page} leads to the list, which lacks it")),
            (false, false) if source.to_lowercase().contains("we do not know") => {
                problems.push(format!("{page} does not know something, and is not in the list"));
            }
            _ => {}
        }
    }
    none(problems, "`book/src/open-questions.md` has all that we do not know.");
}

/// Forms that the page `Style` replaces, as far as a search finds them, and what to write. Those
/// that end in `…` are the beginnings of words.
const REPLACED: [(&str, &str); 12] = [
    ("nobody", "no thread, nothing, never"),
    ("somebody", "another thread, another program"),
    ("everybody", "all"),
    ("percent", "25%, a few per cent"),
    ("matrix product…", "a matmul"),
    ("lorry", "a truck"),
    ("optimiz…", "optimise"),
    ("initializ…", "initialise"),
    ("minimiz…", "minimise"),
    ("recogniz…", "recognise"),
    ("neighbor…", "neighbour"),
    ("gray", "grey"),
];

/// Whether `line` has a word, or one that begins with it if it ends in `…`; in any case.
fn has_word(line: &str, word: &str) -> bool {
    let stem = word.trim_end_matches('…');
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let line = line.to_lowercase();
    line.match_indices(stem).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + stem.len()..]);
        !before.ends_with(is_inside) && (stem != word || !after.starts_with(is_inside))
    })
}

/// What is wrong with the style of a line, whether it is prose or code.
fn faults_of_style(line: &str) -> Vec<String> {
    let replaced = REPLACED.iter().filter(|(word, _)| has_word(line, word));
    let mut faults: Vec<_> = replaced.map(|(word, better)| format!("`{word}`: {better}")).collect();
    let ends = [" too.", " too,", " too;", " too:", " too?", " too!"];
    if ends.iter().any(|end| line.contains(end)) || line.ends_with(" too") {
        faults.push("`too` at an end: also, as well".to_owned());
    }
    faults
}

/// What is wrong with the style of a line of prose.
fn faults_of_prose(line: &str) -> Vec<String> {
    let mut faults = faults_of_style(line);
    let percent = line.match_indices(" %").any(|(at, _)| line[..at].ends_with(char::is_numeric));
    if percent {
        faults.push("a space before %".to_owned());
    }
    let opened = line.match_indices('(').map(|(at, _)| &line[at + 1..]);
    let mut inside = opened.filter_map(|rest| Some(rest.split_once(')')?.0));
    let is_sentence =
        |inside: &str| inside.starts_with(char::is_uppercase) && inside.ends_with(['.', '?', '!']);
    if inside.any(is_sentence) {
        faults.push("a whole sentence in parentheses".to_owned());
    }
    faults
}

#[test]
fn style_is_found_where_it_fails() {
    let bad = [
        "Nobody waits.",
        "25 % of it",
        "Neighbors come.",
        "a matrix product",
        "the host, too.",
        "One. (It is two.)",
    ];
    for line in bad {
        assert_eq!(faults_of_prose(line).len(), 1, "{line}");
    }
    let good =
        ["#that-nobody-wrote", "25% of it", "too far", "Two (as in [X], a page).", "X (see)."];
    for line in good {
        assert_eq!(faults_of_prose(line), [""; 0], "{line}");
    }
}

/// Pages, exercises, the words of explorers and the kernels' comments. A reference solution is not
/// searched: a record of its time holds for its bytes.
#[test]
fn what_a_learner_reads_is_in_the_style_of_the_book() {
    let mut problems = vec![];
    let mut report = |path: &str, number: usize, faults: Vec<String>| {
        problems.extend(faults.into_iter().map(|fault| format!("{path}:{number}: {fault}")));
    };
    let (mut prose, mut code) = (vec![], vec![]);
    for file in files("book/src") {
        if file.ends_with(".md") && !file.starts_with("contributing/") {
            prose.push(format!("book/src/{file}"));
        } else if file.ends_with(".toml") {
            code.push(format!("book/src/{file}"));
        }
    }
    for file in files("experiments") {
        let is_of_exercise = file.contains("/exercises/");
        match file.rsplit('/').next() {
            Some("exercise.md") => prose.push(format!("experiments/{file}")),
            Some("check.toml" | "start.cu" | "start.rs") if is_of_exercise => {
                code.push(format!("experiments/{file}"));
            }
            _ => {}
        }
    }
    let explorers = files("book/engine/src/explorer").into_iter();
    code.extend(explorers.map(|file| format!("book/engine/src/explorer/{file}")));
    code.extend(stems("kernels", "cu").into_iter().map(|name| format!("kernels/{name}.cu")));
    for path in prose {
        let mut is_code = false;
        for (n, line) in text(&path).lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            if line.contains("<summary>") && line.contains(['`', '*', ']']) {
                report(&path, n + 1, vec!["a fold's question is HTML: <code>, <em>".to_owned()]);
            }
            let line = words(line);
            report(
                &path,
                n + 1,
                if is_code { faults_of_style(&line) } else { faults_of_prose(&line) },
            );
        }
    }
    for path in code {
        // A comment of Rust is for us, one of CUDA C for learners.
        let is_rust = path.contains("/explorer/");
        let read = if path.ends_with("/check.toml") { hints(&path) } else { text(&path) };
        for (n, line) in read.lines().enumerate() {
            let said = line.split("//").next().filter(|_| is_rust).unwrap_or(line);
            report(&path, n + 1, faults_of_style(said));
        }
    }
    none(problems, "`book/src/contributing/style.md` says what to write.");
}

/// The hints of an exercise, which are all that a learner reads of its `check.toml`.
fn hints(path: &str) -> String {
    let check: toml::Table = text(path).parse().unwrap();
    let hints = check["hints"].as_array().unwrap().iter().filter_map(toml::Value::as_str);
    hints.collect::<Vec<_>>().join("\n")
}

/// A second one makes a reader hear a lecture. A page's own text, what is beside it, and its
/// exercises are read together.
#[test]
fn a_page_says_so_once() {
    let mut problems = vec![];
    let exercises = exercises();
    for page in pages().filter(|page| !page.starts_with("contributing/")) {
        let own = text(&format!("book/src/{page}"));
        let shown = own.lines().filter_map(|line| {
            let name = line.strip_prefix("{{exercise ")?.strip_suffix("}}")?;
            exercises.get(name).cloned()
        });
        let all: String =
            shown.chain([own.clone(), text(&format!("book/src/{}", beside(&page)))]).collect();
        let is_first = |at: usize| {
            let before = all[..at].trim_end_matches(' ');
            before.ends_with(['\n', '.', '?', '!', ':', '"', '}']) || before.is_empty()
        };
        let found = all.match_indices("So ").filter(|(at, _)| is_first(*at)).count();
        if found > 1 {
            problems.push(format!("book/src/{page} says it {found} times, with its exercises"));
        }
    }
    none(problems, "Say therefore, then, or nothing.");
}

/// So a change of the text shows what it changes, sentence by sentence.
#[test]
fn a_sentence_of_a_page_begins_on_a_line_of_its_own() {
    const MOST: usize = 160;
    let mut problems = vec![];
    for page in pages() {
        let text = text(&format!("book/src/{page}"));
        let (mut code, mut html) = (false, false);
        for (i, line) in text.lines().enumerate() {
            let start = line.trim_start();
            code ^= start.starts_with("```");
            html = !line.is_empty() && (html || start.starts_with('<'));
            if code || html || start.starts_with("```") || start.starts_with(['#', '|']) {
                continue;
            }
            let words = words(start);
            let place = format!("book/src/{page}:{}", i + 1);
            if words.chars().count() > MOST {
                problems.push(format!("{place}: more than {MOST} characters; go on after a comma"));
            }
            if let Some(next) = second_sentence(&words) {
                problems.push(format!("{place}: begin a line with “{next}”"));
            }
        }
    }
    none(problems, "In Markdown a line break inside a paragraph is a space.");
}

/// A line of prose without the addresses of links, and with a word in place of code and of a
/// directive: a capital one where a sentence may begin with it.
fn words(line: &str) -> String {
    let marks =
        [("{{end}}", "", ""), ("{{verdict", "}}", "x"), ("{{", "}}", "X"), ("](", ")", "]")];
    let marks = marks.into_iter().chain([("`", "`", "X")]);
    let (mut out, mut rest) = (String::new(), line);
    while let Some(c) = rest.chars().next() {
        let mark = marks.clone().find(|(start, ..)| rest.starts_with(start));
        let hidden = mark.and_then(|(start, end, word)| {
            let length = rest[start.len()..].find(end)?;
            Some((start.len() + length + end.len(), word))
        });
        match hidden {
            Some((length, word)) => {
                out += word;
                rest = &rest[length..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

fn second_sentence(line: &str) -> Option<&str> {
    let marker = line.find(". ").filter(|at| line[..*at].parse::<u32>().is_ok());
    let from = marker.map_or(0, |at| at + 2); // of a numbered list
    line.match_indices(' ').map(|(at, _)| (&line[..at], &line[at + 1..])).find_map(|(one, next)| {
        let ends = one.len() > from
            && one.trim_end_matches([')', '”', '"', ']', '_']).ends_with(['.', '?', '!']);
        let begins = next.trim_start_matches(['(', '“', '"', '[', '*', '_']);
        (ends && begins.starts_with(char::is_uppercase)).then_some(next)
    })
}

#[test]
fn no_committed_text_names_a_folder_of_somebodys_machine() {
    let git = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .ok()
        .filter(|output| output.status.success() && !output.stdout.is_empty());
    let Some(git) = git else {
        return skip("this is no checkout, or there is no git");
    };
    // Put together here, so that this file does not hold them.
    let folders = ["home", "root", "work"].map(|folder| format!("/{folder}/"));
    let mut problems = vec![];
    for path in String::from_utf8(git.stdout).unwrap().split_terminator('\0') {
        // What is no text, or was removed just now, names nothing.
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if folders.iter().any(|folder| line.contains(folder)) {
                problems.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none(problems, "Name no absolute path of one machine: other readers have others.");
}
