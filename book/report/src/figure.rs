//! `chart` blocks: what they say, and the figure on the page. Which point lies where is
//! for [`crate::plot`], what a chart looks like for [`crate::chart`].

use std::collections::BTreeMap;

use record::{Parameter, Record};
use serde::Deserialize;

use crate::block;
use crate::chart::{self, Figure, ReferenceKind, Scale, Width};
use crate::html::{escape, prose};
use crate::metric::Metric;
use crate::names::Names;
use crate::page::Page;
use crate::plot::Plot;
use crate::provenance;
use crate::records::Records;
use crate::select::Filter;
use crate::unit::Unit;

/// A `chart` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Unique in the book; also the stem of the figure's file.
    pub id: String,
    /// Whose record is drawn.
    pub experiment: String,
    /// Which reference machine is drawn; without, the first that has the record, and the
    /// reader's own.
    pub machine: Option<String>,
    /// A sentence: what the chart shows.
    pub title: String,
    /// For screen readers.
    pub description: String,
    form: Form,
    /// Which measurements are drawn.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// Lines: the parameter on the x axis.
    pub x: Option<String>,
    /// Lines, timelines, memory: the x axis in words.
    pub x_label: Option<String>,
    /// Lines: the x axis' scale.
    #[serde(default = "linear", with = "ScaleName")]
    pub x_scale: Scale,
    /// Lines: the x axis' unit, if the parameter's name does not tell.
    pub x_unit: Option<Unit>,
    /// What is drawn of each measurement; on timelines, what is written beside it.
    pub y: Option<Metric>,
    /// The axis of values in words.
    pub y_label: Option<String>,
    /// The scale of the axis of values.
    #[serde(default = "linear", with = "ScaleName")]
    pub y_scale: Scale,
    /// Lines: the parameter that tells one line from the other.
    pub series: Option<String>,
    /// Bars: the parameter that tells one group from the other.
    pub group: Option<String>,
    /// Bars: the parameter that tells one bar of a group from the other.
    pub bar: Option<String>,
    /// Heat maps: the parameter that tells one column from the other.
    pub column: Option<String>,
    /// Heat maps: the columns in words.
    pub column_label: Option<String>,
    /// Heat maps: the parameter that tells one row from the other.
    pub row: Option<String>,
    /// Heat maps: the rows in words.
    pub row_label: Option<String>,
    /// Heat maps: what changes from a measurement to the one that it is divided by.
    pub over: Option<Filter>,
    /// Heat maps: what it means that the ratio is below 1.
    pub below: Option<String>,
    /// Heat maps: what it means that the ratio is above 1.
    pub above: Option<String>,
    /// Heat maps: why some cells have no measurement.
    pub empty: Option<String>,
    /// Timelines, memory: the measurements, from the top down; without, the only one
    /// that is chosen.
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel>,
    /// Timelines: the lanes that are drawn, in order; without, all.
    pub lanes: Option<Vec<String>>,
    /// Timelines: each panel has a time axis of its own.
    pub own_axes: Option<bool>,
    /// Memory: the series of readings that are drawn, in order; without, all.
    pub readings: Option<Vec<String>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    order: Vec<Parameter>,
    /// Straight lines to compare with.
    #[serde(default, rename = "reference")]
    pub references: Vec<ReferenceLine>,
    /// Lines: curves that a model gives.
    #[serde(default, rename = "model")]
    pub models: Vec<Model>,
    /// Lines: places on the x axis that matter.
    #[serde(default, rename = "mark")]
    pub marks: Vec<MarkLine>,
}

/// One measurement of a timeline or of memory over time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// The heading.
    pub label: String,
    /// Which measurement, of those that the block chooses.
    #[serde(default, rename = "where")]
    pub filter: Filter,
}

