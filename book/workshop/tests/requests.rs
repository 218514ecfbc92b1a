//! Each request, and requests from strangers: each ends, with what was asked for or a sentence.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use serde_json::{Value, json};
use workshop::{MOST_SOURCE_BYTES, answer};

const ADD: &str = include_str!("../../../kernels/vector-add.cu");
const PTX: &str = include_str!("../../../kernels/ptx/vector-add.ptx");
const IR: &str = include_str!("../../../kernels/translator/tests/goldens/flow.ll");

const CHECK: &str = r#"
minutes = 5
level = "introductory"
hints = ["one", "two", "three"]
fails = { start = "result" }
shapes = [{ n = 33 }, { n = 256 }]
[buffers]
a = { type = "f32", size = ["n"], fill = "random" }
b = { type = "f32", size = ["n"], fill = "index" }
c = { type = "f32", size = ["n"], result = true }
[[launches]]
kernel = "add"
grid = ["ceil(n / 64)"]
block = [64]
arguments = ["a", "b", "c", "n"]
[[expected]]
result = "c"
arguments = ["a", "b", "c", "n"]
[[demands]]
name = "loads"
value = "loads.sectors / loads.requests"
unit = "sectors per request"
at_most = 4
"#;

fn ask(request: &Value) -> Value {
    serde_json::from_str(&answer(&request.to_string())).unwrap()
}

fn judge(check: &str, source: &str, ptx: &str) -> Value {
    let expected = PTX.replace(".entry add(", ".entry expected(");
    ask(&json!({ "judge": {
        "check": check, "file": "my.cu", "source": source, "ptx": ptx, "expected": expected,
    } }))
}

fn check(options: &Value, source: &str, ptx: &str) -> Value {
    let of = json!({ "options": options, "file": "my.cu", "source": source, "ptx": ptx });
    ask(&json!({ "check": of }))
}

