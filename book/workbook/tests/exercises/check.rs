//! `cargo workbook check`: a kernel of one's own.

use std::process::Command;

use serde_json::Value;

use super::{Ended, has_nvrtc, root, skip};

/// The page's outputs, each by the example's name.
const GOLDEN: &str = "book/src/check.txt";

const SCALE: &str = "__global__ void scale(const float *in, float *out, int n)\n{\n    \
                     int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                     if (i < n)\n        out[i] = 2 * in[i];\n}\n";
const LAUNCH: &str = "--grid ceil(n/256) --block 256 --arg in=f32[n]:ramp --arg out=f32[n] --arg n";
const ARGUMENTS: &str = "--arg in=f32[n]:ramp --arg out=f32[n] --arg n";

fn check(arguments: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    command.arg("check").args(arguments.split_whitespace()).env("COLUMNS", "96");
    Ended::of(command.current_dir(root()))
}

#[test]
fn what_the_page_shows_is_what_the_program_says() {
    if !has_nvrtc() {
        return;
    }
    let examples = [
        ("last-block", "last-block.cu", 1),
        ("compare", "rows.cu --compare book/src/check/columns.cu", 0),
        ("histogram", "histogram.cu", 1),
    ];
    let mut fresh = String::new();
    for (name, arguments, code) in examples {
        let ended = check(&format!("book/src/check/{arguments}"));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{ended}");
        fresh += &format!("ANCHOR: {name}\n{}ANCHOR_END: {name}\n", ended.stdout);
    }
    let path = root().join(GOLDEN);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        fresh == committed,
        "if this is meant, run UPDATE_GOLDEN=1 cargo test -p workbook --test exercises:\n{fresh}"
    );
}

