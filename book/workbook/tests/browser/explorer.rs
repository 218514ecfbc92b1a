//! Explorers in the hands of a reader: by mouse, keyboard and touch, with numbers and pictures
//! that are those of the native emulator; and how the engine is stopped.

use std::path::PathBuf;

use engine::explorer::{ALL, Explorer, Knob, Measured, Request, Shown, Values, find, show};
use serde_json::{Value, json};

use crate::axe::{self, Rules};
use crate::book;
use crate::page::{Key, LIGHT, PHONE, Page, TABLET, View};
use crate::turns::todays;

/// In so many days each explorer is tried, or in each view.
const DAYS: u64 = 3;

/// Something of an explorer's figure, which may be one of several on its page.
fn of(explorer: &Explorer, selector: &str) -> String {
    format!("[data-explorer={}] {selector}", explorer.name)
}

/// What the page says.
fn said(explorer: &Explorer) -> String {
    format!("document.querySelector('{}').textContent", of(explorer, ".said"))
}

/// What the address keeps of the knobs.
const KEPT: &str = "Object.fromEntries(new URLSearchParams(location.search))";

/// Shows all charts that predictions veil, and what stands below them.
const UNVEIL: &str = "document.querySelectorAll('.veil button:last-of-type')
    .forEach(button => button.click())";

/// The page of an explorer in a new tab, with the explorer in view: below a veiled chart it waits as well.
fn open(view: View, explorer: &Explorer) -> Option<Page> {
    let mut page = Page::get(view)?;
    go_to(&mut page, explorer);
    Some(page)
}

fn go_to(page: &mut Page, explorer: &Explorer) {
    let figure = format!("data-explorer=\"{}\"", explorer.name);
    page.open(&book::chapters_with(&figure)[0]);
    if page.holds(&format!("document.querySelector('[{figure}]').inert")) {
        page.evaluate(UNVEIL);
    }
    page.evaluate(&format!("document.querySelector('{}').scrollIntoView()", of(explorer, "form")));
}

/// What the native emulator shows, with what the page has of records behind it.
fn native(page: &Page, explorer: &Explorer, state: &[(&str, &str)]) -> Shown {
    let state = state.iter().map(|(knob, value)| ((*knob).into(), (*value).into())).collect();
    let figure = format!("document.querySelector('[data-explorer={}]')", explorer.name);
    let measured = page.text(&format!("{figure}.dataset.measured"));
    let measured: Vec<Measured> = serde_json::from_str(&measured).expect("what the engine takes");
    let request = Request { name: explorer.name.to_owned(), state, measured };
    show(&request).expect("the state is one")
}

/// The page comes to show what the native emulator shows. What was measured may be veiled.
fn shows(page: &Page, explorer: &Explorer, state: &[(&str, &str)]) {
    let Shown { said, measured, wide, narrow, .. } = native(page, explorer, state);
    let said = said.replace('`', ""); // is set as code
    let also = measured.map_or(said.clone(), |measured| format!("{said} {measured}"));
    let veiled = format!("document.querySelector('{}')", of(explorer, "svg .measured.veiled"));
    page.wait_until(&format!(
        "{} === ({veiled} === null ? {} : {})",
        self::said(explorer),
        json!(also),
        json!(said)
    ));
    let same = format!(
        "(wanted => [...document.querySelectorAll('{}')].every((svg, n) => {{
             const template = document.createElement('template');
             template.innerHTML = wanted[n];
             const shown = svg.outerHTML.replaceAll('measured veiled', 'measured');
             return template.innerHTML.trim() === shown;
         }}))({})",
        of(explorer, "> svg"),
        json!([wide, narrow])
    );
    page.wait_until(&same);
    let kept = state.iter().map(|(knob, value)| {
        (format!("{}.{knob}", explorer.name), Value::String((*value).to_owned()))
    });
    page.wait_until(&format!(
        "JSON.stringify({KEPT}) === JSON.stringify({})",
        Value::Object(kept.collect())
    ));
}

