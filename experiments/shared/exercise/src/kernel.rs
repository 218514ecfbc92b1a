//! A kernel is compiled, run on the emulated GPU, and judged.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use emulator::{
    Counts, Fault, FaultKind, Memory, Module, Options, Parameter, Sectors, Tally, WARP, Wavefronts,
};
use lab::kernel;

use crate::catalogue::Exercise;
use crate::check::{Check, Demand, Expected, Expression, Launch, RACES, RESULT, SHARING};
use crate::compile;
use crate::data::{Buffers, Shape};
use crate::outcome::{Line, Outcome, State};

const MEMORY_BYTES: u64 = 1 << 30;
/// Instructions that a block's warps may execute: more than any solution needs a hundred times,
/// and few enough that a loop without an end is found in a second.
const BUDGET: u64 = 1 << 24;
/// How long a launch may take, where it is not the budget that ends it first.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes that a launch may print: what comes last is kept.
const PRINT_BYTES: usize = 1 << 14;
/// Warps of which one may well do most of the work, if there are fewer.
const FEW_WARPS: u64 = 16;
/// How many times the mean one warp may execute at most.
const MOST_TIMES: f64 = 4.0;
/// Threads of a block that computes what results have to be.
const EXPECTED_BLOCK: u64 = 256;

thread_local! {
    /// When the launch of this thread ends.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

pub struct Judge<'e> {
    pub(crate) exercise: &'e Exercise,
    /// PTX of what results have to be.
    expected: String,
}

