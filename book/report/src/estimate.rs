//! A number of a machine, out of its runs: how well it is known, and how it is printed.
//!
//! A run gives one value. What differs from process to process and from host to host (clocks,
//! memory pages, neighbours) is the same for all samples of a run, so samples say nothing of
//! it, however many they are; runs do. With several runs the interval is Student's, over the
//! logarithms of their values: it needs no sample to be independent of another, only runs of
//! each other. With one run there is the interval of its median alone, and it is said so.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::unit::{Unit, join};

/// A number with the 95% interval it is known in; both ends equal it where it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The number: the median over the runs.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    pub runs: usize,
    /// The smallest and the largest value of a run.
    pub range: (f64, f64),
    /// The interval of one more run.
    pub next: (f64, f64),
    /// What it is on the two kinds of GPU that it was measured on, if they are so far apart that
    /// both are printed.
    pub kinds: Option<(f64, f64)>,
}

/// What the runs of a machine say of a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// Its value by the run's label, and what kind of GPU it hangs on, if that is known.
    values: BTreeMap<Option<String>, (f64, Option<Kind>)>,
    /// The interval within the only run.
    within: (f64, f64),
}

/// Tells GPUs of one name apart, as `Recorded::kind` does.
pub type Kind = u64;

/// Runs whose values differ by more than this factor, or in their sign, are printed as a range.
const RANGE: f64 = 1.05;

/// Runs whose values differ by more than this factor are a range in a sentence as well.
const WIDE: f64 = 4.0 / 3.0;

/// One more run may differ by this factor, however close the others are: hosts whose memory is of
/// another kind do, and of most runs that is not recorded.
const ONE_MORE: f64 = 1.02;

/// The 97.5% quantile of Student's t, for 1, 2, 3 … degrees of freedom. For more than ten that of
/// ten is taken, a little too wide and never too narrow.
const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

impl Estimate {
    /// A number that is known exactly.
    pub fn exact(value: f64) -> Estimate {
        let same = (value, value);
        Estimate { value, low: value, high: value, runs: 1, range: same, next: same, kinds: None }
    }

    /// The number in units of `scale`.
    pub fn over(&self, scale: f64) -> Estimate {
        let both = |(least, most)| (least / scale, most / scale);
        Estimate {
            value: self.value / scale,
            low: self.low / scale,
            high: self.high / scale,
            range: both(self.range),
            next: both(self.next),
            kinds: self.kinds.map(both),
            ..*self
        }
    }

    /// The factor by which a new run may be off this positive number of several.
    pub fn of_a_new_run(&self) -> f64 {
        (self.next.1 / self.value).max(self.value / self.next.0)
    }

    /// Where it may be, or, of several runs, where one more may be.
    fn span(&self, of_one_more: bool) -> (f64, f64) {
        if of_one_more && self.runs > 1 { self.next } else { (self.low, self.high) }
    }

    /// Whether the two may be the same: their intervals overlap, or one is of a single run, of
    /// which its interval does not know how runs differ, and the other's next run may be like it.
    pub fn may_be(&self, other: &Estimate) -> bool {
        let (own_low, own_high) = self.span(other.runs == 1);
        let (low, high) = other.span(self.runs == 1);
        own_low <= high && low <= own_high
    }

    /// Half the interval's width, as a share of the value.
    pub fn relative_half_width(&self) -> f64 {
        if self.low == self.high { 0.0 } else { ((self.high - self.low) / 2.0 / self.value).abs() }
    }

    /// Whether it is of one run, whose next may differ: what was counted has no interval.
    pub fn is_provisional(&self) -> bool {
        self.runs == 1 && self.low < self.high
    }

    /// Whether its runs differ so much that one number would mislead.
    pub fn is_range(&self) -> bool {
        differ(self.range)
    }

    /// The ends of the bar that a chart draws: the interval within one run, or the smallest and
    /// the largest of several.
    pub fn ends(&self) -> (f64, f64) {
        if self.runs == 1 { (self.low, self.high) } else { self.range }
    }

    /// The number for people; a range if the runs differ much, `1.75 or 1.91 ms` if only GPUs of
    /// two kinds do.
    pub fn print(&self, unit: &Unit) -> String {
        match self.kinds {
            Some((least, most)) => join(&unit.print(least), "or", &unit.print(most)),
            None if self.is_range() => unit.print_range(self.range.0, self.range.1),
            None => unit.print(self.value),
        }
    }

