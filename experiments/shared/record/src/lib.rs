//! What a results file means.
//!
//! One run of one experiment on one machine leaves one [`Record`]. This crate is the
//! only place that knows its format; it knows nothing of CUDA, charts or the book.
//!
//! | module | what is in it |
//! |---|---|
//! | [`schema`] | the types of a record, field by field |
//! | [`machine`] | the hardware a record was made on, and its theoretical peaks |
//! | [`statistics`] | median, spread and confidence interval of a sample |
//! | [`units`] | how quantities are printed for people |
//! | [`names`] | names that were misspelt |
//! | [`hash`] | hashes of text, by which records name sources and kernels |
//! | [`expression`] | arithmetic in pages and checks |
//! | [`mod@file`] | reading (nothing is trusted) and writing (all or nothing), where there are files |

#![warn(missing_docs)]

pub mod expression;
#[cfg(not(target_family = "wasm"))]
pub mod file;
pub mod hash;
pub mod machine;
pub mod names;
pub mod schema;
pub mod statistics;
pub mod units;

#[cfg(not(target_family = "wasm"))]
pub use file::{Error, Results};
pub use machine::{Cpu, Gpu, Machine, NvLink, Pcie, same_hardware};
pub use schema::{
    COMMITTED_COMPUTE, Cache, Ceiling, Clock, EMULATED, EMULATED_GPU, GpuState, Kernel,
    KernelOrigin, Measurement, MemoryReading, Parameter, Record, Run, SCHEMA, Skipped, Software,
    Source, Span, compute,
};
pub use statistics::Statistics;
