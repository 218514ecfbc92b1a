//! A kernel is run at all sizes of a plan: what it did, and what was found.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use emulator::{Counts, Fault, FaultKind, Memory, Module};
use record::names::did_you_mean;
use record::units;

use crate::check::{Element, Launch};
use crate::compiler;
use crate::count::{self, Lines, line};
use crate::data::{self, Buffers, Placed, Shape, number};
use crate::launch::{self, Finished, Form, Limits};
use crate::misused;
use crate::plan::{Files, Plan, Work};
use crate::subject::{Made, Subject, Unsupported, plain};
use crate::{remedy, signature};

/// Numbers of a buffer that are shown.
const SHOWN: usize = 4;

/// A file, and what became of its kernel.
pub struct Trial {
    pub subject: Subject,
    /// As the source calls it; nothing where the file does not compile.
    pub kernel: String,
    pub compiler: String,
    pub findings: Vec<Finding>,
    pub runs: Vec<Run>,
}

/// What one shape did.
pub struct Run {
    pub shape: Shape,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// What is in buffers afterwards, and what was printed; nothing if it has a mistake.
    pub results: Vec<String>,
    pub lines: Lines,
    pub is_clean: bool,
    /// The buffers that it changed, by their names; nothing if it did not end.
    changed: Option<BTreeMap<String, Changed>>,
}

/// What is in a buffer in the end.
struct Changed {
    element: Element,
    sizes: Vec<u64>,
    bytes: Vec<u8>,
    /// Places of elements that nothing wrote.
    unwritten: Vec<usize>,
}

/// Something to be said of a line, or of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: Kind,
    pub line: Option<u32>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mistake,
    /// Right, and rarely meant.
    Note,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Mistake => "mistake",
            Kind::Note => "note",
        }
    }
}

impl Trial {
    /// Runs what a compiler has made of `subject`; `files` reads those that the plan names. Wrong
    /// usage is an error, as is what cannot be run here.
    pub fn of(
        subject: Subject,
        made: Made,
        plan: &Plan,
        limits: &Limits,
        files: &Files<'_>,
    ) -> Result<Trial> {
        let none = String::new();
        let mut trial =
            Trial { subject, kernel: none.clone(), compiler: none, findings: vec![], runs: vec![] };
        let subject = &trial.subject;
        let ptx = match made {
            Ok((ptx, compiler)) => {
                trial.compiler = compiler;
                ptx
            }
            Err(said) => {
                let twice = format!("{} does not compile:\n", subject.name);
                let said = said.replacen(&twice, "", 1);
                let line = compiler::first_line(&subject.name, &said);
                let text = format!("it does not compile:\n{said}");
                trial.findings.push(Finding { kind: Kind::Mistake, line, text });
                return Ok(trial);
            }
        };
        let mut module = subject.parse(&ptx)?;
        let kernel = subject.kernel(&module, plan.kernel.as_deref())?;
        if let Some(why) = &kernel.unsupported {
            let name = format!("`{}`", plain(&kernel.name));
            return Err(subject.unsupported(&name, &ptx, why).into());
        }
        trial.kernel = plain(&kernel.name).to_owned();
        let body = signature::body(&ptx, &kernel.name);
        let declared = signature::parameters(&subject.source, &trial.kernel);
        let declared = declared.filter(|all| all.len() == kernel.parameters.len());
        let unknown = || signature::unknown(&kernel.parameters);
        let all = declared.clone().unwrap_or_else(unknown);
        let lacks = signature::lacks(plan, &all, &kernel.parameters, !body.contains("%tid.y"));
        if let Some(said) = lacks {
            misused!("{said}");
        }
        let work = plan.work(&kernel.name, files)?;
        if let Some(said) = signature::differ(&trial.kernel, plan, kernel, declared.as_deref()) {
            misused!("{said}");
        }
        for text in signature::other_types(declared.as_deref().unwrap_or_default(), &work) {
            trial.find(Kind::Note, None, "", text);
        }
        for shape in &work.shapes {
            let run = trial.run(&mut module, &work, shape, limits)?;
            trial.runs.push(run);
        }
        trial.zeros(&module, body, &work);
        for (line, text) in count::excess(trial.runs.iter().map(|run| &run.lines)) {
            trial.find(Kind::Note, Some(line), "", text);
        }
        trial.suggest(&work);
        Ok(trial)
    }

