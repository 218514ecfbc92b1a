//! Who may access the memory of a pool by default.

use std::sync::Arc;

use cudarc::driver::sys::CUmemAccess_flags as Access;
use cudarc::driver::{CudaStream, DevicePtr};
use lab::check::{self, value};
use lab::{Case, Lab, Result};
use pool::driver::{DriverPool, Location, Properties};

use crate::memory::memory;
use crate::{HOST, HOST_NUMA, MIB};

pub(crate) fn access(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let device = plain.location;
    let [host, node] = [HOST, HOST_NUMA].map(|type_| Location { type_, id: 0 });
    for (name, location) in
        [("device", device), ("host", host), ("host_numa_0", node)]
    {
        let case = Case::new("access").with("location", name);
        let Ok(pool) = DriverPool::new(&Properties { location, ..plain }) else {
            lab.skip(case, "this driver makes no such pool");
            continue;
        };
        for (from, there) in [("device", device), ("host", host)] {
            let case = case.clone().with("from", from);
            let timed = case.time_on_host(lab, || Ok(pool.access(there)?))?;
            let allowed = match timed.last {
                Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => "read_write",
                Access::CU_MEM_ACCESS_FLAGS_PROT_READ => "read",
                _ => "nothing",
            };
            // What the host may touch, it does.
            let touches = (from, allowed) == ("host", "read_write");
            timed
                .checked(if touches { touch(&pool, stream)? } else { 0 })
                .note(|case, _| Ok(case.with("allowed", allowed)))?
                .record(lab)?;
        }
    }
    Ok(())
}

/// Writes and reads a pool's memory on the host, as if it were a `Vec`.
fn touch(pool: &DriverPool, stream: &Arc<CudaStream>) -> Result<u64> {
    let words = MIB / size_of::<u32>();
    let memory = memory(pool, stream, words)?;
    stream.synchronize()?; // now it is there
    let pointer = memory.device_ptr(stream).0;
    // SAFETY: the host may read and write the pool's memory, and nothing else does.
    let host = unsafe { std::slice::from_raw_parts_mut(pointer as *mut u32, words) };
    host.iter_mut().enumerate().for_each(|(i, word)| *word = value(i));
    let checked = check::every_element("pool on the host", host, value)?;
    drop(memory);
    stream.synchronize()?;
    Ok(checked)
}
