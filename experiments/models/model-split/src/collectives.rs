//! What GPUs make together of what each of them has.

use std::ops::Range;

use lab::Result;
use lab::launch::threads;

use crate::cut::part;
use crate::device::{Trainer, Words};
use crate::team::Team;

// ANCHOR: collectives
impl Team {
    /// *Reduce-scatter*: of vectors of `words` words, each GPU gets its part of the sum.
    pub(crate) fn reduce(
        &self,
        words: usize,
        whole: impl Fn(&Trainer) -> Words<'_>,
        mine: impl Fn(&Trainer, Range<usize>) -> Words<'_>,
    ) -> Result<()> {
        let count = self.trainers.len();
        let of = |i| part(words, count, i);
        for (from, trainer) in self.trainers.iter().enumerate() {
            let own = whole(trainer).slice(of(from));
            self.send((from, own), (from, mine(trainer, of(from))))?;
            for step in 1..count {
                let to = (from + step) % count;
                let length = of(to).len();
                let inbox = (step - 1) * length..step * length;
                let target = self.trainers[to].inbox.slice(inbox);
                self.send((from, whole(trainer).slice(of(to))), (to, target))?;
            }
        }
        self.meet()?;
        for (i, trainer) in self.trainers.iter().enumerate().filter(|_| count > 1) {
            let Trainer { kernels, stream, inbox, .. } = trainer;
            let (sum, words, others) =
                (mine(trainer, of(i)), of(i).len(), count - 1);
            let grid = threads(words);
            kernels.add(stream, grid, &sum, inbox, words as u32, others as u32)?;
        }
        Ok(())
    }

    /// *All-gather*: each GPU sends its part to all.
    pub(crate) fn gather(
        &self,
        words: usize,
        mine: impl Fn(&Trainer, Range<usize>) -> Words<'_>,
        whole: impl Fn(&Trainer) -> Words<'_>,
    ) -> Result<()> {
        let count = self.trainers.len();
        for (from, trainer) in self.trainers.iter().enumerate() {
            let part = part(words, count, from);
            for to in (0..count).map(|step| (from + step) % count) {
                let target = whole(&self.trainers[to]).slice(part.clone());
                self.send((from, mine(trainer, part.clone())), (to, target))?;
            }
        }
        self.meet()
    }

    /// *All-reduce*: both, in place.
    pub(crate) fn all_reduce(
        &self,
        words: usize,
        of: impl Fn(&Trainer) -> Words<'_>,
    ) -> Result<()> {
        self.reduce(words, &of, |trainer, part| of(trainer).slice(part))?;
        self.gather(words, |trainer, part| of(trainer).slice(part), &of)
    }
}
// ANCHOR_END: collectives
