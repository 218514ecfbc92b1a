//! Header files. No compiler opens any: those that lie beside the file or in a folder of
//! `--include`, and CUDA's, are read beforehand. In the place of every other one is
//! `left-out.h`, with what most kernels need of the C library's; each source begins with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use exercise::source;
use lab::compiler::Unit;
use lab::libraries;

use super::host;
use crate::terminal::misused;

/// What takes the place of a header file that is left out, and its name.
const LEFT_OUT: (&str, &str) = ("workbook-left-out.h", include_str!("left-out.h"));

/// Of CUDA's, those that are for the host: a compiler of kernels has what is for the GPU.
const OF_HOST: [&str; 5] = [
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "driver_types.h",
];
/// What the names of those begin with that are for the GPU, and the wheel that has them.
const OF_CUDA: [(&str, &str); 12] = [
    ("cooperative_groups", libraries::HEADERS),
    ("cuda_fp", libraries::HEADERS),
    ("cuda_bf16", libraries::HEADERS),
    ("cuda_pipeline", libraries::HEADERS),
    ("cuda_awbarrier", libraries::HEADERS),
    ("cuComplex", libraries::HEADERS),
    ("math_constants", libraries::HEADERS),
    (OF_MMA, libraries::CRT),
    ("cuda/", libraries::CCCL),
    ("cub/", libraries::CCCL),
    (OF_CURAND, libraries::CCCL),
    ("curand", libraries::CURAND),
];

/// What CUDA's `mma.h` and its `curand_kernel.h` need, and lies in other wheels.
const OF_MMA: &str = "crt/mma.h";
const OF_CURAND: &str = "nv/target";

/// Bytes of all header files together.
const MOST_BYTES: usize = 16 << 20;

/// A source, and what it includes. Each header file has a name of its own, which is what is
/// included instead.
pub(super) struct Gathered {
    source: String,
    /// Paths and texts of those of the reader, as they lie there.
    read: BTreeMap<String, (PathBuf, String)>,
    /// By names, those of the reader and CUDA's.
    own: BTreeMap<String, String>,
    cudas: BTreeMap<String, String>,
    /// What the reader's files include and is not there.
    missing: BTreeSet<Included>,
    /// Those of the reader that no compiler took.
    left_out: Vec<String>,
}

/// What stands in an `#include`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Included {
    name: String,
    is_quoted: bool,
}

/// Looks for header files.
struct Search {
    /// Where they may lie: folders of the reader, then CUDA's.
    roots: Vec<(PathBuf, Owner)>,
    /// Names of those that were found, by their paths.
    names: BTreeMap<PathBuf, String>,
    /// Those whose text has not been looked at.
    found: Vec<(PathBuf, Owner)>,
    missing: BTreeSet<Included>,
}

#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Reader,
    Cuda,
}

impl Gathered {
    /// Reads what the source of the file `name` includes, from its folder and from those of
    /// `include`.
    pub(super) fn of(name: &str, source: &str, include: &[PathBuf]) -> Result<Gathered> {
        let folder = super::subject::folder(Path::new(name));
        let mut roots = vec![(folder.clone(), Owner::Reader)];
        for path in include {
            match path.canonicalize().ok().filter(|path| path.is_dir()) {
                Some(path) => roots.push((path, Owner::Reader)),
                None => misused!("--include {}: there is no such folder", path.display()),
            }
        }
        let cudas = libraries::headers().into_iter().filter_map(|path| path.canonicalize().ok());
        roots.extend(cudas.map(|path| (path, Owner::Cuda)));
        let mut search =
            Search { roots, names: BTreeMap::new(), found: vec![], missing: BTreeSet::new() };
        let source = search.named(source, &folder, Owner::Reader);
        let (mut read, mut own, mut cudas) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut bytes = 0;
        while let Some((path, owner)) = search.found.pop() {
            let text = match source::read(&path) {
                Ok(Ok(text)) => text,
                Ok(Err(why)) => misused!("{}: {why}", path.display()),
                Err(e) => misused!("{e:#}"),
            };
            bytes += text.len();
            if bytes > MOST_BYTES {
                misused!("{name}: its header files have more than {} MiB", MOST_BYTES >> 20);
            }
            let name = search.names[&path].clone();
            let named = search.named(&text, path.parent().unwrap_or(&folder), owner);
            match owner {
                Owner::Reader => {
                    own.insert(name.clone(), named);
                    read.insert(name, (path, text));
                }
                Owner::Cuda => {
                    cudas.insert(name, named);
                }
            }
        }
        cudas.insert(LEFT_OUT.0.to_owned(), LEFT_OUT.1.to_owned());
        Ok(Gathered { source, read, own, cudas, missing: search.missing, left_out: vec![] })
    }

    /// Path and text of the reader's header file that the PTX calls `path`.
    pub(super) fn file(&self, path: &str) -> Option<&(PathBuf, String)> {
        self.read.get(path.rsplit(['/', '\\']).next()?)
    }

