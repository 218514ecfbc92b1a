// Sends an array to the GPU after each step of a simulation, which changes the array in place.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Registration, Result};

pub fn run(
    stream: &Arc<CudaStream>,
    array: &mut [f32],
    step: impl Fn(&mut [f32]),
    targets: &mut [CudaSlice<f32>],
) -> Result<()> {
    for target in targets {
        step(array);
        // SAFETY: the array stays where it is, and the copy is done before the pages are unpinned.
        let pinned = unsafe { Registration::new(array) }?;
        stream.memcpy_htod(array, target)?;
        stream.synchronize()?;
        drop(pinned);
    }
    Ok(())
}
