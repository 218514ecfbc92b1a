//! The built book in a real browser: every page in all themes and at phone width; the prediction
//! box and the explorers in the hands of a reader; without JavaScript, without storage and on paper.
//!
//! Without a Chromium, or one of them without axe-core, the tests are skipped. `CHROMIUM` chooses
//! the executable. `WORKBOOK_SCREENSHOTS=DIR` saves a picture of every page in every view.

// The browser is reached through pipes that a Unix shell sets up.
#![cfg(unix)]

#[path = "browser/axe.rs"]
mod axe;
#[path = "browser/book.rs"]
mod book;
#[path = "support/checkout.rs"]
mod checkout;
#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/curve.rs"]
mod curve;
#[path = "browser/editing.rs"]
mod editing;
#[path = "browser/editor.rs"]
mod editor;
#[path = "browser/explorer.rs"]
mod explorer;
#[path = "browser/page.rs"]
mod page;
#[path = "browser/prediction.rs"]
mod prediction;
#[path = "browser/readme.rs"]
mod readme;
#[path = "support/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "support/skip.rs"]
mod skip;
#[path = "support/turns.rs"]
mod turns;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use axe::Rules;
use checkout::{Checkout, other_machine};
use chromium::Browser;
use page::{DARK, Key, LIGHT, PHONE, Page, View};
use prediction::{INPUT, Prediction};
use serde_json::json;
use server::Server;

/// Lists what is wrong with a page's layout.
const LAYOUT: &str = include_str!("browser/layout.js");
/// Lists what is too faint in a page's theme.
const CONTRAST: &str = include_str!("browser/contrast.js");

/// Folds the table of contents, as it is from the start on a phone.
const FOLD_CONTENTS: &str = "(() => {
    const sidebar = document.getElementById('mdbook-sidebar');
    const toggle = document.getElementById('mdbook-sidebar-toggle-anchor');
    document.documentElement.append(Object.assign(
        document.createElement('style'), { textContent: '* { transition: none !important; }' }));
    toggle.checked = false;
    toggle.dispatchEvent(new Event('change'));
    sidebar.style.display = 'none';
    localStorage.removeItem('mdbook-sidebar');
})()";
/// Lists cells in the first column that scroll with the rest of their table.
const MOVED: &str =
    "[...document.querySelectorAll('main [data-scrolls]:has(table)')].map(table => {
    const cell = table.querySelector(
        'tbody tr > :first-child:not([colspan]), tbody [scope=rowgroup] > span');
    const before = cell.getBoundingClientRect();
    table.scrollLeft = 40;
    const after = cell.getBoundingClientRect();
    const room = table.clientWidth - after.width;
    return before.left === after.left && room > 100 ? '' : cell.textContent;
})";

/// Every page is loaded once, and then looked at in all themes and as on a phone. No errors, no
/// requests beyond the book, nothing outside the window, every chart shown and readable, no colour
/// too faint; and on a third of the pages, others each day, nothing that keeps people from using it.
#[test]
fn every_page_is_faultless() {
    let Some(browser) = Browser::get() else { return };
    let typical = |page: &PathBuf| is_typical(&book::name(page));
    let with_axe = turns::todays(3, book::chapters(), typical);
    let pages = Mutex::new(book::pages().into_iter());
    let next = || pages.lock().expect("no page was being taken").next();
    let tables = AtomicUsize::new(0);
    let look_at_some = || {
        let mut page = Page::new(browser, LIGHT);
        let has_axe = axe::load(&page);
        let mut faults = vec![];
        while let Some(file) = next() {
            let name = book::name(&file);
            let mut found = vec![];
            page.look(LIGHT);
            page.open(&file);
            if book::is_copy(&file) {
                found.extend(page.texts(LAYOUT));
            } else {
                let axe = has_axe && with_axe.contains(&file);
                look_at(&page, &name, axe, &mut found);
                let scrolling = page.texts(MOVED);
                tables.fetch_add(scrolling.len(), Ordering::Relaxed);
                let moved = scrolling.into_iter().filter(|cell| !cell.is_empty());
                found.extend(moved.map(|cell| format!("{cell} scrolls with its table")));
            }
            // The pictures are for judging charts, so they show them.
            page.evaluate(
                "document.querySelectorAll('.veil button:last-child')
                     .forEach(button => button.click())",
            );
            if page::screenshots().is_some() {
                for view in [PHONE, DARK, LIGHT] {
                    page.look(view);
                    page.screenshot(&format!("{name}-{}", view.name));
                }
            }
            found.extend(page.problems());
            found.sort();
            found.dedup();
            faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        }
        faults
    };
    let faults: Vec<String> = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(4);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(look_at_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("it has not failed")).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tables.into_inner() > 0, "no table scrolls on a phone");
}

/// Whether it is one of the pages with all kinds of elements.
fn is_typical(name: &str) -> bool {
    ["introduction", "access-patterns-coalescing", "scorecard"].contains(&name)
}