#[test]
fn every_knob_of_an_explorer_moves_by_keyboard() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    for explorer in todays(DAYS, &ALL, |_| false) {
        for knob in explorer.knobs {
            go_to(&mut page, explorer);
            // From here on by Tab; that it leads here from a page's start, another test tries.
            page.evaluate(&format!(
                "(figure => {{ figure.tabIndex = -1; figure.focus(); }})(
                     document.querySelector('[data-explorer={}]'))",
                explorer.name
            ));
            page.tab_to(&of(explorer, &format!("[name={}]", knob.name)));
            let moved = match knob.values {
                Values::Range(_, most) => {
                    let first: u32 = knob.first.parse().expect("a number");
                    let (key, moved) = match first == most {
                        true => (Key::ArrowDown, first - 1),
                        false => (Key::ArrowRight, first + 1),
                    };
                    page.press(key);
                    moved.to_string()
                }
                Values::Choice(words) => {
                    let first = words.iter().position(|(word, _)| *word == knob.first);
                    let first = first.expect("one of them");
                    let (key, moved) = match first + 1 == words.len() {
                        true => (Key::ArrowUp, first - 1),
                        false => (Key::ArrowDown, first + 1),
                    };
                    page.press(key);
                    words[moved].0.to_owned()
                }
                Values::Text { examples, .. } => {
                    // Tab selects what the field holds.
                    page.type_text(examples[0]);
                    examples[0].to_owned()
                }
            };
            shows(&page, explorer, &[(knob.name, &moved)]);
            page.reload();
            shows(&page, explorer, &[(knob.name, &moved)]);
            assert_eq!(page.problems(), [""; 0], "{} {}", explorer.name, knob.name);
        }
    }
}

#[test]
fn an_explorer_moves_by_mouse_and_touch() {
    for view in todays(DAYS, [LIGHT, TABLET, PHONE], |_| false) {
        let press = |page: &Page, selector: &str| {
            page.center(selector);
            if view.phone { page.tap(selector) } else { page.click(selector) }
        };
        let Some(mut page) = Page::get(view) else { return };
        let has_axe = axe::load(&page);
        let mut seen = |explorer: &Explorer, selector: &str, state: &[(&str, &str)]| {
            go_to(&mut page, explorer);
            press(&page, &of(explorer, selector));
            shows(&page, explorer, state);
            let shot = format!("explorer-{}-{}-{}", explorer.name, state.len(), view.name);
            page.screenshot(&shot);
            assert_eq!(page.texts(crate::LAYOUT), [""; 0], "{shot}");
            if view.phone {
                assert_eq!(page.texts(&too_small(explorer)), [""; 0], "{shot}");
            }
            if has_axe {
                // The rest of the page is as it is without an explorer.
                assert_eq!(axe::findings(&page, &of(explorer, ""), Rules::All), [""; 0], "{shot}");
            }
            press(&page, &of(explorer, "[type=reset]"));
            shows(&page, explorer, &[]);
            assert_eq!(page.problems(), [""; 0], "{shot}");
        };
        let [coalescing, banks, transpose, _, warps, formats, ring, rest @ ..] = &ALL;
        let [pipeline, pool, .., waits] = rest;
        // Examples, the middle of a slider, and places of a picture.
        seen(coalescing, "[data-after]", &[("index", "21*t")]);
        seen(coalescing, "[data-value='31-t']", &[("index", "31-t")]);
        seen(warps, ".slider:has([name=step]) [data-step='1']", &[("step", "1")]);
        let svg = shown_in(view);
        let place =
            |knob: &str, value: u32| format!("{svg} [data-state='{knob}={value}']:not([data-for])");
        seen(banks, &place("wavefront", 9), &[("wavefront", "9")]);
        let row = format!("{svg} [data-state='kernel=tile_padded']");
        seen(transpose, &row, &[("kernel", "tile_padded")]);
        seen(warps, &place("step", 416), &[("step", "416")]);
        seen(formats, &place("ones", 1013), &[("ones", "1013")]);
        seen(ring, &place("step", 5), &[("step", "5")]);
        seen(pipeline, "[name=upload]", &[("upload", "4")]);
        seen(pool, "[data-value='a a f f w a']", &[("calls", "a a f f w a")]);
        seen(pool, "[data-adds=a]", &[("calls", "a f w a f w a f w a")]);
        seen(pool, "[data-adds='']", &[("calls", "a f w a f w a f")]);
        seen(waits, &place("schedule", 12), &[("schedule", "12")]);
    }
}

