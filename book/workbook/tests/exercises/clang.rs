//! With clang in place of NVRTC.

use std::fs;

use exercise::catalogue::Language;
use lab::compiler::Clang;

use super::checkout::hide_compilers;
use super::{Checkout, Ended, exercises, root, skip, turns, verify};

fn has_clang() -> bool {
    let found = Clang::find().is_some();
    if !found {
        skip("there is no clang that makes PTX");
    }
    found
}

#[test]
fn a_tenth_of_the_exercises_in_kernels_is_as_declared_with_clang() {
    if !has_clang() {
        return;
    }
    verify(turns::todays(10, exercises(Language::Kernel), |_| false), &["--compiler", "clang"]);
}

#[test]
fn powers_are_those_of_c() {
    if !has_clang() {
        return;
    }
    let source = "__global__ void k(float *bad)\n{\n    \
                  const float none = __uint_as_float(0x7fc00000), all = __uint_as_float(0x7f800000);\n    \
                  const float of[][3] = {{2, 10, 1024}, {-2, 3, -8}, {-2, -2, 0.25f}, {7, 0, 1},\n        \
                  {0, -1, all}, {-0.0f, -3, -all}, {-0.0f, 2, 0}, {none, 0, 1}, {1, none, 1},\n        \
                  {-1, all, 1}, {0.5f, all, 0}, {-all, 3, -all}, {-all, 0.5f, all},\n        \
                  {10, 39, all}, {10, -50, 0}, {-2, 0.5f, none}, {2, none, none}};\n    \
                  for (auto &one : of) {\n        \
                  float power = powf(one[0], one[1]);\n        \
                  bool both = power != power && one[2] != one[2];\n        \
                  if (!both && power != one[2])\n            (*bad)++;\n    }\n    \
                  if (pow(bad[1], 3) != 27.0f)\n        (*bad)++;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("powers.cu");
    fs::write(&path, source).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_workbook"));
    command.arg("check").arg(&path).args(["--compiler", "clang", "--grid", "1", "--block", "1"]);
    let ended = Ended::of(command.args(["--arg", "bad=f32[2]:3"]).current_dir(root()));
    // `bad` is as it was: three, which is cubed, too.
    assert!(!ended.succeeds().contains("bad = "), "{ended}");
}

/// A checkout where clang is the only compiler; `None`, after saying so, where that cannot be.
fn checkout_with_clang_alone() -> Option<Checkout> {
    let folders = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(std::env::var_os).into_iter().flatten();
    let environments = folders.map(Into::into).chain([root().join(".venv")]);
    let pythons = environments.filter_map(|folder| fs::read_dir(folder.join("lib")).ok()).flatten();
    let mut zigs = pythons.map(|python| python.unwrap().path().join("site-packages/ziglang"));
    let Some(zig) = zigs.find(|zig| zig.join("zig").is_file()) else {
        skip("there is no wheel `ziglang` here");
        return None;
    };
    let checkout = Checkout::new();
    let packages = checkout.path(".venv/lib/python3/site-packages");
    fs::create_dir_all(&packages).unwrap();
    std::os::unix::fs::symlink(zig, packages.join("ziglang")).unwrap();
    if alone(&checkout, "doctor").succeeds().contains("ok NVRTC           1") {
        skip("a toolkit's NVRTC cannot be hidden from the program");
        return None;
    }
    Some(checkout)
}

fn alone(checkout: &Checkout, arguments: &str) -> Ended {
    Ended::of(hide_compilers(&mut checkout.command(arguments)))
}

#[test]
fn without_nvrtc_a_learner_has_clang() {
    let Some(checkout) = checkout_with_clang_alone() else { return };
    let run = |arguments: &str| alone(&checkout, arguments);
    assert!(run("doctor").succeeds().contains("it compiles the kernels that you edit"));
    let first = run("exercise transpose");
    assert!(first.stdout.contains("stores  no  32 sectors for 32 elements"), "{first}");
    let solution = root().join("experiments/access-patterns/transpose/exercises/transpose");
    let solution = fs::read_to_string(solution.join("solution.cu")).unwrap();
    checkout.write("my/transpose.cu", &solution);
    assert!(run("exercise transpose").succeeds().contains("Solved."));
    run("exercise transpose --compiler nvrtc").refuses(&["NVRTC", "is missing"]);

    // A compile error stands at the learner's line; no file can be opened.
    for (text, said) in [
        ("int x = ;\n", "my/transpose.cu:1:9: error: expected expression"),
        ("#include \"/etc/passwd\"\n", "There are no header files here"),
        ("const char p[] = {\n#embed \"/etc/passwd\"\n};\n", "file not found"),
        ("int host() { return 1; }\n__device__ int f() { return host(); }\n", "Put `__device__`"),
        ("template <int N> struct S : S<N + 1> {};\nS<0> s;\n", "my/transpose.cu:1:"),
    ] {
        checkout.write("my/transpose.cu", &format!("{text}{solution}"));
        let ended = run("exercise transpose");
        assert!(ended.code == Some(1) && ended.stdout.contains(said), "{said}\n{ended}");
    }

    let own = run("check book/src/check/last-block.cu");
    assert!(own.code == Some(1) && own.stdout.contains("last-block.cu:7 "), "{own}");

    // No loop is taken for finite: clang leaves none out.
    for body in ["while (i < n) out[i] = 1", "while (1)", "for (; i < n; i *= 1)"] {
        let kernel = "__global__ void k(int *out, int n) { int i = threadIdx.x;";
        checkout.write("my/endless.cu", &format!("{kernel}\n    {body};\n}}\n"));
        let ended = run("check my/endless.cu --grid 1 --block 64 --arg out=i32[64] --arg 32");
        let told =
            ended.stdout.contains("no thread gets anywhere: lanes 0-31 of warp 0 run at line 2");
        assert!(ended.code == Some(1) && told, "{body}\n{ended}");
    }

    // An edited kernel is tried; what is committed stays.
    let before = checkout.read("kernels/ptx/warps.ptx");
    checkout.edit("kernels/warps.cu", "{", "{ int edited = 1; (void)edited;");
    let tried = run("ptx");
    assert!(tried.succeeds().contains("kernels/warps.cu was edited: clang 2"), "{tried}");
    checkout.edit("kernels/warps.cu", "int edited = 1;", "int edited = ;");
    run("ptx").refuses(&["kernels/warps.cu:", "error: expected expression"]);
    assert_eq!(checkout.read("kernels/ptx/warps.ptx"), before);
}
