//! What tells kinds of one model of GPU apart: gathers in a random order, whose time hangs on
//! the memory's chips more than on anything else.
//!
//! They run after a lesson, so that they change nothing that it measures, and are what the
//! lesson `gather` times with a table of 1 GiB: so records made before are comparable.

use std::sync::Arc;

use anyhow::{Context, Result};
use cudarc::driver::{CudaContext, CudaSlice, result};

use crate::check::{every_element, value};
use crate::launch::threads;
use crate::timing::{Sampling, by_events};

// SAFETY: `fill` writes `count` words, `make_indices` 2^count_bits indices, each less than
// 2^table_bits; `gather` uses `count` of them, and as many results.
crate::kernels! { unsafe "gather" {
    fn fill(words: &mut CudaSlice<u32>, count: usize);
    fn make_indices(
        indices: &mut CudaSlice<u32>,
        count_bits: u32, table_bits: u32, group_bits: u32, step_bits: u32,
    );
    fn gather(
        table: &CudaSlice<u32>, indices: &CudaSlice<u32>,
        results: &mut CudaSlice<u32>, count: u32,
    );
} }

const SAMPLES: u32 = 5;
/// Results that are compared.
const CHECKED: usize = 1 << 20;

/// Words of the table and indices into it, as powers of two.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) table_bits: u32,
    pub(crate) count_bits: u32,
}

impl Size {
    pub(crate) const FULL: Size = Size { table_bits: 28, count_bits: 26 };
    /// For an emulated GPU, which is to say only that results are right.
    pub(crate) const SMALL: Size = Size { table_bits: 14, count_bits: 10 };
}

/// Seconds of each gather; none if there is no room.
pub(crate) fn take(
    context: &Arc<CudaContext>,
    Size { table_bits, count_bits }: Size,
) -> Result<Vec<f64>> {
    context.bind_to_thread()?;
    let (table_words, count) = (1usize << table_bits, 1usize << count_bits);
    let bytes = (table_words + 2 * count) * size_of::<u32>();
    if result::mem_get_info()?.0 < bytes + bytes / 4 {
        return Ok(vec![]);
    }
    let module = context.load_module(KERNEL.ptx()?.0)?;
    let (kernels, stream) = (Kernels::of(&module)?, context.new_stream()?);
    let mut table = stream.alloc_zeros(table_words)?;
    let (mut indices, mut results) = (stream.alloc_zeros(count)?, stream.alloc_zeros(count)?);
    kernels.fill(&stream, threads(1 << 20), &mut table, table_words)?;
    let grid = threads(count);
    kernels.make_indices(&stream, grid, &mut indices, count_bits, table_bits, count_bits, 0)?;
    let samples = by_events(&stream, Sampling::exactly(SAMPLES), &mut |_| {
        kernels.gather(&stream, grid, &table, &indices, &mut results, count as u32)
    })?;
    let some = count.min(CHECKED);
    let indices = stream.clone_dtoh(&indices.slice(..some))?;
    let results = stream.clone_dtoh(&results.slice(..some))?;
    stream.synchronize()?;
    every_element("the gather after the experiment", &results, |i| value(indices[i] as usize))
        .context("the GPU's memory is not to be trusted")?;
    Ok(samples.seconds)
}

#[cfg(test)]
mod tests {
    use test_driver::alone;

    use super::*;

    #[test]
    fn gathers_are_timed_and_checked_where_there_is_room() {
        alone(&[], || {
            let context = CudaContext::new(0).unwrap();
            let samples = |size| take(&context, size).unwrap().len();
            assert_eq!(samples(Size::SMALL), SAMPLES as usize);
            assert_eq!(samples(Size::FULL), 0);
        });
    }
}
