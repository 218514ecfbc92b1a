//! A number of a machine's records, in the words of a page.
//!
//! ```text
//! host-memory copy kind=pinned bytes=1GiB : bandwidth      of one measurement
//! max transpose side=8192 : bandwidth                      the largest of several
//! fit host-memory copy kind=pinned : latency               of the line through several
//! machine : memory_peak                                    of the machine itself
//! host-memory copy bytes=1GiB on h200-x2 : bandwidth       of one reference machine
//! copies kind=pinned : bandwidth                           with the words of a family
//! budget llama-2-7b task=training : total                  of a model's formulas, no machine's
//! ```
//!
//! Without `on`, it is of the first reference machine that has a record of the experiment,
//! and of the reader's own.

use excerpt::machine::{FACTS, Fact};
use record::Measurement;

use crate::estimate::{Estimate, Runs};
use crate::fit::Fit;
use crate::metric::{InRuns, Metric};
use crate::model;
use crate::records::{self, Machine, Recorded};
use crate::select::{CASE, Choose, Filter, value};
use crate::unit::Unit;

/// What a quantity stands for.
#[derive(Clone)]
pub struct Query {
    experiment: String,
    filter: Filter,
    /// The reference machine that is named.
    on: Option<String>,
    wanted: Wanted,
}

#[derive(Clone)]
enum Wanted {
    /// A number of the only measurement.
    One(Metric),
    /// The largest or smallest of at least two.
    Extreme(Metric, Pick),
    /// A number of the fitted line.
    Fit(&'static OfAFit),
    Machine(&'static Fact),
    /// What a formula gives, on any machine.
    Anywhere(f64, Unit),
}

#[derive(Clone, Copy)]
enum Pick {
    Largest,
    Smallest,
}

impl Pick {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Pick::Largest => a.max(b),
            Pick::Smallest => a.min(b),
        }
    }
}

/// A number that needs no metric: its name, its unit, and how it is found.
type Named<F> = (&'static str, Unit, F);
type OfAFit = Named<fn(&Fit) -> f64>;

/// What may stand before a selector, so that nothing else is called that.
pub const KINDS: [&str; 5] = ["budget", "fit", "max", "min", "machine"];

static OF_A_FIT: [OfAFit; 3] = [
    ("latency", Unit::Time, |fit| fit.latency),
    ("bandwidth", Unit::Bandwidth, |fit| fit.bandwidth),
    ("residual", Unit::Share, |fit| fit.residual),
];

fn named<F>(
    what: &str,
    table: &'static [Named<F>],
    name: &str,
) -> Result<&'static Named<F>, String> {
    table.iter().find(|(known, ..)| *known == name).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|(name, ..)| *name).collect();
        format!("{what} has no `{name}`: there are {}", names.join(", "))
    })
}

impl Query {
    /// Parses a query; `page` is the experiment whose machine `machine :` means, `family`
    /// gives the words that its first word stands for, if that is a family.
    pub fn parse(
        text: &str,
        page: Option<&str>,
        family: impl Fn(&str) -> Option<String>,
    ) -> Result<Query, String> {
        let (selector, number) =
            text.split_once(':').ok_or_else(|| format!("`{text}` has no ` : metric`"))?;
        let number = number.trim();
        let mut words: Vec<&str> = selector.split_whitespace().collect();
        let kind = words.first().filter(|w| KINDS.contains(w)).copied();
        words.drain(..usize::from(kind.is_some()));
        let of_family = words.first().and_then(|first| family(first));
        if let Some(of_family) = &of_family {
            words.splice(..1, of_family.split_whitespace());
        }
        let on = match words.iter().position(|word| *word == "on") {
            Some(at) if at + 1 < words.len() => words.drain(at..at + 2).nth(1).map(str::to_owned),
            Some(_) => return Err("`on` needs a machine's name".to_owned()),
            None => None,
        };
        if kind == Some("budget") {
            let (value, unit) = model::number(&words, number)?;
            let wanted = Wanted::Anywhere(value, unit);
            return Ok(Query { experiment: String::new(), filter: Filter::default(), on, wanted });
        }
        let mut words = words.into_iter();
        let wanted = match kind {
            Some("max") => Wanted::Extreme(Metric::parse(number)?, Pick::Largest),
            Some("min") => Wanted::Extreme(Metric::parse(number)?, Pick::Smallest),
            Some("fit") => Wanted::Fit(named("a fit", &OF_A_FIT, number)?),
            Some(_) => Wanted::Machine(named("a machine", &FACTS, number)?),
            None => Wanted::One(Metric::parse(number)?),
        };
        let of_machine = matches!(wanted, Wanted::Machine(_));
        let experiment = match words.next() {
            Some(experiment) => experiment,
            None if of_machine => {
                page.ok_or("of which experiment's machine? The page names none")?
            }
            None => return Err(format!("`{text}` names no experiment")),
        };
        let mut filter = Filter::default();
        for word in words {
            if of_machine {
                return Err(format!("`{word}` does not select a machine"));
            }
            let (key, text) = word.split_once('=').unwrap_or((CASE, word));
            if filter.insert(key, value(text)).is_some() {
                return Err(format!("`{key}` is given twice"));
            }
        }
        Ok(Query { experiment: experiment.to_owned(), filter, on, wanted })
    }

