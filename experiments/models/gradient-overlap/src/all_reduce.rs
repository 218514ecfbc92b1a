//! The all-reduce of some layers' gradients: by NCCL, or by our own kernel.

use std::ops::Range;

use cudarc::nccl::{group_end, group_start};
use lab::{Result, nccl};

use crate::communicator::{Stream, Sums};
use crate::device::Trainers;

impl Trainers {
    // ANCHOR: all_reduce
    /// Sums the gradients of these layers over all GPUs. Beside the products it begins as soon
    /// as all gradients are there that have been queued so far.
    pub(crate) fn all_reduce(&self, layers: Range<usize>, sums: Sums) -> Result<()> {
        if sums.stream == Stream::Beside {
            for trainer in &self.each {
                let (products, beside) = (&trainer.products, &trainer.beside);
                products.mark.record(&products.stream)?;
                beside.stream.wait(&products.mark)?;
            }
        }
        let place = self.shape.of(&layers);
        let Some(communicator) = self.communicator(sums) else {
            return self.launch_sums(place, sums.stream);
        };
        nccl::check("begin a group", group_start())?;
        for (rank, trainer) in self.each.iter().enumerate() {
            let stream = &trainer.queue(sums.stream).stream;
            let first =
                self.gradients[rank] + (place.start * size_of::<f32>()) as u64;
            // SAFETY: so many gradients are there, and stay as long as the stream.
            unsafe { communicator.sum(rank, first, place.len(), stream) }?;
        }
        nccl::check("start an all-reduce", group_end())?;
        Ok(())
    }
    // ANCHOR_END: all_reduce

    /// Sums with our kernel. Every GPU reads all others' gradients, and so waits for them.
    fn launch_sums(&self, place: Range<usize>, stream: Stream) -> Result<()> {
        let queues = || self.each.iter().map(|trainer| trainer.queue(stream));
        queues().try_for_each(|queue| queue.mark.record(&queue.stream))?;
        let (count, length) = (self.each.len(), place.len());
        let grid = lab::launch::threads(length.div_ceil(count));
        for (rank, trainer) in self.each.iter().enumerate() {
            let stream = &trainer.queue(stream).stream;
            queues().try_for_each(|queue| stream.wait(&queue.mark))?;
            let (rank, gpus, first) = (rank as u32, count as u32, place.start);
            let (kernels, gradients) = (&trainer.kernels, self.gradients);
            kernels.sum(stream, grid, gradients, first, length, rank, gpus)?;
        }
        Ok(())
    }
}
