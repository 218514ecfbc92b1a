//! What goes wrong, and how long it takes, in the driver that tests take for NVIDIA's, as they
//! [set](crate::settings) it: nothing, in the library that programs are shipped with.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use crate::answer::{Answer, describe};
use crate::driver::Driver;
use crate::host;
use crate::memory::{Holding, Kind, Where};
use crate::settings::{copies, setting};
use crate::work::Work;

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