    /// The same for a program that has one run of `experiment` and nothing else; none if that does
    /// not give it.
    pub fn in_one_run(&self, experiment: &str) -> Option<excerpt::page::Query> {
        use excerpt::page::Query as Q;
        let filter = || self.filter.clone();
        match &self.wanted {
            Wanted::Anywhere(value, _) => Some(Q::Number(*value)),
            _ if self.experiment != experiment || self.on.is_some() => None,
            Wanted::One(of) => Some(Q::One(filter(), of.clone())),
            Wanted::Extreme(of, Pick::Largest) => Some(Q::Max(filter(), of.clone())),
            Wanted::Extreme(of, Pick::Smallest) => Some(Q::Min(filter(), of.clone())),
            Wanted::Machine((name, ..)) => Some(Q::Machine((*name).to_owned())),
            Wanted::Fit(_) => None,
        }
    }

    /// The unit its value is kept in.
    pub fn unit(&self) -> Unit {
        match &self.wanted {
            Wanted::One(metric) | Wanted::Extreme(metric, _) => metric.unit(),
            Wanted::Fit((_, unit, _)) | Wanted::Machine((_, unit, _)) => unit.clone(),
            Wanted::Anywhere(_, unit) => unit.clone(),
        }
    }

    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// The reference machine that it names.
    pub fn on(&self) -> Option<&str> {
        self.on.as_deref()
    }

    /// Whether `is_like` fails for a measurement of the references: that on the reader's machine
    /// did something else under the same name. A quick run may measure smaller sizes, and some
    /// sizes follow the machine.
    fn differs(
        &self,
        here: &[&Machine],
        references: &[&Machine],
        is_like: fn(&Measurement, &Measurement) -> bool,
    ) -> bool {
        let chosen = |machines| {
            let (_, record) = records::recorded(machines, &self.experiment, None).ok()?;
            self.filter.all(record).ok()
        };
        match (&self.wanted, chosen(here), chosen(references)) {
            (Wanted::One(_) | Wanted::Extreme(..), Some(here), Some(there)) => {
                there.iter().any(|there| !here.iter().any(|here| is_like(here, there)))
            }
            _ => false,
        }
    }

    /// Why what the reader's machine has says nothing in a sentence of the references, if so: one
    /// GPU where they are several, or a quick run of another size.
    pub fn why_not_comparable(
        &self,
        here: &[&Machine],
        references: &[&Machine],
    ) -> Option<&'static str> {
        let recorded = |machines| records::recorded(machines, &self.experiment, None).ok();
        let ((_, own), (_, theirs)) = (recorded(here)?, recorded(references)?);
        let is_like = |here: &Measurement, there: &Measurement| {
            here.parameters == there.parameters && here.work() == there.work()
        };
        if own.machine.gpus.len() == 1 && theirs.machine.gpus.len() > 1 {
            return Some("it is about several GPUs");
        }
        (own.is_quick() && self.differs(here, references, is_like))
            .then_some("a quick run measured another size")
    }

    /// Whether it is a time in which the reader's machine did more work than the references,
    /// or less.
    pub fn is_of_other_work(&self, here: &[&Machine], references: &[&Machine]) -> bool {
        matches!(self.wanted, Wanted::One(Metric::Time))
            && self.differs(here, references, |here, there| here.work() == there.work())
    }

    /// Its value in each run, which is finite, and on which of `machines`; on none if it is
    /// a formula's.
    pub fn value<'m>(
        &self,
        machines: &[&'m Machine],
    ) -> Result<(Runs, Option<&'m Machine>), String> {
        if let Wanted::Anywhere(value, _) = self.wanted {
            return Ok((Runs::constant(value), None));
        }
        let (machine, record) = records::recorded(machines, &self.experiment, self.on())?;
        let value = match &self.wanted {
            Wanted::One(metric) => metric.runs(record, self.filter.one(record)?)?,
            Wanted::Extreme(metric, pick) => {
                let chosen = self.filter.all(record)?;
                if chosen.len() < 2 {
                    return Err("matches only one: drop `max` or `min`".to_owned());
                }
                let values = chosen.iter().map(|m| metric.runs(record, m));
                let values: Vec<Runs> = values.collect::<Result<_, String>>()?;
                Runs::combine(&values, |values| {
                    let picked = values.iter().copied().reduce(|a, b| pick.of(a, b));
                    Ok::<_, String>(picked.unwrap_or(f64::NAN))
                })?
            }
            Wanted::Fit((.., of)) => {
                let (bytes, times) = points(record, &self.filter.all(record)?)?;
                Runs::combine(&times, |times| Ok::<_, String>(of(&line(&bytes, times)?)))?
            }
            Wanted::Machine((.., of)) => {
                let value = of(record);
                Runs::constant(value.ok_or_else(|| format!("`{}` does not tell", machine.name))?)
            }
            Wanted::Anywhere(value, _) => Runs::constant(*value),
        };
        let Estimate { value: middle, low, high, .. } = value.estimate();
        match [middle, low, high].into_iter().all(f64::is_finite) {
            true => Ok((value, Some(machine))),
            false => Err("is not a finite number".to_owned()),
        }
    }
}

/// The line through the median times of `measurements`.
pub fn fit(record: &Recorded, measurements: &[&Measurement]) -> Result<Fit, String> {
    let (bytes, times) = points(record, measurements)?;
    line(&bytes, &times.iter().map(|time| time.estimate().value).collect::<Vec<_>>())
}

fn line(bytes: &[f64], seconds: &[f64]) -> Result<Fit, String> {
    let points = bytes.iter().copied().zip(seconds.iter().copied());
    Fit::of(&points.collect::<Vec<_>>())
}

/// The bytes of each measurement, and its time in each run.
fn points(
    record: &Recorded,
    measurements: &[&Measurement],
) -> Result<(Vec<f64>, Vec<Runs>), String> {
    let point = |m: &&Measurement| Ok((m.bytes() as f64, Metric::Time.runs(record, m)?));
    let points: Result<Vec<_>, String> = measurements.iter().map(point).collect();
    Ok(points?.into_iter().unzip())
}
