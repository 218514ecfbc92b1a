//! Kernels that are edited and run in the page: of exercises, and `{{kernel NAME}}`, which the
//! file beside the page describes. What `theme/editor.js` makes an editor of is one empty element
//! with all that it has to know, so that a page without JavaScript, or on paper, shows nothing.
//!
//! ```toml
//! [kernel.gather]
//! source = "../../../kernels/coalescing.cu:gather"
//! grid = "ceil(n / 256)"
//! block = "256"
//! arg = ["in=f32[n]:ramp", "out=f32[n]", "n"]
//! set = ["n=1000"]
//!
//! [kernel.bulk]
//! source = "../../../kernels/transpose-bulk.cu:bulk"
//! elsewhere = { lacks = "mbarrier", run = "transpose" }
//!
//! [kernel.ring]
//! source = "../../../kernels/all-reduce.cu:ring"
//! elsewhere = { run = "all-reduce" }
//! ```

use serde::{Deserialize, Serialize};

use crate::html::escape;
use crate::includes;
use crate::sources::Sources;

/// What `scripts/page-compiler` has fetched, in `src/`, and the file there that says what it is.
const COMPILER: &str = "compiler";
const ABOUT: &str = "about.json";

/// A kernel to try, as the file beside a page describes it, and what to launch, in the words of
/// `cargo workbook check`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// What to begin with, as `#include` names it from the page's folder.
    #[serde(skip_serializing)]
    source: String,
    /// Whether the rest of its file is compiled with it.
    #[serde(default, skip_serializing)]
    around: bool,
    /// Whether the editor is open from the start.
    #[serde(default, skip_serializing)]
    open: bool,
    /// Why there is no editor.
    #[serde(skip_serializing)]
    elsewhere: Option<Elsewhere>,
    kernel: Option<String>,
    #[serde(default)]
    grid: String,
    #[serde(default)]
    block: String,
    shared: Option<String>,
    #[serde(default)]
    arg: Vec<String>,
    #[serde(default)]
    set: Vec<String>,
}

/// A kernel that a page cannot run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    /// The instruction that the emulated GPU does not have; nothing, if the kernel needs several
    /// GPUs.
    lacks: Option<String>,
    /// The lesson that launches the kernel.
    run: String,
}

/// What an editor is about.
#[derive(Serialize)]
struct Work<'w> {
    name: &'w str,
    /// What messages call the source.
    file: &'w str,
    source: &'w str,
    /// What stands before the source in its file, and what behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    around: Option<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exercise: Option<&'w Exercise>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<&'w Kernel>,
}

/// An exercise in a kernel.
#[derive(Debug, Serialize)]
pub struct Exercise {
    /// Its `check.toml`.
    pub check: String,
    /// Of each, the source.
    #[serde(skip)]
    pub start: String,
    pub expected: String,
    pub solution: String,
    /// Markdown.
    pub hints: Vec<String>,
}

/// As much of [`ABOUT`] as pages need.
#[derive(Deserialize)]
struct About {
    version: String,
    bytes: u64,
}

impl Kernel {
    /// Whether it says what to launch, or why nothing is launched here.
    pub fn check(&self) -> Result<(), String> {
        match (&self.elsewhere, [&self.grid, &self.block].map(|text| text.is_empty())) {
            (None, [false, false]) | (Some(_), [true, true]) => Ok(()),
            (None, _) => Err("it needs `grid` and `block`, or `elsewhere`".to_owned()),
            (Some(_), _) => Err("with `elsewhere`, nothing is launched here".to_owned()),
        }
    }

    /// The editor on a page, whose path in `src` without `.md` is `stem`; or the sentence that says
    /// where to edit the kernel instead.
    pub fn expand(
        &self,
        name: &str,
        stem: &str,
        sources: &Sources,
        root: &str,
    ) -> Result<String, String> {
        let page = sources.folder.join(stem);
        let folder = page.parent().unwrap_or(sources.folder);
        let source = includes::code(&self.source, folder)?;
        if let Some(Elsewhere { lacks, run }) = &self.elsewhere {
            let file = self.source.trim_start_matches("../");
            let file = file.split(':').next().unwrap_or_default();
            let (why, place) = match lacks {
                Some(lacks) => (format!("has no `{lacks}`"), " where the GPU has it"),
                None => ("is only one".to_owned(), ""),
            };
            return Ok(format!(
                "It cannot be changed and run here, since the page's emulated GPU {why}: \
                 change `{file}` in your workbook, and type `cargo run -p {run}`{place}.\n"
            ));
        }
        let around = self.around.then(|| includes::around(&self.source, folder)).transpose()?;
        let (_, file) = self.source.rsplit_once('/').unwrap_or(("", &self.source));
        let file = file.split(':').next().unwrap_or_default();
        let name = format!("{stem}/{name}");
        let launch = Some(self);
        let work = Work { name: &name, file, source: &source, around, exercise: None, launch };
        place(&work, self.open, sources, root)
    }
}

impl Exercise {
    /// The editor of the exercise of this name.
    pub fn expand(&self, name: &str, sources: &Sources, root: &str) -> Result<String, String> {
        let file = format!("{name}.cu");
        let exercise = Some(self);
        let source = &self.start;
        let work = Work { name, file: &file, source, around: None, exercise, launch: None };
        place(&work, false, sources, root)
    }
}

fn place(work: &Work, open: bool, sources: &Sources, root: &str) -> Result<String, String> {
    let workshop = sources.module("workshop.js")?;
    let mut more = String::new();
    if open {
        more += " data-open";
    }
    let about = sources.folder.join(COMPILER).join(ABOUT);
    if let Ok(about) = std::fs::read_to_string(&about) {
        let About { version, bytes } = serde_json::from_str(&about)
            .map_err(|e| format!("src/{COMPILER}/{ABOUT}: {e}; scripts/page-compiler makes it"))?;
        let version = escape(&version);
        more += &format!(
            " data-compiler=\"{root}{COMPILER}/\" data-version=\"{version}\" data-bytes=\"{bytes}\""
        );
    }
    let work = serde_json::to_string(work).map_err(|e| e.to_string())?;
    Ok(format!(
        "<div class=\"editor\" data-workshop=\"{root}{workshop}\"{more} \
         data-work=\"{}\"></div>\n",
        escape(&work)
    ))
}
