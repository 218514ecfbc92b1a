//! `[chart.NAME]`: the figure on the page. Which point lies where is for [`crate::plot`],
//! what a chart looks like for [`crate::chart`].

use std::collections::BTreeMap;

use excerpt::page::Table;
use serde::Deserialize;

use crate::both::{Both, Here};
use crate::chart::{self, Figure, Lines};
use crate::html::{escape, prose, uncapitalised};
use crate::names::Defaults;
use crate::page::Page;
use crate::plot::{Common, Plot, bars, course, heatmap, lines};
use crate::provenance;
use crate::records::{Machine, Recorded, Records};
use crate::select::Filter;
use crate::svg::{Width, standalone};
use crate::unit::Unit;

/// What `[chart.NAME]` says.
#[derive(Clone, Debug, Deserialize)]
pub struct ChartBlock {
    /// Unique in the book; also the stem of the figure's file.
    #[serde(skip)]
    pub id: String,
    /// What every chart says.
    #[serde(flatten)]
    pub common: Common,
    #[serde(flatten)]
    form: Form,
}

/// What a chart says according to its `form`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "form", rename_all = "lowercase")]
enum Form {
    Lines(lines::Block),
    Bars(bars::Block),
    Heatmap(heatmap::Block),
    Timeline(course::Timeline),
    Memory(course::Memory),
}

impl Form {
    fn draw(&self, plot: &Plot) -> Result<chart::Form, String> {
        Ok(match self {
            Form::Lines(block) => chart::Form::Lines(block.draw(plot)?),
            Form::Bars(block) => chart::Form::Bars(block.draw(plot)?),
            Form::Heatmap(block) => chart::Form::Heatmap(block.draw(plot)?),
            Form::Timeline(block) => chart::Form::Timeline(block.draw(plot)?),
            Form::Memory(block) => chart::Form::Memory(block.draw(plot)?),
        })
    }

    /// What it is of, whatever it shows.
    fn subject(&self) -> String {
        match self {
            Form::Lines(lines::Block { x, y, .. }) => {
                format!("{} over {}", y.label, uncapitalised(&x.label))
            }
            Form::Bars(block) => block.y.label.clone(),
            Form::Heatmap(block) => block.y.label.clone(),
            Form::Timeline(_) => "What ran when".to_owned(),
            Form::Memory(block) => format!("{} over time", block.y_label),
        }
    }
}

/// A picture for `figures/<machine>/<stem>.svg`.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub machine: String,
    /// The file's name without `.svg`.
    pub stem: String,
    pub svg: String,
    /// What it shows, for `<stem>.csv` beside it in the finished book; none of the picture
    /// for phones, which shows the same.
    pub csv: Option<String>,
}

/// How the line under a chart begins that offers its files.
const FILES: &str = "<p class=\"files\">";

/// A page without the lines that offer files, for a book that has none.
pub fn without_files(page: &str) -> String {
    page.split_inclusive('\n').filter(|line| !line.starts_with(FILES)).collect()
}

impl ChartBlock {
    pub fn table(&self, names: &Defaults) -> Table {
        let Common { title, filter, labels, .. } = &self.common;
        let of_block = Table {
            title: title.clone(),
            filter: filter.clone(),
            labels: labels.clone(),
            ..Table::default()
        };
        match &self.form {
            Form::Lines(block) => block.table(of_block, names),
            Form::Bars(block) => block.table(of_block, names),
            Form::Heatmap(block) => block.table(of_block),
            Form::Timeline(block) => block.table(of_block, names),
            Form::Memory(block) => block.table(of_block, names),
        }
    }

    /// Tells the block its name, and what its axes are called that it does not name.
    pub fn complete(&mut self, id: &str, names: &Defaults) -> Result<(), String> {
        self.id = id.to_owned();
        match &mut self.form {
            Form::Lines(block) => block.complete(names),
            Form::Bars(block) => block.y.complete(names),
            Form::Heatmap(block) => block.complete(names),
            Form::Timeline(_) | Form::Memory(_) => {}
        }
        Ok(())
    }

    /// The unit of the one axis that values are read from, on which a guess can be drawn.
    pub fn axis(&self) -> Option<Unit> {
        match &self.form {
            Form::Lines(block) => Some(block.y.of.unit()),
            Form::Bars(block) => Some(block.y.of.unit()),
            Form::Heatmap(_) | Form::Timeline(_) | Form::Memory(_) => None,
        }
    }

    /// The one curve of this chart of lines that `filter` chooses, and the peaks beside it, if
    /// `is_whole` finds nothing wrong with it.
    pub fn curve(
        &self,
        filter: &Filter,
        records: &Records,
        page: &Page,
        is_whole: impl Fn(&Lines) -> Result<(), String>,
    ) -> Result<Both<Lines>, String> {
        let Form::Lines(block) = &self.form else {
            return Err(format!("`{}` is no chart of lines", self.id));
        };
        let (bare, filter) = (block.bare(), self.common.filter.and(filter));
        let common = Common { filter, labels: BTreeMap::new(), ..self.common.clone() };
        let experiment = page.experiment(&common.experiment)?;
        records.both(experiment, common.machine.as_deref(), |machine, record| {
            let (common, quantities) = (&common, &page.quantities);
            let machines = records.with(machine);
            let lines = bare.draw(&Plot { common, machine, record, machines, quantities })?;
            is_whole(&lines).map(|()| lines)
        })
    }

