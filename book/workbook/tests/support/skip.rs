//! What every test does that needs what a machine may lack.

use std::io::Write;

/// Says that the running test is skipped, and why. With `WORKBOOK_REQUIRE=all` it fails instead.
#[track_caller]
pub(crate) fn skip(why: &str) {
    let required = std::env::var_os("WORKBOOK_REQUIRE");
    let all = required.is_some_and(|required| required == "all");
    assert!(!all, "WORKBOOK_REQUIRE=all, but {why}");
    // The test harness shows what eprintln! prints for failures only.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
