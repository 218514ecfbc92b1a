//! A kernel: its CUDA C source and the PTX committed beside it, both embedded in the
//! program. The PTX is loaded while the source has the same code, whatever its comments
//! say, so a reader needs only a driver; edited code is compiled when the program runs, by
//! NVRTC or clang.

use std::ffi::{CString, c_char};
use std::ptr;

use anyhow::{Context, Result, bail};
use cudarc::nvrtc::{Ptx, result, sys};
use record::KernelOrigin;

use crate::compiler::{Compiler, Unit};
use crate::libraries::NVRTC;
use crate::ptx;
use record::hash::sha256;

pub use record::{COMMITTED_COMPUTE, compute};

/// NVRTC release that makes the committed PTX. Newer ones write a newer PTX version,
/// which older drivers refuse; this one's loads on drivers from CUDA 12.4 on.
pub const COMMITTED_NVRTC: (u32, u32) = (12, 4);

/// Sources of one `kernels/<name>.cu`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// File stem in `kernels/`.
    pub name: &'static str,
    pub source: &'static str,
    /// The committed, stamped PTX.
    pub ptx: &'static str,
}

/// The first lines of a committed PTX file: what it was made from, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// SHA-256 of the source's code, without comments and empty lines, in hexadecimal.
    pub code_sha256: String,
    /// The hash of the code with every line where it is.
    pub lines_sha256: String,
    /// NVRTC release, such as `NVRTC 12.4`.
    pub compiler: String,
    /// Compute capability, such as `7.5`.
    pub compute: String,
}

impl Kernel {
    /// PTX to load, and what the record says of it. Compiles only if the code
    /// was edited since the committed PTX was made. Where only its lines have moved, the
    /// PTX names none.
    pub fn ptx(&self) -> Result<(Ptx, record::Kernel)> {
        let (ptx, origin, compiler) = match self.stamp_of_today() {
            Some(stamp) => {
                let ptx = match self.has_lines_as_committed() {
                    true => self.ptx.to_owned(),
                    false => ptx::without_lines(self.ptx),
                };
                (ptx, KernelOrigin::CommittedPtx, stamp.compiler)
            }
            None => {
                let (ptx, compiler) = self.compile()?;
                (ptx, KernelOrigin::CompiledAtRunTime, compiler)
            }
        };
        let kernel = record::Kernel {
            name: self.name.to_owned(),
            functions: ptx::functions(&ptx),
            origin,
            compiler,
            compute: compute(self.source).to_owned(),
        };
        Ok((Ptx::from_src(ptx), kernel))
    }

    /// Whether the source in this checkout is another than the one in the program, which is
    /// then older than the last edit, or was compiled elsewhere.
    pub(crate) fn is_outdated(&self) -> bool {
        let source =
            crate::workspace::root().map(|root| root.join(format!("kernels/{}.cu", self.name)));
        let source = source.and_then(|path| std::fs::read_to_string(path).ok());
        source.is_some_and(|source| source != self.source)
    }

    /// PTX of the edited source, and the compiler that made it.
    fn compile(&self) -> Result<(String, String)> {
        let name = self.name;
        let compiler = Compiler::find().with_context(|| format!("kernels/{name}.cu was edited"))?;
        if let Compiler::Nvrtc(version) = compiler
            && let Some(driver) = crate::gpu::cuda_version().filter(|driver| *driver < version)
        {
            bail!(
                "kernels/{name}.cu was edited, and the NVRTC found here ({}.{}) is newer \
                 than the driver ({}.{}), which would refuse its PTX. Put an older one \
                 first:\n  {}\n  source .venv/bin/activate",
                version.0,
                version.1,
                driver.0,
                driver.1,
                NVRTC.install,
            );
        }
        let file = format!("kernels/{name}.cu");
        let unit = Unit::of(self.source);
        let ptx = compiler.compile(&file, &unit, compute(self.source))?;
        Ok((ptx, compiler.to_string()))
    }

    /// Whether the lines that the committed PTX names are those of this source.
    pub(crate) fn has_lines_as_committed(&self) -> bool {
        let stamp = self.stamp_of_today();
        stamp.is_some_and(|stamp| stamp.lines_sha256 == sha256(code(self.source)))
    }

    /// The stamp of the committed PTX, if the code has not been edited since.
    fn stamp_of_today(&self) -> Option<Stamp> {
        Stamp::parse(self.ptx).filter(|stamp| stamp.is_of_code(self.source))
    }

