//! Whether the gradients are right.

use lab::Result;
use lab::check::output;

use crate::gpus::{Gpu, Gpus, PRODUCTS};

impl Gpus {
    /// Clears what a step writes.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.wait()?;
        for Gpu { streams, gradients, reaching, .. } in &mut self.each {
            streams[PRODUCTS].memset_zeros(gradients)?;
            for reaching in &mut reaching[1..] {
                streams[PRODUCTS].memset_zeros(reaching)?;
            }
        }
        self.wait()
    }

    /// Compares every gradient on every GPU, after a step from `rows` rows: with the sum, or
    /// with the GPU's own.
    pub(crate) fn check(
        &self,
        what: &str,
        rows: usize,
        summed: bool,
    ) -> Result<u64> {
        self.wait()?;
        let (mut checked, mut expected) = (0, vec![]);
        for (rank, gpu) in self.each.iter().enumerate() {
            if rank == 0 || !summed {
                let all = 0..self.each.len();
                let gpus = if summed { all } else { rank..rank + 1 };
                expected = self.shape.gradients(gpus, rows);
            }
            let (stream, found) = (&gpu.streams[PRODUCTS], &gpu.gradients);
            checked += output(what, stream, found, expected.len(), |i| expected[i])?;
        }
        Ok(checked)
    }
}
