//! Any kernel, from PTX: what to run, and what it did.

use std::cell::RefCell;

use emulator::access::{SECTOR_BYTES, served};
use emulator::{
    Arguments, Counts, Fault, Launch, Memory, Module, Options, Tally, Traffic, WARP, Watch,
};
use serde::{Deserialize, Serialize};

/// Bytes that all buffers of a launch may have.
pub const MOST_BYTES: u64 = 64 << 20;
/// Blocks that a launch may have.
pub const MOST_BLOCKS: u64 = 1 << 16;
/// Instructions that the warps of a block may execute, and do if the request names no bound.
pub const MOST_INSTRUCTIONS: u64 = 1 << 26;
/// In place of the address of a lane that takes no part.
pub const NO_ADDRESS: u32 = u32::MAX;

/// A launch, in a page's words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The module.
    pub ptx: String,
    /// Which of its kernels.
    pub kernel: String,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub shared_bytes: u32,
    /// The kernel's arguments in their order.
    pub arguments: Vec<Argument>,
    /// The warp whose loads and stores to tell: its block, and its number there.
    #[serde(default)]
    pub watch: Option<([u32; 3], usize)>,
    /// Instructions that the warps of a block may execute.
    #[serde(default = "most_instructions")]
    pub instructions: u64,
}

fn most_instructions() -> u64 {
    MOST_INSTRUCTIONS
}

/// An argument of a kernel.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// The address of a buffer that is made for the launch.
    Buffer(Buffer),
    /// A number of 4 bytes.
    U32(u32),
    /// A number of 8 bytes.
    U64(u64),
    /// A floating-point number of 4 bytes.
    F32(f32),
}

/// A buffer of device memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// What errors call it.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What is in it before the launch.
    #[serde(default)]
    pub content: Content,
    /// Whether the reply has its bytes after the launch.
    #[serde(default)]
    pub reply: bool,
}

/// What is in a buffer before a launch.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Nothing: to use it is an error.
    #[default]
    Unwritten,
    /// Word i is i.
    Ramp,
    /// These words, from the start on.
    Words(Vec<u32>),
}

/// What a launch did.
#[derive(Debug)]
pub struct Ran {
    /// What the emulator counted.
    pub counts: Counts,
    /// Each buffer's name and address, and what is in it if the request asks.
    pub buffers: Vec<(String, u64, Option<Vec<u8>>)>,
}

/// Why there is no result, in a sentence.
#[derive(Debug, Serialize)]
pub struct Stopped {
    pub(crate) error: String,
    /// The kind of mistake in the kernel, as the emulator names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The line of the kernel's source, or of its PTX where that names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread: Option<[u32; 3]>,
}

impl<T: ToString> From<T> for Stopped {
    fn from(error: T) -> Self {
        Self { error: error.to_string(), kind: None, line: None, block: None, thread: None }
    }
}

impl Stopped {
    fn of(fault: &Fault) -> Self {
        let line = |place: &emulator::Place| match &place.source {
            Some((_, line)) => *line,
            None => place.ptx_line,
        };
        Self {
            error: fault.to_string(),
            kind: Some(format!("{:?}", fault.kind)),
            line: fault.place.as_ref().map(line),
            block: fault.block,
            thread: fault.thread,
        }
    }
}

/// Runs a launch on memory of its own.
pub fn run(request: &Request) -> Result<Ran, Stopped> {
    let sizes = request.grid.map(u64::from);
    let blocks = sizes.into_iter().fold(1, u64::saturating_mul);
    if blocks > MOST_BLOCKS {
        return Err(format!("{blocks} blocks; a page runs {MOST_BLOCKS} at most").into());
    }
    let mut memory = Memory::new(MOST_BYTES);
    let mut module = parsed(&request.ptx)?;
    module.place(&mut memory)?;
    let (mut arguments, mut placed) = (Arguments::new(), vec![]);
    for argument in &request.arguments {
        arguments = match argument {
            Argument::Buffer(buffer) => {
                let address = buffer.place(&mut memory)?;
                placed.push((buffer, address));
                arguments.with(address.to_le_bytes())
            }
            Argument::U32(number) => arguments.with(number.to_le_bytes()),
            Argument::U64(number) => arguments.with(number.to_le_bytes()),
            Argument::F32(number) => arguments.with(number.to_le_bytes()),
        };
    }
    let launch = Launch {
        grid: request.grid,
        block: request.block,
        shared_bytes: request.shared_bytes,
        arguments: arguments.bytes(),
    };
    let budget = request.instructions.min(MOST_INSTRUCTIONS);
    let options = Options {
        budget,
        patience: MOST_INSTRUCTIONS,
        watch: request.watch.map(|(block, warp)| Watch { block, warp }),
        ..Options::default()
    };
    let counts = emulator::run(&module, &request.kernel, &launch, &mut memory, &options)
        .map_err(|fault| Stopped::of(&fault))?;
    let mut buffers = vec![];
    for (buffer, address) in placed {
        let mut bytes = buffer.reply.then(|| vec![0; usize::try_from(buffer.bytes).unwrap_or(0)]);
        if let Some(bytes) = &mut bytes {
            memory.read(address, bytes)?;
        }
        buffers.push((buffer.name.clone(), address, bytes));
    }
    PARSED.set(Some((request.ptx.clone(), module)));
    Ok(Ran { counts, buffers })
}

