//! From the tree to a [`Program`]: names become registers and addresses, calls become the
//! code of what they call.

use std::collections::HashMap;

use crate::decode::memory::scope_of;
use crate::decode::origins::Origins;
use crate::error::ParseError;
use crate::fault::Place;
use crate::program::{Instruction, Op, Preset, Program, SharedArray};
use crate::registers::{Class, Operation, Slot, operation};
use crate::space::Space;
use crate::syntax::{self, Declaration, File, Function, Operand, Statement};
use crate::table;

mod arrays;
mod atomics;
mod carry;
mod compared;
mod entry;
mod flags;
mod matrix;
mod memory;
mod operands;
mod order;
mod origins;
mod reuse;
mod warp;

/// Instructions that a kernel may have when all calls are inlined.
const MOST_INSTRUCTIONS: usize = 1 << 20;
/// Registers of one class.
const MOST_REGISTERS: usize = 1 << 16;

type Result<T> = std::result::Result<T, ParseError>;

/// Local memory that a thread may have on any GPU.
const MOST_LOCAL_BYTES: u32 = 512 << 10;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Named {
    Register(Slot),
    /// `%r<12>`: all names of this prefix with a number below that.
    Family(Class, u32),
    /// A variable in shared or local memory, at an offset.
    Variable(Space, u32),
    /// A parameter of the kernel, at an offset.
    Parameter(u32),
    Label(usize),
    Targets(Vec<String>),
}

type Scope = HashMap<String, Named>;

struct Decoder<'a> {
    file: &'a File,
    functions: HashMap<&'a str, &'a Function>,
    /// Those that a call through a pointer may call.
    pointed_at: Vec<&'a Function>,
    variables: HashMap<&'a str, (usize, &'a Declaration)>,
    /// Variables in shared memory that have their place: function and name.
    shared: HashMap<(String, String), u32>,
    presets: HashMap<(Class, Preset), Slot>,
    /// Bytes of all the kernel's parameters.
    parameter_bytes: u32,
    /// Bytes of local memory that the scopes have which are open.
    local_bytes: u32,
    /// Of the functions that are being decoded: names, scopes from the outside in, and
    /// where to go on behind the call.
    frames: Vec<Frame<'a>>,
    /// Where each label is.
    labels: Vec<Option<usize>>,
    program: Program,
    source: Option<(String, u32)>,
    /// Where what is decoded was called, if the compiler or [`Decoder::call`] put it in that place.
    called: Option<(String, u32)>,
    /// Of the function that is being decoded.
    caller: Option<(String, u32)>,
    line: u32,
    /// Whether this is the first instruction of the statement.
    first: bool,
    guard: Option<(u16, bool)>,
    /// Bytes of the next load that nobody uses: a bit for each.
    unused_bytes: u64,
    /// The carry of `add.cc` and the like, if there is one.
    carry: Option<Slot>,
}

struct Frame<'a> {
    function: &'a str,
    scopes: Vec<Scope>,
    /// None for the kernel.
    end: Option<usize>,
}

/// Offsets of the parameters among the arguments of a launch.
pub(crate) fn parameter_offsets(parameters: &[Declaration]) -> Vec<u32> {
    let mut end = 0u64;
    let mut offsets = Vec::new();
    for parameter in parameters {
        let offset = end.next_multiple_of(parameter.align);
        end = offset + parameter.bytes;
        offsets.push(offset as u32);
    }
    offsets
}

/// Bytes of a launch's arguments.
pub(crate) fn parameter_bytes(parameters: &[Declaration]) -> u32 {
    let offsets = parameter_offsets(parameters);
    let last = offsets.last().zip(parameters.last());
    last.map_or(0, |(offset, last)| offset + last.bytes as u32)
}

/// The variables that lie in device memory.
pub(crate) fn device_variables(file: &File) -> impl Iterator<Item = &Declaration> {
    file.variables.iter().filter(|v| v.space != "shared" && !v.external)
}