    /// The chart as HTML, and the pictures for the figures folder.
    pub fn expand(&self, records: &Records, page: &Page) -> Result<(String, Vec<Picture>), String> {
        let Common { experiment, machine, title, holds, .. } = &self.common;
        let experiment = page.experiment(experiment)?;
        let held = match holds {
            None => None,
            Some(condition) => {
                let condition = page.conditions.read(condition)?;
                Some(condition.holds(&page.quantities, records)?)
            }
        };
        // What title and description say of a reference machine's figure, another machine's may
        // not show.
        let is_so = |machine: &Machine| {
            machine.is_reference()
                || held.as_ref().is_some_and(|held| machine.own(held) == Some(&true))
        };
        let subject =
            |machine: &Machine| format!("{} on {}", self.form.subject(), machine.called());
        let figures = records.both(experiment, machine.as_deref(), |machine, record| {
            let (common, quantities) = (&self.common, &page.quantities);
            let machines = records.with(machine);
            let plot = Plot { common, machine, record, machines, quantities };
            let form = self.form.draw(&plot)?;
            let (title, description) = match is_so(machine) {
                true => (title.clone(), common.description.clone()),
                false => (subject(machine), subject(machine) + "."),
            };
            let id = self.id.clone();
            Ok((machine, record, Figure { id, title, description, form }))
        })?;
        let mut pictures = vec![];
        for ((_, record, figure), _) in figures.each() {
            for (suffix, width) in [("", Width::Wide), ("-narrow", Width::Narrow)] {
                pictures.push(Picture {
                    machine: record.machine.name.clone(),
                    stem: format!("{}{suffix}", self.id),
                    svg: standalone(&svg(figure, width)),
                    csv: (width == Width::Wide).then(|| chart::csv(figure)),
                });
            }
        }
        let (reference, record, theirs) = &figures.reference;
        let one = |side: &(&Machine, &Recorded, Figure), note: &str, fold, beside| {
            let (machine, record, figure) = side;
            let mut title = prose(&figure.title);
            if !machine.is_reference() && is_so(machine) {
                title += &format!(" ({})", escape(machine.whose()));
            }
            let line = provenance::line(record, &self.common.filter);
            let caption = format!("<strong>{title}</strong>{note} {line}");
            self.html(&[*record], page, figure, fold, beside, &caption)
        };
        let html = match &figures.here {
            Here::SameAsReference | Here::NotMeasured => one(&figures.reference, "", None, false),
            Here::Measured(side) => {
                let (machine, here, own) = side;
                let called = (&*machine.called(), &*reference.label);
                match own.beside(theirs, called) {
                    Some(both) => {
                        let title = prose(&own.title);
                        let title = match is_so(machine) {
                            true => format!("{title} ({})", escape(machine.whose())),
                            false => format!(
                                "{title}. On the {}: {}",
                                escape(called.1),
                                uncapitalised(&prose(&theirs.title))
                            ),
                        };
                        let lines =
                            [here, record].map(|of| provenance::line(of, &self.common.filter));
                        let shares = own.of_peak().zip(theirs.of_peak());
                        let shares = shares.and_then(|(a, b)| a.beside(&b, called));
                        let fold = shares
                            .map(|s| ("Each as a share of the most that its machine can do", s));
                        let caption = format!("<strong>{title}</strong> {}", lines.join(" "));
                        self.html(&[*here, *record], page, &both, fold, false, &caption)
                    }
                    None => {
                        let note = own.is_of_other_work(theirs).then(|| {
                            let label = escape(called.1);
                            format!(
                                " The {label}'s arrays are of another size: its times stand apart."
                            )
                        });
                        let rates = own.as_rates().zip(theirs.as_rates());
                        let rates = rates.and_then(|(a, b)| a.beside(&b, called));
                        let fold = rates.map(|rates| ("Both machines' as rates", rates));
                        let own = one(side, &note.unwrap_or_default(), fold, false);
                        own + &one(&figures.reference, "", None, true)
                    }
                }
            }
        };
        Ok((html, pictures))
    }

    /// A figure of the first of these machines, with the files of each, and what is folded below
    /// it under its heading.
    fn html(
        &self,
        of: &[&Recorded],
        page: &Page,
        figure: &Figure,
        fold: Option<(&str, Figure)>,
        beside: bool,
        caption: &str,
    ) -> String {
        // Two figures of one chart on one page: their ids must differ.
        let (class, suffix) = if beside { ("chart beside", "-reference") } else { ("chart", "") };
        let figure = Figure { id: format!("{}{suffix}", self.id), ..figure.clone() };
        let names: Vec<String> = of.iter().map(|record| escape(&record.machine.name)).collect();
        let (root, id) = ("../".repeat(page.stem.matches('/').count()), escape(&self.id));
        let files = names.iter().map(|name| {
            let whose = match of.len() {
                1 => String::new(),
                _ => format!("{name}: "),
            };
            let file = format!("{root}figures/{name}/{id}");
            format!(
                "{whose}<a href=\"{file}.csv\" download>CSV</a> · \
                 <a href=\"{file}.svg\">SVG</a>"
            )
        });
        let files = files.collect::<Vec<_>>().join(" · ");
        format!(
            "<figure class=\"{class}\" id=\"figure-{}\" data-machine=\"{}\">\n\
             <figcaption>{caption}</figcaption>\n{}{}{}{FILES}{files}</p>\n</figure>\n",
            figure.id,
            names[0],
            svg(&figure, Width::Wide),
            svg(&figure, Width::Narrow),
            fold.map_or_else(String::new, |(summary, folded)| format!(
                "<details><summary>{summary}</summary>\n{}{}</details>\n",
                svg(&folded, Width::Wide),
                svg(&folded, Width::Narrow),
            )),
        )
    }
}

/// The figure's SVG. Braces become entities for the same reason as in
/// [`crate::html::escape`].
fn svg(figure: &Figure, width: Width) -> String {
    chart::svg(figure, width).replace('{', "&#123;")
}
