//! What turns the emulated driver into one that tests take for NVIDIA's: a clock, and faults.
//!
//! The package `test-driver` compiles this crate's sources a second time, with
//! `cfg(for_tests)`. Its library does not tell that it is an emulated one, so what runs on it
//! is measured and recorded as on hardware, by a clock that goes by the work that is queued and is
//! the same in every run. In the library that programs are shipped with, all of this is
//! switched off when it is compiled: [`setting`] finds nothing.
//!
//! Tests set it up by environment variables:
//!
//! | variable | what it says |
//! |---|---|
//! | `TEST_DRIVER_MEMORY` | memory of each GPU in MiB (32) |
//! | `TEST_DRIVER_PEAKS` | `CLOCK GENERATION LANES`: the memory clock in kHz, and the PCIe link, which the machine does not tell otherwise |
//! | `TEST_DRIVER_FAIL` | `FUNCTION N CODE`: the Nth call of the function answers this code and does nothing else |
//! | `TEST_DRIVER_COPIES` | how copies misbehave: from host to device, `corrupt` changes one byte and `skip` copies nothing; with `wait`, all return only when they are done |
//! | `TEST_DRIVER_TRACE` | a file to append the name of every called function to |

#[cfg(for_tests)]
mod nvml;
#[cfg(all(for_tests, unix))] // by LD_LIBRARY_PATH
pub(crate) mod process;

use std::fs::File;
use std::io::Write;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use crate::answer::{Answer, describe};
use crate::driver::Driver;
use crate::host;
use crate::memory::{Holding, Kind, Where};
use crate::work::Work;

/// What a test has set. Nothing in the library that programs are shipped with.
fn setting(name: &str) -> Option<String> {
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

/// Every function begins here: the trace, and whether this call shall fail.
pub(crate) fn enter(function: &str) -> Answer {
    static TRACE: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = setting("TEST_DRIVER_TRACE")?;
        File::options().create(true).append(true).open(path).ok()
    });
    /// The function that fails, after how many more calls, and with which code.
    static FAILS: LazyLock<Mutex<Option<(String, u32, u32)>>> = LazyLock::new(|| {
        let fail = setting("TEST_DRIVER_FAIL").unwrap_or_default();
        let mut words = fail.split_whitespace();
        let function = words.next().map(str::to_owned);
        let mut number = || words.next()?.parse().ok();
        Mutex::new((|| Some((function?, number()?, number()?)))())
    });
    if let Some(mut trace) = TRACE.as_ref() {
        let _ = writeln!(trace, "{function}"); // a test misses what is not there
    }
    let mut fails = FAILS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((name, left, code)) = fails.as_mut()
        && name == function
    {
        *left = left.wrapping_sub(1);
        if *left == 0 {
            return Err(describe(*code).expect("a known code").0);
        }
    }
    Ok(())
}

/// How long a piece of work takes on the clock that events show, in nanoseconds.
pub(crate) fn nanoseconds(work: &Work) -> u64 {
    if !cfg!(for_tests) {
        return 0;
    }
    let bytes = match work {
        Work::Launch(_) => return 200_000, // as long as a sample should last
        Work::Copy { bytes, .. } => *bytes,
        Work::Upload { from, .. } => from.len() as u64,
        Work::Fill { pattern, count, .. } => pattern.len() as u64 * count,
        _ => 0,
    };
    1_000 + bytes / 8
}

/// An experiment begins by keeping the GPU busy with large fills for half a second. Not the
/// processor, too, which has other tests to run: the first five take as long together.
pub(crate) fn rest_after(filled_bytes: u64) {
    static FILLS: AtomicU32 = AtomicU32::new(0);
    let large = cfg!(for_tests) && filled_bytes >= 16 << 20;
    if large && FILLS.fetch_add(1, Relaxed) < 5 {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Pinned memory that is freed holds nothing any more: so a program that relies on the wait
/// for the copies that still use it shows. (That NVIDIA's driver waits, it does not promise.)
pub(crate) fn spoil(freed: &Holding, address: u64) {
    if cfg!(for_tests) && freed.kind == Kind::Pinned {
        // SAFETY: the program has given it up, and the driver still has it.
        unsafe { host::write(address as usize, &vec![0xA5; freed.bytes as usize]) };
    }
}

impl Driver {
    /// The work that is done in place of this, if copies to the device misbehave.
    pub(crate) fn misdone(&self, work: Work) -> Work {
        let misdone = |to, mut from: Vec<u8>| match from.len() / 2 {
            _ if copies("skip") => Work::Nothing,
            middle => {
                from[middle] = from[middle].wrapping_add(1);
                Work::Upload { to, from: from.into() }
            }
        };
        match work {
            _ if !copies("skip") && !copies("corrupt") => work,
            Work::Upload { to, from } => misdone(to, from.to_vec()),
            Work::Copy { to, from, bytes, .. }
                if self.memory.locate(from, bytes) == Ok(Where::Host) =>
            {
                let mut taken = vec![0; bytes as usize];
                // SAFETY: the driver knows this memory of the host's.
                unsafe { host::read(from as usize, &mut taken) };
                misdone(to, taken)
            }
            work => work,
        }
    }
}
