//! axe-core, which finds what keeps people from using a page. `.ci/run` installs it.

use std::fs;
use std::path::PathBuf;

use crate::page::Page;
use crate::skip::skip;

/// How to get it, from the root of the repository.
const INSTALL: &str = "python3 -m venv .venv && .venv/bin/pip install --no-deps \
     axe-playwright-python==0.1.8";

/// What axe-core finds in a part of the page, as a list of sentences. What is under a veil is not
/// to be read, and what a chart is drawn of is for other tests.
const FINDINGS: &str = "axe.run(
    { include: ['PART'], exclude: ['.veiled figcaption strong', '.awaits', 'svg > g:not(.mine)'] },
    { resultTypes: ['violations'], preload: false, ...RULES },
).then(({ violations }) =>
    violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 120)}`)))";

/// Which of axe-core's rules a page has to keep. Those on colours take most of its time.
pub(crate) enum Rules {
    All,
    AllButContrast,
    /// That on what scrolls, which is more in a small window.
    OfScrolling,
}

/// Whether axe-core is installed, and so in every document that the page loads from now on. Where it
/// is not, that part of the test is skipped.
pub(crate) fn load(page: &Page) -> bool {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let versions = fs::read_dir(root.join(".venv/lib")).into_iter().flatten().flatten();
    let script = "site-packages/axe_playwright_python/axe.min.js";
    let mut found =
        versions.filter_map(|version| fs::read_to_string(version.path().join(script)).ok());
    match found.next() {
        Some(script) => page.before_load(&script),
        None => {
            skip(&format!("axe-core was not found: {INSTALL}"));
            return false;
        }
    }
    true
}

/// What axe-core finds in what a selector does, on a page into which it was [loaded](load).
pub(crate) fn findings(page: &Page, part: &str, rules: Rules) -> Vec<String> {
    let rules = match rules {
        Rules::All => "{}",
        Rules::AllButContrast => "{ rules: { 'color-contrast': { enabled: false } } }",
        Rules::OfScrolling => {
            "{ runOnly: { type: 'rule', values: ['scrollable-region-focusable'] } }"
        }
    };
    page.texts(&FINDINGS.replace("PART", part).replace("RULES", rules))
}
