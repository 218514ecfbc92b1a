//! Writes random programs of PTX into a folder, for `tests/goldens/programs.py` to run on a GPU:
//! `cargo run -p emulator --example random-programs -- FOLDER`. A number makes each: the same one
//! makes the same program. They end, and PTX says what each of their values is.
//!
//! `-- FOLDER compare`, when the GPU's results are there as well, says which instructions give
//! other results here.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use emulator::{Arguments, Launch, Memory, Module, Options, run};

mod inputs;
mod rows;
mod steps;
mod writer;

use inputs::inputs;
use rows::PARTS;
use writer::program;

/// How many programs there are, and how many are in one file.
pub(crate) const PROGRAMS: u64 = 640;
const IN_A_FILE: u64 = 20;
/// One block of two warps.
pub(crate) const THREADS: u64 = 64;
/// Bytes of the output in which each thread has 8 for itself.
pub(crate) const SCRATCH: u64 = 8 * THREADS;

/// A kernel `program_NUMBER(inputs, output)`. Behind what it stores, the output has [`SCRATCH`] more
/// bytes.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) ptx: String,
    /// Bytes of what it stores, and how many of them are compared: the first.
    pub(crate) bytes: u64,
    pub(crate) compared: u64,
    values: Vec<Value>,
    /// Registers that hold inputs: which kind, and where they lie.
    loaded: Vec<(String, char, u64)>,
}

/// A value that each thread stores.
#[derive(Clone, Debug)]
struct Value {
    register: String,
    kind: char,
    /// What made it, and from which registers.
    text: String,
    /// Whether it has the bits of a result that may be no number, which PTX leaves open. They are
    /// not compared, and what is computed further has other bits in their place.
    is_open: bool,
    /// Where those of all threads lie in the output, and the bytes of one.
    place: u64,
    bytes: u64,
}

/// The first program of each file.
pub(crate) fn files() -> impl Iterator<Item = u64> {
    (0..PROGRAMS).step_by(IN_A_FILE as usize)
}

pub(crate) fn file(first: u64) -> (String, Vec<(u64, Program)>) {
    let programs = first..PROGRAMS.min(first + IN_A_FILE);
    let programs = programs.map(|number| (number, program(number))).collect::<Vec<_>>();
    let kernels = programs.iter().map(|(_, program)| program.ptx.as_str());
    let kernels = kernels.collect::<Vec<_>>().join("\n");
    (format!(".version 8.4\n.target sm_90\n.address_size 64\n\n{PARTS}\n{kernels}"), programs)
}

/// Programs with their numbers and what they store.
type Stored = Vec<(u64, Program, Vec<u8>)>;

/// What the programs of a file store here.
pub(crate) fn stored(first: u64) -> Result<Stored, Box<dyn Error>> {
    let (ptx, programs) = file(first);
    let mut module = Module::parse(&ptx)?;
    let mut memory = Memory::new(1 << 30);
    module.place(&mut memory)?;
    let inputs = inputs();
    let from = memory.allocate(inputs.len() as u64, "inputs")?;
    memory.write(from, &inputs)?;
    let stores = |(number, program): (u64, Program)| {
        let to = memory.allocate(program.bytes + SCRATCH, "output")?;
        let arguments = Arguments::new().with(from.to_le_bytes()).with(to.to_le_bytes());
        let launch = Launch::new([1; 3], [THREADS as u32, 1, 1], arguments.bytes());
        let kernel = format!("program_{number}");
        run(&module, &kernel, &launch, &mut memory, &Options::default())?;
        let mut bytes = vec![0; program.bytes as usize];
        memory.read(to, &mut bytes)?;
        Ok((number, program, bytes))
    };
    programs.into_iter().map(stores).collect()
}

fn number_at(bytes: &[u8], place: u64, size: u64, thread: u64) -> u64 {
    let mut number = [0; 8];
    let start = (place + thread * size) as usize;
    number[..size as usize].copy_from_slice(&bytes[start..start + size as usize]);
    u64::from_le_bytes(number)
}