/// A slider is pressed in its middle. Of a choice the next word is taken from the list that opens:
/// a phone shows a list of its own there, which the arrow key stands for.
#[test]
fn every_knob_of_an_explorer_moves_by_mouse_and_touch() {
    for view in [LIGHT, PHONE] {
        let Some(mut page) = Page::get(view) else { return };
        for explorer in todays(DAYS, &ALL, |_| false) {
            go_to(&mut page, explorer);
            for knob in explorer.knobs {
                let Knob { name, first, .. } = knob;
                let selector = of(explorer, &format!("[name={name}]"));
                let value = format!("document.querySelector('{selector}').value");
                page.center(&selector);
                if let Values::Text { .. } = knob.values {
                    continue; // has buttons, which another test presses
                }
                if view.phone {
                    page.tap(&selector)
                } else {
                    page.click(&selector)
                }
                if let Values::Choice(words) = knob.values {
                    let is_last = words.last().is_some_and(|(word, _)| word == first);
                    page.press(if is_last { Key::ArrowUp } else { Key::ArrowDown });
                    page.press(Key::Enter);
                }
                page.wait_until(&format!("{value} !== '{first}'"));
                let moved = page.text(&value);
                shows(&page, explorer, &[(name, &moved)]);
                let shot = format!("explorer-{}-{name}-{}", explorer.name, view.name);
                page.screenshot(&shot);
                assert_eq!(page.texts(crate::LAYOUT), [""; 0], "{shot}");
                assert_eq!(page.problems(), [""; 0], "{shot}");
                let reset = of(explorer, "[type=reset]");
                page.evaluate(&format!("document.querySelector('{reset}').click()"));
                shows(&page, explorer, &[]);
            }
        }
    }
}

/// At the ends of what can be set, text lies apart and inside the picture as well.
#[test]
fn an_explorer_at_its_ends_is_readable() {
    for view in todays(2, [LIGHT, PHONE], |_| false) {
        let Some(mut page) = Page::get(view) else { return };
        for (name, state) in [
            ("coalescing", &[("index", "40*t"), ("bytes", "16")][..]),
            ("banks", &[("bytes", "16"), ("wavefront", "32")]),
            ("transpose", &[("kernel", "vectors"), ("width", "96"), ("warp", "287")]),
            ("layout", &[("tile", "32"), ("read", "8")]),
            ("warps", &[("group", "1"), ("step", "831")]),
            ("formats", &[("ones", "2100"), ("fraction", "10"), ("exponent", "5")]),
            ("formats", &[("ones", "2100"), ("exponent", "2")]),
            ("ring", &[("gpus", "8"), ("step", "14")]),
            ("pipeline", &[("upload", "7"), ("kernel", "7"), ("download", "1"), ("streams", "4")]),
            ("pool", &[("calls", "a a a a a a a a a a a a a a a a a a a a a a a a")]),
            ("pool", &[("calls", "a f w a f w a f w a f w a f w a f w a f w a f w")]),
            ("waits", &[("without", "upload"), ("batch", "3"), ("schedule", "32")]),
        ] {
            let explorer = find(name).expect("it is one");
            go_to(&mut page, explorer);
            let query = state.iter().map(|(knob, value)| {
                format!("{name}.{knob}={}", value.replace(' ', "+").replace('*', "%2A"))
            });
            let query = query.collect::<Vec<_>>().join("&");
            page.ask(&query);
            let said = native(&page, explorer, state).said.replace('`', "");
            page.wait_until(&format!("{}.startsWith({})", self::said(explorer), json!(said)));
            let shot = format!("explorer-{name}-{}-end-{}", state.len(), view.name);
            page.screenshot(&shot);
            assert_eq!(page.texts(crate::LAYOUT), [""; 0], "{query} {}", view.name);
            assert_eq!(page.problems(), [""; 0], "{query}");
        }
    }
}

