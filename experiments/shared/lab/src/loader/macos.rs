//! macOS: the loader knows a library that it has loaded by the name which that bears in itself
//! (its install name), and `@rpath/libcuda.dylib` also as `libcuda.dylib`.

use std::io::Result;
use std::path::Path;

/// The emulated driver is linked with the name that cudarc asks for, and there is no other
/// library to lend one to.
pub(crate) fn lend_name(file: &Path, _name: &str) -> Result<()> {
    super::keep_open(file)
}
