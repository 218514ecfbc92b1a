//! `cargo workbook sass`: compares the accesses to memory of the committed PTX with those of
//! the machine code that ptxas makes of it, and writes down where they are not the same.
//!
//! The emulated GPU counts what the PTX does. That is what the hardware counts, as long as
//! ptxas leaves the accesses as they are. It also unrolls loops and copies code, so numbers
//! of instructions tell nothing. But its line information tells of each instruction which
//! line of the PTX it comes from. An access of the PTX is *left as it is* if
//!
//! - there are instructions that come from its line,
//! - all of them access the same space with the same width,
//! - some of them stand in as many loops as it does, or there are several (unrolled), and
//! - in shared memory, none has a predicate that the PTX does not have (a profiler counts
//!   requests to shared memory even if the predicate is false for all threads).
//!
//! Only loads and stores are compared that the emulated GPU counts: those of global and
//! shared memory, and generic ones. What is not seen: an access that stays in its loop, but
//! whose threads are others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use lab::kernel;
use lab::libraries;
use lab::machine_code::{self, COMMITTED_PTXAS, Change, Compared, Difference, TARGETS};
use lab::ptx::essence;
use record::hash::sha256;

use crate::terminal::say;
use crate::{ptx, temporary};

/// The command that installs what it needs: 50 MB.
const INSTALL: &str = "python3 -m venv .venv && .venv/bin/pip install --no-deps \
                       nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.2.51";
const LIST: &str = "kernels/ptx/machine-code.txt";

/// Options of `cargo workbook sass`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Change nothing; fail if the committed list is not what the compiler gives
    #[arg(long)]
    check: bool,
}

/// Compares every `kernels/ptx/*.ptx` with its machine code, and writes or checks the list.
/// Without `--check`, PTX that is as it was is not compared again.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let compiler = Compiler::find()?;
    let committed = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
    let known = machine_code::parse(&committed);
    let drafts = lessons::kernels_of_drafts(root)?;
    let mut files = vec![];
    for source in ptx::sources(root)? {
        let name = ptx::stem(&source);
        let listed = known.iter().any(|file| file.name == name);
        if arguments.check && !listed && drafts.contains(&name) {
            continue; // a draft's may be listed later
        }
        let path = root.join("kernels/ptx").join(format!("{name}.ptx"));
        let text = ptx::read(&path)?;
        let ptx_sha256 = sha256(essence(&text));
        let same = |file: &&Compared| (&file.name, &file.ptx_sha256) == (&name, &ptx_sha256);
        if let (false, Some(file)) = (arguments.check, known.iter().find(same)) {
            files.push(file.clone());
            continue;
        }
        let differences = compare(&compiler, &path, &text)?;
        say!("kernels/ptx/{name}.ptx compared");
        files.push(Compared { name, ptx_sha256, differences });
    }
    let fresh = machine_code::write(&files);
    if committed == fresh {
        say!("{LIST} is fresh");
    } else if arguments.check {
        bail!("{LIST} is not what the compiler gives. Run `cargo workbook sass`");
    } else {
        std::fs::write(root.join(LIST), fresh).context(LIST)?;
        say!("{LIST} written");
    }
    Ok(())
}

/// All differences of one PTX file.
fn compare(compiler: &Compiler, path: &Path, text: &str) -> Result<Vec<Difference>> {
    let compute = kernel::Stamp::parse(text).map(|stamp| stamp.compute);
    let targets = TARGETS.iter().copied().filter(|target| {
        let number = target.trim_start_matches("sm_");
        let (major, minor) = number.split_at(number.len() - 1);
        let gpu = format!("{major}.{minor}");
        compute.as_ref().is_none_or(|own| kernel::runs_on(own, &gpu))
    });
    let targets = targets.collect::<Vec<_>>();
    // Code for 9.0a is compiled for sm_90a.
    let only = if compute.as_ref().is_some_and(|own| own.ends_with('a')) { "a" } else { "" };
    // Side by side, because nvdisasm takes a third of a second.
    let codes = std::thread::scope(|scope| {
        let disassemble =
            |target| scope.spawn(move || compiler.disassemble(path, &format!("{target}{only}")));
        let threads = targets.iter().map(|target| disassemble(*target)).collect::<Vec<_>>();
        let codes = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
        codes.collect::<Result<Vec<_>>>()
    })?;
    let ptx = of_ptx(text);
    let mut found = BTreeMap::<_, Vec<String>>::new();
    for (target, code) in targets.into_iter().zip(codes) {
        for difference in differences(&ptx, &of_machine_code(&code)) {
            found.entry(difference).or_default().push(target.to_owned());
        }
    }
    let differences = found.into_iter().map(|((kernel, line, access, change), targets)| {
        Difference { kernel, line, access, change, targets }
    });
    Ok(differences.collect())
}