/// What the launches of one shape did.
struct Ran {
    counts: Vec<Counts>,
    shared_bytes: u64,
    warps: u64,
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

impl<'e> Judge<'e> {
    /// Compiles what results have to be. An error if NVRTC is missing.
    pub fn new(exercise: &'e Exercise) -> Result<Judge<'e>> {
        kernel::nvrtc_version()?;
        let compute = &exercise.check.compute;
        let path = exercise.file("expected");
        let file = path.display().to_string();
        let source = std::fs::read_to_string(&path).with_context(|| file.clone())?;
        let expected = kernel::compile_file(&file, &source, compute)?;
        Ok(Judge { exercise, expected })
    }

    /// What is right and wrong with `source`, of which messages speak as of `file`. An error if
    /// the check itself is wrong.
    pub fn check(&self, file: &str, source: &str) -> Result<Outcome> {
        let check = &self.exercise.check;
        let mut module = match compile::compile(file, source, &check.compute)? {
            Ok(ptx) => Module::parse(&ptx).context(file.to_owned())?,
            Err(said) => {
                let said = compiler_text(&said, &check.compute);
                return Ok(Outcome::uncompiled(said, RACES, check));
            }
        };
        let mut outcome = Outcome::default();
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
        let (shape, ran) = last.context("there is a shape")?;
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
        let check = &self.exercise.check;
        let (ran, memory, buffers) = match run(module, check, shape, backwards)? {
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
        let check = &self.exercise.check;
        // Another line is one of the same file.
        let name = file.rsplit('/').next().unwrap_or(file);
        let what = fault.what.replace(&format!(" of {name}"), "");
        let mut text = match fault.kind {
            FaultKind::BadLaunch => what, // whatever the sizes
            _ => format!("{}: {what}", attempt.conditions()),
        };
        for (what, at) in [("block", fault.block), ("thread", fault.thread)] {
            if let Some([x, y, z]) = at {
                text += &format!(", {what} ({x}, {y}, {z})");
            }
        }
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
    fn expect(&self, shape: &Shape) -> Result<(Memory, Buffers<'e>)> {
        let check = &self.exercise.check;
        let mut memory = Memory::new(MEMORY_BYTES);
        let mut module = Module::parse(&self.expected).context("expected.cu")?;
        module.place(&mut memory)?;
        let buffers = Buffers::make(&check.buffers, shape, &mut memory)?;
        for Expected { result, kernel, arguments } in &check.expected {
            let elements = buffers.get(result).map_or(0, |buffer| buffer.elements());
            if elements == 0 {
                continue;
            }
            let launch = of_elements(kernel, elements, arguments);
            let ran =
                launch_on(&module, &launch, shape, &buffers, &mut memory, &Options::default())?;
            ran.map_err(|fault| anyhow::anyhow!("expected.cu: {fault}"))?;
        }
        Ok((memory, buffers))
    }
}

/// A launch with a thread for each of so many elements.
pub(crate) fn of_elements(kernel: &str, elements: u64, arguments: &[String]) -> Launch {
    Launch {
        kernel: kernel.to_owned(),
        grid: vec![Expression::Number(elements.div_ceil(EXPECTED_BLOCK) as f64)],
        block: vec![Expression::Number(EXPECTED_BLOCK as f64)],
        shared_bytes: None,
        arguments: arguments.to_vec(),
    }
}

type Finished<'c> = (Ran, Memory, Buffers<'c>);

/// Runs all launches of a shape on fresh memory. The inner error is a kernel's.
fn run<'c>(
    module: &mut Module,
    check: &'c Check,
    shape: &Shape,
    backwards: bool,
) -> Result<Result<Finished<'c>, Box<Fault>>> {
    let mut memory = Memory::new(MEMORY_BYTES);
    module.place(&mut memory)?; // its variables, and the texts that it prints
    let buffers = Buffers::make(&check.buffers, shape, &mut memory)?;
    let mut ran = Ran { counts: vec![], shared_bytes: 0, warps: 0 };
    let stop = Some(is_late as fn() -> bool);
    let print_bytes = PRINT_BYTES;
    let options = Options { budget: BUDGET, backwards, print_bytes, stop, ..Options::default() };
    for launch in &check.launches {
        DEADLINE.set(Some(Instant::now() + PATIENCE));
        match launch_on(module, launch, shape, &buffers, &mut memory, &options)? {
            Ok((counts, shared_bytes, warps)) => {
                ran.counts.push(counts);
                ran.warps += warps;
                ran.shared_bytes = ran.shared_bytes.max(shared_bytes);
            }
            Err(fault) => return Ok(Err(fault)),
        }
    }
    Ok(Ok((ran, memory, buffers)))
}

fn is_late() -> bool {
    DEADLINE.get().is_some_and(|deadline| Instant::now() > deadline)
}

/// A launch with its numbers.
pub(crate) struct Form {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    /// Bytes of each argument.
    pub(crate) arguments: Vec<Vec<u8>>,
}

impl Form {
    /// The inner error is the kernel's: it is not there, or has other parameters.
    pub(crate) fn of(
        module: &Module,
        launch: &Launch,
        shape: &Shape,
        buffers: &Buffers<'_>,
    ) -> Result<Result<Form, String>> {
        let name = &launch.kernel;
        let Some(kernel) = module.kernel(name) else {
            return Ok(Err(missing(name, module)));
        };
        if kernel.parameters.len() != launch.arguments.len() {
            return Ok(Err(format!(
                "`{name}` has {} parameters, and the check gives it {}: {}",
                kernel.parameters.len(),
                launch.arguments.len(),
                launch.arguments.join(", ")
            )));
        }
        let mut arguments = vec![];
        for (place, (text, parameter)) in
            launch.arguments.iter().zip(&kernel.parameters).enumerate()
        {
            match argument(text, parameter, shape, buffers)? {
                Ok(bytes) => arguments.push(bytes),
                Err(what) => {
                    return Ok(Err(format!(
                        "parameter {} of `{name}` is {what}; the check gives it: {}",
                        place + 1,
                        launch.arguments.join(", ")
                    )));
                }
            }
        }
        let shared_bytes = launch.shared_bytes.as_ref().map(|bytes| bytes.count(shape));
        Ok(Ok(Form {
            kernel: name.clone(),
            grid: three(&launch.grid, shape)?,
            block: three(&launch.block, shape)?,
            shared_bytes: shared_bytes.transpose()?.unwrap_or(0).try_into()?,
            arguments,
        }))
    }
}

/// Launches a kernel: its counts, the bytes of shared memory of a block, and all its warps. The inner error
/// is the kernel's.
fn launch_on(
    module: &Module,
    launch: &Launch,
    shape: &Shape,
    buffers: &Buffers<'_>,
    memory: &mut Memory,
    options: &Options,
) -> Result<Result<(Counts, u64, u64), Box<Fault>>> {
    let form = match Form::of(module, launch, shape, buffers)? {
        Ok(form) => form,
        Err(what) => {
            let (kernel, kind) = (launch.kernel.clone(), FaultKind::BadLaunch);
            let (place, block, thread) = (None, None, None);
            let fault = Fault { kind, what, kernel, place, block, thread };
            return Ok(Err(Box::new(fault)));
        }
    };
    let kernel = module.kernel(&form.kernel).context("it has a form")?;
    let mut arguments = vec![];
    for (bytes, parameter) in form.arguments.iter().zip(&kernel.parameters) {
        arguments.resize(parameter.offset as usize, 0);
        arguments.extend(bytes);
    }
    let Form { grid, block, shared_bytes, .. } = form;
    let all = emulator::Launch { grid, block, shared_bytes, arguments: &arguments };
    let shared_bytes = u64::from(shared_bytes) + u64::from(kernel.shared_bytes);
    let ran = emulator::run(module, &launch.kernel, &all, memory, options);
    let warps = block.map(u64::from).iter().product::<u64>().div_ceil(WARP as u64)
        * grid.map(u64::from).iter().product::<u64>();
    Ok(ran.map(|counts| (counts, shared_bytes, warps)))
}

/// Why a module has no kernel of this name.
fn missing(name: &str, module: &Module) -> String {
    let found: Vec<_> = module.kernels().iter().map(|k| k.name.as_str()).collect();
    // C++ puts the types into the name: `_Z3addPfi`.
    let mangled = format!("_Z{}{name}", name.len());
    let why = match found.as_slice() {
        all if all.iter().any(|other| other.starts_with(&mangled)) => {
            "`extern \"C\"` is missing in front of it".to_owned()
        }
        [] => "the file has no kernel at all".to_owned(),
        all => format!("the file has `{}`", all.join("`, `")),
    };
    format!(
        "there is no kernel `{name}`: {why}; the check launches \
         `extern \"C\" __global__ void {name}(…)`"
    )
}

fn argument(
    text: &str,
    parameter: &Parameter,
    shape: &Shape,
    buffers: &Buffers<'_>,
) -> Result<Result<Vec<u8>, String>> {
    let Parameter { bytes, is_float, .. } = *parameter;
    let is = || match (bytes, is_float) {
        (_, true) => "a floating-point number".to_owned(),
        (8, false) => "a pointer or an integer of 8 bytes".to_owned(),
        (bytes, false) => format!("an integer or a struct of {bytes} bytes"),
    };
    let (name, index) = match text.split_once('[') {
        Some((name, rest)) => {
            let index = rest.strip_suffix(']').context("a `]` is missing")?;
            (name, Expression::Text(index.to_owned()).count(shape)?)
        }
        None => (text, 0),
    };
    if let Some(buffer) = buffers.get(name) {
        let address = buffer.address + index * buffer.element_bytes();
        return Ok(match (bytes, is_float) {
            (8, false) => Ok(address.to_le_bytes().to_vec()),
            _ => Err(format!("{}, and `{text}` is a pointer", is())),
        });
    }
    let expression = Expression::Text(text.to_owned());
    if is_float {
        // As in C, an integer is converted.
        let value = match text.contains('.') {
            true => expression.value(|_| None)?,
            false => expression.count(shape)? as f64,
        };
        return Ok(match bytes {
            4 => Ok((value as f32).to_le_bytes().to_vec()),
            8 => Ok(value.to_le_bytes().to_vec()),
            _ => Err(format!("{} of {bytes} bytes", is())),
        });
    }
    if text.contains('.') {
        return Ok(Err(format!("{}, and {text} is a floating-point number", is())));
    }
    let count = expression.count(shape)?;
    Ok(match bytes {
        4 => Ok((count as u32).to_le_bytes().to_vec()),
        8 => Ok(count.to_le_bytes().to_vec()),
        _ => Err(format!("{}, and `{text}` is an integer", is())),
    })
}

fn three(expressions: &[Expression], shape: &Shape) -> Result<[u32; 3]> {
    let mut three = [1; 3];
    ensure!(expressions.len() <= 3, "more than three numbers of blocks or threads");
    for (place, expression) in three.iter_mut().zip(expressions) {
        *place = expression.count(shape)?.try_into()?;
    }
    Ok(three)
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
            let line = worst_line(&demand.value, ran, source, by_excess);
            outcome.bad(&demand.name, text, line);
        }
    }
    Ok(())
}

