//! Blocks: a layer that widens four times and one that narrows again, as in a Transformer.
//! The listing on trial keeps what goes into each block, and no more.

use lab::{Case, Lab, Result};

use crate::net::Net;

/// Layers of a block, and how much wider its inner activation is.
const LAYERS: usize = 2;
const WIDER: usize = 4;

pub(crate) fn measure(lab: &mut Lab, width: usize) -> Result<()> {
    let depths: &[usize] =
        if lab.emulated() { &[4, 8] } else { &[4, 8, 16, 32, 64] };
    for &blocks in depths {
        let mut widths = [width / 2, width / 2 * WIDER].repeat(blocks);
        widths.push(width / 2);
        let mut net = Net::new(lab, 2 * width, widths)?;
        let every =
            |layers| (0..LAYERS * blocks).step_by(layers).collect::<Vec<usize>>();

        // 1. All activations; what goes into each block, as in the listing; what goes into
        //    so many blocks as are the root of all.
        let root = (blocks as f64).sqrt().round() as usize;
        let ways = [
            ("all", every(1)),
            ("each_block", every(LAYERS)),
            ("root", every(LAYERS * root)),
        ];
        let mut gradients = vec![];
        for (kept, starts) in ways {
            let case = Case::new("blocks").with("kept", kept).with("blocks", blocks);
            let timed = net.time(lab, case, &starts)?;
            if gradients.is_empty() {
                // Of the step that keeps all: what the others have to have.
                gradients = net.gradients()?;
            }
            timed
                .note(|case, readings| {
                    let fullest =
                        readings.iter().max_by_key(|reading| reading.bytes);
                    Ok(case.memory(
                        "activations",
                        fullest.copied().into_iter().collect(),
                    ))
                })?
                .check(&net.gradients()?, |i| gradients[i])?
                .record(lab)?;
        }
    }
    Ok(())
}
