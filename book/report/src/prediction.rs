//! `[prediction.NAME]`: the reader enters a number before seeing the measured one, chooses, or
//! draws a curve ([`crate::curve`]). A script does the rest; without it the question and the
//! answer can be read all the same. And the list of all of them, in which the script shows what
//! the reader entered.

use serde_json::json;

use crate::condition;
use crate::curve::Drawn;
use crate::estimate::Estimate;
use crate::html::{escape, prose};
use crate::page::Page;
use crate::page::blocks::Prediction;
use crate::quantity::Quantity;
use crate::records::Records;
use crate::unit::Unit;

impl Prediction {
    /// What there is before the answer is recorded, as HTML.
    pub fn unanswered(&self) -> String {
        let explain = match self.explain.contains("{{") {
            true => String::new(),
            false => format!(
                "<details><summary>How to reason</summary><p>{}</p></details>\n",
                prose(&self.explain)
            ),
        };
        format!("{}{explain}", self.question())
    }

    fn question(&self) -> String {
        format!("<p class=\"question\">{}</p>\n", prose(&self.question))
    }

    /// The answer, and attributes that tell it to the script.
    fn answer<'p>(
        &'p self,
        records: &Records,
        page: &'p Page,
    ) -> Result<(Answer<'p>, String), String> {
        if let (Some(curve), Some(chart)) = (&self.curve, &self.chart) {
            let drawn = curve.read(chart, records, page)?;
            let attributes = drawn.attributes();
            return Ok((Answer::Curve(Box::new(drawn)), attributes));
        }
        let (answer, mut attributes) = match self.choices.is_empty() {
            true => self.number(page)?,
            false => {
                let (answer, choices) =
                    (escape(&self.answer), escape(&json!(self.choices).to_string()));
                let text = format!("data-answer=\"{answer}\" data-answer-text=\"{answer}\"");
                let order = if self.in_order { " data-in-order" } else { "" };
                let text = format!("{text} data-unit=\"\" data-choices=\"{choices}\"{order}");
                (Answer::Choice, format!("{text} data-computed"))
            }
        };
        if !self.wrong.is_empty() {
            attributes += &format!(" data-wrong=\"{}\"", escape(&json!(self.wrong).to_string()));
        }
        Ok((answer, attributes))
    }

    fn number<'p>(&'p self, page: &'p Page) -> Result<(Answer<'p>, String), String> {
        let (name, typed) = self.quantity()?;
        let quantity = page.quantities.get(name)?;
        let unit = &quantity.unit;
        let (shown_in, over) = unit.as_typed(typed)?;
        let scale = unit.scale_of(typed).unwrap_or(over);
        let number = Number { quantity, typed, shown_in, over };
        let first = quantity.value.first();
        // What is computed from no record was not measured anywhere, and a count is exact.
        let is_count = first.low == first.high && first.value.fract() == 0.0;
        let exact = quantity.value.from.is_empty() || is_count;
        let computed = if exact { " data-computed" } else { "" };
        let attributes = format!(
            "data-answer=\"{}\" data-scale=\"{scale}\" data-answer-text=\"{}\" \
             data-unit=\"{}\"{computed}",
            first.value,
            escape(&number.print(first)),
            escape(typed)
        );
        Ok((Answer::Number(number), attributes))
    }

    /// The prediction as HTML.
    pub fn expand(&self, records: &Records, page: &Page) -> Result<String, String> {
        let (answer, mut attributes) = self.answer(records, page)?;
        if let Some(id) = &self.chart {
            let axis = page.chart(id)?.axis();
            attributes += &format!(" data-figure=\"figure-{id}\"");
            if matches!(&answer, Answer::Number(number) if axis.as_ref() == Some(&number.quantity.unit))
            {
                attributes += " data-drawn";
            }
        }
        let one = |value: String| format!("<span class=\"value\">{value}</span>");
        let (measured, value, sketch) = match &answer {
            Answer::Choice => {
                let choice = self.choice(records, page)?;
                (false, format!("<strong>{choice}</strong>"), String::new())
            }
            Answer::Number(number) => {
                let value = &number.quantity.value;
                let text = records.sentence(value, |value, _| escape(&number.print(value)));
                (!value.from.is_empty(), one(text), String::new())
            }
            Answer::Curve(drawn) => {
                attributes += &drawn.curves();
                (true, drawn.words(), drawn.sketch(&self.id))
            }
        };
        let (summary, found) = match measured {
            false => ("The answer", "Answer"),
            true => ("The measured answer", "Measured"),
        };
        Ok(format!(
            "<section class=\"prediction\" id=\"prediction-{id}\" {attributes}>\n\
             {question}{sketch}\
             <form>{entry} <label class=\"because\">because (optional) <input type=\"text\" \
             maxlength=\"200\" autocomplete=\"off\"></label> \
             <button type=\"submit\">Predict</button></form>\n\
             <p class=\"outcome\" aria-live=\"polite\"></p>\n\
             <details class=\"answer\"><summary>{summary}</summary>\
             <p>{found}: {value}. {explain}</p></details>\n\
             </section>\n",
            id = self.id,
            entry = self.entry(&answer),
            question = self.question(),
            explain = page.quantities.prose(&self.explain, records)?,
        ))
    }

    /// The right one of `choices`, with where it is, if that is not everywhere.
    fn choice(&self, records: &Records, page: &Page) -> Result<String, String> {
        let choice = escape(&self.answer);
        let Some(holds) = &self.holds else { return Ok(choice) };
        let found = page.conditions.read(holds)?.holds(&page.quantities, records)?;
        let (before, after) = (condition::before(&found, records), condition::after(&found));
        Ok(format!("{before}{choice}{after}"))
    }

    /// Where the reader answers: with a number, with one of the choices, with all in order, or
    /// with what a script writes of the curve that is drawn above.
    fn entry(&self, answer: &Answer) -> String {
        let id = &self.id;
        match answer {
            Answer::Number(Number { typed, .. }) => {
                return format!(
                    "<label for=\"guess-{id}\">Your prediction</label> \
                     <span class=\"entry\"><input id=\"guess-{id}\" type=\"text\" \
                     inputmode=\"decimal\" autocomplete=\"off\" size=\"8\"> \
                     <span class=\"unit\">{}</span></span>",
                    escape(typed)
                );
            }
            Answer::Curve(_) => {
                return "<span class=\"how\">Drag each ring to where you expect the curve. By \
                        keyboard: Tab leads to it, the arrow keys move it.</span> \
                        <input type=\"hidden\">"
                    .to_owned();
            }
            Answer::Choice => {}
        }
        if self.in_order {
            // A script puts them in the order in which they are pressed.
            let choice = |choice: &String| {
                let choice = escape(choice);
                format!(
                    "<button type=\"button\" class=\"rank\" aria-pressed=\"false\">{choice}</button>"
                )
            };
            let choices: Vec<_> = self.choices.iter().map(choice).collect();
            return format!(
                "<fieldset><legend>Your order: press one after the other</legend> {} \
                 <input type=\"text\" class=\"order\" readonly aria-label=\"Your order\"></fieldset>",
                choices.join(" ")
            );
        }
        let choice = |choice: &String| {
            let choice = escape(choice);
            format!(
                "<label><input type=\"radio\" name=\"guess-{id}\" value=\"{choice}\"> {choice}\
                 </label>"
            )
        };
        let choices: Vec<_> = self.choices.iter().map(choice).collect();
        format!("<fieldset><legend>Your prediction</legend> {}</fieldset>", choices.join(" "))
    }
}

