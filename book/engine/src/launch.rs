//! Kernels that explorers run: on what, and what they did.

use std::cell::RefCell;
use std::error::Error;

use emulator::{Arguments, Counts, Launch, Memory, Module, Options, ParseError, WARP, Watch};

/// Bytes that all buffers of a launch may have.
const MOST_BYTES: u64 = 64 << 20;
/// Instructions that the warps of a block may execute.
const MOST_INSTRUCTIONS: u64 = 1 << 26;

/// A launch.
pub(crate) struct Request<'r> {
    /// The module.
    pub(crate) ptx: &'r str,
    /// Which of its kernels.
    pub(crate) kernel: &'r str,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) arguments: Vec<Argument>,
    /// The warp whose loads and stores to tell.
    pub(crate) watch: Option<Watch>,
}

/// An argument of a kernel.
pub(crate) enum Argument {
    /// The address of a buffer that is made for the launch: what errors call it, its bytes, and
    /// what is in it.
    Buffer(&'static str, u64, Content),
    U32(u32),
    U64(u64),
    F32(f32),
}

/// What is in a buffer before a launch.
pub(crate) enum Content {
    /// Nothing: to use it is an error.
    Unwritten,
    /// Word i is i.
    Ramp,
    /// These words, from the start on.
    Words(Vec<u32>),
}

/// What a launch did.
pub(crate) struct Ran {
    pub(crate) counts: Counts,
    pub(crate) memory: Memory,
    /// The address of each buffer.
    pub(crate) buffers: Vec<u64>,
}

impl<'r> Request<'r> {
    /// A launch of one warp, which is watched.
    pub(crate) fn of_a_warp(ptx: &'r str, kernel: &'r str, arguments: Vec<Argument>) -> Self {
        let watch = Some(Watch { block: [0; 3], warp: 0 });
        Request { ptx, kernel, grid: [1; 3], block: [WARP as u32, 1, 1], arguments, watch }
    }
}

/// Runs a launch on memory of its own.
pub(crate) fn run(request: &Request<'_>) -> Result<Ran, Box<dyn Error>> {
    let mut memory = Memory::new(MOST_BYTES);
    let mut module = parsed(request.ptx)?;
    module.place(&mut memory)?;
    let (mut arguments, mut buffers) = (Arguments::new(), vec![]);
    for argument in &request.arguments {
        arguments = match argument {
            Argument::Buffer(name, bytes, content) => {
                let address = memory.allocate(*bytes, name)?;
                memory.write(address, &content.bytes(*bytes))?;
                buffers.push(address);
                arguments.with(address.to_le_bytes())
            }
            Argument::U32(number) => arguments.with(number.to_le_bytes()),
            Argument::U64(number) => arguments.with(number.to_le_bytes()),
            Argument::F32(number) => arguments.with(number.to_le_bytes()),
        };
    }
    let launch = Launch::new(request.grid, request.block, arguments.bytes());
    let (budget, watch) = (MOST_INSTRUCTIONS, request.watch);
    let options = Options { budget, watch, ..Options::default() };
    let counts = emulator::run(&module, request.kernel, &launch, &mut memory, &options)?;
    PARSED.set(Some((request.ptx.to_owned(), module)));
    Ok(Ran { counts, memory, buffers })
}

thread_local! {
    /// The module of the last launch: the next one is often of the same, and a long text takes
    /// longer to read than its kernel to run.
    static PARSED: RefCell<Option<(String, Module)>> = const { RefCell::new(None) };
}

fn parsed(ptx: &str) -> Result<Module, ParseError> {
    let last = PARSED.take().filter(|(text, _)| text == ptx);
    last.map_or_else(|| Module::parse(ptx), |(_, module)| Ok(module))
}

impl Content {
    /// What is written, in a buffer of so many bytes.
    fn bytes(&self, buffer: u64) -> Vec<u8> {
        match self {
            Content::Unwritten => vec![],
            Content::Ramp => (0..buffer / 4).flat_map(|i| (i as u32).to_le_bytes()).collect(),
            Content::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        }
    }
}