#[test]
fn a_kernel_of_ones_own_is_checked_compared_and_reported() {
    if !has_nvrtc() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let scale = file("scale.cu", SCALE);
    let clean = check(&format!("{scale} {LAUNCH} --set n=1000 --json"));
    let json: Value = serde_json::from_str(clean.succeeds()).unwrap();
    let checked = &json["checked"][0];
    assert_eq!(checked["kernel"], "scale");
    assert_eq!(checked["runs"][0]["counts"]["total"]["loads.sectors"], 125);
    assert_eq!(checked["findings"].as_array().unwrap().len(), 0, "{json:#}");
    let even = check(&format!("{scale} {LAUNCH} --set n=1024"));
    assert!(even.succeeds().contains("--set n=1023"), "{even}");

    // What has to be there in the end, in the format of NumPy.
    let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n";
    let array = |numbers: [f32; 3]| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((head.len() as u16).to_le_bytes());
        bytes.extend(head.as_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    };
    let right = folder.path().join("right.npy");
    for (numbers, code) in [([0.0, 2.0, 4.0], 0), ([0.0, 2.0, 5.0], 1)] {
        std::fs::write(&right, array(numbers)).unwrap();
        let ended = check(&format!("{scale} {LAUNCH} --set n=3 --expect out={}", right.display()));
        assert_eq!(ended.code, Some(code), "{ended}");
        assert!(code == 0 || ended.stdout.contains("out[2] is 4, and has to be 5"), "{ended}");
    }

    // The report is one file, without what the source might smuggle in, and replaces itself only.
    let evil = file("evil.cu", &format!("// <script>alert(1)</script>\n{SCALE}"));
    let report = folder.path().join("report.html");
    let arguments = format!("{evil} {LAUNCH} --set n=1000 --html {}", report.display());
    for _ in 0..2 {
        check(&arguments).succeeds();
    }
    let html = std::fs::read_to_string(&report).unwrap();
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"), "{html}");
    let over = check(&format!("{evil} {LAUNCH} --set n=1000 --html {scale}"));
    over.misuses(&["is no report of `check`, and is left as it is"]);
    assert_eq!(std::fs::read_to_string(&scale).unwrap(), SCALE);

    // A whole program, with its header files and `main`.
    let program = "#include <cstdio>\n#include <vector>\nint main()\n{\n    std::vector<int> v;\n    \
                   scale<<<1, 2>>>(0, 0, 0);\n}\n";
    let program = file("program.cu", &format!("{program}{SCALE}"));
    let ended = check(&format!("{program} {LAUNCH} --set n=1000"));
    assert!(ended.succeeds().contains("  12    125 "), "{ended}");

    // Header files: beside it, where --include says, and those that only the host needs.
    std::fs::create_dir_all(folder.path().join("parts/inner")).unwrap();
    file(
        "parts/twice.h",
        "#pragma once\n#include \"inner/two.h\"\n\n\n\n\n\n\n\
        __device__ float twice(float a) {\n    return TWO * a;\n}\n",
    );
    file("parts/inner/two.h", "#define TWO 2\n");
    file("timer.h", "#include <time.h>\nclass Timer { struct timespec start; };\n");
    let body = SCALE.replace("2 * in[i]", "in[i] < FLT_MAX ? twice(in[i]) : INFINITY");
    let includes = "#include <float.h>\n#include \"timer.h\"\n#include <twice.h>\n";
    let apart = file("apart.cu", &format!("{includes}{body}"));
    let ended = check(&format!("{apart} {LAUNCH} --set n=1000"));
    assert!(ended.code == Some(1) && ended.stdout.contains("\"twice\" is undefined"), "{ended}");
    let parts = folder.path().join("parts");
    let ended = check(&format!("{apart} {LAUNCH} --set n=1000 -I {}", parts.display()));
    assert!(ended.succeeds().contains("   8    125     125 "), "{ended}");
    let whole = file("whole.cu", &format!("#include \"parts/twice.h\"\n{body}"));
    check(&format!("{whole} {LAUNCH} --set n=1000")).succeeds();
    let beyond = file("parts/beyond.cu", &format!("#include \"../timer.h\"\n{SCALE}"));
    check(&format!("{beyond} {LAUNCH} --set n=1000")).succeeds();

    // The kernel is in a header file, which is then what is shown.
    let part = file("parts/part.cu", &SCALE.replace("2 *", "BY *"));
    let main = file("main.cu", "#define BY 2\n#include \"parts/part.cu\"\nint main() {}\n");
    let ended = check(&format!("{main} {LAUNCH} --set n=1000"));
    let named = ended.stdout.contains(&format!("scale of {part}, "));
    assert!(named && ended.succeeds().contains("   5    125     125 "), "{ended}");

    // Halves: 1.5 in both formats.
    let halves = "__global__ void k(short *a, short *b) { *a = 0x3e00; *b = 0x3fc0; }";
    let halves = file("halves.cu", halves);
    let ended = check(&format!("{halves} --grid 1 --block 1 --arg a=f16[1] --arg b=bf16[1]"));
    assert!(ended.succeeds().contains("    a = 1.5\n    b = 1.5\n"), "{ended}");

    // A template, with its arguments.
    let template = SCALE.replace("__global__", "template <class T, int BY> __global__");
    let template = template.replace("2 *", "BY * (T)");
    let path = folder.path().join("template.cu");
    std::fs::write(&path, template).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    command.arg("check").arg(&path).args(["--kernel", "scale<float, 3>"]).current_dir(root());
    command.args(LAUNCH.split_whitespace()).args(["--set", "n=9"]);
    assert!(Ended::of(&mut command).succeeds().contains("out = 0, 3, 6, 9, …, 24"));
    let ended = Ended::of(command.arg("--compare").arg(&path));
    assert_eq!(ended.succeeds().matches("out = 0, 3, 6, 9, …, 24").count(), 2, "{ended}");
    assert!(ended.stdout.contains("compared  with n = 9: the results are equal"), "{ended}");
    let thrice = file("thrice.cu", &SCALE.replace("2 *", "3 *"));
    let ended = check(&format!("{scale} {LAUNCH} --set n=9 --compare {thrice} --json"));
    let json: Value = serde_json::from_str(ended.succeeds()).unwrap();
    let said = json["compared"][0].as_str().unwrap();
    assert!(said.contains("`out` differs in 8 of 9 elements: out[1] is 2 in the first"), "{said}");

    // Both in one report, each with lines of its own.
    let report = report.display();
    check(&format!("{scale} {LAUNCH} --set n=9 --compare {thrice} --html {report}")).succeeds();
    let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert_eq!(html.matches("<h1>scale</h1>").count(), 2, "{html}");
    let compared = format!("<p>Compared: with n = 9: {said}.</p>", said = &said[12..]);
    for part in
        ["<tr id=\"0-5\" class=\"counts \">", "<tr id=\"1-5\" class=\"counts \">", &compared]
    {
        assert!(html.contains(part), "{part}\n{html}");
    }

    // The other one's launch is its own, where a comment says so.
    let wide = SCALE.replace(
        "if (i < n)\n        out[i] = 2 * in[i];",
        "for (; i < n; i += 32) out[i] = 2 * in[i];",
    );
    let wide = file("wide.cu", &format!("// check: --grid 1 --block 32\n{wide}"));
    let own = file("own.cu", &format!("// check: {LAUNCH} --set n=1000\n{SCALE}"));
    let ended = check(&format!("{own} --compare {wide}"));
    for part in ["grid 4, block 256", "grid 1, block 32\n", "n = 1000: the results are equal"] {
        assert!(ended.succeeds().contains(part), "{part}\n{ended}");
    }

    // PTX of any compiler, and the other order of blocks.
    let ptx = "kernels/ptx/vector-add.ptx --kernel add --grid 1 --block 64 --arg a=f32[n]:ramp \
               --arg b=f32[n]:zero --arg c=f32[n] --arg n --set n=50";
    let ended = check(ptx);
    assert!(ended.code == Some(0) && ended.stdout.contains("ld.global"), "{ended}");
    let order = file("order.cu", "__global__ void last(int *out) { atomicExch(out, blockIdx.x); }");
    let ended = check(&format!("{order} --grid 9 --block 1 --arg out=i32[1]:zero"));
    assert!(ended.succeeds().contains("out[0] depends on the order"), "{ended}");
}