/// ptxas and nvdisasm.
struct Compiler {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
    folder: tempfile::TempDir,
}

impl Compiler {
    fn find() -> Result<Compiler> {
        let find = |name: &str| {
            libraries::find_program(name)
                .with_context(|| format!("{name} was not found. Get it:\n  {INSTALL}"))
        };
        let (ptxas, nvdisasm) = (find("ptxas")?, find("nvdisasm")?);
        let version = output(Command::new(&ptxas).arg("--version"))?;
        if !version.contains(&format!("V{COMMITTED_PTXAS}\n")) {
            bail!(
                "{} is not ptxas {COMMITTED_PTXAS}, which makes the committed list. Get the \
                 right one:\n  {INSTALL}",
                ptxas.display()
            );
        }
        let folder = temporary::folder()?;
        Ok(Compiler { ptxas, nvdisasm, folder })
    }

    /// Machine code as text, with the lines of the PTX.
    fn disassemble(&self, ptx: &Path, target: &str) -> Result<String> {
        let code = self.folder.path().join(target);
        let mut compile = Command::new(&self.ptxas);
        compile.args(["--generate-line-info", "--gpu-name", target]);
        output(compile.arg(ptx).arg("--output-file").arg(&code))?;
        output(Command::new(&self.nvdisasm).args(["-c", "--print-line-info-ptx"]).arg(&code))
    }
}

