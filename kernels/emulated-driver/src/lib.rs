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
//! | `driver` | the state, and how work gets done |
//! | `queue`, `schedule` | what may run next, and what runs though nobody waits |
//! | `work` | what runs: copies, fills, kernels |
//! | `memory`, `host`, `pool` | who holds which memory; the host's; pools |
//! | `graph` | captured work |
//! | `watch` | memory that a program changed too early |
//! | `counted` | what kernels did, for whoever asks |
//! | `ledger` | what the program asked for, in which order, and which memory that touched |
//! | `for_tests` | what makes another driver of it, which tests take for NVIDIA's |
//!
//! Environment variables: `WORKBOOK_EMULATED_GPUS` is the number of GPUs (2),
//! `WORKBOOK_EMULATED_MEMORY` the memory of each in MiB (64), and
//! `WORKBOOK_EMULATED_SCHEDULE` a seed for schedules in which streams overtake each other.

#![cfg_attr(for_tests, allow(dead_code))] // the functions that tell it is emulated

mod answer;
mod api;
mod call;
mod counted;
mod driver;
mod for_tests;
mod gpu;
mod graph;
mod handles;
mod host;
mod ledger;
mod memory;
mod pool;
mod queue;
mod schedule;
mod watch;
mod work;

#[cfg(all(for_tests, unix))]
pub use for_tests::process::{FOLDER, alone};
