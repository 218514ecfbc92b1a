//! The cases that take another time on the reader's machine than on a reference: how many, which
//! of them follow from the peak of a path, and the largest of the others.

use record::{Ceiling, Record};

use crate::cases::{Case, Experiment, THRESHOLD};
use crate::page::Page;
use crate::records::{self, Machine};
use crate::unit::Unit;

/// So many differences are listed.
const MOST: usize = 10;
/// A case's speed that is so near to the proportion of two peaks follows from it.
const LIKE_THE_PEAK: f64 = 0.1;

/// The cases that differ from the references'.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// How many there are, of each reference machine's, by its label.
    pub cases: Vec<(String, usize)>,
    /// Those of them that differ as the peak of a path does.
    pub kinds: Vec<Kind>,
    /// Those of the others that differ most, at most ten.
    pub largest: Vec<Difference>,
}

/// Cases whose speed follows from the peak of what carries their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What carries them, such as `device memory`.
    path: &'static str,
    /// How many times the reference's its peak is.
    speed: String,
    label: String,
    cases: usize,
}

/// A case that takes another time than on a reference machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub experiment: String,
    /// The file, in the finished book, of the page that shows it.
    pub page: Option<String>,
    pub case: String,
    pub label: String,
    pub reference: String,
    pub here: String,
    /// How many times as fast that is.
    pub speed: String,
}

impl Differences {
    pub fn of(own: &Machine, references: &[&Machine], pages: &[Page]) -> Differences {
        let (mut differing, mut kinds) = (Vec::<(String, usize)>::new(), Vec::<Kind>::new());
        let mut cases: Vec<(&str, &str, Case)> = vec![];
        for name in own.experiments() {
            let Ok((machine, reference)) = records::recorded(references, name, None) else {
                continue;
            };
            let Ok(here) = own.record(name) else { continue };
            let label = &machine.label;
            let of_both = Experiment::of(name, reference, here).cases.into_iter();
            for case in of_both.filter(|case| case.differs(THRESHOLD)) {
                match differing.iter_mut().find(|(known, _)| known == label) {
                    Some((_, cases)) => *cases += 1,
                    None => differing.push((label.clone(), 1)),
                }
                let Some((path, proportion)) = Kind::of(&case, reference, here) else {
                    cases.push((name, label, case));
                    continue;
                };
                let speed = Unit::Ratio.print(proportion);
                let is_same = |kind: &&mut Kind| (kind.path, &kind.speed) == (path, &speed);
                match kinds.iter_mut().find(is_same) {
                    Some(kind) => kind.cases += 1,
                    None => kinds.push(Kind { path, speed, label: label.clone(), cases: 1 }),
                }
            }
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.cases));
        let distance = |case: &Case| case.speedup.value.ln().abs();
        cases.sort_by(|(_, _, a), (_, _, b)| distance(b).total_cmp(&distance(a)));
        let difference = |(name, label, case): (&str, &str, Case)| Difference {
            experiment: name.to_owned(),
            page: page_of(pages, name),
            label: label.to_owned(),
            reference: case.values.0.print(&case.unit),
            here: case.values.1.print(&case.unit),
            speed: Unit::Ratio.print(case.speedup.value),
            case: case.name,
        };
        let largest = cases.into_iter().take(MOST).map(difference).collect();
        Differences { cases: differing, kinds, largest }
    }

    /// How many cases differ, and of what kind most of the differences are.
    pub fn sentence(&self) -> String {
        let mut text = match &self.cases[..] {
            [] => {
                return "No case differs from the reference's by more than the runs do.".to_owned();
            }
            [(label, 1)] => format!("One case is faster or slower here than on the {label}"),
            [(label, n)] => format!("{n} cases are faster or slower here than on the {label}"),
            several => {
                let all: usize = several.iter().map(|(_, n)| n).sum();
                let each = several.iter().map(|(label, n)| format!("{n} than on the {label}"));
                let each = each.collect::<Vec<_>>().join(", ");
                format!("{all} cases are faster or slower here, {each}")
            }
        };
        text += ", by more than 5%.";
        for Kind { path, speed, label, cases } in &self.kinds {
            text += &format!(
                " {cases} of them follow the {path}, whose peak is {speed} the {label}'s."
            );
        }
        text + match (self.largest.len(), self.kinds.len()) {
            (0, _) => "",
            (_, 0) => " These differ most:",
            _ => " Of the others these differ most:",
        }
    }
}

impl Kind {
    /// What carries the bytes of a case, and the proportion of this machine's peak of that to the
    /// reference's, if the case's speed follows from it.
    fn of(case: &Case, reference: &Record, here: &Record) -> Option<(&'static str, f64)> {
        let path = match case.ceiling {
            Ceiling::DeviceMemory => "device memory",
            Ceiling::HostLink | Ceiling::HostLinkBothWays => "link to the host",
            Ceiling::NvLink | Ceiling::NvLinkBothWays => "links to other GPUs",
            Ceiling::None => return None,
        };
        let peak = |of: &Record| of.peak_bytes_per_second(case.ceiling);
        let proportion = peak(here)? / peak(reference)?;
        let differs = proportion.ln().abs() > THRESHOLD.ln_1p();
        let follows = (case.speedup.value / proportion).ln().abs() < LIKE_THE_PEAK.ln_1p();
        (differs && follows).then_some((path, proportion))
    }
}

/// The page that shows an experiment: its own, or the first of a part that has its numbers.
fn page_of(pages: &[Page], experiment: &str) -> Option<String> {
    let experiment = experiment.trim_end_matches("-counters");
    let shows = |page: &&Page| {
        let uses = |(of, _): &(String, Option<String>)| of == experiment;
        page.part.is_some() && page.quantities.sources().iter().any(uses)
    };
    let is_own = |page: &&Page| page.quantities.experiment.as_deref() == Some(experiment);
    let page = pages.iter().find(is_own).or_else(|| pages.iter().find(shows));
    page.map(Page::html)
}