    /// Whether any of CUDA's is among them.
    pub(super) fn has_cudas(&self) -> bool {
        self.cudas.len() > 1
    }

    pub(super) fn whole(&self) -> Unit {
        let headers = self.own.clone().into_iter().chain(self.cudas.clone()).collect();
        let first = Some(LEFT_OUT.0.to_owned());
        Unit { source: self.source.clone(), headers, first, is_program: false }
    }

    /// The same without what is for the host; `None` if nothing of it is. What is left is as it
    /// is, or where it may be for both, for both.
    pub(super) fn without_host(&self, is_for_both: bool) -> Option<Unit> {
        let mut unit = self.whole();
        let mut any = false;
        let own = unit.headers.iter_mut().filter(|(name, _)| self.own.contains_key(*name));
        for text in own.map(|(_, text)| text).chain([&mut unit.source]) {
            if let Some(rest) = host::without(text) {
                *text = rest;
                any = true;
            }
        }
        unit.is_program = is_for_both;
        any.then_some(unit)
    }

    /// Leaves out that file of the reader's in which a compiler finds its first mistake; whether
    /// there is one.
    pub(super) fn leave_out(&mut self, said: &str) -> bool {
        let first = said.lines().find(|line| line.contains("error"));
        let name = first.and_then(|line| line.split(['(', ':']).next()).unwrap_or_default();
        let left_out = self.own.remove(name).is_some();
        if left_out {
            self.cudas.insert(name.to_owned(), LEFT_OUT.1.to_owned());
            self.left_out.push(format!("`{name}`"));
        }
        left_out
    }

    /// What an error may come from: sentences on header files that were not found.
    pub(super) fn missing(&self) -> Vec<String> {
        let missing = || self.missing.iter().filter(|file| !OF_HOST.contains(&&*file.name));
        let of_cuda = |name: &str| OF_CUDA.iter().find(|(start, _)| name.starts_with(start));
        let mut said = vec![];
        for Included { name, .. } in missing() {
            if let Some((_, install)) = of_cuda(name) {
                said.push(format!("`{name}` is CUDA's. Get it with: {install}"));
            }
        }
        let own = missing().filter(|file| file.is_quoted && of_cuda(&file.name).is_none());
        let own = own.map(|file| format!("`{}`", file.name)).collect::<Vec<_>>().join(", ");
        if !own.is_empty() {
            said.push(format!("Not found: {own}. Name their folders with --include."));
        }
        if !self.left_out.is_empty() {
            let files = self.left_out.join(", ");
            said.push(format!("Left out, because no kernel's compiler takes them: {files}."));
        }
        said
    }
}

impl Search {
    /// A text in whose `#include` lines are the names of what was found. It lies in `folder`.
    fn named(&mut self, text: &str, folder: &Path, owner: Owner) -> String {
        let mut named = String::new();
        for line in text.split_inclusive('\n') {
            let Some((before, file, after)) = included(line) else {
                named += line;
                continue;
            };
            let found = self.find(&file.name, folder);
            let of_cudas = [OF_MMA, OF_CURAND].contains(&&*file.name);
            if found.is_none() && (owner == Owner::Reader || of_cudas) {
                self.missing.insert(file);
            }
            let found = found.as_deref().unwrap_or(LEFT_OUT.0);
            named += &format!("{before}\"{found}\"{after}");
        }
        named
    }

    fn find(&mut self, name: &str, folder: &Path) -> Option<String> {
        let folders = std::iter::once(folder).chain(self.roots.iter().map(|(root, _)| &**root));
        let mut paths = folders.filter_map(|folder| folder.join(name).canonicalize().ok());
        let found = paths.find_map(|path| {
            // CUDA's may lie in a folder of the reader's.
            let roots = self.roots.iter().filter(|(root, _)| path.starts_with(root));
            let (_, owner) = roots.max_by_key(|(root, _)| root.as_os_str().len())?;
            let is_wanted = *owner == Owner::Reader || !OF_HOST.contains(&name);
            (is_wanted && path.is_file()).then_some((path, *owner))
        });
        let (path, owner) = found?;
        if let Some(known) = self.names.get(&path) {
            return Some(known.clone());
        }
        let plain = path.file_name()?.to_string_lossy().into_owned();
        let taken = |name: &String| self.names.values().any(|other| other == name);
        let names = (2..).map(|number| format!("{number}-{plain}"));
        let name = std::iter::once(plain.clone()).chain(names).find(|name| !taken(name))?;
        self.names.insert(path.clone(), name.clone());
        self.found.push((path, owner));
        Some(name)
    }
}

/// What stands before the name in a line that includes a file, the file, and what stands after it.
fn included(line: &str) -> Option<(&str, Included, &str)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("include")?.trim_start();
    let end = match rest.chars().next()? {
        '<' => '>',
        '"' => '"',
        _ => return None,
    };
    let (name, after) = rest[1..].split_once(end)?;
    let file = Included { name: name.to_owned(), is_quoted: end == '"' };
    Some((&line[..line.len() - rest.len()], file, after))
}