/// What answers a prediction.
enum Answer<'p> {
    /// One of the choices, or all in order.
    Choice,
    Number(Number<'p>),
    Curve(Box<Drawn<'p>>),
}

/// A quantity as an answer.
struct Number<'p> {
    quantity: &'p Quantity,
    /// The unit in which the reader does.
    typed: &'p str,
    /// The unit that it is printed in, and its size in the quantity's.
    shown_in: Unit,
    over: f64,
}

impl Number<'_> {
    /// `value` in the unit that the reader was asked for.
    fn print(&self, value: &Estimate) -> String {
        value.over(self.over).print(&self.shown_in)
    }
}

/// Every prediction of the book, for a script that shows which the reader has made. `root`
/// leads from the page to the book's root. Those that have no answer yet are left out.
pub fn all(pages: &[Page], records: &Records, root: &str) -> String {
    let mut items = String::new();
    for page in pages {
        for block in &page.predictions {
            let Ok((_, answer)) = block.answer(records, page) else { continue };
            items += &format!(
                "<li data-part=\"{}\" data-page=\"{}\" {answer}>\
                 <a href=\"{root}{}#prediction-{}\">{}</a></li>\n",
                escape(page.part.as_deref().unwrap_or(&page.title)),
                escape(&page.title),
                page.html(),
                block.id,
                prose(&block.question)
            );
        }
    }
    format!(
        "<section class=\"my-predictions\" aria-label=\"My predictions\">\n\
         <p>Your predictions are kept in your browser and nowhere else; to show them, this \
         page needs JavaScript.</p>\n<ul hidden>\n{items}</ul>\n</section>\n"
    )
}