/// The kernel `add`, launched in this way, and what else is asked for.
fn options(more: &Value) -> Value {
    let mut all = json!({
        "kernel": "add", "grid": "ceil(n/64)", "block": "64", "set": ["n=1000"],
        "arg": ["a=f32[n]:ramp", "b=f32[n]:ramp", "c=f32[n]", "n"],
    });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

#[test]
fn clang_is_told_what_the_translator_expects() {
    let told = |options: Value| ask(&json!({ "options": options }));
    let all = told(json!({ "file": "my.cu", "source": ADD, "check": CHECK }));
    assert_eq!(all["options"], json!(translator::OPTIONS.concat()));
    assert_eq!(all["prelude"], translator::PRELUDE);
    assert_eq!(all["compute"], "7.5");
    for (source, part) in [
        ("// compute: 9.0a\n", "9.0a"),
        ("// check: --compute 8.0\n", "8.0"),
        ("// compute: <b>\n", "`<b>` is no compute capability"),
        (&" ".repeat(MOST_SOURCE_BYTES + 1), "the source has 100,001 bytes, of 100,000 at most"),
    ] {
        let told = told(json!({ "file": "my.cu", "source": source }));
        let said = told["compute"].as_str().or(told["error"].as_str()).unwrap();
        assert!(said.contains(part), "{said}");
    }
    let translated = ask(&json!({ "translate": { "ir": IR, "file": "flow.cu" } }));
    assert_eq!(translated["ptx"], translator::translate(IR).unwrap());
    let log = "my.cu:3:5: error: use of undeclared identifier 'x'\nmy.cu:1:1: error: reference to \
               __host__ function 'f'\n";
    let said = ask(&json!({ "diagnose": { "log": log, "file": "my.cu", "compute": "7.5" } }));
    assert_eq!(
        said["messages"][0],
        json!({ "line": 3, "column": 5, "kind": "error",
            "text": "use of undeclared identifier 'x'" })
    );
    assert_eq!(said["advice"].as_array().unwrap().len(), 1);
}

#[test]
fn a_kernel_is_judged_row_by_row() {
    let told = judge(CHECK, ADD, PTX);
    assert_eq!(told["solved"], true, "{told:#}");
    assert_eq!(told["rows"][2]["text"], "4 sectors per request, at most 4");
    let lines = told["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["loads"].is_object()).unwrap();
    assert_eq!(line["loads"], json!({ "requests": 16, "sectors": 64, "ideal": 64 }));
    assert_eq!(line["columns"][0], json!(["loads", "64"]));

    let told = judge(&CHECK.replace("at_most = 4", "at_most = 3"), ADD, PTX);
    let row = &told["rows"][2];
    assert_eq!((&row["state"], &told["solved"]), (&json!("bad"), &json!(false)), "{told:#}");
    assert_eq!(row["line"]["number"], line["line"]);
    let told = judge(CHECK, ADD, &PTX.replace("add.f32", "sub.f32"));
    assert_eq!(told["rows"][0]["state"], "bad", "{told:#}");
    assert_eq!(told["rows"][1]["state"], "open", "{told:#}");
}

#[test]
fn anybodys_kernel_is_launched_by_options_or_by_its_comment() {
    let told = check(&options(&json!({})), ADD, PTX);
    assert_eq!(told["findings"], json!([]), "{told:#}");
    assert_eq!(told["runs"][0]["results"], json!(["c = 0, 2, 4, 6, …, 1998"]));
    assert_eq!((&told["kernel"], &told["runs"][0]["clean"]), (&json!("add"), &json!(true)));
    let comment = format!(
        "// check: --grid 'ceil(n/64)' --block 64 --set n=1000 --arg a=f32[n]:ramp\n\
         // check: --arg b=f32[n]:zero --arg=c=f32[900] --arg n\n{ADD}"
    );
    let told = check(&json!({ "kernel": "add" }), &comment, PTX);
    let text = told["findings"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("with n = 1000: "), "{told:#}");
    assert!(told["findings"][0]["line"].is_u64(), "{told:#}");
}

#[test]
fn whatever_strangers_ask_is_answered_in_a_sentence() {
    let ptx = |body: &str| {
        format!(
            ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry add(.param .u64 a, \
             .param .u64 b, .param .u64 c, .param .u32 n)\n{{\n{body}\nret;\n}}\n"
        )
    };
    let deep = "[".repeat(100_000);
    let sizes = |n: &str| CHECK.replace("n = 256", &format!("n = {n}"));
    let long = " ".repeat(10_000_000);
    let large = format!(".global .align 4 .b8 large[{}];", 1u64 << 40);
    let large = ptx("").replace(".visible", &format!("{large}\n.visible"));
    let types = format!("%t = type {}", "{ ".repeat(100_000));
    let told = [
        serde_json::from_str(&answer("")).unwrap(),
        serde_json::from_str(&answer(&deep)).unwrap(),
        serde_json::from_str(&answer(&"x".repeat((64 << 20) + 1))).unwrap(),
        ask(&json!({ "translate": { "ir": "define void @k() {\n  %1 = frob i32 1\n}" } })),
        ask(&json!({ "translate": { "ir": types } })),
        ask(&json!({ "translate": { "ir": format!("@x = global {deep}") } })),
        judge(&deep, ADD, PTX),
        judge("minutes = 1", ADD, PTX),
        judge(&sizes("1099511627776"), ADD, PTX),
        judge(&sizes("100000000"), ADD, PTX),
        judge(&CHECK.replace("ceil(n / 64)", &"(".repeat(100_000)), ADD, PTX),
        judge(&CHECK.replace("ceil(n / 64)", "2^31"), ADD, PTX),
        judge(&CHECK.replace("{ n = 33 }, { n = 256 }", ""), ADD, PTX),
        judge(CHECK, ADD, &"{".repeat(1_000_000)),
        judge(CHECK, ADD, &deep),
        judge(CHECK, ADD, &large),
        judge(CHECK, &long, PTX),
        check(&options(&json!({ "grid": "2^31" })), ADD, PTX),
        check(&options(&json!({ "block": "0" })), ADD, PTX),
        check(&options(&json!({ "shared": "2^31" })), ADD, PTX),
        check(&options(&json!({ "set": ["n=2^39"] })), ADD, PTX),
        check(&options(&json!({ "set": ["n=2^24"] })), ADD, PTX),
        check(&options(&json!({ "arg": ["a=f32[n]:secrets.npy"] })), ADD, PTX),
        check(&options(&json!({ "kernel": "minus" })), ADD, PTX),
        check(&options(&json!({ "colour": "red" })), ADD, PTX),
        check(&options(&json!({})), ADD, &large),
        check(&options(&json!({})), ADD, ""),
        check(&options(&json!({})), &long, PTX),
        check(&json!({}), "// check: --gird 3\n", PTX),
        check(&json!({}), "// check: --grid\n", PTX),
        check(&json!({}), "// check: --grid 1 --grid 2\n", PTX),
        check(&json!({}), "// check: --tolerance x\n", PTX),
    ];
    for (number, told) in told.iter().enumerate() {
        let error = told["error"].as_str();
        let error = error
            .unwrap_or_else(|| panic!("request {number} is answered: {:.300}", told.to_string()));
        assert!(!error.trim().is_empty() && error.chars().count() <= 501, "{number}: {error}");
    }
    // What a kernel itself does wrong is a finding, and a row.
    let endless = ptx("again: bra again;");
    let told = check(&options(&json!({})), ADD, &endless);
    assert_eq!(told["findings"][0]["kind"], "mistake", "{told:#}");
    let told = judge(CHECK, ADD, &endless);
    assert_eq!((&told["solved"], &told["rows"][0]["state"]), (&json!(false), &json!("bad")));
    let told = judge(CHECK, ADD, &ptx("").replace(".entry add(", ".entry minus("));
    assert!(told["rows"][0]["text"].as_str().unwrap().contains("`minus`"), "{told:#}");
}
