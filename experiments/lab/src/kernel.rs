//! A kernel: its CUDA C source and the PTX committed beside it, both embedded in the
//! program. The PTX is loaded while the source is unchanged, so a reader needs only a
//! driver; an edited source is compiled by NVRTC when the program runs.

use anyhow::{Context, Result, anyhow, bail};
use cudarc::nvrtc::{self, CompileError, CompileOptions, Ptx};
use record::KernelOrigin;
use sha2::{Digest, Sha256};

use crate::libraries::NVRTC;

/// Compute capability that the committed PTX is made for, if the source does not ask for
/// a newer one ([`compute`]). The driver translates it for the GPU at hand, and every GPU
/// since 2018 has at least this one.
pub const COMMITTED_COMPUTE: &str = "7.5";

/// NVRTC release that makes the committed PTX. Newer ones write a newer PTX version,
/// which older drivers refuse; this one's loads on drivers from CUDA 12.4 on.
pub const COMMITTED_NVRTC: (u32, u32) = (12, 4);

/// Sources of one `kernels/<name>.cu`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// File stem in `kernels/`.
    pub name: &'static str,
    /// CUDA C.
    pub source: &'static str,
    /// The committed, stamped PTX.
    pub ptx: &'static str,
}

/// The first lines of a committed PTX file: what it was made from, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// SHA-256 of the source, in hexadecimal.
    pub source_sha256: String,
    /// NVRTC release, such as `NVRTC 12.4`.
    pub compiler: String,
    /// Compute capability, such as `7.5`.
    pub compute: String,
}

impl Kernel {
    /// PTX to load, and where it came from. Compiles with NVRTC only if the source was
    /// edited since the committed PTX was made.
    pub fn ptx(&self) -> Result<(Ptx, record::Kernel)> {
        let source_sha256 = sha256(self.source);
        let stamp = Stamp::parse(self.ptx);
        if let Some(stamp) = stamp.filter(|s| s.source_sha256 == source_sha256) {
            let kernel = record::Kernel {
                name: self.name.to_owned(),
                source_sha256,
                origin: KernelOrigin::CommittedPtx,
                compiler: stamp.compiler,
                compute: stamp.compute,
            };
            return Ok((Ptx::from_src(self.ptx), kernel));
        }
        let version = nvrtc_version().with_context(|| {
            format!("kernels/{}.cu was edited, so it has to be compiled", self.name)
        })?;
        if let Some(driver) =
            crate::gpu::cuda_version().filter(|driver| *driver < version)
        {
            bail!(
                "kernels/{}.cu was edited, and the NVRTC found here ({}.{}) is newer than \
                 the driver ({}.{}), which would refuse its PTX. Put an older one first:\n  \
                 {}\n  source .venv/bin/activate",
                self.name,
                version.0,
                version.1,
                driver.0,
                driver.1,
                NVRTC.install,
            );
        }
        let compute = compute(self.source);
        let ptx = compile(self.name, self.source, compute)?;
        let kernel = record::Kernel {
            name: self.name.to_owned(),
            source_sha256,
            origin: KernelOrigin::CompiledAtRunTime,
            compiler: format!("NVRTC {}.{}", version.0, version.1),
            compute: compute.to_owned(),
        };
        Ok((Ptx::from_src(ptx), kernel))
    }
}

impl Kernel {
    /// PTX that names the line of the source that each instruction comes from. Needs NVRTC.
    pub fn ptx_with_lines(&self) -> Result<(Ptx, record::Kernel)> {
        let (major, minor) = nvrtc_version()
            .context("to count line by line, the kernel has to be compiled")?;
        let compute = compute(self.source);
        let ptx = compile_with(
            self.name,
            self.source,
            compute,
            Some("--generate-line-info"),
        )?;
        let kernel = record::Kernel {
            name: self.name.to_owned(),
            source_sha256: sha256(self.source),
            origin: KernelOrigin::CompiledAtRunTime,
            compiler: format!("NVRTC {major}.{minor}"),
            compute: compute.to_owned(),
        };
        Ok((Ptx::from_src(ptx), kernel))
    }

    /// A line of its source by its number, if `of` is the source's file (without a folder).
    pub(crate) fn line(&self, of: &str, number: usize) -> Option<&'static str> {
        let here = of.strip_suffix(".cu") == Some(self.name);
        here.then(|| self.source.lines().nth(number.checked_sub(1)?)).flatten()
    }
}

