//! `prediction` blocks: the reader enters a number before seeing the measured one. A
//! script does the rest; without it the question and the answer can be read all the same.

use serde::Deserialize;

use crate::block;
use crate::html::{escape, prose};
use crate::page::Page;
use crate::quantity::Quantity;
use crate::records::Records;

/// A `prediction` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Unique in the book.
    pub id: String,
    question: String,
    unit: String,
    answer: String,
    chart: Option<String>,
    explain: String,
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = block::parse(toml)?;
        block::check_id(&block.id)?;
        Ok(block)
    }

    /// The prediction as HTML.
    pub fn expand(&self, records: &Records, page: &Page) -> Result<String, String> {
        let Quantity { unit, value } = page.quantity(&self.answer)?;
        let scale = unit.scale_of(&self.unit).ok_or_else(|| {
            format!("the answer is in `{}`, not `{}`", unit.symbol(), self.unit)
        })?;

        let figure = match &self.chart {
            None => String::new(),
            Some(id) => {
                let chart = page.chart(id)?;
                let axis = chart.axis().map_err(|form| {
                    format!(
                        "the guess cannot be drawn on `{id}`: {form} has no axis for it"
                    )
                })?;
                if axis != *unit {
                    return Err(format!(
                        "the guess cannot be drawn on `{id}`: its values are in `{}`, \
                         the answer in `{}`",
                        axis.symbol(),
                        unit.symbol()
                    ));
                }
                format!(" data-figure=\"figure-{id}\"")
            }
        };
        let answer = *value.first();
        Ok(format!(
            "<section class=\"prediction\" id=\"prediction-{id}\" \
             aria-label=\"Your prediction\" data-answer=\"{answer}\" data-scale=\"{scale}\" \
             data-answer-text=\"{text}\" data-unit=\"{typed}\"{figure}>\n\
             <p class=\"question\">{question}</p>\n\
             <form><label for=\"guess-{id}\">Your prediction</label> \
             <span class=\"entry\"><input id=\"guess-{id}\" type=\"text\" \
             inputmode=\"decimal\" autocomplete=\"off\" size=\"8\"> \
             <span class=\"unit\">{typed}</span> \
             <button type=\"submit\">Predict</button></span></form>\n\
             <p class=\"outcome\" aria-live=\"polite\"></p>\n\
             <details><summary>Show the measured answer</summary>\
             <p>Measured: <span class=\"value\">{measured}</span>. {explain}</p></details>\n\
             </section>\n",
            id = self.id,
            text = escape(&unit.print(answer)),
            typed = escape(&self.unit),
            question = prose(&self.question),
            measured =
                value.sentence(records, |value, _| escape(&unit.print(*value))),
            explain = prose(&self.explain),
        ))
    }
}
