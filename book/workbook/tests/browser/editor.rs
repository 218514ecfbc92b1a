//! Kernels that are edited in the page, in the hands of a reader: exercises pass and fail as they
//! do natively, kernels of lessons and of the playground run, and nothing that is typed, linked or
//! loaded harms the page.
//!
//! They need the compiler of `scripts/page-compiler`, and are skipped without it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use exercise::catalogue::{self, Language};
use serde_json::{Value, json};

use crate::axe::{self, Rules};
use crate::book;
use crate::checkout::{self, Checkout};
use crate::chromium::Browser;
use crate::editing::Editor;
use crate::page::{DARK, Key, LIGHT, PHONE, Page, View};
use crate::server::Server;
use crate::skip::skip;
use crate::turns::todays;
use crate::{CONTRAST, LAYOUT};

/// Of how many exercises, and pages with kernels, one is tried each day.
const DAYS: u64 = 10;
/// How long the first check may take, with the compiler to be loaded from this machine, and each
/// further one. A busy machine is given more than a reader's.
const FIRST: Duration = Duration::from_secs(90);
const FURTHER: Duration = Duration::from_secs(20);

/// As wide as many phones are.
const NARROW: View = View { width: 390, height: 844, ..PHONE };

/// A served copy of the checkout, with the compiler in it: one for all tests that run meanwhile.
fn served() -> Option<(&'static Browser, Arc<Server<Checkout>>)> {
    static SERVED: Mutex<Weak<Server<Checkout>>> = Mutex::new(Weak::new());
    let browser = Browser::get()?;
    if !checkout::root().join("book/src/compiler/about.json").is_file() {
        skip("the pages' compiler is not there: scripts/page-compiler");
        return None;
    }
    // A test that fails must not fail the others by way of a poisoned lock.
    let mut served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let server = served.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start(Checkout::with_page_compiler()));
        *served = Arc::downgrade(&server);
        server
    });
    Some((browser, server))
}

