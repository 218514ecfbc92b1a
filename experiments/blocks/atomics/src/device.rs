//! The cells, the kernels that change them, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::{Case, Lab, Result, check};

use crate::changes::{Change, Launch, Order, THREADS};

// SAFETY: a cell is 1 or 2 words. `change` uses cells 0 to `mask`; those that begin with
// `own` use so many for each block. `Cells` has room for them. `take` also writes a word of
// `out` for each thread, and there are at most as many threads as changes.
lab::kernels! { unsafe "atomics" {
    fn change[
        "add_u32", "add_u64", "add_f32", "add_f64", "max_u32", "add_f32_loop",
        "own_shared", "own_block", "own_device",
    ](
        cells: &mut CudaSlice<u32>, mask: u32, random: u32, count: u32, sign: i32,
    );
    fn take["cas_u32", "count_u32", "ticket_u32"](
        cells: &mut CudaSlice<u32>, out: &mut CudaSlice<u32>,
        mask: u32, random: u32, count: u32, number: u32,
    );
} }

/// The cells, and a word for each thread.
pub(crate) struct Cells {
    pub(crate) stream: Arc<CudaStream>,
    kernels: Kernels,
    words: CudaSlice<u32>,
    out: CudaSlice<u32>,
    /// Launches since the cells were cleared.
    turns: usize,
}

impl Cells {
    /// Room for `cells` cells of two words, and for `threads` threads.
    pub(crate) fn new(lab: &Lab, cells: usize, threads: usize) -> Result<Cells> {
        let stream = lab.context().new_stream()?;
        let words = stream.alloc_zeros(2 * cells + check::GUARD)?;
        let out = stream.alloc_zeros(threads)?;
        Ok(Cells { kernels: Kernels::load(lab)?, stream, words, out, turns: 0 })
    }

    fn clear(&mut self) -> Result<()> {
        self.turns = 0;
        Ok(self.stream.memset_zeros(&mut self.words)?)
    }

    // ANCHOR: launch
    /// Every second turn takes away what the one before it has added, so that sums never
    /// grow; and in every turn one thread is the first at each cell.
    fn launch(&mut self, launch: &Launch) -> Result<()> {
        let Cells { stream, kernels, words, out, turns } = self;
        let Launch { change, order, cells, count, blocks: grid } = *launch;
        let (name, grid) = (change.name(), blocks(grid, THREADS));
        let (mask, random) = (cells as u32 - 1, (order == Order::Random).into());
        let (count, sign) =
            (count as u32, if turns.is_multiple_of(2) { 1i32 } else { -1 });
        match change {
            Change::CasU32 | Change::CountU32 | Change::TicketU32 => {
                let number = if change == Change::CasU32 {
                    *turns as u32
                } else {
                    sign as u32
                };
                kernels.take(
                    name, stream, grid, words, out, mask, random, count, number,
                )?;
            }
            _ => kernels
                .change(name, stream, grid, words, mask, random, count, sign)?,
        }
        *turns += 1;
        Ok(())
    }
    // ANCHOR_END: launch

    /// Checks a launch on a number of changes that no block divides, times it, and checks
    /// what the last turn left.
    pub(crate) fn measure(
        &mut self,
        lab: &mut Lab,
        case: Case,
        launch: &Launch,
    ) -> Result<()> {
        let some = Launch { count: check::ragged(launch.count), ..*launch };
        self.clear()?;
        self.launch(&some)?;
        self.check(&some)?;

        self.clear()?;
        let (stream, bytes) =
            (self.stream.clone(), launch.all_cells() * launch.change.words() * 4);
        let timed = case
            .with("changes", launch.count)
            .with("cells", launch.cells)
            .footprint(bytes, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |_| self.launch(launch))?;
        if self.turns.is_multiple_of(2) {
            self.launch(launch)?; // the last one adds
        }
        timed.checked(self.check(launch)?).record(lab)
    }

    /// Compares every cell, looks behind the last one, and adds up what threads were told.
    fn check(&self, launch: &Launch) -> Result<u64> {
        let (mut expected, change) = (launch.expected(), launch.change);
        let counts = |of: fn(u32) -> u32| {
            expected.iter().map(|bits| of(*bits as u32)).fold(0, u32::wrapping_add)
        };
        let told = match change {
            // The first at each cell, and all tickets from 0 on.
            Change::CasU32 => Some(counts(|touched| touched)),
            Change::TicketU32 => Some(counts(|n| {
                (u64::from(n) * u64::from(n.saturating_sub(1)) / 2) as u32
            })),
            Change::CountU32 => Some(0),
            _ => None,
        };
        if change == Change::CasU32 {
            expected.iter_mut().for_each(|bits| *bits *= self.turns as u64);
        }
        if let Some(told) = told {
            let threads = self.out.slice(..launch.blocks * THREADS);
            let got = self.stream.clone_dtoh(&threads)?;
            let sum = got.into_iter().fold(0, u32::wrapping_add);
            check::every_element("sum of the old values", &[sum], |_| told)?;
        }
        let words = change.words();
        check::output(
            change.name(),
            &self.stream,
            &self.words,
            words * expected.len(),
            |i| (expected[i / words] >> (32 * (i % words))) as u32,
        )
    }
}
