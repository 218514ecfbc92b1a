//! Whether every GPU has the sum of all gradients.

use lab::Result;
use lab::check::output;

use crate::device::{Trainer, Trainers};

impl Trainers {
    /// Clears what a step writes.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.wait()?;
        for Trainer { products, gradients, reaching, .. } in &mut self.each {
            products.stream.memset_zeros(gradients)?;
            for reaching in &mut reaching[1..] {
                products.stream.memset_zeros(reaching)?;
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
        for (rank, trainer) in self.each.iter().enumerate() {
            if rank == 0 || !summed {
                let all = 0..self.each.len();
                let gpus = if summed { all } else { rank..rank + 1 };
                expected = self.shape.gradients(gpus, rows);
            }
            let (stream, found) = (&trainer.products.stream, &trainer.gradients);
            checked += output(what, stream, found, expected.len(), |i| expected[i])?;
        }
        Ok(checked)
    }
}