    pub fn has_mistakes(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind == Kind::Mistake)
    }

    /// The counts of the last shape that ended.
    pub fn lines(&self) -> Option<&Lines> {
        self.counted().map(|run| &run.lines)
    }

    fn counted(&self) -> Option<&Run> {
        self.runs.iter().rev().find(|run| !run.lines.is_empty())
    }

    /// Which of several shapes the counts are of: `with n = 1000`.
    pub fn counted_with(&self) -> Option<String> {
        let counted = self.counted().filter(|_| self.runs.len() > 1)?;
        Some(format!("with {}", of(&counted.shape)))
    }

    /// Whether another has the same in the buffers that they change: sentences, of each shape that
    /// both have run with the same sizes.
    pub fn agreement(&self, other: &Trial) -> Vec<String> {
        let mut said = vec![];
        for (mine, other) in self.runs.iter().zip(&other.runs) {
            let is_other = |(name, size): (&String, &u64)| {
                other.shape.get(name).is_some_and(|other| other != size)
            };
            if mine.shape.iter().any(is_other) {
                continue;
            }
            let with = with(&mine.shape, "");
            let (Some(mine), Some(other)) = (&mine.changed, &other.changed) else { continue };
            let names: BTreeSet<_> = mine.keys().chain(other.keys()).collect();
            let differences =
                names.iter().filter_map(|name| match (mine.get(*name), other.get(*name)) {
                    (Some(mine), Some(other)) => mine.difference(name, other),
                    (Some(_), None) => Some(format!("only the first changes `{name}`")),
                    _ => Some(format!("only the second changes `{name}`")),
                });
            let differences = differences.collect::<Vec<_>>().join("; ");
            said.push(match differences.is_empty() {
                true => format!("{with}the results are equal"),
                false => format!("{with}{differences}"),
            });
        }
        said
    }

    /// Adds what was found with a shape, unless it was found with one before: its run tells that.
    fn find(&mut self, kind: Kind, line: Option<u32>, with: &str, text: String) {
        let is_same = |found: &Finding| {
            (found.kind, found.line) == (kind, line) && found.text.ends_with(&text)
        };
        if !self.findings.iter().any(is_same) {
            let text = with.to_owned() + &text;
            self.findings.push(Finding { kind, line, text });
        }
    }

    /// Runs one shape: forwards, and with the last block first.
    fn run(
        &mut self,
        module: &mut Module,
        work: &Work,
        shape: &Shape,
        limits: &Limits,
    ) -> Result<Run> {
        let form = form(module, work, shape, limits)?;
        if form.threads() > limits.threads {
            misused!("{}", launch::too_many(form.threads(), limits));
        }
        let (grid, block) = (form.grid, form.block);
        if grid.contains(&0) {
            let remedy = remedy::rounded_down(&work.launch.grid, shape);
            misused!("{}the grid has no blocks{remedy}", with(shape, ""));
        }
        if block.contains(&0) {
            misused!("{}the block has no threads", with(shape, ""));
        }
        let mut run = Run {
            shape: shape.clone(),
            grid,
            block,
            results: vec![],
            lines: Lines::new(),
            is_clean: false,
            changed: None,
        };
        symbols(module, work, shape)?;
        let mut attempt = |backwards| {
            let Work { buffers, launch, .. } = work;
            launch::run(module, buffers, std::slice::from_ref(launch), shape, limits, backwards)
        };
        let forwards = match attempt(false)? {
            Ok(finished) => finished,
            Err(fault) => {
                self.fault(work, &form, &with(shape, ""), &fault)?;
                return Ok(run);
            }
        };
        let backwards = attempt(true)?;
        let is_right = self.compare(work, shape, limits, &forwards)?;
        self.parts(work, &form, shape, &forwards)?;
        run.is_clean = is_right && backwards.is_ok();
        match backwards {
            Err(fault) => {
                self.fault(work, &form, &with(shape, ", the last block first"), &fault)?;
            }
            Ok(backwards) => self.order(&forwards, &backwards)?,
        }
        forwards.ran.counts.iter().for_each(|counts| self.notes(counts));
        run.lines = count::lines(&forwards.ran.counts, self.subject.is_ptx);
        run.results = results(&forwards)?;
        run.changed = Some(changed(&forwards)?);
        Ok(run)
    }

    /// A fault is a mistake of the kernel's, but for a launch that cannot be.
    fn fault(&mut self, work: &Work, form: &Form, with: &str, fault: &Fault) -> Result<()> {
        let text = launch::in_words(fault, &self.subject.name, &self.subject.source);
        let line = fault.place.as_ref().and_then(|place| line(place, self.subject.is_ptx));
        match fault.kind {
            FaultKind::BadLaunch => misused!("`{}` cannot be launched: {text}", self.kernel),
            FaultKind::Unsupported => {
                let Trial { subject, kernel, .. } = self;
                let what =
                    format!("{}: the emulated GPU cannot run `{kernel}`: {text}", subject.name);
                return Err(Unsupported { line, what }.into());
            }
            _ => {}
        }
        let remedy = remedy::of_fault(fault, &work.buffers, form);
        self.find(Kind::Mistake, line, with, text + &remedy);
        Ok(())
    }

    /// Buffers of which a part was written, and the rest has nothing that may be read.
    fn parts(
        &mut self,
        work: &Work,
        form: &Form,
        shape: &Shape,
        finished: &Finished<'_>,
    ) -> Result<()> {
        for (name, placed) in finished.buffers.iter().filter(|(_, of)| of.filled.is_none()) {
            let unwritten = placed.unwritten(&finished.memory)?;
            let (all, missing) = (placed.elements(), unwritten.len() as u64);
            let Some(first) = unwritten.first().filter(|_| missing < all) else { continue };
            let mut text = format!(
                "of `{name}`, {} of {} elements were written; the first that was not is {}",
                units::count(all - missing),
                units::count(all),
                placed.place(name, *first)
            );
            if form.threads() < all {
                text += &remedy::rounded_down(&work.launch.grid, shape);
            }
            self.find(Kind::Note, None, &with(shape, ""), text);
        }
        Ok(())
    }

    /// Whether buffers hold what is expected of them.
    fn compare(
        &mut self,
        work: &Work,
        shape: &Shape,
        limits: &Limits,
        finished: &Finished<'_>,
    ) -> Result<bool> {
        let mut memory = Memory::new(limits.memory_bytes);
        let expected = match Buffers::make(&work.expected, shape, &mut memory) {
            Ok(expected) => expected,
            Err(e) => misused!("{e:#}"),
        };
        let wrong = finished.buffers.compare(&finished.memory, &expected, &memory)?;
        let is_right = wrong.is_none();
        if let Some(wrong) = wrong {
            self.find(Kind::Mistake, None, &with(shape, ""), wrong);
        }
        Ok(is_right)
    }

    /// Whether both orders of the blocks have the same results.
    fn order(&mut self, forwards: &Finished<'_>, backwards: &Finished<'_>) -> Result<()> {
        for (name, placed) in forwards.buffers.iter() {
            let other = backwards.buffers.get(name).map(|other| other.read(&backwards.memory));
            let (mine, other) = (placed.read(&forwards.memory)?, other.transpose()?);
            let width = placed.element_bytes() as usize;
            let element = placed.buffer.element;
            let value = |bytes: &[u8]| data::shown(element, bytes);
            let differ = |(a, b): &(&[u8], &[u8])| differ(element, a, b);
            let other = other.unwrap_or_default();
            let mut pairs = mine.chunks(width).zip(other.chunks(width));
            let Some(at) = pairs.position(|pair| differ(&pair)) else { continue };
            let text = format!(
                "{} depends on the order in which blocks run: it is {}, and {} with the last \
                 block first",
                placed.place(name, at),
                value(&mine[at * width..][..width]),
                value(&other[at * width..][..width])
            );
            self.find(Kind::Note, None, "", text);
        }
        Ok(())
    }

    fn notes(&mut self, counts: &Counts) {
        for note in &counts.notes {
            let line = line(&note.place, self.subject.is_ptx);
            let file = self.subject.name.rsplit('/').next().unwrap_or_default();
            let text = note.what.replace(&format!(" of {file}"), "");
            self.find(Kind::Note, line, "", text);
        }
    }

    /// Constants that a program would fill before the launch.
    fn zeros(&mut self, module: &Module, body: &str, work: &Work) {
        let words: BTreeSet<_> =
            body.split(|c: char| !(c.is_ascii_alphanumeric() || ['_', '$'].contains(&c))).collect();
        for variable in module.variables().iter().filter(|v| v.constant && !v.has_value()) {
            let name = plain(&variable.name);
            if words.contains(&*variable.name) && !work.symbols.contains_key(name) {
                let (kind, width) = match variable.element {
                    8 => ("f64", 8),
                    _ if variable.bytes % 4 == 0 => ("f32", 4),
                    _ => ("u8", 1),
                };
                let text = format!(
                    "`{name}` is `__constant__` and zero: say what your program copies there, such \
                     as --symbol {name}={kind}[{}]:random",
                    variable.bytes / width
                );
                self.find(Kind::Note, None, "", text);
            }
        }
    }

    /// Sizes that fill every warp hide the most frequent mistake.
    fn suggest(&mut self, work: &Work) {
        let sizes = work.shapes.iter().flat_map(|shape| shape.iter());
        let sizes: Vec<_> = sizes.filter(|(_, size)| **size > 1).collect();
        if let [(name, size), ..] = sizes[..]
            && sizes.iter().all(|(_, size)| *size % 32 == 0)
            && !self.has_mistakes()
        {
            let text = format!(
                "all sizes are multiples of 32: try one that is not, too, such as --set \
                 {name}={size} --set {name}={}",
                size - 1
            );
            self.find(Kind::Note, None, "", text);
        }
    }
}