#[test]
fn exercises_in_kernels_are_as_declared_in_the_page() {
    let Some((browser, server)) = served() else { return };
    let mut problems = vec![];
    let mut page = Page::new(browser, LIGHT);
    let exercises = catalogue::all(&checkout::root()).expect("there are some");
    let kernels = exercises.into_iter().filter(|each| each.language == Language::Kernel);
    for exercise in todays(DAYS, kernels, |_| false) {
        let name = &exercise.name;
        let address = exercise.page.replace(".md", ".html");
        let mut editor = Editor::open(page, &server, &address, name);
        let mut within = FIRST; // each page starts the compiler
        let reasons = exercise.check.reasons().map(|(name, reason)| (name, Some(reason)));
        for (of, reason) in reasons.chain([("solution", None)]) {
            let source = exercise.source(of).expect("it is one of its sources");
            let differs = editor.differs(&source, reason, within);
            problems.extend(differs.map(|differs| format!("{name}, {of}: {differs}")));
            within = FURTHER;
        }
        let found = editor.page.problems().into_iter();
        let found = found.filter(|each| !each.contains(&server.address()));
        problems.extend(found.map(|each| format!("{name}: {each}")));
        page = editor.page;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What goes wrong in the page alone, and what readers do beside checking.
#[test]
fn a_reader_is_told_what_is_wrong_and_goes_on() {
    let Some((browser, server)) = served() else { return };
    let page = "access-patterns/coalescing.html";
    let folder = "experiments/access-patterns/coalescing/exercises/chunks";
    let [start, solution] =
        ["start", "solution"].map(|name| server.checkout().read(&format!("{folder}/{name}.cu")));
    let editor = Editor::open(Page::new(browser, NARROW), &server, page, "chunks");
    assert!(editor.text(".said").contains(" 23 MB into this browser, once."));
    assert_eq!(editor.text(".source textarea"), "");
    assert_eq!(editor.evaluate("$.querySelector('textarea').value"), json!(start));

    // Each is a sentence; then the next check is as good as the first.
    let end = "\n";
    let kernel = |body: &str| {
        format!(
            "extern \"C\" __global__ void scale(const float *in, float *out, float f, int n) {{ \
             {body} }}{end}"
        )
    };
    let cases = [
        // The first of all, when the compiler's own code is cold.
        (
            format!(
                "template <int N, int M> struct D {{ static const int v = D<N - 1, 2 * M>::v + \
                     D<N - 1, 2 * M + 1>::v; }};\n\
                     template <int M> struct D<0, M> {{ static const int v = 1; }};\n\
                     int x = D<40, 0>::v;\n{start}"
            ),
            " s. Does a macro or a template expand without end?",
        ),
        (start.replace("int n)", "itn n)"), "unknown type name 'itn'"),
        (kernel("out[0] = frobnicate(in[0]);"), "frobnicate"),
        (format!("#include <stdio.h>\n{start}"), "leave the #include out"),
        (format!("#include \"/etc/passwd\"\n{start}"), "leave the #include out"),
        (
            format!(
                "template <int N> struct S {{ static const int v = S<N + 1>::v; }};\n\
                     int x = S<0>::v;\n{start}"
            ),
            "without end",
        ),
        (kernel("for (;;) out[0] = 1;"), "never ends"),
        (kernel("while (threadIdx.x < n) { }"), "never ends"),
        ("x".repeat(100_001), "of 100,000 at most"),
        (start.replace("scale", "other"), "scale"),
        (kernel("__shared__ float tile[1 << 28]; tile[n] = 1; out[0] = tile[0];"), "is too large"),
        (
            format!("__device__ float all[1ull << 40];\n{}", kernel("out[0] = all[n];")),
            "it has 4398046511104 bytes and may have 4294967295",
        ),
        (
            format!("__constant__ float all[1 << 20];\n{}", kernel("out[0] = all[n];")),
            "it has 4194304 bytes and may have 65536",
        ),
        (kernel("int *own = new int[4]; own[n] = 1; out[0] = own[0];"), "its memory from the host"),
        (
            format!(
                "__device__ float more(float x) {{ return x + 1; }}\n\
                 __device__ float less(float x) {{ return x - 1; }}\n{}",
                kernel("float (*of)(float) = n > 3 ? more : less; out[0] = of(in[0]);")
            ),
            "the address of the function",
        ),
        ("<img src=x onerror=alert(1)>".to_owned(), "expected unqualified-id"),
        (String::new(), "scale"),
    ];
    for (n, (source, part)) in cases.iter().enumerate() {
        // What is stopped is loaded again.
        let said = editor.check(source, if n < 2 { FIRST } else { FURTHER });
        let all = format!("{said}\n{}", editor.text(".outcome :is(li, td)"));
        let shown = source.chars().take(80).collect::<String>();
        assert!(all.replace('`', "").contains(part), "{shown}: no {part:?} in {all}");
        assert!(!said.starts_with("Solved"), "{shown}: {said}");
    }
    assert_eq!(editor.evaluate("document.querySelector('.editor img')"), Value::Null);
    // Of what is pasted as much is taken as a browser shows at once, and that is too much to run.
    editor.write("");
    editor.evaluate(
        "{ $.querySelector('.source textarea').focus();
             document.execCommand('insertText', false, 'x'.repeat(10 << 20));
             $.querySelector('.run').click(); }",
    );
    assert!(editor.ended(FURTHER).contains("200,000 bytes, of 100,000 at most"));

    // A message leads to its line.
    editor.check(&cases[1].0, FIRST);
    editor.press("line 7");
    let line = editor.evaluate(
        "(text => text === document.activeElement &&
             text.value.slice(0, text.selectionStart).split('\\n').length)
             ($.querySelector('textarea'))",
    );
    assert_eq!(line, 7);

    // Solved by keyboard; the page and the list of all say so, after reloading, too.
    editor.write(&solution);
    editor.evaluate("$.querySelector('textarea').focus()");
    editor.page.press_with_control(Key::Enter);
    assert_eq!(editor.ended(FURTHER), "Solved.");
    // Of another source nothing is said.
    editor.press("Reset");
    assert!(editor.text(".said").starts_with("This browser has the compiler already."));
    editor.press("Undo the reset");
    // What each line did: a number stands in one line, however narrow the page is.
    editor.evaluate("$.querySelector('.run').click()");
    assert_eq!(editor.ended(FURTHER), "Solved.");
    editor.evaluate("$.querySelectorAll('.outcome details').forEach(each => each.open = true)");
    assert_eq!(
        editor.evaluate(
            "[...$.querySelectorAll('.lines td:not(:has(button))')].filter(cell => {
                 const text = document.createRange();
                 text.selectNodeContents(cell);
                 return new Set([...text.getClientRects()].map(({ bottom }) => bottom)).size > 1;
             }).length"
        ),
        0
    );
    assert!(editor.page.holds(
        "document.querySelector('.exercise[data-exercise=chunks] .mark').textContent === 'solved'"
    ));
    let mut page = editor.page;
    page.visit(&format!("http://{}/exercises.html", server.address()));
    assert!(page.holds("document.querySelector('[data-exercise=chunks] .solved') !== null"));
    let said = "document.querySelector('.my-exercises p').textContent";
    let next = page.text(said);
    assert!(next.starts_with("You have solved 1 in this browser. Next in a page: "), "{next}");
    let places = "[...document.querySelectorAll('main tr:has(.exercise) td:nth-child(3)')]";
    let is_kernel = format!("[...new Set({places}.map(cell => cell.textContent))].sort().join()");
    assert_eq!(page.text(&is_kernel), "page,terminal");

    // The file is the terminal's; what is no such file is refused, and nothing is lost.
    let kept =
        page.text("Object.entries(localStorage).find(([key]) => key.endsWith(' progress'))[1]");
    // It is read in another checkout: the other tests' pages would load again.
    let terminal = Checkout::new();
    terminal.write("my/progress.json", &kept);
    let listed = terminal.run("exercise list --json");
    let listed: Value = serde_json::from_str(listed.succeeds()).expect("it is JSON");
    let listed = listed["exercises"].as_array().expect("all of them");
    let chunks = listed.iter().find(|done| done["name"] == "chunks").expect("it is there");
    assert_eq!(chunks["passed"], true, "{chunks}");
    let load = |text: &str| {
        page.evaluate(&format!(
            "(() => {{
                const files = new DataTransfer();
                files.items.add(new File([{}], 'progress.json'));
                const input = document.querySelector('.my-exercises input');
                input.files = files.files;
                input.dispatchEvent(new Event('change'));
            }})()",
            json!(text)
        ));
    };
    for (text, part) in [
        ("{}", "it has to be"),
        ("[", "JSON"),
        (r#"{"exercises":{"<b>":{}}}"#, "\"<b>\" is no exercise"),
        (r#"{"exercises":{"add":{"checks":-1}}}"#, "\"checks\" is not as it should be"),
        (r#"{"exercises":{"add":{"__proto__":1}}}"#, "is not as it should be"),
    ] {
        load(text);
        page.wait_until(&format!("{said}.includes({part:?})"));
    }
    load(
        r#"{"exercises":{"add":{"checks":2,"hints":0,"passed":true,"shown_before":false},
            "of-another-book":{"checks":1,"hints":0,"passed":true,"shown_before":false}}}"#,
    );
    page.wait_until(&format!("{said}.startsWith('You have solved 2 in this browser.')"));
    for (is_sure, left) in [(false, "2"), (true, "none")] {
        page.evaluate(&format!(
            "window.confirm = () => {is_sure};
             [...document.querySelectorAll('.my-exercises button')]
                 .find(each => each.textContent === 'Clear progress').click()"
        ));
        page.wait_until(&format!("{said}.startsWith('You have solved {left} ')"));
    }
}

