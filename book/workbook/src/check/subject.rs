//! A file with kernels: read, and compiled.

use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use exercise::{compile, source};
use lab::compiler::Compiler;
use referee::check::Element;
use referee::subject::{Made, Subject};

use super::{host, npy};
use crate::terminal::misused;

/// What an error may come from that code of the host is not to be seen.
const LEFT_OUT: &str = "Header files and code of the host were left out; a function that kernels \
                        call needs `__device__`.";

/// Reads a file; it is PTX if it is called so, too.
pub(super) fn read(path: &Path, is_ptx: bool) -> Result<Subject> {
    let name = path.display().to_string().replace('\\', "/");
    let source = match source::read(path) {
        Ok(Ok(source)) => source,
        Ok(Err(why)) => misused!("{name}: {why}"),
        Err(e) => misused!("{e:#}"),
    };
    let is_ptx = is_ptx || path.extension().is_some_and(|e| e == "ptx");
    if !is_ptx && !source.contains("__global__") {
        let looks = source.contains(".entry") && source.contains(".target");
        let end = if looks { "; it looks like PTX: add --ptx" } else { "" };
        misused!("{name} is no CUDA C: there is no `__global__` in it{end}");
    }
    Ok(Subject { name, source, is_ptx })
}

/// PTX and who made it, or what the compiler says. Where it does not like what is for the host,
/// it is given the rest.
pub(super) fn compile(subject: &Subject, compute: &str) -> Result<Made> {
    if subject.is_ptx {
        return Ok(Ok((subject.source.clone(), "PTX".to_owned())));
    }
    let compiler = format!("{} for compute capability {compute}", Compiler::find()?);
    let compile = |source: &str| compile::compile(&subject.name, source, compute);
    let mut made = compile(&subject.source)?;
    if made.is_err()
        && let Some(source) = host::without(&subject.source)
    {
        made = compile(&source)?.map_err(|said| format!("{said}\n{LEFT_OUT}"));
    }
    Ok(made.map(|ptx| (ptx, compiler)))
}

/// The numbers in a file of NumPy's, of this type; `folder` is that of the comment that names it.
pub(super) fn array(folder: Option<&Path>, file: &str, element: Element) -> Result<Vec<u8>> {
    let mut path = PathBuf::from(file);
    if let Some(folder) = folder {
        // Whoever wrote the file does not choose among the reader's.
        let plain = Path::new(file).components().all(|c| matches!(c, Component::Normal(_)));
        path = folder.join(file);
        let inside = || path.canonicalize().is_ok_and(|path| path.starts_with(folder));
        if !plain || path.exists() && !inside() {
            misused!("{file} is named in a comment, and lies outside of its file's folder");
        }
    }
    npy::read(&path, element)
}

/// The folder that a file lies in.
pub(super) fn folder(path: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.parent().map(Path::to_owned).unwrap_or_default()
}
