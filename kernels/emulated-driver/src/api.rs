//! The functions of the CUDA driver API.
#![allow(non_snake_case)]

mod context;
mod copy;
mod device;
mod event;
mod graph;
mod init;
mod launch;
mod memory;
mod missing;
mod module;
mod occupancy;
mod peer;
mod pointer;
mod pool;
mod stream;
#[cfg(not(for_tests))]
mod workbook;