pub(crate) fn decode(file: &File, kernel: &Function) -> Result<Program> {
    let functions = file.functions.iter().filter(|f| f.body.is_some());
    let shared = file.variables.iter().filter(|v| v.space == "shared");
    let mut decoder = Decoder {
        file,
        functions: functions.map(|f| (f.name.as_str(), f)).collect(),
        pointed_at: file.pointed_at(),
        variables: shared
            .map(|v| (0, v))
            .chain(device_variables(file).enumerate())
            .map(|(index, v)| (v.name.as_str(), (index, v)))
            .collect(),
        shared: HashMap::new(),
        presets: HashMap::new(),
        parameter_bytes: parameter_bytes(&kernel.parameters),
        local_bytes: 0,
        frames: Vec::new(),
        labels: Vec::new(),
        program: Program {
            granule: 16,
            global_granule: 16,
            dynamic_align: 16,
            ..Program::default()
        },
        source: None,
        called: None,
        caller: None,
        line: kernel.line,
        first: true,
        guard: None,
        unused_bytes: 0,
        carry: None,
    };
    let offsets = parameter_offsets(&kernel.parameters);
    let parameters = kernel.parameters.iter().zip(offsets);
    let scope = parameters
        .map(|(parameter, offset)| (parameter.name.clone(), Named::Parameter(offset)))
        .collect();
    decoder.function(kernel, scope, None)?;
    decoder.statement(kernel.line);
    decoder.emit(Op::Exit)?;
    decoder.resolve()?;
    Ok(decoder.program)
}

impl<'a> Decoder<'a> {
    fn error(&self, what: impl Into<String>) -> ParseError {
        ParseError { line: self.line, what: what.into() }
    }

    fn unsupported(&self, name: &str) -> ParseError {
        self.error(format!("{name} is not supported"))
    }

    fn wrong_operands(&self, name: &str) -> ParseError {
        self.unsupported(&format!("{name} with these operands"))
    }

    fn function(&mut self, function: &'a Function, scope: Scope, end: Option<usize>) -> Result<()> {
        let name = function.name.as_str();
        if self.frames.iter().any(|frame| frame.function == name) {
            return Err(self.error(format!("{name} calls itself, which is not supported")));
        }
        let body = match &function.body {
            Some(Ok(body)) => body,
            Some(Err(error)) => return Err(error.clone()),
            None => return Err(self.error(format!("{name} has no body"))),
        };
        self.frames.push(Frame { function: name, scopes: vec![scope], end });
        self.statements(body)?;
        self.frames.pop();
        Ok(())
    }

