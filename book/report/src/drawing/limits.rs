//! What bounds a kernel: room for its blocks, and the roof over what it can reach.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen};
use super::facts::{Facts, Of};
use super::timetable::strips;

pub(super) const ROOM: Drawing = Drawing {
    name: "room",
    title: "The more shared memory a block asks for, the fewer blocks fit, and the fewer warps",
    description: "A multiprocessor's shared memory, and its room for 64 warps, in three cases. One \
        block takes all of the shared memory and brings 4 warps. Four blocks take a quarter each \
        and bring 16. Sixteen take a sixteenth each, and all 64 warps are there.",
    caption: "A multiprocessor with room for 64 warps. Each block has 4 of them. The more shared \
        memory it asks for, the fewer blocks have room.",
    of: Of::Nobody,
    draw: |c, _| {
        let case = |blocks: usize| {
            let share = 16 / blocks;
            let memory: Vec<_> = (1..=blocks).map(|block| format!("{share} {block}")).collect();
            let mut warps = vec!["1 4".to_owned(); blocks];
            if blocks < 16 {
                warps.push(format!("{} .", 16 - blocks));
            }
            let s = if blocks == 1 { "" } else { "s" };
            let rows = [memory, warps].map(|row| row.join(", "));
            format!("{blocks} block{s}\nshared: {}\nwarps: {}", rows[0], rows[1])
        };
        strips(c, &[1, 4, 16].map(case).join("\n"));
    },
};

pub(super) const ROOF: Drawing = Drawing {
    name: "roof",
    title: "Under a slope the memory decides, under a flat roof the arithmetic",
    description: "A line that rises from the lower left and then is flat. Where it bends is the \
        ridge. Below the slope stands that the memory decides, below the flat part that the units \
        decide. The axis across is operations for each byte, the axis upwards operations a second.",
    caption: "The most that a kernel can reach, over the operations that it does for each byte; \
        both axes are logarithmic. No kernel lies above the line; many lie far below it.",
    of: Of::Nobody,
    draw: roof,
};

fn roof(c: &mut Canvas, _: &Facts) {
    let (left, top, bottom) = (1.0, 34.0, 200.0);
    let (right, ridge, flat) = (c.width - 1.0, c.width * 0.55, 50.0);
    c.text((left, 10.0), Anchor::Start, Pen::INK, "operations a second");
    c.line(&[(left, top), (left, bottom), (right, bottom)], Pen::MUTED);
    c.line(&[(left, bottom - 20.0), (ridge, flat)], MEMORY);
    c.line(&[(ridge, flat), (right, flat)], COMPUTE);
    c.signal(&[(ridge, flat + 2.0), (ridge, bottom - 2.0)], DOWNLOAD);
    c.text((ridge, flat - 14.0), Anchor::Middle, Pen::INK, "ridge");
    let (slope, roof) = ("the memory decides", "the units decide");
    c.text((ridge - 12.0, bottom - 24.0), Anchor::End, Pen::INK, slope);
    c.text((ridge + 12.0, bottom - 24.0), Anchor::Start, Pen::INK, roof);
    c.text((right, bottom + 16.0), Anchor::End, Pen::INK, "operations for each byte");
}
