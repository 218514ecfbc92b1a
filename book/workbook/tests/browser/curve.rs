//! Curves that readers draw before they see the measured one.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::LAYOUT;
use crate::book;
use crate::page::{DARK, Key, LIGHT, PHONE, Page, View};

/// A prediction on a page whose answer is a curve.
struct Curve {
    page: Page,
    view: View,
}

impl Curve {
    /// Opens its page, after `prepare` has had the empty tab; `None` where there is no browser.
    fn open(view: View, prepare: impl FnOnce(&Page)) -> Option<Self> {
        let mut page = Page::get(view)?;
        prepare(&page);
        page.open(&book::chapters_with("id=\"prediction-transfer-bandwidth-sizes\"")[0]);
        page.evaluate("document.querySelector('.sketch').scrollIntoView({ block: 'center' })");
        Some(Self { page, view })
    }

    /// The value of a JavaScript expression in which `$` is the prediction, `svg` its picture
    /// that is shown, and `rings` what is moved there.
    fn evaluate<T: DeserializeOwned>(&self, expression: &str) -> T {
        let value = self.page.evaluate(&format!(
            "($ => {{
                 const svg = [...$.querySelectorAll('.sketch > svg')]
                     .find(svg => svg.checkVisibility());
                 const rings = [...svg.querySelectorAll('.ring')];
                 return {expression};
             }})(document.querySelector('section.prediction[data-at]'))"
        ));
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The measured values where the reader draws, in the reader's unit.
    fn answers(&self) -> Vec<f64> {
        self.evaluate("JSON.parse($.dataset.answer).map(value => value / $.dataset.scale)")
    }

    /// What the rings say that they are at.
    fn values(&self) -> Vec<String> {
        self.evaluate("rings.map(ring => ring.getAttribute('aria-valuetext'))")
    }

    /// Drags a ring to where a value lies on the axis, by hand or by finger.
    fn drag(&self, n: usize, value: f64) {
        let place: [f64; 2] = self.evaluate(&format!(
            "(({{ valueMin, valueMax, valueStart, valueEnd }}) => {{
                 const share = ({value} * $.dataset.scale - valueMin) / (valueMax - valueMin);
                 const y = Number(valueStart) + share * (valueEnd - valueStart);
                 const {{ top, height }} = svg.getBoundingClientRect();
                 const {{ left, width }} = rings[{n}].getBoundingClientRect();
                 return [left + width / 2, top + y * height / svg.viewBox.baseVal.height];
             }})(svg.dataset)"
        ));
        let label: String = self.evaluate(&format!("rings[{n}].getAttribute('aria-label')"));
        let shown = if self.view.phone { "narrow" } else { "wide" };
        let ring = format!(".sketch .{shown} .ring[aria-label={label:?}]");
        self.page.drag_to(&ring, place, self.view.phone);
    }

    /// Has the reader predict; what the page says then.
    fn predict(&self) -> String {
        self.evaluate(
            "($.querySelector('form').requestSubmit(), $.querySelector('.outcome').textContent)",
        )
    }

    /// Whether the measured curve is drawn; the chart is veiled as long as it is not.
    fn is_revealed(&self) -> bool {
        let drawn: Vec<bool> = self.evaluate(
            "[...$.querySelectorAll('.sketch > svg')].map(
                 svg => svg.querySelector('.measured + .line') !== null)
             .concat(!document.getElementById($.dataset.figure).matches('.veiled'))",
        );
        assert!(drawn.iter().all(|each| *each == drawn[0]), "half revealed: {drawn:?}");
        drawn[0]
    }

    /// Keeps these as if they had been drawn, and loads the page again; what it says then.
    fn keep(&mut self, values: &str) -> String {
        self.page.evaluate(&format!(
            "localStorage.setItem(Object.keys(localStorage).find(
                 key => key.endsWith(' prediction-transfer-bandwidth-sizes')), {values:?})"
        ));
        self.page.reload();
        self.evaluate("$.querySelector('.outcome').textContent")
    }
}

