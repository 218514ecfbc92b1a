//! What every test does that needs what a machine may lack.

use std::io::Write;

/// Whether NVRTC is here; if not, says so.
#[allow(dead_code)] // not of all tests
pub(crate) fn has_nvrtc() -> bool {
    let found = lab::kernel::nvrtc_version().is_ok();
    if !found {
        let install = lab::libraries::NVRTC.install;
        skip(&format!("no NVRTC was found; get it with\n  {install}"));
    }
    found
}

/// Says that the running test is skipped, and why. With `WORKBOOK_REQUIRE=all` it fails instead.
#[track_caller]
pub(crate) fn skip(why: &str) {
    let required = std::env::var_os("WORKBOOK_REQUIRE");
    let all = required.is_some_and(|required| required == "all");
    assert!(!all, "WORKBOOK_REQUIRE=all, but {why}");
    // The test harness shows what eprintln! prints for failures only.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
