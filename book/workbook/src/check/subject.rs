//! A file with kernels: read, compiled, and one of its kernels chosen.

use std::path::{Path, PathBuf};

use anyhow::Result;
use emulator::{Kernel, Module};
use exercise::{compile, source};
use lab::compiler::Compiler;
use record::names::did_you_mean;

use super::host;
use super::plan::is_name;
use crate::terminal::misused;

/// What an error may come from that code of the host is not to be seen.
const LEFT_OUT: &str = "Header files and code of the host were left out; a function that kernels \
                        call needs `__device__`.";

/// A file, as it was read.
pub(crate) struct Subject {
    /// As messages call it.
    pub(crate) name: String,
    path: PathBuf,
    pub(crate) source: String,
    pub(crate) is_ptx: bool,
}

impl Subject {
    pub(crate) fn read(path: &Path, is_ptx: bool) -> Result<Subject> {
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
        Ok(Subject { name, path: path.to_owned(), source, is_ptx })
    }

    /// The folder that it lies in.
    pub(super) fn folder(&self) -> PathBuf {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        path.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Whether its text has this name.
    pub(super) fn names(&self, name: &str) -> bool {
        let mut words = self.source.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.any(|word| word == name)
    }

    /// PTX and who made it, or what the compiler says. Where it does not like what is for the host,
    /// it is given the rest.
    pub(super) fn compile(&self, compute: &str) -> Result<Result<(String, String), String>> {
        if self.is_ptx {
            return Ok(Ok((self.source.clone(), "PTX".to_owned())));
        }
        let compiler = format!("{} for compute capability {compute}", Compiler::find()?);
        let compile = |source: &str| compile::compile(&self.name, source, compute);
        let mut made = compile(&self.source)?;
        if made.is_err()
            && let Some(source) = host::without(&self.source)
        {
            made = compile(&source)?.map_err(|said| format!("{said}\n{LEFT_OUT}"));
        }
        Ok(made.map(|ptx| (ptx, compiler)))
    }

    pub(super) fn parse(&self, ptx: &str) -> Result<Module> {
        match Module::parse(ptx) {
            Ok(module) => Ok(module),
            Err(e) if self.is_ptx => misused!("{} is no PTX: {e}", self.name),
            Err(e) => Err(e.into()),
        }
    }

    /// The kernel of this name, or the only one: what the PTX calls it.
    pub(super) fn kernel<'m>(&self, module: &'m Module, name: Option<&str>) -> Result<&'m Kernel> {
        let all = module.kernels();
        let file = &self.name;
        let Some(name) = name else {
            match all {
                [only] => return Ok(only),
                [] if self.source.contains("template") => {
                    misused!("{file} has no kernel that is compiled: {}", instantiate("scale"))
                }
                [] => misused!("{file} has no kernel"),
                _ => {
                    misused!("{file} has several kernels: choose one with --kernel: {}", list(all))
                }
            }
        };
        if let Some(exact) = module.kernel(name) {
            return Ok(exact);
        }
        let of_name: Vec<_> = all.iter().filter(|kernel| plain(&kernel.name) == name).collect();
        match of_name[..] {
            [only] => Ok(only),
            [] if self.names(name) && self.source.contains("template") => {
                misused!("{file} has `{name}`, which is not compiled: {}", instantiate(name))
            }
            [] => {
                let near = did_you_mean(name, all.iter().map(|kernel| plain(&kernel.name)));
                let has = if all.is_empty() { "no kernel".to_owned() } else { list(all) };
                misused!("{file} has no kernel `{name}`{near} (it has {has})")
            }
            _ => {
                let full = of_name.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>();
                misused!(
                    "{file} has {} kernels `{name}`: choose one by its whole name: {}",
                    full.len(),
                    full.join(", ")
                )
            }
        }
    }
}

/// What a template of kernels lacks.
fn instantiate(name: &str) -> String {
    format!(
        "a template needs a line such as `template __global__ void {name}<float>(float *, int);`"
    )
}

fn list(kernels: &[Kernel]) -> String {
    kernels.iter().map(|kernel| plain(&kernel.name)).collect::<Vec<_>>().join(", ")
}

/// The name in the source: that of `_Z5scalePKfPfi` and of `_ZN4mine5scaleIfEEvPT_` is `scale`.
pub(crate) fn plain(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let (mut rest, mut last) = (rest.strip_prefix('N').unwrap_or(rest), None);
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length = rest[..digits].parse::<usize>().ok();
        let Some(part) = length.and_then(|length| rest[digits..].get(..length)) else { break };
        last = Some(part).filter(|part| is_name(part));
        rest = &rest[digits + part.len()..];
    }
    last.unwrap_or(mangled)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_are_those_of_the_source() {
        for (mangled, name) in [
            ("scale", "scale"),
            ("_Z5scalePKfPfi", "scale"),
            ("_ZN4mine5scaleIfEEvPT_", "scale"),
            ("_ZN6cudapy8__main__5scaleB2v1B38c8tJTIeFIjxB2IKgI2", "scale"),
            ("_Z99x", "_Z99x"),
        ] {
            assert_eq!(plain(mangled), name);
        }
    }
}
