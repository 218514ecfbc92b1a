//! How tests get programs, or themselves, to load this driver.

use std::any::type_name;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// A folder, for `LD_LIBRARY_PATH`, with this driver under the names by which programs look
/// for NVIDIA's. It lies beside the test that asks.
pub static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = env::current_exe().expect("a test knows its program");
    let folder = test.with_file_name("test-driver");
    fs::create_dir_all(&folder).expect("cargo's folder can be written");
    for name in ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"] {
        // It may be there already, for other tests make it, too.
        let _ = symlink("../libtest_driver.so", folder.join(name));
    }
    folder
});

/// Runs the test whose body this is in a process of its own, on this driver, set up by
/// `settings`: environment variables. Whether this is that process is returned.
///
/// # Panics
///
/// If the test fails there; and unless `body` is a closure that stands in a test.
pub fn alone<Body: FnOnce()>(settings: &[(&str, &str)], body: Body) -> bool {
    const INSIDE: &str = "TEST_DRIVER_INSIDE";
    if env::var_os(INSIDE).is_some() {
        body();
        return true;
    }
    // Such as `program::test::{{closure}}`.
    let (_, test) = type_name::<Body>().split_once("::").expect("a path");
    let output = Command::new(env::current_exe().expect("as above"))
        .args([test.trim_end_matches("::{{closure}}"), "--exact", "--nocapture"])
        .env("LD_LIBRARY_PATH", &*FOLDER)
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env(INSIDE, "")
        .envs(settings.iter().copied())
        .output()
        .expect("a test can start itself");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (said, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{settings:?}\n{said}\n{wrong}");
    assert!(said.contains("1 passed"), "no test `{test}`:\n{said}");
    false
}
