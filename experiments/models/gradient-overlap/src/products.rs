//! The two products of matrices in a layer's way back, by cuBLAS or by our own kernels.

use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t::{self, CUBLAS_OP_N, CUBLAS_OP_T};
use cudarc::cublas::{CudaBlas, Gemm, GemmConfig};
use cudarc::driver::{CudaModule, CudaSlice, CudaStream, CudaView, CudaViewMut};
use lab::Result;
use lab::launch::tiles;

// SAFETY: blocks have 16 × 16 threads. Threads past an edge neither load nor store; others use
// elements of matrices with `samples`, `inputs` and `outputs` rows and columns.
lab::kernels! { unsafe "activation-checkpointing" {
    fn weights_back(
        x: &CudaView<'_, f32>, dz: &CudaSlice<f32>, dw: &mut CudaViewMut<'_, f32>,
        samples: i32, inputs: i32, outputs: i32,
    );
    fn inputs_back(
        x: &CudaView<'_, f32>, dz: &CudaSlice<f32>, w: &CudaView<'_, f32>,
        before: &mut CudaSlice<f32>, samples: i32, inputs: i32, outputs: i32,
    );
} }

const TILE: usize = 16;

/// What multiplies on one GPU.
pub(crate) enum Products {
    Library(CudaBlas),
    Ours(Kernels),
}

impl Products {
    /// cuBLAS, which is loaded if there is no module.
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        module: Option<&Arc<CudaModule>>,
    ) -> Result<Products> {
        Ok(match module {
            Some(module) => Products::Ours(Kernels::of(module)?),
            None => Products::Library(CudaBlas::new(stream.clone())?),
        })
    }

    // ANCHOR: products
    /// The gradient of a layer's weights: dw = xᵀ · dz. x and dz have `rows` rows of `n`.
    pub(crate) fn weights_back(
        &self,
        stream: &Arc<CudaStream>,
        [rows, n]: [usize; 2],
        x: &CudaView<'_, f32>,
        dz: &CudaSlice<f32>,
        dw: &mut CudaViewMut<'_, f32>,
    ) -> Result<()> {
        match self {
            Products::Library(library) => {
                stream.context().bind_to_thread()?;
                let config = config([CUBLAS_OP_N, CUBLAS_OP_T], [n, n, rows]);
                // SAFETY: all have as many elements as `config` says.
                Ok(unsafe { library.gemm(config, dz, x, dw) }?)
            }
            Products::Ours(kernels) => {
                let (grid, m, n) =
                    (tiles((n, n), (TILE, TILE)), rows as i32, n as i32);
                kernels.weights_back(stream, grid, x, dz, dw, m, n, n)
            }
        }
    }

    /// The gradient of what went into the layer: before = dz · wᵀ. Our kernel also looks at x,
    /// for an activation function that here lets everything through.
    pub(crate) fn inputs_back(
        &self,
        stream: &Arc<CudaStream>,
        [rows, n]: [usize; 2],
        x: &CudaView<'_, f32>,
        dz: &CudaSlice<f32>,
        w: &CudaView<'_, f32>,
        before: &mut CudaSlice<f32>,
    ) -> Result<()> {
        match self {
            Products::Library(library) => {
                stream.context().bind_to_thread()?;
                let config = config([CUBLAS_OP_T, CUBLAS_OP_N], [n, rows, n]);
                // SAFETY: all have as many elements as `config` says.
                Ok(unsafe { library.gemm(config, w, dz, before) }?)
            }
            Products::Ours(kernels) => {
                let grid = tiles((n, rows), (TILE, TILE));
                let (m, n) = (rows as i32, n as i32);
                kernels.inputs_back(stream, grid, x, dz, w, before, m, n, n)
            }
        }
    }
    // ANCHOR_END: products
}

/// A product of m × k and k × n elements. cuBLAS counts columns first, so it gets the factors in
/// the other order; all matrices here have rows of as many elements as a layer is wide.
fn config(
    [transa, transb]: [cublasOperation_t; 2],
    [m, n, k]: [usize; 3],
) -> GemmConfig<f32> {
    let width = m as i32;
    GemmConfig {
        transa,
        transb,
        m: m as i32,
        n: n as i32,
        k: k as i32,
        alpha: 1.0,
        lda: width,
        ldb: width,
        beta: 0.0,
        ldc: width,
    }
}