/// Looks at a chapter that was opened in the light theme, and leaves it as on a phone.
fn look_at(page: &Page, name: &str, axe: bool, found: &mut Vec<String>) {
    // The contrast of all is cheaper to look at by ourselves.
    let is_typical = is_typical(name);
    for view in [LIGHT, DARK, PHONE] {
        page.look(view);
        if view.phone {
            page.evaluate(FOLD_CONTENTS);
        }
        let scheme = "getComputedStyle(document.documentElement).colorScheme";
        page.wait_until(&format!("{scheme} === '{}'", view.colors));
        let mut faults = vec![];
        if view == LIGHT {
            faults.extend(page.texts(&faint_in_all_themes()));
        }
        if axe && (view != DARK || is_typical) {
            let rules = match is_typical {
                true => Rules::All,
                false if view == LIGHT => Rules::AllButContrast,
                false => Rules::OfScrolling,
            };
            faults.extend(axe::findings(page, "html", rules));
        }
        // All themes have one layout.
        if view != DARK {
            faults.extend(page.texts(LAYOUT));
        }
        found.extend(faults.into_iter().map(|fault| format!("{}: {fault}", view.name)));
    }
}

/// Lists what is too faint in each of mdBook's themes, of which the light one stays. All are
/// looked at at once, so that none is drawn but that.
fn faint_in_all_themes() -> String {
    format!(
        "['rust', 'coal', 'navy', 'ayu', 'light'].flatMap((theme, _, themes) => {{
             document.documentElement.classList.remove(...themes);
             document.documentElement.classList.add(theme);
             const faint = {CONTRAST};
             return faint.map(fault => `${{theme}}: ${{fault}}`);
         }})"
    )
}

/// Finds the first chart of lines on a page, and shows it if it is veiled.
const CHART: &str = "(() => {
    const figure = [...document.querySelectorAll('figure.chart')].find(
        figure => figure.querySelectorAll('.wide .hover > g').length > 1);
    figure.querySelector('.veil button:last-child')?.click();
    figure.id = 'chart';
    figure.scrollIntoView({ block: 'center' });
})()";
/// What it says, and which of its targets is marked.
const READOUT: &str = "document.querySelector('#chart .readout').textContent";
const MARKED: &str = "[...document.querySelectorAll('#chart .wide .hover > g')]
    .map((group, row) => [row, [...group.children].findIndex(
        target => target.classList.contains('shown'))])
    .find(([, place]) => place >= 0) ?? null";

#[test]
fn a_charts_values_can_be_walked_through_by_keyboard() {
    let Some(mut page) = Page::of(LIGHT, "data-value-scale") else { return };
    let address = page.text("location.href");
    page.evaluate(CHART);
    page.tab_to("#chart > svg");
    assert_eq!(page.text(READOUT), "The arrow keys walk through the values.");
    let mut said = Vec::new();
    for (key, marked) in [
        (Key::ArrowRight, json!([0, 0])),
        (Key::ArrowRight, json!([0, 1])),
        (Key::ArrowDown, json!([1, 1])),
    ] {
        page.press(key);
        assert_eq!(page.evaluate(MARKED), marked);
        said.push(page.text(READOUT));
    }
    said.dedup();
    assert!(said.len() == 3 && said.iter().all(|text| text.contains(": ")), "{said:?}");
    page.press(Key::End);
    assert!(page.holds("document.querySelector('#chart .shown').nextSibling?.nextSibling == null"));
    assert!(page.holds("document.querySelector('#chart .readout').checkVisibility()"));
    page.screenshot("chart-values");
    page.press(Key::Escape);
    assert_eq!((page.text(READOUT), page.evaluate(MARKED)), (String::new(), json!(null)));
    assert_eq!(page.text("location.href"), address, "the keys turned the page");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_charts_values_show_where_it_is_pointed_at_or_tapped() {
    for view in [LIGHT, PHONE] {
        let Some(page) = Page::of(view, "data-value-scale") else { return };
        page.evaluate(CHART);
        let shown = if view.phone { ".narrow" } else { ".wide" };
        let target = format!("#chart {shown} .hover > g > circle");
        if view.phone {
            page.tap(&target)
        } else {
            page.point_at(&target)
        }
        page.wait_until(&format!("document.querySelector({target:?}).matches('.shown')"));
        let said = page.text(READOUT);
        assert!(said.contains(": "), "{said}");
        // The readout lies in the window, and what it says is not said twice.
        assert_eq!(page.texts(LAYOUT), [""; 0]);
        assert!(page.holds("document.querySelector('.hover title') === null"));
        page.screenshot(&format!("chart-pointed-{}", view.name));
        if !view.phone {
            page.point_at("figcaption");
            page.wait_until(&format!("{READOUT} === ''"));
        }
    }
}

/// Every setting with each model, a few numbers with each.
fn budgets() -> Vec<serde_json::Value> {
    use budget::{Attention, Budget, Offload, Optimiser, Plan, Precision};
    use budget::{Quantised, Sharding, Task};
    let mut plans = vec![Plan::default()];
    let mut each = |change: &dyn Fn(&mut Plan, usize), count: usize| {
        let changed = |plan: &Plan| {
            let plan = plan.clone();
            (0..count).map(move |which| {
                let mut plan = plan.clone();
                change(&mut plan, which);
                plan
            })
        };
        plans = plans.iter().flat_map(changed).collect();
    };
    each(&|plan, n| plan.task = Task::ALL[n].1, Task::ALL.len());
    each(&|plan, n| plan.precision = Precision::ALL[n].1, Precision::ALL.len());
    each(&|plan, n| plan.quantised = Quantised::ALL[n].1, Quantised::ALL.len());
    each(&|plan, n| plan.sharding = Sharding::ALL[n].1, Sharding::ALL.len());
    each(&|plan, n| plan.offload = Offload::ALL[n].1, Offload::ALL.len());
    each(&|plan, n| plan.attention = Attention::ALL[n].1, Attention::ALL.len());
    each(&|plan, n| plan.checkpointing = n == 1, 2);
    each(&|plan, n| plan.lora_rank = [0.0, 16.0][n], 2);
    let mut numbers = (0..).map(|n: usize| {
        let [batch, tokens, gpus] = [n % 5, n % 7, n % 4].map(|n| 1_u32 << n);
        (f64::from(batch), 128.0 * f64::from(tokens), f64::from(gpus))
    });
    let mut all = vec![];
    for (number, mut plan) in plans.into_iter().enumerate() {
        // Adapters are of training; the page asks for none elsewhere.
        if plan.task == Task::Inference {
            plan.lora_rank = 0.0;
        }
        (plan.batch, plan.tokens, plan.gpus) = numbers.next().expect("endless");
        plan.optimiser = Optimiser::ALL[number % Optimiser::ALL.len()].1;
        let model = &budget::models()[number % budget::models().len()];
        let found = match Budget::of(model, &plan) {
            Ok(budget) => json!(budget),
            Err(problem) => json!(problem.to_string()),
        };
        all.push(json!([model, plan, found]));
    }
    all
}

#[test]
fn the_calculators_script_computes_what_the_library_does() {
    let Some(page) = Page::of(LIGHT, "class=\"budget\"") else { return };
    let budgets = budgets();
    assert!(budgets.iter().any(|b| b[2].is_object()), "no plan is sound");
    let wrong = page.texts(&format!(
        "{}.filter(([model, plan, wanted]) => {{
             const found = document.querySelector('section.budget').budgetOf(model, plan);
             const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.abs(b);
             return typeof wanted === 'string' || typeof found === 'string'
                 ? found !== wanted
                 : Object.keys(wanted).some(part => !near(found[part], wanted[part]));
         }}).map(each => JSON.stringify(each))",
        json!(budgets)
    ));
    assert!(wrong.is_empty(), "{} of {}: {}", wrong.len(), budgets.len(), wrong[0]);
}