/// The picture that is shown in a window of this size.
fn shown_in(view: View) -> &'static str {
    if view.width < 600 { "svg.narrow" } else { "svg.wide" }
}

/// What of an explorer's form a finger would miss.
fn too_small(explorer: &Explorer) -> String {
    format!(
        "[...document.querySelectorAll('{}')]
             .filter(part => part.getBoundingClientRect().height < 44)
             .map(part => `${{part.outerHTML}} is too small`)",
        of(explorer, "form :is(input, select, button)")
    )
}

#[test]
fn calls_and_warps_are_dragged() {
    for view in todays(DAYS, [LIGHT, TABLET, PHONE], |_| false) {
        let Some(page) = &mut Page::get(view) else { return };
        let mut dragged = |name: &str, thing: &str, to: &str, state: &[(&str, &str)]| {
            let explorer = find(name).expect("it is one");
            go_to(page, explorer);
            let svg = of(explorer, shown_in(view));
            page.center(&svg);
            let handle = format!("{svg} [data-drag={thing}]");
            page.drag(&handle, &format!("{svg} [data-for={thing}]{to}"), view.phone);
            shows(page, explorer, state);
            assert_eq!(page.problems(), [""; 0], "{name} {}", view.name);
        };
        let to = |state: &str| format!("[data-state='{state}']");
        let order = "upload-download-kernel";
        let place = to(&format!("kernel=default&order={order}"));
        dragged("legacy", "kernel", &place, &[("order", order)]);
        let place = to("upload=2&order=kernel-upload-download");
        let state = [("order", "kernel-upload-download"), ("upload", "2")];
        dragged("legacy", "upload", &place, &state);
        let place = to("kernel=2&issue=kernel_first");
        dragged("overlap", "kernel", &place, &[("issue", "kernel_first"), ("kernel", "2")]);
    }
}

/// Whatever kernel it is of: over the input, the output, and the tile.
#[test]
fn a_warp_is_dragged_over_each_picture_of_it() {
    let transpose = find("transpose").expect("it is one");
    for view in todays(DAYS, [LIGHT, TABLET, PHONE], |_| false) {
        let Some(page) = &mut open(view, transpose) else { return };
        for kernel in ["read_coalesced", "tile", "several"] {
            for (number, warp) in [(0, "11"), (1, "12"), (2, "2")] {
                if (kernel, number) == ("read_coalesced", 2) {
                    continue; // it has no tile
                }
                let state = format!("transpose.kernel={kernel}&transpose.warp=1");
                page.ask(&state);
                let told = [("kernel", kernel), ("warp", "1")];
                let skip = usize::from(kernel == "read_coalesced");
                shows(page, transpose, &told[skip..]);
                page.evaluate(&format!(
                    "(() => {{
                         const all = selector => [...document.querySelectorAll(selector)];
                         const thing = all('{svg} [data-drag=warp]')[{number}];
                         const {{ left, right, top, bottom }} = thing.getBoundingClientRect();
                         const place = all('{svg} [data-for=warp][data-state=\"warp={warp}\"]')
                             .find(place => {{
                                 const {{ x, y, width, height }} = place.getBoundingClientRect();
                                 const [across, down] = [x + width / 2, y + height / 2];
                                 return left < across && across < right && top < down && down < bottom;
                             }});
                         [thing.id, place.id] = ['thing', 'place'];
                         thing.scrollIntoView({{ block: 'center' }});
                     }})()",
                    svg = of(transpose, shown_in(view)),
                ));
                page.drag("#thing", "#place", view.phone);
                let told = [("kernel", kernel), ("warp", warp)];
                shows(page, transpose, &told[skip..]);
                assert_eq!(page.problems(), [""; 0], "{kernel} {number} {}", view.name);
            }
        }
    }
}

