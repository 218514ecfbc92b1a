//! A prediction box, with the figure that goes with it, as its reader meets it.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::book;
use crate::page::{Page, View};

/// Finds the parts of the first prediction on the page that a figure goes with.
const PARTS: &str = "(() => {
    const section = document.querySelector('section.prediction[data-drawn]');
    const part = selector => section.querySelector(selector);
    const figure = document.getElementById(section.dataset.figure);
    return {
        section,
        figure,
        drawings: [...figure.querySelectorAll(':scope > svg')],
        question: part('.question'),
        form: part('form'),
        input: part('input'),
        outcome: part('.outcome'),
        details: part('details'),
        summary: part('summary'),
        answer: part('details p'),
    };
})()";

/// The selector of the same prediction's input.
pub(crate) const INPUT: &str = "section.prediction[data-drawn] input";

/// The first prediction of the book that a figure goes with.
pub(crate) struct Prediction {
    pub(crate) page: Page,
}

impl Prediction {
    /// Opens its page, after `prepare` has had the empty tab; `None` where there is no browser.
    pub(crate) fn open(view: View, prepare: impl FnOnce(&Page)) -> Option<Self> {
        let mut page = Page::get(view)?;
        prepare(&page);
        page.open(&book::chapters_with(" data-drawn")[0]);
        Some(Self { page })
    }

    /// The value of a JavaScript expression that may name the prediction's parts.
    pub(crate) fn evaluate<T: DeserializeOwned>(&self, expression: &str) -> T {
        let value = self.page.evaluate(&format!(
            "(({{ section, figure, drawings, question, form, input, outcome, details, \
                summary, answer }}) => ({expression}))({PARTS})"
        ));
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Whether a JavaScript condition on the prediction's parts holds.
    pub(crate) fn holds(&self, condition: &str) -> bool {
        self.evaluate(&format!("Boolean({condition})"))
    }

    /// The measured answer, in the unit that the reader guesses in.
    pub(crate) fn answer(&self) -> f64 {
        self.evaluate("section.dataset.answer / section.dataset.scale")
    }

    /// Enters `text` into the form and gives what the page says to it.
    pub(crate) fn guess(&self, text: &str) -> String {
        let text = serde_json::to_string(text).expect("strings are JSON");
        self.evaluate(&format!("(input.value = {text}, form.requestSubmit(), outcome.textContent)"))
    }

    /// Whether the figure is veiled: to the eye and to screen readers alike.
    pub(crate) fn is_veiled(&self) -> bool {
        let hidden: Vec<bool> = self.evaluate(
            "drawings.flatMap(svg => [
                 getComputedStyle(svg).filter !== 'none',
                 svg.getAttribute('aria-hidden') === 'true',
             ]).concat(figure.querySelector('.veil button')?.checkVisibility() ?? false)",
        );
        let veiled = hidden[0];
        assert!(hidden.iter().all(|each| *each == veiled), "half veiled: {hidden:?}");
        veiled
    }

    /// Where `guess` should be on each of the figure's drawings, and where it is.
    pub(crate) fn drawn(&self, guess: f64) -> Vec<Drawn> {
        let marks: Vec<Mark> = self.evaluate(
            "drawings.map(svg => {
                 const number = key => Number(svg.dataset[key]);
                 const lines = [...svg.querySelectorAll('.guess .mark')];
                 const axis = svg.dataset.valueAxis;
                 return {
                     scale: svg.dataset.valueScale,
                     min: number('valueMin'),
                     max: number('valueMax'),
                     start: number('valueStart'),
                     end: number('valueEnd'),
                     unit: Number(section.dataset.scale),
                     lines: lines.map(line => Number(line.getAttribute(axis + '1'))),
                     arrows: svg.querySelectorAll('.guess .arrow').length,
                     label: svg.querySelector('.guess text')?.textContent ?? '',
                 };
             })",
        );
        assert!(!marks.is_empty(), "the figure has no drawings");
        marks.into_iter().map(|mark| mark.compare(guess)).collect()
    }
}

/// A guess on a drawing.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// How far the line is from its place; in pixels of the drawing.
    pub(crate) error: f64,
    /// Whether it carries an arrow that points off the scale.
    pub(crate) arrow: bool,
    pub(crate) label: String,
}

/// What the page says about a drawing's axis and the guess on it.
#[derive(Deserialize)]
struct Mark {
    scale: String,
    min: f64,
    max: f64,
    start: f64,
    end: f64,
    unit: f64,
    lines: Vec<f64>,
    arrows: usize,
    label: String,
}

impl Mark {
    fn compare(self, guess: f64) -> Drawn {
        let along = |value: f64| match self.scale.as_str() {
            "linear" => value,
            "log10" => value.log10(),
            "log2" => value.log2(),
            other => panic!("no such scale: {other}"),
        };
        let share =
            (along(guess * self.unit) - along(self.min)) / (along(self.max) - along(self.min));
        let place = self.start + share.clamp(0.0, 1.0) * (self.end - self.start);
        let [line] = self.lines[..] else {
            panic!("{} lines of a guess in one drawing", self.lines.len())
        };
        Drawn { error: (line - place).abs(), arrow: self.arrows == 1, label: self.label }
    }
}
