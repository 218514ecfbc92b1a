//! Kernels that transpose a matrix, and what one warp of them reads and writes.

use emulator::{Traffic, WARP};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Drawn, Explorer, Knob, State, Values, active, count, run};
use crate::launch::{Argument, Buffer, Content, Ran, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "transpose",
    title: "What one warp of a transpose reads and writes",
    task: "Go through the kernels from the top. What does each make cheap that the one before it \
        paid for, and what does it pay instead?",
    finding: "Without a tile one side is a row, for 4 sectors, and the other a column, for 32. \
        Through the tile both sides of the matrix are rows, and the column moves into shared \
        memory, where it takes 32 wavefronts. One word of padding, or a swizzle, makes that 1.",
    knobs: &[
        Knob {
            name: "kernel",
            label: "kernel",
            first: "read_coalesced",
            values: Values::Choice(&[
                ("read_coalesced", "read_coalesced"),
                ("write_coalesced", "write_coalesced"),
                ("tile", "tile"),
                ("tile_padded", "tile_padded"),
                ("several", "several"),
                ("swizzled", "swizzled"),
                ("vectors", "vectors"),
            ]),
        },
        Knob { name: "width", label: "width", first: "64", values: Values::Range(1, MOST) },
        Knob { name: "height", label: "height", first: "64", values: Values::Range(1, MOST) },
        Knob { name: "warp", label: "warp", first: "5", values: Values::Range(0, 287) },
    ],
    show,
};

/// Elements along a side.
const MOST: u32 = 96;

/// How a kernel is launched, and how it lays out its tile.
struct Shape {
    /// Elements along the side of a block's part of the matrix.
    side: u32,
    threads: [u32; 3],
    /// Words of a row of the tile, and its rows; none has no tile.
    tile: Option<[u32; 2]>,
    /// The warp of the block that reads this row of the block's part: or column.
    warp_of: fn(u32) -> u32,
    reads_columns: bool,
}

fn shape(kernel: &str) -> Shape {
    let (side, threads, reads_columns) = (32, [32, 32, 1], false);
    let one = Shape { side, threads, tile: None, warp_of: |row| row, reads_columns };
    let several = |pitch| Shape {
        threads: [32, 8, 1],
        tile: Some([pitch, 32]),
        warp_of: |row| row % 8,
        ..one
    };
    match kernel {
        "write_coalesced" => Shape { reads_columns: true, ..one },
        "tile" => Shape { tile: Some([32, 32]), ..one },
        "tile_padded" => Shape { tile: Some([33, 32]), ..one },
        "several" => several(33),
        "swizzled" => several(32),
        "vectors" => Shape {
            side: 64,
            threads: [256, 1, 1],
            tile: Some([64, 64]),
            warp_of: |row| row / 8,
            ..one
        },
        _ => one,
    }
}

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let kernel = state.text("kernel")?.to_owned();
    let size @ [width, height] = [state.number("width")?, state.number("height")?];
    if kernel == "vectors" && (width % 4, height % 4) != (0, 0) {
        return Err("vectors takes widths and heights that are multiples of 4".to_owned());
    }
    let shape = shape(&kernel);
    let blocks = size.map(|length| length.div_ceil(shape.side));
    let warps = shape.threads.iter().product::<u32>() / WARP as u32;
    let warp = state.number("warp")?.min(blocks[0] * blocks[1] * warps - 1);
    let (block, within) = (warp / warps, warp % warps);
    let buffer = |name: &str, content| {
        let (name, bytes) = (name.to_owned(), 4 * u64::from(width * height));
        Argument::Buffer(Buffer { name, bytes, content, reply: false })
    };
    let ran = run(&Request {
        ptx: include_str!("../../../../kernels/ptx/transpose.ptx").to_owned(),
        kernel: kernel.clone(),
        grid: [blocks[0], blocks[1], 1],
        block: shape.threads,
        shared_bytes: 0,
        arguments: vec![
            buffer("in", Content::Ramp),
            buffer("out", Content::Unwritten),
            Argument::U32(width),
            Argument::U32(height),
        ],
        watch: Some(([block % blocks[0], block / blocks[0], 0], within as usize)),
        instructions: 1 << 20,
    })?;
    let seen = Seen::of(&ran);
    let [read, stored, loaded, written] = seen.costs();
    let tile = match &shape.tile {
        None => String::new(),
        Some(_) => format!(" Its tile is written in {stored} and read in {loaded}."),
    };
    let said = format!("Warp {warp} of {kernel} reads {read} and writes {written}.{tile}");
    let drawn = move |picture: &mut Picture| draw(picture, &shape, size, blocks, &seen);
    Ok(Drawn { said, draw: Box::new(drawn) })
}

