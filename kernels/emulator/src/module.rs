//! PTX, read and ready to run.

use crate::decode::{decode, device_variables, parameter_offsets};
use crate::error::ParseError;
use crate::memory::{Memory, MemoryError};
use crate::program::Program;
use crate::syntax::{self, Declaration, Function, Value};

/// A PTX file, decoded.
#[derive(Debug)]
pub struct Module {
    kernels: Vec<Kernel>,
    variables: Vec<Variable>,
    /// Names and addresses of the functions that variables point at.
    functions: Vec<(String, u64)>,
}

/// A kernel of a module.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name in the PTX: mangled, unless the source says `extern "C"`.
    pub name: String,
    /// Its parameters in their order.
    pub parameters: Vec<Parameter>,
    /// Bytes of static shared memory for each block.
    pub shared_bytes: u32,
    /// Bytes of local memory for each thread.
    pub local_bytes: u32,
    /// Threads of a block at most, if the source says so (`__launch_bounds__`).
    pub max_threads: Option<u32>,
    /// Why the kernel cannot be run, if it uses something that is not supported.
    pub unsupported: Option<ParseError>,
    pub(crate) program: Program,
}

/// Where a parameter lies among a launch's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Bytes before it.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// Whether it is a floating-point number.
    pub is_float: bool,
}

/// A variable of a module: `__device__` or `__constant__` in CUDA C.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name in the PTX.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Is it constant memory?
    pub constant: bool,
    /// Where it lies, once the module is [placed](Module::place).
    pub address: Option<u64>,
    /// Bytes of one element, which are 1 for any array of C.
    pub element: u64,
    values: Vec<Value>,
}

impl Module {
    /// Reads PTX. A kernel that uses what is not supported is there, but cannot be run,
    /// and tells why; what is not PTX at all is an error.
    pub fn parse(ptx: &str) -> Result<Self, ParseError> {
        let file = syntax::parse(ptx)?;
        let kernels = file.functions.iter().filter(|f| f.kernel && f.body.is_some());
        let kernels = kernels.map(|function| Kernel::new(&file, function)).collect();
        let variables = device_variables(&file).map(Variable::new).collect();
        let functions = file.pointed_at().into_iter();
        let functions = functions.map(|function| function.name.clone());
        let functions = functions.filter_map(|name| file.address_of(&name).map(|at| (name, at)));
        let functions = functions.collect();
        Ok(Self { kernels, variables, functions })
    }

    /// All kernels.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The module's variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Makes `bytes` the first value of the variable at this place among all.
    pub fn set(&mut self, place: usize, bytes: &[u8]) {
        let variable = &mut self.variables[place];
        variable.element = 1;
        variable.values = bytes.iter().map(|byte| Value::Bits(u64::from(*byte))).collect();
    }

    /// Allocates the module's variables and gives them their first values. Needed before
    /// a kernel that uses variables can run.
    pub fn place(&mut self, memory: &mut Memory) -> Result<(), MemoryError> {
        for place in 0..self.variables.len() {
            let variable = &mut self.variables[place];
            match memory.allocate(variable.bytes, &variable.name) {
                Ok(address) => variable.address = Some(address),
                Err(error) => {
                    self.remove(memory)?;
                    return Err(error);
                }
            }
        }
        for variable in &self.variables {
            let Some(address) = variable.address else { continue };
            memory.fill(address, &[0], variable.bytes)?;
            for (number, value) in variable.values.iter().enumerate() {
                let bits = match value {
                    Value::Bits(bits) => *bits,
                    Value::Address(name, offset) => {
                        let mut all = self.variables.iter();
                        let target = all.find(|v| v.name == *name);
                        let target = target.and_then(|variable| variable.address);
                        let mut all = self.functions.iter();
                        let function = all.find(|function| function.0 == *name);
                        let target = target.or_else(|| function.map(|function| function.1));
                        target.unwrap_or(0).wrapping_add_signed(*offset)
                    }
                };
                let place = address + number as u64 * variable.element;
                let bytes = &bits.to_le_bytes()[..variable.element.min(8) as usize];
                memory.write(place, bytes)?;
            }
        }
        Ok(())
    }

    /// Frees the module's variables.
    pub fn remove(&mut self, memory: &mut Memory) -> Result<(), MemoryError> {
        for variable in &mut self.variables {
            if let Some(address) = variable.address.take() {
                memory.free(address)?;
            }
        }
        Ok(())
    }
}

impl Kernel {
    fn new(file: &syntax::File, function: &Function) -> Self {
        let (program, unsupported) = match decode(file, function) {
            Ok(program) => (program, None),
            Err(error) => (Program::default(), Some(error)),
        };
        let offsets = parameter_offsets(&function.parameters);
        let parameters = function.parameters.iter().zip(offsets);
        Self {
            name: function.name.clone(),
            parameters: parameters
                .map(|(parameter, offset)| Parameter {
                    offset,
                    bytes: parameter.bytes as u32,
                    is_float: parameter.is_float,
                })
                .collect(),
            shared_bytes: program.shared_bytes,
            local_bytes: program.local_bytes,
            max_threads: function.max_threads,
            unsupported,
            program,
        }
    }

    /// Bytes that a launch's arguments have.
    pub(crate) fn argument_bytes(&self) -> u32 {
        self.parameters.last().map_or(0, |last| last.offset + last.bytes)
    }
}

impl Variable {
    /// Whether the module gives it a value: zero otherwise.
    pub fn has_value(&self) -> bool {
        !self.values.is_empty()
    }

    fn new(declaration: &Declaration) -> Self {
        Self {
            name: declaration.name.clone(),
            bytes: declaration.bytes,
            constant: declaration.space == "const",
            address: None,
            element: declaration.element,
            values: declaration.values.clone(),
        }
    }
}
