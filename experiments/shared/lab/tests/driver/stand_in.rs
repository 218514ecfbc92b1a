//! Building the stand-in driver, for the tests of every crate that needs it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Folder of the stand-in driver, under the names by which programs look for NVIDIA's.
pub(crate) static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand-in-driver");
    fs::create_dir_all(&folder).unwrap();
    // Made under another name and moved, because other processes may be making it too.
    let made = folder.join(format!("made-by-{}", std::process::id()));
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-O2"]);
    cc.args(["-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1", "-o"]);
    cc.arg(&made);
    cc.arg(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/driver/driver.c"),
    );
    assert!(cc.status().unwrap().success(), "the stand-in driver does not compile");
    fs::rename(&made, folder.join("libcuda.so.1")).unwrap();
    for name in ["libcuda.so", "libnvidia-ml.so.1"] {
        // It may be there already.
        let _ = symlink("libcuda.so.1", folder.join(name));
    }
    folder
});
