//! cuBLAS: floats, floats as TF32 in tensor cores, and BF16.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t::CUBLAS_OP_N;
use cudarc::cublas::{CudaBlas, sys};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use lab::libraries::CUBLAS;
use lab::{Case, Lab, Result};

use crate::matrix::{Multiplier, Multipliers};

/// cuBLAS in each precision; skipped where it is missing.
pub(crate) fn ways(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<Multipliers> {
    let mut ways = Multipliers::default();
    if !CUBLAS.load() {
        let why = format!("cuBLAS was not found; install it: {}", CUBLAS.install);
        lab.skip(Case::new("cublas"), why);
        return Ok(ways);
    }
    let library = Arc::new(CudaBlas::new(stream.clone())?);
    use sys::cublasComputeType_t::{
        CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
    };
    use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_32F};
    for (name, precision) in [
        ("cublas", CUBLAS_COMPUTE_32F),
        ("cublas_tf32", CUBLAS_COMPUTE_32F_FAST_TF32),
    ] {
        let floats = multiplier(name, &library, stream, CUDA_R_32F, precision);
        ways.floats.push(floats);
    }
    let precision = CUBLAS_COMPUTE_32F;
    let halves = multiplier("cublas", &library, stream, CUDA_R_16BF, precision);
    ways.halves.push(halves);
    Ok(ways)
}

/// Matrices of one format, with sums of 32 bits.
fn multiplier<T: 'static>(
    name: &'static str,
    library: &Arc<CudaBlas>,
    stream: &Arc<CudaStream>,
    format: sys::cudaDataType_t,
    precision: sys::cublasComputeType_t,
) -> Multiplier<T> {
    let (library, stream) = (library.clone(), stream.clone());
    Multiplier::new(
        name,
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
