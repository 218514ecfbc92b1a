//! What the program is made of: learners' files (`TRIAL_MINE`, as in PATH), each with the exercise's
//! check (`TRIAL_CHECK`). A learner has one; who verifies an exercise compiles all of its files
//! at once.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let none = Path::new(&folder).join("src/none");
    let told = |variable: &str| {
        println!("cargo::rerun-if-env-changed={variable}");
        env::var_os(variable)
    };
    let check = told("TRIAL_CHECK").map_or(none.join("check.rs"), PathBuf::from);
    let mine = told("TRIAL_MINE").unwrap_or(none.join("mine.rs").into());
    let (mut modules, mut checks) = (String::new(), String::new());
    for (number, file) in env::split_paths(&mine).enumerate() {
        let _ = writeln!(
            modules,
            "mod of_{number} {{\n    /// The learner's file.\n    #[path = {file:?}]\n    pub mod mine;\n    \
             /// The exercise's `check.rs`.\n    pub mod check {{\n        #[allow(unused_imports)]\n        \
             use super::mine;\n        include!({check:?});\n    }}\n}}"
        );
        let _ = write!(checks, "of_{number}::check::check, ");
    }
    let text = format!(
        "{modules}\n/// One for each learner's file.\nconst CHECKS: &[Check] = &[{checks}];\n"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("files.rs"), text).expect("cargo has made the folder");
}