/// A place on the x axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkLine {
    /// What is there.
    pub label: String,
    /// A query that gives the place.
    pub is: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Form {
    Lines,
    Bars,
    Heatmap,
    Timeline,
    Memory,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Lines => "a chart of lines",
            Form::Bars => "a chart of bars",
            Form::Heatmap => "a heat map",
            Form::Timeline => "a timeline",
            Form::Memory => "a chart of memory",
        }
    }

    /// The fields that it needs and those that it may have, beside those of all.
    fn fields(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Form::Lines => (
                &["x", "x_label", "y", "y_label"],
                &["series", "model", "mark", "reference", "labels", "order"],
            ),
            Form::Bars => (
                &["bar", "y", "y_label"],
                &["group", "reference", "labels", "order"],
            ),
            Form::Heatmap => (
                &["column", "column_label", "row", "row_label", "y", "y_label"],
                &["over", "below", "above", "empty", "labels", "order"],
            ),
            Form::Timeline => {
                (&[], &["panel", "lanes", "own_axes", "x_label", "y", "labels"])
            }
            Form::Memory => (
                &["y_label"],
                &["panel", "readings", "x_label", "reference", "labels"],
            ),
        }
    }
}

/// A straight line to compare with; one of `is`, `value` and `quantity` says where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceLine {
    /// What it is called.
    pub label: String,
    /// What it means.
    #[serde(with = "KindName")]
    pub kind: ReferenceKind,
    /// A query.
    pub is: Option<String>,
    /// A number, such as one that the source claims.
    pub value: Option<f64>,
    /// A quantity of the page.
    pub quantity: Option<String>,
}

/// A curve that a model gives: a value stored with each measurement, or a fit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What it is called.
    pub label: String,
    /// The stored value.
    pub metric: Option<Metric>,
    /// What is fitted: the chart's own metric.
    pub fit: Option<Metric>,
    /// Of which measurements.
    #[serde(default, rename = "where")]
    pub filter: Filter,
}

#[derive(Deserialize)]
#[serde(remote = "Scale", rename_all = "lowercase")]
enum ScaleName {
    Linear,
    Log2,
    Log10,
}

#[derive(Deserialize)]
#[serde(remote = "ReferenceKind", rename_all = "lowercase")]
enum KindName {
    Peak,
    Claim,
    Model,
}

fn linear() -> Scale {
    Scale::Linear
}