#[test]
fn the_calculator_needs_only_the_keyboard() {
    let Some(mut page) = Page::of(LIGHT, "class=\"budget\"") else { return };
    let address = page.text("location.href");
    let said = "document.querySelector('.budget .fits').textContent";
    let before = page.text(said);
    page.tab_to(".budget input[name=tokens]");
    page.press(Key::ArrowRight);
    assert_ne!(page.text(said), before);
    assert_eq!(page.text("document.activeElement.getAttribute('aria-valuetext')"), "4,096");
    assert_eq!(page.text("location.href"), address, "the key turned the page");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn the_keyboard_skips_the_table_of_contents() {
    let Some(page) = Page::of(LIGHT, "class=\"table\"") else { return };
    page.press(Key::Tab);
    assert_eq!(page.text("document.activeElement.textContent"), "Skip to the page");
    page.press(Key::Enter);
    page.press(Key::Tab);
    assert!(page.holds("document.activeElement.closest('main') !== null"));
}

#[test]
fn a_prediction_needs_only_the_keyboard_and_is_kept() {
    let Some(mut prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    assert!(prediction.is_veiled());
    assert_eq!(prediction.evaluate::<String>("outcome.textContent"), "");
    prediction.page.screenshot("prediction-asked");

    prediction.page.tab_to(INPUT);
    assert!(prediction.holds("getComputedStyle(input).outlineStyle !== 'none'"));
    let first = rounded(1.3 * prediction.answer());
    prediction.page.type_text(&first.to_string());
    prediction.page.press(Key::Enter);
    assert_made(&prediction, first);
    assert!(prediction.holds("document.activeElement === input"));
    prediction.page.screenshot("prediction-made");

    prediction.page.reload();
    assert_made(&prediction, first);

    // Reaching the field by Tab selects what it holds, as in every form. What is guessed now
    // that the answer is known is drawn, and does not count.
    prediction.page.tab_to(INPUT);
    let second = rounded(0.4 * prediction.answer());
    prediction.page.type_text(&second.to_string());
    prediction.page.press(Key::Enter);
    assert_made(&prediction, second);
    let outcome: String = prediction.evaluate("outcome.textContent");
    assert!(outcome.contains(&format!("Your first guess counts, {first}")), "{outcome}");
    prediction.page.reload();
    assert_made(&prediction, first);
    assert_eq!(prediction.page.problems(), [""; 0]);
}

/// Four significant digits: something a reader might type.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("Rust reads what it prints")
}

/// The page shows `guess`, how it compares, the explanation and the figure with it.
fn assert_made(prediction: &Prediction, guess: f64) {
    let outcome: String = prediction.evaluate("outcome.textContent");
    assert!(outcome.contains(&format!("You predicted {guess}")), "{outcome}");
    let answer: String = prediction.evaluate("section.dataset.answerText");
    assert!(outcome.contains(&answer), "{outcome}");
    assert!(prediction.holds("details.open && answer.checkVisibility()"));
    assert!(!prediction.is_veiled());
    for drawn in prediction.drawn(guess) {
        assert!(drawn.error < 0.01 && !drawn.arrow, "{drawn:?}");
        assert_eq!(drawn.label, "your prediction");
    }
}

#[test]
fn a_prediction_is_scored_in_words() {
    let Some(prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    let answer = prediction.answer();
    for (factor, score, side) in [
        (1.0, "Spot on.", "right to within 0.5%"),
        (1.05, "Spot on.", "too high"),
        (0.93, "Spot on.", "too low"),
        (1.4, "Close.", "too high"),
        (0.7, "Close.", "too low"),
        (2.5, "Right order of magnitude.", "a factor of 2.5 too high"),
        (0.4, "Right order of magnitude.", "a factor of 2.5 too low"),
        (10.0, "Surprised: read on.", "a factor of 10 too high"),
        (0.0, "Surprised: read on.", "too low"),
    ] {
        let outcome = prediction.guess(&(answer * factor).to_string());
        assert!(outcome.starts_with(score), "{factor}: {outcome}");
        assert!(outcome.contains(&format!("{side}.")), "{factor}: {outcome}");
    }
}

/// Nobody is nearly right about what can be counted.
#[test]
fn what_is_computed_is_right_or_not() {
    let Some(mut page) = Page::of(LIGHT, "id=\"prediction-first-steps-bytes\"") else { return };
    let guess = |page: &Page, text: &str| {
        page.text(&format!(
            "(section => {{
                 section.querySelector('input').value = {text:?};
                 section.querySelector('form').requestSubmit();
                 return section.querySelector('.outcome').textContent;
             }})(document.querySelector('.prediction'))"
        ))
    };
    let opened = "document.querySelector('.prediction details').open";
    page.evaluate("document.querySelector('.because input').value = '<i>two</i> go over'");
    // A wrong answer that one can understand is answered, and there is a second try.
    let again = "Not quite. How do the sums get back? Try once more.";
    assert_eq!((guess(&page, "8000"), page.holds(opened)), (again.to_owned(), false));
    page.reload();
    assert_eq!(page.text("document.querySelector('.outcome').textContent"), again);
    let first = "Your first guess counts, 8000\u{a0}bytes.";
    assert_eq!(guess(&page, "12,001"), format!("Not quite: it is 12,000 bytes. {first}"));
    assert!(page.holds(opened));
    let reason = "document.querySelector('.prediction .reason').textContent";
    assert_eq!(page.text(reason), "You said: because <i>two</i> go over");
    page.reload();
    assert!(page.holds(opened));
    assert_eq!(guess(&page, "12000"), format!("Right. {first}"));
    let text = page.my_predictions();
    assert!(text.contains(" questions: 1 not quite.") && !text.contains("half of"), "{text}");
}