/// The words that a warp accessed in one place, and what each request cost.
#[derive(Default)]
struct Accesses {
    words: Vec<u32>,
    costs: Vec<u64>,
}

/// What a warp did: reads of the input, stores to the tile, loads from it, writes of the output.
struct Seen([Accesses; 4]);

impl Seen {
    fn of(ran: &Ran) -> Self {
        let mut seen: [Accesses; 4] = Default::default();
        for request in &ran.counts.requests {
            let (which, cost, is_shared) = match (request.traffic, request.stores) {
                (Traffic::Global(cost), stores) => (3 * usize::from(stores), cost.sectors, false),
                (Traffic::Shared(cost), true) => (1, cost.wavefronts, true),
                (Traffic::Shared(cost), false) => (2, cost.wavefronts, true),
            };
            seen[which].costs.push(cost);
            for lane in active(request.lanes) {
                let address = request.addresses[lane];
                let offset = match is_shared {
                    true => Some(address),
                    false => ran.place(address).map(|(_, offset)| offset),
                };
                let first = offset.unwrap_or(0) / 4;
                let words = first..first + request.bytes.div_ceil(4);
                seen[which].words.extend(words.map(|word| word as u32));
            }
        }
        Self(seen)
    }

    /// "4 sectors", or "4 times 16 sectors" where there are several requests.
    fn costs(&self) -> [String; 4] {
        let named = |number: usize, thing: &str| {
            let costs = &self.0[number].costs;
            match costs.first() {
                None => "nothing".to_owned(),
                Some(cost) if costs.len() == 1 => count(*cost, thing),
                Some(cost) if costs.iter().all(|other| other == cost) => {
                    format!("{} times {}", costs.len(), count(*cost, thing))
                }
                Some(_) => {
                    let all = count(costs.iter().sum(), thing);
                    format!("{all} in {} requests", costs.len())
                }
            }
        };
        [named(0, "sector"), named(1, "wavefront"), named(2, "wavefront"), named(3, "sector")]
    }
}