fn joined(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_curve_is_drawn_by_mouse_or_finger_and_kept() {
    for view in [LIGHT, PHONE] {
        let Some(mut curve) = Curve::open(view, |_| ()) else { return };
        assert!(!curve.is_revealed());
        curve.page.screenshot(&format!("curve-asked-{}", view.name));
        let answers = curve.answers();
        assert_eq!(curve.values().len(), answers.len());
        for (n, answer) in answers.iter().enumerate() {
            assert!(curve.values()[n].ends_with("GB/s, not placed yet"), "{:?}", curve.values());
            curve.drag(n, *answer);
            let said = &curve.values()[n];
            let value: f64 = said.split('\u{a0}').next().unwrap().parse().expect(said);
            let step: f64 = curve.evaluate("svg.dataset.valueMax / $.dataset.scale / 200");
            assert!((value - answer).abs() <= 1.5 * step, "{said}, not {answer}");
        }
        let drawn = curve.values();
        let outcome = curve.predict();
        assert!(outcome.starts_with("Spot on. Typically you are within "), "{outcome}");
        assert!(curve.is_revealed());
        // It goes through all that was measured, and says which is which.
        let measured = "svg.querySelector('.measured').getAttribute('d').split('L').length
            === JSON.parse($.dataset.curve).length";
        assert!(curve.evaluate::<bool>(measured));
        let key = "$.querySelector('.sketch .key').innerText";
        assert!(curve.evaluate::<String>(key).contains("measured"));
        assert_eq!(curve.page.texts(LAYOUT), [""; 0]);
        curve.page.screenshot(&format!("curve-made-{}", view.name));

        curve.page.reload();
        assert_eq!(curve.evaluate::<String>("$.querySelector('.outcome').textContent"), outcome);
        assert_eq!(curve.values(), drawn);
        assert!(curve.is_revealed());
        // What is drawn now is drawn with the answer in sight.
        curve
            .page
            .evaluate("document.querySelector('.sketch').scrollIntoView({ block: 'center' })");
        curve.drag(0, 2.0 * answers[1]);
        assert!(curve.predict().contains(" Your first guess counts, "));
        assert_eq!(curve.page.problems(), [""; 0]);
    }
}

#[test]
fn a_curve_needs_only_the_keyboard() {
    let Some(curve) = Curve::open(DARK, |_| ()) else { return };
    let address = curve.page.text("location.href");
    let step = |n: usize| -> i32 {
        let now: String = curve.evaluate(&format!("rings[{n}].getAttribute('aria-valuenow')"));
        now.parse().expect("a whole number")
    };
    curve.page.tab_to(".sketch .ring");
    let start = step(0);
    for (key, by) in [(Key::ArrowUp, 1), (Key::ArrowRight, 2), (Key::ArrowDown, 1)] {
        curve.page.press(key);
        assert_eq!(step(0), start + by);
    }
    curve.page.press(Key::End);
    assert!(curve.evaluate::<bool>("rings[0].ariaValueNow === rings[0].ariaValueMax"));
    assert_eq!(curve.page.text("location.href"), address, "the keys turned the page");
    curve.page.screenshot("curve-keyboard");
    // Where one ring is not placed, there is no curve yet; Enter places it where it is.
    let refused = curve.predict();
    assert!(refused.starts_with("Please place every ring."), "{refused}");
    assert!(!curve.is_revealed());
    for n in 1..curve.answers().len() {
        curve.page.press(Key::Tab);
        curve.page.press(Key::Enter);
        assert!(!curve.values()[n].contains("not placed"), "{:?}", curve.values());
        assert_eq!(step(n), start);
    }
    assert!(!curve.is_revealed(), "Enter has predicted");
    let outcome = curve.predict();
    assert!(outcome.contains(" You parted most at 8 KiB: "), "{outcome}");
    assert!(curve.is_revealed());
}

#[test]
fn nothing_tells_the_measured_curve_before_the_reader_has_drawn() {
    let Some(curve) = Curve::open(LIGHT, |_| ()) else { return };
    let told: Vec<String> = curve.evaluate(
        "[$.innerText, ...[...$.querySelectorAll('.sketch, .sketch *')].flatMap(part => [
             part.textContent,
             ...part.getAttributeNames()
                 .filter(name => /^aria-|^title$/u.test(name))
                 .map(name => part.getAttribute(name)),
         ])]",
    );
    let answers: String = curve.evaluate("$.dataset.answerText");
    for number in answers.trim_end_matches(" GB/s").split(", ") {
        // The point that is given may happen to have an answer's number.
        let mut lines = told.iter().flat_map(|text| text.lines());
        let found = lines.find(|line| line.contains(number) && !line.starts_with("1 GiB: "));
        assert_eq!(found, None, "{number} is told");
    }
    // Nor does the search print what the page hides.
    let measured: String = curve
        .evaluate("$.querySelector('details.answer').textContent.match(/Measured: .* at /u)[0]");
    let index = book::search_index();
    assert!(index.contains("The rate of 1 GiB is given") && !index.contains(&measured));
}

