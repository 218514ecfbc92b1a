//! FP8, which cuBLASLt multiplies: numbers of 8 bits, sums of 32, a product in BF16.
//!
//! It wants the right matrix column by column, and sides that are multiples of 16.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t::CUBLAS_OP_T;
use cudarc::cublaslt::sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
use cudarc::cublaslt::sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA;
use cudarc::cublaslt::sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
use cudarc::cublaslt::sys::cudaDataType_t::{
    CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F,
};
use cudarc::cublaslt::{result, sys};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use lab::libraries::CUBLAS_LT;
use lab::{Case, Lab, Result, check};

use crate::matrix::{Element, Product};

/// What NVIDIA recommends for Hopper.
const WORKSPACE_BYTES: usize = 32 << 20;

/// Whether this machine multiplies FP8; if not, skipped.
pub(crate) fn is_there(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<bool> {
    let why = if stream.context().compute_capability()? < (8, 9) {
        "needs tensor cores for FP8: compute capability 8.9".into()
    } else if !CUBLAS_LT.load() {
        format!("cuBLASLt was not found; install it: {}", CUBLAS_LT.install)
    } else if let Err(error) = Plan::new(256) {
        format!("this cuBLASLt cannot multiply FP8 on this GPU: {error}")
    } else {
        return Ok(true);
    };
    lab.skip(Case::new("cublas").with("element", u8::NAME), why);
    Ok(false)
}

/// Compares each element of this product.
pub(crate) fn check(stream: &Arc<CudaStream>, product: &Product) -> Result<()> {
    let (mut operands, expected) =
        (Operands::of(stream, product)?, product.expected::<u16>());
    operands.multiply()?;
    let elements = expected.len();
    check::output("cublas", stream, &operands.c, elements, |i| expected[i])?;
    Ok(())
}

/// Times this product.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    product: &Product,
) -> Result<()> {
    let n = product.side();
    let mut operands = Operands::of(stream, product)?;
    let expected = product.expected::<u16>();
    operands.multiply()?; // cuBLAS may load a kernel when it needs it
    stream.memset_zeros(&mut operands.c)?;
    let bytes_written = n * n * size_of::<u16>();
    let timed = Case::new("cublas")
        .with("side", n)
        .with("element", u8::NAME)
        .reads(2 * n * n)
        .writes(bytes_written)
        .computes(2 * n * n * n)
        .footprint(2 * n * n + bytes_written, lab.l2_bytes())
        .time_on_gpu(lab, stream, |_| operands.multiply())?;
    let c = operands.c.slice(..n * n);
    timed.check_device(stream, &c, |i| expected[i])?.record(lab)
}

/// The matrices on the GPU, guard words behind their product, and what cuBLASLt needs besides.
pub(crate) struct Operands {
    stream: Arc<CudaStream>,
    /// The plan for matrices of this size.
    plan: Plan,
    a: CudaSlice<u8>,
    /// The right matrix, column by column.
    b: CudaSlice<u8>,
    pub(crate) c: CudaSlice<u16>,
    workspace: CudaSlice<u8>,
}

impl Operands {
    fn of(stream: &Arc<CudaStream>, product: &Product) -> Result<Operands> {
        let (a, b) = (product.left::<u8>(), product.right_by_columns::<u8>());
        Operands::new(stream, product.side(), &a, &b)
    }

    /// The left matrix row by row, the right one column by column.
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        side: usize,
        a: &[u8],
        b: &[u8],
    ) -> Result<Operands> {
        Ok(Operands {
            stream: stream.clone(),
            plan: Plan::new(side)?,
            a: stream.clone_htod(a)?,
            b: stream.clone_htod(b)?,
            c: stream.alloc_zeros(side * side + check::GUARD)?,
            workspace: stream.alloc_zeros(WORKSPACE_BYTES)?,
        })
    }

    /// Enqueues c = a · b.
    pub(crate) fn multiply(&mut self) -> Result<()> {
        let plan = &self.plan;
        let address = |matrix: &CudaSlice<u8>| {
            matrix.device_ptr(&self.stream).0 as *const c_void
        };
        let (a, b) = (address(&self.a), address(&self.b));
        let c = self.c.device_ptr_mut(&self.stream).0 as *mut c_void;
        let workspace = self.workspace.device_ptr_mut(&self.stream).0 as *mut c_void;
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the plan is of matrices of n * n elements, as these are, and alive; the factors
        // are floats, as it says. cuBLAS counts columns first, so it gets b before a, and b
        // column by column is to it a matrix to transpose.
        unsafe {
            result::matmul(
                plan.library,
                plan.product,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                b,
                plan.of_inputs,
                a,
                plan.of_inputs,
                c,
                plan.of_output,
                c,
                plan.of_output,
                &plan.algorithm,
                workspace,
                WORKSPACE_BYTES,
                self.stream.cu_stream().cast(),
            )
        }?;
        Ok(())
    }
}

/// How cuBLASLt multiplies matrices of one size.
struct Plan {
    library: sys::cublasLtHandle_t,
    product: sys::cublasLtMatmulDesc_t,
    of_inputs: sys::cublasLtMatrixLayout_t,
    of_output: sys::cublasLtMatrixLayout_t,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

impl Plan {
    fn new(side: usize) -> Result<Plan> {
        let (rows, stride) = (side as u64, side as i64);
        let layout =
            |format| result::create_matrix_layout(format, rows, rows, stride);
        let preference = result::create_matmul_pref()?;
        let mut plan = Plan {
            library: result::create_handle()?,
            product: result::create_matmul_desc(CUBLAS_COMPUTE_32F, CUDA_R_32F)?,
            of_inputs: layout(CUDA_R_8F_E4M3)?,
            of_output: layout(CUDA_R_16BF)?,
            algorithm: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
        };
        let (transposed, most_bytes) = (CUBLAS_OP_T, WORKSPACE_BYTES);
        // SAFETY: all of these were made above; an operation is 4 bytes, a size 8.
        unsafe {
            result::set_matmul_desc_attribute(
                plan.product,
                CUBLASLT_MATMUL_DESC_TRANSA,
                (&raw const transposed).cast(),
                size_of_val(&transposed),
            )?;
            result::set_matmul_pref_attribute(
                preference,
                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const most_bytes).cast(),
                size_of_val(&most_bytes),
            )?;
            let best = result::get_matmul_algo_heuristic(
                plan.library,
                plan.product,
                plan.of_inputs,
                plan.of_inputs,
                plan.of_output,
                plan.of_output,
                preference,
            )?;
            plan.algorithm = best.algo;
            result::destroy_matmul_pref(preference)?;
        }
        Ok(plan)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and used by nothing else. Errors have no one to go to.
        unsafe {
            let _ = result::destroy_matrix_layout(self.of_inputs);
            let _ = result::destroy_matrix_layout(self.of_output);
            let _ = result::destroy_matmul_desc(self.product);
            let _ = result::destroy_handle(self.library);
        }
    }
}
