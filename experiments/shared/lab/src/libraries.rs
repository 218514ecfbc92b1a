//! Loading CUDA's libraries from odd places.
//!
//! The driver's libcuda is on the loader's path wherever there is a driver. NVRTC and
//! its like come with a toolkit or as Python wheels, in folders no loader looks into
//! and under file names (`libnccl.so.2`) that cudarc does not try. cudarc takes no paths, so
//! the loader is made to know the file by the name that cudarc asks for (`loader`).

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::path::{Path, PathBuf};

use crate::{loader, workspace};

/// A library that the workbook can use and the driver does not bring.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// Its name between `lib` and `.so`, or before `64_` on Windows.
    pub stem: &'static str,
    /// The command that installs it anywhere, without a toolkit.
    pub install: &'static str,
}

/// The command that installs a Python wheel here.
macro_rules! pip {
    ($wheel:literal) => {
        if cfg!(windows) {
            concat!("py -m venv .venv && .venv\\Scripts\\pip install ", $wheel)
        } else {
            concat!("python3 -m venv .venv && .venv/bin/pip install ", $wheel)
        }
    };
}

/// The runtime compiler.
pub const NVRTC: Library = Library {
    stem: "nvrtc",
    // The version that makes the committed PTX; it loads on every driver from CUDA 12.4.
    install: pip!("nvidia-cuda-nvrtc-cu12==12.4.127"),
};

/// How to get header files of CUDA, such as those of cooperative groups and of half-precision numbers.
pub const HEADERS: &str = pip!("nvidia-cuda-runtime-cu12==12.4.127");

/// Those that `mma.h` needs besides.
pub const CRT: &str = pip!("nvidia-cuda-nvcc-cu12==12.4.131");

/// Those of CUDA's C++ library: `cuda/…`, `cub/…`. In 12.4.127 itself files are missing.
pub const CCCL: &str = pip!("nvidia-cuda-cccl-cu12==12.4.127.post1");

/// Those of random numbers, `curand_kernel.h`, which need [`CCCL`].
pub const CURAND: &str =
    pip!("nvidia-curand-cu12==10.3.5.147 nvidia-cuda-cccl-cu12==12.4.127.post1");

/// A clang that makes PTX, in a wheel for all systems.
pub const CLANG: Library = Library { stem: "clang", install: pip!("ziglang==0.17.1") };

/// Linear algebra. Its companion libcublasLt, which it loads, lies beside it.
pub const CUBLAS: Library =
    Library { stem: "cublas", install: pip!("nvidia-cublas-cu12==12.4.5.8") };

/// The companion: products whose formats and layouts the caller describes.
pub const CUBLAS_LT: Library = Library { stem: "cublasLt", install: CUBLAS.install };

/// Collectives over several GPUs. The version is the one on the reference machine.
pub const NCCL: Library = Library { stem: "nccl", install: pip!("nvidia-nccl-cu12==2.28.3") };

impl Library {
    /// Loads the library for cudarc, from where the loader looks or else from where
    /// [`find`] does. Whether there is one. Nothing of it runs before this is called.
    pub fn load(&self) -> bool {
        let lend = |file: PathBuf| {
            if cfg!(windows) {
                // The files have names that cudarc tries.
                return loader::keep_open(&file).is_ok() && loader::is_loadable(self.stem);
            }
            let name = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", self.stem);
            loader::lend_name(&file, &name).is_ok()
        };
        loader::is_loadable(self.stem) || find(self.stem).is_some_and(lend)
    }
}

/// Where a library lies outside the loader's path: the newest version in the first of these
/// that has one: `WORKBOOK_CUDA_LIBS` (a list of folders), `CUDA_HOME` (`CUDA_PATH` on
/// Windows), the current Python or Conda environment, `.venv` here if it is ours,
/// `/usr/local/cuda`, the system.
pub fn find(stem: &str) -> Option<PathBuf> {
    folders().iter().find_map(|folder| newest_in(folder, stem))
}

