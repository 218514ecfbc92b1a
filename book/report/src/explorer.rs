//! Explorers, `{{explorer NAME}}`: the picture that one begins with, its task, and a form for its
//! knobs, which only `theme/explorer.js` shows. The crate `engine` has what they are. What was
//! measured of the same cases comes from records, as the file beside the page says, and goes
//! with the explorer into the page:
//!
//! ```toml
//! [[explorer.coalescing]]
//! where = { case = "stride" }
//! x = { of = "stride", label = "stride" }
//! y = { of = "bandwidth", label = "useful bandwidth" }
//! series = ["kind", "access_bytes"]
//! chart = "coalescing-sectors"
//! ```
//!
//! Where several pages have one explorer, each may ask something else: `[task.coalescing]`.

use std::collections::BTreeMap;
use std::fmt::Write;

use engine::explorer::{Curve, Explorer, Knob, Machine, Measured, Point, Request};
use engine::explorer::{Shown, Values as Moves, show};
use serde::Deserialize;
use serde_json::Value;

use crate::chart::Scale;
use crate::html::{escape, prose};
use crate::metric::InRuns;
use crate::names::Defaults;
use crate::page::Page;
use crate::plot::{Values, lines::Along};
use crate::records::{Recorded, Records};
use crate::select::{self, CASE, Choose, Filter};
use crate::sources::Sources;
use crate::unit::Unit;

/// What stands behind an explorer.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Behind(Vec<Curves>);

/// What `[[explorer.NAME]]` says: measurements over one parameter, in curves for others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// Whose record it is; without, that of the page's experiment.
    experiment: Option<String>,
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The parameter that an explorer's knob sets.
    x: Along,
    y: Values,
    /// The parameters that tell one curve from the other.
    #[serde(default)]
    series: Vec<String>,
    /// While this chart of the page is veiled, so are these.
    chart: Option<String>,
}

/// What `[task.NAME]` says: what a page asks its reader to find, in place of the explorer's task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    asks: String,
    finding: String,
}

impl Behind {
    /// Adds the labels of axes that are not given.
    pub fn complete(&mut self, names: &Defaults) -> Result<(), String> {
        self.0.iter_mut().for_each(|curves| curves.y.complete(names));
        Ok(())
    }

    /// What the engine draws.
    pub fn measured(&self, records: &Records, page: &Page) -> Result<Vec<Measured>, String> {
        self.0.iter().map(|curves| curves.measured(records, page)).collect()
    }
}

impl Curves {
    fn measured(&self, records: &Records, page: &Page) -> Result<Measured, String> {
        let Curves { experiment, x, y, chart, .. } = self;
        if let Some(chart) = chart {
            page.chart(chart)?;
        }
        let both = records.both(page.experiment(experiment)?, None, |machine, record| {
            let whose = match machine.is_reference() {
                true => machine.label.clone(),
                false => machine.called(),
            };
            Ok(Machine { whose, curves: self.curves(record)? })
        })?;
        let mut machines: Vec<Machine> = both.each().map(|(machine, _)| machine.clone()).collect();
        let case = common(&machines);
        let curves = || machines.iter().flat_map(|machine| &machine.curves);
        let values = || curves().flat_map(|curve| &curve.points).map(|point| point.value.0);
        let most = values().fold(f64::MIN, f64::max);
        let least = match y.scale {
            Scale::Linear => (0.0, "0".to_owned()),
            _ => {
                let least = values().fold(f64::MAX, f64::min);
                (least, y.of.unit().print(least))
            }
        };
        for curve in machines.iter_mut().flat_map(|machine| &mut machine.curves) {
            curve.case.retain(|name, _| !case.contains_key(name));
        }
        Ok(Measured {
            along: x.of.clone(),
            label: x.label.clone(),
            of: y.label.clone(),
            by_factors: [x.scale, y.scale].map(|scale| scale != Scale::Linear),
            ends: [least, (most, y.of.unit().print(most))],
            chart: chart.clone(),
            case,
            machines,
        })
    }

    fn curves(&self, record: &Recorded) -> Result<Vec<Curve>, String> {
        let Along { of: along, .. } = &self.x;
        let mut curves: Vec<Curve> = vec![];
        let chosen = self.filter.all(record)?;
        let is_same = |name: &str| select::distinct(&chosen, name).len() == 1;
        for m in &chosen {
            let at = select::parameter(m, along).and_then(|at| at.integer());
            let at = at.ok_or_else(|| format!("x: a measurement has no number `{along}`"))? as f64;
            let estimate = self.y.of.of(record, m)?;
            let unit = self.y.of.unit();
            let point = Point {
                at: (at, Unit::of_name(along).print(at)),
                value: (rounded(estimate.value), estimate.print(&unit)),
            };
            let names = m.parameters.keys().map(String::as_str).chain([CASE]);
            let told = names
                .filter(|name| *name != along)
                .filter(|name| is_same(name) || self.series.iter().any(|series| series == name));
            let value =
                |name: &str| Some((name.to_owned(), select::parameter(m, name)?.to_string()));
            let case: BTreeMap<String, String> = told.filter_map(value).collect();
            match curves.iter_mut().find(|curve| curve.case == case) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve { case, points: vec![point] }),
            }
        }
        for Curve { case, points } in &mut curves {
            points.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
            if let Some(two) = points.windows(2).find(|two| two[0].at.0 == two[1].at.0) {
                let at = &two[0].at.1;
                return Err(format!("two measurements of {case:?} stand at {along} = {at}"));
            }
        }
        Ok(curves)
    }
}