/// Sources are kept, go back to the start, and travel in links; hints come one by one.
#[test]
fn what_a_reader_writes_is_kept_and_can_be_linked() {
    let Some((browser, server)) = served() else { return };
    let page = "access-patterns/coalescing.html";
    let mut editor = Editor::open(Page::new(browser, LIGHT), &server, page, "chunks");
    let value = |editor: &Editor| {
        editor.evaluate("$.querySelector('textarea').value").as_str().expect("text").to_owned()
    };
    let start = value(&editor);
    let mine = format!("// <b>mine</b> & ünï\n{start}");
    editor.write(&mine);
    editor.press("Reset");
    assert_eq!(value(&editor), start);
    editor.press("Undo the reset");
    assert_eq!(value(&editor), mine);
    for hint in ["Hint", "Next hint (2 of 3)", "Next hint (3 of 3)"] {
        editor.press(hint);
    }
    assert_eq!(editor.evaluate("$.querySelectorAll('.hint').length"), 3);
    editor.press("Solution");
    assert!(editor.text(".help details").contains("__global__"));
    editor.press("Copy link");
    editor.page.wait_until("location.hash.startsWith('#edit=')");
    let link = editor.page.text("location.href");

    // A new line begins as deep as the one before.
    editor.evaluate(
        "(text => { text.focus(); const at = text.value.indexOf(';') + 1;
             text.setSelectionRange(at, at); })($.querySelector('textarea'))",
    );
    editor.page.press(Key::Enter);
    assert!(value(&editor).contains(";\n    \n"), "{}", value(&editor));
    editor
        .page
        .wait_until("Object.values(localStorage).some(text => text.includes(';\\n    \\n'))");
    editor.page.visit(&format!("http://{}/{page}", server.address()));
    let mut editor = Editor::on(editor.page, "chunks");
    editor.press("Solve it here");
    assert!(value(&editor).contains(";\n    \n"), "{}", value(&editor));

    // The link opens the editor; what is in it is text, and the reader's own is not lost.
    editor.page.visit(&format!("http://{}/exercises.html", server.address()));
    editor.page.visit(&link);
    let editor = Editor::on(editor.page, "chunks");
    editor
        .page
        .wait_until("document.querySelector('.editor.open textarea')?.value.includes('ünï')");
    assert_eq!(value(&editor), mine);
    assert!(editor.text(".said").contains("has not been checked"));
    editor.press("Back to mine");
    assert!(value(&editor).contains(";\n    \n"), "{}", value(&editor));
    // Of a link that was cut short, what it was of may be known; what is not of it is passed over.
    let half = &link[..link.len() / 2];
    let mut page = editor.page;
    for (link, said) in
        [(half, "cut short or damaged"), (&format!("{link}."), "has not been checked")]
    {
        page.visit(&format!("http://{}/exercises.html", server.address()));
        page.visit(link);
        page.wait_until(&format!(
            "document.querySelector('.editor.open .said')?.textContent.includes({said:?})"
        ));
        let is_mine = link != half;
        let found = page.text("document.querySelector('.editor.open .source textarea').value");
        assert_eq!(found == mine, is_mine, "{found}");
    }
    for bad in ["", "AAAA", "%3Cb%3E", &"A".repeat(3000)] {
        page.visit(&format!("http://{}/exercises.html", server.address()));
        page.visit(&format!(
            "http://{}/access-patterns/coalescing.html#edit={bad}",
            server.address()
        ));
        page.wait_until("document.querySelector('.link-alert')?.textContent.includes('cut short')");
        assert_eq!(page.evaluate("document.querySelectorAll('.editor.open').length"), 0);
    }
}

