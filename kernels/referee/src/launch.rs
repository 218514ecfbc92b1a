//! Kernels are launched on the emulated GPU, on fresh memory and within limits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use emulator::{Counts, Fault, FaultKind, Memory, Module, Options, Parameter, WARP};
use record::units;

use crate::check::{Buffer, Expression, Launch};
use crate::data::{self, Buffers, Shape};
use crate::names;
use crate::plan::number;

/// Bytes that a launch may print: what comes last is kept.
const PRINT_BYTES: usize = 1 << 14;

thread_local! {
    /// When the launch of this thread ends.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What a launch may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions that a block's warps may execute.
    pub budget: u64,
    /// How long a launch may take, where it is not the budget that ends it first; nothing where
    /// there is no clock.
    pub patience: Option<Duration>,
    /// Threads of a launch.
    pub threads: u64,
    /// Bytes of all buffers together.
    pub buffer_bytes: u64,
    /// Bytes of the emulated GPU's memory, which has the module's variables, too.
    pub memory_bytes: u64,
}

impl Limits {
    /// Of an exercise at a terminal: more than any solution needs a hundred times, and so little
    /// that a loop without an end is found in a second.
    pub const TERMINAL: Limits = Limits {
        budget: 1 << 24,
        patience: Some(Duration::from_secs(2)),
        threads: 1 << 27,
        buffer_bytes: 1 << 30,
        memory_bytes: 1 << 30,
    };
    /// Of a page, which has no clock, and less memory: it has to fit in a browser's tab, on a phone
    /// as well, beside the compiler.
    pub const PAGE: Limits = Limits {
        patience: None,
        threads: 1 << 22,
        buffer_bytes: 1 << 25,
        memory_bytes: 1 << 26,
        ..Limits::TERMINAL
    };
}

/// What the launches of one shape did.
pub struct Ran {
    /// Counts of each launch.
    pub counts: Vec<Counts>,
    /// Shared memory of a block: the most that one launch has.
    pub shared_bytes: u64,
    pub warps: u64,
}

/// What launches did, and the memory as they left it.
pub struct Finished<'c> {
    pub ran: Ran,
    pub memory: Memory,
    pub buffers: Buffers<'c>,
}

/// Runs launches, one after the other, on fresh memory; if `backwards`, with the last block and
/// warp first. The inner error is a kernel's.
pub fn run<'c>(
    module: &mut Module,
    buffers: &'c BTreeMap<String, Buffer>,
    launches: &[Launch],
    shape: &Shape,
    limits: &Limits,
    backwards: bool,
) -> Result<Result<Finished<'c>, Box<Fault>>> {
    let mut memory = Memory::new(limits.memory_bytes);
    module.place(&mut memory)?; // its variables, and the texts that it prints
    let bytes = data::bytes(buffers, shape)?;
    ensure!(bytes <= limits.buffer_bytes, "{}", too_large(bytes, limits));
    let buffers = Buffers::make(buffers, shape, &mut memory)?;
    let mut ran = Ran { counts: vec![], shared_bytes: 0, warps: 0 };
    let Limits { budget, patience, .. } = *limits;
    let stop = patience.map(|_| is_late as fn() -> bool);
    let print_bytes = PRINT_BYTES;
    let options = Options { budget, backwards, print_bytes, stop, ..Options::default() };
    for launch in launches {
        DEADLINE.set(patience.map(|patience| Instant::now() + patience));
        let form = Form::of(module, launch, shape, &buffers).with_context(|| {
            let given = launch.arguments.join(", ");
            format!("check.toml gives `{}` {given}, each a buffer, size or number", launch.kernel)
        })?;
        let form = match form {
            Ok(form) => form,
            Err(what) => return Ok(Err(bad_launch(launch, what))),
        };
        ensure!(form.threads() <= limits.threads, "{}", too_many(form.threads(), limits));
        match launch_on(module, &form, &mut memory, &options) {
            Ok((counts, shared_bytes, warps)) => {
                ran.counts.push(counts);
                ran.warps += warps;
                ran.shared_bytes = ran.shared_bytes.max(shared_bytes);
            }
            Err(mut fault) => {
                fault.what = buffers.in_elements(&fault.what);
                return Ok(Err(fault));
            }
        }
    }
    Ok(Ok(Finished { ran, memory, buffers }))
}

