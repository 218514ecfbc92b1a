//! Checked exercises: a start to edit, and a check that says what is still wrong with it.
//!
//! An exercise is a folder `experiments/<section>/<lesson>/exercises/<name>/`:
//!
//! | file | what is in it |
//! |---|---|
//! | `exercise.md` | the task, in one screen; its lesson's page includes it |
//! | `check.toml` | what a solution has to do, and three hints ([`Check`]) |
//! | `start.cu` | what the learner begins with |
//! | `expected.cu` | what the result has to be, one thread for each element |
//! | `solution.cu` | one that passes |
//! | `wrong/*.cu` | mistakes that people make; `check.toml` says why each fails |
//!
//! | module | what is in it |
//! |---|---|
//! | [`catalogue`] | the exercises, in the order of the book |
//! | [`mod@check`] | `check.toml` |
//! | [`kernel`] | a kernel is compiled, run on the emulated GPU, and judged |
//! | [`data`] | the buffers that it works on |
//! | [`outcome`] | what is said of it, row by row |
//! | [`progress`] | what the learner has done so far |
//! | [`mod@verify`] | whether starts, mistakes and solutions do what they declare |

pub mod catalogue;
pub mod check;
pub mod data;
pub mod kernel;
pub mod outcome;
pub mod progress;
pub mod verify;

pub use catalogue::Exercise;
pub use check::Check;
pub use outcome::{Outcome, Row, State};
pub use progress::Progress;