/// A long source scrolls in its editor, which leaves room for the rest of the page; who has no mouse
/// comes in and out.
#[test]
fn a_long_source_leaves_room() {
    let Some((browser, server)) = served() else { return };
    let address = "playground.html";
    for view in [LIGHT, NARROW] {
        let page = Page::new(browser, view);
        let editor = Editor::open(page, &server, address, "playground/playground");
        let first = editor.evaluate("$.querySelector('.source').offsetHeight < innerHeight");
        assert_eq!(first, true, "{}", view.name);
        editor.write(&"// a line\n".repeat(500));
        let sizes = "(text => [text.offsetHeight < 0.8 * innerHeight,
             text.scrollHeight > 2 * text.clientHeight,
             Math.abs(text.parentElement.offsetHeight - text.offsetHeight) < 8,
             text.previousElementSibling.offsetHeight === text.offsetHeight])
             ($.querySelector('.source textarea'))";
        assert_eq!(editor.evaluate(sizes), json!([true, true, true, true]), "{}", view.name);
        editor.evaluate("$.querySelector('.source textarea').focus()");
        editor.page.press(Key::Escape);
        editor.page.press(Key::Tab);
        assert_eq!(editor.evaluate("document.activeElement.textContent"), "Run");
    }
}

/// A link's source stands in place of one's own, which is kept until one is back at it.
#[test]
fn a_link_leaves_ones_own_beside_it() {
    let Some((browser, server)) = served() else { return };
    let address = "playground.html";
    let name = "playground/playground";
    let mut editor = Editor::open(Page::new(browser, LIGHT), &server, address, name);
    editor.write("// theirs\n");
    editor.press("Copy link");
    editor.page.wait_until("location.hash.startsWith('#edit=')");
    let link = editor.page.text("location.href");
    editor.write("// mine\n");
    editor.page.wait_until("Object.values(localStorage).includes('// mine\\n')");
    let go = |mut editor: Editor, to: &str| {
        editor.page.visit(&format!("http://{}/exercises.html", server.address()));
        editor.page.visit(to);
        let editor = Editor::on(editor.page, name);
        editor
            .page
            .wait_until("document.querySelector('.editor.open .source textarea').value !== ''");
        editor
    };
    let value = |editor: &Editor| editor.evaluate("$.querySelector('.source textarea').value");
    let plain = format!("http://{}/{address}", server.address());
    editor = go(editor, &link);
    editor.page.wait_until("document.querySelector('.source textarea').value !== '// mine\\n'");
    editor.write("// theirs, changed\n");
    editor.page.wait_until("Object.values(localStorage).includes('// theirs, changed\\n')");
    editor = go(editor, &plain);
    assert_eq!(value(&editor), "// theirs, changed\n");
    editor.press("Back to mine");
    assert_eq!(value(&editor), "// mine\n");
    editor = go(editor, &plain);
    assert_eq!(value(&editor), "// mine\n");
    assert_eq!(editor.text(".controls button:disabled"), "");
    assert!(!editor.text(".controls").contains("Back to mine"));
}

