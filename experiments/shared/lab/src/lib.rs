//! What every experiment needs and no lesson should repeat.
//!
//! An experiment's `main` hands its closure to [`run!`], gets a [`Lab`], and uses plain
//! cudarc from there. The lab never touches a lesson's buffers; it runs the lesson's
//! work only through the closures that it is handed.
//!
//! It is compiled without optimisation. What is generic, or `#[inline]`, is compiled with each
//! lesson, as optimised as that: whatever runs once for each launch, call or element has to be.
//!
//! | module | what is in it |
//! |---|---|
//! | [`program`] | [`run!`]: an experiment as a program |
//! | [`session`] | [`Lab`]: one run, from its start to its record |
//! | [`case`] | [`Case`]: one measurement in the making; [`words!`]: its parameters' words |
//! | [`measure`] | [`Timed`]: time a case, check it, record it |
//! | [`launch`] | [`kernels!`]: kernels as functions; grids and blocks |
//! | [`memory`] | pinned and mapped host memory |
//! | [`options`] | the options that all experiments share |
//! | [`timing`] | samples by CUDA events and by the host's clock |
//! | [`timeline`] | what ran when, on the host and on the GPU |
//! | [`nccl`] | NCCL, found and explained |
//! | [`counters`] | `--counters`: the same lesson under a profiler, counted, not timed |
//! | [`emulator`] | the GPU that stands in where there is none |
//! | [`environment`] | the environment variables that programs listen to |
//! | [`check`] | inputs that tell, and comparing results; the error names the first wrong element |
//! | [`kernel`] | committed PTX, or a compiler for edited code |
//! | [`compiler`] | NVRTC, or clang where there is none |
//! | [`ptx`] | what of PTX the GPU runs |
//! | `shown` | what a run prints: what a page shows of its experiment |
//! | [`layout`] | columns and lines that fit the terminal |
//! | [`gpu`] | whether there is a GPU, and if not, why |
//! | [`machine`] | describing the hardware and its state |
//! | [`libraries`] | finding CUDA's libraries in odd places |
//! | [`place`] | where a record goes, and what may stand there already |
//! | [`workspace`] | where the results lie, and which revision this is |

pub mod case;
pub mod check;
pub mod compiler;
pub mod counters;
pub mod emulator;
pub mod environment;
mod fingerprint;
pub mod gpu;
pub mod kernel;
mod lasting;
pub mod launch;
pub mod layout;
pub mod libraries;
mod loader;
pub mod machine;
pub mod machine_code;
pub mod measure;
pub mod memory;
pub mod nccl;
pub mod options;
pub mod place;
pub mod program;
pub mod ptx;
mod reference;
pub mod session;
mod shown;
mod terminal;
pub mod timeline;
pub mod timing;
mod words;
pub mod workspace;

pub use anyhow::Result;
pub use case::Case;
pub use kernel::Kernel;
pub use measure::Timed;
pub use options::{CannotRun, Options};
pub use program::run;
pub use record::file::visible_lines;
pub use record::{Cache, Ceiling, Clock, MemoryReading, Parameter, Span};
pub use session::Lab;
pub use timing::Samples;