    fn frame(&mut self) -> &mut Frame<'a> {
        self.frames.last_mut().expect("decoding happens inside a function")
    }

    fn statements(&mut self, statements: &'a [Statement]) -> Result<()> {
        let mut scope = Scope::new();
        for statement in statements {
            match statement {
                Statement::Label(line, name) => {
                    let label = Named::Label(self.new_label());
                    if scope.insert(name.clone(), label).is_some() {
                        let what = format!("there are two labels {name}");
                        return Err(ParseError { line: *line, what });
                    }
                }
                Statement::Targets(name, targets) => {
                    scope.insert(name.clone(), Named::Targets(targets.clone()));
                }
                _ => {}
            }
        }
        self.frame().scopes.push(scope);
        let local_bytes = self.local_bytes;
        for statement in statements {
            match statement {
                Statement::Scope(inner) => self.statements(inner)?,
                Statement::Registers { line, kind, names } => {
                    self.line = *line;
                    self.registers(kind, names)?;
                }
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Label(line, name) => {
                    self.line = *line;
                    let label = self.label(name)?;
                    self.labels[label] = Some(self.program.code.len());
                }
                Statement::Targets(..) => {}
                Statement::UsedBytes(mask) => self.unused_bytes = !mask,
                // In line 0 the compiler has what is in no line: it belongs to what is before.
                Statement::Source((_, 0), _) => {}
                Statement::Source(own, inlined_at) => {
                    self.source = self.source_line(*own);
                    let inlined_at = inlined_at.and_then(|caller| self.source_line(caller));
                    self.called = inlined_at.or_else(|| self.caller.clone());
                }
                Statement::Instruction(instruction) => self.instruction(instruction)?,
            }
        }
        self.frame().scopes.pop();
        self.local_bytes = local_bytes; // what comes next may have it
        Ok(())
    }

    /// A line of a file that has a number.
    fn source_line(&self, (file, line): (u32, u32)) -> Option<(String, u32)> {
        let mut sources = self.file.sources.iter();
        let (_, name) = sources.find(|(index, _)| *index == file)?;
        Some((base_name(name).to_owned(), line))
    }

    fn registers(&mut self, kind: &str, names: &[(String, Option<u32>)]) -> Result<()> {
        let class = match (kind, syntax::size_of(kind)) {
            ("pred", _) => Class::Predicate,
            (_, Some(1 | 2 | 4)) => Class::Narrow,
            (_, Some(8)) => Class::Wide,
            _ => return Err(self.unsupported(&format!(".reg .{kind}"))),
        };
        for (name, count) in names {
            let named = match count {
                Some(count) => Named::Family(class, *count),
                None => Named::Register(self.new_register(class)?),
            };
            self.name(name.clone(), named);
        }
        Ok(())
    }

    fn name(&mut self, name: String, named: Named) {
        let scope = self.frame().scopes.last_mut();
        scope.expect("a function has a scope").insert(name, named);
    }

    fn new_register(&mut self, class: Class) -> Result<Slot> {
        let count = &mut self.program.registers[class as usize];
        if *count == MOST_REGISTERS {
            return Err(self.error("too many registers"));
        }
        let index = *count as u16;
        *count += 1;
        Ok(Slot { class, index })
    }

    fn new_label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    /// A variable that is declared inside a function.
    fn variable(&mut self, variable: &Declaration) -> Result<()> {
        self.line = variable.line;
        let named = match variable.space.as_str() {
            "shared" => {
                let function = self.frame().function;
                Named::Variable(Space::Shared, self.place_shared(function, variable)?)
            }
            // What is passed to functions lies in local memory.
            "local" | "param" => {
                let align = variable.align.max(4) as u32;
                let place = self.local_bytes.next_multiple_of(align);
                self.local_bytes = self.end_of(place, variable)?;
                let most = self.program.local_bytes.max(self.local_bytes);
                if most > MOST_LOCAL_BYTES {
                    return Err(self.error(format!(
                        "a thread needs {most} bytes of local memory and may have \
                         {MOST_LOCAL_BYTES} (512 KiB): make its arrays smaller, or put \
                         them into a buffer"
                    )));
                }
                self.program.local_bytes = most;
                Named::Variable(Space::Local, place)
            }
            space => {
                return Err(self.unsupported(&format!(".{space} in a function")));
            }
        };
        self.name(variable.name.clone(), named);
        Ok(())
    }

    fn place_shared(&mut self, function: &str, variable: &Declaration) -> Result<u32> {
        let key = (function.to_owned(), variable.name.clone());
        if let Some(place) = self.shared.get(&key) {
            return Ok(*place);
        }
        let place = self.program.shared_bytes.next_multiple_of(variable.align as u32);
        self.program.shared_bytes = self.end_of(place, variable)?;
        self.name_shared(variable, Some(place));
        self.shared.insert(key, place);
        Ok(place)
    }

    fn name_shared(&mut self, variable: &Declaration, start: Option<u32>) {
        let Declaration { bytes, align, .. } = *variable;
        let name = name_in_source(&variable.name);
        self.program.shared.push(SharedArray { name, start, bytes, align });
    }

    fn end_of(&self, place: u32, variable: &Declaration) -> Result<u32> {
        let end = u64::from(place) + variable.bytes;
        let fits = u32::try_from(end).ok().filter(|end| *end < 1 << 24);
        fits.ok_or_else(|| self.error(format!("{} is too large", variable.name)))
    }

    fn find(&mut self, name: &str) -> Option<Named> {
        let scopes = &self.frames.last()?.scopes;
        if let Some(named) = scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return Some(named.clone());
        }
        let prefix = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let number = name[prefix.len()..].parse::<u32>().ok()?;
        let depth = scopes.iter().rposition(
            |scope| matches!(scope.get(prefix), Some(Named::Family(_, count)) if number < *count),
        )?;
        let Named::Family(class, _) = scopes[depth][prefix] else { return None };
        let register = Named::Register(self.new_register(class).ok()?);
        self.frame().scopes[depth].insert(name.to_owned(), register.clone());
        Some(register)
    }

    fn label(&mut self, name: &str) -> Result<usize> {
        match self.find(name) {
            Some(Named::Label(label)) => Ok(label),
            _ => Err(self.error(format!("there is no label {name}"))),
        }
    }

    /// What follows belongs to the statement in this line.
    fn statement(&mut self, line: u32) {
        (self.line, self.first, self.guard) = (line, true, None);
    }

    fn emit(&mut self, operation: Op) -> Result<()> {
        let place = Place { ptx_line: self.line, source: self.source.clone() };
        let Program { places, callers, .. } = &mut self.program;
        if places.last() != Some(&place) || callers.last() != Some(&self.called) {
            places.push(place);
            callers.push(self.called.clone());
        }
        let place = places.len() as u32 - 1;
        let weight = u32::from(std::mem::take(&mut self.first));
        let guard = self.guard;
        self.program.code.push(Instruction { operation, guard, place, weight });
        if self.program.code.len() > MOST_INSTRUCTIONS {
            return Err(self.error("too many instructions"));
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &'a syntax::Instruction) -> Result<()> {
        self.statement(instruction.line);
        if let Some((name, negated)) = &instruction.guard {
            let slot = self.register(name, Class::Predicate)?;
            self.guard = Some((slot.index, *negated));
        }
        let (name, operands) = (instruction.name.as_str(), &instruction.operands[..]);
        let base = name.split('.').next().unwrap_or_default();
        match base {
            "ld" | "ldu" => self.load(name, operands),
            "st" => self.store(name, operands),
            "atom" | "red" => self.atomic(name, operands),
            "cp" => self.copy_async(name, operands),
            "cvta" => self.convert_address(name, operands),
            "createpolicy" => self.policy(name, operands),
            "membar" | "fence" => self.effect(name, Op::Fence(scope_of(name))),
            "nanosleep" | "prefetch" | "pmevent" | "prefetchu" => self.effect(name, Op::Nothing),
            "bra" => {
                let label = match operands {
                    [Operand::Name(label)] if matches!(name, "bra" | "bra.uni") => label,
                    _ => return Err(self.unsupported(name)),
                };
                let label = self.label(label)?;
                self.emit(Op::Branch(label as u32))
            }
            "brx" => self.branch_table(name, operands),
            "ret" => match self.frame().end {
                Some(label) => self.emit(Op::Branch(label as u32)),
                None => self.emit(Op::Exit),
            },
            "exit" => self.emit(Op::Exit),
            "trap" => self.emit(Op::Trap),
            "call" => self.call(name, operands),
            "bar" | "barrier" => self.barrier(name, operands),
            "shfl" => self.shuffle(name, operands),
            "vote" => self.vote(name, operands),
            "match" => self.matching(name, operands),
            "redux" => self.reduce(name, operands),
            "mma" => self.multiply(name, operands),
            "ldmatrix" => self.load_matrices(name, operands),
            "movmatrix" => self.transpose_matrix(name, operands),
            "wmma" => self.fragment(name, operands),
            "activemask" => {
                let [result] = self.exactly(name, operands)?;
                let result = self.result(result, Class::Narrow)?;
                self.emit(Op::ActiveMask(result))
            }
            "mov" => self.move_value(name, operands),
            "setp" => self.compare(name, operands),
            "set" => self.set(name, operands),
            "addc" | "subc" | "madc" => self.with_carry(name, operands),
            "add" | "sub" | "mad" if name.contains(".cc.") => self.with_carry(name, operands),
            "cvt" => self.convert(name, operands),
            _ => self.compute(name, operands),
        }
    }

    fn exactly<'o, const COUNT: usize>(
        &self,
        name: &str,
        operands: &'o [Operand],
    ) -> Result<&'o [Operand; COUNT]> {
        let wrong = || self.error(format!("{name}: not the operands that it has"));
        operands.try_into().map_err(|_| wrong())
    }

    fn lookup(&self, name: &str) -> Result<Operation> {
        table::lookup(name).ok_or_else(|| self.unsupported(name))
    }

    /// An instruction whose operands, if there are any, do not matter.
    fn effect(&mut self, name: &str, operation: Op) -> Result<()> {
        if name.starts_with("fence.proxy") || name.contains("cluster") {
            return Err(self.unsupported(name));
        }
        self.emit(operation)
    }

    fn branch_table(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let [index, Operand::Name(table)] = self.exactly(name, operands)? else {
            return Err(self.unsupported(name));
        };
        let index = self.source(index, Class::Narrow)?;
        let Some(Named::Targets(targets)) = self.find(table) else {
            return Err(self.error(format!("there is no list of targets {table}")));
        };
        let labels = targets.iter().map(|target| Ok(self.label(target)? as u32));
        let labels = labels.collect::<Result<_>>()?;
        self.emit(Op::BranchTable(index, labels))
    }

    fn call(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let (results, function, arguments, is_pointer) = match operands {
            [Operand::Name(f)] => (&[][..], f, &[][..], false),
            [Operand::List(r), Operand::Name(f)] => (&r[..], f, &[][..], false),
            [Operand::Name(f), Operand::List(a)] => (&[][..], f, &a[..], false),
            [Operand::List(r), Operand::Name(f), Operand::List(a)] => (&r[..], f, &a[..], false),
            // With a prototype behind.
            [Operand::Name(f), Operand::Name(_)] => (&[][..], f, &[][..], true),
            [Operand::List(r), Operand::Name(f), Operand::Name(_)] => (&r[..], f, &[][..], true),
            [Operand::Name(f), Operand::List(a), Operand::Name(_)] => (&[][..], f, &a[..], true),
            [Operand::List(r), Operand::Name(f), Operand::List(a), Operand::Name(_)] => {
                (&r[..], f, &a[..], true)
            }
            _ => return Err(self.wrong_operands(name)),
        };
        let results = self.places(results)?;
        let arguments = self.places(arguments)?;
        match (function.as_str(), &arguments[..]) {
            ("vprintf", [format, list]) => {
                let result = results.first().copied();
                let (format, arguments) = (*format, *list);
                let print = crate::program::Print { format, arguments, result };
                return self.emit(Op::Print(Box::new(print)));
            }
            ("__assertfail", [_, _, _, _, _]) => {
                return self.emit(Op::AssertionFailed(arguments.into()));
            }
            _ => {}
        }
        let end = self.new_label();
        match self.functions.get(function.as_str()).copied() {
            _ if is_pointer => {
                let pointer = self.register(function, Class::Wide)?;
                self.pass_by(end)?;
                self.call_through(name, pointer, &results, &arguments, end)?;
            }
            Some(called) => {
                if !fits(called, &results, &arguments) {
                    return Err(self.error(format!("{function} has other parameters")));
                }
                self.pass_by(end)?;
                self.inline(called, &results, &arguments)?;
            }
            None => return Err(self.unsupported(&format!("a call of {function}"))),
        }
        self.labels[end] = Some(self.program.code.len());
        Ok(())
    }

    /// Goes on at a label in lanes for which the statement's guard does not hold.
    fn pass_by(&mut self, end: usize) -> Result<()> {
        if let Some((guard, negated)) = self.guard {
            self.guard = Some((guard, !negated));
            self.emit(Op::Branch(end as u32))?;
            self.guard = None;
        }
        Ok(())
    }

    /// Puts the code of the called function here.
    fn inline(&mut self, called: &'a Function, results: &[u32], arguments: &[u32]) -> Result<()> {
        let names = called.results.iter().chain(&called.parameters);
        let mut scope = Scope::new();
        for (declared, place) in names.zip(results.iter().chain(arguments)) {
            if declared.space != "param" {
                return Err(self.unsupported("a parameter in a register"));
            }
            scope.insert(declared.name.clone(), Named::Variable(Space::Local, *place));
        }
        let end = self.new_label();
        let before = (self.source.clone(), self.called.clone(), self.caller.clone(), self.line);
        (self.called, self.caller) = (self.source.clone(), self.source.clone());
        self.function(called, scope, Some(end))?;
        (self.source, self.called, self.caller, self.line) = before;
        self.guard = None;
        self.labels[end] = Some(self.program.code.len());
        Ok(())
    }

    /// Puts the code of each function here that a pointer may point at, behind a comparison.
    fn call_through(
        &mut self,
        name: &str,
        pointer: Slot,
        results: &[u32],
        arguments: &[u32],
        end: usize,
    ) -> Result<()> {
        let mut candidates = self.pointed_at.clone();
        candidates.retain(|function| !function.kernel && fits(function, results, arguments));
        if candidates.is_empty() {
            return Err(self.unsupported(&format!("{name} through a pointer")));
        }
        for called in candidates {
            let mut frames = self.frames.iter();
            if frames.any(|frame| frame.function == called.name) {
                continue; // it would call itself
            }
            let next = self.new_label();
            let address = self.file.address_of(&called.name).unwrap_or_default();
            let address = self.constant(Class::Wide, Preset::Bits(address))?;
            let differs = self.new_register(Class::Predicate)?;
            let compared = operation!(|a: u64, b: u64| -> bool { a != b });
            self.apply(compared, differs, &[pointer, address])?;
            self.guard = Some((differs.index, false));
            self.emit(Op::Branch(next as u32))?;
            self.guard = None;
            self.inline(called, results, arguments)?;
            self.emit(Op::Branch(end as u32))?;
            self.labels[next] = Some(self.program.code.len());
        }
        self.emit(Op::NoFunction(pointer))
    }

    /// Where the arguments of a call lie in local memory.
    fn places(&mut self, arguments: &[Operand]) -> Result<Vec<u32>> {
        let mut places = Vec::new();
        for argument in arguments {
            let named = match argument {
                Operand::Name(name) => self.find(name),
                _ => None,
            };
            match named {
                Some(Named::Variable(Space::Local, place)) => places.push(place),
                _ => return Err(self.unsupported("an argument in a register")),
            }
        }
        Ok(places)
    }

    /// Replaces labels by the places that they stand for.
    fn resolve(&mut self) -> Result<()> {
        let mut program = std::mem::take(&mut self.program);
        for instruction in &mut program.code {
            for target in order::targets(&mut instruction.operation) {
                let place = self.labels.get(*target as usize).copied().flatten();
                let place = place.ok_or_else(|| self.error("a label has no place"))?;
                *target = place as u32;
            }
        }
        program.code = order::in_order(program.code);
        let origins = Origins::new(&mut program);
        flags::mark(&mut program, &origins);
        atomics::recognise(&mut program, &origins);
        compared::mark(&mut program, &origins);
        program.partial = warp::is_partial(&program);
        program.bounds = arrays::bounds(&mut program);
        reuse::reuse(&mut program);
        program.unset = entry::unset(&mut program);
        let operands_of = |instruction: &mut Instruction| {
            let mut operands = Vec::new();
            instruction.operation.operands(&mut |slot, how| operands.push((*slot, how)));
            operands.into()
        };
        program.operands = program.code.iter_mut().map(operands_of).collect();
        self.program = program;
        Ok(())
    }
}

/// Has a function so many results and parameters?
fn fits(function: &Function, results: &[u32], arguments: &[u32]) -> bool {
    function.results.len() == results.len() && function.parameters.len() == arguments.len()
}

/// `tile` of `_ZZ8row_sumsE4tile`, which C++ makes of it.
fn name_in_source(name: &str) -> String {
    let of = |(start, _): (usize, &str)| {
        let rest = &name[start + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest[..digits].parse::<usize>().ok()?;
        let (own, behind) = rest[digits..].split_at_checked(length)?;
        (behind.is_empty() || behind.starts_with('_')).then(|| own.to_owned())
    };
    let found = name.rmatch_indices('E').find_map(of);
    found.unwrap_or_else(|| name.to_owned())
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
