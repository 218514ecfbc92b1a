//! How long must a piece of memory be, in a random place, to be read as fast as a long row?
//!
//! Threads read 16 bytes each. Those of one piece read it together; the next piece is
//! elsewhere in the table. Pieces begin at multiples of their size, so a short one lies in
//! one row of the memory's cells; what follows it in its row is not wanted.

use lab::{Case, Ceiling, Lab, Result, check};

use crate::device::{Access, Arrays};
use crate::model::{Pick, WORD_BYTES};

/// What a thread reads: four words.
pub(crate) const VECTOR_BITS: u32 = 2;
/// A warp's threads.
const WARP: usize = 32;
/// Sizes of a piece, from 64 bytes to 16 KiB, in vectors of 16 bytes.
const PIECE_BITS: std::ops::RangeInclusive<u32> = 2..=10;

/// Reads 2^`count_bits` vectors in pieces, from a table of up to 2^`most_bits` words.
pub(crate) fn measure(
    lab: &mut Lab,
    arrays: &mut Arrays,
    count_bits: u32,
    most_bits: u32,
) -> Result<()> {
    let stream = arrays.stream.clone();
    for piece_bits in PIECE_BITS {
        let (pieces, size) = (count_bits - piece_bits, VECTOR_BITS + piece_bits);
        // The indices are those of pieces, one for each.
        let pick = Pick {
            count_bits: pieces,
            table_bits: most_bits - size,
            group_bits: pieces,
            step_bits: 0,
        };
        arrays.prepare(Access::Gather, &pick)?;
        let count = 1usize << count_bits;
        let some = check::ragged(count);
        arrays.read_pieces(piece_bits, some)?;
        arrays.check_pieces(&pick, piece_bits, some)?;

        arrays.prepare(Access::Gather, &pick)?;
        let bytes = (count * WORD_BYTES) << VECTOR_BITS;
        let timed = Case::new("pieces")
            .with("piece_bytes", WORD_BYTES << size)
            .with("bytes", WORD_BYTES << most_bits)
            .reads(bytes + (WORD_BYTES << pieces))
            .writes(count / WARP * WORD_BYTES)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(bytes, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |_| arrays.read_pieces(piece_bits, count))?;
        let checked = arrays.check_pieces(&pick, piece_bits, count)?;
        timed.checked(checked).record(lab)?;
    }
    Ok(())
}

impl Arrays {
    fn read_pieces(&mut self, piece_bits: u32, count: usize) -> Result<()> {
        let Arrays { table, indices, contiguous, kernels, stream, .. } = self;
        let (grid, count) = (lab::launch::threads(count), count as u32);
        kernels.pieces(stream, grid, table, indices, contiguous, piece_bits, count)
    }

    /// Compares every warp's sum, and looks behind the last.
    fn check_pieces(
        &mut self,
        pick: &Pick,
        piece_bits: u32,
        count: usize,
    ) -> Result<u64> {
        let (stream, sums) = (&self.stream, count.div_ceil(WARP));
        check::output("pieces", stream, &self.contiguous, sums, |warp| {
            let vectors = warp * WARP..count.min((warp + 1) * WARP);
            let words = vectors.flat_map(|i| {
                let piece = pick.index((i >> piece_bits) as u32) as usize;
                let within = i & ((1 << piece_bits) - 1);
                let first = (piece << piece_bits | within) << VECTOR_BITS;
                first..first + (1 << VECTOR_BITS)
            });
            words.map(check::value).fold(0, u32::wrapping_add)
        })
    }
}