impl Changed {
    /// Where it is not what is in the other one: how often, and the first.
    fn difference(&self, name: &str, other: &Changed) -> Option<String> {
        let Changed { element, bytes, .. } = self;
        let width = element.bytes();
        let all = bytes.len() / width;
        let value = |of: &Changed, at: usize| of.bytes[at * width..][..width].to_vec();
        let is_missing = |of: &Changed, at: usize| of.unwritten.binary_search(&at).is_ok();
        let is_other = |at: &usize| match (is_missing(self, *at), is_missing(other, *at)) {
            (false, false) => differ(*element, &value(self, *at), &value(other, *at)),
            (mine, other) => mine != other,
        };
        let places: Vec<_> = (0..all).filter(is_other).collect();
        let first = *places.first()?;
        let shown = |of: &Changed| match is_missing(of, first) {
            true => "not written".to_owned(),
            false => data::shown(*element, &value(of, first)),
        };
        Some(format!(
            "`{name}` differs in {} of {} elements: {} is {} in the first, and {} in the second",
            units::count(places.len() as u64),
            units::count(all as u64),
            data::place(name, &self.sizes, first),
            shown(self),
            shown(other)
        ))
    }
}

/// Whether two elements differ; sums of floating-point numbers do so in their last digits.
fn differ(element: Element, one: &[u8], other: &[u8]) -> bool {
    let (a, b) = (number(element, one), number(element, other));
    let digits = match element {
        Element::F16 => 4e-3,
        Element::Bf16 => 3e-2,
        _ => 1e-4,
    };
    one != other && (a - b).abs() > digits * a.abs().max(1.0)
}