/// The parameters that are the same in all curves.
fn common(machines: &[Machine]) -> BTreeMap<String, String> {
    let mut cases = machines.iter().flat_map(|machine| &machine.curves).map(|curve| &curve.case);
    let mut common = cases.next().cloned().unwrap_or_default();
    for case in cases {
        common.retain(|name, value| case.get(name) == Some(value));
    }
    common
}

/// As many digits as a picture can show.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The same, but whole numbers are written without `.0`: a page has hundreds of them.
fn without_fractions(value: Value) -> Value {
    match value {
        Value::Array(all) => all.into_iter().map(without_fractions).collect(),
        Value::Object(all) => {
            all.into_iter().map(|(name, value)| (name, without_fractions(value))).collect()
        }
        Value::Number(number) => match number.as_f64() {
            Some(whole) if whole as i64 as f64 == whole => (whole as i64).into(),
            _ => Value::Number(number),
        },
        other => other,
    }
}

/// The figure, with the page's task or its own. `sources` has the engine, and `root` leads there
/// from the page.
pub fn expand(
    explorer: &Explorer,
    task: Option<&Task>,
    measured: Vec<Measured>,
    sources: &Sources,
    root: &str,
) -> Result<String, String> {
    let name = explorer.name;
    let engine = sources.module("engine.js")?;
    let behind = serde_json::to_value(&measured).map_err(|e| e.to_string())?;
    let behind = without_fractions(behind).to_string();
    let request = Request { name: name.to_owned(), measured, ..Request::default() };
    let Shown { said, wide, narrow, limit, .. } = show(&request)?;
    let mut form = String::new();
    for knob in explorer.knobs {
        add(&mut form, knob, limit.filter(|(name, _)| *name == knob.name).map(|(_, most)| most));
    }
    let [title, said, behind] = [explorer.title, &said, &behind].map(escape);
    let own = [explorer.task, explorer.finding];
    let [task, finding] = task.map_or(own, |Task { asks, finding }| [asks, finding]).map(prose);
    Ok(format!(
        "<figure class=\"drawing explorer\" data-explorer=\"{name}\" \
         data-engine=\"{root}{engine}\" data-measured=\"{behind}\">\n\
         <p class=\"task\">{task} <span class=\"still\">Without JavaScript and WebAssembly \
         you see only how it begins.</span></p>\n\
         <form hidden aria-label=\"{title}\">{form}\
         <button type=\"reset\">Begin again</button></form>\n\
         {wide}{narrow}<p class=\"said\" role=\"status\">{said}</p>\n\
         <figcaption><details><summary>What there is to find</summary>{finding}</details>\
         </figcaption>\n</figure>\n",
    ))
}

/// Adds a knob. A slider goes no further than to its limit, which the others set.
fn add(form: &mut String, Knob { name, label, first, values }: &Knob, limit: Option<u32>) {
    let _ = match values {
        Moves::Range(least, most) => {
            let max = limit.map_or(format!("max=\"{most}\""), |limit| {
                format!("max=\"{limit}\" data-most=\"{most}\"")
            });
            let is = format!("name=\"{name}\" min=\"{least}\" {max} value=\"{first}\"");
            write!(form, "{}", slider(label, first, &is))
        }
        Moves::Choice(words) => {
            let option = |(word, label): &(&str, &str)| {
                let selected = if word == first { " selected" } else { "" };
                format!("<option value=\"{word}\"{selected}>{}</option>", escape(label))
            };
            let options: String = words.iter().map(option).collect();
            // Named by itself: browsers take what it is at for a part of its label.
            write!(
                form,
                "<label>{label} <select name=\"{name}\" aria-label=\"{label}\">{options}\
                 </select></label>"
            )
        }
        Moves::Text { examples, slider: of, words } => {
            let button = |attribute: &str, text: &str, label: &str| {
                let [text, label] = [text, label].map(escape);
                format!(
                    "<button type=\"button\" data-sets=\"{name}\" {attribute}=\"{text}\">\
                     {label}</button>"
                )
            };
            let mut buttons = String::new();
            for (word, label) in *words {
                buttons += &button("data-adds", word, &format!("+ {label}"));
            }
            if !words.is_empty() {
                buttons += &button("data-adds", "", "− the last");
            }
            buttons.extend(examples.iter().map(|text| button("data-value", text, text)));
            let slider = of.map_or(String::new(), |(of, after, least, most)| {
                let is = format!(
                    "min=\"{least}\" max=\"{most}\" value=\"{least}\" data-sets=\"{name}\" \
                     data-after=\"{after}\""
                );
                slider(of, &least.to_string(), &is)
            });
            write!(
                form,
                "{slider}<label>{label} <input type=\"text\" name=\"{name}\" \
                 value=\"{first}\" spellcheck=\"false\" autocapitalize=\"off\" \
                 autocomplete=\"off\"></label><span class=\"examples\">{buttons}</span>"
            )
        }
    };
}

/// A slider, and a button for a step to each side.
fn slider(label: &str, first: &str, attributes: &str) -> String {
    let step = |by: &str, sign: &str, word: &str| {
        format!(
            "<button type=\"button\" data-step=\"{by}\" aria-label=\"{label}: {word}\">\
             {sign}</button>"
        )
    };
    format!(
        "<span class=\"slider\"><label>{label} <b aria-hidden=\"true\">{first}</b>\
         <input type=\"range\" {attributes}></label>{}{}</span>",
        step("-1", "−", "one less"),
        step("1", "+", "one more"),
    )
}
