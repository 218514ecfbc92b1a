//! The emulated driver: where it lies, when it is used, and what its kernels did.
//!
//! Where there is no NVIDIA driver, or with `--emulate`, an experiment runs on an emulated
//! GPU. The lesson does not notice: the loader finds another driver library
//! ([`load_if_needed`]). But the lab does, because an emulated GPU has no time: it then
//! counts what the kernels did instead of timing them.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::{gpu, loader, workspace};

pub const OPTION: &str = "--emulate";

/// The newest compute capability whose instructions it has, whatever limits it is given.
pub(crate) const COMPUTE: &str = "8.9";

/// Why the emulated driver could not be loaded.
static FAILED: OnceLock<String> = OnceLock::new();

/// Why no emulated GPU stands in.
pub fn why_not() -> String {
    let found = || "the emulated driver does not lie beside the program".to_owned();
    FAILED.get().cloned().unwrap_or_else(found)
}

/// Why nothing runs where no GPU can be measured for the reason `why`: where there is no driver,
/// the emulated one would stand in.
pub fn why_nothing_runs(why: &str) -> String {
    if gpu::has_driver() { why.to_owned() } else { format!("{why}, and {}", why_not()) }
}

/// Whether there is an emulated driver that cannot be loaded.
pub(crate) fn has_failed() -> bool {
    FAILED.get().is_some()
}

/// The emulated driver's library: where cargo puts what a program depends on, or beside
/// this program, where it may be an old one.
pub fn find() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let file = format!("{DLL_PREFIX}emulated_driver{DLL_SUFFIX}"); // as cargo calls it
    [folder.join("deps"), folder.to_owned()]
        .map(|folder| folder.join(&file))
        .into_iter()
        .find(|file| file.is_file() && workspace::is_ours_as(file, &program))
}

/// Whether experiments run on the emulated GPU here, without being asked to.
pub fn stands_in() -> bool {
    !crate::gpu::has_driver() && find().is_some()
}

/// Loads the emulated driver as the one that cudarc finds, if there is no other or the
/// command line asks for it. Call it before the driver is first used; [`crate::run()`] does.
pub fn load_if_needed() {
    if (is_asked_for() || !crate::gpu::has_driver())
        && let Some(driver) = find()
    {
        // Whoever needs a driver says so.
        if let Err(e) = loader::lend_name(&driver, &format!("{DLL_PREFIX}cuda{DLL_SUFFIX}")) {
            FAILED.get_or_init(|| format!("the emulated driver cannot be loaded: {e}"));
        }
    }
}

/// Whether the command line asks for the emulated GPU.
fn is_asked_for() -> bool {
    std::env::args_os().any(|argument| argument == OPTION)
}

/// The emulated driver, if it is the one that this program has loaded.
#[derive(Clone, Copy)]
pub struct Emulator {
    tell_counts: Tell,
    count_pieces: unsafe extern "C" fn(),
    tell_explanations: Tell,
    start_ledger: unsafe extern "C" fn(),
    tell_ledger: Tell,
    name: unsafe extern "C" fn(u64, *const c_char),
}

/// A function that writes as much text as it is told there is room for, if that is enough,
/// and returns how much it needs.
type Tell = unsafe extern "C" fn(*mut u8, usize) -> usize;

impl Emulator {
    /// The emulated driver. `None` if another one is loaded, or none. It is told that
    /// nobody will keep a time, so that lessons may ask for times and get no number; and to
    /// keep to itself why it answers with an error, until somebody asks.
    pub fn loaded() -> Option<Emulator> {
        // SAFETY: opens the driver library if there is one, which stays open; then looks names
        // up in it, which only the emulated driver has, with these signatures. Those that are
        // called set flags in that driver; told of no room, the second one writes nothing.
        unsafe {
            if !sys::is_culib_present() {
                return None;
            }
            let driver = sys::culib();
            let no_time: unsafe extern "C" fn() = *driver.get(b"workbookEmulatorNoTime").ok()?;
            no_time();
            let emulator = Emulator {
                tell_counts: *driver.get(b"workbookEmulatorCounts").ok()?,
                count_pieces: *driver.get(b"workbookEmulatorCountPieces").ok()?,
                tell_explanations: *driver.get(b"workbookEmulatorExplanations").ok()?,
                start_ledger: *driver.get(b"workbookEmulatorLedgerStart").ok()?,
                tell_ledger: *driver.get(b"workbookEmulatorLedger").ok()?,
                name: *driver.get(b"workbookEmulatorName").ok()?,
            };
            (emulator.tell_explanations)(std::ptr::null_mut(), 0);
            Some(emulator)
        }
    }

