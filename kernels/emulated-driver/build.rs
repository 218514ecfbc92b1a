//! Gives the library the name under which programs ask the loader for NVIDIA's, where a library
//! bears its name in itself (on Windows its file does), and tells the sources which of their
//! two packages they are compiled for.

fn main() {
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        }
        Ok("macos") => {
            let name = "@rpath/libcuda.dylib";
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,{name}");
        }
        _ => {}
    }
    println!("cargo::rustc-check-cfg=cfg(for_tests)");
    if std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == "test-driver") {
        println!("cargo::rustc-cfg=for_tests");
    }
}