/// What a program prints.
fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} does not start"))?;
    if !output.status.success() {
        bail!("{name} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// An access to memory, in PTX or in machine code.
#[derive(Clone, Debug, PartialEq)]
struct Access {
    /// Such as `shared_load`.
    kind: String,
    bytes: u32,
    loops: usize,
    predicated: bool,
}

/// The accesses of a line of PTX.
struct Line {
    kernel: String,
    /// In CUDA C.
    source: usize,
    accesses: Vec<Access>,
}

/// What is different: kernel, line of CUDA C, kind of access, change.
type Found = (String, usize, String, Change);

/// Compares the lines of a PTX file with the machine code that comes from them.
fn differences(
    ptx: &BTreeMap<usize, Line>,
    code: &BTreeMap<usize, Vec<Access>>,
) -> BTreeSet<Found> {
    let mut found = BTreeSet::new();
    for (number, line) in ptx {
        let made = code.get(number).map_or(&[][..], Vec::as_slice);
        let mut add = |kind: &str, change| {
            found.insert((line.kernel.clone(), line.source, kind.to_owned(), change));
        };
        for access in &line.accesses {
            let same = |a: &&Access| (&a.kind, a.bytes) == (&access.kind, access.bytes);
            let own = made.iter().filter(same).collect::<Vec<_>>();
            let other = made.iter().any(|a| a.kind == access.kind && !same(&a));
            let moved = own.len() == 1 && own[0].loops < access.loops;
            let predicated = access.kind.starts_with("shared")
                && !access.predicated
                && own.iter().any(|a| a.predicated);
            for (is, change) in [
                (own.is_empty() && !other, Change::Removed),
                (other, Change::Merged),
                (moved, Change::Moved),
                (predicated, Change::Predicated),
            ] {
                if is {
                    add(&access.kind, change);
                }
            }
        }
        let strange = |a: &&Access| line.accesses.iter().all(|access| access.kind != a.kind);
        for access in made.iter().filter(strange) {
            add(&access.kind, Change::Added);
        }
    }
    found
}

/// Every line of a PTX file that has instructions.
fn of_ptx(text: &str) -> BTreeMap<usize, Line> {
    let lines = text.lines().map(str::trim).collect::<Vec<_>>();
    let label = |line: &str| line.split_once(':').map(|(name, _)| name.to_owned());
    let target = |line: &str| {
        let (_, rest) = line.split_once("bra")?;
        let name = rest.trim_start_matches(".uni").split(';').next()?;
        Some(name.trim().to_owned())
    };
    let loops = loops(&lines, label, target);
    let (mut kernel, mut source) = (String::new(), 0);
    let mut found = BTreeMap::new();
    for (number, (line, loops)) in (1..).zip(lines.iter().zip(loops)) {
        if let Some((_, name)) = line.split_once(".entry ") {
            kernel = name.split(['(', ' ']).next().unwrap_or_default().to_owned();
        }
        if let Some(place) = line.strip_prefix(".loc") {
            let mut numbers = place.split_whitespace().skip(1);
            source = numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        }
        let instructions = line.split(';').map(|part| part.trim().trim_start_matches('{'));
        let accesses = instructions.filter_map(|text| ptx_access(text.trim(), loops)).collect();
        let kernel = kernel.clone();
        found.insert(number, Line { kernel, source, accesses });
    }
    found
}

/// A load or store of PTX, such as `@%p1 ld.global.nc.v2.u32 {%r1, %r2}, [%rd1]`.
fn ptx_access(text: &str, loops: usize) -> Option<Access> {
    let predicated = text.starts_with('@');
    let text = if predicated { text.split_once(char::is_whitespace)?.1 } else { text };
    let mut parts = text.split_whitespace().next()?.split('.');
    let operation = match parts.next()? {
        "ld" => "load",
        "st" => "store",
        _ => return None,
    };
    let (mut space, mut count, mut bits) = ("generic", 1, None::<u32>);
    for part in parts {
        match part.split("::").next()? {
            part @ ("global" | "shared") => space = part,
            "local" | "param" | "const" => return None,
            "v2" => count = 2,
            "v4" => count = 4,
            "v8" => count = 8,
            part => bits = part.trim_start_matches(['b', 'u', 's', 'f']).parse().ok().or(bits),
        }
    }
    let bytes = count * bits? / 8;
    Some(Access { kind: format!("{space}_{operation}"), bytes, loops, predicated })
}

/// The accesses of machine code, by the line of PTX that they come from.
fn of_machine_code(text: &str) -> BTreeMap<usize, Vec<Access>> {
    let lines = text.lines().map(str::trim).collect::<Vec<_>>();
    let label = |line: &str| Some(line.strip_suffix(':')?.to_owned());
    let target = |line: &str| {
        let (_, rest) = line.split_once("BRA")?;
        Some(rest.split_once("`(")?.1.split_once(')')?.0.to_owned())
    };
    let loops = loops(&lines, label, target);
    let mut number = 0;
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for (line, loops) in lines.iter().zip(loops) {
        if let Some((_, place)) = line.strip_prefix("//##").and_then(|l| l.split_once("line ")) {
            let digits = place.split(|c: char| !c.is_ascii_digit()).next();
            number = digits.and_then(|n| n.parse().ok()).unwrap_or(0);
        }
        if let Some(access) = code_access(line, loops) {
            found.entry(number).or_default().push(access);
        }
    }
    found
}

/// A load or store of machine code, such as `/*01e0*/ @!P0 STG.E.64 desc[UR4][R2.64], R4 ;`.
fn code_access(line: &str, loops: usize) -> Option<Access> {
    let mut words = line.strip_prefix("/*")?.split_once("*/")?.1.split_whitespace();
    let mut word = words.next()?;
    let predicate = word.strip_prefix('@');
    if let Some(predicate) = predicate {
        if predicate == "!PT" {
            return None; // never executed: it fills a slot
        }
        word = words.next()?;
    }
    let mut parts = word.split('.');
    let kind = match parts.next()? {
        "LDG" => "global_load",
        "STG" => "global_store",
        "LDS" => "shared_load",
        "STS" => "shared_store",
        "LD" => "generic_load",
        "ST" => "generic_store",
        _ => return None,
    };
    let bytes = parts.find_map(|part| match part {
        "U8" | "S8" => Some(1),
        "U16" | "S16" => Some(2),
        "64" => Some(8),
        "128" => Some(16),
        "256" => Some(32),
        _ => None,
    });
    let (kind, bytes) = (kind.to_owned(), bytes.unwrap_or(4));
    Some(Access { kind, bytes, loops, predicated: predicate.is_some() })
}

/// In how many loops each line stands. A loop is what lies between a label and the last
/// branch back to it.
fn loops(
    lines: &[&str],
    label: impl Fn(&str) -> Option<String>,
    target: impl Fn(&str) -> Option<String>,
) -> Vec<usize> {
    let mut labels = BTreeMap::new();
    let mut loops = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        if let Some(start) = target(line).and_then(|name| labels.get(&name).copied()) {
            loops.insert(start, place);
        }
        labels.extend(label(line).map(|name| (name, place)));
    }
    let within = |place| loops.iter().filter(|(a, b)| (**a..=**b).contains(&place)).count();
    (0..lines.len()).map(within).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
        .visible .entry k(
        .loc 1 10 5
        ld.global.nc.u32 %r1, [%rd1];
        .loc 1 11 5
        $L__BB0_1:
        ld.shared.u32 %r2, [%r3];
        ld.shared.u32 %r4, [%r3+4];
        .loc 1 12 5
        ld.global.v2.f32 {%f1, %f2}, [%rd2];
        .loc 1 13 5
        @%p1 st.shared.u8 [%r5], %rs1;
        st.shared.u8 [%r6], %rs1;
        ld.param.u64 %rd3, [k_param_0];
        @%p2 bra $L__BB0_1;
        .loc 1 14 5
        st.global.u32 [%rd4], %r4;
        mov.u32 %r7, %r4;
        ret;";

    /// What is different in code that comes from lines of `PTX`, by lines of CUDA C.
    fn found(code: &str) -> Vec<(usize, String, Change)> {
        let found = differences(&of_ptx(PTX), &of_machine_code(code));
        let found = found.into_iter().map(|(kernel, line, kind, change)| {
            assert_eq!(kernel, "k");
            (line, kind, change)
        });
        found.collect()
    }

    /// Machine code that leaves everything as it is, with line 6 unrolled.
    const SAME: &str = "
        .text.k:
        //## File \"k\", line 4
        /*0000*/ LDG.E.CONSTANT R1, desc[UR4][R2.64] ;
        .L_x_0:
        //## File \"k\", line 7
        /*0010*/ LDS R2, [R3] ;
        /*0020*/ @!P0 LDS R2, [R3] ;
        //## File \"k\", line 8 inlined at \"k\", line 99
        /*0030*/ LDS R4, [R3+0x4] ;
        /*0040*/ @!PT LDS RZ, [RZ] ;
        //## File \"k\", line 10
        /*0050*/ LDG.E.64 R6, desc[UR4][R8.64] ;
        //## File \"k\", line 12
        /*0060*/ @P1 STS.U8 [R5], R1 ;
        //## File \"k\", line 13
        /*0070*/ STS.U8 [R6], R1 ;
        /*0080*/ @P2 BRA `(.L_x_0) ;
        //## File \"k\", line 17
        /*0090*/ STG.E desc[UR4][R2.64], R4 ;
        .L_x_1:
        /*00a0*/ BRA `(.L_x_1);";

    #[test]
    fn what_is_only_copied_is_the_same() {
        let code = SAME.replace("@!P0 ", "");
        assert_eq!(found(&code), []);
    }

    #[test]
    fn changes_are_found() {
        let code = SAME.replace("@!P0 ", "");
        let change = |from: &str, to: &str| {
            assert!(code.contains(from), "{from}");
            found(&code.replace(from, to))
        };
        let (load, store) = ("shared_load".to_owned(), "global_store".to_owned());
        assert_eq!(found(SAME), [(11, load.clone(), Change::Predicated)]);
        let removed = change("/*0030*/ LDS R4, [R3+0x4] ;", "");
        assert_eq!(removed, [(11, load.clone(), Change::Removed)]);
        let merged = change("LDS R4, [R3+0x4]", "LDS.64 R4, [R3]");
        assert_eq!(merged, [(11, load, Change::Merged)]);
        let moved = change(".L_x_0:", "").into_iter().chain(change("`(.L_x_0)", "`(.L_x_2)"));
        let moved = moved.map(|(line, _, change)| (line, change)).collect::<Vec<_>>();
        let expected = [(11, Change::Moved), (12, Change::Moved), (13, Change::Moved)];
        assert_eq!(moved, [expected, expected].concat());
        let added = change("line 17", "line 18");
        assert_eq!(added, [(14, store.clone(), Change::Removed), (14, store, Change::Added)]);
    }
}
