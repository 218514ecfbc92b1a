//! Runs PTX on the CPU. It computes what a GPU would compute, checks every access to
//! memory, and counts the traffic: requests, sectors and wavefronts. It knows no time.
//!
//! ```
//! use emulator::{Arguments, Launch, Memory, Module, Options, run};
//!
//! let ptx = "
//!     .version 8.4
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry twice(.param .u64 data)
//!     {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         add.s32 %r2, %r2, %r2;
//!         st.global.u32 [%rd3], %r2;
//!         ret;
//!     }";
//! let module = Module::parse(ptx)?;
//! let mut memory = Memory::new(1 << 30);
//! let data = memory.allocate(128, "data")?;
//! memory.write(data, &[1; 128])?;
//!
//! let arguments = Arguments::new().with(data.to_le_bytes());
//! let launch = Launch::new([1, 1, 1], [32, 1, 1], arguments.bytes());
//! let counts = run(&module, "twice", &launch, &mut memory, &Options::default())?;
//! assert_eq!(counts.total().global_loads.sectors, 4);
//!
//! let mut result = [0; 128];
//! memory.read(data, &mut result)?;
//! assert_eq!(result, [2; 128]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! From text to a program: `syntax` reads PTX as a tree, `decode` makes a flat list of
//! instructions of it. Then `machine` runs that list.
//!
//! | module | what is in it |
//! |---|---|
//! | `syntax`, `error` | PTX as a tree; what is wrong with it |
//! | `decode` | names become registers, calls are inlined: `decode::Decoder::instruction` decodes an instruction |
//! | `program` | instructions (`Op`), and what each does with its registers |
//! | `table`, `registers` | arithmetic: an operation by its name, and how it works on a whole warp |
//! | `half`, `rounding`, `matrix` | numbers of 16 and 8 bits; rounding; where lanes have a matrix's elements |
//! | `machine` | executes instructions (`Machine::run_warp`, `execute`), warp after warp, block after block |
//! | `machine::warp`, `collective`, `barrier` | lanes that diverge and meet; shuffles and votes; barriers |
//! | `machine::access`, `lane`, `atomic`, `copies` | loads and stores; that of one lane, and what can be wrong with it; atomics; asynchronous copies |
//! | [`access`], `machine::pieces` | what a request costs: sectors and wavefronts are counted here; other pieces |
//! | `counts` | what is counted, and where it is added up |
//! | `machine::shared`, `global`, `conflict` | races are found here, in shared and in device memory, and told in `lane` and `conflict` |
//! | `machine::journal` | accesses to device memory that cannot race yet |
//! | `machine::order`, `flags`, `trace` | what orders two accesses (vector clocks); what blocks tell each other; who accessed a word |
//! | `machine::taint`, `machine::marks` | uses of what nobody has written; where such bits go |
//! | `memory` | buffers, and which of their bytes are written |
//! | `launch`, `run` | what to run, and how; whether it can be, and running it |
//!
//! # What the counts are
//!
//! Requests and sectors of global memory and wavefronts of shared memory are those that
//! `ncu` reads from the hardware, as long as the driver's compiler makes one instruction of
//! each access of the PTX. It did so in every kernel that `tests/goldens.rs` runs, most of
//! the workbook's: it compares hundreds of small launches with what an H200 counted. In large
//! ones `ncu` sometimes counts more wavefronts; we do not know why. Where the
//! compiler replaces a branch by a predicate, `ncu` counts more requests to shared memory,
//! those in which no lane takes part. The compiler may also merge accesses,
//! most often loads of neighbouring words of shared memory, and keep a small local array in
//! registers; then the hardware's counts are smaller. PTX instructions are not the
//! hardware's instructions.
//!
//! # What it does not do
//!
//! Blocks run one after the other, in their order (or [backwards](Options::backwards)). There are no caches, no clusters, no products of
//! matrices by a group of warps (`wgmma`, `tcgen05`), no textures, and no copies by the unit
//! for bulk copies. A kernel that uses one of these, or calls itself, [says
//! so](Kernel::unsupported) and does not run. A call through a pointer runs any function of the
//! same PTX whose address is taken there. Operations that PTX calls approximate are
//! rounded once from double precision. So are products of matrices: exact products are summed
//! in double precision, from C on and then along k; hardware rounds otherwise, so that last
//! bits may differ. What PTX leaves open has a fixed value: an integer divided by zero is all
//! ones. All other arithmetic is what an H200 computed for 623 random programs;
//! `tests/goldens/programs.txt` says why 17 more differ.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod access;
mod counts;
mod decode;
mod error;
mod fault;
mod half;
mod launch;
mod machine;
mod matrix;
mod memory;
mod module;
mod program;
mod registers;
mod rounding;
mod run;
mod space;
mod syntax;
mod table;

pub use counts::{
    Counts, Line, Note, NoteKind, Pieces, Request, Sectors, Step, Tally, Traffic, Wavefronts,
};
pub use error::ParseError;
pub use fault::{Fault, FaultKind, Place};
pub use launch::{Arguments, Checks, Launch, Options, Watch};
pub use memory::{Addresses, Buffer, Freed, HostMemory, Memory, MemoryError, Touched};
pub use module::{Kernel, Module, Parameter, Variable};
pub use run::run;

/// Lanes in a warp.
pub const WARP: usize = 32;