/// The input at the left, the output at the right, the tile between them or below.
fn draw(picture: &mut Picture, shape: &Shape, size: [u32; 2], blocks: [u32; 2], seen: &Seen) {
    let [width, height] = size.map(f64::from);
    let all = picture.pick(192.0, 164.0);
    let scale = all / width.max(height).max(32.0);
    let (top, right) = (24.0, picture.width - 1.0 - all);
    let [input, store, load, output] = &seen.0;
    let [read, stored, loaded, written] = seen.costs();
    let end = top + all;
    for (left, name, size, accesses, pen, cost) in [
        (1.0, "input", [width, height], input, COMPUTE, format!("read: {read}")),
        (right, "output", [height, width], output, MEMORY, format!("written: {written}")),
    ] {
        picture.heading((left, 8.0), Anchor::Start, name);
        let [across, down] = size.map(|length| length * scale);
        picture.cell([left, top, across, down], MUTED, 0.04, true);
        words(picture, [left, top, scale], size[0] as u32, accesses, pen);
        picture.text((left, end + 14.0), Anchor::Start, INK, &cost);
    }
    let cell = picture.pick(4.0, 3.0);
    if let Some([pitch, rows]) = shape.tile {
        let cell = cell * 32.0 / f64::from(rows);
        let [across, down] = [pitch, rows].map(|length| f64::from(length) * cell);
        let left = picture.pick((picture.width - across) / 2.0, 1.0);
        let place = picture.pick(top, end + 56.0);
        picture.heading((left, place - 16.0), Anchor::Start, "tile");
        picture.cell([left, place, across, down], MUTED, 0.04, true);
        words(picture, [left, place, cell], pitch, store, COMPUTE);
        words(picture, [left, place, cell], pitch, load, MEMORY);
        let (x, y) = picture.pick((left, place + down + 14.0), (left + across + 12.0, place + 8.0));
        picture.text((x, y), Anchor::Start, INK, &format!("written: {stored}"));
        picture.text((x, y + 18.0), Anchor::Start, INK, &format!("read: {loaded}"));
    } else {
        // As high as with a tile, so that nothing below it moves.
        let bottom = picture.pick(end + 14.0, end + 56.0 + 32.0 * cell);
        picture.cell([1.0, bottom, 0.0, 0.0], MUTED, 0.0, false);
    }
    // Rows or columns of the input, for the warps that read them.
    let warps = shape.threads.iter().product::<u32>() / WARP as u32;
    for block in 0..blocks[0] * blocks[1] {
        let corner = [block % blocks[0] * shape.side, block / blocks[0] * shape.side];
        for line in 0..shape.side {
            let [x, y] = corner.map(|at| 1.0 + f64::from(at) * scale);
            let (along, across) = (f64::from(shape.side) * scale, f64::from(line) * scale);
            let area = match shape.reads_columns {
                true => [x + across, y + top - 1.0, scale, along],
                false => [x, y + top - 1.0 + across, along, scale],
            };
            picture.target(area, "warp", block * warps + (shape.warp_of)(line));
        }
    }
}

/// Draws words of a matrix with so many in a row; neighbours are one rectangle.
fn words(
    picture: &mut Picture,
    [left, top, scale]: [f64; 3],
    row: u32,
    accesses: &Accesses,
    pen: &str,
) {
    let mut words = accesses.words.clone();
    words.sort_unstable();
    words.dedup();
    let is_run = |a: &u32, b: &u32| a + 1 == *b && !b.is_multiple_of(row);
    for run in words.chunk_by(is_run) {
        let [x, y] = [run[0] % row, run[0] / row].map(|at| f64::from(at) * scale);
        picture.cell([left + x, top + y, run.len() as f64 * scale, scale], pen, 0.75, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request, show};

    fn said(state: &[(&str, &str)]) -> Result<String, String> {
        let state = state.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        show(&Request { name: "transpose".to_owned(), state }).map(|shown| shown.said)
    }

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for (kernel, read, written, tile) in [
            ("read_coalesced", "4 sectors", "32 sectors", None),
            ("write_coalesced", "32 sectors", "4 sectors", None),
            ("tile", "4 sectors", "4 sectors", Some(("1 wavefront", "32 wavefronts"))),
            ("tile_padded", "4 sectors", "4 sectors", Some(("1 wavefront", "1 wavefront"))),
        ] {
            let tile = tile.map_or(String::new(), |(stored, loaded)| {
                format!(" Its tile is written in {stored} and read in {loaded}.")
            });
            let told = format!("Warp 5 of {kernel} reads {read} and writes {written}.{tile}");
            assert_eq!(said(&[("kernel", kernel)]), Ok(told));
        }
        for kernel in ["several", "swizzled"] {
            let told = "reads 4 times 4 sectors and writes 4 times 4 sectors. Its tile is written \
                in 4 times 1 wavefront and read in 4 times 1 wavefront.";
            assert!(said(&[("kernel", kernel)]).unwrap().ends_with(told));
        }
    }

    #[test]
    fn any_shape_and_every_warp_has_a_picture() {
        for kernel in ["read_coalesced", "write_coalesced", "several", "vectors"] {
            for (width, height, warp) in [("1", "1", "0"), ("96", "4", "31"), ("36", "96", "287")] {
                let state =
                    [("kernel", kernel), ("width", width), ("height", height), ("warp", warp)];
                let said = said(&state);
                let is_ragged = kernel == "vectors" && width == "1";
                assert_eq!(said.is_err(), is_ragged, "{kernel} {width} {height}: {said:?}");
            }
        }
    }
}