/// Each kernel of a page is one that can be run as it stands there; the playground's, too.
#[test]
fn kernels_of_pages_run() {
    let Some((browser, server)) = served() else { return };
    let mut page = Page::new(browser, LIGHT);
    let mut ran = 0;
    for file in todays(DAYS, book::chapters_with("&quot;launch&quot;:"), |_| false) {
        let address = book::address(&file);
        page.visit(&format!("http://{}/{address}", server.address()));
        let names = page.texts(
            "[...document.querySelectorAll('main .editor')]
                 .map(place => JSON.parse(place.dataset.work))
                 .filter(({ launch }) => launch).map(({ name }) => name)",
        );
        for name in names {
            let editor = Editor::open(page, &server, &address, &name);
            editor.evaluate("$.querySelector('.run').click()");
            let said = editor.ended(FIRST);
            let is_broken = address == "broken-kernels.html";
            let wanted = if is_broken { "One mistake." } else { "Clean: no fault, no race." };
            assert_eq!(said, wanted, "{name}: {}", editor.text(".outcome"));
            // What the rest of a file moves stands in the table alone.
            let counted = editor.evaluate("$.querySelector('.counts span, .rest') !== null");
            let does_nothing = name == "access-patterns/device-bandwidth/empty";
            assert!(is_broken || counted == !does_nothing, "{name}");
            ran += 1;
            page = editor.page;
        }
    }
    assert!(ran > 3, "{ran}");
}

