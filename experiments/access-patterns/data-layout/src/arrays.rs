//! The elements and their sums, the kernels that use both, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::{every_element, value};
use lab::launch::threads;
use lab::{Lab, Result};

use crate::model::{Layout, MOST_FIELDS};

// SAFETY: threads at or past `count` do nothing. The others use the fields of their
// element, in whole tiles of 2^shift elements, and their sum; `Arrays` has room for the
// most fields.
lab::kernels! { unsafe "data-layout" {
    fn access[
        "read1", "read2", "read3", "read4", "read8", "read16", "read8_vectors",
        "write1", "write3", "write4", "write8", "write16", "write8_vectors",
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
        self.launch(&layout.kernel("write"), layout)?;
        let got = self.stream.clone_dtoh(&self.elements)?;
        let fields = layout.fields;
        let places =
            (0..layout.count * fields).map(|k| layout.place(k / fields, k % fields));
        let found: Vec<u32> = places.map(|place| got[place]).collect();
        every_element("fields", &found, |k| {
            field(k as u32 / fields, k as u32 % fields)
        })?;
        self.launch(&layout.kernel("read"), layout)?;
        self.check_sums(layout)
    }

    /// Every sum must be that of the used fields.
    pub(crate) fn check_sums(&self, layout: &Layout) -> Result<u64> {
        let count = layout.count as usize;
        let got = self.stream.clone_dtoh(&self.sums.slice(..count))?;
        every_element("sums", &got, |i| {
            let used = (0..layout.used).map(|f| field(i as u32, f));
            used.fold(0, u32::wrapping_add)
        })
    }
}

/// What field `f` of element `i` holds, as in the kernel.
fn field(i: u32, f: u32) -> u32 {
    value((i.wrapping_mul(16) + f) as usize)
}