/// A picture for `figures/<machine>/<stem>.svg`.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The machine it is of.
    pub machine: String,
    /// The file's name without `.svg`.
    pub stem: String,
    /// The file's content.
    pub svg: String,
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = block::parse(toml)?;
        block::check_id(&block.id)?;
        let given = [
            ("x", block.x.is_some()),
            ("x_label", block.x_label.is_some()),
            ("y", block.y.is_some()),
            ("y_label", block.y_label.is_some()),
            ("series", block.series.is_some()),
            ("group", block.group.is_some()),
            ("bar", block.bar.is_some()),
            ("column", block.column.is_some()),
            ("column_label", block.column_label.is_some()),
            ("row", block.row.is_some()),
            ("row_label", block.row_label.is_some()),
            ("over", block.over.is_some()),
            ("below", block.below.is_some()),
            ("above", block.above.is_some()),
            ("empty", block.empty.is_some()),
            ("panel", !block.panels.is_empty()),
            ("lanes", block.lanes.is_some()),
            ("own_axes", block.own_axes.is_some()),
            ("readings", block.readings.is_some()),
            ("labels", !block.labels.is_empty()),
            ("order", !block.order.is_empty()),
            ("reference", !block.references.is_empty()),
            ("model", !block.models.is_empty()),
            ("mark", !block.marks.is_empty()),
        ];
        let form = block.form.name();
        let (needed, possible) = block.form.fields();
        let ratio: &[&str] =
            if block.over.is_some() { &["below", "above"] } else { &[] };
        for key in needed.iter().chain(ratio) {
            if given.contains(&(key, false)) {
                return Err(format!("{form} needs `{key}`"));
            }
        }
        for (key, _) in given.iter().filter(|(_, given)| *given) {
            if !needed.contains(key) && !possible.contains(key) {
                return Err(format!("{form} has no `{key}`"));
            }
        }
        Ok(block)
    }

    /// The unit of the one axis that values are read from, on which a guess can be drawn.
    /// The error is what has no such axis.
    pub fn axis(&self) -> Result<Unit, &'static str> {
        match self.form {
            Form::Lines | Form::Bars => Ok(self.unit()),
            Form::Heatmap | Form::Timeline | Form::Memory => Err(self.form.name()),
        }
    }

    /// The unit of what is drawn.
    pub fn unit(&self) -> Unit {
        match self.form {
            Form::Memory => Unit::Bytes,
            _ => self.metric().unit(),
        }
    }

    /// What is drawn of each measurement, in forms that need `y`.
    pub fn metric(&self) -> &Metric {
        self.y.as_ref().unwrap_or(&Metric::Time)
    }

    /// The chart as HTML, and the pictures for the figures folder.
    pub fn expand(
        &self,
        records: &Records,
        page: &Page,
    ) -> Result<(String, Vec<Picture>), String> {
        let on = self.machine.as_deref();
        let figures = records.both(&self.experiment, on, |machine, record| {
            if machine.is_reference()
                && !matches!(self.form, Form::Timeline | Form::Memory)
            {
                self.names().check(&self.filter.all(record)?)?;
            }
            let machines = records.with(machine);
            let plot = Plot { block: self, machine, record, machines, page };
            let form = match self.form {
                Form::Lines => chart::Form::Lines(plot.lines()?),
                Form::Bars => chart::Form::Bars(plot.bars()?),
                Form::Heatmap => chart::Form::Heatmap(plot.heatmap()?),
                Form::Timeline => chart::Form::Timeline(plot.timeline()?),
                Form::Memory => chart::Form::Memory(plot.memory()?),
            };
            Ok((record, self.figure(form)))
        })?;
        let (mut html, mut pictures) = (String::new(), vec![]);
        let two = figures.each().count() == 2;
        for ((record, figure), beside) in figures.each() {
            // The title says what the reference's figure shows. Another machine's may
            // show something else, so its title only says what it is of.
            let title = match two && !beside {
                false => self.title.clone(),
                true => format!("{} on this machine", self.subject()),
            };
            html += &self.html(record, figure, beside, &title);
            for (suffix, width) in [("", Width::Wide), ("-narrow", Width::Narrow)] {
                pictures.push(Picture {
                    machine: record.machine.name.clone(),
                    stem: format!("{}{suffix}", self.id),
                    svg: svg(figure, width),
                });
            }
        }
        Ok((html, pictures))
    }

    fn html(
        &self,
        record: &Record,
        figure: &Figure,
        beside: bool,
        title: &str,
    ) -> String {
        // Two figures of one chart on one page: their ids must differ.
        let (class, suffix) =
            if beside { ("chart beside", "-reference") } else { ("chart", "") };
        let figure = Figure { id: format!("{}{suffix}", self.id), ..figure.clone() };
        format!(
            "<figure class=\"{class}\" id=\"figure-{}\" data-machine=\"{}\">\n\
             <figcaption><strong>{}</strong> {}</figcaption>\n{}{}</figure>\n",
            figure.id,
            escape(&record.machine.name),
            prose(title),
            provenance::line(record, &self.filter),
            svg(&figure, Width::Wide),
            svg(&figure, Width::Narrow),
        )
    }

    fn figure(&self, form: chart::Form) -> Figure {
        Figure {
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            form,
        }
    }

    /// What it is of, whatever it shows.
    fn subject(&self) -> String {
        match (&self.y_label, &self.x_label) {
            (Some(y), Some(x)) => format!("{y} over {}", x.to_lowercase()),
            (Some(y), None) if self.form == Form::Memory => format!("{y} over time"),
            (Some(y), None) => y.clone(),
            (None, _) => "What ran when".to_owned(),
        }
    }

    /// What values are called.
    pub fn names(&self) -> Names<'_> {
        Names { labels: &self.labels, order: &self.order }
    }

    /// What a lane, a kind of work or a series of readings is called.
    pub fn called(&self, name: &str) -> String {
        self.labels.get(name).cloned().unwrap_or_else(|| name.replace('_', " "))
    }

    /// The names that labels are given for.
    pub fn labelled(&self) -> impl Iterator<Item = &str> {
        self.labels.keys().map(String::as_str)
    }
}

/// The figure's SVG. Braces become entities for the same reason as in
/// [`crate::html::escape`].
fn svg(figure: &Figure, width: Width) -> String {
    chart::svg(figure, width).replace('{', "&#123;")
}
