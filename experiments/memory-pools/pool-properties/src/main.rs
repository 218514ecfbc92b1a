//! # What do the properties of a memory pool do?
//!
//! Page: `book/src/memory-pools/pool-properties.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | what is accepted, one field after the other? |
//! | [`memory`] | | memory of a pool, and without |
//! | [`access`] | The fields | who may access the memory of a pool? |
//! | [`maximum`] | The maximum | how much does a pool give, and to whom? |
//! | [`counters`] | Measured | what do they say after each step? |
//! | [`second_process`] | A second process | how does it open a pool? |
//! | [`end`] | The end of a pool; The trap | what is left of it? |
//!
//! A *pool* of the driver holds the memory that stream-ordered allocations are cut from:
//! `cuMemAllocAsync` cuts from the GPU's current pool, `cuMemAllocFromPoolAsync` from the
//! pool that it is given. Whoever creates a pool fills in seven fields:
//!
//! ```text
//! allocType                 "pinned"
//! handleTypes               how another process may open the pool
//! location                  where the memory lies: a type and an id
//! win32SecurityAttributes   for one kind of handle, on Windows
//! maxSize                   the most memory that the pool gives
//! usage                     bits
//! reserved                  54 bytes
//! ```
//!
//! **Prediction:** a new pool holds no memory, so creating one takes less than 10 µs,
//! whatever its maximum. A maximum of 1 byte is rounded up to 2 MiB, a large page of the
//! GPU. `cuMemAlloc` moves the counters of the default pool by 0 bytes. Another process
//! opens a pool and an allocation of it in less than a millisecond.

mod access;
mod counters;
mod end;
mod maximum;
mod memory;
#[cfg(unix)] // it opens the pool by a file descriptor
mod second_process;

use std::process::ExitCode;

use cudarc::driver::sys::CUmemAllocationHandleType as Handle;
use cudarc::driver::sys::CUmemLocationType_enum::{
    CU_MEM_LOCATION_TYPE_DEVICE as DEVICE, CU_MEM_LOCATION_TYPE_HOST as HOST,
    CU_MEM_LOCATION_TYPE_HOST_NUMA as HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT as HOST_NUMA_CURRENT,
    CU_MEM_LOCATION_TYPE_INVALID as UNSET,
};
use cudarc::driver::{DriverError, sys};
use lab::{Case, Lab, Result};
use pool::driver::{DriverPool, Location, Properties, properties};

const MIB: usize = 1 << 20;
/// What is allocated where the size does not matter.
const BYTES: usize = 64 * MIB;

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Some(exit) = second_process::second_process() {
        return exit;
    }
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // A stream, and the properties of a pool that asks for nothing.
    let stream = &lab.context().new_stream()?;
    let plain = properties(lab.context());

    create(lab, plain)?;
    access::access(lab, stream, plain)?;
    maximum::limit(lab, stream, plain)?;
    maximum::current(lab, stream, plain)?;
    #[cfg(unix)]
    second_process::share(lab, stream, plain)?;
    #[cfg(not(unix))]
    lab.skip(
        Case::new("import"),
        "this system has no file descriptors to open a pool by",
    );
    counters::counters(lab, stream)?;
    end::destroy(lab, stream, plain)?;
    end::listing(lab, stream, plain)
}

/// What `cuMemPoolCreate` accepts: every question changes one field.
fn create(lab: &mut Lab, plain: Properties) -> Result<()> {
    let place = |type_, id| Properties { location: Location { type_, id }, ..plain };
    let handle = |handle| Properties { handleTypes: Handle(handle), ..plain };
    let posix_on = |type_| Properties { handleTypes: Handle(1), ..place(type_, 0) };
    let most = |bytes| Properties { maxSize: bytes, ..plain };
    let usage = |usage| Properties { usage, ..plain };
    let no_type = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_INVALID;
    let mut last_byte = [0; 54];
    last_byte[53] = 1;
    let mut zeros = [0u64; 8];
    let attributes = (&raw mut zeros).cast();
    // ANCHOR: create
    for (field, value, properties) in [
        ("all", "plain", plain),
        ("alloc_type", "unset", Properties { allocType: no_type, ..plain }),
        ("location", "unset", place(UNSET, 0)),
        ("location", "device_1000", place(DEVICE, 1000)),
        ("location", "host_0", place(HOST, 0)),
        ("location", "host_1000", place(HOST, 1000)),
        ("location", "host_numa_0", place(HOST_NUMA, 0)),
        ("location", "host_numa_1000", place(HOST_NUMA, 1000)),
        ("location", "host_numa_current", place(HOST_NUMA_CURRENT, 0)),
        ("handle_types", "posix", handle(1)),
        ("handle_types", "win32", handle(2)),
        ("handle_types", "win32_kmt", handle(4)),
        ("handle_types", "fabric", handle(8)),
        ("handle_types", "posix_on_host", posix_on(HOST)),
        ("handle_types", "posix_on_host_numa_0", posix_on(HOST_NUMA)),
        ("max_size", "1_byte", most(1)),
        ("max_size", "1_gib", most(1 << 30)),
        ("max_size", "1_tib", most(1 << 40)),
        ("max_size", "64_tib", most(64 << 40)),
        ("usage", "1", usage(1)),
        ("usage", "2", usage(2)),
        ("usage", "4", usage(4)),
        ("reserved", "last_byte_1", Properties { reserved: last_byte, ..plain }),
        (
            "win32_attributes",
            "set",
            Properties { win32SecurityAttributes: attributes, ..plain },
        ),
    ] {
        let case = Case::new("create").with("field", field).with("value", value);
        answered(lab, case, || DriverPool::new(&properties))?;
    }
    // ANCHOR_END: create
    Ok(())
}

// ANCHOR: answered
/// Records what a call answers, `success` or an error, and how long that takes. What it
/// returns is dropped when the clock has stopped. It must answer the same every time.
fn answered<T>(
    lab: &mut Lab,
    case: Case,
    mut call: impl FnMut() -> Result<T, DriverError>,
) -> Result<()> {
    let mut answers = vec![];
    let timed = case.time_on_host(lab, || {
        let result = call();
        answers.push(code(&result) as u32);
        Ok(result)
    })?;
    timed
        .check(&answers, |_| answers[0])?
        .note(|case, last| Ok(case.with("answer", name(code(last)).as_str())))?
        .record(lab)
}

fn code<T>(result: &Result<T, DriverError>) -> sys::CUresult {
    result.as_ref().err().map_or(sys::CUresult::CUDA_SUCCESS, |error| error.0)
}

/// `success`, `invalid_value`, `out_of_memory` …
fn name(code: sys::CUresult) -> String {
    let name = format!("{code:?}").to_lowercase();
    name.trim_start_matches("cuda_").trim_start_matches("error_").to_owned()
}
// ANCHOR_END: answered