/// Below a veiled chart an explorer waits, and says so in words. By keyboard alone a reader gets
/// from there to the question, or to the explorer.
#[test]
fn an_explorer_says_what_it_waits_for() {
    let mut waiting = 0;
    let views = todays(2, [LIGHT, PHONE], |_| false);
    for view in &views {
        for explorer in &ALL {
            let Some(mut page) = Page::get(*view) else { return };
            let has_axe = axe::load(&page);
            page.open(&book::chapters_with(&format!("data-explorer=\"{}\"", explorer.name))[0]);
            let figure = format!("document.querySelector('[data-explorer={}]')", explorer.name);
            let words = format!("p.veil-text:has(+ {})", of(explorer, "").trim_end());
            let told = format!("document.querySelector('{words}')");
            let waits = page.holds(&format!("{figure}.inert"));
            assert_eq!(page.holds(&format!("{told} !== null")), waits, "{}", explorer.name);
            if !waits {
                continue;
            }
            waiting += 1;
            assert!(
                page.text(&format!("{told}.textContent")).contains("waits for your prediction")
            );
            page.evaluate(&format!("{told}.scrollIntoView({{ block: 'center' }})"));
            page.screenshot(&format!("explorer-waits-{}-{}", explorer.name, view.name));
            if has_axe {
                assert_eq!(axe::findings(&page, &words, Rules::All), [""; 0]);
            }
            page.tab_to(&format!("{words} button:first-of-type"));
            page.press(Key::Enter);
            assert!(page.holds("document.activeElement.closest('.prediction') !== null"));
            page.tab_to(&format!("{words} button:last-of-type"));
            page.press(Key::Enter);
            assert!(page.holds(&format!(
                "!{figure}.inert && document.activeElement === {figure} && {told} === null"
            )));
            page.press(Key::Tab);
            assert!(page.holds(&format!(
                "document.activeElement.closest('form') \
                === {figure}.querySelector('form')"
            )));
            assert_eq!(page.problems(), [""; 0], "{} {}", explorer.name, view.name);
        }
    }
    assert_eq!(waiting, 8 * views.len());
}

/// A screen reader hears what each knob is called and what it is at, and what the picture shows
/// whenever that changes.
#[test]
fn a_screen_reader_hears_knobs_and_what_they_do() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    for explorer in &ALL {
        go_to(&mut page, explorer);
        let tree = page.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().expect("a list");
        let of_role =
            |role: &'static str| nodes.iter().filter(move |node| node["role"]["value"] == role);
        for Knob { name, label, first, values } in explorer.knobs {
            let role = match values {
                Values::Range(..) => "slider",
                Values::Choice(_) => "combobox",
                Values::Text { .. } => "textbox",
            };
            let mut named = of_role(role).filter(|node| node["name"]["value"] == *label);
            let node = named.next().unwrap_or_else(|| panic!("no {role} is called {label}"));
            let heard = match &node["value"]["value"] {
                Value::String(heard) => heard.clone(),
                heard => heard.to_string(),
            };
            let first = match values {
                Values::Choice(words) => words.iter().find(|(word, _)| word == first).unwrap().1,
                _ => first,
            };
            assert_eq!(heard.replace('\u{a0}', " "), first, "{} {name}", explorer.name);
        }
        let is_live = |node: &&Value| {
            let has = |property: &Value| {
                property["name"] == "live" && property["value"]["value"] == "polite"
            };
            node["properties"].as_array().is_some_and(|all| all.iter().any(has))
        };
        assert!(of_role("status").find(is_live).is_some(), "{}", explorer.name);
        // What is announced is one element, whose text changes.
        let place = format!("document.querySelector('{}')", of(explorer, "[role=status]"));
        page.evaluate(&format!("window.announced = {place}"));
        let knob = explorer.knobs.last().expect("it has one");
        page.tab_to(&of(explorer, &format!("[name={}]", knob.name)));
        let key = match knob.values {
            Values::Range(_, most) if most.to_string() == knob.first => Key::ArrowDown,
            Values::Range(..) => Key::ArrowRight,
            _ => Key::ArrowDown,
        };
        page.press(key);
        let value = page.text("document.activeElement.value");
        shows(&page, explorer, &[(knob.name, &value)]);
        assert!(page.holds(&format!("window.announced === {place}")), "{}", explorer.name);
        assert_eq!(page.problems(), [""; 0], "{}", explorer.name);
    }
}