#[test]
fn a_drawn_curve_is_scored_in_words_listed_and_exported() {
    let Some(mut curve) = Curve::open(LIGHT, |_| ()) else { return };
    let answers = curve.answers();
    for (n, answer) in answers.iter().enumerate() {
        curve.drag(n, *answer);
    }
    curve.predict();
    let times = |factors: [f64; 5]| {
        let values: Vec<f64> = answers.iter().zip(factors).map(|(a, factor)| a * factor).collect();
        joined(&values)
    };
    let worst = "a factor of 4 too high.";
    for (factors, score, typical, at) in [
        ([1.0, 1.0, 1.0, 1.0, 4.0], "Spot on.", "within 0% of", worst),
        ([1.3, 1.3, 4.0, 1.3, 0.8], "Close.", "within a factor of 1.3 of", worst),
        ([0.5, 2.0, 2.0, 0.5, 4.0], "Right order of magnitude.", "within a factor of 2 of", worst),
        (
            [9.0, 4.0, 0.2, 4.0, 4.0],
            "Surprised: read on.",
            "within a factor of 4 of",
            "measured, a factor of 9 too high.",
        ),
    ] {
        let said = curve.keep(&times(factors));
        assert!(said.starts_with(&format!("{score} Typically you are {typical} what")), "{said}");
        assert!(said.contains(at), "{said}");
    }
    // What is no such curve was not drawn.
    for strange in ["1, 2", "1, 2, 3, 4, <b>", "1, 2, 3, 4, -5", "1, 2, 3, 4, Infinity"] {
        assert_eq!(curve.keep(strange), "", "{strange}");
        assert!(!curve.is_revealed(), "{strange}");
    }
    let kept = times([1.3; 5]);
    curve.keep(&kept);
    let page = &mut curve.page;
    let text = page.my_predictions();
    for part in ["You have answered 1 of ", "1 close.", &format!("{kept}\u{a0}GB/s"), "1.3×"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    page.evaluate(
        "(make => {
             URL.createObjectURL = blob => (window.saved = blob.text(), make.call(URL, blob));
             document.querySelector('.controls button').click();
         })(URL.createObjectURL)",
    );
    let saved: Value = page.evaluate("saved.then(JSON.parse)");
    let [saved] = &saved.as_array().expect("a list")[..] else { panic!("{saved}") };
    assert_eq!(saved["guess"], json!(kept));
    assert_eq!(saved["off_by_factor"].as_f64().map(|factor| (factor * 10.0).round()), Some(13.0));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_curve_that_was_looked_up_does_not_count() {
    let Some(mut curve) = Curve::open(LIGHT, |_| ()) else { return };
    curve.evaluate::<bool>("$.querySelector('details.answer').open = true");
    curve.page.wait_until("document.querySelector('.sketch .key') !== null");
    assert!(curve.is_revealed());
    for n in 0..curve.answers().len() {
        curve.drag(n, 20.0);
    }
    assert!(curve.predict().ends_with(" It does not count: the answer was shown before."));
    let text = curve.page.my_predictions();
    assert!(text.contains("answered none of "), "{text}");
}

#[test]
fn without_javascript_and_on_paper_there_are_axes_to_draw_on() {
    let Some(curve) = Curve::open(LIGHT, Page::disable_scripts) else { return };
    assert!(curve.evaluate::<bool>(
        "rings.length === 0 && $.querySelector('.question').checkVisibility()
             && !$.querySelector('form').checkVisibility()"
    ));
    assert!(!curve.evaluate::<bool>("$.querySelector('details p').checkVisibility()"));
    assert!(curve.evaluate::<bool>("!document.querySelector('.veil')"));
    assert_eq!(curve.page.texts(LAYOUT), [""; 0]);
    let Some(paper) = Curve::open(DARK, |page| page.emulate_media("print", DARK)) else { return };
    assert!(
        paper.evaluate::<bool>(
            "svg.checkVisibility() && rings[0].getBoundingClientRect().width === 0"
        )
    );
    paper.page.screenshot("curve-printed");
}