impl Stamp {
    /// The stamp at the head of `ptx`; `None` if there is none.
    pub fn parse(ptx: &str) -> Option<Stamp> {
        let field = |name: &str| {
            let line = ptx.lines().take(5).find_map(|l| l.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        Some(Stamp {
            source_sha256: field("// source-sha256:")?,
            compiler: field("// compiler:")?,
            compute: field("// compute:")?,
        })
    }

    /// The text of a committed PTX file.
    pub fn on(name: &str, source: &str, version: (u32, u32), ptx: &str) -> String {
        format!(
            "// Generated by `cargo workbook ptx` from kernels/{name}.cu. Do not edit.\n\
             // source-sha256: {}\n// compiler: NVRTC {}.{}\n// compute: {}\n{}",
            sha256(source),
            version.0,
            version.1,
            compute(source),
            // NVRTC ends its output with a NUL and blank lines.
            ptx.trim_matches(['\0', '\n']).to_owned() + "\n",
        )
    }
}

/// The compute capability that `source` is compiled for: what its first line says, such
/// as `// compute: 9.0`, because it uses what older GPUs do not have; or else
/// [`COMMITTED_COMPUTE`].
pub fn compute(source: &str) -> &str {
    let first = source.lines().next().unwrap_or_default();
    first.strip_prefix("// compute:").map_or(COMMITTED_COMPUTE, str::trim)
}

/// Whether code for compute capability `code` runs on a GPU that has `gpu`, both such as
/// `9.0`: newer GPUs run what older ones do.
pub fn runs_on(code: &str, gpu: &str) -> bool {
    let version = |text: &str| -> Option<(u32, u32)> {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    version(code) <= version(gpu)
}

/// SHA-256 of `text` in hexadecimal.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The release of the NVRTC that cudarc loads. The error says how to get one.
pub fn nvrtc_version() -> Result<(u32, u32)> {
    // SAFETY: opens the library if there is one; it has no other effect.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        bail!(
            "the CUDA runtime compiler (NVRTC) was not found. Undo the edit, or install \
             NVRTC with\n  {}\n(no GPU, toolkit or root needed), or name its folder in \
             WORKBOOK_CUDA_LIBS",
            NVRTC.install
        );
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers.
    let status = unsafe { nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    if status != nvrtc::sys::nvrtcResult::NVRTC_SUCCESS {
        bail!("NVRTC does not tell its version: {status:?}");
    }
    Ok((major as u32, minor as u32))
}

/// Compiles `source` for a compute capability such as `7.5`. A compile error is shown
/// as the compiler words it, with file and line.
pub fn compile(name: &str, source: &str, compute: &str) -> Result<String> {
    compile_with(name, source, compute, None)
}

fn compile_with(
    name: &str,
    source: &str,
    compute: &str,
    option: Option<&str>,
) -> Result<String> {
    let architecture =
        format!("--gpu-architecture=compute_{}", compute.replace('.', ""));
    let options = CompileOptions {
        name: Some(format!("kernels/{name}.cu")),
        options: [architecture]
            .into_iter()
            .chain(option.map(str::to_owned))
            .collect(),
        ..CompileOptions::default()
    };
    match nvrtc::compile_ptx_with_opts(source, options) {
        Ok(ptx) => Ok(ptx.to_src()),
        Err(CompileError::CompileError { log, .. }) => Err(anyhow!(
            "kernels/{name}.cu does not compile:\n{}",
            log.to_string_lossy().trim()
        )),
        Err(e) => Err(anyhow!("NVRTC failed on kernels/{name}.cu: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_survives_the_round_trip() {
        let text = Stamp::on("k", "source", (12, 4), ".version 8.4\n\0");
        let stamp = Stamp::parse(&text).unwrap();
        assert_eq!(stamp.source_sha256, sha256("source"));
        assert_eq!(
            (stamp.compiler.as_str(), stamp.compute.as_str()),
            ("NVRTC 12.4", "7.5")
        );
        assert!(text.ends_with(".version 8.4\n"));
        assert_eq!(Stamp::parse(".version 8.4\n"), None);
    }

    #[test]
    fn a_source_says_in_its_first_line_that_it_is_for_newer_gpus() {
        let newer = "// compute: 9.0\nsource";
        let stamp =
            |source| Stamp::parse(&Stamp::on("k", source, (12, 4), "")).unwrap();
        assert_eq!(stamp(newer).compute, "9.0");
        assert_eq!(stamp("// source\n// compute: 9.0").compute, COMMITTED_COMPUTE);
        assert!(runs_on("9.0", "9.0") && runs_on("9.0", "10.0"));
        assert!(!runs_on("9.0", "8.9"));
    }

    #[test]
    fn lines_are_those_of_the_right_file() {
        let kernel = Kernel { name: "k", source: "first\nsecond", ptx: "" };
        assert_eq!(kernel.line("k.cu", 2), Some("second"));
        for (file, line) in [("k.cu", 0), ("k.cu", 3), ("kk.cu", 1)] {
            assert_eq!(kernel.line(file, line), None);
        }
    }

    #[test]
    fn an_unchanged_source_needs_no_compiler() {
        let ptx: &'static str =
            Stamp::on("k", "source", (12, 4), ".version 8.4").leak();
        let (_, kernel) = Kernel { name: "k", source: "source", ptx }.ptx().unwrap();
        assert_eq!(kernel.origin, KernelOrigin::CommittedPtx);
    }
}
