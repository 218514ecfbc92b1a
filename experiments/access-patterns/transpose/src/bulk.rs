//! Bulk tensor copies: the copy unit of newer GPUs moves whole tiles.

use std::sync::Arc;

use cudarc::driver::{CudaModule, CudaStream, DevicePtr, LaunchConfig, sys};
use lab::launch::tiles;
use lab::{Case, Lab, Result};

use crate::matrix::{Matrix, Shape, Way};

// SAFETY: the copy unit stays within the matrices that the two maps describe.
lab::kernels! { unsafe "transpose-bulk" {
    fn bulk(input: [u64; 16], output: [u64; 16]);
} }

/// The transpose, and the module that it is in.
pub(crate) fn way(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
) -> Result<Option<(Way, Arc<CudaModule>)>> {
    let Some(module) = lab.load(KERNEL)? else {
        let reason = "bulk tensor copies need a GPU of compute capability 9.0";
        lab.skip(Case::new("bulk"), reason);
        return Ok(None);
    };
    let (kernels, stream) = (Kernels::of(&module)?, stream.clone());
    let transpose = move |shape: &Shape, input: &_, output: &mut _| {
        let Shape { width, height } = *shape;
        let from = tensor_map(&stream, input, width, height)?;
        let to = tensor_map(&stream, output, height, width)?;
        kernels.bulk(&stream, grid(shape), from, to)
    };
    let transpose = Box::new(transpose);
    Ok(Some((Way { name: "bulk", aligned: true, transpose }, module)))
}

/// A block for each 64 × 64 elements.
pub(crate) fn grid(shape: &Shape) -> LaunchConfig {
    let tiles = tiles((shape.height, shape.width), (64, 64));
    LaunchConfig { block_dim: (256, 1, 1), ..tiles }
}

/// What the copy unit has to know of a matrix: where it is, its shape, and that it is
/// moved in pieces of 32 × 64 elements, whose rows of 128 bytes are swizzled.
pub(crate) fn tensor_map(
    stream: &Arc<CudaStream>,
    matrix: &Matrix,
    width: usize,
    height: usize,
) -> Result<[u64; 16]> {
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: writes the map; the arrays have as many entries as there are dimensions,
    // and of the distances between neighbours the first is not given.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            2,
            matrix.device_ptr(stream).0 as *mut _,
            [width as u64, height as u64].as_ptr(),
            [width as u64 * 4].as_ptr(),
            [32, 64].as_ptr(),
            [1, 1].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()?;
    Ok(map.opaque)
}
