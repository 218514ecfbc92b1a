//! # Do two matrix products in two streams run at the same time?
//!
//! Page: `book/src/streams/concurrent-kernels.md`, the last part. Its sections show each
//! file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | Two matmuls | two products in one stream and in two |
//!
//! The chapter's example of streams: in each of two, CuPy multiplies a matrix of side 1000
//! by itself. Here cuBLAS, on which CuPy's product rests, does the same with matrices of
//! several sides. CuPy's `randn` makes elements of 64 bits, so those are timed as well as
//! floats of 32 bits.
//!
//! ```text
//! one stream    stream 1  product 1 ─ product 2
//! two streams   stream 1  product 1
//!               stream 2  product 2
//! ```
//!
//! **Prediction:** a large product fills the GPU by itself, and a second one beside it only
//! shares it. At side 1000 two streams save less than 10% of the time of one; at side 250,
//! where a product has too few blocks for all multiprocessors, 40% or more.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t::CUBLAS_OP_N;
use cudarc::cublas::{CudaBlas, Gemm, GemmConfig};
use cudarc::driver::{CudaStream, DeviceRepr, ValidAsZeroBits};
use lab::libraries::CUBLAS;
use lab::{Case, Lab, Result, check};

/// Sides of the matrices; the chapter has 1000.
const SIDES: [usize; 7] = [125, 250, 500, 1000, 1500, 2000, 4000];

fn main() -> ExitCode {
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two streams, if there is cuBLAS to run in them.
    let streams = [lab.context().new_stream()?, lab.context().new_stream()?];
    if !CUBLAS.load() {
        let why = format!("cuBLAS was not found; install it: {}", CUBLAS.install);
        lab.skip(Case::new("product"), why);
        return Ok(());
    }
    products::<f32>(lab, &streams, "f32")?;
    products::<f64>(lab, &streams, "f64")
}

/// Two products of square matrices by cuBLAS.
fn products<T>(
    lab: &mut Lab,
    streams: &[Arc<CudaStream>; 2],
    element: &str,
) -> Result<()>
where
    CudaBlas: Gemm<T>,
    T: DeviceRepr + ValidAsZeroBits + From<u8> + Copy,
    f64: From<T>,
{
    let [first, second] = streams;
    let event = || lab.context().new_event(None);
    let (fork, join) = (event()?, event()?);
    let libraries = [CudaBlas::new(first.clone())?, CudaBlas::new(second.clone())?];
    for side in SIDES {
        // 2. A matrix of small whole numbers, so that every sum is exact, and its square.
        let host: Vec<T> =
            (0..side * side).map(|i| T::from(entry(i / side, i % side))).collect();
        let matrix = first.clone_htod(&host)?;
        let square = squared(side);
        let n = side as i32;
        let config = GemmConfig {
            transa: CUBLAS_OP_N,
            transb: CUBLAS_OP_N,
            m: n,
            n,
            k: n,
            alpha: T::from(1),
            lda: n,
            ldb: n,
            beta: T::from(0),
            ldc: n,
        };
        for (streams, timed) in [(1, "gpu"), (2, "gpu"), (1, "host"), (2, "host")] {
            let output = || first.alloc_zeros::<T>(side * side);
            let mut outputs = [output()?, output()?];
            first.synchronize()?;
            // ANCHOR: products
            // Either way the second stream begins when the first gets here, and the first
            // goes on when both are done.
            let mut both = || -> Result<()> {
                let [one, other] = &mut outputs;
                fork.record(first)?;
                second.wait(&fork)?;
                // SAFETY: each has three matrices of side * side elements.
                unsafe {
                    libraries[0].gemm(config, &matrix, &matrix, one)?;
                    libraries[streams - 1].gemm(config, &matrix, &matrix, other)?;
                }
                join.record(second)?;
                Ok(first.wait(&join)?)
            };
            // ANCHOR_END: products
            // 3. Queued before they start; and called by a host that waits for both.
            both()?; // cuBLAS may load a kernel when it needs it
            let case = Case::new("product").with("timed", timed);
            let case = case.with("element", element).with("streams", streams);
            let case = case.with("side", side);
            let mut timed = match timed {
                "gpu" => case.time_on_gpu(lab, first, |_| both())?,
                "host" => case.time_on_host(lab, || {
                    both().and_then(|()| Ok(first.synchronize()?))
                })?,
                other => unreachable!("{other}"),
            };
            for output in &outputs {
                let got = first.clone_dtoh(output)?;
                let got: Vec<f64> = got.into_iter().map(f64::from).collect();
                timed = timed.check(&got, |i| square[i])?;
            }
            timed.record(lab)?;
        }
    }
    Ok(())
}

/// Row i, column k of the matrix: the sum of two columns times rows, so that the host
/// needs few operations for its square.
fn entry(i: usize, k: usize) -> u8 {
    small(0, i) * small(1, k) + small(2, i) * small(3, k)
}

/// 0 to 3, without a pattern.
fn small(which: usize, i: usize) -> u8 {
    (check::value(4 * i + which) >> 30) as u8
}

/// The square of the matrix, row by row.
fn squared(side: usize) -> Vec<f64> {
    let of = |which, i| f64::from(small(which, i));
    let dot =
        |row, column| -> f64 { (0..side).map(|k| of(row, k) * of(column, k)).sum() };
    let dots = [[dot(1, 0), dot(1, 2)], [dot(3, 0), dot(3, 2)]];
    let element = |i, j| {
        let right = |a: usize| dots[a][0] * of(1, j) + dots[a][1] * of(3, j);
        of(0, i) * right(0) + of(2, i) * right(1)
    };
    (0..side * side).map(|at| element(at / side, at % side)).collect()
}
