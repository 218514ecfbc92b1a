//! An editor on a page, as a reader has it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::checkout::Checkout;
use crate::page::Page;
use crate::server::Server;

/// An editor on a page.
pub(crate) struct Editor {
    pub(crate) page: Page,
    /// What finds its element.
    place: String,
}

impl Editor {
    /// Opens that of an exercise or of a page's kernel, whose name this is.
    pub(crate) fn open(
        mut page: Page,
        server: &Server<Checkout>,
        address: &str,
        name: &str,
    ) -> Self {
        page.visit(&format!("http://{}/{address}", server.address()));
        let editor = Self::on(page, name);
        editor.page.evaluate(&format!(
            "document.querySelector('{0}').closest('details')?.setAttribute('open', ''),
             document.querySelector('{0} > button')?.click()",
            editor.place
        ));
        editor
    }

    pub(crate) fn on(page: Page, name: &str) -> Self {
        page.evaluate(
            "document.querySelectorAll('main .editor').forEach(place => {
                 place.dataset.name = JSON.parse(place.dataset.work).name;
             })",
        );
        Self { page, place: format!(".editor[data-name=\"{name}\"]") }
    }

    /// What a JavaScript expression gives, in which `$` is the editor's element.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let find = format!("document.querySelector({})", json!(self.place));
        self.page.evaluate(&format!("($ => {expression})({find})"))
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        let text = self.evaluate(&format!(
            "[...$.querySelectorAll({selector:?})].map(each => each.textContent).join('\\n')"
        ));
        text.as_str().expect("it is text").to_owned()
    }

    pub(crate) fn press(&self, button: &str) {
        let pressed = self.evaluate(&format!(
            "[...$.querySelectorAll('button')].find(each => each.textContent.startsWith({button:?})
                 && each.checkVisibility())?.click() === undefined"
        ));
        assert_eq!(pressed, true, "no button {button}");
    }

    pub(crate) fn write(&self, source: &str) {
        self.evaluate(&format!(
            "{{ const text = $.querySelector('.source textarea');
                text.value = {};
                text.dispatchEvent(new Event('input', {{ bubbles: true }})); }}",
            json!(source)
        ));
    }

    /// Waits until a check has ended, and gives what it says.
    pub(crate) fn ended(&self, within: Duration) -> String {
        let start = Instant::now();
        while self.evaluate("$.hasAttribute('aria-busy')") == true {
            assert!(start.elapsed() < within, "no end within {within:?}: {}", self.text(".said"));
            std::thread::sleep(Duration::from_millis(20));
        }
        self.text(".said")
    }

    /// Checks a source, and gives what the page says.
    pub(crate) fn check(&self, source: &str, within: Duration) -> String {
        self.write(source);
        self.evaluate("$.querySelector('.run').click()");
        self.ended(within)
    }

    /// The demand that is not met first, with what was found.
    pub(crate) fn first_bad(&self) -> Option<(String, String)> {
        let bad = self.evaluate(
            "(row => row && [...row.cells].map(cell => cell.textContent))
                 ($.querySelector('tr:has(.bad)'))",
        );
        let cells: Option<[String; 3]> = serde_json::from_value(bad).expect("three cells");
        cells.map(|[name, _, text]| (name, text))
    }

    /// What is wrong with a source's verdict, which has to be this `reason`, or *solved* for none.
    pub(crate) fn differs(
        &self,
        source: &str,
        reason: Option<&str>,
        within: Duration,
    ) -> Option<String> {
        let said = self.check(source, within);
        match (reason, self.first_bad()) {
            (None, None) if said == "Solved." => None,
            (Some(reason), Some((name, text))) => {
                let (row, wanted) = reason.split_once(": ").unwrap_or((reason, ""));
                // The page sets code as such, without the backticks.
                let is_reason = name == row && text.contains(&wanted.replace('`', ""));
                (!is_reason).then(|| format!("has to fail with `{reason}`: {name}: {text}"))
            }
            (reason, _) => {
                Some(format!("{reason:?}: {said} {}", self.text(".outcome :is(li, td)")))
            }
        }
    }
}
