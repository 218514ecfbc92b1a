//! The weights on the GPU, the kernels, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::check::{every_element, shuffled, untouched};
use lab::{Lab, Result, check, launch};

use crate::COLUMNS;
use crate::formats::{Packed, Scheme, pack};

// SAFETY: the kernels read `rows` rows of `columns` weights, which is at most `COLUMNS` and
// fills chunks, the scales of these rows' groups and `columns` elements of `x`, and write
// `rows` elements of `y`; a `Product` has as many. `int4_tensor` takes at least 32 rows, and
// groups of at least 128 weights.
lab::kernels! { unsafe "quantised-weights" {
    fn product[
        "fp32", "fp16", "bf16", "int8", "int8_bits", "int4", "int4_bits",
        "int4_ahead", "int4_pairs", "int4_tensor",
    ](
        weights: &CudaSlice<u32>, scales: &CudaSlice<u16>, x: &CudaSlice<f32>,
        y: &mut CudaSlice<f32>, rows: u32, columns: u32, group_bits: u32,
    );
} }

/// Rows that differ. The matrix repeats them, so that the host need not make, and
/// multiply, a billion weights. No warp's rows divide 61, so that a row out of place shows.
const DIFFERENT_ROWS: usize = 61;
const THREADS: usize = 256;

/// The kernels, and the floats that all matrices are made of.
pub(crate) struct Products {
    kernels: Kernels,
    stream: Arc<CudaStream>,
    grid: LaunchConfig,
    weights: Vec<f32>,
    x: Vec<f32>,
}

impl Products {
    pub(crate) fn new(lab: &Lab) -> Result<Products> {
        // 0 to 2^20 in a random order; four of them make a weight, so that most are small.
        let random = shuffled(1 << 20);
        let unit =
            |i: usize| random[i % random.len()] as f32 / (1 << 19) as f32 - 1.0;
        let weight =
            |i: usize| (0..4).map(|k| unit(i + k * 65_537)).sum::<f32>() / 64.0;
        Ok(Products {
            kernels: Kernels::load(lab)?,
            stream: lab.context().new_stream()?,
            // Half of what the GPU can hold: the kernels take twice the registers for that.
            grid: launch::blocks(lab.resident_threads()? / 2 / THREADS, THREADS),
            weights: (0..DIFFERENT_ROWS * COLUMNS).map(weight).collect(),
            x: (0..COLUMNS).map(|i| unit(3 * i + 1)).collect(),
        })
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Rows that all warps together take at once, each so many.
    pub(crate) fn rows_at_once(&self, of_a_warp: usize) -> usize {
        self.grid.grid_dim.0 as usize * THREADS / 32 * of_a_warp
    }

    /// Makes a matrix of `rows` rows, and clears y.
    pub(crate) fn prepare(
        &self,
        scheme: Scheme,
        rows: usize,
        columns: usize,
    ) -> Result<Product<'_>> {
        let stream = &self.stream;
        let rounded =
            pack(&self.weights[..DIFFERENT_ROWS * columns], columns, scheme);
        Ok(Product {
            products: self,
            scheme,
            rows,
            columns,
            weights: repeated(stream, &rounded.words, rows)?,
            scales: repeated(stream, &rounded.scales, rows)?,
            x: stream.clone_htod(&self.x[..columns])?,
            y: stream.alloc_zeros(rows + check::GUARD)?,
            rounded,
        })
    }

    /// Multiplies once and compares, without timing.
    pub(crate) fn run_once(
        &self,
        scheme: Scheme,
        rows: usize,
        columns: usize,
    ) -> Result<()> {
        let mut product = self.prepare(scheme, rows, columns)?;
        product.launch()?;
        product.check().map(drop)
    }
}

/// `DIFFERENT_ROWS` rows, repeated until there are `rows`; nothing of no scales.
fn repeated<T>(
    stream: &Arc<CudaStream>,
    some: &[T],
    rows: usize,
) -> Result<CudaSlice<T>>
where
    T: cudarc::driver::DeviceRepr + cudarc::driver::ValidAsZeroBits,
{
    let length = some.len() / DIFFERENT_ROWS * rows;
    let mut all = stream.alloc_zeros(length.max(1))?;
    let mut made = length.min(some.len());
    stream.memcpy_htod(&some[..made], &mut all.slice_mut(..made))?;
    while made < length {
        let more = made.min(length - made);
        let (from, mut to) = all.split_at_mut(made);
        stream.memcpy_dtod(&from.slice(..more), &mut to.slice_mut(..more))?;
        made += more;
    }
    Ok(all)
}

/// One matrix in one format, with x and y.
pub(crate) struct Product<'a> {
    products: &'a Products,
    scheme: Scheme,
    rows: usize,
    columns: usize,
    weights: CudaSlice<u32>,
    scales: CudaSlice<u16>,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
    rounded: Packed,
}

impl Product<'_> {
    /// Bytes of the weights and their scales.
    pub(crate) fn bytes(&self) -> usize {
        let scales =
            if self.rounded.scales.is_empty() { 0 } else { self.scales.num_bytes() };
        self.weights.num_bytes() + scales
    }

    pub(crate) fn launch(&mut self) -> Result<()> {
        let Products { kernels, stream, grid, .. } = self.products;
        let Scheme { kernel, group_bits, .. } = self.scheme;
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let (weights, scales, x, y) =
            (&self.weights, &self.scales, &self.x, &mut self.y);
        kernels.product(
            kernel, stream, *grid, weights, scales, x, y, rows, columns, group_bits,
        )
    }

    /// Compares every element of y with what the rounded weights give, in double precision.
    /// How many there are, and how far y is from what the FP32 weights give, as a share of
    /// its length: what rounding the weights costs.
    pub(crate) fn check(&self) -> Result<(u64, f64)> {
        let (stream, x) = (&self.products.stream, &self.products.x[..self.columns]);
        let (what, rows) = (self.scheme.kernel, self.rows);
        untouched(what, stream, &self.y, rows)?;
        let y = stream.clone_dtoh(&self.y.slice(..rows))?;
        stream.synchronize()?;

        let rounding = (self.scheme.rounding)(self.columns);
        let of_rounded: Vec<(f32, f32)> =
            self.of_each_row(&self.rounded.values, |row| {
                let terms =
                    row.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
                let (sum, size) =
                    terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                (sum as f32, (size * rounding) as f32)
            });
        let checked = every_element(what, &y, |row| {
            let (expected, tolerance) = of_rounded[row % DIFFERENT_ROWS];
            if (y[row] - expected).abs() <= tolerance { y[row] } else { expected }
        })?;

        let of_floats = self.of_each_row(&self.products.weights, |row| {
            row.iter()
                .zip(x)
                .map(|(w, x)| f64::from(*w) * f64::from(*x))
                .sum::<f64>()
        });
        let (mut wrong, mut all) = (0.0, 0.0);
        for (row, got) in y.iter().enumerate() {
            let exact = of_floats[row % DIFFERENT_ROWS];
            wrong += (f64::from(*got) - exact).powi(2);
            all += exact.powi(2);
        }
        Ok((checked, (wrong / all).sqrt()))
    }

    fn of_each_row<T>(&self, weights: &[f32], of: impl Fn(&[f32]) -> T) -> Vec<T> {
        weights.chunks(self.columns).take(DIFFERENT_ROWS).map(of).collect()
    }
}
