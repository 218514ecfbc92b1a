//! A file with kernels: read, and compiled.

use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use exercise::{compile, lines, source};
use lab::compiler::Compiler;
use lab::libraries;
use referee::check::Element;
use referee::compiler::is_unclosed;
use referee::plan::Plan;
use referee::subject::{Made, Subject, plain};

use super::headers::Gathered;
use super::{instance, npy};
use crate::terminal::misused;

/// What an error may come from that code of the host is not to be seen.
const LEFT_OUT: &str = "Code of the host was left out; a function that kernels call needs \
                        `__device__`.";
/// What compilers say of a compute capability that they do not know.
const UNKNOWN_COMPUTE: [&str; 2] =
    ["invalid value for --gpu-architecture", "unsupported CUDA gpu architecture"];
/// What clang cannot do.
const NVRTCS: &str = "CUDA's header files are for NVIDIA's compiler, NVRTC.";

/// Reads a file; it is PTX if it is called so, too.
pub(super) fn read(path: &Path, is_ptx: bool) -> Result<Subject> {
    let name = path.display().to_string().replace('\\', "/");
    let source = match source::read(path) {
        Ok(Ok(source)) => source,
        Ok(Err(why)) => misused!("{name}: {why}"),
        Err(e) => misused!("{e:#}"),
    };
    let is_ptx = is_ptx || path.extension().is_some_and(|e| e == "ptx");
    if !is_ptx && !source.contains("__global__") && !source.contains("#include") {
        let looks = source.contains(".entry") && source.contains(".target");
        let end = if looks { "; it looks like PTX: add --ptx" } else { "" };
        misused!("{name} is no CUDA C: there is no `__global__` in it{end}");
    }
    Ok(Subject { name, source, is_ptx })
}

/// PTX and who made it, or what the compiler says. A kernel that is a template with arguments is
/// made one; `plan` then has the name that it got. One that is in a header file makes that file the
/// subject.
pub(super) fn compile(subject: &mut Subject, plan: &mut Plan, include: &[PathBuf]) -> Result<Made> {
    let compute = &plan.compute_of(&subject.source)?;
    if subject.is_ptx {
        return Ok(Ok((subject.source.clone(), "PTX".to_owned())));
    }
    let compiler = format!("{} for compute capability {compute}", Compiler::find()?);
    let wanted = plan.kernel.as_deref().filter(|kernel| instance::is_one(kernel));
    let source = subject.source.clone() + &wanted.map(instance::line).unwrap_or_default();
    let mut gathered = Gathered::of(&subject.name, &source, include)?;
    let ptx = loop {
        let said = match attempts(subject, &gathered, compute)? {
            Ok(ptx) => break ptx,
            Err(said) => said,
        };
        if UNKNOWN_COMPUTE.iter().any(|words| said.contains(words)) {
            let known = match Compiler::find()? {
                Compiler::Nvrtc(_) => lab::kernel::nvrtc_computes()?.join(", "),
                Compiler::Clang(_) => "7.5, 8.0, 9.0 and others".to_owned(),
            };
            misused!("--compute {compute}: {} knows {known}", Compiler::find()?);
        }
        let refused = wanted.and_then(|kernel| instance::refused(subject, kernel, &said));
        if let Some(why) = refused {
            misused!("{why}");
        }
        if !gathered.leave_out(&said) {
            let mut said = [gathered.missing(), vec![said]].concat();
            if gathered.has_cudas() && matches!(Compiler::find()?, Compiler::Clang(_)) {
                said.push(format!("{NVRTCS} Get it with: {}", libraries::NVRTC.install));
            }
            return Ok(Err(said.join("\n")));
        }
    };
    let templates = instance::templates(&subject.source);
    match wanted {
        Some(_) => plan.kernel = instance::name(&ptx).or(plan.kernel.take()),
        None if !ptx.contains(".entry") && !templates.is_empty() => {
            let named = templates.iter().find(|known| plan.kernel.as_deref() == Some(known.name));
            misused!(
                "{} has templates of kernels only: say of what, such as --kernel '{}' (it has {})",
                subject.name,
                named.unwrap_or(&templates[0]).example(),
                templates.iter().map(|known| known.name).collect::<Vec<_>>().join(", ")
            )
        }
        None => {}
    }
    let is_it = |name: &str| {
        plan.kernel.as_deref().is_none_or(|kernel| name == kernel || plain(name) == kernel)
    };
    let named = templates.iter().find(|known| plan.kernel.as_deref() == Some(known.name));
    if let Some(named) = named.filter(|_| !entries(&ptx).any(is_it)) {
        misused!(
            "{} has `{}` as a template: say of what, such as --kernel '{}'",
            subject.name,
            named.name,
            named.example()
        );
    }
    let mut file = subject.name.clone();
    if let Some(path) = lines::file_of(&ptx, is_it)
        && let Some((real, text)) = gathered.file(&path)
    {
        let name = beside(&subject.name, real);
        *subject = Subject { name, source: text.clone(), is_ptx: false };
        file = path;
    }
    Ok(Ok((lines::of_file(&file, &ptx), compiler)))
}

fn entries(ptx: &str) -> impl Iterator<Item = &str> {
    let after = ptx.split(".entry ").skip(1);
    after.map(|rest| rest.split(['(', '\n', ' ']).next().unwrap_or_default())
}

/// A path as messages have it: after the folder of `file`, if it lies there.
fn beside(file: &str, path: &Path) -> String {
    let file = Path::new(file);
    let path = match path.strip_prefix(folder(file)) {
        Ok(rest) => file.with_file_name("").join(rest),
        Err(_) => path.to_owned(),
    };
    path.display().to_string().replace('\\', "/")
}

/// PTX, or what the compiler says. Where it does not like what is for the host, it is given the
/// rest, and at last as what may be for both.
fn attempts(
    subject: &Subject,
    gathered: &Gathered,
    compute: &str,
) -> Result<Result<String, String>> {
    let compile = |unit| compile::compile(&subject.name, &unit, compute);
    let mut made = compile(gathered.whole())?;
    for is_for_both in [false, true] {
        if made.is_err()
            && let Some(unit) = gathered.without_host(is_for_both)
        {
            made = compile(unit)?.map_err(|said| match is_unclosed(&said) {
                true => said,
                false => format!("{said}\n{LEFT_OUT}"),
            });
        }
    }
    Ok(made)
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
