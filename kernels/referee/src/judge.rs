//! A kernel is run on the emulated GPU, and judged.

use anyhow::{Context, Result, anyhow};
use emulator::{Fault, FaultKind, Memory, Module, Options, Tally, Wavefronts};

use crate::check::{Check, Demand, Expected, Expression, Launch, RACES, RESULT, SHARING};
use crate::count::{self, Lines, count};
use crate::data::{Buffers, Shape};
use crate::launch::{self, Finished, Form, Limits, Ran, in_words, launch_on};
use crate::outcome::{Line, Outcome, State};
use crate::subject::source_line;

/// Warps of which one may well do most of the work, if there are fewer.
const FEW_WARPS: u64 = 16;
/// How many times the mean one warp may execute at most.
const MOST_TIMES: f64 = 4.0;
/// Threads of a block that computes what results have to be.
const EXPECTED_BLOCK: u64 = 256;
/// Instructions that its warps may execute.
const EXPECTED_BUDGET: u64 = 1 << 28;

/// Judges kernels by what a check demands.
pub struct Judge<'c> {
    check: &'c Check,
    /// PTX of what results have to be.
    expected: String,
    limits: Limits,
}

struct Attempt<'a> {
    file: &'a str,
    source: &'a str,
    shape: &'a Shape,
    /// The last block and warp come first.
    backwards: bool,
}

impl Attempt<'_> {
    /// `with columns = 65, rows = 33`.
    fn conditions(&self) -> String {
        let sizes = self.shape.iter().map(|(name, size)| format!("{name} = {size}"));
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        match self.backwards {
            true => format!("with {sizes}, and the last block first, as may be"),
            false => format!("with {sizes}"),
        }
    }
}

