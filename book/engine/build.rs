//! Explorers embed the kernels that they run, and not the others of the same files: pages load
//! what is embedded.

use std::env;
use std::fs;
use std::path::PathBuf;

/// The files in `kernels/ptx`, and what explorers run of each.
const FILES: [(&str, &[&str]); 6] = [
    ("all-reduce", &["ring_step"]),
    ("bank-conflicts", &["read4", "read8", "read16"]),
    ("data-layout", &["read1", "read2", "read3", "read4", "read8", "read8_vectors"]),
    ("number-formats", &["naive", "scaled"]),
    (
        "transpose",
        &[
            "read_coalesced",
            "write_coalesced",
            "tile",
            "tile_padded",
            "several",
            "swizzled",
            "vectors",
        ],
    ),
    ("warps", &["sides"]),
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    for (file, kernels) in FILES {
        let path = format!("../../kernels/ptx/{file}.ptx");
        println!("cargo::rerun-if-changed={path}");
        let ptx = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let text = without_others(&ptx, kernels);
        fs::write(out.join(format!("{file}.ptx")), text).expect("the folder is there");
    }
}

/// A module without the kernels that are not named.
fn without_others(ptx: &str, kernels: &[&str]) -> String {
    let (mut out, mut rest) = (String::new(), ptx);
    while let Some(start) = rest.find("\n.visible .entry ") {
        let (before, entry) = rest.split_at(start + 1);
        let end = entry.find("\n}\n").expect("a kernel ends") + 3;
        let is_named = |kernel: &&str| entry.starts_with(&format!(".visible .entry {kernel}("));
        out += before;
        if kernels.iter().any(is_named) {
            out += &entry[..end];
        }
        rest = &entry[end..];
    }
    out + rest
}
