//! The named numbers of a page: each is a query, or is computed from queries and others.
//!
//! ```toml
//! [quantities]
//! copies = "[host-memory copy bytes=1GiB]"
//! pinned = "copies kind=pinned : bandwidth"
//! speedup = "pinned / [copies kind=pageable : bandwidth] | ×"
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use record::expression::{Expression, Operand};

use crate::both::{Alike, Both, Here};
use crate::estimate::{Estimate, Runs};
use crate::query::{self, Query};
use crate::records::{self, Machine, Records};
use crate::unit::Unit;
use crate::{directive, html, names};

#[derive(Clone, Debug, Default)]
pub struct Quantities {
    /// The page's experiment, if it names one.
    pub experiment: Option<String>,
    /// The page's path in `src/`.
    page: String,
    entries: BTreeMap<String, Entry>,
    values: BTreeMap<String, Quantity>,
    /// The quantities and families that something uses.
    used: RefCell<BTreeSet<String>>,
}

/// What a line defines.
#[derive(Clone, Debug)]
enum Entry {
    /// `[SELECTOR]`: the words that other selectors begin with, under this name.
    Family(String),
    Number(Formula),
}

/// `EXPRESSION | UNIT`, or a query, which has a unit of its own.
#[derive(Clone, Debug)]
struct Formula {
    /// The expression as it is written.
    text: String,
    expression: Expression,
    unit: Option<Unit>,
}

/// A number with its unit, on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub unit: Unit,
    /// Its value, and how well it is known.
    pub value: Both<Estimate>,
    /// The same in each run.
    runs: Both<Runs>,
    /// The two are times of different amounts of work: they do not stand beside each other.
    of_other_work: bool,
}

/// Whose numbers are looked up.
struct Side<'a> {
    machines: &'a [&'a Machine],
    /// If it is the reader's machine, the references that it stands beside.
    beside: Option<&'a [&'a Machine]>,
}

impl Formula {
    fn parse(text: &str) -> Result<Formula, String> {
        let (what, unit) = match text.rsplit_once('|') {
            Some((what, unit)) => (what.trim(), Some(Unit::parse(unit.trim())?)),
            None => (text.trim(), None),
        };
        let expression = match what.contains(':') && !what.contains('[') {
            true => format!("[{what}]"),
            false => what.to_owned(),
        };
        Ok(Formula { expression: Expression::parse(&expression)?, text: expression, unit })
    }
}

impl Quantities {
    /// Those of the page at `page` in `src/`, yet without any.
    pub fn of(page: &str, experiment: Option<String>) -> Quantities {
        Quantities { page: page.to_owned(), experiment, ..Quantities::default() }
    }

