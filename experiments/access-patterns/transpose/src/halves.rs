//! What does the copy unit read? The loads of the transpose by bulk copies alone, and its stores.

use std::sync::Arc;

use cudarc::driver::{CudaModule, CudaSlice, CudaStream};
use lab::{Case, Lab, Result, check};

use crate::bulk::{grid, tensor_map};
use crate::matrix::{Matrix, Shape};

// SAFETY: the copy unit stays within the matrix that the map describes; `sums` has an element for
// each block.
lab::kernels! { unsafe "transpose-bulk" {
    fn bulk_load(input: [u64; 16], sums: &mut CudaSlice<u32>);
    fn bulk_store(output: [u64; 16], width: u32);
} }

/// Rows and columns of a block's tile.
const SIDE: usize = 64;

/// Both, on matrices that hold `host`; each tile's sum and each stored element is compared.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    module: &Arc<CudaModule>,
    shape: &Shape,
    case: impl Fn(&str) -> Case,
    host: &[u32],
    (inputs, outputs): (&[Matrix], &mut [Matrix]),
) -> Result<()> {
    let kernels = Kernels::of(module)?;
    let (config, pairs) = (grid(shape), inputs.len());
    let (Shape { width, height }, bytes) = (*shape, size_of_val(host));
    let (down, across, _) = config.grid_dim;
    let mut sums = stream.alloc_zeros((down * across) as usize + check::GUARD)?;
    let load = case("bulk_load").reads(bytes).time_on_gpu(lab, stream, |turn| {
        let from = tensor_map(stream, &inputs[turn % pairs], width, height)?;
        kernels.bulk_load(stream, config, from, &mut sums)
    })?;
    let mut expected = vec![0u32; (down * across) as usize];
    for (i, element) in host.iter().enumerate() {
        let (x, y) = (i % width / SIDE, i / width / SIDE);
        let sum = &mut expected[x * down as usize + y];
        *sum = sum.wrapping_add(*element);
    }
    let checked =
        check::output("bulk_load", stream, &sums, expected.len(), |i| expected[i])?;
    load.checked(checked).record(lab)?;

    for output in &mut *outputs {
        stream.memset_zeros(output)?;
    }
    let case = case("bulk_store").writes(bytes);
    let mut store = case.time_on_gpu(lab, stream, |turn| {
        let to = tensor_map(stream, &outputs[turn % pairs], height, width)?;
        kernels.bulk_store(stream, config, to, height as u32)
    })?;
    for output in &*outputs {
        store = store.check_device(stream, output, |i| i as u32)?;
    }
    store.record(lab)
}
