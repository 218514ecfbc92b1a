//! Tells the crate how lessons are compiled, for the record: nothing else knows.

/// The workspace's manifest, with its profiles.
const WORKSPACE: &str = include_str!("../../../Cargo.toml");

fn main() {
    let of = |name| std::env::var(name).unwrap_or_default();
    let profile = if of("PROFILE") == "debug" { "dev".to_owned() } else { of("PROFILE") };
    // The workspace's, unless the environment has another. This crate's own is lower.
    let variable = format!("CARGO_PROFILE_{}_OPT_LEVEL", profile.to_uppercase());
    let section = WORKSPACE.split_once(&format!("\n[profile.{profile}]\n"));
    let lines = section.map_or("", |(_, section)| section).lines();
    let level = lines
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix("opt-level = "))
        .unwrap_or("3"); // cargo's own, of a release
    let level = std::env::var(&variable).unwrap_or_else(|_| level.to_owned());
    println!("cargo::rustc-env=LAB_PROFILE={profile}, opt-level {level}");
    println!("cargo::rerun-if-env-changed={variable}");
    let version = std::process::Command::new(of("RUSTC"))
        .arg("--version")
        .output()
        .map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
        .unwrap_or_default();
    println!("cargo::rustc-env=LAB_COMPILER={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