thread_local! {
    /// The module of the last launch: the next one is often of the same, and a long text takes
    /// longer to read than its kernel to run.
    static PARSED: RefCell<Option<(String, Module)>> = const { RefCell::new(None) };
}

fn parsed(ptx: &str) -> Result<Module, Stopped> {
    let last = PARSED.take().filter(|(text, _)| text == ptx);
    Ok(last.map_or_else(|| Module::parse(ptx), |(_, module)| Ok(module))?)
}

impl Buffer {
    fn place(&self, memory: &mut Memory) -> Result<u64, Stopped> {
        let address = memory.allocate(self.bytes, &self.name)?;
        let words: Vec<u8> = match &self.content {
            Content::Unwritten => vec![],
            Content::Ramp => (0..self.bytes / 4).flat_map(|i| (i as u32).to_le_bytes()).collect(),
            Content::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        memory.write(address, &words)?;
        Ok(address)
    }
}

/// What is told of a launch.
#[derive(Serialize)]
pub struct Told {
    total: Total,
    requests: Vec<RequestTold>,
    notes: Vec<String>,
    printed: String,
    arrays: Vec<Array>,
}

#[derive(Serialize)]
struct Total {
    instructions: u64,
    global_load_requests: u64,
    global_load_sectors: u64,
    global_store_requests: u64,
    global_store_sectors: u64,
    shared_load_wavefronts: u64,
    shared_store_wavefronts: u64,
}

#[derive(Serialize)]
struct RequestTold {
    /// The line of the source, or of the PTX where that names none.
    line: u32,
    stores: bool,
    bytes: u64,
    lanes: u32,
    /// The buffer; none is shared memory.
    buffer: Option<String>,
    /// Sectors of a buffer, wavefronts of shared memory.
    cost: u64,
    ideal: u64,
}

/// The name and the type of an array.
#[derive(Serialize)]
struct Array {
    name: String,
    of: &'static str,
}

impl Ran {
    /// The buffer that an address lies in, and how far from its start.
    pub fn place(&self, address: u64) -> Option<(&str, u64)> {
        let before = self.buffers.iter().filter(|(_, start, _)| *start <= address);
        let (name, start, _) = before.max_by_key(|(_, start, _)| *start)?;
        Some((name, address - start))
    }

    /// The JSON and the arrays of a reply: of each request and lane where it accesses its buffer
    /// or shared memory (`addresses`), and there which sector or in which wavefront (`parts`);
    /// then the buffers that were asked for.
    pub fn tell(self) -> (Told, Vec<Vec<u8>>) {
        let (mut addresses, mut parts, mut requests) = (vec![], vec![], vec![]);
        for request in &self.counts.requests {
            let active = |lane: usize| request.lanes >> lane & 1 == 1;
            let start = |lane: usize| active(lane).then(|| request.addresses[lane]);
            let (cost, ideal, is_shared) = match request.traffic {
                Traffic::Global(sectors) => (sectors.sectors, sectors.ideal, false),
                Traffic::Shared(wavefronts) => (wavefronts.wavefronts, wavefronts.ideal, true),
            };
            let turns = served(start, request.bytes, request.stores);
            for (lane, turn) in turns.into_iter().enumerate() {
                let offset = start(lane).and_then(|address| match is_shared {
                    true => Some(address),
                    false => Some(self.place(address)?.1),
                });
                let part = if is_shared { turn } else { offset.map(|at| at / SECTOR_BYTES) };
                addresses.push(offset.map_or(NO_ADDRESS, |at| at as u32));
                parts.push(part.map_or(NO_ADDRESS, |part| part as u32));
            }
            let first = request.addresses[request.lanes.trailing_zeros() as usize % WARP];
            let place = &request.place;
            requests.push(RequestTold {
                line: place.source.as_ref().map_or(place.ptx_line, |(_, line)| *line),
                stores: request.stores,
                bytes: request.bytes,
                lanes: request.lanes,
                buffer: (!is_shared).then(|| self.place(first)).flatten().map(|(n, _)| n.into()),
                cost,
                ideal,
            });
        }
        let array = |name: &str, of| Array { name: name.to_owned(), of };
        let mut told = Told {
            total: Total::of(&self.counts.total()),
            requests,
            notes: self.counts.notes.iter().map(ToString::to_string).collect(),
            printed: self.counts.printed,
            arrays: vec![array("addresses", "u32"), array("parts", "u32")],
        };
        let words = |all: Vec<u32>| all.into_iter().flat_map(u32::to_le_bytes).collect();
        let mut arrays = vec![words(addresses), words(parts)];
        for (name, _, bytes) in self.buffers {
            if let Some(bytes) = bytes {
                told.arrays.push(array(&name, "u8"));
                arrays.push(bytes);
            }
        }
        (told, arrays)
    }
}

impl Total {
    fn of(tally: &Tally) -> Self {
        Self {
            instructions: tally.instructions,
            global_load_requests: tally.global_loads.requests,
            global_load_sectors: tally.global_loads.sectors,
            global_store_requests: tally.global_stores.requests,
            global_store_sectors: tally.global_stores.sectors,
            shared_load_wavefronts: tally.shared_loads.wavefronts,
            shared_store_wavefronts: tally.shared_stores.wavefronts,
        }
    }
}
