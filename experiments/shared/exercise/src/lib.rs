//! Checked exercises: a start to edit, and a check that says what is still wrong with it.
//!
//! An exercise is a folder `experiments/<section>/<lesson>/exercises/<name>/`:
//!
//! | file | what is in it |
//! |---|---|
//! | `exercise.md` | the task, in one screen; its lesson's page includes it |
//! | `check.toml` | what a solution has to do, and three hints ([`referee::Check`]) |
//! | `start.cu` or `start.rs` | what the learner begins with: a kernel, or code of the host |
//! | `expected.cu` | of a kernel: what the result has to be, one thread for each element |
//! | `check.rs` | of host code: calls it and compares the results, see the crate `trial` |
//! | `solution.*` | one that passes |
//! | `wrong/*` | mistakes that are programs of their own; all others are in `check.toml` |
//!
//! | module | what is in it |
//! |---|---|
//! | [`catalogue`] | the exercises, in the order of the book |
//! | [`judge`] | a solution is judged, by one of the next two |
//! | [`source`] | a learner's file, whatever lies in its place |
//! | [`compile`] | a learner's kernel is compiled, apart from all else |
//! | [`lines`] | lines of header files become the kernel's |
//! | `process` | programs that may crash, or take too long, or print too much |
//! | [`kernel`] | a kernel is compiled, and judged by the crate `referee` |
//! | [`host`] | host code is compiled, run on emulated GPUs, and judged |
//! | [`measure`] | a kernel on a real GPU, to be timed |
//! | [`progress`] | what the learner has done so far |
//! | [`mod@verify`] | whether starts, mistakes and solutions do what they declare |

pub mod catalogue;
pub mod compile;
pub mod host;
pub mod judge;
pub mod kernel;
pub mod lines;
pub mod measure;
mod process;
pub mod progress;
pub mod source;
pub mod verify;

pub use catalogue::Exercise;
pub use judge::Judge;
pub use progress::Progress;
