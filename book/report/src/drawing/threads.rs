//! Threads and their elements, blocks and theirs; from a grid to the address that one thread
//! reads, and from a warp to sectors.

use super::canvas::{Anchor, Area, COMPUTE, Canvas, MEMORY, Pen, area};

pub(super) fn threads(c: &mut Canvas) {
    const COUNT: u32 = 8;
    const HEIGHT: f64 = 28.0;
    let left = c.pick(70.0, 56.0);
    let width = (c.width - left - 1.0) / f64::from(COUNT);
    let [a, b, thread, sum] = [1.0, 29.0, 84.0, 139.0];
    for (top, name) in [(a, "a"), (b, "b"), (thread, "thread"), (sum, "sum")] {
        c.text((1.0, top + HEIGHT / 2.0), Anchor::Start, Pen::INK, name);
    }
    for n in 0..COUNT {
        let x = left + f64::from(n) * width;
        let row = |top| area(x, top, width, HEIGHT);
        for (top, value) in [(a, n), (b, 10 * n), (sum, 11 * n)] {
            c.named(row(top), MEMORY, 0.08, &value.to_string());
        }
        c.named(row(thread), COMPUTE, 0.4, &n.to_string());
        let middle = x + width / 2.0;
        for (from, to) in [(b, thread), (thread, sum)] {
            c.arrow(&[(middle, from + HEIGHT + 1.0), (middle, to - 1.0)], COMPUTE);
        }
    }
}

pub(super) fn split(c: &mut Canvas) {
    const BLOCKS: u32 = 3;
    const THREADS: u32 = 4;
    const ELEMENTS: u32 = 10;
    const HEIGHT: f64 = 28.0;
    let gap = c.pick(16.0, 7.0);
    let blocks = f64::from(BLOCKS);
    let width = (c.width - 2.0 - (blocks - 1.0) * gap) / (blocks * f64::from(THREADS));
    for n in 0..BLOCKS * THREADS {
        let (block, thread) = (n / THREADS, n % THREADS);
        let x = 1.0 + f64::from(n) * width + f64::from(block) * gap;
        if thread == 0 {
            c.heading((x, 10.0), Anchor::Start, &format!("Block {block}"));
        }
        let (place, element) = (area(x, 26.0, width, HEIGHT), area(x, 82.0, width, HEIGHT));
        c.named(place, COMPUTE, if n < ELEMENTS { 0.4 } else { 0.06 }, &thread.to_string());
        let middle = x + width / 2.0;
        c.arrow(&[(middle, 26.0 + HEIGHT + 1.0), (middle, 81.0)], COMPUTE);
        if n < ELEMENTS {
            c.named(element, MEMORY, 0.08, &n.to_string());
        } else {
            c.ghost(element.inside(1.0), Pen::MUTED);
        }
    }
    c.text((1.0, 126.0), Anchor::Start, Pen::MUTED, "elements of the array");
}

pub(super) fn grid(c: &mut Canvas) {
    const TOP: f64 = 40.0;
    const HEIGHT: f64 = 136.0;
    let [(grid, across), (block, bars), (warp, cell)] = c.pick(
        [(1.0, 150.0), (222.0, 150.0), (431.0, 26.0)],
        [(1.0, 81.0), (104.0, 66.0), (193.0, 20.75)],
    );
    let panels =
        [(grid, "Grid", "6 blocks"), (block, "Block 2", "8 warps"), (warp, "Warp 3", "32 threads")];
    for (x, name, parts) in panels {
        c.heading((x, 10.0), Anchor::Start, name);
        c.text((x, 27.0), Anchor::Start, Pen::MUTED, parts);
    }
    let row = HEIGHT / 6.0;
    for n in 0..6 {
        let place = area(grid, TOP + f64::from(n) * row, across, row);
        pick(c, place, n == 2, n);
    }
    let bar = HEIGHT / 8.0;
    for n in 0..8 {
        let place = area(block, TOP + f64::from(n) * bar, bars, bar);
        pick(c, place, n == 3, n);
    }
    for n in 0..32 {
        let (column, row) = (f64::from(n % 8), f64::from(n / 8));
        let height = HEIGHT / 4.0;
        let place = area(warp + column * cell, TOP + row * height, cell, height);
        pick(c, place, n == 29, n);
    }
    let edge = grid + across;
    c.line(&[(edge, TOP + 2.0 * row), (block, TOP)], COMPUTE);
    c.line(&[(edge, TOP + 3.0 * row), (block, TOP + HEIGHT)], COMPUTE);
    c.line(&[(block + bars, TOP + 3.0 * bar), (warp, TOP)], COMPUTE);
    c.line(&[(block + bars, TOP + 4.0 * bar), (warp, TOP + HEIGHT)], COMPUTE);

    let lines = ["i = blockIdx.x × blockDim.x + threadIdx.x", "  = 2 × 256 + (3 × 32 + 29) = 637"];
    for (y, line) in [(204.0, lines[0]), (221.0, lines[1])] {
        c.text((1.0, y), Anchor::Start, Pen::INK, line.trim_start());
    }
    let (x, width) = (warp + 5.5 * cell, c.pick(40.0, 34.0));
    c.arrow(&[(x, TOP + HEIGHT), (x, 246.0)], COMPUTE);
    for n in 620..660 {
        let left = x - width / 2.0 + f64::from(n - 637) * width;
        if left >= 0.0 && left + width <= c.width {
            let place = area(left, 247.0, width, 30.0);
            c.named(place, MEMORY, if n == 637 { 0.4 } else { 0.08 }, &n.to_string());
        }
    }
    c.text((1.0, 291.0), Anchor::Start, Pen::MUTED, "elements of an array in memory");
}

/// A numbered part, which is the one in question or one of the others.
fn pick(c: &mut Canvas, place: Area, is_it: bool, n: i32) {
    c.named(place, COMPUTE, if is_it { 0.4 } else { 0.06 }, &n.to_string());
}

pub(super) fn sectors(c: &mut Canvas) {
    const WORDS: u32 = 8; // of a sector
    let shown = c.pick(4, 2);
    let sector = (c.width - 2.0) / f64::from(shown);
    let word = sector / f64::from(WORDS);
    let small = (c.width - 2.0) / 32.0;
    let rows = [
        (1, "4 sectors move, all used"),
        (2, "8 sectors move, half used"),
        (8, "32 sectors move, an eighth used"),
    ];
    for (n, (stride, moves)) in rows.into_iter().enumerate() {
        let top = n as f64 * 108.0;
        c.heading((1.0, top + 10.0), Anchor::Start, &format!("Stride {stride}"));
        c.text((c.width - 1.0, top + 10.0), Anchor::End, Pen::INK, moves);
        for at in 0..shown * WORDS {
            let x = 1.0 + f64::from(at) * word;
            let place = area(x, top + 24.0, word, 28.0);
            if at % stride == 0 {
                c.fill(place.inside(1.5), MEMORY, 0.4);
                c.label(place, &(at / stride).to_string());
            }
        }
        for at in 0..shown {
            let x = 1.0 + f64::from(at) * sector;
            c.cell(area(x, top + 24.0, sector, 28.0), MEMORY, 0.08);
        }
        for at in 0..32 {
            let place = area(1.0 + f64::from(at) * small, top + 60.0, small, small.min(14.0));
            match at < WORDS.min(stride) * 4 {
                true => c.cell(place.inside(1.5), MEMORY, 0.4),
                false => c.fill(place.inside(1.5), Pen::MUTED, 0.15),
            }
        }
    }
}
