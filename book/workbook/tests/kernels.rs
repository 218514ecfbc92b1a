//! The committed PTX: each file is made from today's source, by the compiler release
//! whose PTX loads on every driver from CUDA 12.4 on; and `cargo workbook ptx` sees it
//! when that is no longer so.
//!
//! And where machine code accesses memory otherwise than the PTX, a list says so.
//!
//! The tests that compile need NVRTC, or ptxas and nvdisasm. Without them they are skipped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/checkout.rs"]
mod checkout;
#[path = "support/skip.rs"]
mod skip;
#[path = "support/turns.rs"]
mod turns;

use std::collections::BTreeMap;
use std::fs;

use checkout::{Checkout, Ended, hide_compilers, root};
use lab::kernel::{COMMITTED_NVRTC, Stamp, compute};
use lab::{machine_code, ptx};
use record::hash::sha256;
use skip::{has_nvrtc, skip};
use turns::{is_new, todays};

/// Newest PTX version that drivers for CUDA 12.4 read.
const NEWEST_PTX: (u32, u32) = (8, 4);
/// The capabilities that every kernel compiles for, from its own on: the oldest, A100,
/// H100.
const CAPABILITIES: &str = "7.5,8.0,9.0";

fn kernels() -> Vec<(String, String)> {
    let folder = root().join("kernels");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = entries.filter(|path| path.extension().is_some_and(|e| e == "cu"));
    let mut kernels: Vec<_> = sources
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    kernels.sort();
    assert!(!kernels.is_empty(), "there are no kernels");
    kernels
}

#[test]
fn committed_ptx_is_of_todays_source_and_loads_on_every_supported_driver() {
    let mut problems = vec![];
    for (name, source) in kernels() {
        let path = format!("kernels/ptx/{name}.ptx");
        let Ok(ptx) = fs::read_to_string(root().join(&path)) else {
            problems.push(format!("{path} is missing"));
            continue;
        };
        let Some(stamp) = Stamp::parse(&ptx) else {
            problems.push(format!("{path} does not say what it was made from"));
            continue;
        };
        // Lines may have moved: with NVRTC, another test looks at these.
        let expected = Stamp::of(&source, COMMITTED_NVRTC);
        if !stamp.is_of_code(&source) || stamp.compiler != expected.compiler {
            problems.push(format!(
                "{path} was made from other code or by another compiler: it says \
                 {stamp:?}, which should be {expected:?}"
            ));
        }
        let directive = |name: &str| -> &str {
            let mut lines = ptx.lines().filter_map(|line| line.strip_prefix(name));
            lines.next().unwrap_or_default().trim()
        };
        let version = directive(".version ");
        let numbers = version
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        if numbers.is_none_or(|version: (u32, u32)| version > NEWEST_PTX) {
            problems
                .push(format!("{path}: drivers for CUDA 12.4 do not read PTX version {version:?}"));
        }
        let target = format!("sm_{}", compute(&source).replace('.', ""));
        if directive(".target ") != target {
            problems.push(format!("{path} is not for {target}, as its source asks"));
        }
    }
    assert!(
        problems.is_empty(),
        "{}\nMake them again with `cargo workbook ptx` and commit them.",
        problems.join("\n")
    );
}

/// A checkout in which the program finds NVRTC as it does in this one; `None`, after
/// saying so, where there is none.
fn checkout_with_nvrtc() -> Option<Checkout> {
    has_nvrtc().then(Checkout::with_compilers)
}

/// Leaves some kernels of the committed ones, or none: what a test says of one needs no other.
fn keep_only(checkout: &Checkout, is_kept: impl Fn(&str) -> bool) {
    for (name, _) in kernels() {
        if !is_kept(&name) {
            fs::remove_file(checkout.path(&format!("kernels/{name}.cu"))).unwrap();
        }
    }
}