/// The line that does most of what the first count of an expression counts: of what is in excess,
/// or of it all.
fn worst_line(value: &Expression, ran: &Ran, source: &str, by_excess: bool) -> Option<Line> {
    let named = |word: &&str| count(&Tally::default(), word).is_some();
    let name = value.words().find(named)?;
    let mut lines = BTreeMap::<u32, Tally>::new();
    for counts in &ran.counts {
        for ((_, line), tally) in counts.by_source_line() {
            *lines.entry(line).or_default() += tally;
        }
    }
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

/// A count by its name, and what it would be at best, where the two can differ.
fn count(tally: &Tally, name: &str) -> Option<(u64, u64)> {
    let sectors = |of: Sectors, part: &str| match part {
        "requests" => Some((of.requests, 0)),
        "sectors" => Some((of.sectors, of.ideal)),
        "ideal" => Some((of.ideal, 0)),
        _ => None,
    };
    let wavefronts = |of: Wavefronts, part: &str| match part {
        "requests" => Some((of.requests, 0)),
        "wavefronts" => Some((of.wavefronts, of.ideal)),
        "ideal" => Some((of.ideal, 0)),
        _ => None,
    };
    if let Some((family, part)) = name.split_once('.') {
        return match family {
            "loads" => sectors(tally.global_loads, part),
            "stores" => sectors(tally.global_stores, part),
            "async" => sectors(tally.async_copies, part),
            "shared_loads" => wavefronts(tally.shared_loads, part),
            "shared_stores" => wavefronts(tally.shared_stores, part),
            _ => None,
        };
    }
    let number = match name {
        "atomics" => tally.atomics(),
        "global_atomics" => tally.global_atomics.requests + tally.global_reductions.requests,
        "shared_atomics" => tally.shared_atomics.requests,
        "matrix_operations" => tally.matrix_operations,
        "locals" => tally.local_accesses,
        "barriers" => tally.barriers,
        "divergent_branches" => tally.divergent_branches,
        "instructions" => tally.instructions,
        "thread_instructions" => tally.thread_instructions,
        _ => return None,
    };
    Some((number, 0))
}

/// What the compiler says, and what that means here.
const ADVICE: [(&str, &str); 3] = [
    (" open source file", "There are no header files here: leave the `#include` out."),
    (
        "without execution space annotations",
        "Put `__device__` in front of a function that kernels call.",
    ),
    (
        "identifier \"__reduce_",
        "This needs compute capability 8.0, and the check compiles for COMPUTE.",
    ),
];
/// What it advises for options that cannot be set here.
const OPTION: &str = " Consider using -default-device flag to process unannotated functions as \
                      __device__ functions in JIT mode";

/// Why it opens no file: it may not, see [`compile`].
const NO_FILE: &str = ": Too many open files";

/// What a compiler says, without advice on how to silence it.
fn compiler_text(text: &str, compute: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("Remark: ") && !line.trim().is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut text = text.replace(OPTION, "").replace(NO_FILE, "");
    for (said, advice) in ADVICE {
        if text.contains(said) {
            text = text + "\n" + &advice.replace("COMPUTE", compute);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_of_the_compiler_is_what_one_can_do_here() {
        let said = "k.cu(1): error: A function without execution space annotations \
                    (__host__/__device__/__global__) is considered a host function, and host \
                    functions are not allowed in JIT mode.";
        let text = compiler_text(&format!("{said}{OPTION}\n"), "7.5");
        assert_eq!(text, format!("{said}\n{}", ADVICE[1].1));
        let said = "k.cu(2): error: identifier \"__reduce_add_sync\" is undefined";
        let advice = "This needs compute capability 8.0, and the check compiles for 7.5.";
        assert_eq!(compiler_text(said, "7.5"), format!("{said}\n{advice}"));
    }

    #[test]
    fn a_parameter_of_another_kind_is_named() {
        let module = Module::parse(
            ".version 7.0\n.target sm_75\n.address_size 64\n
             .visible .entry k(.param .u32 a, .param .f32 b) { ret; }",
        )
        .unwrap();
        let shape = Shape::from([("n".to_owned(), 3)]);
        let none = BTreeMap::new();
        let memory = &mut Memory::new(MEMORY_BYTES);
        let buffers = Buffers::make(&none, &shape, memory).unwrap();
        let mut launch = Launch {
            kernel: "k".to_owned(),
            grid: vec![],
            block: vec![],
            shared_bytes: None,
            arguments: vec!["n".to_owned(), "0.5".to_owned()],
        };
        let form = Form::of(&module, &launch, &shape, &buffers).unwrap().unwrap();
        let half = 0.5f32.to_le_bytes();
        assert_eq!(form.arguments, [[3, 0, 0, 0], half]);
        launch.arguments = vec!["n".to_owned(), "n".to_owned()];
        let form = Form::of(&module, &launch, &shape, &buffers).unwrap().unwrap();
        assert_eq!(form.arguments[1], 3f32.to_le_bytes());
        launch.arguments = vec!["0.5".to_owned(), "n".to_owned()];
        let wrong = Form::of(&module, &launch, &shape, &buffers).unwrap();
        assert_eq!(
            wrong.err().unwrap(),
            "parameter 1 of `k` is an integer or a struct of 4 bytes, and 0.5 is a \
             floating-point number; the check gives it: 0.5, n"
        );
    }
}