/// A question without a number, in the hands of a reader who has only a keyboard.
#[test]
fn what_is_no_number_is_chosen() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    let mut pages = book::chapters_with(" data-choices=").into_iter();
    let page_of_kinds = pages.find(|page| page.ends_with("broken-kernels.html"));
    page.open(&page_of_kinds.expect("it asks for kinds of mistakes"));
    let submit = "document.querySelector('.prediction form').requestSubmit()";
    let said = "document.querySelector('.prediction .outcome').textContent";
    page.evaluate(submit);
    assert_eq!(page.text(said), "Please choose one.");
    page.tab_to(".prediction input");
    page.press(Key::ArrowDown);
    page.evaluate(submit);
    assert_eq!(page.text(said), "Not quite. Try once more.");
    for _ in 0..3 {
        page.press(Key::ArrowDown); // of four, round to the first
    }
    page.evaluate(submit);
    assert_eq!(page.text(said), "Right. Your first guess counts, wrong results.");
    let text = page.my_predictions();
    assert!(text.contains(" questions: 1 not quite."), "{text}");
    assert_eq!(page.problems(), [""; 0]);
}

/// Some questions are about an order: what is pressed is the next in it, and what is pressed again
/// is no longer in it.
#[test]
fn an_order_is_pressed_and_judged_as_a_whole() {
    let Some(mut page) = Page::of(LIGHT, " data-in-order") else { return };
    let of = |expression: &str| {
        expression.replace('$', "document.querySelector('.prediction[data-in-order]')")
    };
    page.evaluate(&of("$.closest('details').open = true"));
    let press = |text: &str| {
        let buttons = of("[...$.querySelectorAll('.rank')]");
        page.evaluate(&format!("{buttons}.find(each => each.textContent === {text:?}).click()"));
    };
    let predict = || {
        page.evaluate(&of("$.querySelector('form').requestSubmit()"));
        page.text(&of("$.querySelector('.outcome').textContent"))
    };
    let answer = page.text(&of("$.dataset.answer"));
    let right: Vec<&str> = answer.split(", ").collect();
    press(right[0]);
    assert_eq!(predict(), "Please press all of them, one after the other.");
    for item in &right[1..] {
        press(item);
    }
    assert_eq!(page.text(&of("$.querySelector('.order').value")), answer);
    // The first is the last now, and all are pressed.
    press(right[0]);
    press(right[0]);
    let pressed = "[...$.querySelectorAll('.rank')].every(each => each.ariaPressed === 'true')";
    assert!(page.holds(&of(pressed)));
    let outcome = predict();
    assert!(outcome.starts_with("Not quite.") && outcome.ends_with("Try once more."), "{outcome}");
    press(right[0]);
    right[1..].iter().for_each(|item| press(item));
    right.iter().for_each(|item| press(item));
    assert!(predict().starts_with("Right."));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn numbers_are_read_as_people_type_them() {
    let Some(prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    let with_unit = format!("12 {}", prediction.evaluate::<String>("section.dataset.unit"));
    for (typed, read) in [
        ("12", "12"),
        (" 12.50 ", "12.5"),
        (".5", "0.5"),
        ("7.", "7"),
        ("+7", "7"),
        ("1e3", "1000"),
        ("2.5E-1", "0.25"),
        // A comma groups thousands where three digits follow, and else is a point.
        ("1,234", "1234"),
        ("1,234.5", "1234.5"),
        ("1,234,567", "1234567"),
        ("1 234.5", "1234.5"),
        ("1\u{202f}234", "1234"),
        ("1,5", "1.5"),
        ("1,2345", "1.2345"),
        ("0,125", "0.125"),
        (&with_unit, "12"),
        (&with_unit.replace(' ', ""), "12"),
    ] {
        let outcome = prediction.guess(typed);
        let said = format!("You predicted {read}");
        let rest = outcome.split_once(&said).map(|(_, rest)| rest);
        let ends = rest.is_some_and(|r| !r.starts_with(|c: char| c.is_ascii_digit()));
        assert!(ends, "{typed:?}: {outcome}");
        assert!(prediction.holds("!input.hasAttribute('aria-invalid')"), "{typed:?}");
    }
}

#[test]
fn what_is_no_number_is_refused_with_a_message() {
    let Some(mut prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    for typed in [
        "",
        " ",
        "about 12",
        "12 13",
        "1.2.3",
        "1,23,4",
        "1,234,5",
        "1.234,5",
        "0x10",
        "1e",
        "1e999",
        "Infinity",
        "NaN",
        "--1",
        "-7",
        "\u{2212}7",
        "12 apples",
        "<b>12</b>",
    ] {
        let outcome = prediction.guess(typed);
        assert!(outcome.starts_with("Please give one number"), "{typed:?}: {outcome}");
        assert!(prediction.holds("input.getAttribute('aria-invalid') === 'true'"));
        assert!(prediction.holds("input.value !== '' || !details.open"));
        assert!(prediction.is_veiled(), "{typed:?}");
    }
    // Nothing of it was kept; and a number afterwards is taken as if nothing had been.
    prediction.page.reload();
    assert!(prediction.is_veiled());
    assert!(prediction.guess("12").contains("You predicted 12"));
}

#[test]
fn a_guess_off_the_scale_is_drawn_at_its_end() {
    for view in [LIGHT, PHONE] {
        let Some(prediction) = Prediction::open(view, |_| ()) else { return };
        let guess = 1e30;
        prediction.guess(&guess.to_string());
        for drawn in prediction.drawn(guess) {
            assert!(drawn.arrow, "{guess}: {drawn:?}");
            assert!(drawn.error < 0.01, "{drawn:?}");
            assert_eq!(drawn.label, "your prediction, off the scale");
        }
        let faults = prediction.page.texts(LAYOUT);
        let label_outside =
            |fault: &&String| fault.contains("your prediction") && fault.contains("leaves");
        assert_eq!(faults.iter().find(label_outside), None);
    }
}

#[test]
fn a_veiled_figure_can_be_shown_without_a_guess() {
    let Some(mut prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    prediction.page.tab_to(".veil button:first-child");
    prediction.page.press(Key::Enter);
    assert!(prediction.holds("document.activeElement === input"));
    assert!(prediction.is_veiled());

    prediction.page.tab_to(".veil button:last-child");
    prediction.page.press(Key::Enter);
    assert!(!prediction.is_veiled());
    assert!(prediction.holds("document.activeElement === figure"));
    prediction.page.reload();
    assert!(!prediction.is_veiled());
    assert!(prediction.holds("!details.open"));
    // A guess after that is none.
    let late = " It does not count: the answer was shown before.";
    assert!(prediction.guess("12").ends_with(late));
    let text = prediction.page.my_predictions();
    for said in ["answered none of ", "1 answer was shown before you guessed, which does not"] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_prediction_in_a_fold_veils_its_own_chart_there() {
    let Some(mut page) = Page::of(LIGHT, "id=\"prediction-paged-cache-saved\"") else { return };
    let open = "(fold => {
        fold.open = true;
        const inside = [...fold.querySelectorAll('.veiled')].map(figure => figure.id);
        const outside = [...document.querySelectorAll('.veiled')].length - inside.length;
        return [fold.querySelector('section').dataset.figure, outside, ...inside].map(String);
    })(document.getElementById('prediction-paged-cache-saved').closest('details'))";
    let [figure, outside, inside @ ..] = &page.texts(open)[..] else { panic!("no fold") };
    assert!(inside.contains(figure), "{figure} is not veiled");
    page.evaluate(
        "(section => {
             section.querySelector('input').value = '12';
             section.querySelector('form').requestSubmit();
         })(document.getElementById('prediction-paged-cache-saved'))",
    );
    let label = format!("document.querySelector('#{figure} > .wide .guess text')");
    for fold_was in ["open", "closed"] {
        let [_, still_outside, inside @ ..] = &page.texts(open)[..] else { panic!("no fold") };
        assert!(still_outside == outside && !inside.contains(figure), "{inside:?}");
        assert!(
            page.holds(&format!(
                "((label, frame) => label.width > 0 && label.left >= frame.left
                     && label.right <= frame.right)(
                     {label}.getBoundingClientRect(),
                     {label}.ownerSVGElement.getBoundingClientRect())"
            )),
            "the guess is not drawn in a fold that was {fold_was}"
        );
        page.reload();
    }
}

