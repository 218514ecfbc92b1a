//! How results are compared: by a kernel, at all sizes; and, to trust it, by the host.

use anyhow::ensure;
use lab::{Result, check};

use crate::device::{Ranks, grid};
use crate::ways::Method;

/// Elements that are compared by the host; nothing divides them.
pub(crate) const RAGGED: usize = 10_007;

impl Ranks {
    /// Compares every element of every output with the sum, on the GPU that has it.
    /// Returns how many elements there are, and how many are wrong.
    pub(crate) fn compare(&mut self, count: usize) -> Result<(u64, u64)> {
        let (mut wrong, gpus) = (0, self.each.len());
        for gpu in &self.each {
            let mut found = gpu.stream.alloc_zeros::<u64>(1)?;
            let gpus = gpus as u32;
            let grid = grid(2 * self.blocks);
            gpu.kernels.compare(
                &gpu.stream,
                grid,
                &gpu.output,
                count,
                gpus,
                &mut found,
            )?;
            wrong += gpu.stream.clone_dtoh(&found)?[0];
            let stuck = gpu.stream.clone_dtoh(&gpu.stuck)?[0];
            ensure!(
                stuck == 0,
                "a GPU waited for another for two seconds, and gave up"
            );
        }
        Ok(((count * gpus) as u64, wrong))
    }

    /// Compares every element of every output; wrong ones are an error.
    pub(crate) fn check(&mut self, method: Method, count: usize) -> Result<u64> {
        let (elements, wrong) = self.compare(count)?;
        let name = method.name();
        ensure!(wrong == 0, "{name}: {wrong} of {elements} elements are wrong");
        Ok(elements)
    }

    /// The kernel has to find every cleared element wrong; and what a method makes of a size
    /// that nothing divides, the host compares, too.
    pub(crate) fn check_on_host(&mut self, method: Method) -> Result<()> {
        let gpus = self.each.len();
        self.clear()?;
        let (elements, wrong) = self.compare(RAGGED)?;
        ensure!(
            wrong == elements,
            "of {elements} cleared elements {wrong} are wrong"
        );
        method.queue(self, RAGGED)?;
        self.check(method, RAGGED)?;
        for gpu in &self.each {
            let sum = |i| (0..gpus).map(|gpu| value(gpu, i)).sum();
            check::output(method.name(), &gpu.stream, &gpu.output, RAGGED, sum)?;
        }
        Ok(())
    }
}

/// What the kernel `fill` puts into element i of a GPU's input.
fn value(gpu: usize, i: usize) -> f32 {
    let (i, gpu) = (i as u32, gpu as u32);
    let word =
        i.wrapping_mul(2_654_435_761).wrapping_add(gpu.wrapping_mul(2_246_822_519));
    (word >> 12) as f32
}