    /// A line of its source by its number, if `of` is the source's file (without a folder).
    pub(crate) fn line(&self, of: &str, number: usize) -> Option<&'static str> {
        let here = of.strip_suffix(".cu") == Some(self.name);
        here.then(|| self.source.lines().nth(number.checked_sub(1)?)).flatten()
    }
}

impl Stamp {
    /// The stamp of PTX that NVRTC `version` makes of `source`.
    pub fn of(source: &str, version: (u32, u32)) -> Stamp {
        let code = code(source);
        Stamp {
            code_sha256: sha256(without_empty_lines(&code)),
            lines_sha256: sha256(&code),
            compiler: format!("NVRTC {}.{}", version.0, version.1),
            compute: compute(source).to_owned(),
        }
    }

    /// The stamp at the head of `ptx`; `None` if there is none.
    pub fn parse(ptx: &str) -> Option<Stamp> {
        let field = |name: &str| {
            let line = ptx.lines().take(5).find_map(|l| l.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        Some(Stamp {
            code_sha256: field("// code-sha256:")?,
            lines_sha256: field("// lines-sha256:")?,
            compiler: field("// compiler:")?,
            compute: field("// compute:")?,
        })
    }

    /// Whether it is of the code of `source`.
    pub fn is_of_code(&self, source: &str) -> bool {
        self.code_sha256 == sha256(without_empty_lines(&code(source)))
            && self.compute == compute(source)
    }

    /// The text of a committed PTX file.
    pub fn on(name: &str, source: &str, version: (u32, u32), ptx: &str) -> String {
        let Stamp { code_sha256, lines_sha256, compiler, compute } = Stamp::of(source, version);
        format!(
            "// Generated by `cargo workbook ptx` from kernels/{name}.cu. Do not edit.\n\
             // code-sha256: {code_sha256}\n// lines-sha256: {lines_sha256}\n\
             // compiler: {compiler}\n// compute: {compute}\n{}",
            // NVRTC ends its output with a NUL and blank lines.
            ptx.trim_matches(['\0', '\n']).to_owned() + "\n",
        )
    }
}

/// CUDA C without comments, every line where it was and one space where there are several.
fn code(source: &str) -> String {
    let (mut code, mut rest) = (String::new(), source);
    while let Some(c) = rest.chars().next() {
        let (length, is_space) = match c {
            '/' if rest.starts_with("//") => (logical_line(rest), true),
            '/' if rest.starts_with("/*") => {
                (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), true)
            }
            '"' | '\'' => (literal(rest, c), false),
            _ => (c.len_utf8(), c.is_whitespace()),
        };
        let (text, after) = rest.split_at(length);
        rest = after;
        if !is_space {
            code += text;
            continue;
        }
        for _ in text.matches('\n') {
            code.truncate(code.trim_end_matches(' ').len());
            // A comment ends no line for the preprocessor.
            if text.starts_with("/*") && in_directive(&code) {
                code.push('\\');
            }
            code.push('\n');
        }
        if !(code.is_empty() || code.ends_with([' ', '\n'])) {
            code.push(' ');
        }
    }
    code.truncate(code.trim_end().len());
    code
}

/// Whether `code` ends within a line for the preprocessor, which may be several lines, each
/// with a backslash at its end.
fn in_directive(code: &str) -> bool {
    let mut lines = code.rsplit('\n');
    let mut first = lines.next().unwrap_or_default();
    while let Some(before) = lines.next().filter(|line| line.ends_with('\\')) {
        first = before;
    }
    first.starts_with('#')
}

/// Length of the comment `//`, or of the directive, at the start of `text`, up to the line's end.
/// After a backslash it goes on in the next line.
pub fn logical_line(text: &str) -> usize {
    let mut ends = text.match_indices('\n').map(|(end, _)| end);
    ends.find(|end| !text[..*end].ends_with('\\')).unwrap_or(text.len())
}

/// Length of the string or character at the start of `text`; it ends with the line at last.
pub fn literal(text: &str, quote: char) -> usize {
    let mut escaped = true; // the opening quote ends nothing
    for (place, c) in text.char_indices() {
        match c {
            '\n' => return place,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return place + 1,
            _ => {}
        }
    }
    text.len()
}

/// `code` without empty lines, but for those that end a macro of several lines.
fn without_empty_lines(code: &str) -> String {
    let mut kept: Vec<&str> = vec![];
    for line in code.lines() {
        if !line.is_empty() || kept.last().is_some_and(|last| last.ends_with('\\')) {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Whether code for compute capability `code` runs on a GPU that has `gpu`, both such as
/// `9.0`: newer GPUs run what older ones do. Code for `9.0a` uses what only the GPUs of 9.0
/// have.
pub fn runs_on(code: &str, gpu: &str) -> bool {
    if let Some(only) = code.strip_suffix('a') {
        return only == gpu;
    }
    let version = |text: &str| -> Option<(u32, u32)> {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    version(code) <= version(gpu)
}

/// The release of the NVRTC that cudarc compiles with, which this loads. The error says how to get one.
pub fn nvrtc_version() -> Result<(u32, u32)> {
    if !NVRTC.load() {
        bail!(
            "NVRTC, the compiler of kernels, is missing; get it (no GPU, toolkit or root \
             needed): {}",
            NVRTC.install
        );
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers.
    let status = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    if status != sys::nvrtcResult::NVRTC_SUCCESS {
        bail!("NVRTC does not tell its version: {status:?}");
    }
    Ok((major as u32, minor as u32))
}

/// The compute capabilities that the NVRTC here compiles for. Ask for [`nvrtc_version`] first.
pub fn nvrtc_computes() -> Result<Vec<String>> {
    let mut count = 0;
    // SAFETY: writes one integer.
    let status = unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut count) };
    let mut all = vec![0; usize::try_from(count)?];
    if status == sys::nvrtcResult::NVRTC_SUCCESS {
        // SAFETY: writes as many integers as it has said.
        unsafe { sys::nvrtcGetSupportedArchs(all.as_mut_ptr()) };
    }
    Ok(all.iter().map(|number| format!("{}.{}", number / 10, number % 10)).collect())
}

/// Compiles `kernels/<name>.cu`, as [`compile_file`].
pub fn compile(name: &str, source: &str, compute: &str) -> Result<String> {
    compile_file(&format!("kernels/{name}.cu"), &Unit::of(source), compute)
}

/// Compiles `unit` for a compute capability such as `7.5`. The PTX names the line of the
/// source that each instruction comes from. A compile error is shown as the compiler words
/// it, with `file` and line. Ask for [`nvrtc_version`] first.
pub fn compile_file(file: &str, unit: &Unit, compute: &str) -> Result<String> {
    let mut options = vec![
        format!("--gpu-architecture=compute_{}", compute.replace('.', "")),
        "--generate-line-info".to_owned(),
    ];
    if unit.is_program {
        options.push("--device-as-default-execution-space".to_owned());
    }
    options.extend(unit.first.iter().map(|name| format!("--pre-include={name}")));
    let program = Program::new(file, unit)?;
    // SAFETY: the program lives.
    let compiled = unsafe { result::compile_program(program.0, &options) };
    if compiled.is_err() {
        // SAFETY: the program lives.
        let log = unsafe { result::get_program_log(program.0) };
        let log = log.with_context(|| format!("NVRTC failed on {file}"))?;
        bail!("{file} does not compile:\n{}", text(&log).trim());
    }
    // SAFETY: the program lives.
    let ptx = unsafe { result::get_ptx(program.0) }.with_context(|| format!("NVRTC: {file}"))?;
    Ok(without_folder(file, &text(&ptx)))
}

/// A program of NVRTC's, with texts for the header files that it names.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(file: &str, unit: &Unit) -> Result<Program> {
        let [name, source] = [CString::new(file)?, CString::new(unit.source.as_str())?];
        let text = |text: &String| CString::new(text.as_str());
        let names = unit.headers.keys().map(text).collect::<Result<Vec<_>, _>>()?;
        let texts = unit.headers.values().map(text).collect::<Result<Vec<_>, _>>()?;
        let pointers = |of: &[CString]| of.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let mut program = ptr::null_mut();
        // SAFETY: all texts end with a NUL, and NVRTC copies them.
        let created = unsafe {
            sys::nvrtcCreateProgram(
                &raw mut program,
                source.as_ptr(),
                name.as_ptr(),
                names.len() as i32,
                pointers(&texts).as_ptr(),
                pointers(&names).as_ptr(),
            )
        };
        created.result().with_context(|| format!("NVRTC failed on {file}"))?;
        Ok(Program(program))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// A text of NVRTC's, up to its NUL.
fn text(bytes: &[c_char]) -> String {
    let bytes = bytes.iter().flat_map(|byte| byte.to_ne_bytes()).take_while(|byte| *byte != 0);
    let bytes: Vec<u8> = bytes.collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// NVRTC puts the folder that it runs in before the source's name: nobody's business.
fn without_folder(name: &str, ptx: &str) -> String {
    let line = |line: &str| match line.strip_prefix("\t.file\t").and_then(|l| l.split_once(' ')) {
        Some((number, path)) if path.trim_end().ends_with(&format!("{name}\"")) => {
            format!("\t.file\t{number} \"{name}\"\n")
        }
        _ => line.to_owned(),
    };
    ptx.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_names_its_source_without_a_folder() {
        let ptx = "\t.loc\t1 2 0\n\t.file\t1 \"/anywhere/kernels/k.cu\"\n\n\0";
        let expected = "\t.loc\t1 2 0\n\t.file\t1 \"kernels/k.cu\"\n\n\0";
        assert_eq!(without_folder("kernels/k.cu", ptx), expected);
    }

    #[test]
    fn a_stamp_survives_the_round_trip() {
        let text = Stamp::on("k", "source", (12, 4), ".version 8.4\n\0");
        let stamp = Stamp::parse(&text).unwrap();
        assert_eq!(stamp, Stamp::of("source", (12, 4)));
        assert_eq!(stamp.compiler, "NVRTC 12.4");
        assert!(text.ends_with(".version 8.4\n"));
        assert_eq!(Stamp::parse(".version 8.4\n"), None);
    }

    #[test]
    fn comments_are_no_code() {
        let source = "#define A 1\nint a = A; // one\nchar *b = \"// b  \";\n";
        let stamp = |source: &str| Stamp::of(source, (12, 4));
        let before = stamp(source);
        for (from, to) in [
            ("// one", "// two"),
            (" // one", ""),
            ("int a", "int  /* of */ a"),
            ("int a", "\t/* an */int a"),
            (";\n", "; // it's\n"),
        ] {
            assert_eq!(stamp(&source.replace(from, to)), before, "{from:?}");
        }
        for (from, to) in [
            ("int a", "\nint a"),
            ("int a", "// a \\\n more\nint a"),
            ("int a", "/* a\n * \" */\nint a"),
        ] {
            let after = stamp(&source.replace(from, to));
            assert_eq!(after.code_sha256, before.code_sha256, "{to:?}");
            assert_ne!(after.lines_sha256, before.lines_sha256, "{to:?}");
        }
        for (from, to) in
            [("// b", "// c"), ("b  ", "b "), ("int a", "inta"), ("1\n", "1 "), ("a =", "a //=")]
        {
            let after = stamp(&source.replacen(from, to, 1));
            assert_ne!(after.code_sha256, before.code_sha256, "{from:?}");
        }
        // Where a macro ends.
        for (one, other) in [
            ("#define A 1 \\\n\nint a;", "#define A 1 \\\nint a;"),
            ("#define A 1 /*\n*/ + 2", "#define A 1\n+ 2"),
            ("#define A \\\n1 /*\n*/ + 2", "#define A \\\n1\n+ 2"),
        ] {
            assert_ne!(stamp(one).code_sha256, stamp(other).code_sha256, "{one}");
        }
    }

    #[test]
    fn a_source_says_in_its_first_line_that_it_is_for_newer_gpus() {
        let newer = "// compute: 9.0\nsource";
        let stamp = |source| Stamp::parse(&Stamp::on("k", source, (12, 4), "")).unwrap();
        assert_eq!(stamp(newer).compute, "9.0");
        assert_eq!(stamp("// source\n// compute: 9.0").compute, COMMITTED_COMPUTE);
        assert!(runs_on("9.0", "9.0") && runs_on("9.0", "10.0"));
        assert!(!runs_on("9.0", "8.9"));
        assert!(runs_on("9.0a", "9.0") && !runs_on("9.0a", "10.0"));
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
    fn a_changed_comment_needs_no_compiler() {
        let ptx: &'static str =
            Stamp::on("k", "int a;", (12, 4), ".version 8.4\n\t.loc\t1 1 0").leak();
        let load = |source| {
            let kernel = Kernel { name: "k", source, ptx };
            (kernel.has_lines_as_committed(), kernel.ptx().unwrap())
        };
        for (source, same_lines) in
            [("int a;", true), ("int a; // b", true), ("// b\nint a;", false)]
        {
            let (has_lines, (loaded, kernel)) = load(source);
            assert_eq!(kernel.origin, KernelOrigin::CommittedPtx, "{source}");
            let names_lines = loaded.to_src().contains(".loc");
            assert_eq!((has_lines, names_lines), (same_lines, same_lines), "{source}");
        }
    }
}