    /// The same in a sentence, where a range has too many digits: `about 40×`, the roundest
    /// number within it; `3.4 to 6.1 ms` if it is so wide that this would mislead.
    pub fn about(&self, unit: &Unit) -> String {
        let (least, most) = self.range;
        if !self.is_range() || least <= 0.0 || *unit == Unit::Bytes {
            return self.print(unit);
        }
        let to = |value: f64, digits: i32, whole: fn(f64) -> f64| {
            let scale = 10f64.powi(digits - 1 - value.log10().floor() as i32);
            whole(value * scale) / scale
        };
        let round = |value: f64, digits: i32| to(value, digits, f64::round);
        let two = |(least, word, most)| {
            let [least, most] = [least, most].map(|end| unit.print_round(round(end, 2)));
            join(&least, word, &most)
        };
        let kinds = self.kinds.filter(|(one, other)| round(*one, 2) < round(*other, 2));
        match kinds {
            Some((least, most)) => return two((least, "or", most)),
            None if most / least > WIDE => return two((least, "to", most)),
            None => {}
        }
        let within = |rounded: &f64| (least..=most).contains(rounded);
        let roundest = [round(self.value, 1), round(self.value, 2), to(least, 2, f64::ceil)];
        match roundest.into_iter().find(within) {
            Some(rounded) => format!("about {}", unit.print_round(rounded)),
            None => self.print(unit),
        }
    }
}

impl Runs {
    /// The same in every run of every machine.
    pub fn constant(value: f64) -> Runs {
        Runs { values: BTreeMap::new(), within: (value, value) }
    }

    /// One estimate of each run, by its label and kind.
    pub fn of(
        runs: impl IntoIterator<Item = (Option<String>, Option<Kind>, Estimate)>,
    ) -> Option<Runs> {
        let mut runs = runs.into_iter().peekable();
        let (.., first) = runs.peek()?;
        let within = (first.low, first.high);
        let values = runs.map(|(label, kind, estimate)| (label, (estimate.value, kind)));
        Some(Runs { values: values.collect(), within })
    }

    /// The number and its interval.
    pub fn estimate(&self) -> Estimate {
        let (low, high) = self.within;
        let mut values: Vec<f64> = self.values.values().map(|(value, _)| *value).collect();
        values.sort_by(f64::total_cmp);
        match values[..] {
            [] => Estimate::exact(low),
            [value] => Estimate { low, high, ..Estimate::exact(value) },
            [least, .., most] => {
                let value = median(&values);
                let groups = self.groups();
                let [(low, high), next] = intervals(&groups);
                let ends = |group: &Vec<f64>| (group[0], group[group.len() - 1]);
                let kinds = match &groups[..] {
                    [one, other] if !groups.iter().map(ends).any(differ) => {
                        let [one, other] = [one, other].map(|group| median(group));
                        Some((one.min(other), one.max(other))).filter(|ends| differ(*ends))
                    }
                    _ => None,
                };
                Estimate {
                    value,
                    low: low.min(value),
                    high: high.max(value),
                    runs: values.len(),
                    range: (least, most),
                    next,
                    kinds,
                }
            }
        }
    }

    /// The values on each kind of GPU, sorted; all together if the kind of one is not known.
    fn groups(&self) -> Vec<Vec<f64>> {
        let known = self.values.values().all(|(_, kind)| kind.is_some());
        let mut groups = BTreeMap::<Option<Kind>, Vec<f64>>::new();
        for (value, kind) in self.values.values() {
            groups.entry(kind.filter(|_| known)).or_default().push(*value);
        }
        groups.values_mut().for_each(|group| group.sort_by(f64::total_cmp));
        groups.into_values().collect()
    }

    /// The first run of which `is` is so, as the end of a sentence; of a number that is in no
    /// run, nothing.
    pub fn find(&self, is: impl Fn(f64) -> bool) -> Option<String> {
        if self.values.is_empty() {
            return is(self.within.0).then(String::new);
        }
        let (label, _) = self.values.iter().find(|(_, (value, _))| is(*value))?;
        Some(label.iter().map(|label| format!(", in the run `{label}`")).collect())
    }

    /// Its value in the run with this label; if that run has none, over all runs.
    fn in_run(&self, label: &Option<String>) -> f64 {
        self.values.get(label).map_or_else(|| self.estimate().value, |(value, _)| *value)
    }

