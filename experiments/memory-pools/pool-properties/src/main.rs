//! # What do the properties of a memory pool do?
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

mod life;
mod pool;
mod share;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::sys::CUmemAllocationHandleType as Handle;
use cudarc::driver::sys::CUmemLocationType_enum::{
    CU_MEM_LOCATION_TYPE_DEVICE as DEVICE, CU_MEM_LOCATION_TYPE_HOST as HOST,
    CU_MEM_LOCATION_TYPE_HOST_NUMA as HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT as HOST_NUMA_CURRENT,
    CU_MEM_LOCATION_TYPE_INVALID as UNSET,
};
use cudarc::driver::{CudaStream, DevicePtr, DriverError, sys};
use lab::check::value;
use lab::{Case, Lab, Result, check};
use pool::{Location, Pool, Properties, Unpooled};

const MIB: usize = 1 << 20;
/// What is allocated where the size does not matter.
const BYTES: usize = 64 * MIB;

fn main() -> ExitCode {
    if let Some(exit) = share::second_process() {
        return exit;
    }
    let question = "What do the properties of a memory pool do?";
    lab::run("pool-properties", question, None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream, and the properties of a pool that asks for nothing.
    let stream = lab.context().new_stream()?;
    // ANCHOR: plain
    let plain = Properties {
        allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: Handle::CU_MEM_HANDLE_TYPE_NONE,
        location: Location { type_: DEVICE, id: lab.context().ordinal() as i32 },
        win32SecurityAttributes: std::ptr::null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    };
    // ANCHOR_END: plain

    // 2. What is accepted, one field after the other.
    create(lab, plain)?;
    // 3. What the fields do.
    access(lab, &stream, plain)?;
    limit(lab, &stream, plain)?;
    current(lab, &stream, plain)?;
    share::share(lab, &stream, plain)?;
    // 4. What the counters say over the course of a pool's life, and at its end.
    life::counters(lab, &stream)?;
    life::destroy(lab, &stream, plain)?;
    life::listing(lab, &stream, plain)
}

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
        answered(lab, case, || Pool::new(&properties))?;
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
    let samples = lab.time_on_host(|| {
        let result = call();
        answers.push(code(&result));
        Ok(result)
    })?;
    let codes: Vec<u32> = answers.iter().map(|answer| *answer as u32).collect();
    let checked = check::every_element("answer", &codes, |_| codes[0])?;
    let case = case.with("answer", name(answers[0]).as_str());
    lab.record(case.checked(checked).samples(samples))
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

/// Who may touch the memory of a pool, if nothing is said about it.
fn access(lab: &mut Lab, stream: &Arc<CudaStream>, plain: Properties) -> Result<()> {
    let device = plain.location;
    let [host, node] = [HOST, HOST_NUMA].map(|type_| Location { type_, id: 0 });
    for (name, location) in
        [("device", device), ("host", host), ("host_numa_0", node)]
    {
        let case = Case::new("access").with("location", name);
        let Ok(pool) = Pool::new(&Properties { location, ..plain }) else {
            lab.skip(case, "this driver makes no such pool");
            continue;
        };
        for (from, there) in [("device", device), ("host", host)] {
            let samples = lab.time_on_host(|| Ok(pool.access(there)?))?;
            let allowed = pool.access(there)?;
            let case = case.clone().with("from", from).with("allowed", allowed);
            let case = case.samples(samples);
            // What the host may touch, it does.
            lab.record(match (from, allowed) {
                ("host", "read_write") => case.checked(touch(&pool, stream)?),
                _ => case,
            })?;
        }
    }
    Ok(())
}

/// Writes and reads a pool's memory on the host, as if it were a `Vec`.
fn touch(pool: &Pool, stream: &Arc<CudaStream>) -> Result<u64> {
    let words = MIB / size_of::<u32>();
    let memory = pool.memory(stream, words)?;
    stream.synchronize()?; // now it is there
    let pointer = memory.device_ptr(stream).0;
    // SAFETY: the host may read and write the pool's memory, and nobody else does.
    let host = unsafe { std::slice::from_raw_parts_mut(pointer as *mut u32, words) };
    host.iter_mut().enumerate().for_each(|(i, word)| *word = value(i));
    let checked = check::every_element("pool on the host", host, value)?;
    drop(memory);
    stream.synchronize()?;
    Ok(checked)
}

/// How much a pool with a maximum gives, and what it answers then.
fn limit(lab: &mut Lab, stream: &Arc<CudaStream>, plain: Properties) -> Result<()> {
    for max_bytes in [1, 2 * MIB, 33 * MIB, 100 * MIB, 1024 * MIB] {
        // ANCHOR: limit
        let pool = Pool::new(&Properties { maxSize: max_bytes, ..plain })?;
        let piece = || pool.memory(stream, MIB / size_of::<u32>());
        let most = 2 * max_bytes / MIB + 256; // should nothing limit it
        let mut pieces: Vec<_> = (0..most).map_while(|_| piece().ok()).collect();
        // ANCHOR_END: limit
        let case = Case::new("limit").with("max_bytes", max_bytes);
        answered(lab, case.with("given_bytes", pieces.len() * MIB), piece)?;
        // What is given back can be had again.
        pieces.pop();
        pieces.push(piece()?);
        drop(pieces);
        stream.synchronize()?; // nothing is left when the pool is destroyed
    }
    Ok(())
}

/// Whom a maximum limits, when the pool that has it is the GPU's current one.
fn current(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let own = Pool::new(&Properties { maxSize: BYTES, ..plain })?;
    let default = pool::default(stream)?;
    for (current, pool) in [("default", &*default), ("own", &own)] {
        pool.make_current(stream)?;
        let case = Case::new("twice_the_limit").with("current", current);
        let asynchronous = case.clone().with("call", "alloc_async");
        // SAFETY: the memory is given back without having been looked at.
        answered(lab, asynchronous, || unsafe { stream.alloc::<u8>(2 * BYTES) })?;
        answered(lab, case.with("call", "alloc"), || Unpooled::new(2 * BYTES))?;
    }
    Ok(default.make_current(stream)?)
}
