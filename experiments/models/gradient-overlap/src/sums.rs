//! How gradients are summed over all GPUs: by NCCL, or by our own kernel.

use std::ops::Range;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::nccl::{ReduceOp, group_end, group_start};
use lab::{Result, nccl};

use crate::gpus::{BESIDE, Gpu, Gpus, PRODUCTS};

/// As in the kernel file.
pub(crate) const MOST_GPUS: usize = 8;

// SAFETY: each GPU has access to the gradients of all others, which have `first + count`
// elements at least.
lab::kernels! { unsafe "gradient-overlap" {
    fn sum(
        gradients: [CUdeviceptr; MOST_GPUS], first: usize, count: usize, rank: u32, gpus: u32,
    );
} }

impl Gpus {
    // ANCHOR: all_reduce
    /// Sums the gradients of these layers over all GPUs, in either of their streams. Beside the
    /// products it begins as soon as all gradients are there that have been queued so far.
    pub(crate) fn all_reduce(
        &mut self,
        layers: Range<usize>,
        which: usize,
    ) -> Result<()> {
        for Gpu { streams, marks, .. } in
            self.each.iter().filter(|_| which == BESIDE)
        {
            marks[PRODUCTS].record(&streams[PRODUCTS])?;
            streams[BESIDE].wait(&marks[PRODUCTS])?;
        }
        let place = self.shape.of(&layers);
        let Some(comms) = self.comms.get(which) else {
            return self.launch_sums(place, which);
        };
        nccl::check("begin a group", group_start())?;
        for (gpu, comm) in self.each.iter_mut().zip(comms) {
            let mut gradients = gpu.gradients.slice_mut(place.clone());
            let queued = comm.all_reduce_in_place(&mut gradients, &ReduceOp::Sum);
            nccl::check("queue an all-reduce", queued)?;
        }
        nccl::check("start an all-reduce", group_end())?;
        Ok(())
    }
    // ANCHOR_END: all_reduce

    /// The same with our kernel. Every GPU reads all others' gradients, and so waits for them.
    fn launch_sums(&self, place: Range<usize>, which: usize) -> Result<()> {
        for gpu in &self.each {
            gpu.marks[which].record(&gpu.streams[which])?;
        }
        let count = self.each.len();
        for (rank, gpu) in self.each.iter().enumerate() {
            let stream = &gpu.streams[which];
            self.each
                .iter()
                .try_for_each(|other| stream.wait(&other.marks[which]))?;
            let grid = lab::launch::threads(place.len().div_ceil(count));
            let (rank, gpus, first) = (rank as u32, count as u32, place.start);
            gpu.kernels.sum(
                stream,
                grid,
                self.gradients,
                first,
                place.len(),
                rank,
                gpus,
            )?;
        }
        Ok(())
    }
}
