//! A launch and its options: what to run, and how.

/// A grid of threads and what they are told.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block.
    pub shared_bytes: u32,
    /// The kernel's parameters as they lie in memory: each at its
    /// [`offset`](crate::Parameter::offset), little end first.
    pub arguments: &'a [u8],
}

impl<'a> Launch<'a> {
    /// A launch without dynamic shared memory.
    pub fn new(grid: [u32; 3], block: [u32; 3], arguments: &'a [u8]) -> Self {
        Self { grid, block, shared_bytes: 0, arguments }
    }
}

/// Puts a kernel's arguments where its parameters lie, each aligned to its own size.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Vec<u8>);

impl Arguments {
    /// No arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number, as its `to_le_bytes`.
    #[must_use]
    pub fn with<const BYTES: usize>(mut self, argument: [u8; BYTES]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(BYTES), 0);
        self.0.extend(argument);
        self
    }

    /// All of them, for [`Launch::arguments`].
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// How to run a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What to look for.
    pub checks: Checks,
    /// Instructions that the warps of a block may execute together without a store, a
    /// barrier or the end of a thread. After that many the launch fails, and tells which
    /// lanes wait where. Where they do little but look at flags and locks, and there is no
    /// memory of the host that could have one, it ends after 2²⁰ at the latest.
    pub patience: u64,
    /// Instructions that the warps of a block may execute together. After that many the
    /// launch fails in the same way: a block that needs more is taken to have no end.
    /// An atomic operation counts as 4 for each thread and a `printf` as 128: they take as
    /// long.
    pub budget: u64,
    /// Asked now and then whether the launch has to end, by whoever has a clock. It then fails
    /// in the same way, unless each of its blocks is short.
    pub stop: Option<fn() -> bool>,
    /// Whether the last block comes first, and of each block the last warp. A GPU promises no
    /// order; so a kernel that needs one shows.
    pub backwards: bool,
    /// Bytes of text that a launch may print. What was printed first is lost if it prints
    /// more.
    pub print_bytes: usize,
    /// Whether to note which bytes are read and written, for [`Memory::take_touched`](crate::Memory::take_touched).
    pub touched: bool,
    /// Whether to count [pieces](crate::Pieces) of global memory, too, which takes long.
    pub pieces: bool,
    /// The warp whose loads and stores to tell one by one, in
    /// [`Counts::requests`](crate::Counts::requests).
    pub watch: Option<Watch>,
}

/// One warp of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The place of its block in the grid.
    pub block: [u32; 3],
    /// Its number in the block.
    pub warp: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            checks: Checks::default(),
            patience: 1 << 28,
            budget: 1 << 33,
            stop: None,
            backwards: false,
            print_bytes: 1 << 20,
            touched: false,
            watch: None,
            pieces: false,
        }
    }
}

/// What is looked for besides accesses out of bounds and misaligned ones, which are
/// always found. All is on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Uses of values in device, shared or local memory that nobody wrote: to compute with
    /// them what is stored, to decide where to go, or as an address. To copy padding of a
    /// struct along, or to read and forget, is none.
    pub initialised: bool,
    /// Accesses of two threads to the same bytes of shared or device memory, one of them
    /// writing, that nothing orders: no barrier of the block, of some of its threads or of a
    /// warp, and no flag, lock or counter that is set after a fence; between two blocks, after
    /// one for the whole GPU. Two writes of the same value are none. In device memory, only
    /// the accesses of one launch are compared. Also reads by `ld.global.nc` of what the launch
    /// writes, whatever orders the two.
    pub races: bool,
    /// Barriers that some threads of the block do not reach, and `bar.sync` at different lines.
    pub barriers: bool,
    /// Uses of what a shuffle gets from a lane that takes no part, and masks that differ
    /// among lanes that name each other.
    pub shuffles: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self { initialised: true, races: true, barriers: true, shuffles: true }
    }
}