#[test]
fn looking_up_the_answer_lifts_the_veil() {
    let Some(prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    // Nothing is drawn under it: even blurred bars would show their lengths.
    let hidden = "getComputedStyle(document.querySelector('.veiled > svg.wide')).filter";
    assert_eq!(prediction.page.text(hidden), "opacity(0)");
    // Nor does *Why*, below it, tell.
    let why = "document.querySelector('#why + p').inert";
    assert!(prediction.page.holds(why));
    prediction.page.tab_to(".prediction[data-drawn] summary");
    prediction.page.press(Key::Enter);
    // The browser reports the opening a moment later.
    prediction.page.wait_until("document.querySelector('.veiled') === null");
    assert!(prediction.holds("answer.checkVisibility()"));
    assert!(!prediction.is_veiled() && !prediction.page.holds(why));
}

#[test]
fn what_is_stored_is_never_taken_for_markup() {
    let Some(mut prediction) = Prediction::open(LIGHT, |_| ()) else { return };
    prediction.guess("12");
    prediction.page.evaluate(
        "Object.keys(localStorage).filter(key => key.startsWith('workbook')).forEach(
             key => localStorage.setItem(key, '<img src=none onerror=alert(1)>'))",
    );
    prediction.page.reload();
    assert!(prediction.is_veiled());
    assert_eq!(prediction.evaluate::<String>("input.value + outcome.innerHTML"), "");
    assert_eq!(prediction.page.problems(), [""; 0]);
}

