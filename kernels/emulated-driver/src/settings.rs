//! What the tests of other crates set, by environment variables, of a driver that they take for
//! NVIDIA's: a clock, peaks, and faults.
//!
//! The package `test-driver` compiles this crate's sources a second time, with
//! `cfg(for_tests)`. Its library does not tell that it is an emulated one, so what runs on it
//! is measured and recorded as on hardware, by a clock that goes by the work that is queued and is
//! the same in every run. In the library that programs are shipped with, all of this is
//! switched off when it is compiled: [`setting`] finds nothing.
//!
//! | variable | what it says |
//! |---|---|
//! | `TEST_DRIVER_MEMORY` | memory of each GPU in MiB (32) |
//! | `TEST_DRIVER_PEAKS` | `CLOCK GENERATION LANES`: the memory clock in kHz, and the PCIe link, which the machine does not tell otherwise |
//! | `TEST_DRIVER_FAIL` | `FUNCTION N CODE`: the Nth call of the function answers this code and does nothing else |
//! | `TEST_DRIVER_COPIES` | how copies misbehave: from host to device, `corrupt` changes one byte and `skip` copies nothing; with `wait`, all return only when they are done |
//! | `TEST_DRIVER_TRACE` | a file to append the name of every called function to |

use std::str::FromStr;
use std::sync::LazyLock;

/// What a test has set. Nothing in the library that programs are shipped with.
pub(crate) fn setting(name: &str) -> Option<String> {
    if cfg!(for_tests) { std::env::var(name).ok() } else { None }
}

/// The words of a setting, each as a `T`.
fn words<T: FromStr>(name: &str) -> Vec<T> {
    let words = setting(name).unwrap_or_default();
    words.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Bytes of a GPU's memory, if a test sets them.
pub(crate) fn memory_bytes() -> Option<usize> {
    words::<usize>("TEST_DRIVER_MEMORY").first().map(|mib| mib << 20)
}

/// The memory clock in kHz, and generation and lanes of the PCIe link. 0: nobody tells.
pub(crate) fn peaks() -> [u32; 3] {
    words("TEST_DRIVER_PEAKS").try_into().unwrap_or_default()
}

/// Whether copies misbehave in this way.
pub(crate) fn copies(how: &str) -> bool {
    static COPIES: LazyLock<Option<String>> = LazyLock::new(|| setting("TEST_DRIVER_COPIES"));
    COPIES.as_deref() == Some(how)
}