    /// What follows from several numbers: `of` gets their values in a run.
    pub fn combine<E>(
        parts: &[Runs],
        mut of: impl FnMut(&[f64]) -> Result<f64, E>,
    ) -> Result<Runs, E> {
        let labels = labels(parts);
        let in_run = |label| parts.iter().map(|part| part.in_run(label)).collect();
        let mut values = BTreeMap::new();
        for label in &labels {
            let values_there: Vec<f64> = in_run(label);
            let kind = parts.iter().find_map(|part| part.values.get(label)?.1);
            values.insert(label.clone(), (of(&values_there)?, kind));
        }
        let parts_there: Vec<f64> = match labels.first() {
            Some(label) => in_run(label),
            None => parts.iter().map(|part| part.estimate().value).collect(),
        };
        let value = of(&parts_there)?;
        if labels.is_empty() && parts.iter().any(|part| !part.values.is_empty()) {
            values.insert(None, (value, None));
        }
        // In one run, or if runs do not meet, each part is moved to the ends of its interval, the
        // others as they are; the parts' errors are independent, so their squares add up.
        let (mut below, mut above) = (0.0, 0.0);
        for (at, part) in parts.iter().enumerate().filter(|_| labels.len() < 2) {
            let Estimate { value: middle, low, high, .. } = part.estimate();
            for end in [low, high].into_iter().filter(|end| *end != middle) {
                let mut moved = parts_there.clone();
                moved[at] += end - middle;
                let Ok(moved) = of(&moved) else { continue };
                let off = moved - value;
                *if off < 0.0 { &mut below } else { &mut above } += off * off;
            }
        }
        Ok(Runs { values, within: (value - f64::sqrt(below), value + f64::sqrt(above)) })
    }
}

/// The runs in which all `parts` have a value: none if they do not meet.
fn labels(parts: &[Runs]) -> Vec<Option<String>> {
    let of = |part: &Runs| part.values.keys().cloned().collect::<Vec<_>>();
    let measured: Vec<&Runs> = parts.iter().filter(|part| !part.values.is_empty()).collect();
    let Some(most) = measured.iter().max_by_key(|part| part.values.len()) else {
        return vec![];
    };
    let mut shared = of(most);
    shared.retain(|label| measured.iter().all(|part| part.values.contains_key(label)));
    shared
}

/// The median of sorted values, of which there is at least one.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[half],
        _ => sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2.0,
    }
}

/// Whether the ends of a range are so far apart that it is printed.
fn differ((least, most): (f64, f64)) -> bool {
    least < 0.0 && most > 0.0 || (most / least).max(least / most) > RANGE
}

/// Student's 95% intervals of the mean of at least two values and of one more, or of their
/// logarithms, if they have some. Several groups have means of their own, and differ within as each other:
/// the interval has those of all.
fn intervals(groups: &[Vec<f64>]) -> [(f64, f64); 2] {
    let freedom = groups.iter().map(Vec::len).sum::<usize>() - groups.len();
    if freedom == 0 {
        return intervals(&[groups.concat()]);
    }
    let positive = groups.iter().flatten().all(|value| *value > 0.0);
    let scaled = |value: &f64| if positive { value.ln() } else { *value };
    let back = |value: f64| if positive { value.exp() } else { value };
    let (mut means, mut squares) = (vec![], 0.0);
    for group in groups {
        let mean = group.iter().map(scaled).sum::<f64>() / group.len() as f64;
        squares += group.iter().map(|value| (scaled(value) - mean).powi(2)).sum::<f64>();
        means.push((mean, group.len() as f64));
    }
    if squares == 0.0 {
        return [around(groups.iter().map(|group| (group[0], group[0]))); 2]; // logarithms round
    }
    let t = T[freedom.min(T.len()) - 1];
    let half = |n: f64, more: f64| t * (squares / freedom as f64 * (1.0 / n + more)).sqrt();
    let of = |more: f64, least: f64| {
        around(means.iter().map(|(mean, n)| {
            let half = half(*n, more).max(least);
            (back(mean - half), back(mean + half))
        }))
    };
    [of(0.0, 0.0), of(1.0, if positive { ONE_MORE.ln() } else { 0.0 })]
}