#[test]
fn without_storage_a_prediction_lasts_as_long_as_the_page() {
    let Some(mut prediction) = Prediction::open(LIGHT, |page| {
        page.before_load(
            "Object.defineProperty(window, 'localStorage', {
                 get() { throw new DOMException('turned off', 'SecurityError'); },
             });",
        );
    }) else {
        return;
    };
    assert!(prediction.is_veiled());
    let guess = rounded(prediction.answer());
    prediction.guess(&guess.to_string());
    assert_made(&prediction, guess);
    prediction.page.reload();
    assert!(prediction.is_veiled());
}

#[test]
fn without_javascript_everything_can_be_read() {
    let Some(prediction) = Prediction::open(LIGHT, Page::disable_scripts) else { return };
    assert!(prediction.holds("question.checkVisibility()"));
    assert!(prediction.holds("!form.checkVisibility()"));
    assert!(prediction.holds("!answer.checkVisibility()"));
    assert!(!prediction.is_veiled());
    prediction.page.tab_to(".prediction[data-drawn] summary");
    prediction.page.press(Key::Enter);
    assert!(prediction.holds("answer.checkVisibility()"));
    assert_eq!(prediction.page.texts(LAYOUT), [""; 0]);
    assert!(prediction.holds("figure.querySelector('.hover title') !== null"));
}

