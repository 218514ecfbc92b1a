// Brings home what is on the GPU, and puts `new` in its place.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub fn swap(
    [up, down]: [&Arc<CudaStream>; 2],
    on_gpu: &mut CudaSlice<f32>,
    home: &mut [f32],
    new: &[f32],
) -> Result<()> {
    let most = new.len().div_ceil(16); // numbers of a piece
    for (number, (home, new)) in
        home.chunks_mut(most).zip(new.chunks(most)).enumerate()
    {
        let start = number * most;
        let mut piece = on_gpu.slice_mut(start..start + new.len());
        down.memcpy_dtoh(&piece, home)?;
        down.synchronize()?;
        up.memcpy_htod(new, &mut piece)?;
        up.synchronize()?;
    }
    down.synchronize()?; // the host looks at home
    Ok(())
}
