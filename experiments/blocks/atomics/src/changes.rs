//! Which cell each change goes to, and what it makes of it.

use lab::check::value;

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
    pub(crate) fn expected(&self) -> Vec<u64> {
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
