//! A file with kernels, and the choice of one of them.

use std::fmt;

use anyhow::Result;
use emulator::{Kernel, Module, ParseError};
use record::names::did_you_mean;

use crate::plan::is_name;
use crate::{misused, names};

/// PTX and who made it, or what the compiler says.
pub type Made = Result<(String, String), String>;

/// What the emulated GPU cannot run, and in which line of the source, if that is known.
#[derive(Debug)]
pub struct Unsupported {
    pub line: Option<u32>,
    pub(crate) what: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, at line {line}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Unsupported {}

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
            Err(e) => Err(self.unsupported("it", ptx, &e).into()),
        }
    }

    /// What to say of what the emulated GPU does not know in the PTX of `kernel`.
    pub(crate) fn unsupported(&self, kernel: &str, ptx: &str, why: &ParseError) -> Unsupported {
        let line =
            if self.is_ptx { Some(why.line) } else { source_line(&self.name, ptx, why.line) };
        let why = names::in_source(&why.what);
        let what = format!("{}: the emulated GPU cannot run {kernel}: {why}", self.name);
        Unsupported { line, what }
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

/// The line of the source `file` that a line of its PTX was made of: the last one that is named
/// before it in the same function.
pub(crate) fn source_line(file: &str, ptx: &str, line: u32) -> Option<u32> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let numbers = |text: &str, what: &str| {
        let rest = text.trim_start().strip_prefix(what)?;
        let mut words = rest.split_whitespace();
        Some((words.next()?.parse::<u32>().ok()?, words.next()?.to_owned()))
    };
    let is_it = |path: &str| path.trim_matches(['"', ',']).rsplit('/').next() == Some(name);
    let mut files = ptx.lines().filter_map(|text| numbers(text, ".file"));
    let (of_file, _) = files.find(|(_, path)| is_it(path))?;
    let before: Vec<_> = ptx.lines().take(line as usize).collect();
    let is_head = |text: &&&str| text.contains(".entry ") || text.contains(".func ");
    let here = before.iter().rev().take_while(|text| !is_head(text));
    let mut lines = here.filter_map(|text| numbers(text, ".loc"));
    lines.find(|(file, _)| *file == of_file)?.1.parse().ok()
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

/// The name in the source: that of `_Z5scalePKfPfi`, of `_ZN4mine5scaleIfEEvPT_` and, in a function,
/// of `_ZZ3sumE5scale` is `scale`.
pub fn plain(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let behind = |(at, _): (usize, &str)| rest.get(at + 1..);
    let begins = |own: &&str| own.starts_with(|c: char| c.is_ascii_digit());
    let in_function = rest.starts_with('Z').then(|| rest.rmatch_indices('E').filter_map(behind));
    let rest = in_function.and_then(|mut all| all.find(begins)).unwrap_or(rest);
    let (mut rest, mut last) = (rest.strip_prefix(['N', 'L']).unwrap_or(rest), None);
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
    use super::{plain, source_line};

    #[test]
    fn a_line_of_ptx_is_of_the_line_named_before_it() {
        let ptx = ".entry a()\n{\n.loc 2 3 0\nret;\n}\n.entry b()\n{\nnop;\n.loc\t2 7 5\n\
                   .loc 1 9 0, function_name $x, inlined_at 2 7 5\nfoo;\n}\n\
                   .file\t1 \"prelude.h\"\n.file 2 \"/x/my.cu\"\n";
        let line = |line| source_line("kernels/my.cu", ptx, line);
        assert_eq!([line(4), line(8), line(11)], [Some(3), None, Some(7)]);
        assert_eq!(source_line("other.cu", ptx, 4), None);
    }

    #[test]
    fn names_are_those_of_the_source() {
        for (mangled, name) in [
            ("scale", "scale"),
            ("_Z5scalePKfPfi", "scale"),
            ("_ZN4mine5scaleIfEEvPT_", "scale"),
            ("_ZN6cudapy8__main__5scaleB2v1B38c8tJTIeFIjxB2IKgI2", "scale"),
            ("_ZL8softener", "softener"),
            ("_ZZ8row_sumsE4tile", "tile"),
            ("_ZZN4mine3sumIfEEvPT_E5Edges_0", "Edges"),
            ("_Z99x", "_Z99x"),
        ] {
            assert_eq!(plain(mangled), name);
        }
    }
}
