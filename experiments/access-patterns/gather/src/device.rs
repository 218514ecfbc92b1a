//! The table, the indices, the kernels that use both, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::{self, every_element, value};
use lab::launch::threads;
use lab::{Lab, Result};

use crate::model::Pick;

// SAFETY: `fill` writes `count` words, `make_indices` 2^count_bits indices, each less than
// 2^table_bits. `gather` and `scatter` use `count` elements of `indices` and `contiguous`,
// and of the table those that the indices name; `pieces` a word of `contiguous` for every
// warp, an index for every piece and the pieces that these name. `Arrays` has room for that.
lab::kernels! { unsafe "gather" {
    fn fill(words: &mut CudaSlice<u32>, count: usize);
    fn make_indices(
        indices: &mut CudaSlice<u32>,
        count_bits: u32, table_bits: u32, group_bits: u32, step_bits: u32,
    );
    fn pieces(
        table: &CudaSlice<u32>, indices: &CudaSlice<u32>, sums: &mut CudaSlice<u32>,
        piece_bits: u32, count: u32,
    );
    fn access["gather", "scatter"](
        table: &mut CudaSlice<u32>, indices: &CudaSlice<u32>,
        contiguous: &mut CudaSlice<u32>, count: u32,
    );
} }

lab::words! {
    /// Out of the table, or into it.
    pub(crate) enum Access { Gather = "gather", Scatter = "scatter" }
}

/// The table, the indices, and what comes from the table or goes there.
pub(crate) struct Arrays {
    pub(crate) table: CudaSlice<u32>,
    pub(crate) indices: CudaSlice<u32>,
    pub(crate) contiguous: CudaSlice<u32>,
    /// The indices on the host, for the check.
    on_host: Vec<u32>,
    pub(crate) kernels: Kernels,
    pub(crate) stream: Arc<CudaStream>,
}

impl Arrays {
    pub(crate) fn new(lab: &Lab, count: usize, table: usize) -> Result<Arrays> {
        let stream = lab.context().new_stream()?;
        Ok(Arrays {
            table: stream.alloc_zeros(table)?,
            indices: stream.alloc_zeros(count)?,
            contiguous: stream.alloc_zeros(count)?,
            on_host: vec![0; count],
            kernels: Kernels::load(lab)?,
            stream,
        })
    }

    /// Makes the indices, fills what the kernel reads and clears what it writes.
    pub(crate) fn prepare(&mut self, access: Access, pick: &Pick) -> Result<()> {
        let Pick { count_bits: bits, table_bits, group_bits, step_bits } = *pick;
        let Arrays { table, indices, contiguous, kernels, stream, .. } = self;
        let grid = threads(1 << bits);
        kernels.make_indices(
            stream, grid, indices, bits, table_bits, group_bits, step_bits,
        )?;
        let (read, written) = match access {
            Access::Gather => (table, contiguous),
            Access::Scatter => (contiguous, table),
        };
        stream.memset_zeros(written)?;
        let count = read.len();
        kernels.fill(stream, threads(1 << 20), read, count)
    }

    pub(crate) fn launch(&mut self, access: Access, count: usize) -> Result<()> {
        let Arrays { table, indices, contiguous, kernels, stream, .. } = self;
        let (kernel, grid, count) = (access.name(), threads(count), count as u32);
        kernels.access(kernel, stream, grid, table, indices, contiguous, count)
    }

    /// Compares every element; what was scattered is gathered first.
    pub(crate) fn check(
        &mut self,
        access: Access,
        pick: &Pick,
        count: usize,
    ) -> Result<u64> {
        if access == Access::Scatter {
            self.stream.memset_zeros(&mut self.contiguous)?;
            // With what the next indices name, which must not have been written.
            self.launch(
                Access::Gather,
                self.indices.len().min(count + check::GUARD),
            )?;
        }
        let indices = &mut self.on_host[..count];
        self.stream.memcpy_dtoh(&self.indices.slice(..count), indices)?;
        self.stream.synchronize()?;
        let some = &indices[..count.min(100_003)];
        every_element("indices", some, |i| pick.index(i as u32))?;
        check::output(access.name(), &self.stream, &self.contiguous, count, |i| {
            value(match access {
                Access::Gather => indices[i] as usize,
                Access::Scatter => i,
            })
        })
    }
}