    /// From now on kernels count pieces of memory, too, for the lines of their sources.
    pub fn count_pieces(&self) {
        // SAFETY: it sets something in that driver.
        unsafe { (self.count_pieces)() }
    }

    /// What kernels did since the last call.
    pub fn counts(&self) -> Counted {
        Counted::parse(&told(self.tell_counts))
    }

    /// From now on the driver keeps a new ledger of what it is asked for.
    pub fn start_ledger(&self) {
        // SAFETY: it sets something in that driver.
        unsafe { (self.start_ledger)() }
    }

    /// The ledger so far, in the form that the crate `ledger` reads.
    pub fn ledger(&self) -> String {
        told(self.tell_ledger)
    }

    /// Calls the memory from an address on by a name, in the ledger.
    pub fn name(&self, address: u64, name: &str) {
        let Ok(name) = CString::new(name) else { return };
        // SAFETY: a text that ends with a NUL, which the driver copies.
        unsafe { (self.name)(address, name.as_ptr()) }
    }

    /// Why calls were answered with errors since the last call, a line each.
    pub fn explanations(&self) -> String {
        told(self.tell_explanations)
    }
}

fn told(tell: Tell) -> String {
    let mut text = vec![];
    loop {
        // SAFETY: the function writes at most as many bytes as it is told, with the NUL.
        let needed = unsafe { tell(text.as_mut_ptr(), text.len()) };
        if needed <= text.len() {
            break;
        }
        text.resize(needed, 0); // again: there may be more to tell by now
    }
    String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
}

/// Counts by the names of [`crate::counters`].
pub type Counts = BTreeMap<String, u64>;

/// The counts of what kernels did.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Counts of all kernels together; empty if none ran.
    pub total: Counts,
    pub kernels: BTreeSet<String>,
    /// Counts by the lines of the source, if the kernels were compiled with line numbers.
    pub lines: Vec<LineCounts>,
}

/// What one line of a kernel's source did.
#[derive(Clone, Debug)]
pub struct LineCounts {
    /// The line's number, from 1 on.
    pub number: usize,
    /// The source's file, as the compiler was told it.
    pub file: String,
    pub counts: Counts,
}

impl Counted {
    /// Reads what the emulated driver tells: a name and a number in each line of text; the
    /// totals first, then `kernel NAME` of each that ran, then the source's lines, each headed
    /// by `line NUMBER FILE`.
    fn parse(text: &str) -> Counted {
        let mut counted = Counted::default();
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(' ') else { continue };
            if name == "kernel" {
                counted.kernels.insert(rest.to_owned());
                continue;
            }
            if let ("line", Some((number, file))) = (name, rest.split_once(' ')) {
                let number = number.parse().unwrap_or(0);
                let (file, counts) = (file.to_owned(), Counts::new());
                counted.lines.push(LineCounts { number, file, counts });
                continue;
            }
            let counts = match counted.lines.last_mut() {
                Some(line) => &mut line.counts,
                None => &mut counted.total,
            };
            counts.insert(name.to_owned(), rest.parse().unwrap_or(0));
        }
        match counted.total.get("launches") {
            Some(0) => Counted::default(),
            _ => counted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counted;

    #[test]
    fn totals_end_where_the_lines_begin() {
        let text = "launches 2\nbarriers 7\nkernel tile\nline 3 a b.cu\nbarriers 1\n";
        let counted = Counted::parse(text);
        assert_eq!(counted.total.len(), 2);
        assert_eq!(counted.total["barriers"], 7);
        assert_eq!(counted.kernels, ["tile".to_owned()].into());
        let line = &counted.lines[0];
        assert_eq!((line.number, line.file.as_str()), (3, "a b.cu"));
        assert_eq!(line.counts["barriers"], 1);
        let idle = Counted::parse("launches 0\nbarriers 0\n");
        assert!(idle.total.is_empty());
    }
}
