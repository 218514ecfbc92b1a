//! Something found on each side, on the reference machines and on the reader's: the book's
//! numbers, verdicts and charts.

use std::collections::BTreeSet;
use std::convert::Infallible;

use crate::estimate::Estimate;

/// Something found on each side: on the reference machines, and on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Both<T> {
    /// On the reference machines.
    pub reference: T,
    /// The places of those that it comes from.
    pub from: BTreeSet<usize>,
    pub here: Here<T>,
}

/// What two machines can have in common.
pub trait Alike {
    /// Whether one need not be shown beside the other.
    fn is_like(&self, other: &Self) -> bool;
}

impl Alike for f64 {
    fn is_like(&self, other: &f64) -> bool {
        self == other
    }
}

impl Alike for Estimate {
    fn is_like(&self, other: &Estimate) -> bool {
        self.may_be(other)
    }
}

/// How many of the verdicts that were counted are the references' alone, as the end of a sentence.
pub fn borrowed<'v, V: 'v>(verdicts: impl Iterator<Item = &'v Both<V>>) -> String {
    match verdicts.filter(|verdict| verdict.is_lacking()).count() {
        0 => String::new(),
        1 => "; one of these verdicts is a reference machine's".to_owned(),
        n => format!("; {n} of these verdicts are the reference machines'"),
    }
}

/// Something found, or not, on this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Here<T> {
    /// It is the reference's: there is no other machine, it comes from this one, or it
    /// comes from no machine at all.
    SameAsReference,
    /// This machine's records do not have it.
    NotMeasured,
    Measured(T),
}

impl<T> Both<T> {
    /// The same on all machines.
    pub fn anywhere(value: T) -> Both<T> {
        Both { reference: value, from: BTreeSet::new(), here: Here::SameAsReference }
    }

    /// This machine's alone.
    pub fn own(&self) -> Option<&T> {
        match &self.here {
            Here::Measured(here) => Some(here),
            Here::SameAsReference | Here::NotMeasured => None,
        }
    }

    /// This machine's where it has one, else the reference's.
    pub fn first(&self) -> &T {
        self.own().unwrap_or(&self.reference)
    }

    /// The same with `f` applied to each.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Both<U> {
        self.try_map(|of| Ok::<U, Infallible>(f(of))).unwrap_or_else(|never| match never {})
    }

    /// The same with `f` applied to each; if that fails, this machine has nothing of its own.
    pub fn try_map<U, E>(self, f: impl Fn(T) -> Result<U, E>) -> Result<Both<U>, E> {
        Ok(Both {
            reference: f(self.reference)?,
            from: self.from,
            here: match self.here {
                Here::SameAsReference => Here::SameAsReference,
                Here::NotMeasured => Here::NotMeasured,
                Here::Measured(here) => f(here).map_or(Here::NotMeasured, Here::Measured),
            },
        })
    }

    /// Both of two things in one, which this machine lacks if it lacks either.
    pub fn zip_with<U, V>(self, other: Both<U>, f: impl Fn(T, U) -> V) -> Both<V>
    where
        T: Clone,
        U: Clone,
    {
        let here = match (self.here, other.here) {
            (Here::NotMeasured, _) | (_, Here::NotMeasured) => Here::NotMeasured,
            (Here::SameAsReference, Here::SameAsReference) => Here::SameAsReference,
            (Here::Measured(a), Here::Measured(b)) => Here::Measured(f(a, b)),
            (Here::Measured(a), Here::SameAsReference) => {
                Here::Measured(f(a, other.reference.clone()))
            }
            (Here::SameAsReference, Here::Measured(b)) => {
                Here::Measured(f(self.reference.clone(), b))
            }
        };
        let from = self.from.into_iter().chain(other.from).collect();
        Both { reference: f(self.reference, other.reference), from, here }
    }

    /// Whether only the reference has it, and the reader's machine lacks it.
    pub fn is_lacking(&self) -> bool {
        matches!(self.here, Here::NotMeasured)
    }

    /// What is shown, in order, and whether it stands beside what came before it: this
    /// machine's first, the reference's beside it.
    pub fn each(&self) -> impl Iterator<Item = (&T, bool)> {
        let beside = self.own().map(|_| (&self.reference, true));
        [(self.first(), false)].into_iter().chain(beside)
    }
}