#[test]
fn what_is_found_is_said_once_with_what_to_do() {
    if !has_nvrtc() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.cu");
    let check = |source: &str, arguments: &str| {
        std::fs::write(&path, source).unwrap();
        check(&format!("{} {arguments}", path.display()))
    };
    // What it prints, without line breaks, if it ends with this code.
    let said = |ended: Ended, code: i32| {
        assert!(ended.code == Some(code) && ended.stderr.is_empty(), "{ended}");
        ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };

    // A structure of eight numbers, and a proposal that runs.
    let strided = "struct P { float x, y, z, mass, v[4]; };\n\
                   __global__ void push(P *p, float by, int n)\n{\n    \
                   int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                   if (i < n)\n        p[i].x += by * p[i].v[0];\n}\n";
    check(strided, "").misuses(&["--arg 'p=f32[n][8]' --arg 1.0 --arg n --set n=1000"]);
    let launch = "--grid ceil(n/256) --block 256 --arg p=f32[n][8]:ramp --arg 1.0 --arg n";
    let text = said(check(strided, &format!("{launch} --set n=1000 --set n=999")), 0);
    for what in ["read as these bytes need: let the threads of a warp read", "written as these"] {
        assert_eq!(text.matches(&format!("×8.00 as many sectors are {what}")).count(), 1, "{text}");
        assert_eq!(text.matches(&what[..9]).count(), 1, "{text}");
    }

    // The same mistake at two sizes is one.
    let race = strided.replace("if (i < n)", "__shared__ volatile int t; t = i;");
    let text = said(check(&race, &format!("{launch} --set n=256 --set n=255")), 1);
    assert_eq!(
        (text.matches("mistake").count(), text.matches("no n = ").count()),
        (1, 2),
        "{text}"
    );

    let shared = "__global__ void k(int *p) { extern __shared__ int t[]; t[threadIdx.x] = 1; \
                  *p = t[(int)threadIdx.x - 1]; }";
    for (bytes, sentence) in [
        ("", "An `extern` array gets its bytes by --shared, such as --shared 1024"),
        ("--shared 128", "of shared memory: 4 bytes before the start of the block's 128 bytes"),
    ] {
        let text = said(check(shared, &format!("--grid 1 --block 32 --arg p=i32[1] {bytes}")), 1);
        assert!(text.contains(sentence), "{sentence}\n{text}");
    }

    // What the host copies to a symbol, and what only its compiler defines.
    let symbol = "#ifndef __linux__\n#error unknown system\n#endif\n\
                  __constant__ float weights[3];\n__global__ void k(float *out)\n{\n    \
                  out[threadIdx.x] = weights[threadIdx.x];\n}\n";
    let launch = "--grid 1 --block 3 --arg out=f32[3]";
    let note = "`weights` is `__constant__` and zero";
    let text = said(check(symbol, launch), 0);
    assert!(text.contains(note) && text.contains("--symbol weights=f32[3]:random"), "{text}");
    let text = said(check(symbol, &format!("{launch} --symbol weights=f32[3]:0.1")), 0);
    assert!(text.contains("out = 0.1, 0.1, 0.1 ") && !text.contains(note), "{text}");
    for (value, why) in [
        ("weight=f32[3]:1", "did you mean `weights`?"),
        ("weights=f32[4]:1", "it is given 16 bytes, and has 12"),
        ("weights=f32[3]", "it takes a fill, such as weights=f32[3]:ramp"),
        ("weights", "such as weights=f32[9]:ramp"),
    ] {
        check(symbol, &format!("{launch} --symbol {value}")).misuses(&["--symbol weight", why]);
    }

    // Another type than the source's.
    let launch = LAUNCH.replace("out=f32", "out=i32");
    let text = said(check(SCALE, &format!("{launch} --set n=9 --set n=10")), 0);
    let note = "`out` is not of type f32, as `float *out` in the source is";
    assert!(text.contains(note) && text.contains("counted with n = 10; sectors"), "{text}");

    // A template is proposed with arguments of its kinds.
    let template = "template <class T, int SIDE, bool IS>\n\
                    __global__ void tile(T *p) { p[threadIdx.y * SIDE] = IS; }";
    check(template, "").misuses(&["such as --kernel 'tile<float, 16, true>' (it has tile)"]);
    check(template, "--kernel tile<3>").misuses(&["it is `template <class T, int SIDE, bool IS>`"]);
}

