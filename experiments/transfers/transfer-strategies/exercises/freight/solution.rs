// Multiplies all numbers of two batches of arrays by each factor in turn, on the GPU. Returns how
// many milliseconds the first batch's copy to the GPU took.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use trial::{Kernels, Result, pinned};

pub fn scale(
    streams: [&Arc<CudaStream>; 2], // one for each batch
    kernels: &Kernels,
    batches: [&mut [Vec<f32>]; 2],
    factors: &[f32],
) -> Result<f32> {
    let (mut parcels, mut clocks) = (vec![], vec![]);
    for (stream, arrays) in streams.into_iter().zip(&batches) {
        // Packing costs the host less than the starts of many copies.
        let packed = arrays.concat();
        let mut parcel = pinned(stream.context(), packed.len(), |i| packed[i])?;
        // SAFETY: all of it is written before anything reads it.
        let mut data = unsafe { stream.alloc(packed.len()) }?;
        let start = stream.record_event(Some(CU_EVENT_DEFAULT))?;
        stream.memcpy_htod(&parcel, &mut data)?;
        let end = stream.record_event(Some(CU_EVENT_DEFAULT))?;
        for factor in factors {
            kernels.scale(stream, &mut data.as_view_mut(), *factor)?;
        }
        stream.memcpy_dtoh(&data, &mut parcel)?;
        parcels.push(parcel);
        clocks.push((start, end));
    }
    // All work of both batches is queued: only now does the host wait.
    let streams = streams.into_iter();
    for ((stream, parcel), arrays) in streams.zip(&parcels).zip(batches) {
        stream.synchronize()?;
        let mut rest = parcel.as_slice()?;
        for array in arrays {
            let (own, others) = rest.split_at(array.len());
            array.copy_from_slice(own);
            rest = others;
        }
    }
    let (start, end) = &clocks[0];
    Ok(start.elapsed_ms(end)?)
}
