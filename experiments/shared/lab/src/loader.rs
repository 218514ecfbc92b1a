//! Having the system's loader know a library by another name.
//!
//! cudarc asks the loader for libraries by names of its own, and takes no paths. Each system
//! has a way to answer with the file that we mean: `lend_name(file, name)` has the loader find
//! `file` by `name`, such as `libcuda.so`, in this process from now on.

use std::io::{Error, Result};
use std::path::Path;

#[cfg(target_os = "linux")]
#[path = "loader/linux.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "loader/macos.rs"]
mod system;
#[cfg(windows)]
#[path = "loader/windows.rs"]
mod system;

pub(crate) use system::lend_name;

/// Whether the loader finds the library by a name that cudarc tries; then it stays open.
pub(crate) fn is_loadable(stem: &str) -> bool {
    let mut names = cudarc::get_lib_name_candidates(stem).into_iter();
    names.any(|name| keep_open(Path::new(&name)).is_ok())
}

/// Loads a library and never gives it back.
pub(crate) fn keep_open(library: &Path) -> Result<()> {
    #[cfg(windows)]
    let open = |path: &Path| {
        use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library};
        // What a library needs lies beside it.
        let flags = if path.is_absolute() { LOAD_WITH_ALTERED_SEARCH_PATH } else { 0 };
        // SAFETY: as below.
        unsafe { Library::load_with_flags(path, flags) }
    };
    // SAFETY: runs the initialisers of NVIDIA's library or the emulated one, as cudarc would.
    #[cfg(not(windows))]
    let open = |path: &Path| unsafe { libloading::Library::new(path) };
    open(library).map(std::mem::forget).map_err(Error::other)
}