/// Also for readers who have not asked for it.
#[test]
fn nothing_in_an_explorer_moves_by_itself() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    let motion = json!({ "name": "prefers-reduced-motion", "value": "no-preference" });
    page.call("Emulation.setEmulatedMedia", json!({ "features": [motion] }));
    for explorer in &ALL {
        go_to(&mut page, explorer);
        let moves = page.evaluate(&format!(
            "(async () => {{
                 const figure = document.querySelector('[data-explorer={}]');
                 const wait = time => new Promise(done => setTimeout(done, time));
                 const before = figure.querySelector('svg.wide');
                 const knob = figure.querySelector('[type=range], select');
                 knob.value = knob.options?.[1].value ?? knob.max;
                 knob.dispatchEvent(new Event('input', {{ bubbles: true }}));
                 while (figure.querySelector('svg.wide') === before) {{
                     await wait(10);
                 }}
                 const moving = figure.getAnimations({{ subtree: true }}).length;
                 const drawn = figure.outerHTML;
                 await wait(300);
                 return moving > 0 || figure.outerHTML !== drawn;
             }})()",
            explorer.name
        ));
        assert_eq!(moves, false, "{}", explorer.name);
    }
}

#[test]
fn what_was_measured_is_shown_after_the_prediction() {
    let Some(page) = &mut Page::of(LIGHT, "data-explorer=\"banks\"") else { return };
    for name in
        ["coalescing", "banks", "transpose", "layout", "formats", "pipeline", "pool", "overlap"]
    {
        let figure = format!("data-explorer=\"{name}\"");
        let has_curve = |chapter: &PathBuf| {
            let text = std::fs::read_to_string(chapter).expect("it is text");
            let (_, figure) = text.split_once(&figure).expect("it is there");
            let (figure, _) = figure.split_once("</figure>").expect("it ends");
            figure.contains("<g class=\"measured\"")
        };
        assert!(book::chapters_with(&figure).iter().any(has_curve), "{name}");
    }
    let explorer = find("banks").expect("it is one");
    let shown = format!(
        "document.querySelector('{}').checkVisibility({{ visibilityProperty: true }})",
        of(explorer, "svg.wide .measured > :not(.until)")
    );
    assert!(!page.holds(&shown));
    assert!(page.holds("document.querySelector('[data-explorer=banks]').inert"));
    page.evaluate(UNVEIL);
    page.wait_until(&shown);
    let more = of(explorer, ".slider:has([name=padding]) [data-step='1']");
    page.center(&more);
    page.click(&more);
    shows(page, explorer, &[("padding", "1")]);
    let told = page.text(&said(explorer));
    assert!(told.contains(" 1 wavefront. Measured, "), "{told}");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn an_explorer_adds_little_to_its_page() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    for explorer in &ALL {
        go_to(&mut page, explorer);
        let files = page.texts(&format!(
            "[document.querySelector('[data-explorer={}]').dataset.engine,
              ...[...document.querySelectorAll('script[src], link[href]')]
                  .map(file => file.src ?? file.href)
                  .filter(file => /(explorer|workers)[^/]*$/.test(file))]
                 .map(file => decodeURI(new URL(file, document.baseURI).pathname))",
            explorer.name
        ));
        assert_eq!(files.len(), 4, "{files:?}");
        let size = |file: &String| std::fs::metadata(file).expect(file).len();
        // Its picture is the page's own, and stands there without any of these.
        let measured = page.evaluate(&format!(
            "new Blob([document.querySelector('[data-explorer={}]').dataset.measured]).size",
            explorer.name
        ));
        let bytes = files.iter().map(size).sum::<u64>() + measured.as_u64().expect("a number");
        println!("{}: {bytes} bytes", explorer.name);
        assert!(bytes < 610 << 10, "{}: {bytes} bytes", explorer.name);
    }
}

