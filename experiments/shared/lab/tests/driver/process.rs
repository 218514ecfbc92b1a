//! Tests under the stand-in driver, each in a process of its own, because that driver is set
//! up by environment variables. With `UNDER_THE_STAND_IN` set, the tests run right here, on
//! whatever driver there is. The crate's tests declare `stand_in` beside it.

use std::process::Command;
use std::time::Duration;

use super::stand_in;

/// Runs `body` under the stand-in driver, set up by `settings`, in a process of its own:
/// the named test, again.
pub(crate) fn under_the_stand_in(
    name: &str,
    settings: &[(&str, &str)],
    body: impl FnOnce(),
) {
    const INSIDE: &str = "UNDER_THE_STAND_IN";
    if std::env::var_os(INSIDE).is_some() {
        // One that hangs says so, instead of being waited for.
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(100));
            eprintln!("the test hangs");
            std::process::abort();
        });
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env("LD_LIBRARY_PATH", &*stand_in::FOLDER)
        .env("STAND_IN_COPIES", "late")
        .env(INSIDE, "")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{settings:?}\n{stdout}\n{stderr}");
    assert!(stdout.contains("1 passed"), "no test `{name}`:\n{stdout}");
}
