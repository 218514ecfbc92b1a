//! All tests of the emulator from outside, as one program: seventeen would each compile and link
//! what they share.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[macro_use]
mod common;

mod access;
mod blocks;
mod broken_kernels;
mod compare_and_swap;
mod compilers;
mod ends;
mod faults;
mod features;
mod forms;
mod goldens;
mod matrices;
mod memory;
mod mutations;
mod races;
mod random_programs;
mod stamps;
mod unwritten;
mod values;
mod workbook;
