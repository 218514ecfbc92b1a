//! What the tests of this crate share.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::collections::BTreeMap;

use cudarc::driver::sys;
use test_driver::alone;

/// What a call of the driver answers that is told to fail.
pub(crate) const CODE: sys::CUresult = sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

/// Bytes that do not repeat in step with chunks or slots.
pub(crate) fn value(i: usize) -> u8 {
    ((i as u32).wrapping_mul(2_654_435_761) >> 24) as u8
}

/// Runs a test as [`alone`] does. Returns how often it called each function of the driver, but
/// nothing in its process.
pub(crate) fn traced<Body: FnOnce()>(
    settings: &[(&str, &str)],
    body: Body,
) -> Option<BTreeMap<String, usize>> {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let settings = [settings, &[("TEST_DRIVER_TRACE", trace.to_str().unwrap())]].concat();
    if alone(&settings, body) {
        return None;
    }
    let mut calls = BTreeMap::new();
    for call in std::fs::read_to_string(trace).unwrap().lines() {
        *calls.entry(call.to_owned()).or_default() += 1;
    }
    Some(calls)
}

/// The same, and then runs it again and again; each time another call of one of these functions
/// fails.
pub(crate) fn failing<Body: FnOnce() + Copy>(
    functions: &[&str],
    settings: &[(&str, &str)],
    body: Body,
) -> Option<BTreeMap<String, usize>> {
    let calls = traced(settings, body)?;
    for function in functions {
        let count = calls.get(*function).copied().unwrap_or_default();
        for n in [1, 2, 3, 4, 5, 8, 13, 40].into_iter().filter(|n| *n <= count) {
            let fail = format!("{function} {n} {}", CODE as u32);
            alone(&[settings, &[("TEST_DRIVER_FAIL", &fail)]].concat(), body);
        }
    }
    Some(calls)
}
