//! What GPUs make together of what each of them has.

use std::ops::Range;

use cudarc::driver::sys::CUdeviceptr;
use lab::Result;
use lab::launch::threads;

use crate::cut::part;
use crate::gpu::{Gpu, at};
use crate::team::Team;

// ANCHOR: collectives
impl Team {
    /// *Reduce-scatter*: of vectors of `words` words, each GPU gets its part of the sum.
    pub(crate) fn reduce(
        &self,
        words: usize,
        whole: impl Fn(&Gpu) -> CUdeviceptr,
        mine: impl Fn(&Gpu, &Range<usize>) -> CUdeviceptr,
    ) -> Result<()> {
        let count = self.gpus.len();
        let of = |i| part(words, count, i);
        for (from, gpu) in self.gpus.iter().enumerate() {
            let (own, sum) = (at(whole(gpu), of(from).start), mine(gpu, &of(from)));
            if own != sum {
                self.send((from, own), (from, sum), of(from).len())?;
            }
            for step in 1..count {
                let to = (from + step) % count;
                let source = at(whole(gpu), of(to).start);
                let target = at(self.gpus[to].inbox, (step - 1) * of(to).len());
                self.send((from, source), (to, target), of(to).len())?;
            }
        }
        self.meet()?;
        for (i, gpu) in self.gpus.iter().enumerate().filter(|_| count > 1) {
            let Gpu { kernels, stream, inbox, .. } = gpu;
            let (sum, words, others) = (mine(gpu, &of(i)), of(i).len(), count - 1);
            let grid = threads(words);
            kernels.add(stream, grid, sum, *inbox, words as u32, others as u32)?;
        }
        Ok(())
    }

    /// *All-gather*: each GPU sends its part to all.
    pub(crate) fn gather(
        &self,
        words: usize,
        mine: impl Fn(&Gpu, &Range<usize>) -> CUdeviceptr,
        whole: impl Fn(&Gpu) -> CUdeviceptr,
    ) -> Result<()> {
        let count = self.gpus.len();
        for (from, gpu) in self.gpus.iter().enumerate() {
            let part = part(words, count, from);
            let source = mine(gpu, &part);
            for to in (0..count).map(|step| (from + step) % count) {
                let target = at(whole(&self.gpus[to]), part.start);
                if (from, source) != (to, target) {
                    self.send((from, source), (to, target), part.len())?;
                }
            }
        }
        self.meet()
    }

    /// *All-reduce*: both, in place.
    pub(crate) fn all_reduce(
        &self,
        words: usize,
        of: impl Fn(&Gpu) -> CUdeviceptr,
    ) -> Result<()> {
        self.reduce(words, &of, |gpu, part| at(of(gpu), part.start))?;
        self.gather(words, |gpu, part| at(of(gpu), part.start), &of)
    }
}
// ANCHOR_END: collectives
