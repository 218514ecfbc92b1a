//! Measures what a library does, by the lab's rules: `baseline NAME` starts
//! `scripts/baselines/NAME.py`, which describes its cases and times the operations that this
//! program asks for. How many are enough, what machine this is and what the record says is
//! decided here, as for every experiment.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use lab::options::CANNOT_RUN;
use lab::timing::{by_elapsed, by_repeated_calls, by_turns};
use lab::{CannotRun, Case, Ceiling, Clock, Lab, Result, Samples};
use record::Parameter;
use serde::{Deserialize, Serialize};

/// What the script says, a line each. `scripts/baselines/lab.py` is the other side.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    Begin { library: String, python: String, gpu: String },
    Time(How), // until there are enough samples, the answer is how many operations to time
    Seconds(f64),
    Record(Measured),
    Skip { case: String, parameters: BTreeMap<String, Parameter>, reason: String },
    CannotRun(String),
    Failed(String),
}

/// Which clock times the operations of a sample.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    /// The host's, one operation in a sample.
    Host,
    /// The host's, and as many as make it last.
    HostRepeated,
    Gpu,
}

/// A case to be recorded, with the number of its samples.
#[derive(Debug, Deserialize)]
struct Measured {
    case: String,
    parameters: BTreeMap<String, Parameter>,
    samples: usize,
    reads: usize,
    writes: usize,
    ceiling: Ceiling,
    touched: Option<usize>,
    computes: usize,
    checked: u64,
    model: BTreeMap<String, f64>,
}

const WRONG_USAGE: u8 = 2;
const ABOUT: &str = "baseline NAME [OPTIONS] measures a library: NAME is one of scripts/baselines";

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let folder = scripts();
    let mut name = arguments.get(1).map_or("".into(), |first| first.to_string_lossy().into_owned());
    if ["--help", "-h", "--version", "-V"].contains(&&*name) {
        name = "baseline".to_owned();
    } else {
        let script = std::fs::read_to_string(folder.join(format!("{name}.py")));
        if !script.is_ok_and(|script| script.contains("\ndef experiment(")) {
            eprintln!("{ABOUT}; `{name}` is none");
            return ExitCode::from(WRONG_USAGE);
        }
        arguments.remove(1);
    }
    if arguments.iter().any(|argument| argument == "--counters") {
        eprintln!("{name} cannot be counted: the kernels are its library's, not ours");
        return ExitCode::from(CANNOT_RUN);
    }
    let name = &*name.leak(); // the program's, as an experiment's is
    lab::program::run_with(arguments, name, ABOUT, None, &mut |lab| measure(lab, name, &folder))
}

/// The folder of the scripts: the workbook's, or that of a packed one, which is started in its own.
fn scripts() -> PathBuf {
    match lab::workspace::root() {
        Some(root) => root.join("scripts/baselines"),
        None => "baselines".into(),
    }
}

struct Script {
    child: Child,
    asks: BufReader<ChildStdout>,
    answers: ChildStdin,
}

impl Script {
    fn start(name: &str, folder: &Path) -> Result<Script> {
        let mut python = Command::new("python3");
        python.args(["-B", "-m", "baselines", name]).current_dir(folder.join(".."));
        let mut child = match python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(CannotRun("there is no python3".to_owned()).into());
            }
            child => child.context("python3 does not start")?,
        };
        let asks = BufReader::new(child.stdout.take().context("no standard output")?);
        let answers = child.stdin.take().context("no standard input")?;
        Ok(Script { child, asks, answers })
    }

    fn answer(&mut self, answer: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(answer)? + "\n";
        Ok(self.answers.write_all(line.as_bytes())?)
    }

    /// What it says next; `None` if it has ended, and well. What it cannot do is an error.
    fn ask(&mut self) -> Result<Option<Request>> {
        let mut line = String::new();
        if self.asks.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            ensure!(status.success(), "its script ended with {status}");
            return Ok(None);
        }
        match serde_json::from_str(&line).with_context(|| format!("its script said {line}"))? {
            Request::CannotRun(why) => Err(CannotRun(why).into()),
            Request::Failed(why) => bail!(why),
            request => Ok(Some(request)),
        }
    }

    fn seconds(&mut self, operations: u32) -> Result<f64> {
        self.answer(&operations)?;
        match self.ask()? {
            Some(Request::Seconds(seconds)) => Ok(seconds),
            other => bail!("its script was asked for seconds and said {other:?}"),
        }
    }

    fn time(&mut self, lab: &Lab, how: How) -> Result<Samples> {
        let sampling = lab.sampling();
        let samples = match how {
            How::Host => by_turns(sampling, Clock::Host, || Ok((self.seconds(1)?, ())))?.0,
            How::HostRepeated => by_repeated_calls(sampling, |n| self.seconds(n))?,
            How::Gpu => by_elapsed(sampling, &mut |n| self.seconds(n))?,
        };
        self.answer(&())?;
        Ok(lab.observed(samples))
    }
}

/// Does what the script asks for, until it ends.
fn measure(lab: &mut Lab, name: &str, folder: &Path) -> Result<()> {
    if lab.emulated() {
        let why = "a library needs NVIDIA's driver, and there is only an emulated GPU";
        return Err(CannotRun(why.to_owned()).into());
    }
    let mut script = Script::start(name, folder)?;
    let (device, l2_bytes) = (lab.context().ordinal(), lab.l2_bytes());
    script.answer(&serde_json::json!({
        "device": device, "quick": lab.quick(), "l2_bytes": l2_bytes,
    }))?;
    let mut taken = vec![];
    while let Some(request) = script.ask()? {
        match request {
            Request::Begin { library, python, gpu } => {
                let expected = lab.context().name()?;
                ensure!(gpu == expected, "{library} uses {gpu}, and GPU {device} is {expected}");
                lab.measures(library, python);
            }
            Request::Time(how) => taken.push(script.time(lab, how)?),
            Request::Record(measured) => {
                let samples: Option<&Samples> = taken.get(measured.samples);
                let samples = samples.context("its script names samples that it did not take")?;
                record(lab, measured, samples.clone())?;
            }
            Request::Skip { case, parameters, reason } => {
                lab.skip(with(Case::new(&case), parameters), reason);
            }
            other => bail!("its script said {other:?}, unasked"),
        }
    }
    Ok(())
}

fn with(case: Case, parameters: BTreeMap<String, Parameter>) -> Case {
    parameters.into_iter().fold(case, |case, (name, value)| case.with(&name, value))
}

fn record(lab: &mut Lab, measured: Measured, samples: Samples) -> Result<()> {
    let mut case = with(Case::new(&measured.case), measured.parameters)
        .reads(measured.reads)
        .writes(measured.writes)
        .computes(measured.computes)
        .ceiling(measured.ceiling)
        .checked(measured.checked);
    if let Some(bytes) = measured.touched {
        case = case.footprint(bytes, lab.l2_bytes());
    }
    for (name, value) in measured.model {
        case = case.model(&name, value);
    }
    lab.record(case.samples(samples))
}
