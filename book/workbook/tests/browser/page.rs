//! One page of the book in a tab of its own: what it shows, what it logs, what a
//! reader does to it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::book;
use crate::chromium::{Browser, PATIENCE};

/// How a page is looked at: the colours asked for and the window.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct View {
    /// Part of the screenshots' names.
    pub(crate) name: &'static str,
    /// `light` or `dark`; mdBook chooses the theme by it.
    pub(crate) colors: &'static str,
    /// In CSS pixels.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// A touch device with a mobile browser's viewport rules.
    pub(crate) phone: bool,
}

pub(crate) const LIGHT: View =
    View { name: "light", colors: "light", width: 1280, height: 900, phone: false };
pub(crate) const DARK: View = View { name: "dark", colors: "dark", ..LIGHT };
pub(crate) const PHONE: View =
    View { name: "phone", width: 360, height: 740, phone: true, ..LIGHT };
pub(crate) const TABLET: View =
    View { name: "tablet", width: 768, height: 1024, phone: true, ..DARK };

/// The folder for screenshots, if `WORKBOOK_SCREENSHOTS` names one.
pub(crate) fn screenshots() -> Option<PathBuf> {
    std::env::var_os("WORKBOOK_SCREENSHOTS").map(PathBuf::from)
}

/// A tab, in a browser context of its own: tests running side by side share neither
/// storage nor focus. Closed when dropped.
pub(crate) struct Page {
    browser: &'static Browser,
    context: String,
    session: String,
    events: Receiver<Value>,
    /// What went wrong since the last [`Page::problems`].
    problems: Vec<String>,
}

impl Page {
    /// An empty tab as `view` describes it; `None` where there is no browser.
    pub(crate) fn get(view: View) -> Option<Self> {
        Browser::get().map(|browser| Self::new(browser, view))
    }

    /// The first chapter whose source contains `text`, in such a tab.
    pub(crate) fn of(view: View, text: &str) -> Option<Self> {
        let mut page = Self::get(view)?;
        page.open(&book::chapters_with(text)[0]);
        Some(page)
    }