/// What went wrong, and in which block and thread, in words that speak of lines of `file` by their
/// numbers alone, and of elements and variables as its source does.
pub fn in_words(fault: &Fault, file: &str, source: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let what = names::in_source(&fault.what.replace(&format!(" of {name}"), ""));
    let mut text = names::in_rows(&what, source).unwrap_or(what);
    for (what, at) in [("block", fault.block), ("thread", fault.thread)] {
        if let Some([x, y, z]) = at {
            text += &format!(", {what} ({x}, {y}, {z})");
        }
    }
    text
}

fn is_late() -> bool {
    DEADLINE.get().is_some_and(|deadline| Instant::now() > deadline)
}

/// A launch with its numbers.
pub struct Form {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    /// Bytes of each argument.
    pub arguments: Vec<Vec<u8>>,
}

/// What to say of more threads than a launch may have.
pub(crate) fn too_many(threads: u64, limits: &Limits) -> String {
    let [threads, most] = [threads, limits.threads].map(units::count);
    format!(
        "{threads} threads; the emulated GPU takes {most} at most, and shows the same with fewer"
    )
}

/// What to say of larger buffers than there may be.
pub(crate) fn too_large(bytes: u64, limits: &Limits) -> String {
    let [bytes, most] = [bytes, limits.buffer_bytes].map(units::bytes);
    format!("the buffers have {bytes}, of {most} at most: smaller sizes show the same")
}

impl Form {
    /// How many threads it has.
    pub fn threads(&self) -> u64 {
        let sizes = self.grid.iter().chain(&self.block);
        sizes.fold(1, |all, size| all.saturating_mul(u64::from(*size)))
    }

    /// The inner error is the kernel's: it is not there, or has other parameters.
    pub fn of(
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
        let shared: Vec<_> = launch.shared_bytes.iter().cloned().collect();
        let [shared_bytes, ..] = numbers("shared", &shared, 0, shape)?;
        let [grid, block] = [("grid", &launch.grid), ("block", &launch.block)]
            .map(|(of, three)| numbers(of, three, 1, shape));
        let (grid, block) = (grid?, block?);
        Ok(Ok(Form { kernel: name.clone(), grid, block, shared_bytes, arguments }))
    }
}

/// A launch that no kernel can have.
fn bad_launch(launch: &Launch, what: String) -> Box<Fault> {
    let (kernel, kind) = (launch.kernel.clone(), FaultKind::BadLaunch);
    let (place, block, thread) = (None, None, None);
    Box::new(Fault { kind, what, kernel, place, block, thread })
}

