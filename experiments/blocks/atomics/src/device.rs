//! The cells, the kernels that change them, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::{self, value};
use lab::launch::blocks;
use lab::{Case, Lab, Result};

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

/// Threads of a block.
pub(crate) const THREADS: usize = 256;

lab::words! {
    /// What is done to a cell; the kernels' names.
    pub(crate) enum Change {
        AddU32 = "add_u32",
        AddU64 = "add_u64",
        AddF32 = "add_f32",
        AddF64 = "add_f64",
        MaxU32 = "max_u32",
        CasU32 = "cas_u32",
        CountU32 = "count_u32",
        TicketU32 = "ticket_u32",
        AddF32Loop = "add_f32_loop",
        OwnShared = "own_shared",
        OwnBlock = "own_block",
        OwnDevice = "own_device",
    }
}

lab::words! {
    /// Which cell a change goes to.
    pub(crate) enum Order { Neighbours = "neighbours", Random = "random" }
}

/// One launch: so many changes to so many cells by so many blocks.
#[derive(Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) change: Change,
    pub(crate) order: Order,
    /// A power of two.
    pub(crate) cells: usize,
    pub(crate) count: usize,
    pub(crate) blocks: usize,
}

impl Launch {
    /// `count` changes, `each` by one thread.
    pub(crate) fn new(
        change: Change,
        order: Order,
        cells: usize,
        count: usize,
        each: usize,
    ) -> Launch {
        let blocks = count.div_ceil(each * THREADS);
        Launch { change, order, cells, count, blocks }
    }

    /// Cells of its own for each block.
    fn is_own(&self) -> bool {
        matches!(
            self.change,
            Change::OwnShared | Change::OwnBlock | Change::OwnDevice
        )
    }

    /// All cells that a launch may change.
    pub(crate) fn all_cells(&self) -> usize {
        self.cells * if self.is_own() { self.blocks } else { 1 }
    }

    /// The cell of change i, as in the kernel.
    fn cell(&self, i: u32) -> usize {
        let picked = match self.order {
            Order::Neighbours => i,
            Order::Random => {
                let i = (i ^ i >> 16).wrapping_mul(0x85eb_ca6b);
                let i = (i ^ i >> 13).wrapping_mul(0xc2b2_ae35);
                i ^ i >> 16
            }
        };
        let cell = picked as usize & (self.cells - 1);
        let block = i as usize / THREADS % self.blocks;
        if self.is_own() { block * self.cells + cell } else { cell }
    }

    /// The bits of each cell after the first turn.
    fn expected(&self) -> Vec<u64> {
        let mut cells = vec![0; self.all_cells()];
        for i in 0..self.count as u32 {
            let cell = &mut cells[self.cell(i)];
            *cell = self.change.made_of(*cell, i);
        }
        cells
    }
}

impl Change {
    /// Words of a cell.
    pub(crate) fn words(self) -> usize {
        if matches!(self, Change::AddU64 | Change::AddF64) { 2 } else { 1 }
    }

    /// The bits that change i makes of a cell's.
    fn made_of(self, bits: u64, i: u32) -> u64 {
        let (word, little) = (bits as u32, (value(i as usize) as i32) >> 24 | 1);
        match self {
            Change::AddU64 => {
                bits.wrapping_add(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            }
            Change::AddF64 => (f64::from_bits(bits) + f64::from(little)).to_bits(),
            Change::AddF32 | Change::AddF32Loop => {
                (f32::from_bits(word) + little as f32).to_bits().into()
            }
            Change::MaxU32 => word.max(value(i as usize)).into(),
            Change::CountU32 | Change::TicketU32 => word.wrapping_add(1).into(),
            Change::CasU32 => 1,
            Change::AddU32
            | Change::OwnShared
            | Change::OwnBlock
            | Change::OwnDevice => word.wrapping_add(value(i as usize)).into(),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_goes_to_the_next_cell_or_to_any() {
        let launch =
            Launch::new(Change::CountU32, Order::Neighbours, 64, 1 << 12, 16);
        assert_eq!(launch.expected(), [64; 64]);
        let random = Launch { order: Order::Random, ..launch }.expected();
        assert_eq!(random.iter().sum::<u64>(), 1 << 12);
        assert!(random.iter().all(|n| (32..128).contains(n)), "{random:?}");
        let own = Launch { change: Change::OwnBlock, blocks: 2, ..launch };
        assert_eq!((own.all_cells(), own.cell(255), own.cell(256)), (128, 63, 64));
    }
}
