//! Writes: results that the kernel writes to the host's memory, or to the device's, from
//! where they are copied.

use cudarc::driver::{CudaSlice, DevicePtrMut};
use lab::check::value;
use lab::memory::Mapped;
use lab::{Case, Lab, Result};

use crate::device::{Runner, SCATTERED, Shape, WORD};
use crate::{METHODS, SMALLEST};

pub(crate) fn measure(
    lab: &mut Lab,
    gpu: &Runner,
    target: &mut Mapped<u32>,
    results: &mut CudaSlice<u32>,
) -> Result<()> {
    let stream = &gpu.stream;
    let largest = results.len() * WORD;
    let sizes = (0..).map(|n| SMALLEST << (4 * n));
    for bytes in sizes.take_while(|bytes| *bytes <= largest) {
        let words = bytes / WORD;
        for (order, step) in [("coalesced", 1), ("scattered", SCATTERED)] {
            let shape = Shape::once(words, step);
            for (method, copies) in METHODS {
                let case = Case::new("write")
                    .with("order", order)
                    .with("bytes", bytes)
                    .with("method", method)
                    .writes(bytes);
                stream.memset_zeros(results)?;
                stream.synchronize()?;
                target.host.as_mut_slice()?[..words].fill(0);
                let timed = if copies {
                    let host = &mut target.host.as_mut_slice()?[..words];
                    case.time_on_host(lab, || {
                        gpu.write(results.device_ptr_mut(stream).0, &shape)?;
                        stream.memcpy_dtoh(&results.slice(..words), host)?;
                        Ok(stream.synchronize()?)
                    })?
                } else {
                    case.time_on_host(lab, || {
                        gpu.write(target.device, &shape)?;
                        Ok(stream.synchronize()?)
                    })?
                };
                let got = &target.host.as_slice()?[..words];
                timed.check(got, value)?.record(lab)?;
            }
        }
    }
    Ok(())
}