#[test]
fn on_paper_the_answers_are_open_and_nothing_is_veiled() {
    let Some(prediction) = Prediction::open(DARK, |page| page.emulate_media("print", DARK)) else {
        return;
    };
    assert!(prediction.holds("question.checkVisibility()"));
    assert!(prediction.holds(
        "answer.checkVisibility({ contentVisibilityAuto: true }) &&
         answer.getBoundingClientRect().height > 0"
    ));
    assert!(prediction.holds("!form.checkVisibility() && !summary.checkVisibility()"));
    assert!(prediction.holds(
        "drawings.every(svg => getComputedStyle(svg).filter === 'none') &&
         !figure.querySelector('.veil').checkVisibility()"
    ));
    // Dark ink, whatever the theme on screen: browsers leave backgrounds out.
    assert_eq!(prediction.page.texts(CONTRAST), [""; 0]);
    assert_eq!(
        prediction.evaluate::<String>("getComputedStyle(document.body).color"),
        "rgb(0, 0, 0)"
    );
    prediction.page.screenshot("prediction-printed");
    // Nor is there a button on a page with text that waits for a guess, or with a reader's progress.
    let Some(mut page) = Page::get(LIGHT) else { return };
    page.emulate_media("print", LIGHT);
    let buttons = "[...document.querySelectorAll('main button')]
        .filter(button => button.checkVisibility()).map(button => button.textContent)";
    for (part, made) in [
        ("id=\"prediction-bank-conflicts-two\"", ".veil-text"),
        ("class=\"my-exercises\"", ".my-exercises button"),
    ] {
        page.open(&book::chapters_with(part)[0]);
        assert_eq!(page.texts(buttons), [""; 0], "{part}");
        assert!(page.holds(&format!("document.querySelector('{made}') !== null")), "{part}");
    }
}

#[test]
fn a_word_of_the_glossary_says_what_it_means() {
    for view in [LIGHT, PHONE] {
        let Some(mut page) = Page::of(view, "class=\"term\"") else { return };
        assert!(page.holds("document.querySelector('.definition').hidden"));
        page.tab_to("a.term");
        assert!(page.holds(
            "document.querySelector('.definition').textContent ===
                 document.activeElement.dataset.definition &&
             document.activeElement.getAttribute('aria-describedby') === 'definition'"
        ));
        assert_eq!(page.texts(LAYOUT), [""; 0]);
        assert_eq!(page.texts(CONTRAST), [""; 0]);
        page.screenshot(&format!("definition-{}", view.name));
        // The first tap shows, the second follows the link.
        let tap = "dispatchEvent(new PointerEvent('click',
            { pointerType: 'touch', cancelable: true, bubbles: true }))";
        page.evaluate("document.activeElement.blur()");
        assert!(page.holds("document.querySelector('.definition').hidden"));
        assert!(page.holds(&format!("!document.querySelector('a.term').{tap}")));
        assert!(page.holds("!document.querySelector('.definition').hidden"));
        assert_eq!(page.problems(), [""; 0]);
    }
}

#[test]
fn the_scorecard_shows_the_claims_of_a_verdict() {
    let Some(mut page) = Page::get(LIGHT) else { return };
    page.disable_scripts();
    page.open(&book::chapters_with("name=\"verdicts\"")[0]);
    let shown = "[...document.querySelectorAll('.scorecard details.claim')]
        .filter(claim => claim.checkVisibility())";
    let all = page.evaluate(&format!("{shown}.length"));
    page.evaluate("document.querySelector('[value=\"verdict-refuted\"]').click()");
    assert!(page.holds(&format!(
        "{shown}.length > 0 && {shown}.length < {all} &&
         {shown}.every(claim => claim.matches('.verdict-refuted'))"
    )));
    assert!(page.holds(&format!(
        "{shown}.length == document.querySelector('label.verdict-refuted .count').textContent"
    )));
}

#[test]
fn all_predictions_are_on_a_page_of_their_own() {
    let made = |off: f64| {
        let mut prediction = Prediction::open(LIGHT, |_| ())?;
        let guess = rounded(off * prediction.answer());
        prediction.guess(&guess.to_string());
        let text = prediction.page.my_predictions();
        Some((prediction.page, text))
    };
    // A near miss is not “1×”.
    let Some((_, text)) = made(1.03) else { return };
    assert!(text.contains("1 spot on.") && text.contains("1.03×"), "{text}");
    let Some((page, text)) = &mut made(1.3) else { return };
    for part in ["You have answered 1 of ", "1 close.", "Off by", "1.3×"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(page.texts(LAYOUT), [""; 0]);
    page.screenshot("my-predictions");
    page.evaluate("document.querySelector('.controls button:last-child').click()");
    assert!(page.holds("document.querySelector('.my-predictions table')"));
    page.evaluate("document.querySelector('.controls button:last-child').click()");
    page.settle("forgetting");
    let text = page.text("document.querySelector('.my-predictions').textContent");
    assert!(text.contains("You have answered none of "), "{text}");
    assert_eq!(page.problems(), [""; 0]);

    let Some(mut page) = Page::get(LIGHT) else { return };
    page.disable_scripts();
    page.my_predictions();
    assert!(page.holds("document.querySelector('.my-predictions p').checkVisibility()"));
}

#[test]
fn a_wide_table_scrolls_by_keyboard_without_turning_the_page() {
    let narrow = View { width: 240, ..PHONE };
    let Some(mut page) = Page::get(narrow) else { return };
    let file = &book::chapters_with("class=\"table\"")[0];
    page.open(file);
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)");
    page.tab_to(".table[role=region][aria-label]");
    page.press(Key::ArrowRight);
    page.wait_until("document.activeElement.scrollLeft > 0");
    let shown = page.text("decodeURIComponent(location.pathname)");
    assert!(shown.ends_with(&*file.to_string_lossy()), "turned to {shown}");
}

