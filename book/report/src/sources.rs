//! The folder of the book's sources, and the modules there that pages load.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use record::hash::sha256;

/// The folder of the book's sources during a build. A hundred pages name one module, which is
/// large, so it is read once.
pub struct Sources<'a> {
    pub folder: &'a Path,
    addresses: RefCell<BTreeMap<&'static str, String>>,
}

impl<'a> Sources<'a> {
    pub fn at(folder: &'a Path) -> Sources<'a> {
        Sources { folder, addresses: RefCell::default() }
    }

    /// The address of a module's file, which changes with what is in it.
    pub fn module(&self, file: &'static str) -> Result<String, String> {
        if let Some(address) = self.addresses.borrow().get(file) {
            return Ok(address.clone());
        }
        let module = std::fs::read(self.folder.join(file))
            .map_err(|e| format!("src/{file}: {e}; `cargo workbook engine` makes it"))?;
        let address = format!("{file}?{}", &sha256(module)[..8]);
        self.addresses.borrow_mut().insert(file, address.clone());
        Ok(address)
    }
}
