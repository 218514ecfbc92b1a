//! README's two pictures: the first screen of a page, and an exercise being checked.
//! What they show as text is beside them, so that a test notices when it is so no more.

use std::fs;

use crate::book;
use crate::checkout::{Checkout, Ended, root};
use crate::chromium::Browser;
use crate::page::{self, LIGHT, Page, View};
use crate::skip::has_nvrtc;

/// The text of both, beside them.
const TEXT: &str = "pictures.txt";
/// How to make them anew.
const REMEDY: &str = "WORKBOOK_SCREENSHOTS=$PWD/.github \
                      cargo test --package workbook --test browser readmes_pictures";

const VIEW: View = View { width: 836, height: 780, ..LIGHT };
/// The elements of the page from its title to its explorer.
const PAGE: &str = "(() => {
    const parts = [...document.querySelector('main').children];
    const explorer = parts.findIndex(part => part.matches('[data-explorer]'));
    return parts.slice(0, explorer + 1);
})()";
/// What a terminal shows, with a class for each style that it asks for.
const TERMINAL: &str = "<!DOCTYPE html><meta charset=\"utf-8\"><style>
    body { margin: 0; padding: 12px; width: 812px; }
    pre { background: #161923; border-radius: 12px; color: #e4e4e4; margin: 0; padding: 20px 24px;
          font: 13.5px/1.55 'DejaVu Sans Mono', monospace; }
    .s1 { font-weight: bold; }
    .s2 { color: #9a9a9a; }
    .s31 { color: #ff7b72; }
    .s32 { color: #56d08b; }
    .prompt { color: #6cb6ff; font-weight: bold; }
</style><pre>";

fn html(output: &str) -> String {
    let output = output.replace('&', "&amp;").replace('<', "&lt;");
    let mut parts = output.split("\u{1b}[");
    let (mut html, mut open) = (parts.next().unwrap_or_default().to_owned(), 0);
    for part in parts {
        let (style, text) = part.split_once('m').expect("styles end with an m");
        html += &match style {
            "0" => "</span>".repeat(std::mem::take(&mut open)),
            style => {
                open += 1;
                format!("<span class=\"s{style}\">")
            }
        };
        html += text;
    }
    html
}

/// A transpose without its barrier, one whose tile has all of a column in one bank, and the right
/// one.
fn checks() -> String {
    let checkout = Checkout::with_compilers();
    let solution = checkout
        .read("experiments/access-patterns/transpose/exercises/transpose/solution.cu")
        .replace(
            "    // One word more than a row needs: so the words of a column are in 32 banks.\n",
            "",
        );
    let mut shown = vec![];
    for (from, to) in [("    __syncthreads();\n\n", ""), ("[SIDE + 1]", "[SIDE]"), ("", "")] {
        assert!(solution.contains(from));
        checkout.write("my/transpose.cu", &solution.replace(from, to));
        let mut command = checkout.command("exercise transpose");
        let ended = Ended::of(command.env("CLICOLOR_FORCE", "1").env("COLUMNS", "92"));
        let prompt = "<span class=\"prompt\">$</span> cargo workbook exercise transpose\n";
        shown.push(prompt.to_owned() + &html(ended.stdout.trim_end()));
    }
    shown.join("\n\n")
}

#[test]
fn readmes_pictures_are_of_today() {
    let Some(browser) = Browser::get() else { return };
    if !has_nvrtc() {
        return;
    }
    let mut page = Page::new(browser, VIEW);
    let mut chapters = book::chapters().into_iter();
    let chapter = chapters.find(|page| page.ends_with("access-patterns/coalescing.html")).unwrap();
    page.visit(&format!("file://{}?coalescing.index=5*t", chapter.display()));
    page.wait_until("document.querySelector('main .said').textContent.includes('index 5*t')");
    page.evaluate("scrollTo(0, 0)"); // the link leads to the explorer
    let bottom = "Math.round(document.querySelector('main .said').getBoundingClientRect().bottom)";
    let height = page.evaluate(bottom).as_u64().unwrap();
    page.screenshot_of("page", VIEW.width, height + 16);
    let coalescing = page.text(&format!("{PAGE}.map(part => part.innerText.trim()).join('\\n')"));

    let file = tempfile::Builder::new().suffix(".html").tempfile().unwrap();
    fs::write(&file, format!("{TERMINAL}{}</pre>", checks())).unwrap();
    page.open(file.path());
    let height = page.evaluate("document.documentElement.scrollHeight").as_u64().unwrap();
    page.screenshot_of("exercise", VIEW.width, height);
    let exercise = page.text("document.querySelector('pre').innerText");

    let text = format!("{coalescing}\n\n{exercise}\n");
    if let Some(folder) = page::screenshots() {
        fs::write(folder.join(TEXT), &text).unwrap();
    }
    let of_pictures = fs::read_to_string(root().join(".github").join(TEXT)).unwrap();
    assert!(of_pictures == text, "README's pictures are not of today: {REMEDY}\n{text}");
}
