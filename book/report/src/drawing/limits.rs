//! What bounds a kernel: room for its blocks, and the roof over what it can reach.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen};

pub(super) fn roof(c: &mut Canvas) {
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
