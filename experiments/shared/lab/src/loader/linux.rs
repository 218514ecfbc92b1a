//! Linux: the loader knows a library that it has loaded by the name which that bears in itself
//! (its SONAME).

use std::fs::File;
use std::io::{Result, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{MemfdFlags, memfd_create};

/// Makes a library in memory that bears `name` and holds nothing, but needs `file`: who looks
/// for a function in it is shown those of `file`.
pub(crate) fn lend_name(file: &Path, name: &str) -> Result<()> {
    let file = std::path::absolute(file)?; // without a slash it would be searched for
    let bytes = name_lender(file.as_os_str().as_encoded_bytes(), name.as_bytes());
    let mut memory = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    memory.write_all(&bytes)?;
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    super::keep_open(Path::new(&path))?;
    // The loader also knows libraries by their paths, so this one must stay taken.
    std::mem::forget(memory);
    Ok(())
}

/// A shared library of no code, as `ld -shared -soname NAME` makes it, that needs the file at
/// the path `needed`. For 64 bits (System V ABI, chapters 4 and 5).
fn name_lender(needed: &[u8], name: &[u8]) -> Vec<u8> {
    const MACHINE: u64 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    const READ_WRITE: u64 = 6; // the loader writes into what it reads
    // Bytes of each.
    const HEADER: u64 = 64;
    const SEGMENT: u64 = 56;
    const ENTRY: u64 = 16;
    const SYMBOL: u64 = 24;
    let strings = [b"", needed, name, b""].join(&0);
    let strings_bytes = strings.len() as u64;
    let dynamic = HEADER + 3 * SEGMENT;
    let symbols = dynamic + 7 * ENTRY;
    let end = symbols + SYMBOL + strings_bytes;

    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let mut put = |width: usize, fields: &[u64]| {
        fields.iter().for_each(|field| bytes.extend(&field.to_le_bytes()[..width]));
    };
    put(2, &[3, MACHINE]); // a shared library
    put(4, &[1]);
    put(8, &[0, HEADER, 0]); // segments begin after the header; no sections
    put(4, &[0]);
    put(2, &[HEADER, SEGMENT, 3, 64, 0, 0]);
    put(4, &[1, READ_WRITE]); // PT_LOAD: all of it
    put(8, &[0, 0, 0, end, end, 4096]);
    put(4, &[2, READ_WRITE]); // PT_DYNAMIC
    put(8, &[dynamic, dynamic, dynamic, 7 * ENTRY, 7 * ENTRY, 8]);
    put(4, &[0x6474_e551, READ_WRITE]); // PT_GNU_STACK: not to be executed
    put(8, &[0, 0, 0, 0, 0, 16]);
    put(8, &[1, 1]); // DT_NEEDED, the first string
    put(8, &[14, 2 + needed.len() as u64]); // DT_SONAME, the second
    put(8, &[5, symbols + SYMBOL]); // DT_STRTAB
    put(8, &[6, symbols]); // DT_SYMTAB
    put(8, &[10, strings_bytes]); // DT_STRSZ
    put(8, &[11, SYMBOL]); // DT_SYMENT
    put(8, &[0, 0]); // DT_NULL
    put(8, &[0, 0, 0]); // the symbol that every table begins with
    bytes.extend(strings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_by_the_name_that_it_is_lent() {
        let driver = crate::emulator::find().unwrap();
        let found = |name: &str, function: &[u8]| {
            // SAFETY: opens the emulated driver, whose initialisers do nothing.
            let library = unsafe { libloading::Library::new(name) };
            // SAFETY: the function is only looked up.
            library.is_ok_and(|library| unsafe {
                library.get::<unsafe extern "C" fn()>(function).is_ok()
            })
        };
        // Two names at a time, for the loader must not take one lender for the other.
        for name in ["liblent-to-it.so", "liblent-too.so"] {
            assert!(!found(name, b"cuInit"), "{name}");
            lend_name(&driver, name).unwrap();
            assert!(found(name, b"cuInit"), "{name}");
            assert!(!found(name, b"cuNoSuchFunction"), "{name}");
        }
        assert!(lend_name(Path::new("/no/such/file"), "libno.so").is_err());
        assert!(!found("libno.so", b"cuInit"));
    }
}
