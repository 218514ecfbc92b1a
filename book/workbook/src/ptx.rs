//! `cargo workbook ptx`: makes the committed PTX of every kernel, or checks it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lab::compiler::{self, Choice, Compiler, Unit};
use lab::kernel::{self, COMMITTED_NVRTC, Stamp};
use lab::libraries::NVRTC;
use lab::ptx::essence;
use walkdir::WalkDir;

use crate::terminal::say;

/// Options of `cargo workbook ptx`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Change nothing; fail if a committed PTX is not what its source compiles to
    #[arg(long)]
    check: bool,
    /// With --check: compile for these compute capabilities too, each kernel for those
    /// that are not older than its own
    #[arg(long, value_name = "CC", value_delimiter = ',', requires = "check")]
    compute: Vec<String>,
    /// nvrtc or clang; clang tries the kernels that were edited, and writes nothing: NVRTC makes what
    /// is committed
    #[arg(long, value_name = "NAME", hide_possible_values = true, conflicts_with = "check")]
    compiler: Option<Choice>,
}

/// Compiles every `kernels/*.cu` and writes or compares `kernels/ptx/*.ptx`.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    if !arguments.check && (arguments.compiler == Some(Choice::Clang) || !NVRTC.load()) {
        compiler::choose(arguments.compiler);
        return try_edited(root);
    }
    let version = kernel::nvrtc_version()?;
    if version != COMMITTED_NVRTC {
        bail!(
            "committed PTX is made by NVRTC {}.{}, so that it loads on older drivers; the \
             one found here is {}.{}. Get the right one:\n  {}\n  source .venv/bin/activate",
            COMMITTED_NVRTC.0,
            COMMITTED_NVRTC.1,
            version.0,
            version.1,
            NVRTC.install
        );
    }
    let mut stale = vec![];
    for source_path in sources(root)? {
        let name = stem(&source_path);
        let source = read(&source_path)?;
        let own = kernel::compute(&source);
        // What only one generation has is compiled for that one, below.
        let wanted = |c: &&String| !own.ends_with('a') && kernel::runs_on(own, c);
        for compute in arguments.compute.iter().filter(wanted) {
            kernel::compile(&name, &source, compute)
                .with_context(|| format!("for compute capability {compute}"))?;
        }
        let ptx = kernel::compile(&name, &source, own)?;
        let fresh = Stamp::on(&name, &source, version, &ptx);
        let path = root.join("kernels/ptx").join(format!("{name}.ptx"));
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        // Another comment in the source is no other PTX.
        let same = Stamp::parse(&committed) == Stamp::parse(&fresh)
            && essence(&committed) == essence(&fresh);
        if same {
            say!("kernels/ptx/{name}.ptx is fresh");
        } else if arguments.check {
            stale.push(format!("kernels/ptx/{name}.ptx"));
        } else {
            std::fs::write(&path, fresh).with_context(|| path.display().to_string())?;
            say!("kernels/ptx/{name}.ptx written");
        }
    }
    if !stale.is_empty() {
        bail!("not what the source compiles to: {}. Run `cargo workbook ptx`", stale.join(", "));
    }
    Ok(())
}

/// Compiles the kernels that were edited with clang, and writes nothing.
fn try_edited(root: &Path) -> Result<()> {
    let compiler = Compiler::find()?;
    for path in sources(root)? {
        let (name, source) = (stem(&path), read(&path)?);
        let committed = root.join("kernels/ptx").join(format!("{name}.ptx"));
        let committed = std::fs::read_to_string(committed).unwrap_or_default();
        if Stamp::parse(&committed).is_some_and(|stamp| stamp.is_of_code(&source)) {
            continue;
        }
        compiler.compile(
            &format!("kernels/{name}.cu"),
            &Unit::of(&source),
            kernel::compute(&source),
        )?;
        say!(
            "kernels/{name}.cu was edited: {compiler} compiles it whenever a program starts \
             (kernels/ptx/{name}.ptx stays: NVRTC makes it)"
        );
    }
    Ok(())
}

/// All `kernels/*.cu`, sorted.
pub(crate) fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = WalkDir::new(root.join("kernels")).max_depth(1).sort_by_file_name();
    let paths = entries.into_iter().map(|entry| Ok(entry?.into_path()));
    let mut paths = paths.collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "cu"));
    Ok(paths)
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
