//! Finding CUDA's libraries in odd places.
//!
//! The driver's libcuda is on the loader's path wherever there is a driver. NVRTC and
//! its like come with a toolkit or as Python wheels, in folders no loader looks into
//! and under file names (`libnvrtc.so.13`) that cudarc does not try. [`expose`] finds
//! them, links them under the plain name, and restarts the program once with
//! `LD_LIBRARY_PATH` pointing there, which is the one way that works for all of them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use crate::emulator;

/// Set in the restarted program, so that it restarts only once.
pub const RESTARTED: &str = "WORKBOOK_LIBRARIES";

/// A library that the workbook can use and the driver does not bring.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// Its name between `lib` and `.so`.
    pub stem: &'static str,
    /// The command that installs it anywhere, without a toolkit.
    pub install: &'static str,
}

/// The driver's library, between `lib` and `.so`; and the other name that it goes by.
const DRIVER: &str = "cuda";
const DRIVER_TOO: &str = "libcuda.so.1";

/// The runtime compiler.
pub const NVRTC: Library = Library {
    stem: "nvrtc",
    // The version that makes the committed PTX; it loads on every driver from CUDA 12.4.
    install: "python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.4.127",
};

/// Linear algebra. Its companion libcublasLt, which it loads, lies beside it.
pub const CUBLAS: Library = Library {
    stem: "cublas",
    install: "python3 -m venv .venv && .venv/bin/pip install nvidia-cublas-cu12==12.4.5.8",
};

/// Collectives over several GPUs. The version is the one on the reference machine.
pub const NCCL: Library = Library {
    stem: "nccl",
    install: "python3 -m venv .venv && .venv/bin/pip install nvidia-nccl-cu12==2.28.3",
};

/// Makes `libraries` loadable by cudarc, restarting this program if they lie where the
/// loader does not look. Call it first in `main`, before any thread starts. Returns
/// when nothing (more) can be done; whether a library loads is for its user to ask.
///
/// With them comes the emulated driver, if there is no other or if the command line asks
/// for it.
///
/// [`crate::run`] exposes NVRTC. A program restarts only once, so an experiment that uses
/// another library calls this before that, with both.
pub fn expose(libraries: &[Library]) {
    let emulates = || emulator::is_asked_for() || !keep_open(DRIVER);
    link(libraries, || if emulates() { emulator::find() } else { None });
}

/// The same without the emulated driver, for a program that is no experiment.
pub fn expose_only(libraries: &[Library]) {
    link(libraries, || None);
}

/// Takes away the links of a program that used them to its end. [`crate::run`] does so.
pub fn tidy() {
    if let Some(folder) = std::env::var_os(RESTARTED) {
        let _ = std::fs::remove_dir_all(folder); // a leftover link harms nobody
    }
}

fn link(libraries: &[Library], driver: impl FnOnce() -> Option<PathBuf>) {
    if let Some(folder) = std::env::var_os(RESTARTED) {
        // The links have served once the libraries are open or known to be missing;
        // opening them now keeps them open for cudarc. But an emulated driver is needed
        // by the programs that this one starts, too.
        for library in libraries {
            keep_open(library.stem);
        }
        if !Path::new(&folder).join(file_name(DRIVER)).exists() {
            tidy();
        }
        return;
    }
    let missing = libraries.iter().filter(|l| !keep_open(l.stem));
    let found: Vec<_> =
        missing.filter_map(|l| Some((l.stem, find(l.stem)?))).collect();
    let driver = driver();
    if found.is_empty() && driver.is_none() {
        return;
    }
    // A new one: what a program that was killed has left may link the emulated driver.
    let Ok(new) = tempfile::Builder::new().prefix("workbook-").tempdir() else {
        return;
    };
    let folder = new.path();
    let mut path = vec![folder.to_owned()];
    let link = |file: &Path, name: &str| {
        // Without it the library is not found, and whoever needs it says so.
        let _ = std::os::unix::fs::symlink(file, folder.join(name));
    };
    for (stem, file) in &found {
        link(file, &file_name(stem));
        path.extend(file.parent().map(Path::to_owned));
    }
    if let Some(driver) = &driver {
        link(driver, &file_name(DRIVER));
        link(driver, DRIVER_TOO); // for other libraries that load it
    }
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH") {
        path.extend(std::env::split_paths(&old));
    }
    let Ok(path) = std::env::join_paths(path) else { return };
    // exec only returns if it failed; then the program goes on without the libraries.
    let mut arguments = std::env::args_os();
    let _ = std::process::Command::new("/proc/self/exe")
        .arg0(arguments.next().unwrap_or_default())
        .args(arguments)
        .env("LD_LIBRARY_PATH", path)
        .env(RESTARTED, folder)
        .exec();
}