#[test]
fn pages_say_why_kernels_that_only_a_gpu_can_run_have_no_editor() {
    let mut problems = vec![];
    let entries = walkdir::WalkDir::new(root().join("book/src"));
    let pages = entries.into_iter().map(|entry| entry.unwrap().into_path());
    for page in pages.filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(&page).unwrap();
        let beside = fs::read_to_string(page.with_extension("toml")).unwrap_or_default();
        let beside: toml::Table = beside.parse().unwrap();
        let blocks = beside.get("kernel").and_then(toml::Value::as_table);
        for (name, _) in kernels() {
            let file = format!("/kernels/{name}.cu");
            if !text.contains(&format!("#include ../../..{file}")) {
                continue;
            }
            let ptx = fs::read_to_string(root().join(format!("kernels/ptx/{name}.ptx"))).unwrap();
            let module = emulator::Module::parse(&ptx).unwrap();
            let lacking = module.kernels().iter().find_map(|kernel| kernel.unsupported.clone());
            let blocks = blocks.into_iter().flatten().map(|(_, block)| block);
            let of_file = blocks.filter(|block| block["source"].as_str().unwrap().contains(&file));
            let said = of_file.filter_map(|block| block.get("elsewhere")?.get("lacks")?.as_str());
            match (lacking.map(|why| why.to_string()), &said.collect::<Vec<_>>()[..]) {
                (None, []) => {}
                (Some(why), [said]) if why.contains(said) => {}
                (lacking, said) => {
                    problems.push(format!("{}, {file}: {lacking:?}, {said:?}", page.display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_kernel_compiles_for_old_and_new_gpus_to_what_is_committed() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let ended = checkout.run(&format!("ptx --check --compute {CAPABILITIES}"));
    for (name, _) in kernels() {
        let line = format!("kernels/ptx/{name}.ptx is fresh");
        assert!(ended.succeeds().lines().any(|l| l == line), "no {line:?} in {ended}");
    }
}

#[test]
fn only_edited_code_or_moved_lines_fail_the_check() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let (name, source) = kernels().swap_remove(0);
    keep_only(&checkout, |kept| kept == name);
    let (source_path, path) = (format!("kernels/{name}.cu"), format!("kernels/ptx/{name}.ptx"));
    let committed = checkout.read(&path);
    let before = ptx::functions(&committed);

    checkout.write(&source_path, &source.replacen('\n', " // edited\n", 1));
    checkout.run("ptx --check").succeeds();

    let edited = format!("// edited\n{source}");
    checkout.write(&source_path, &edited);
    checkout.run("ptx --check").refuses(&[&path, "cargo workbook ptx"]);
    assert_eq!(checkout.read(&path), committed, "--check changed {path}");

    let ended = checkout.run("ptx");
    assert!(ended.succeeds().contains(&format!("{path} written")), "{ended}");
    let made = checkout.read(&path);
    assert_eq!(Stamp::parse(&made).unwrap(), Stamp::of(&edited, COMMITTED_NVRTC));
    assert_eq!(ptx::functions(&made), before, "moved lines make no other kernel");
    checkout.run("ptx --check").succeeds();

    let more = "\nextern \"C\" __global__ void more(int *p) { __shared__ int a[9]; a[*p] = 1; *p = a[8 - *p]; }\n";
    checkout.write(&source_path, &format!("{source}{more}"));
    checkout.run("ptx").succeeds();
    let after = ptx::functions(&checkout.read(&path));
    assert!(after.contains_key("more") && before.iter().all(|(name, hash)| after[name] == *hash));
}

#[test]
fn ptx_that_was_edited_or_is_missing_fails_the_check() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let (name, _) = kernels().swap_remove(0);
    keep_only(&checkout, |kept| kept == name);
    let path = format!("kernels/ptx/{name}.ptx");
    checkout.run("ptx").succeeds();
    let committed = checkout.read(&path);

    checkout.edit(&path, "\tret;", "\texit;");
    checkout.run("ptx --check").refuses(&[&path]);

    fs::remove_file(checkout.path(&path)).unwrap();
    checkout.run("ptx --check").refuses(&[&path]);

    checkout.run("ptx").succeeds();
    assert_eq!(checkout.read(&path), committed, "the same source gives the same PTX");
}

#[test]
fn a_syntax_error_is_shown_with_file_and_line() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let (name, _) = kernels().swap_remove(0);
    checkout.edit(&format!("kernels/{name}.cu"), "\n", "\nint broken = ;\n");
    for arguments in ["ptx", "ptx --check", "ptx --check --compute 9.0"] {
        let ended = checkout.run(arguments);
        let place = format!("kernels/{name}.cu(2): error: expected an expression");
        ended.refuses(&[&place]);
    }
}

#[test]
fn the_templates_ptx_is_what_its_source_compiles_to() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    keep_only(&checkout, |_| false);
    checkout.run("new shared-atomics --section 8.3").succeeds();
    let ended = checkout.run(&format!("ptx --check --compute {CAPABILITIES}"));
    let fresh = "kernels/ptx/shared-atomics.ptx is fresh\n";
    assert!(ended.succeeds().contains(fresh), "{ended}");
}

#[test]
fn every_ptx_was_compared_with_its_machine_code() {
    let text = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let list = machine_code::parse(&text("kernels/ptx/machine-code.txt"));
    let list = list.into_iter().map(|file| (file.name, file.ptx_sha256));
    let list: BTreeMap<_, _> = list.collect();
    let drafts = lessons::kernels_of_drafts(&root()).unwrap();
    let names = kernels().into_iter().map(|(name, _)| name);
    let names = names.filter(|name| !drafts.contains(name) || list.contains_key(name));
    let today = names.map(|name| {
        let ptx = text(&format!("kernels/ptx/{name}.ptx"));
        (name, sha256(ptx::essence(&ptx)))
    });
    let today: BTreeMap<_, _> = today.collect();
    assert_eq!(list, today, "make the list again with `cargo workbook sass`");
}

/// A checkout in which the program finds ptxas and nvdisasm; `None`, after saying so, where
/// they are not.
fn checkout_with_ptxas() -> Option<Checkout> {
    let checkout = checkout_with_nvrtc()?;
    if ["ptxas", "nvdisasm"].iter().all(|p| lab::libraries::find_program(p).is_some()) {
        return Some(checkout);
    }
    skip(&checkout.run("sass --check").to_string());
    None
}

#[test]
fn machine_code_differs_from_the_ptx_where_the_committed_list_says() {
    let Some(checkout) = checkout_with_ptxas() else { return };
    let list = "kernels/ptx/machine-code.txt";
    let all = machine_code::parse(&checkout.read(list));
    let source = |name: &str| format!("kernels/{name}.cu");
    let today = todays(3, all, |file| is_new(&root().join(source(&file.name))));
    let is_kept = |name: &str| today.iter().any(|file| file.name == name);
    keep_only(&checkout, is_kept);
    checkout.write(list, &machine_code::write(&today));
    let ended = checkout.run("sass --check");
    let fresh = format!("{list} is fresh");
    assert!(ended.succeeds().ends_with(&format!("{fresh}\n")), "{ended}");
}

/// A product of tiles: all threads of a warp read the same words of `a`, one after the other,
/// which ptxas does four at a time. Half of `b` is not used at all.
const MERGED: &str = "\
extern \"C\" __global__ void product(const float *in, float *out)
{
    __shared__ float a[16][16], b[16][16];
    unsigned int x = threadIdx.x, y = threadIdx.y;
    a[y][x] = in[y * 16 + x];
    b[y][x] = in[256 + y * 16 + x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 16; k++)
        sum += a[y][k] * b[k][x];
    out[y * 16 + x] = sum;
}
";

#[test]
fn accesses_that_the_compiler_merges_are_listed() {
    let Some(checkout) = checkout_with_ptxas() else { return };
    keep_only(&checkout, |_| false);
    checkout.write("kernels/merged.cu", MERGED);
    checkout.run("ptx").succeeds();
    let ended = checkout.run("sass");
    let said = ended.succeeds();
    assert!(said.contains("kernels/ptx/merged.ptx compared\n"), "{ended}");
    let list = machine_code::parse(&checkout.read("kernels/ptx/machine-code.txt"));
    let file = list.iter().find(|file| file.name == "merged").unwrap();
    let differences: Vec<_> = file.differences.iter().map(ToString::to_string).collect();
    let targets = machine_code::TARGETS.join(" ");
    let line = |change| format!("product 10 shared_load {change} {targets}");
    assert_eq!(differences, [line("removed"), line("merged")]);
}

#[test]
fn without_nvrtc_the_error_says_how_to_get_it() {
    let checkout = Checkout::new();
    let run = |arguments| Ended::of(hide_compilers(&mut checkout.command(arguments)));
    if run("doctor").succeeds().contains("ok NVRTC") {
        return skip("a toolkit's NVRTC cannot be hidden from the program");
    }
    let ended = run("ptx --check");
    ended.refuses(&[lab::libraries::NVRTC.install]);
}
