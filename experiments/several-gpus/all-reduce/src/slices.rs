//! The ring with fewer blocks, and with other slices.

use lab::{Lab, Result};

use crate::device::Ranks;
use crate::ways::Method;
use crate::{ELEMENT, IN_A_ROW, case, in_a_row};

pub(crate) fn slices(lab: &mut Lab, gpus: &mut Ranks, largest: usize) -> Result<()> {
    let (bytes, all, usual) = (largest.min(64 << 20), gpus.blocks, gpus.slice);
    let fewer = (2..).map(|power| 1 << power).take_while(|fewer| *fewer < all);
    let by_blocks = fewer.chain([all]).map(|blocks| ("blocks", blocks, usual));
    let by_slice = (10..=16).map(|power| ("slices", all, 1 << power));
    for (name, blocks, slice) in by_blocks.chain(by_slice) {
        (gpus.blocks, gpus.slice) = (blocks, slice);
        let case = case(lab, name, Method::Ring, bytes, gpus.each.len())
            .with("blocks", blocks as usize)
            .with("slice_bytes", slice * ELEMENT);
        in_a_row(lab, gpus, (Method::Ring, IN_A_ROW), bytes, case)?;
    }
    Ok(())
}
