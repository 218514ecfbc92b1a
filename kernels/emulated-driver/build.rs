//! Gives the library the name under which programs ask the loader for NVIDIA's, and tells
//! the sources which of their two packages they are compiled for.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo::rustc-check-cfg=cfg(for_tests)");
    if std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == "test-driver") {
        println!("cargo::rustc-cfg=for_tests");
    }
}