/// Where `lib<stem>.so*` lies outside the loader's path: the newest version in the
/// first of these that has one. `WORKBOOK_CUDA_LIBS` (a list of folders), `CUDA_HOME`,
/// the current Python or Conda environment, `.venv` here, `/usr/local/cuda`, the system.
pub fn find(stem: &str) -> Option<PathBuf> {
    folders().iter().find_map(|folder| newest_in(folder, stem))
}

/// Where a program of CUDA's toolkit lies: beside one of the folders of [`find`], or on the
/// PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let beside = folders().into_iter().map(|folder| folder.with_file_name("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).collect::<Vec<_>>();
    beside.chain(path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(list) = std::env::var_os("WORKBOOK_CUDA_LIBS") {
        folders.extend(std::env::split_paths(&list));
    }
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folders.extend(of("CUDA_HOME").map(|home| home.join("lib64")));
    let here = crate::workspace::root().map(|root| root.join(".venv"));
    for environment in
        [of("VIRTUAL_ENV"), of("CONDA_PREFIX"), here].into_iter().flatten()
    {
        folders.push(environment.join("lib"));
        // lib/python3.12/site-packages/nvidia/{cuda_nvrtc,cu13}/lib
        for python in children(&environment.join("lib")) {
            for package in children(&python.join("site-packages/nvidia")) {
                folders.push(package.join("lib"));
            }
        }
    }
    folders.push("/usr/local/cuda/lib64".into());
    // On the loader's path, but there may be `libnccl.so.2` alone, which cudarc does not try.
    folders.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());
    folders.push("/usr/lib64".into());
    folders
}

/// Entries of a folder, sorted, so that the same disk gives the same answer.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// The file `lib<stem>.so` with the highest version number after it.
fn newest_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let plain = file_name(stem);
    let version = |path: &Path| -> Option<Vec<u32>> {
        let rest = path.file_name()?.to_str()?.strip_prefix(&plain)?;
        if rest.is_empty() {
            return Some(vec![]);
        }
        rest.strip_prefix('.')?.split('.').map(|n| n.parse().ok()).collect()
    };
    children(folder)
        .into_iter()
        .filter_map(|path| Some((version(&path)?, path)))
        .max()
        .map(|(_, path)| path)
}

/// The plain file name of a library.
fn file_name(stem: &str) -> String {
    format!("lib{stem}.so")
}

/// Whether cudarc will be able to load the library; keeps it open for the process.
fn keep_open(stem: &str) -> bool {
    cudarc::get_lib_name_candidates(stem).iter().any(|name| {
        // SAFETY: runs the initialisers of NVIDIA's library, as cudarc would.
        match unsafe { libloading::Library::new(name) } {
            Ok(library) => {
                std::mem::forget(library);
                true
            }
            Err(_) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_wins_and_strangers_do_not_match() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "libnvrtc.so.12",
            "libnvrtc.so.9",
            "libnvrtc-builtins.so.13",
            "libnvrtc.so.x",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(
            newest_in(dir.path(), "nvrtc"),
            Some(dir.path().join("libnvrtc.so.12"))
        );
        assert_eq!(newest_in(dir.path(), "cublas"), None);
        assert_eq!(newest_in(Path::new("/no/such/folder"), "nvrtc"), None);
    }
}
