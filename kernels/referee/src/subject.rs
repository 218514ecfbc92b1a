//! A file with kernels, and the choice of one of them.

use anyhow::Result;
use emulator::{Kernel, Module};
use record::names::did_you_mean;

use crate::misused;
use crate::plan::is_name;

/// PTX and who made it, or what the compiler says.
pub type Made = Result<(String, String), String>;

/// A file, as it was read.
pub struct Subject {
    /// As messages call it.
    pub name: String,
    pub source: String,
    pub is_ptx: bool,
}

impl Subject {
    /// Whether its text has this name.
    pub fn names(&self, name: &str) -> bool {
        let mut words = self.source.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.any(|word| word == name)
    }

    pub(crate) fn parse(&self, ptx: &str) -> Result<Module> {
        match Module::parse(ptx) {
            Ok(module) => Ok(module),
            Err(e) if self.is_ptx => misused!("{} is no PTX: {e}", self.name),
            Err(e) => Err(e.into()),
        }
    }

    /// The kernel of this name, or the only one: what the PTX calls it.
    pub(crate) fn kernel<'m>(&self, module: &'m Module, name: Option<&str>) -> Result<&'m Kernel> {
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
pub fn plain(mangled: &str) -> &str {
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