#[test]
fn a_picture_follows_its_knob_at_once() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    for explorer in &ALL {
        go_to(&mut page, explorer);
        for Knob { name, .. } in explorer.knobs {
            // From the knob to the picture, in milliseconds: the best of some, on a busy machine.
            let taken = page.evaluate(&format!(
                "(async () => {{
                     const figure = document.querySelector('[data-explorer={}]');
                     const knob = figure.querySelector('[name={name}]');
                     const first = knob.value;
                     const examples = [...figure.querySelectorAll('[data-sets={name}][data-value]')];
                     const values = knob.type === 'range' ? [knob.max, knob.min]
                         : knob.options === undefined ? examples.map(({{ dataset }}) => dataset.value)
                         : [...knob.options].map(({{ value }}) => value);
                     const taken = [];
                     const set = async value => {{
                         const before = figure.querySelector('svg.wide');
                         const start = performance.now();
                         knob.value = value;
                         knob.dispatchEvent(new Event('input', {{ bubbles: true }}));
                         while (figure.querySelector('svg.wide') === before) {{
                             await new Promise(done => setTimeout(done));
                         }}
                         taken.push(performance.now() - start);
                     }};
                     for (let n = 0; n < 8; n += 1) {{
                         await set(values[(n + 1) % values.length]);
                     }}
                     await set(first);
                     return taken.sort((a, b) => a - b);
                 }})()",
                explorer.name
            ));
            println!("{} {name}: {taken}", explorer.name);
            let best = taken[0].as_f64().expect("milliseconds");
            assert!(best < 100.0, "{} {name}: {taken}", explorer.name);
        }
    }
}

#[test]
fn without_javascript_or_webassembly_an_explorer_is_a_picture() {
    for has_scripts in [false, true] {
        let Some(mut page) = Page::get(PHONE) else { return };
        match has_scripts {
            true => page.before_load("delete window.WebAssembly;"),
            false => page.disable_scripts(),
        }
        page.open(&book::chapters_with("data-explorer=\"banks\"")[0]);
        let said = native(&page, &ALL[1], &[]).said;
        assert_eq!(page.text(&self::said(&ALL[1])), said);
        assert!(page.holds(
            "document.querySelector('.explorer form').checkVisibility() === false &&
             document.querySelector('.explorer .still').checkVisibility() &&
             document.querySelector('.explorer svg.narrow').checkVisibility()"
        ));
    }
}

/// What takes its time is stopped, by the clock or by hand; then it goes on.
#[test]
fn the_engine_is_stopped_and_goes_on() {
    let Some(mut page) = open(LIGHT, &ALL[0]) else { return };
    let told = |how: &str| {
        page.text(&format!(
            "(async () => {{
                 const engine = document.querySelector('.explorer').engine;
                 await engine.start();
                 const many = {{ name: 'formats', state: {{ ones: '2100' }} }};
                 {how}
             }})()"
        ))
    };
    assert_eq!(
        told("return (await engine.ask(many, 0.001)).error;"),
        "Stopped: the kernel did not end within 0.001 s."
    );
    let by_hand = "const asked = engine.ask(many);
        setTimeout(engine.stop); return (await asked).error;";
    assert_eq!(told(by_hand), "Stopped.");
    let said = told("return (await engine.ask(many)).said;");
    assert!(said.starts_with("Ones added: 2,100."), "{said}");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn an_explorer_says_what_is_wrong_with_an_address() {
    let Some(mut page) = open(LIGHT, &ALL[0]) else { return };
    for (index, part) in
        [("t-1", "Lane 0 reads 4 bytes at "), ("2t", "2t: write 2*t"), ("t*(", "The index ends")]
    {
        let index = index.replace('*', "%2A");
        page.ask(&format!("coalescing.index={index}"));
        page.wait_until(&format!("{}.includes({})", said(&ALL[0]), json!(part)));
        assert!(page.holds("document.querySelector('.explorer.refused') !== null"));
        assert!(page.holds("document.querySelector('.explorer [aria-invalid=true]') !== null"));
        for picture in page.texts(
            "[...document.querySelectorAll('.explorer > svg')].map(picture => picture.ariaLabel)",
        ) {
            assert!(picture.contains(&part.replace('`', "")), "{picture}");
            assert!(picture.ends_with("The picture is of the setting before."), "{picture}");
        }
    }
    // What no knob can be is left out.
    page.ask("coalescing.bytes=99&coalescing.index=2%2At");
    page.wait_until(&format!("{}.includes('bytes=99 cannot be set here')", said(&ALL[0])));
    page.wait_until(&format!("JSON.stringify({KEPT}) === '{{\"coalescing.index\":\"2*t\"}}'"));
    assert_eq!(page.problems(), [""; 0]);
}

