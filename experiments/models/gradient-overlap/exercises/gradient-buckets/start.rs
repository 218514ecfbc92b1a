// The backward pass of a step on all GPUs, and the sum of its gradients.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use trial::{Gpu, Result};

pub fn backward(
    gpus: &[Gpu],
    sums: &[Arc<CudaStream>], // one more stream on each GPU
    layers: &[Range<usize>],  // where each layer's gradients are
    bucket: usize,            // numbers that a call sums, at least
    products: &dyn Fn(usize) -> Result<()>, // queues a layer, on all GPUs
    all_reduce: &dyn Fn(&[Arc<CudaStream>], Range<usize>) -> Result<()>, // a stream on each
) -> Result<()> {
    let _ = sums;
    let streams: Vec<_> = gpus.iter().map(|gpu| gpu.stream.clone()).collect();
    let mut end = layers[layers.len() - 1].end;
    for (number, layer) in layers.iter().enumerate().rev() {
        products(number)?;
        // The bucket is full; or there is no layer left.
        if end - layer.start >= bucket || number == 0 {
            all_reduce(&streams, layer.start..end)?;
            end = layer.start;
        }
    }
    Ok(())
}
