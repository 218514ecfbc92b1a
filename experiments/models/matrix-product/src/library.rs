//! cuBLAS: floats, floats as TF32 in tensor cores, and BF16.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t::CUBLAS_OP_N;
use cudarc::cublas::{CudaBlas, sys};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use lab::libraries::CUBLAS;
use lab::{Case, Lab, Result};

use crate::LARGE;
use crate::matrix::{Multiply, Way, Ways};

/// cuBLAS in each precision; skipped where it is missing.
pub(crate) fn ways(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<Ways> {
    let mut ways = Ways::default();
    if !CUBLAS.load() {
        let why = format!("cuBLAS was not found; install it: {}", CUBLAS.install);
        lab.skip(Case::new("cublas"), why);
        return Ok(ways);
    }
    let library = Arc::new(CudaBlas::new(stream.clone())?);
    let way = |format, precision| multiply(&library, stream, format, precision);
    use sys::cublasComputeType_t::{
        CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
    };
    use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_32F};
    for (name, precision) in [
        ("cublas", CUBLAS_COMPUTE_32F),
        ("cublas_tf32", CUBLAS_COMPUTE_32F_FAST_TF32),
    ] {
        let multiply = way(CUDA_R_32F, precision);
        ways.floats.push(Way { name, multiple_of: 1, largest: LARGE, multiply });
    }
    let multiply = multiply(&library, stream, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
    ways.halves.push(Way {
        name: "cublas",
        multiple_of: 1,
        largest: LARGE,
        multiply,
    });
    Ok(ways)
}

/// Matrices of one format, with sums of 32 bits.
fn multiply<T: 'static>(
    library: &Arc<CudaBlas>,
    stream: &Arc<CudaStream>,
    format: sys::cudaDataType_t,
    precision: sys::cublasComputeType_t,
) -> Multiply<T> {
    let (library, stream) = (library.clone(), stream.clone());
    Box::new(
        move |a: &CudaSlice<T>, b: &CudaSlice<T>, c: &mut CudaSlice<T>, n: usize| {
            let address =
                |matrix: &CudaSlice<T>| matrix.device_ptr(&stream).0 as *mut c_void;
            let (one, zero, side) = (1f32, 0f32, n as i32);
            // SAFETY: three matrices of n * n elements of that format; the factors are floats, as
            // the precision wants them. cuBLAS counts columns first, so it gets b before a.
            unsafe {
                sys::cublasGemmEx(
                    *library.handle(),
                    CUBLAS_OP_N,
                    CUBLAS_OP_N,
                    side,
                    side,
                    side,
                    (&raw const one).cast(),
                    address(b),
                    format,
                    side,
                    address(a),
                    format,
                    side,
                    (&raw const zero).cast(),
                    address(c),
                    format,
                    side,
                    precision,
                    sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
                )
            }
            .result()?;
            Ok(())
        },
    )
}
