//! What the pages show before anything is unfolded, for the experiments' programs: they print it
//! in the pages' order and words. It comes from no record.

use excerpt::page::{FILE, Page as Excerpt, Pages, Question, Table};

use crate::block::{Block, Placed};
use crate::expand::Text;
use crate::names::Defaults;
use crate::page::Page;

/// The text of the file in the book's folder: a line for each page.
pub fn file(pages: &[Page], texts: &[Text], names: &Defaults) -> Result<String, String> {
    let mut all = Pages::new();
    for (page, text) in pages.iter().zip(texts) {
        let Some(experiment) = &page.quantities.experiment else { continue };
        let excerpt = of(page, text, experiment, names)?;
        if !excerpt.tables.is_empty() {
            all.entry(experiment.clone()).or_default().push(excerpt);
        }
    }
    let json = |page: &Excerpt| serde_json::to_string(page).map_err(|e| format!("{FILE}: {e}"));
    let of_each = all.iter().map(|(experiment, pages)| {
        let pages = pages.iter().map(json).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("\"{experiment}\": [\n{}\n]", pages.join(",\n")))
    });
    let of_each = of_each.collect::<Result<Vec<_>, String>>()?;
    Ok(format!("{{\n{}\n}}\n", of_each.join(",\n")))
}

fn of(page: &Page, text: &Text, experiment: &str, names: &Defaults) -> Result<Excerpt, String> {
    let name = page.stem.rsplit('/').next().unwrap_or_default().to_owned();
    let mut excerpt = Excerpt { name, ..Excerpt::default() };
    let is_of_it = |of: &Option<String>| of.as_ref().is_none_or(|of| of == experiment);
    for Placed { what, .. } in text.unfolded() {
        match what {
            Block::Chart(chart) if is_of_it(&chart.common.experiment) => {
                let holds = chart.common.holds.as_ref();
                let holds = holds.map(|holds| page.conditions.read(holds)).transpose()?;
                let holds = holds.as_ref().map_or(&[][..], |holds| holds.comparisons());
                let compared = holds.iter().map(|comparison| comparison.difference.as_str());
                let is_told = page.quantities.take(compared, &mut excerpt)?;
                let holds = if is_told { holds.to_vec() } else { vec![] };
                excerpt.tables.push(Table { holds, ..chart.table(names) });
            }
            Block::Table(table) if is_of_it(&table.experiment) => {
                excerpt.tables.push(table.table(names));
            }
            Block::Prediction(asked) if asked.choices.is_empty() && asked.curve.is_none() => {
                let (answer, typed) = asked.quantity()?;
                if page.quantities.take([answer], &mut excerpt)? {
                    excerpt.questions.push(Question {
                        question: asked.question.clone(),
                        answer: answer.to_owned(),
                        unit: page.quantities.unit_of(answer)?.symbol().to_owned(),
                        typed: typed.to_owned(),
                    });
                }
            }
            // On the emulated GPU, the other tables show what was counted.
            Block::Counted(_) => {}
            Block::Chart(_) | Block::Table(_) | Block::Prediction(_) => {}
            Block::Goals(_) | Block::Kernel(_) | Block::Explorer(_) | Block::Task(_) => {}
        }
    }
    Ok(excerpt)
}
