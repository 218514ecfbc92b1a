//! cuBLAS, in the same process, on the same buffers.

use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
use cudarc::cublas::{CudaBlas, sys};
use cudarc::driver::{CudaStream, DevicePtr};
use lab::libraries::CUBLAS;

use crate::matrix::{Matrix, Shape, Way};

/// cuBLAS as a way to transpose, or why there is none.
pub(crate) fn way(stream: &Arc<CudaStream>) -> Result<Way, String> {
    if !CUBLAS.load() {
        return Err(format!("cuBLAS was not found; install it: {}", CUBLAS.install));
    }
    let library = CudaBlas::new(stream.clone())
        .map_err(|e| format!("cuBLAS does not start: {e}"))?;
    let stream = stream.clone();
    // cuBLAS counts columns first, so our rows are its columns. It adds two matrices,
    // either of them transposed: 1 · inputᵀ + 0 · nothing.
    let transpose = move |shape: &Shape, input: &Matrix, output: &mut Matrix| {
        let (from, to) = (input.device_ptr(&stream).0, output.device_ptr(&stream).0);
        let (width, height) = (shape.width as i32, shape.height as i32);
        // SAFETY: both matrices have width * height elements, of the size of a float; a
        // factor of zero means that the second matrix is not read.
        unsafe {
            sys::cublasSgeam(
                *library.handle(),
                CUBLAS_OP_T,
                CUBLAS_OP_N,
                height,
                width,
                &1.0,
                from as *const f32,
                width,
                &0.0,
                std::ptr::null(),
                height,
                to as *mut f32,
                height,
            )
        }
        .result()?;
        Ok(())
    };
    Ok(Way { name: "cublas", aligned: false, transpose: Box::new(transpose) })
}
