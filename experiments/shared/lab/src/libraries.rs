//! Loading CUDA's libraries from odd places.
//!
//! The driver's libcuda is on the loader's path wherever there is a driver. NVRTC and
//! its like come with a toolkit or as Python wheels, in folders no loader looks into
//! and under file names (`libnccl.so.2`) that cudarc does not try. cudarc takes no paths, so
//! the loader is made to know the file by the name that cudarc asks for ([`lend_name`]).

use std::io::{Result, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::workspace;

/// A library that the workbook can use and the driver does not bring.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// Its name between `lib` and `.so`.
    pub stem: &'static str,
    /// The command that installs it anywhere, without a toolkit.
    pub install: &'static str,
}

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

impl Library {
    /// Loads the library for cudarc, from where the loader looks or else from where
    /// [`find`] does. Whether there is one. Nothing of it runs before this is called.
    pub fn load(&self) -> bool {
        is_loadable(self.stem)
            || find(self.stem)
                .is_some_and(|file| lend_name(&file, &file_name(self.stem)).is_ok())
    }
}

/// Where `lib<stem>.so*` lies outside the loader's path: the newest version in the
/// first of these that has one: `WORKBOOK_CUDA_LIBS` (a list of folders), `CUDA_HOME`,
/// the current Python or Conda environment, `.venv` here if it is ours, `/usr/local/cuda`,
/// the system.
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
    let here = workspace::root().map(|root| root.join(".venv"));
    let here = here.filter(|environment| workspace::is_ours(environment));
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

/// Whether the loader finds the library by a name that cudarc tries; then it stays open.
fn is_loadable(stem: &str) -> bool {
    let mut names = cudarc::get_lib_name_candidates(stem).into_iter();
    names.any(|name| keep_open(Path::new(&name)).is_ok())
}

fn keep_open(library: &Path) -> Result<()> {
    // SAFETY: runs the initialisers of NVIDIA's library or the emulated one, as cudarc would.
    let opened = unsafe { libloading::Library::new(library) };
    opened.map(std::mem::forget).map_err(std::io::Error::other)
}

/// Has the loader find the library `file` by `name`, such as `libnvrtc.so`, in this process
/// from now on.
///
/// The loader knows a library that it has loaded by the name which that bears in itself (its
/// SONAME). So a library is made in memory that bears `name` and holds nothing, but needs
/// `file`: who looks for a function in it is shown those of `file`.
pub(crate) fn lend_name(file: &Path, name: &str) -> Result<()> {
    let file = std::path::absolute(file)?; // without a slash it would be searched for
    let bytes = name_lender(file.as_os_str().as_encoded_bytes(), name.as_bytes());
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut memory = std::fs::File::from(rustix::fs::memfd_create(name, flags)?);
    memory.write_all(&bytes)?;
    keep_open(Path::new(&format!("/proc/self/fd/{}", memory.as_raw_fd())))?;
    // The loader also knows libraries by their paths, so this one must stay taken.
    std::mem::forget(memory);
    Ok(())
}

/// A shared library of no code, as `ld -shared -soname NAME` makes it, that needs the file at
/// the path `needed`. For Linux with 64 bits (System V ABI, chapters 4 and 5).
fn name_lender(needed: &[u8], name: &[u8]) -> Vec<u8> {
    const MACHINE: u64 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    const READ_WRITE: u64 = 6; // the loader writes into what it reads
    // Bytes of each.
    const HEADER: u64 = 64;
    const SEGMENT: u64 = 56;
    const ENTRY: u64 = 16;
    const SYMBOL: u64 = 24;
    let strings = [b"", needed, name, b""].join(&0);
    let strings_bytes = strings.len() as u64;
    let dynamic = HEADER + 3 * SEGMENT;
    let symbols = dynamic + 7 * ENTRY;
    let end = symbols + SYMBOL + strings_bytes;

    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let mut put = |width: usize, fields: &[u64]| {
        fields.iter().for_each(|field| bytes.extend(&field.to_le_bytes()[..width]));
    };
    put(2, &[3, MACHINE]); // a shared library
    put(4, &[1]);
    put(8, &[0, HEADER, 0]); // segments begin after the header; no sections
    put(4, &[0]);
    put(2, &[HEADER, SEGMENT, 3, 64, 0, 0]);
    put(4, &[1, READ_WRITE]); // PT_LOAD: all of it
    put(8, &[0, 0, 0, end, end, 4096]);
    put(4, &[2, READ_WRITE]); // PT_DYNAMIC
    put(8, &[dynamic, dynamic, dynamic, 7 * ENTRY, 7 * ENTRY, 8]);
    put(4, &[0x6474_e551, READ_WRITE]); // PT_GNU_STACK: not to be executed
    put(8, &[0, 0, 0, 0, 0, 16]);
    put(8, &[1, 1]); // DT_NEEDED, the first string
    put(8, &[14, 2 + needed.len() as u64]); // DT_SONAME, the second
    put(8, &[5, symbols + SYMBOL]); // DT_STRTAB
    put(8, &[6, symbols]); // DT_SYMTAB
    put(8, &[10, strings_bytes]); // DT_STRSZ
    put(8, &[11, SYMBOL]); // DT_SYMENT
    put(8, &[0, 0]); // DT_NULL
    put(8, &[0, 0, 0]); // the symbol that every table begins with
    bytes.extend(strings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_by_the_name_that_it_is_lent() {
        let driver = crate::emulator::find().unwrap();
        let found = |name: &str, function: &[u8]| {
            // SAFETY: opens the emulated driver, whose initialisers do nothing.
            let library = unsafe { libloading::Library::new(name) };
            // SAFETY: the function is only looked up.
            library.is_ok_and(|library| unsafe {
                library.get::<unsafe extern "C" fn()>(function).is_ok()
            })
        };
        // Two names at a time, for the loader must not take one lender for the other.
        for name in ["liblent-to-it.so", "liblent-too.so"] {
            assert!(!found(name, b"cuInit"), "{name}");
            lend_name(&driver, name).unwrap();
            assert!(found(name, b"cuInit"), "{name}");
            assert!(!found(name, b"cuNoSuchFunction"), "{name}");
        }
        assert!(lend_name(Path::new("/no/such/file"), "libno.so").is_err());
        assert!(!found("libno.so", b"cuInit"));
    }

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