/// From the least to the largest end of these.
fn around(ends: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), of| (low.min(of.0), high.max(of.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Runs {
        let each = values.iter().enumerate();
        let run = |(i, value): (usize, &f64)| (format!("run-{i}"), None, *value);
        of(each.map(run))
    }

    fn of(runs: impl IntoIterator<Item = (String, Option<Kind>, f64)>) -> Runs {
        let run = |(label, kind, value)| (Some(label), kind, Estimate::exact(value));
        Runs::of(runs.into_iter().map(run)).expect("there are values")
    }

    #[test]
    fn small_numbers_of_runs_by_hand() {
        let one = Estimate { low: 9.0, high: 12.0, ..Estimate::exact(10.0) };
        let one = Runs::of([(None, None, one)]).unwrap().estimate();
        assert_eq!((one.value, one.low, one.high, one.runs), (10.0, 9.0, 12.0, 1));
        let equal = runs(&[2.0, 2.0, 2.0]).estimate();
        assert_eq!((equal.low, equal.value, equal.high), (2.0, 2.0, 2.0));
        // Logarithms 0, 1 and 2: mean 1, deviation 1, half width 4.303 / √3.
        let e = std::f64::consts::E;
        let three = runs(&[e * e, 1.0, e]).estimate();
        assert_eq!((three.value, three.runs, three.range), (e, 3, (1.0, e * e)));
        let half = three.high.ln() - 1.0;
        assert!((half - 4.303 / 3f64.sqrt()).abs() < 1e-12, "{half}");
        assert!((1.0 - three.low.ln() - half).abs() < 1e-12);
    }

    #[test]
    fn a_range_is_about_the_roundest_number_in_it() {
        for (values, unit, said) in [
            (vec![36.7, 41.0, 45.3], "×", "about 40×"),
            (vec![1.85, 2.02], "×", "about 2×"),
            (vec![128e-3, 136e-3, 145e-3], "s", "about 140 ms"),
            (vec![0.785, 0.932], "%", "about 90%"),
            (vec![1.011, 1.068], "×", "1.01 to 1.07×"),
            (vec![1.62, 1.64, 1.75], "s", "about 1.7 s"),
            (vec![3.4e-3, 4.0e-3, 6.12e-3], "s", "3.4 to 6.1 ms"),
            (vec![740e-6, 1.07e-3], "s", "740 µs to 1.1 ms"),
            (vec![5.99e9, 10.6e9], "GB/s", "6 to 11 GB/s"),
            (vec![1344.0, 2414.0], "×", "1,300 to 2,400×"),
            (vec![2.54, 2.56], "×", "2.55×"),
            (vec![-1.0, 1.0], "", "−1 to 1"),
        ] {
            let unit = Unit::parse(unit).unwrap();
            assert_eq!(runs(&values).estimate().about(&unit), said, "{values:?}");
        }
    }

    #[test]
    fn runs_that_differ_are_a_range() {
        for (values, is_range) in [
            ([1.0, 1.04], false),
            ([1.0, 1.06], true),
            ([-1.06, -1.0], true),
            ([-98e-9, 1.54e-6], true),
            ([0.0, 1e-6], true),
            ([0.0, 0.0], false),
        ] {
            assert_eq!(runs(&values).estimate().is_range(), is_range, "{values:?}");
        }
    }

    #[test]
    fn gpus_of_two_kinds_have_two_numbers() {
        let (slow, fast) = (1.912, 1.748);
        let with = |kinds: [Option<Kind>; 4]| {
            let values = [slow, slow / 1.001, slow * 1.001, fast];
            let runs = kinds.into_iter().zip(values).enumerate();
            of(runs.map(|(i, (kind, value))| (i.to_string(), kind, value)))
        };
        let (unit, half) = (Unit::Time, 4.303 / 3f64.sqrt() * 1.001f64.ln());
        let print = |runs: &Runs| (runs.estimate().print(&unit), runs.estimate().about(&unit));
        let kinds = with([Some(2), Some(2), Some(2), Some(1)]);
        assert_eq!(print(&kinds), ("1.75 or 1.91 s".to_owned(), "1.7 or 1.9 s".to_owned()));
        // Each kind's mean is known as well as runs of one kind are alike, by how many there are.
        let Estimate { low, high, next, .. } = kinds.estimate();
        let ends = [(low, fast / (half * 3f64.sqrt()).exp()), (high, slow * half.exp())];
        let ends = ends.into_iter().chain([(next.0, fast / ONE_MORE), (next.1, slow * ONE_MORE)]);
        ends.for_each(|(end, expected)| assert!((end / expected - 1.0).abs() < 1e-9, "{end}"));
        assert!(kinds.estimate().may_be(&Estimate::exact(fast)));
        // A ratio keeps the kinds, and shows them only where they differ.
        let ratio = Runs::combine(&[kinds.clone(), kinds], |of| Ok::<_, ()>(of[0] / of[1]));
        assert_eq!(ratio.unwrap().estimate().print(&unit), "1.00 s");
        for kinds in [[None, Some(2), Some(2), Some(1)], [Some(2), Some(2), Some(1), Some(2)]] {
            assert_eq!(print(&with(kinds)).0, "1.75 to 1.91 s", "{kinds:?}");
        }
    }

    #[test]
    fn a_ratio_is_taken_in_each_run() {
        // A host of half the speed changes both, and not their ratio.
        let (fast, slow) = (runs(&[10.0, 5.0, 8.0]), runs(&[5.0, 2.5, 4.0]));
        let ratio = Runs::combine(&[fast, slow], |of| Ok::<_, ()>(of[0] / of[1]));
        let ratio = ratio.unwrap().estimate();
        assert_eq!((ratio.low, ratio.value, ratio.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn runs_that_do_not_meet_are_independent() {
        let unlabelled = |value| Runs::of([(None, None, Estimate::exact(value))]).unwrap();
        let sum = |of: &[f64]| Ok::<_, ()>(of[0] + of[1]);
        let found = Runs::combine(&[runs(&[1.0, 3.0]), unlabelled(10.0)], sum).unwrap();
        let (alone, sum_of) = (runs(&[1.0, 3.0]).estimate(), found.estimate());
        assert_eq!((sum_of.value, sum_of.low), (12.0, 10.0 + alone.low));
        assert!((sum_of.high - 10.0 - alone.high).abs() < 1e-9);
        // A run without a label is one among others.
        let mixed = [(None, 1.0), (Some("a".to_owned()), 3.0)];
        let mixed = Runs::of(mixed.map(|(label, value)| (label, None, Estimate::exact(value))));
        let other = of([("b".to_owned(), None, 10.0)]);
        let found = Runs::combine(&[mixed.unwrap(), other], sum).unwrap();
        assert_eq!(found.estimate().value, 12.0);
        // A part that has all runs is looked up in the run that the other has.
        let some = of([("run-1".to_owned(), None, 10.0)]);
        let found = Runs::combine(&[runs(&[1.0, 3.0]), some], sum).unwrap();
        assert_eq!((found.estimate().value, found.estimate().runs), (13.0, 1));
        let constant = Runs::constant(4.0);
        let found = Runs::combine(&[constant.clone(), constant], sum).unwrap();
        assert_eq!(found.estimate(), Estimate::exact(8.0));
    }

    #[test]
    fn errors_within_one_run_add_up_as_squares() {
        let of = |value: f64, off: f64| {
            let estimate =
                Estimate { low: value - off, high: value + off, ..Estimate::exact(value) };
            Runs::of([(None, None, estimate)]).unwrap()
        };
        let sum = |of: &[f64]| Ok::<_, ()>(of[0] + of[1]);
        let sum = Runs::combine(&[of(10.0, 3.0), of(20.0, 4.0)], sum).unwrap();
        let Estimate { value, low, high, .. } = sum.estimate();
        assert_eq!((value, low, high), (30.0, 25.0, 35.0));
    }

    /// The rule is what it says: draw hosts and, on each, samples that depend on each other,
    /// and count how often the interval has the machine's median in it, and how often one more
    /// run, whose own interval says nothing of that, may be the same.
    #[test]
    fn the_interval_covers_the_machine_whatever_samples_do() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        let mut normal =
            || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let trials = 4000;
        for count in [2, 3, 5] {
            let (mut hits, mut alike) = (0, 0);
            for _ in 0..trials {
                let run = |normal: &mut dyn FnMut() -> f64| {
                    let (host, mut noise, mut samples) = (0.1 * normal(), 0.0, vec![]);
                    for _ in 0..20 {
                        noise = 0.6 * noise + 0.02 * normal();
                        samples.push(f64::exp(host + noise));
                    }
                    samples.sort_by(f64::total_cmp);
                    median(&samples)
                };
                let values: Vec<f64> = (0..count).map(|_| run(&mut normal)).collect();
                let found = runs(&values).estimate();
                hits += usize::from((found.low..=found.high).contains(&1.0));
                let another = Estimate::exact(run(&mut normal));
                assert_eq!(found.may_be(&another), another.may_be(&found));
                alike += usize::from(found.may_be(&another));
            }
            let [coverage, alike] = [hits, alike].map(|n| n as f64 / f64::from(trials));
            assert!((0.94..0.96).contains(&coverage), "{count} runs: {coverage}");
            assert!((0.94..0.96).contains(&alike), "{count} runs: {alike}");
        }
    }
}