impl<'c> Judge<'c> {
    /// A judge that has the PTX of what results have to be (`expected.cu`).
    pub fn new(check: &'c Check, expected: String, limits: Limits) -> Judge<'c> {
        Judge { check, expected, limits }
    }

    /// What is right and wrong with `source`, of which a compiler has made `ptx` and messages speak
    /// as of `file`. An error if the check itself is wrong.
    pub fn check(&self, file: &str, source: &str, ptx: &str) -> Result<Outcome> {
        let check = self.check;
        let mut module = Module::parse(ptx).context(file.to_owned())?;
        let mut outcome = Outcome::default();
        let mut kernels = check.launches.iter().filter_map(|launch| module.kernel(&launch.kernel));
        if let Some(why) = kernels.find_map(|kernel| kernel.unsupported.as_ref()) {
            let line = source_line(file, ptx, why.line).and_then(|line| Line::of(source, line));
            outcome.bad(RESULT, format!("the emulated GPU cannot run this: {}", why.what), line);
            outcome.leave_open(&[RACES], check);
            return Ok(outcome);
        }
        let (mut shapes, mut last) = (vec![], None);
        for (place, shape) in check.shapes.iter().enumerate() {
            shapes.push(title(check, shape)?);
            let mut attempt = |backwards| {
                let attempt = Attempt { file, source, shape, backwards };
                self.attempt(&mut module, &attempt, &mut outcome)
            };
            let Some(ran) = attempt(false)? else { return Ok(outcome) };
            // The last one is large, and another order has shown on the others.
            let is_last = place + 1 == check.shapes.len();
            if !is_last && attempt(true)?.is_none() {
                return Ok(outcome);
            }
            last = Some((shape, ran));
        }
        outcome.row(RESULT, State::Good, shapes.join(", "));
        outcome.row(RACES, State::Good, "");
        let (shape, ran) = last.context("there is no shape")?;
        outcome.lines = count::lines(&ran.counts, false);
        for demand in &check.demands {
            judge(&mut outcome, demand, shape, &ran, source)?;
        }
        let unfair = unfair(&ran).filter(|_| !check.uneven);
        if let Some(unfair) = unfair {
            outcome.bad(SHARING, unfair, None);
        }
        Ok(outcome)
    }

    /// Runs one shape, and compares: what it did, or else `outcome` says what is wrong.
    fn attempt(
        &self,
        module: &mut Module,
        attempt: &Attempt<'_>,
        outcome: &mut Outcome,
    ) -> Result<Option<Ran>> {
        let Attempt { shape, backwards, .. } = *attempt;
        let check = self.check;
        let limits = &self.limits;
        let ran = launch::run(module, &check.buffers, &check.launches, shape, limits, backwards)?;
        let Finished { ran, memory, buffers } = match ran {
            Ok(finished) => finished,
            Err(fault) => {
                self.failed(outcome, attempt, &fault);
                return Ok(None);
            }
        };
        let (wanted, expected) = self.expect(shape)?;
        let wrong = buffers.compare(&memory, &expected, &wanted)?;
        if outcome.printed.is_empty() || wrong.is_some() {
            let printed = ran.counts.iter().map(|counts| counts.printed.as_str());
            outcome.printed = printed.collect();
        }
        let Some(wrong) = wrong else { return Ok(Some(ran)) };
        outcome.bad(RESULT, format!("{}: {wrong}", attempt.conditions()), None);
        outcome.leave_open(&[RACES], check);
        Ok(None)
    }

    fn failed(&self, outcome: &mut Outcome, attempt: &Attempt<'_>, fault: &Fault) {
        let Attempt { file, source, .. } = attempt;
        let check = self.check;
        let what = in_words(fault, file, source);
        let text = match fault.kind {
            FaultKind::BadLaunch => what, // whatever the sizes
            _ => format!("{}: {what}", attempt.conditions()),
        };
        let place = fault.place.as_ref().and_then(|place| place.source.as_ref());
        let line = place.and_then(|(_, number)| Line::of(source, *number));
        if fault.kind == FaultKind::Race {
            outcome.row(RESULT, State::Open, "");
            outcome.bad(RACES, text, line);
            outcome.leave_open(&[], check);
        } else {
            outcome.bad(RESULT, text, line);
            outcome.leave_open(&[RACES], check);
        }
    }

    /// Memory that holds what the results have to be.
    fn expect(&self, shape: &Shape) -> Result<(Memory, Buffers<'c>)> {
        let check = self.check;
        let mut memory = Memory::new(self.limits.memory_bytes);
        let mut module = Module::parse(&self.expected).context("expected.cu")?;
        module.place(&mut memory)?;
        let buffers = Buffers::make(&check.buffers, shape, &mut memory)?;
        for Expected { result, kernel, arguments } in &check.expected {
            let elements = buffers.get(result).map_or(0, |buffer| buffer.elements());
            if elements == 0 {
                continue;
            }
            let launch = of_elements(kernel, elements, arguments);
            let form = Form::of(&module, &launch, shape, &buffers)?;
            let form = form.map_err(|what| anyhow!("expected.cu: {what}"))?;
            let options = Options { budget: EXPECTED_BUDGET, ..Options::default() };
            launch_on(&module, &form, &mut memory, &options)
                .map_err(|fault| anyhow!("expected.cu: {fault}"))?;
        }
        Ok((memory, buffers))
    }
}

/// A launch with a thread for each of so many elements.
pub fn of_elements(kernel: &str, elements: u64, arguments: &[String]) -> Launch {
    Launch {
        kernel: kernel.to_owned(),
        grid: vec![Expression::Number(elements.div_ceil(EXPECTED_BLOCK) as f64)],
        block: vec![Expression::Number(EXPECTED_BLOCK as f64)],
        shared_bytes: None,
        arguments: arguments.to_vec(),
    }
}

fn title(check: &Check, shape: &Shape) -> Result<String> {
    let mut arguments = check.launches.iter().flat_map(|launch| &launch.arguments);
    let first = arguments.find_map(|text| check.buffers.get(text.split('[').next()?));
    let sizes = match (check.title.as_slice(), first) {
        ([], Some(buffer)) => &buffer.size,
        (title, _) => title,
    };
    let sizes = sizes.iter().map(|size| Ok(size.count(shape)?.to_string()));
    Ok(sizes.collect::<Result<Vec<_>>>()?.join("×"))
}

/// What to say if one warp does the others' work. Of a kernel that shares it, none does several
/// times as much as the mean.
fn unfair(ran: &Ran) -> Option<String> {
    let all: u64 = ran.counts.iter().map(|counts| counts.total().instructions).sum();
    let longest = ran.counts.iter().map(|counts| counts.longest_warp).max()?;
    let times = longest as f64 * ran.warps as f64 / all.max(1) as f64;
    let is_unfair = ran.warps >= FEW_WARPS && times > MOST_TIMES;
    is_unfair.then(|| {
        format!(
            "one warp executes {longest} instructions, {times:.0} times as many as the mean \
             of all {}: share the work among the threads that are launched",
            ran.warps
        )
    })
}

/// Adds a demand's row.
fn judge(
    outcome: &mut Outcome,
    demand: &Demand,
    shape: &Shape,
    ran: &Ran,
    source: &str,
) -> Result<()> {
    let mut total = Tally::default();
    for counts in &ran.counts {
        total += counts.total();
    }
    let of = |name: &str| match (name, shape.get(name)) {
        (_, Some(size)) => Some(*size as f64),
        ("shared_bytes", _) => Some(ran.shared_bytes as f64),
        ("longest_warp", _) => {
            let longest = ran.counts.iter().map(|counts| counts.longest_warp);
            Some(longest.max().unwrap_or(0) as f64)
        }
        ("launches", _) => Some(ran.counts.len() as f64),
        _ => Some(count(&total, name)?.0 as f64),
    };
    let (is_met, text) = demand.judge(of)?;
    let tiles = [
        ("shared_loads.wavefronts", total.shared_loads),
        ("shared_stores.wavefronts", total.shared_stores),
    ];
    let unused = |(name, tile): (&str, Wavefronts)| demand.value.names(name) && tile.requests == 0;
    match is_met {
        // Without a tile there is nothing to be proud of.
        true if tiles.into_iter().any(unused) => {}
        true => outcome.row(&demand.name, State::Good, text),
        false => {
            // Would it do without what is in excess? Then that is to blame.
            let ideally = |name: &str| match count(&total, name) {
                Some((_, ideal)) if ideal > 0 => Some(ideal as f64),
                _ => of(name),
            };
            let by_excess = demand.judge(ideally)?.0;
            let line = worst_line(&demand.value, &outcome.lines, source, by_excess);
            outcome.bad(&demand.name, text, line);
        }
    }
    Ok(())
}

/// The line that does most of what the first count of an expression counts: of what is in excess,
/// or of it all.
fn worst_line(value: &Expression, lines: &Lines, source: &str, by_excess: bool) -> Option<Line> {
    let named = |word: &&str| count(&Tally::default(), word).is_some();
    let name = value.words().find(named)?;
    let weight = |tally: &Tally| {
        let (all, ideal) = count(tally, name).unwrap_or_default();
        if by_excess { all.saturating_sub(ideal) } else { all }
    };
    let (line, tally) = lines.iter().max_by_key(|(_, tally)| weight(tally))?;
    if weight(tally) == 0 {
        return None;
    }
    let guilty = lines.values().filter(|tally| weight(tally) > 0).count();
    Line::of(source, *line).map(|line| Line { shares: guilty > 1, ..line })
}