/// The launch with its numbers: what is wrong with them is wrong usage.
fn form(module: &Module, work: &Work, shape: &Shape, limits: &Limits) -> Result<Form> {
    let bytes = data::bytes(&work.buffers, shape);
    if let Some(all) = bytes.as_ref().ok().filter(|all| **all > limits.buffer_bytes) {
        misused!("{}", launch::too_large(*all, limits));
    }
    let memory = &mut Memory::new(limits.memory_bytes);
    let made = bytes.and_then(|_| Buffers::make(&work.buffers, shape, memory));
    let form = made.and_then(|buffers| Form::of(module, &work.launch, shape, &buffers));
    let said = match form {
        Ok(Ok(form)) => return Ok(form),
        Ok(Err(what)) => arguments_are(&what, &work.launch),
        Err(e) => format!("{e:#}"),
    };
    let unknown = said.split_once("what is `").and_then(|(_, rest)| rest.split_once('`'));
    match unknown {
        Some((name, _)) if crate::plan::is_name(name) => {
            misused!("{said} Give it a number with --set {name}=1000, or name a buffer with --arg")
        }
        _ => misused!("{said}"),
    }
}

/// Gives variables of the module what the plan says that they hold at first.
fn symbols(module: &mut Module, work: &Work, shape: &Shape) -> Result<()> {
    for (name, buffer) in &work.symbols {
        let bytes = match data::filled(name, buffer, shape) {
            Ok(bytes) => bytes,
            Err(e) => misused!("--symbol {name}: {e:#}"),
        };
        let names = module.variables().iter().map(|variable| plain(&variable.name));
        let Some(place) = names.clone().position(|known| known == name.as_str()) else {
            misused!(
                "--symbol {name}: what was compiled has no variable `{name}`{}",
                did_you_mean(name, names)
            );
        };
        let has = module.variables()[place].bytes;
        if has != bytes.len() as u64 {
            misused!("--symbol {name}: it is given {} bytes, and has {has}", bytes.len());
        }
        module.set(place, &bytes);
    }
    Ok(())
}