#[test]
fn a_served_page_shows_a_mistake_until_it_is_mended() {
    let Some(browser) = Browser::get() else { return };
    let checkout = Checkout::small();
    let server = Server::start(&checkout);
    let source = "book/src/access-patterns/coalescing.md";
    let good = checkout.read(source);
    for view in [LIGHT, DARK, PHONE] {
        let mut page = Page::new(browser, view);
        page.visit(&format!("http://{}/access-patterns/coalescing.html", server.address()));
        assert!(page.holds("!document.querySelector('[role=alert]').checkVisibility()"));
        let heading = page.text("document.querySelector('h1').textContent");

        checkout.write(source, &format!("{good}\n{{{{no_<b>such</b>_number}}}}\n"));
        page.wait_until("document.querySelector('[role=alert] pre')");
        let error = page.text("document.querySelector('[role=alert] pre').textContent");
        assert!(error.contains("no_<b>such</b>_number"), "{error}");
        assert!(error.contains("coalescing.md:"), "{error}");
        assert_eq!(page.text("document.querySelector('h1').textContent"), heading);
        // It lies in the window, wherever the reader is in the page.
        for place in ["0", "document.body.scrollHeight"] {
            page.evaluate(&format!("scrollTo(0, {place})"));
            assert!(page.holds(
                "(({ top, bottom }) => top > 0 && bottom <= innerHeight + 1)(
                     document.querySelector('[role=alert] div').getBoundingClientRect())"
            ));
        }
        assert_eq!(page.texts(LAYOUT), [""; 0]);
        assert_eq!(page.texts(CONTRAST), [""; 0]);
        page.screenshot(&format!("mistake-{}", view.name));

        checkout.write(source, &format!("{good}\nMended for {}.\n", view.name));
        page.settle("the mended page");
        assert!(
            page.holds(&format!("document.body.textContent.includes('Mended for {}')", view.name))
        );
        assert!(page.holds("!document.querySelector('[role=alert]').checkVisibility()"));
    }
}

#[test]
fn what_a_terminal_has_solved_is_marked_where_the_book_is_served() {
    let Some(browser) = Browser::get() else { return };
    let checkout = Checkout::new();
    let done = |passed: bool| json!({ "checks": 2, "hints": 0, "passed": passed });
    let progress = json!({ "exercises": { "add": done(true), "mirror": done(false) } });
    checkout.write("my/progress.json", &progress.to_string());
    let server = Server::start(&checkout);
    let marks = "[...new Set([...document.querySelectorAll('main .exercise:has(.mark)')]
        .map(place => `${place.dataset.exercise} ${place.querySelector('.mark').textContent}`))]";
    let mut page = Page::new(browser, LIGHT);
    page.visit(&format!("http://{}/exercises.html", server.address()));
    page.wait_until(&format!("{marks}.length > 0"));
    assert_eq!(page.texts(marks), ["add solved", "mirror begun"]);
    // What is solved meanwhile is marked once a check that runs in the page has ended.
    let build = "fetch('/build').then(answer => answer.json()).then(({ build }) => build)";
    let before = page.evaluate(build);
    page.evaluate("document.querySelector('main p').setAttribute('aria-busy', 'true')");
    let progress = json!({ "exercises": { "add": done(true), "mirror": done(true) } });
    checkout.write("my/progress.json", &progress.to_string());
    while page.evaluate(build) == before {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_secs(1)); // twice as long as it takes a page to ask
    assert_eq!(page.texts(marks), ["add solved", "mirror begun"]);
    page.evaluate("document.querySelector('main p').removeAttribute('aria-busy')");
    page.wait_until(&format!("{marks}[1] === 'mirror solved'"));
    // The same book, which nobody serves, asks for nothing that is not there.
    let mut page = Page::new(browser, LIGHT);
    page.open(&checkout.path("book/html/exercises.html"));
    page.wait_until("document.body.textContent.includes('none in this browser yet')");
    assert_eq!(page.texts(marks), [""; 0]);
    assert_eq!(page.problems(), [""; 0]);
}

/// The reference's own book has no account of another machine.
#[test]
fn this_machine_fits_a_phone() {
    let Some(mut page) = Page::get(PHONE) else { return };
    let has_axe = axe::load(&page);
    let checkout = Checkout::new();
    other_machine(&checkout, "results");
    checkout.run("build --machine other").succeeds();
    page.open(&checkout.path("book/html/this-machine.html"));
    page.evaluate(FOLD_CONTENTS);
    assert!(
        page.holds(
            "document.getElementById('differences') && document.querySelector('main table')"
        )
    );
    let mut faults = [page.texts(LAYOUT), page.texts(CONTRAST), page.problems()].concat();
    if has_axe {
        faults.extend(axe::findings(&page, "html", Rules::All));
    }
    page.screenshot("this-machine-other-phone");
    assert_eq!(faults, [""; 0]);
}