    /// Adds a quantity or a family.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), String> {
        names::check(name)?;
        if directive::WORDS.contains(&name) || query::KINDS.contains(&name) {
            return Err("means something else already".to_owned());
        }
        let formula = Formula::parse(text)?;
        let entry = match formula.expression.only_query() {
            Some(words) if formula.unit.is_none() && !words.contains(':') => {
                Entry::Family(words.to_owned())
            }
            _ => Entry::Number(formula),
        };
        self.entries.insert(name.to_owned(), entry);
        Ok(())
    }

    /// The experiments that queries ask for, with the reference machine if they name one.
    pub fn sources(&self) -> BTreeSet<(String, Option<String>)> {
        let mut sources = BTreeSet::new();
        for formula in self.entries.values().filter_map(Entry::number) {
            for operand in formula.expression.operands() {
                if let Operand::Query(text) = operand
                    && let Ok(query) = self.query(text)
                {
                    let on = query.on().map(str::to_owned);
                    sources.insert((query.experiment().to_owned(), on));
                }
            }
        }
        sources
    }

    /// Adds to `page` all that these expressions of quantities need, for a program that has one run
    /// of the page's experiment; nothing, and false, if that is not enough to compute them.
    pub fn take<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e str>,
        page: &mut excerpt::page::Page,
    ) -> Result<bool, String> {
        let mut with = page.clone();
        for expression in expressions {
            if !self.take_one(expression, &mut with)? {
                return Ok(false);
            }
        }
        *page = with;
        Ok(true)
    }

    fn take_one(&self, expression: &str, page: &mut excerpt::page::Page) -> Result<bool, String> {
        let experiment = self.experiment.as_deref().unwrap_or_default();
        let mut enough = true;
        for operand in Expression::parse(expression)?.operands() {
            match operand {
                Operand::Name(name) if page.quantities.contains_key(name) => {}
                Operand::Name(name) => {
                    let formula = self.entries.get(name).and_then(Entry::number);
                    let text = &formula.ok_or_else(|| format!("there is no `{name}`"))?.text;
                    page.quantities.insert(name.clone(), text.clone());
                    enough &= self.take_one(text, page)?;
                }
                Operand::Query(text) => match self.query(text)?.in_one_run(experiment) {
                    Some(query) => drop(page.queries.insert(text.clone(), query)),
                    None => enough = false,
                },
            }
        }
        Ok(enough)
    }

    /// The unit of the number `name`.
    pub fn unit_of(&self, name: &str) -> Result<Unit, String> {
        let formula = self.entries.get(name).and_then(Entry::number);
        self.unit(formula.ok_or_else(|| format!("there is no quantity `{name}`"))?)
    }

    /// Gives a value to every quantity that has one on the reference machines; returns the names
    /// of the others, and why they have none.
    pub fn evaluate(&mut self, records: &Records) -> Vec<(String, String)> {
        let (mut values, mut problems) = (BTreeMap::new(), vec![]);
        let references = records.references();
        let reference = self.on(Some(&Side { machines: &references, beside: None }));
        let here = records.here.as_ref().map(|machine| [machine]);
        let here = here.as_ref().map(|machines| Side { machines, beside: Some(&references) });
        let of_other_work = |name: &str| {
            let text = self.entries[name].number()?.expression.only_query()?;
            let query = self.query(text).ok()?;
            Some(query.is_of_other_work(here.as_ref()?.machines, &references))
        };
        let here = here.as_ref().map(|side| self.on(Some(side)));
        let runs_here = |name: &str| Some(here.as_ref()?[name].as_ref().ok()?.0.clone());
        for (name, found) in &reference {
            let unit = self.entries[name].number().map(|formula| self.unit(formula));
            match (found, &unit) {
                (Ok((runs, from)), Some(Ok(unit))) => {
                    let runs = records.beside(runs.clone(), from.clone(), |_| runs_here(name));
                    let value = runs.clone().map(|runs| runs.estimate());
                    let unit = unit.clone();
                    let of_other_work = of_other_work(name).unwrap_or(false);
                    let quantity = Quantity { unit, value, runs, of_other_work };
                    values.insert(name.clone(), quantity);
                }
                (Err(Problem::Here(problem)), _) | (Ok(_), Some(Err(problem))) => {
                    problems.push((name.clone(), problem.clone()));
                }
                _ => {}
            }
        }
        self.values = values;
        problems
    }

    /// What is wrong with them whatever the records say, by their names.
    pub fn unreadable(&self) -> Vec<(String, String)> {
        let problem = |(name, read): (&String, &Result<Value, Problem>)| {
            let problem = match read {
                Ok(_) => self.unit(self.entries[name].number()?).err()?,
                Err(Problem::Here(problem)) => problem.clone(),
                Err(Problem::Elsewhere) => return None,
            };
            Some((name.clone(), problem))
        };
        self.on(None).iter().filter_map(problem).collect()
    }

    fn unit(&self, formula: &Formula) -> Result<Unit, String> {
        let query = formula.expression.only_query().map(|text| self.query(text)).transpose()?;
        match (query.map(|query| query.unit()), &formula.unit) {
            // A plain number may be given a word; a bandwidth stays a bandwidth.
            (Some(natural), Some(unit)) if natural != *unit && natural != Unit::Number => {
                Err(format!("is in `{}`, not `{}`", natural.symbol(), unit.symbol()))
            }
            (_, Some(unit)) => Ok(unit.clone()),
            (Some(natural), None) => Ok(natural),
            (None, None) => Err("an expression needs a unit: `… | GB/s`".to_owned()),
        }
    }

    /// The query that `text` writes, in which a family may stand for its words.
    fn query(&self, text: &str) -> Result<Query, String> {
        let family = |word: &str| match self.entries.get(word) {
            Some(Entry::Family(words)) => {
                self.used.borrow_mut().insert(word.to_owned());
                Some(words.clone())
            }
            _ => None,
        };
        Query::parse(text, self.experiment.as_deref(), family)
    }

    /// Every quantity on one side; without any they are only read.
    fn on(&self, side: Option<&Side>) -> Values {
        let mut found = Values::new();
        for (name, entry) in &self.entries {
            if let Entry::Number(formula) = entry {
                self.find(name, formula, side, &mut vec![], &mut found);
            }
        }
        found
    }

    /// Puts the value of `name` into `found`. `asking` are the names whose expressions
    /// led here.
    fn find(
        &self,
        name: &str,
        formula: &Formula,
        side: Option<&Side>,
        asking: &mut Vec<String>,
        found: &mut Values,
    ) {
        if found.contains_key(name) {
            return;
        }
        asking.push(name.to_owned());
        let of = |operand: &Operand| -> Result<Value, Problem> {
            Ok(match (operand, side) {
                (Operand::Query(text), Some(side)) => self.measured(text, side)?,
                (Operand::Query(text), None) => {
                    self.query(text)?;
                    unread()
                }
                (Operand::Name(name), _) => {
                    if let Some(start) = asking.iter().position(|asked| asked == name) {
                        let circle = asking[start..].join("` needs `");
                        let problem = format!("`{circle}` needs `{name}`");
                        return Err(format!("goes in a circle: {problem}").into());
                    }
                    let formula = self.entries.get(name).and_then(Entry::number);
                    let formula = formula
                        .ok_or_else(|| format!("there is no quantity `{name}` on this page"))?;
                    self.used.borrow_mut().insert(name.to_owned());
                    self.find(name, formula, side, asking, found);
                    found[name].clone().map_err(|_| Problem::Elsewhere)?
                }
            })
        };
        let operands = formula.expression.operands().iter().map(of);
        let operands: Result<Vec<Value>, Problem> = operands.collect();
        let value = operands.and_then(|operands| match side {
            Some(_) => {
                let (parts, from): (Vec<Runs>, Vec<_>) = operands.into_iter().unzip();
                let runs = Runs::combine(&parts, |values| formula.expression.value_of(values))?;
                Ok((runs, from.into_iter().flatten().collect()))
            }
            None => Ok(unread()),
        });
        asking.pop();
        found.insert(name.to_owned(), value);
    }

    fn measured(&self, text: &str, side: &Side) -> Result<Value, String> {
        let query = self.query(text)?;
        let references = side.beside.unwrap_or_default();
        if let Some(why) = query.why_not_comparable(side.machines, references) {
            return Err(why.to_owned());
        }
        let (runs, machine) = query.value(side.machines)?;
        Ok((runs, machine.map(records::from).unwrap_or_default()))
    }

    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        let numbers = self.entries.iter().filter(|(_, entry)| entry.number().is_some());
        numbers.map(|(name, _)| name.as_str())
    }

    /// Whether the page has a line for the number `name`.
    pub fn defines(&self, name: &str) -> bool {
        self.entries.get(name).and_then(Entry::number).is_some()
    }

    /// The quantity called `name`.
    pub fn get(&self, name: &str) -> Result<&Quantity, String> {
        self.used.borrow_mut().insert(name.to_owned());
        self.values.get(name).ok_or_else(|| {
            let page = &self.page;
            match self.entries.get(name).and_then(Entry::number) {
                Some(_) => {
                    format!("`{name}` has no value, see the quantities of `{page}`")
                }
                None => format!("there is no quantity `{name}` on `{page}`"),
            }
        })
    }

    /// The quantity called `name`, and what a number in `unit` is multiplied by to be
    /// compared with it.
    pub fn in_unit(&self, name: &str, unit: &str) -> Result<(&Quantity, f64), String> {
        let quantity = self.get(name)?;
        let scale = quantity
            .unit
            .scale_of(unit)
            .ok_or_else(|| format!("`{name}` is in `{}`, not `{unit}`", quantity.unit.symbol()))?;
        Ok((quantity, scale))
    }

    /// The value in each run of an expression of quantities.
    pub fn runs(&self, expression: &str) -> Result<Both<Runs>, String> {
        let expression = Expression::parse(expression)?;
        let mut all = Both::anywhere(vec![]);
        for operand in expression.operands() {
            let runs = match operand {
                Operand::Name(name) => self.get(name)?.runs.clone(),
                Operand::Query(query) => return Err(format!("give `[{query}]` a name")),
            };
            all = all.zip_with(runs, |mut all, runs| {
                all.push(runs);
                all
            });
        }
        all.try_map(|parts| Runs::combine(&parts, |values| expression.value_of(values)))
    }

    /// The number that `text` writes as a quantity is written, or that the quantity of
    /// this name has, on `machine`; queries look on all `machines`.
    pub fn number(
        &self,
        text: &str,
        machine: &Machine,
        machines: &[&Machine],
    ) -> Result<(f64, Unit), String> {
        let on = |quantity: &Quantity| {
            let value = machine.own(&quantity.value).map(|estimate| estimate.value);
            value.ok_or_else(|| "this machine lacks it".to_owned())
        };
        let side = Side { machines, beside: None };
        let formula = Formula::parse(text)?;
        let value = formula.expression.value(|operand| match operand {
            Operand::Name(name) => on(self.get(name)?),
            Operand::Query(text) => Ok(self.measured(text, &side)?.0.estimate().value),
        })?;
        match self.values.get(text.trim()) {
            Some(quantity) => Ok((value, quantity.unit.clone())),
            None => Ok((value, self.unit(&formula)?)),
        }
    }

    /// The quantity called `name` in a sentence; `safe` makes text safe there.
    pub fn value(
        &self,
        name: &str,
        records: &Records,
        safe: fn(&str) -> String,
        print: fn(&Estimate, &Unit) -> String,
    ) -> Result<String, String> {
        let Quantity { unit, value, of_other_work, .. } = self.get(name)?;
        let value = match &value.here {
            Here::Measured(here) if *of_other_work => safe(&print(here, unit)),
            _ => records.sentence(value, |value, _| safe(&print(value, unit))),
        };
        Ok(format!("<span class=\"value\">{value}</span>"))
    }

    /// The same in a sentence that is about the references, and not so here.
    pub fn value_elsewhere(
        &self,
        name: &str,
        safe: fn(&str) -> String,
        print: fn(&Estimate, &Unit) -> String,
    ) -> Result<String, String> {
        let Quantity { unit, value, of_other_work, .. } = self.get(name)?;
        let here = match &value.here {
            Here::Measured(here) if !of_other_work && !here.is_like(&value.reference) => {
                format!(" (here: {})", safe(&print(here, unit)))
            }
            _ => String::new(),
        };
        let reference = safe(&print(&value.reference, unit));
        Ok(format!("<span class=\"value\">{reference}{here}</span>"))
    }

    /// A sentence out of a block, as HTML: [`html::prose`], and `{{name}}` is a quantity.
    pub fn prose(&self, text: &str, records: &Records) -> Result<String, String> {
        fill(text, |name| self.value(name, records, html::escape, Estimate::about))
    }

    /// The same of a sentence that is about the references.
    pub fn prose_elsewhere(&self, text: &str) -> Result<String, String> {
        fill(text, |name| self.value_elsewhere(name, html::escape, Estimate::about))
    }

    /// The quantities and families that nothing has used, once all is expanded.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        self.entries.keys().filter(|name| !used.contains(*name)).cloned().collect()
    }
}

impl Entry {
    fn number(&self) -> Option<&Formula> {
        match self {
            Entry::Number(formula) => Some(formula),
            Entry::Family(_) => None,
        }
    }
}

/// The text as HTML, each `{{name}}` by what `value` says.
fn fill(text: &str, value: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut parts = text.split("{{");
    let mut out = html::prose(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once("}}").ok_or("`{{` has no `}}`")?;
        out += &value(name.trim())?;
        out += &html::prose(rest);
    }
    Ok(out)
}

/// A number in each run, and the places of the reference machines that it comes from.
type Value = (Runs, BTreeSet<usize>);
type Values = BTreeMap<String, Result<Value, Problem>>;

/// What stands for a number that is only read.
fn unread() -> Value {
    (Runs::constant(1.0), BTreeSet::new())
}

/// Why a quantity has no value.
#[derive(Clone)]
enum Problem {
    /// Its own fault.
    Here(String),
    /// One that it needs has none; that one tells why.
    Elsewhere,
}

impl From<String> for Problem {
    fn from(problem: String) -> Problem {
        Problem::Here(problem)
    }
}