/// Names of kernels are those of the source.
fn arguments_are(what: &str, launch: &Launch) -> String {
    what.replace(&launch.kernel, plain(&launch.kernel))
}

/// `n = 1000003, m = 3`.
pub fn of(shape: &Shape) -> String {
    let sizes = shape.iter().map(|(name, size)| format!("{name} = {size}"));
    sizes.collect::<Vec<_>>().join(", ")
}

/// What a sentence on this shape begins with.
fn with(shape: &Shape, how: &str) -> String {
    let sizes = of(shape);
    if sizes.is_empty() { sizes } else { format!("with {sizes}{how}: ") }
}

/// What is in each buffer that the kernel has changed.
fn changed(finished: &Finished<'_>) -> Result<BTreeMap<String, Changed>> {
    let mut changed = BTreeMap::new();
    for (name, placed) in finished.buffers.iter() {
        let bytes = placed.read(&finished.memory)?;
        if placed.filled.as_ref() == Some(&bytes) {
            continue;
        }
        let unwritten = placed.unwritten(&finished.memory)?;
        if (unwritten.len() as u64) < placed.elements() {
            let (element, sizes) = (placed.buffer.element, placed.sizes.clone());
            changed.insert(name.to_owned(), Changed { element, sizes, bytes, unwritten });
        }
    }
    Ok(changed)
}