/// The playground in all views: nothing outside the window, nothing too faint, and nothing that keeps
/// people from using it; and what is wrong with a launch is a sentence.
#[test]
fn the_playground_can_be_used_by_all() {
    let Some((browser, server)) = served() else { return };
    let name = "playground/playground";
    for view in [LIGHT, DARK, NARROW] {
        let mut page = Page::new(browser, view);
        let has_axe = axe::load(&page);
        page.visit(&format!("http://{}/playground.html", server.address()));
        let editor = Editor::on(page, name);
        editor.evaluate("$.querySelector('details').open = true");
        let first = editor.evaluate("$.querySelector('.source textarea').value");
        let first = first.as_str().expect("text").to_owned();
        let stride = first.replace("in[i]", "in[i / 8 * 8]").replace("out[i]", "out[i + 1]");
        for source in [&stride, &first.replace("int n", "itn n"), &first] {
            editor.check(source, FIRST);
            editor.evaluate(
                "$.querySelectorAll('.outcome details').forEach(each => each.open = true)",
            );
            assert_eq!(editor.page.texts(LAYOUT), [""; 0], "{}", view.name);
            assert_eq!(editor.page.texts(CONTRAST), [""; 0], "{}", view.name);
            if has_axe {
                assert_eq!(
                    axe::findings(&editor.page, "html", Rules::All),
                    [""; 0],
                    "{}",
                    view.name
                );
            }
        }
        editor.page.screenshot(&format!("playground-{}", view.name));
        if view != LIGHT {
            continue;
        }
        for (field, text, part) in [
            ("grid", "0", "grid"),
            ("grid", "-1", "“Blocks”: -1 is no count"),
            ("shared", "-1", "“Bytes of shared memory”: -1 is no count"),
            ("block", "2000", "1024"),
            ("arg", "in=f32[9999999999]:ramp\nout=f32[n]\nn", "more than 512 MiB"),
            ("arg", "in=f32[n]:<b>\nout=f32[n]\nn", "<b>"),
            ("arg", "in = f32[n] : ramp \nout = f32[n]\n n", "Clean"),
            ("arg", "n", "3 parameters"),
            ("set", "n=a", "n=a"),
            ("kernel", "nobody", "nobody"),
        ] {
            let label = json!(format!("[name={field}]"));
            let old = editor.evaluate(&format!("$.querySelector({label}).value"));
            editor.evaluate(&format!("$.querySelector({label}).value = {}", json!(text)));
            let said = editor.check(&first, FURTHER);
            let all = format!("{said}\n{}", editor.text(".outcome li"));
            assert!(all.contains(part), "{field} {text}: {all}");
            editor.evaluate(&format!("$.querySelector({label}).value = {old}"));
        }
        let known = first.replace("in[i];", "uint32_t(i) < INT_MAX ? in[i] : -INFINITY;");
        for source in [&known, &first] {
            assert_eq!(editor.check(source, FURTHER), "Clean: no fault, no race.");
        }
    }
}

/// Without the compiler's files, and in a book that was opened as a file, the page says what to do.
#[test]
fn a_page_without_the_compiler_says_how_to_get_it() {
    let Some(mut page) = Page::of(LIGHT, "data-open") else { return };
    assert!(page.text("document.querySelector('.editor .said').textContent").contains("serve"));
    assert_eq!(page.problems(), [""; 0]);

    let checkout = Checkout::new();
    let server = Server::start(&checkout);
    page.visit(&format!("http://{}/playground.html", server.address()));
    let said = "document.querySelector('.editor .said').textContent";
    assert!(page.text(said).contains("scripts/page-compiler"));
    page.evaluate("document.querySelector('.editor .run').click()");
    assert!(page.text(said).contains("scripts/page-compiler"));
}