/// Where a program of CUDA's toolkit lies: beside one of the folders of [`find`], or on the
/// PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{EXE_SUFFIX}");
    let beside = folders().into_iter().map(|folder| folder.with_file_name("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).collect::<Vec<_>>();
    beside.chain(path).map(|folder| folder.join(&name)).find(|file| file.is_file())
}

/// Folders of CUDA's header files: beside those of [`find`].
pub fn headers() -> Vec<PathBuf> {
    let beside = folders().into_iter().map(|folder| folder.with_file_name("include"));
    // Those of the system's C library are not for kernels.
    beside.filter(|folder| folder.is_dir() && !folder.join("stdio.h").exists()).collect()
}

/// Where a clang may lie, with the argument that comes first: in the wheel `ziglang` of the same
/// environments, or as any program.
pub(crate) fn clangs() -> Vec<(PathBuf, Option<&'static str>)> {
    let zig = |folder: PathBuf| folder.join(format!("site-packages/ziglang/zig{EXE_SUFFIX}"));
    let zigs = pythons().into_iter().map(zig).filter(|file| file.is_file());
    let zigs = zigs.map(|zig| (zig, Some("clang")));
    let clang = find_program("clang").map(|clang| (clang, None));
    // A zig that a user has installed for all of Python.
    let zig = find_program("python-zig").or_else(|| find_program("zig"));
    zigs.chain(clang).chain(zig.map(|zig| (zig, Some("clang")))).collect()
}

/// Environments of Python or Conda: the current one, and `.venv` here if it is ours.
fn environments() -> impl Iterator<Item = PathBuf> {
    let here = workspace::root().map(|root| root.join(".venv"));
    let here = here.filter(|environment| workspace::is_ours(environment));
    [of_variable("VIRTUAL_ENV"), of_variable("CONDA_PREFIX"), here].into_iter().flatten()
}

/// Folders of Python's packages in them: `lib/python3.12`, and on Windows `lib`.
fn pythons() -> Vec<PathBuf> {
    let of = |environment: PathBuf| {
        let python = environment.join("lib");
        children(&python).into_iter().chain([python])
    };
    environments().flat_map(of).collect()
}

/// A folder that a variable names. An empty one would be the current folder.
fn of_variable(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(name).map(PathBuf::from);
    folder.filter(|folder| folder.is_absolute())
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(list) = std::env::var_os("WORKBOOK_CUDA_LIBS") {
        folders.extend(std::env::split_paths(&list));
    }
    // Where libraries lie in a toolkit, in an environment, and in a wheel.
    let (home, in_toolkit, in_environment, in_wheel) = match cfg!(windows) {
        true => ("CUDA_PATH", "bin", "Library/bin", "bin"),
        false => ("CUDA_HOME", "lib64", "lib", "lib"),
    };
    folders.extend(of_variable(home).map(|home| home.join(in_toolkit)));
    folders.extend(environments().map(|environment| environment.join(in_environment)));
    // lib/python3.12/site-packages/nvidia/{cuda_nvrtc,cu13}/lib, on Windows without the second
    // folder.
    for python in pythons() {
        let packages = children(&python.join("site-packages/nvidia"));
        folders.extend(packages.into_iter().map(|package| package.join(in_wheel)));
    }
    if cfg!(unix) {
        folders.push("/usr/local/cuda/lib64".into());
        // On the loader's path, but there may be `libnccl.so.2` alone, which cudarc does
        // not try.
        folders.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());
        folders.push("/usr/lib64".into());
    }
    folders
}

/// Entries of a folder, sorted, so that the same disk gives the same answer.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// The library's file with the highest version.
fn newest_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let files = children(folder).into_iter();
    let versions =
        files.filter_map(|path| Some((version(path.file_name()?.to_str()?, stem)?, path)));
    versions.max().map(|(_, path)| path)
}

/// The version in a library's file name: that of `libnvrtc.so.12` is 12, that of
/// `nvrtc64_120_0.dll` is 120 and 0, that of `libnvrtc.so` is empty.
fn version(file: &str, stem: &str) -> Option<Vec<u32>> {
    let rest = file.strip_prefix(DLL_PREFIX)?.strip_prefix(stem)?;
    let (numbers, separator) = match cfg!(windows) {
        true => (rest.strip_suffix(DLL_SUFFIX)?.strip_prefix("64")?, '_'),
        false => (rest.strip_prefix(DLL_SUFFIX)?, '.'),
    };
    if numbers.is_empty() {
        return Some(vec![]);
    }
    let numbers = numbers.strip_prefix(separator)?.split(separator);
    numbers.map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_wins_and_strangers_do_not_match() {
        let dir = tempfile::tempdir().unwrap();
        let names = match cfg!(windows) {
            true => ["64_120_0.dll", "64_90_0.dll", "-builtins64_130.dll", "64_x.dll"],
            false => [".so.12", ".so.9", "-builtins.so.13", ".so.x"],
        };
        for name in names {
            let name = name.replace(".so", DLL_SUFFIX);
            let file = dir.path().join(format!("{DLL_PREFIX}nvrtc{name}"));
            std::fs::write(file, "").unwrap();
        }
        let newest = newest_in(dir.path(), "nvrtc").unwrap();
        let newest = newest.file_name().unwrap().to_str().unwrap();
        assert!(newest.contains("12"), "{newest}");
        assert_eq!(newest_in(dir.path(), "cublas"), None);
        assert_eq!(newest_in(Path::new("/no/such/folder"), "nvrtc"), None);
    }
}