/// Launches a kernel: its counts, the bytes of shared memory of a block, and all its warps.
pub(crate) fn launch_on(
    module: &Module,
    form: &Form,
    memory: &mut Memory,
    options: &Options,
) -> Result<(Counts, u64, u64), Box<Fault>> {
    let kernel = module.kernel(&form.kernel);
    let (mut arguments, mut shared) = (vec![], u64::from(form.shared_bytes));
    if let Some(kernel) = kernel {
        shared += u64::from(kernel.shared_bytes);
        for (bytes, parameter) in form.arguments.iter().zip(&kernel.parameters) {
            arguments.resize(parameter.offset as usize, 0);
            arguments.extend(bytes);
        }
    }
    let Form { grid, block, shared_bytes, .. } = *form;
    let all = emulator::Launch { grid, block, shared_bytes, arguments: &arguments };
    let counts = emulator::run(module, &form.kernel, &all, memory, options)?;
    let warps = block.map(u64::from).iter().product::<u64>().div_ceil(WARP as u64)
        * grid.map(u64::from).iter().product::<u64>();
    Ok((counts, shared, warps))
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
            (
                name,
                Expression::Text(index.to_owned())
                    .count(shape)
                    .with_context(|| format!("`{text}`"))?,
            )
        }
        None => (text, 0),
    };
    if let Some(words) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let words = words.split(',').map(|word| four_bytes(word.trim(), shape));
        let words = words.collect::<Result<Vec<_>>>()?;
        return Ok(match bytes as usize == 4 * words.len() {
            true => Ok(words.concat()),
            false => Err(format!("{}, and `{text}` has {} bytes", is(), 4 * words.len())),
        });
    }
    if let Some(buffer) = buffers.get(name) {
        let address = buffer.address + index * buffer.element_bytes();
        return Ok(match (bytes, is_float) {
            (8, false) => Ok(address.to_le_bytes().to_vec()),
            _ => Err(format!("{}, and `{text}` is a pointer", is())),
        });
    }
    let value = Expression::Text(text.to_owned()).value(|name| Some(*shape.get(name)? as f64))?;
    if is_float {
        // As in C, an integer is converted.
        return Ok(match bytes {
            4 => Ok((value as f32).to_le_bytes().to_vec()),
            8 => Ok(value.to_le_bytes().to_vec()),
            _ => Err(format!("{} of {bytes} bytes", is())),
        });
    }
    if text.contains('.') {
        return Ok(Err(format!("{}, and {text} is a floating-point number", is())));
    }
    let bits = 8.0 * f64::from(bytes.min(8));
    let fits = (-(bits - 1.0).exp2()..bits.exp2()).contains(&value) && value.fract() == 0.0;
    Ok(match bytes {
        1 | 2 | 4 | 8 if fits => {
            let eight = if value < 0.0 { value as i64 as u64 } else { value as u64 };
            Ok(eight.to_le_bytes()[..bytes as usize].to_vec())
        }
        1 | 2 | 4 | 8 if value.fract() == 0.0 => Err(format!("{}, and `{text}` is {value}", is())),
        1 | 2 | 4 | 8 => {
            Err(format!("{}, and `{text}` is {value}: round it with ceil() or floor()", is()))
        }
        _ => Err(format!("{}, and `{text}` is an integer", is())),
    })
}

/// A part of a struct: a `float` if there is a point in it or C's `f` behind it.
fn four_bytes(text: &str, shape: &Shape) -> Result<[u8; 4]> {
    let text = number(text);
    let expression = Expression::Text(text.clone());
    let value = expression.value(|name| Some(*shape.get(name)? as f64))?;
    if text.contains('.') {
        return Ok((value as f32).to_le_bytes());
    }
    let fits = value.fract() == 0.0 && (-(31f64.exp2())..32f64.exp2()).contains(&value);
    ensure!(fits, "`{text}` is {value}, which is no integer of 4 bytes");
    Ok((value as i64 as u32).to_le_bytes())
}

/// The numbers of a part of a launch, and this one for those that it leaves out.
fn numbers(of: &str, all: &[Expression], left_out: u32, shape: &Shape) -> Result<[u32; 3]> {
    let mut three = [left_out; 3];
    ensure!(all.len() <= 3, "--{of}: more than three numbers of blocks or threads");
    for (place, expression) in three.iter_mut().zip(all) {
        let count = expression.count(shape).and_then(|count| Ok(u32::try_from(count)?));
        *place = count.with_context(|| format!("--{of}"))?;
    }
    Ok(three)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_of_another_kind_is_named() {
        let module = Module::parse(
            ".version 7.0\n.target sm_75\n.address_size 64\n
             .visible .entry k(.param .u32 a, .param .f32 b) { ret; }",
        )
        .unwrap();
        let shape = Shape::from([("n".to_owned(), 3)]);
        let none = BTreeMap::new();
        let memory = &mut Memory::new(1 << 20);
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
        launch.arguments = vec!["{n}".to_owned(), "0.5".to_owned()];
        let form = Form::of(&module, &launch, &shape, &buffers).unwrap().unwrap();
        assert_eq!(form.arguments, [[3, 0, 0, 0], half]);
        for (word, bytes) in [("{2f}", 2f32.to_le_bytes()), ("{ -1 }", [255; 4])] {
            launch.arguments[0] = word.to_owned();
            let form = Form::of(&module, &launch, &shape, &buffers).unwrap().unwrap();
            assert_eq!(form.arguments[0], bytes);
        }
        launch.arguments = vec!["0.5".to_owned(), "n".to_owned()];
        let wrong = Form::of(&module, &launch, &shape, &buffers).unwrap();
        assert_eq!(
            wrong.err().unwrap(),
            "parameter 1 of `k` is an integer or a struct of 4 bytes, and 0.5 is a \
             floating-point number; the check gives it: 0.5, n"
        );
    }
}