    /// An empty tab.
    pub(crate) fn new(browser: &'static Browser, view: View) -> Self {
        let text = |answer: Value, key: &str| {
            answer[key].as_str().expect("the answer names it").to_owned()
        };
        let context =
            text(browser.call(None, "Target.createBrowserContext", json!({})), "browserContextId");
        let target = text(
            browser.call(
                None,
                "Target.createTarget",
                json!({ "url": "about:blank", "browserContextId": context }),
            ),
            "targetId",
        );
        let session = text(
            browser.call(
                None,
                "Target.attachToTarget",
                json!({ "targetId": target, "flatten": true }),
            ),
            "sessionId",
        );
        let events = browser.events_of(&session);
        let page = Self { browser, context, session, events, problems: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        // Only one tab of a window has the focus; here each may behave as if.
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        page.look(view);
        // mdBook's page for printing opens the print dialogue by itself.
        page.before_load("window.print = () => {};");
        page
    }

    /// A protocol command to this page.
    pub(crate) fn call(&self, method: &str, parameters: Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }

    /// Shows the page as `view` describes it.
    pub(crate) fn look(&self, view: View) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": view.width,
                "height": view.height,
                "deviceScaleFactor": if view.phone { 2 } else { 1 },
                "mobile": view.phone,
            }),
        );
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": view.phone }));
        // A veil that is lifted is gone at once.
        self.emulate_media("screen", view);
    }

    /// Shows the page on a screen (`screen`) or on paper (`print`), without animations.
    pub(crate) fn emulate_media(&self, media: &str, view: View) {
        self.call(
            "Emulation.setEmulatedMedia",
            json!({
                "media": media,
                "features": [
                    { "name": "prefers-color-scheme", "value": view.colors },
                    { "name": "prefers-reduced-motion", "value": "reduce" },
                ],
            }),
        );
    }

    /// Has no script run from the next document on.
    pub(crate) fn disable_scripts(&self) {
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    }

    /// Goes to the page of all predictions, and gives what it says.
    pub(crate) fn my_predictions(&mut self) -> String {
        self.open(&book::chapters_with("class=\"my-predictions\"")[0]);
        self.text("document.querySelector('.my-predictions').textContent")
    }

    /// Has `script` run in every document before its own scripts.
    pub(crate) fn before_load(&self, script: &str) {
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
    }

    /// Opens a file of the book.
    pub(crate) fn open(&mut self, file: &Path) {
        let path = file.display().to_string();
        // What would end a path or escape a character in an address.
        let path = path.replace('%', "%25").replace('#', "%23").replace('?', "%3F");
        self.visit(&format!("file://{path}"));
    }

    /// Opens an address.
    pub(crate) fn visit(&mut self, url: &str) {
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {}", answer["errorText"]);
        self.settle(url);
    }

    /// Opens the same page with this query.
    pub(crate) fn ask(&mut self, query: &str) {
        let address = self.text("location.pathname");
        self.visit(&format!("file://{address}?{query}"));
    }

    /// Loads the page again, as its reader would.
    pub(crate) fn reload(&mut self) {
        self.call("Page.reload", json!({}));
        self.settle("reloading");
    }

    /// Waits until the page and its fonts are there, after something has it load.
    pub(crate) fn settle(&mut self, what: &str) {
        let mut committed = false;
        loop {
            let event = self.events.recv_timeout(PATIENCE);
            let event = event.unwrap_or_else(|e| panic!("{what}: not loaded: {e}"));
            self.note(&event);
            // The first load event may still be that of the empty tab.
            let frame = &event["params"]["frame"];
            committed |= event["method"] == "Page.frameNavigated"
                && frame["parentId"].is_null()
                && frame["url"] != "about:blank";
            if committed && event["method"] == "Page.loadEventFired" {
                break;
            }
        }
        self.evaluate("document.fonts.ready.then(() => true)");
    }

    /// Remembers an event that a faultless page does not cause.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let problem = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => {
                let details = &parameters["exceptionDetails"];
                format!("exception: {}", details["exception"]["description"])
            }
            "Runtime.consoleAPICalled"
                if ["error", "warning", "assert"]
                    .contains(&parameters["type"].as_str().unwrap_or_default()) =>
            {
                let arguments = parameters["args"].as_array().into_iter().flatten();
                let words: Vec<_> = arguments
                    .map(|argument| {
                        let value = argument["value"].as_str();
                        value.or(argument["description"].as_str()).unwrap_or("…")
                    })
                    .collect();
                format!("console: {}", words.join(" "))
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                let entry = &parameters["entry"];
                format!("log: {} {}", entry["text"], entry["url"])
            }
            "Network.loadingFailed" => {
                format!("request failed: {}", parameters["errorText"])
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if ["file:", "data:", "blob:"].iter().any(|s| url.starts_with(s)) {
                    return;
                }
                format!("request to the network: {url}")
            }
            _ => return,
        };
        self.problems.push(problem);
    }

    /// What has gone wrong in the page since this was last asked.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        while let Ok(event) = self.events.try_recv() {
            self.note(&event);
        }
        std::mem::take(&mut self.problems)
    }

    /// The value of a JavaScript expression, awaited if it is a promise.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({
                "expression": expression,
                "returnByValue": true,
                "awaitPromise": true,
            }),
        );
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].take()
    }

    /// Whether a JavaScript condition holds.
    pub(crate) fn holds(&self, condition: &str) -> bool {
        self.evaluate(&format!("Boolean({condition})")) == true
    }

    /// Waits until a JavaScript condition holds.
    pub(crate) fn wait_until(&self, condition: &str) {
        let start = Instant::now();
        while !self.holds(condition) {
            assert!(start.elapsed() < PATIENCE, "in vain: {condition}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn text(&self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is no string: {value}")).to_owned()
    }

    /// The strings that a JavaScript expression gives.
    pub(crate) fn texts(&self, expression: &str) -> Vec<String> {
        let value = self.evaluate(expression);
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Presses and releases one key.
    pub(crate) fn press(&self, key: Key) {
        self.press_with(key, 0);
    }

    pub(crate) fn press_with_control(&self, key: Key) {
        self.press_with(key, 2);
    }

    fn press_with(&self, key: Key, modifiers: u32) {
        let (name, code, text) = key.description();
        let mut event = json!({
            "type": "keyDown",
            "key": name,
            "code": name,
            "windowsVirtualKeyCode": code,
            "modifiers": modifiers,
        });
        if let Some(text) = text {
            event["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = "keyUp".into();
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Scrolls what `selector` finds to the middle of the window.
    pub(crate) fn center(&self, selector: &str) {
        self.evaluate(&format!(
            "document.querySelector({selector:?}).scrollIntoView({{ block: 'center' }})"
        ));
    }

    /// Moves the mouse onto the middle of what `selector` finds, which is in the window.
    pub(crate) fn point_at(&self, selector: &str) {
        let [x, y] = self.middle(selector);
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Clicks on the same.
    pub(crate) fn click(&self, selector: &str) {
        let [x, y] = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 }),
            );
        }
    }

    pub(crate) fn tap(&self, selector: &str) {
        let [x, y] = self.middle(selector);
        for (kind, points) in [("touchStart", json!([{ "x": x, "y": y }])), ("touchEnd", json!([]))]
        {
            self.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
        }
    }

    /// Drags what one selector finds to the middle of what the other finds, with the mouse or
    /// with a finger; both are in the window.
    pub(crate) fn drag(&self, from: &str, to: &str, by_touch: bool) {
        self.drag_to(from, self.middle(to), by_touch);
    }

    /// The same to a place in the window.
    pub(crate) fn drag_to(&self, from: &str, [to_x, to_y]: [f64; 2], by_touch: bool) {
        let [x, y] = self.middle(from);
        let half = [(x + to_x) / 2.0, (y + to_y) / 2.0];
        let steps = [("mousePressed", [x, y]), ("mouseMoved", half), ("mouseMoved", [to_x, to_y])];
        for (kind, [x, y]) in steps.into_iter().chain([("mouseReleased", [to_x, to_y])]) {
            let (method, event) = match (by_touch, kind) {
                (false, _) => (
                    "Input.dispatchMouseEvent",
                    json!({
                        "type": kind, "x": x, "y": y, "button": "left", "buttons": 1,
                        "clickCount": 1,
                    }),
                ),
                (true, "mouseReleased") => {
                    ("Input.dispatchTouchEvent", json!({ "type": "touchEnd", "touchPoints": [] }))
                }
                (true, _) => {
                    let kind = if kind == "mousePressed" { "touchStart" } else { "touchMove" };
                    (
                        "Input.dispatchTouchEvent",
                        json!({ "type": kind, "touchPoints": [{ "x": x, "y": y }] }),
                    )
                }
            };
            self.call(method, event);
        }
    }

    fn middle(&self, selector: &str) -> [f64; 2] {
        let place = self.evaluate(&format!(
            "(({{ left, right, top, bottom }}) => [(left + right) / 2, (top + bottom) / 2])(
                 document.querySelector({selector:?}).getBoundingClientRect())"
        ));
        serde_json::from_value(place).expect("two numbers")
    }

    pub(crate) fn type_text(&self, text: &str) {
        for character in text.chars() {
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": "char", "text": character.to_string() }),
            );
        }
    }

    /// Moves the focus by the Tab key alone to what `selector` finds.
    pub(crate) fn tab_to(&self, selector: &str) {
        for _ in 0..300 {
            self.press(Key::Tab);
            if self.holds(&format!("document.activeElement.matches({selector:?})")) {
                return;
            }
        }
        panic!("the Tab key does not reach {selector}");
    }

    /// Saves the whole page as a PNG, if `WORKBOOK_SCREENSHOTS` names a folder.
    pub(crate) fn screenshot(&self, name: &str) {
        let size = &self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"];
        self.screenshot_of(name, &size["width"], &size["height"]);
    }

    /// Saves the upper left of the page in the same way.
    pub(crate) fn screenshot_of(&self, name: &str, width: impl Serialize, height: impl Serialize) {
        let Some(folder) = screenshots() else { return };
        let image = self.call(
            "Page.captureScreenshot",
            json!({
                "captureBeyondViewport": true,
                "clip": {
                    "x": 0,
                    "y": 0,
                    "width": width,
                    "height": height,
                    "scale": 1,
                },
            }),
        );
        let data = image["data"].as_str().expect("a screenshot has data");
        fs::create_dir_all(&folder).expect("the screenshots' folder can be made");
        let file = File::create(folder.join(format!("{name}.png")));
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(file.expect("the screenshot can be written"))
            .spawn()
            .expect("base64 decodes the screenshot");
        let mut stdin = decoder.stdin.take().expect("stdin is piped");
        stdin.write_all(data.as_bytes()).expect("base64 reads the screenshot");
        drop(stdin);
        assert!(decoder.wait().is_ok_and(|status| status.success()), "{name}");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A test that fails because Chromium has ended must not panic again here.
        if !std::thread::panicking() {
            self.browser.call(
                None,
                "Target.disposeBrowserContext",
                json!({ "browserContextId": self.context }),
            );
        }
    }
}

/// The keys that the tests press.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    ArrowDown,
    ArrowRight,
    ArrowUp,
    End,
    Enter,
    Escape,
    Tab,
}

impl Key {
    /// Its name, its key code, and the character it types if any.
    fn description(self) -> (&'static str, u32, Option<&'static str>) {
        match self {
            Self::ArrowDown => ("ArrowDown", 40, None),
            Self::ArrowRight => ("ArrowRight", 39, None),
            Self::ArrowUp => ("ArrowUp", 38, None),
            Self::End => ("End", 35, None),
            Self::Enter => ("Enter", 13, Some("\r")),
            Self::Escape => ("Escape", 27, None),
            Self::Tab => ("Tab", 9, None),
        }
    }
}