/// The bits of a float that is a number, and always the same bits of one that is not.
fn canonical(kind: char, bits: u64) -> u64 {
    let number = |bits: u64, infinity: u64| match bits & (infinity | (infinity - 1)) > infinity {
        true => u64::MAX,
        false => bits,
    };
    match kind {
        'x' => number(bits & 0xffff, 0x7c00),
        'b' => number(bits & 0xffff, 0x7f80),
        'f' | 't' => number(bits, 0x7f80_0000),
        'g' => number(bits, 0x7ff << 52),
        'y' => canonical('x', bits >> 16) << 32 | canonical('x', bits) & 0xffff_ffff,
        'c' => canonical('b', bits >> 16) << 32 | canonical('b', bits) & 0xffff_ffff,
        _ => bits,
    }
}

/// For each instruction's name the programs in which it gave another result from the same operands,
/// with an example of each.
fn differences(outputs: &[u8]) -> Result<BTreeMap<String, BTreeMap<u64, String>>, Box<dyn Error>> {
    let inputs = inputs();
    let mut found = BTreeMap::<String, BTreeMap<u64, String>>::new();
    let mut rest = outputs;
    for first in files() {
        for (number, program, ours) in stored(first)? {
            let theirs;
            (theirs, rest) = rest.split_at(ours.len());
            let by_register = program.values.iter().map(|value| (value.register.as_str(), value));
            let by_register = by_register.collect::<HashMap<_, _>>();
            for value in &program.values {
                let Value { place, bytes, .. } = *value;
                for thread in 0..THREADS {
                    let at = |output: &[u8]| number_at(output, place, bytes, thread);
                    let known = |output: &[u8]| canonical(value.kind, at(output));
                    if known(&ours) == known(theirs) {
                        continue;
                    }
                    let words = value.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '%');
                    let mut operands = String::new();
                    let mut is_same = true;
                    for word in words.filter(|word| word.starts_with('%')) {
                        let loaded = program.loaded.iter().find(|(register, ..)| register == word);
                        if let Some((_, kind, place)) = loaded {
                            let bits = number_at(&inputs, *place, rows::bytes(*kind), thread);
                            let _ = write!(operands, " {word}={bits:#x}");
                        } else if let Some(operand) = by_register.get(word) {
                            let Value { place, bytes, .. } = **operand;
                            let at = |output: &[u8]| number_at(output, place, bytes, thread);
                            let is_result = value.text.contains(&format!("{}, ", value.register))
                                && word == value.register;
                            is_same &= is_result || at(&ours) == at(theirs);
                            let _ = write!(operands, " {word}={:#x}", at(&ours));
                        }
                    }
                    if !is_same {
                        continue;
                    }
                    let name = value.text.split(" %").next().unwrap_or_default().to_owned();
                    let name = if value.is_open { format!("{name} (open)") } else { name };
                    let (text, ours, theirs) = (&value.text, at(&ours), at(theirs));
                    let example = format!("{text}: {ours:#x}, not {theirs:#x};{operands}");
                    found.entry(name).or_default().entry(number).or_insert(example);
                }
            }
        }
    }
    Ok(found)
}

#[allow(dead_code)] // of the test that compares their results
fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).expect("the folder to write them to");
    let folder = Path::new(&folder);
    if env::args().nth(2).is_some() {
        for (name, examples) in differences(&fs::read(folder.join("outputs"))?)? {
            println!("{name}: in {} programs", examples.len());
            for (number, example) in examples {
                println!("    program {number}: {example}");
            }
        }
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join("inputs"), inputs())?;
    let mut launches = String::new();
    for first in files() {
        let (ptx, programs) = file(first);
        let name = format!("{first:03}.ptx");
        for (number, program) in programs {
            let Program { bytes, compared, .. } = program;
            let _ = writeln!(launches, "{name} program_{number} {bytes} {compared}");
        }
        fs::write(folder.join(name), ptx)?;
    }
    Ok(fs::write(folder.join("launches"), launches)?)
}