/// Below a veiled chart an explorer waits for the prediction, unless a link leads to it.
#[test]
fn a_link_to_a_setting_shows_it_at_once() {
    let pipeline = find("pipeline").expect("it is one");
    let Some(mut page) = Page::of(LIGHT, "data-explorer=\"pipeline\"") else { return };
    let waits =
        format!("document.querySelector('{}').closest('[inert]') !== null", of(pipeline, ".said"));
    assert!(page.holds(&waits));
    page.ask("pipeline.streams=3");
    assert!(!page.holds(&waits));
    shows(&page, pipeline, &[("streams", "3")]);
    assert_eq!(page.problems(), [""; 0]);
}

/// A setting is sent as a link: whoever follows it sees the explorer, and not the page's start.
#[test]
fn a_link_to_a_setting_leads_to_it() {
    for view in [LIGHT, PHONE] {
        let Some(mut page) = Page::get(view) else { return };
        for explorer in &ALL {
            let knob = explorer.knobs.iter().find_map(|knob| match knob.values {
                Values::Range(least, most) => {
                    Some((knob.name, if knob.first == most.to_string() { least } else { most }))
                }
                _ => None,
            });
            let Some((knob, value)) = knob else { continue };
            go_to(&mut page, explorer);
            page.ask(&format!("{}.{knob}={value}", explorer.name));
            let figure = format!("document.querySelector('[data-explorer={}]')", explorer.name);
            let is_there =
                format!("(top => top > 0 && top < 150)({figure}.getBoundingClientRect().top)");
            page.wait_until(&is_there);
            // The address is complete now, and is what is sent.
            page.wait_until(&format!("location.hash === '#explorer-{}'", explorer.name));
            let Some(mut other) = Page::get(view) else { return };
            other.visit(&page.text("location.href"));
            other.wait_until(&is_there);
            let reset = of(explorer, "[type=reset]");
            other.evaluate(&format!("document.querySelector('{reset}').click()"));
            other.wait_until("location.search === '' && location.hash === ''");
            assert_eq!(other.problems(), [""; 0], "{} {}", explorer.name, view.name);
        }
    }
}

#[test]
fn a_knob_goes_no_further_than_the_others_leave_it() {
    let ring = find("ring").expect("it is one");
    let Some(mut page) = open(LIGHT, ring) else { return };
    page.ask("ring.gpus=3&ring.step=14");
    shows(&page, ring, &[("gpus", "3"), ("step", "4")]);
    let ends = |explorer: &Explorer, knob: &str| {
        let slider = of(explorer, &format!("[name={knob}]"));
        format!("(slider => [slider.value, slider.max].join())(document.querySelector('{slider}'))")
    };
    assert_eq!(page.text(&ends(ring, "step")), "4,4");
    let transpose = find("transpose").expect("it is one");
    let Some(mut page) = open(LIGHT, transpose) else { return };
    assert_eq!(page.text(&ends(transpose, "warp")), "5,127");
    page.ask("transpose.height=96&transpose.warp=191");
    shows(&page, transpose, &[("height", "96"), ("warp", "191")]);
    assert_eq!(page.text(&ends(transpose, "warp")), "191,191");
    assert_eq!(page.problems(), [""; 0]);
}