#[test]
fn header_files_of_cuda_are_taken_from_where_they_are() {
    if !has_nvrtc() {
        return;
    }
    if !lab::libraries::headers().iter().any(|folder| folder.join("cuda_fp16.h").exists()) {
        skip("there are no header files of CUDA");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sum.cu");
    let source = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n\
                  #include <cuda_fp16.h>\n#include <stdio.h>\n\
                  namespace cg = cooperative_groups;\n\
                  __global__ void sum(const half *in, float *out, int n)\n{\n    \
                  auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n    \
                  float v = threadIdx.x < n ? __half2float(in[threadIdx.x]) : 0;\n    \
                  v = cg::reduce(warp, v, cg::plus<float>());\n    \
                  if (warp.thread_rank() == 0)\n        atomicAdd(out, v);\n}\n\
                  int main() { printf(\"%d\", 1); }\n";
    std::fs::write(&path, source).unwrap();
    let launch =
        "--grid 1 --block 64 --arg in=f16[n]:ramp --arg out=f32[1]:zero --arg n --set n=50";
    let ended = check(&format!("{} {launch}", path.display()));
    assert!(ended.succeeds().contains("out = 1225\n"), "{ended}");
    assert!(ended.stdout.contains("\n   9      4 "), "{ended}"); // a line of the file itself
}

#[test]
fn whatever_cannot_be_checked_is_told_in_one_sentence() {
    if !has_nvrtc() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let scale = file("scale.cu", SCALE.as_bytes());
    let two = format!("{SCALE}__global__ void other() {{}}\n");
    let two = file("two.cu", two.as_bytes());
    let comment = file("comment.cu", format!("// check: --html x\n{SCALE}").as_bytes());
    let reach = format!("// check: {LAUNCH} --set n=9 --expect out=../x.npy\n{SCALE}");
    let reach = file("reach.cu", reach.as_bytes());
    let template = file("template.cu", b"template <class T> __global__ void twice(T *p) {}");
    let cases = [
        (format!("{}/none.cu", folder.path().display()), "No such file"),
        (file("text.cu", b"hello"), "there is no `__global__` in it"),
        (file("wide.cu", b"\xff\xfe_\0_\0g\0"), "saved as UTF-16"),
        (file("binary.cu", &[0; 64]), "it is no text"),
        (file("ptx.cu", b".target sm_75\n.entry k() {}"), "add --ptx"),
        (file("none.ptx", b"hello"), "is no PTX"),
        (format!("{scale} --kernel scaled"), "did you mean `scale`?"),
        (two, "choose one with --kernel: scale, other"),
        (template.clone(), "such as --kernel 'twice<float>'"),
        (format!("{scale} {LAUNCH} --include none"), "there is no such folder"),
        (scale.clone(), "--grid, --block and --arg are missing, such as --grid 'ceil(n / 256)'"),
        (format!("{scale} --grid 1 --arg n"), "--block is missing"),
        (
            format!("{scale} --grid 1 --block 32 --arg 2"),
            "has 3 parameters (const float *in, float *out, int n), and there is 1 --arg: 2",
        ),
        (format!("{scale} {LAUNCH}"), "--set n=1000"),
        (format!("{scale} {LAUNCH} --set n"), "a name and a number"),
        (format!("{scale} {LAUNCH} --set n=2^90"), "no count"),
        (format!("{scale} {LAUNCH} --set n=-5"), "--set n=-5: -5 is no count"),
        (format!("{scale} {LAUNCH} --set m=5"), "error: buffer in: what is `n`? Give it a number"),
        (format!("{scale} {LAUNCH} --set n=2^28"), "more than 512 MiB with n = 268435456"),
        (
            format!("{scale} --grid n/256 --block 256 {ARGUMENTS} --set n=9"),
            "n = 9: the grid has no blocks. `n/256` rounds down: take `ceil(n/256)`",
        ),
        (
            format!("{scale} --grid n*0.5 --block 256 {ARGUMENTS} --set n=9"),
            "is 4.5, which is no count: round it with ceil() or floor()",
        ),
        (format!("{scale} {LAUNCH} --set n=0"), "with n = 0: the grid has no blocks"),
        (format!("{scale} {LAUNCH} --set n=9 --compute 12.3"), "8.0, 8.6"),
        (format!("{template} --kernel twice"), "such as --kernel 'twice<float>'"),
        (format!("{template} --kernel twic<int>"), "did you mean `twice`?"),
        (format!("{scale} --kernel scale<int>"), "is no template"),
        (format!("{scale} {LAUNCH} --set n=2^26"), "256 MiB at most"),
        (format!("{scale} {} --set n=9", LAUNCH.replace("256 ", "2000 ")), "it has 1 to 1024"),
        (
            format!("{scale} {} --set n=9", LAUNCH.replace("ceil(", "ceil(2^29+")),
            "the same with fewer",
        ),
        (format!("{scale} --grid 1 --block 1 --arg a=flot[3]"), "did you mean `float`?"),
        (format!("{scale} --grid 1 --block 1 --arg a=f32"), "its size is missing"),
        (format!("{scale} --grid 1 --block 1 --arg a=f32[3]:on"), "is filled with"),
        (format!("{scale} {LAUNCH} --set n=9 --expect ou=x.npy"), "did you mean `out`?"),
        (format!("{scale} {LAUNCH} --set n=9 --expect out={scale}"), "no array of NumPy's"),
        (format!("{scale} {LAUNCH} --set n=9 --compute new"), "no compute capability"),
        (comment, "unexpected argument '--html'"),
        (reach, "lies outside of its file's folder"),
    ];
    for (arguments, said) in cases {
        let ended = check(&arguments);
        ended.misuses(&[said]);
        assert!(ended.stderr.trim_end().lines().count() <= 3, "{ended}");
    }
    for (text, said) in [
        (
            "#include <curand_kernel.h>\n__global__ void k(curandState *s) {}",
            "it does not compile:\n`curand_kernel.h` is CUDA's. Get it with: ",
        ),
        (
            "#include \"/etc/passwd\"\n__global__ void k() { f(); }",
            "Not found: `/etc/passwd`. Name their folders with --include.",
        ),
        ("int f() { return 1; }\n__global__ void k(int *p) { *p = f(); }", "needs `__device__`"),
        ("__global__ void k() { for (;;) ; }", "it takes too long"),
        ("__global__ void k() { int x = ; }", "it does not compile:\n/"),
        ("__global__ void k() {\nint main() {}", "A `{` has no `}`"),
    ] {
        let path = file("wrong.cu", text.as_bytes());
        let ended = check(&format!("{path} --grid 1 --block 32 --seconds 1"));
        assert_eq!(ended.code, Some(1), "{ended}");
        let read = |text: &str| text.replace('\n', " "); // whatever the lines' width
        let told = read(&format!("{}{}", ended.stdout, ended.stderr));
        assert!(told.contains(&read(said)), "{said}\n{ended}");
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 11, "something was written there");
}
