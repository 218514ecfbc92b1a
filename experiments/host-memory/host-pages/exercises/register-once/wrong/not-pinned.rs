// Sends an array to the GPU after each step of a simulation, which changes the array in place.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub fn run(
    stream: &Arc<CudaStream>,
    array: &mut [f32],
    step: impl Fn(&mut [f32]),
    targets: &mut [CudaSlice<f32>],
) -> Result<()> {
    for target in targets {
        step(array);
        stream.memcpy_htod(array, target)?;
        stream.synchronize()?; // before the next step writes
    }
    Ok(())
}
