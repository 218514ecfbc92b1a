//! A kernel is run at all sizes of a plan: what it did, and what was found.

use anyhow::Result;
use emulator::{Counts, Fault, FaultKind, Memory, Module};

use crate::check::Launch;
use crate::compiler;
use crate::count::{self, Lines, line};
use crate::data::{self, Buffers, Placed, Shape, number};
use crate::launch::{self, Finished, Form, Limits};
use crate::misused;
use crate::plan::{Files, Plan, Work};
use crate::subject::{Made, Subject, Unsupported, plain};

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
        let work = plan.work(&kernel.name.clone(), files)?;
        for shape in &work.shapes {
            let run = trial.run(&mut module, &work, shape, limits)?;
            trial.runs.push(run);
        }
        trial.suggest(&work);
        Ok(trial)
    }

    pub fn has_mistakes(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind == Kind::Mistake)
    }

    /// The counts of the last shape that ended.
    pub fn lines(&self) -> Option<&Lines> {
        self.runs.iter().rev().map(|run| &run.lines).find(|lines| !lines.is_empty())
    }

    fn find(&mut self, kind: Kind, line: Option<u32>, text: String) {
        let finding = Finding { kind, line, text };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
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
        let Form { grid, block, .. } = form;
        let mut run = Run {
            shape: shape.clone(),
            grid,
            block,
            results: vec![],
            lines: Lines::new(),
            is_clean: false,
        };
        let mut attempt = |backwards| {
            let Work { buffers, launch, .. } = work;
            launch::run(module, buffers, std::slice::from_ref(launch), shape, limits, backwards)
        };
        let forwards = match attempt(false)? {
            Ok(finished) => finished,
            Err(fault) => {
                self.fault(shape, "", &fault)?;
                return Ok(run);
            }
        };
        let backwards = attempt(true)?;
        let before = self.findings.len();
        self.compare(work, shape, limits, &forwards)?;
        match backwards {
            Err(fault) => self.fault(shape, ", the last block first", &fault)?,
            Ok(backwards) => self.order(&forwards, &backwards)?,
        }
        forwards.ran.counts.iter().for_each(|counts| self.notes(counts));
        run.lines = count::lines(&forwards.ran.counts, self.subject.is_ptx);
        for (line, text) in count::excess(&run.lines) {
            self.find(Kind::Note, Some(line), text);
        }
        run.results = results(&forwards)?;
        run.is_clean = self.findings[before..].iter().all(|f| f.kind != Kind::Mistake);
        Ok(run)
    }

    /// A fault is a mistake of the kernel's, but for a launch that cannot be.
    fn fault(&mut self, shape: &Shape, how: &str, fault: &Fault) -> Result<()> {
        let text = launch::in_words(fault, &self.subject.name);
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
        let sizes = of(shape);
        let with = if sizes.is_empty() { String::new() } else { format!("with {sizes}{how}: ") };
        self.find(Kind::Mistake, line, with + &text);
        Ok(())
    }

    fn compare(
        &mut self,
        work: &Work,
        shape: &Shape,
        limits: &Limits,
        finished: &Finished<'_>,
    ) -> Result<()> {
        let mut memory = Memory::new(limits.memory_bytes);
        let expected = match Buffers::make(&work.expected, shape, &mut memory) {
            Ok(expected) => expected,
            Err(e) => misused!("{e:#}"),
        };
        if let Some(wrong) = finished.buffers.compare(&finished.memory, &expected, &memory)? {
            let sizes = of(shape);
            let with = if sizes.is_empty() { sizes } else { format!("with {sizes}: ") };
            self.find(Kind::Mistake, None, with + &wrong);
        }
        Ok(())
    }

    /// Whether both orders of the blocks have the same results.
    fn order(&mut self, forwards: &Finished<'_>, backwards: &Finished<'_>) -> Result<()> {
        for (name, placed) in forwards.buffers.iter() {
            let other = backwards.buffers.get(name).map(|other| other.read(&backwards.memory));
            let (mine, other) = (placed.read(&forwards.memory)?, other.transpose()?);
            let width = placed.element_bytes() as usize;
            let element = placed.buffer.element;
            let value = |bytes: &[u8]| number(element, bytes);
            // Sums of floating-point numbers differ in their last digits.
            let differ = |(a, b): &(&[u8], &[u8])| {
                a != b && (value(a) - value(b)).abs() > 1e-4 * value(a).abs().max(1.0)
            };
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
            self.find(Kind::Note, None, text);
        }
        Ok(())
    }

    fn notes(&mut self, counts: &Counts) {
        for note in &counts.notes {
            let line = line(&note.place, self.subject.is_ptx);
            let file = self.subject.name.rsplit('/').next().unwrap_or_default();
            let text = note.what.replace(&format!(" of {file}"), "");
            self.find(Kind::Note, line, text);
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
            self.find(Kind::Note, None, text);
        }
    }
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

/// Names of kernels are those of the source.
fn arguments_are(what: &str, launch: &Launch) -> String {
    what.replace(&launch.kernel, plain(&launch.kernel))
}

/// `n = 1000003, m = 3`.
pub fn of(shape: &Shape) -> String {
    let sizes = shape.iter().map(|(name, size)| format!("{name} = {size}"));
    sizes.collect::<Vec<_>>().join(", ")
}

/// What is in each buffer that the kernel has changed, and what it printed.
fn results(finished: &Finished<'_>) -> Result<Vec<String>> {
    let mut said = vec![];
    for (name, placed) in finished.buffers.iter() {
        let bytes = placed.read(&finished.memory)?;
        if bytes.is_empty() || placed.filled.as_ref() == Some(&bytes) {
            continue;
        }
        said.push(format!("{name} {}", content(name, placed, &bytes, finished)?));
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
    let text = |bytes: &&[u8]| number(placed.buffer.element, bytes).to_string();
    let mut shown: Vec<_> = numbers.iter().take(SHOWN).map(text).collect();
    if numbers.len() > SHOWN + 1 {
        shown.push("…".to_owned());
    }
    if let Some(last) = numbers.last().filter(|_| numbers.len() > SHOWN) {
        shown.push(text(last));
    }
    let shown = shown.join(", ");
    Ok(match unwritten {
        None => format!("= {shown}"),
        Some(_) => {
            let first = placed.place(name, written / width);
            let before = if shown.is_empty() { String::new() } else { format!("= {shown}; ") };
            format!("{before}nothing has written {first}")
        }
    })
}
