//! The elements and their sums, the kernels that use both, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::{self, every_element, value};
use lab::launch::threads;
use lab::{Lab, Result};

use crate::model::{Access, Layout, MOST_FIELDS};

// SAFETY: threads at or past `count` do nothing. The others use the fields of their
// element, in whole tiles of 2^shift elements, and their sum; `Arrays` has room for the
// most fields.
lab::kernels! { unsafe "data-layout" {
    fn access[
        "read1", "read2", "read3", "read4", "read8", "read16", "read8_vectors",
        "write1", "write2", "write3", "write4", "write8", "write16", "write8_vectors",
    ](
        elements: &mut CudaSlice<u32>, sums: &mut CudaSlice<u32>,
        count: u32, fields: u32, shift: u32,
    );
} }

/// The elements, and for each the sum of the fields that were read.
pub(crate) struct Arrays {
    elements: CudaSlice<u32>,
    sums: CudaSlice<u32>,
    kernels: Kernels,
    pub(crate) stream: Arc<CudaStream>,
}

impl Arrays {
    pub(crate) fn new(lab: &Lab, count: usize) -> Result<Arrays> {
        let stream = lab.context().new_stream()?;
        Ok(Arrays {
            elements: stream.alloc_zeros(count * MOST_FIELDS as usize)?,
            sums: stream.alloc_zeros(count)?,
            kernels: Kernels::load(lab)?,
            stream,
        })
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        self.stream.memset_zeros(&mut self.sums)?;
        Ok(self.stream.memset_zeros(&mut self.elements)?)
    }

    pub(crate) fn launch(&mut self, kernel: &str, layout: &Layout) -> Result<()> {
        let Layout { count, shift, fields, .. } = *layout;
        let Arrays { elements, sums, kernels, stream } = self;
        let grid = threads(count as usize);
        kernels.access(kernel, stream, grid, elements, sums, count, fields, shift)
    }

    /// Writes all fields and compares where they are; reads them and compares the sums.
    pub(crate) fn check_places(&mut self, layout: &Layout) -> Result<u64> {
        self.clear()?;
        self.launch(&layout.kernel(Access::Write), layout)?;
        let Layout { count, fields, .. } = *layout;
        // Up to the last field, and past it.
        let last = layout.place(count - 1, fields - 1);
        let end = self.elements.len().min(last + 1 + check::GUARD);
        let got = self.stream.clone_dtoh(&self.elements.slice(..end))?;
        let mut expected = vec![0; end];
        for (i, f) in (0..count).flat_map(|i| (0..fields).map(move |f| (i, f))) {
            expected[layout.place(i, f)] = field(i, f);
        }
        every_element("fields", &got, |word| expected[word])?;
        // There are more elements than are read.
        let more = Layout { count: count + 1, ..*layout };
        self.launch(&layout.kernel(Access::Write), &more)?;
        self.launch(&layout.kernel(Access::Read), layout)?;
        self.check_sums(layout)
    }

    /// Every sum must be that of the used fields.
    pub(crate) fn check_sums(&self, layout: &Layout) -> Result<u64> {
        let count = layout.count as usize;
        check::output("sums", &self.stream, &self.sums, count, |i| {
            let used = (0..layout.used).map(|f| field(i as u32, f));
            used.fold(0, u32::wrapping_add)
        })
    }
}

/// What field `f` of element `i` holds, as in the kernel.
fn field(i: u32, f: u32) -> u32 {
    value((i.wrapping_mul(16) + f) as usize)
}
