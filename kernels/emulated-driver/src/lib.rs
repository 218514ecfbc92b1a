//! The CUDA driver API on top of the [`emulator`]: a library that programs open in place of
//! NVIDIA's, so that they run where there is no GPU, without knowing.
//!
//! It does what a program that orders its streams right can rely on, and reports what such
//! a program would not do: a use after free, a copy beyond a buffer, a missing wait. It has
//! no time; whoever asks how long something took is told that this is not supported.
//!
//! | module | what is in it |
//! |---|---|
//! | `api` | the functions, by subject; what is missing answers "not supported" |
//! | `call` | how a C function becomes Rust: pointers, panics |
//! | `answer`, `handles` | error codes; objects by number |
//! | `gpu` | the emulated GPU's attributes |
//! | `driver` | the state, and who may change it |
//! | `work`, `perform` | what runs: copies, fills, kernels; and how |
//! | `memory`, `host` | who holds which memory; the host's |
//! | `graph` | captured work |
//! | `watch` | memory that a program changed too early |
//! | `counted` | what kernels did, for whoever asks |
//! | `recorder` | what the program asked for, in which order, and which memory that touched |
//! | `settings`, `faults` | what makes another driver of it, which tests take for NVIDIA's |
//! | `nvml`, `process` | the same: its NVML, and how tests load it |
//!
//! What may run next, and which memory a pool gives out, is in the crate [`streams`].
//!
//! Environment variables: `WORKBOOK_EMULATED_GPUS` is the number of GPUs (2),
//! `WORKBOOK_EMULATED_MEMORY` the memory of each in MiB (64), `WORKBOOK_EMULATED_GPU` the compute
//! capability whose limits it has (7.5, 8.6, 8.9 or 9.0; without it, smaller ones), and
//! `WORKBOOK_EMULATED_SCHEDULE` a seed for schedules in which streams overtake each other.

#![cfg_attr(for_tests, allow(dead_code))] // the functions that tell it is emulated

mod answer;
mod api;
mod call;
mod counted;
mod driver;
mod faults;
mod gpu;
mod graph;
mod handles;
mod host;
mod memory;
#[cfg(for_tests)]
mod nvml;
mod perform;
#[cfg(all(for_tests, unix))] // by LD_LIBRARY_PATH
mod process;
mod recorder;
mod settings;
mod watch;
mod work;

#[cfg(all(for_tests, unix))]
pub use process::{FOLDER, alone};