/// What is in each buffer that the kernel has changed, and what it printed.
fn results(finished: &Finished<'_>) -> Result<Vec<String>> {
    let mut said = vec![];
    for (name, placed) in finished.buffers.iter() {
        let bytes = placed.read(&finished.memory)?;
        if bytes.is_empty() || placed.filled.as_ref() == Some(&bytes) {
            continue;
        }
        said.push(content(name, placed, &bytes, finished)?);
    }
    let printed = finished.ran.counts.iter().map(|counts| counts.printed.as_str());
    let printed = printed.collect::<String>();
    if !printed.is_empty() {
        said.push(format!("printed:\n{}", printed.trim_end()));
    }
    Ok(said)
}

/// The first numbers and the last, or where the first is that nobody wrote.
fn content(
    name: &str,
    placed: &Placed<'_>,
    bytes: &[u8],
    finished: &Finished<'_>,
) -> Result<String> {
    let width = placed.element_bytes() as usize;
    let length = bytes.len() as u64;
    let unwritten = finished.memory.first_unwritten(placed.address, length)?;
    let written = unwritten.map_or(bytes.len(), |at| (at - placed.address) as usize);
    let numbers: Vec<_> = bytes[..written].chunks_exact(width).collect();
    let text = |bytes: &&[u8]| data::shown(placed.buffer.element, bytes);
    let mut shown: Vec<_> = numbers.iter().take(SHOWN).map(text).collect();
    if numbers.len() > SHOWN + 1 {
        shown.push("…".to_owned());
    }
    if let Some(last) = numbers.last().filter(|_| numbers.len() > SHOWN) {
        shown.push(text(last));
    }
    let shown = shown.join(", ");
    Ok(match unwritten {
        None => format!("{name} = {shown}"),
        Some(_) => {
            let first = placed.place(name, written / width);
            let before = if shown.is_empty() { ":" } else { &format!(" = {shown};") };
            format!("{name}{before} nothing has written {first}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::COMMENT;

    const SOURCE: &str = "__global__ void scale(const float *x, float *y, int n)";
    /// `y[i] = by * x[i]`, and what stands between.
    const PTX: [&str; 3] = [
        ".version 7.0\n.target sm_75\n.address_size 64\n
         .visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
         {
         .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<3>;
         ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r1, [n];
         mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
         mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1;\n",
        "@%p1 ret;\n",
        "mul.wide.s32 %d3, %r5, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
         ld.global.f32 %f1, [%d4]; mul.f32 %f2, %f1, 0f40000000; st.global.f32 [%d5], %f2;
         ret;
         }\n",
    ];
    const ARGUMENTS: &str = "--arg x=f32[n]:ramp --arg y=f32[n] --arg n";

    fn tried(ptx: &str, options: &str) -> Result<Trial> {
        let source = format!("{COMMENT} {options}\n{SOURCE} {{}}\n");
        let plan = Plan::of_comment("my.cu", &source)?;
        let subject = Subject { name: "my.cu".to_owned(), source, is_ptx: false };
        let made = Ok((ptx.to_owned(), "PTX".to_owned()));
        Trial::of(subject, made, &plan, &Limits::PAGE, &|_, _| unreachable!())
    }

    fn texts(trial: &Trial) -> Vec<(Kind, &str)> {
        trial.findings.iter().map(|finding| (finding.kind, finding.text.as_str())).collect()
    }

    #[test]
    fn a_grid_that_is_too_small_is_noted() {
        let few = |grid: &str| {
            let options = format!("--grid '{grid}' --block 256 {ARGUMENTS} --set n=1000");
            tried(&PTX.concat(), &options).unwrap()
        };
        let said = "with n = 1000: of `y`, 768 of 1,000 elements were written; the first that was \
                    not is y[768]";
        let rounds = format!("{said}. `n / 256` rounds down: take `ceil(n / 256)` blocks");
        assert_eq!(texts(&few("n / 256")), [(Kind::Note, rounds.as_str())]);
        assert_eq!(texts(&few("3")), [(Kind::Note, said)]);
        assert!(few("3").runs[0].is_clean);
        assert_eq!(texts(&few("ceil(n / 256)")), []);
    }

    #[test]
    fn a_mistake_is_said_with_what_to_do_about_it() {
        let [before, _, after] = PTX;
        let unguarded = [before, after].concat();
        let said = |ptx: &str, options: &str| {
            let trial =
                tried(ptx, &format!("--grid 4 --block 256 --set n=1000 {options}")).unwrap();
            assert_eq!(trial.findings[0].kind, Kind::Mistake);
            trial.findings[0].text.clone()
        };
        let text = said(&unguarded, ARGUMENTS);
        let end = "thread (232, 0, 0). There are 1,024 threads: let those to spare do nothing, as \
                   with `if (i < n)`";
        assert!(
            text.contains("reads x[1000]: right behind the end") && text.ends_with(end),
            "{text}"
        );
        let text = said(&PTX.concat(), "--arg x=f32[n] --arg y=f32[n] --arg n");
        let end = ". `x` was given without a fill: if your program writes it before this kernel, \
                   say so with --arg x=f32[n]:ramp, or :zero for what it adds to";
        assert!(
            text.contains("reads x[0], where nothing was written") && text.ends_with(end),
            "{text}"
        );
    }

    #[test]
    fn results_of_two_kernels_are_compared() {
        let of = |ptx: &str, set: &str| {
            let options = format!("--grid 'n / 32' --block 32 {ARGUMENTS} {set}");
            tried(ptx, &options).unwrap()
        };
        let (set, twice) = ("--set n=64 --set n=63", PTX.concat());
        let equal = ["with n = 64: the results are equal", "with n = 63: the results are equal"];
        assert_eq!(of(&twice, set).agreement(&of(&twice, set)), equal);
        let thrice = twice.replace("0f40000000", "0f40400000");
        let set = "--set n=64";
        assert_eq!(
            of(&twice, set).agreement(&of(&thrice, set)),
            [
                "with n = 64: `y` differs in 63 of 64 elements: y[1] is 2 in the first, and 3 in the \
              second"
            ]
        );
        let fewer = twice.replace("setp.ge.s32 %p1, %r5, %r1", "setp.ge.s32 %p1, %r5, 9");
        assert_eq!(
            of(&fewer, set).agreement(&of(&twice, set)),
            [
                "with n = 64: `y` differs in 55 of 64 elements: y[9] is not written in the first, and \
              18 in the second"
            ]
        );
    }

    #[test]
    fn arguments_may_be_named_numbers_and_fills_numbers() {
        let options = "--grid 1 --block 32 --arg x=f32[n]:1.5 --arg y=f32[n] --arg n=4";
        let trial = tried(&PTX.concat(), options).unwrap();
        assert_eq!(trial.runs[0].results, ["y = 3, 3, 3, 3"]);
        let trial = tried(&PTX.concat(), &format!("{options} --set n=1")).unwrap();
        assert_eq!(trial.runs[0].results, ["y = 3"]);
        let wrong = tried(&PTX.concat(), &options.replace("x=f32[n]:1.5", "x=u8[n]:-1"));
        assert_eq!(wrong.err().unwrap().to_string(), "x: its type has no -1");
    }

    #[test]
    fn wrong_usage_is_said_with_what_is_missing() {
        let said = |options: &str| tried(&PTX.concat(), options).err().unwrap().to_string();
        let launch = format!("--grid 'ceil(n / 256)' --block 256 {ARGUMENTS}");
        assert_eq!(said(&format!("{launch} --set n=0")), "with n = 0: the grid has no blocks");
        assert_eq!(
            said("--grid 1 --block 32 --arg x=f32[9] --arg n=9"),
            "`scale` has 3 parameters (const float *x, float *y, int n), and there are 2 --arg: \
             x=f32[9], n=9. `float *y` has none, such as --arg 'y=f32[n]'"
        );
        let all = said("");
        let proposal = all.split_once("such as ").unwrap().1.replace('\n', " ");
        assert_eq!(texts(&tried(&PTX.concat(), &proposal).unwrap()), []);
    }
}
