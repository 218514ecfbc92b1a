//! Kernels that transpose a matrix, and what one warp of each reads and writes.

use emulator::{Traffic, WARP, Watch};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Drawn, Explorer, Found, Knob, State, Values, active, case, count, run};
use crate::launch::{Argument, Content, Ran, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "transpose",
    title: "What one warp of a transpose reads and writes",
    task: "Drag a warp over the input, the tile or the output. Then go down the list of kernels \
        to `tile_padded`: what does each step make cheap, and what does it pay instead?",
    finding: "Without a tile one side is a row, for 4 sectors, and the other a column, for 32. \
        Through the tile both sides of the matrix are rows, and the column moves into shared \
        memory, where it takes 32 wavefronts. One word of padding, or a swizzle, makes that 1.",
    knobs: &[
        Knob {
            name: "kernel",
            label: "kernel",
            first: "read_coalesced",
            values: Values::Choice(&KERNELS),
        },
        Knob { name: "width", label: "width", first: "64", values: Values::Range(1, MOST) },
        Knob { name: "height", label: "height", first: "64", values: Values::Range(1, MOST) },
        Knob { name: "warp", label: "warp", first: "5", values: Values::Range(0, 287) },
    ],
    show,
};

/// The kernels, each a step up from the one before.
const KERNELS: [(&str, &str); 7] = [
    ("read_coalesced", "read_coalesced"),
    ("write_coalesced", "write_coalesced"),
    ("tile", "tile"),
    ("tile_padded", "tile_padded"),
    ("several", "several"),
    ("swizzled", "swizzled"),
    ("vectors", "vectors"),
];
/// Elements along a side.
const MOST: u32 = 96;

/// How a kernel is launched, and how it lays out its tile.
struct Shape {
    /// Elements along the side of a block's part of the matrix.
    side: u32,
    threads: [u32; 3],
    /// Words of a row of the tile, and its rows; none has no tile.
    tile: Option<[u32; 2]>,
    /// The warp of the block that reads this row of the block's part, or column; and the one that
    /// writes it. Of the tile both touch it.
    reads: fn(u32) -> u32,
    writes: fn(u32) -> u32,
    reads_columns: bool,
}

fn shape(kernel: &str) -> Shape {
    let (side, threads, reads_columns) = (32, [32, 32, 1], false);
    let same = |row| row;
    let one = Shape { side, threads, tile: None, reads: same, writes: same, reads_columns };
    let several = |pitch| Shape {
        threads: [32, 8, 1],
        tile: Some([pitch, 32]),
        reads: |row| row % 8,
        writes: |row| row % 8,
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
            reads: |row| row / 8,
            writes: |row| row % 16 / 2,
            ..one
        },
        _ => one,
    }
}

impl Shape {
    fn warps(&self) -> u32 {
        self.threads.iter().product::<u32>() / WARP as u32
    }

    /// The rows or columns of the input or of the output, and whose each is: its first element,
    /// whether it goes down, and its warp.
    fn lines(&self, blocks: [u32; 2], is_output: bool) -> Vec<([u32; 2], bool, u32)> {
        let goes_down = match is_output {
            false => self.reads_columns,
            true => self.tile.is_none() && !self.reads_columns,
        };
        let mut lines = vec![];
        for block in 0..blocks[0] * blocks[1] {
            let [x, y] = [block % blocks[0], block / blocks[0]].map(|at| at * self.side);
            let [x, y] = if is_output { [y, x] } else { [x, y] };
            for line in 0..self.side {
                let first = if goes_down { [x + line, y] } else { [x, y + line] };
                let warp = if is_output { self.writes } else { self.reads };
                lines.push((first, goes_down, block * self.warps() + warp(line)));
            }
        }
        lines
    }
}

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let kernel = state.text("kernel")?.to_owned();
    let size = [state.number("width")?, state.number("height")?];
    let seen = |kernel: &str| Seen::run(kernel, size, state.number("warp")?);
    let chosen = seen(&kernel)?;
    let rungs: Vec<Rung> = KERNELS.iter().map(|(name, _)| Rung::of(name, state, seen)).collect();
    let measured = rungs.iter().find_map(|rung| rung.found(state)).map(|found| Bars {
        heading: found.heading(),
        chart: found.measured.chart.clone(),
        most: found.measured.ends[1].0,
    });
    let [read, stored, loaded, written] = chosen.costs();
    // Some kernels fill their tile beyond the matrix as well.
    let from = match chosen.accesses[0].costs.is_empty() {
        true => ", from registers without a value,",
        false => "",
    };
    let tile = match &chosen.shape.tile {
        None => String::new(),
        Some(_) => match [1, 2].map(|of| chosen.accesses[of].costs.is_empty()) {
            [false, false] => {
                format!(" Its tile is written in {stored}{from} and read in {loaded}.")
            }
            [false, true] => format!(" Its tile is written in {stored}{from} and not read."),
            [true, false] => format!(" It writes nothing to its tile, and reads it in {loaded}."),
            [true, true] => " Nor does it touch its tile.".to_owned(),
        },
    };
    let warp = chosen.warp;
    let last = chosen.blocks[0] * chosen.blocks[1] * chosen.shape.warps() - 1;
    let said = format!("Warp {warp} of {kernel} reads {read} and writes {written}.{tile}");
    let draw = move |picture: &mut Picture| {
        draw(picture, size, &chosen);
        ladder(picture, &rungs, &kernel, measured.as_ref());
    };
    Ok(Drawn { said, draw: Box::new(draw), case: None, limit: Some(("warp", last)) })
}

/// A kernel in the list.
struct Rung {
    name: &'static str,
    /// What a request costs, of a read, of a store to the tile and a load from it, of a write; and
    /// whether that is more than its bytes need.
    costs: Option<[(String, bool); 4]>,
    /// What was measured of it, and the same in words.
    value: Option<(f64, String)>,
}

impl Rung {
    fn of(
        name: &'static str,
        state: &State<'_>,
        seen: impl Fn(&str) -> Result<Seen, String>,
    ) -> Rung {
        let costs = seen(name).ok().map(|seen| seen.accesses.map(|of| (of.each(), of.is_dear)));
        let mut rung = Rung { name, costs, value: None };
        rung.value =
            rung.found(state).and_then(|found| Some(found.first().1.last()?.value.clone()));
        rung
    }

    fn found<'m>(&self, state: &State<'m>) -> Option<Found<'m>> {
        Found::of(state.measured, &case([("case", self.name), ("side", "0")]))
    }
}

/// What there is beside the list.
struct Bars {
    heading: String,
    chart: Option<String>,
    most: f64,
}

/// The words that a warp accessed in one place, and what each request cost.
#[derive(Default)]
struct Accesses {
    words: Vec<u32>,
    costs: Vec<u64>,
    /// Whether one costs more than its bytes need.
    is_dear: bool,
}

impl Accesses {
    /// What each request cost.
    fn each(&self) -> String {
        match (self.costs.iter().min(), self.costs.iter().max()) {
            (Some(least), Some(most)) if least == most => most.to_string(),
            (Some(least), Some(most)) => format!("{least}–{most}"),
            _ => "–".to_owned(),
        }
    }
}

/// What a warp did.
struct Seen {
    shape: Shape,
    /// Blocks across and down.
    blocks: [u32; 2],
    warp: u32,
    /// Reads of the input, stores to the tile, loads from it, writes of the output.
    accesses: [Accesses; 4],
}

impl Seen {
    /// Runs a kernel on a matrix of this width and height.
    fn run(kernel: &str, size: [u32; 2], warp: u32) -> Result<Seen, String> {
        let [width, height] = size;
        if kernel == "vectors" && (width % 4, height % 4) != (0, 0) {
            return Err("vectors takes widths and heights that are multiples of 4".to_owned());
        }
        let shape = shape(kernel);
        let blocks = size.map(|length| length.div_ceil(shape.side));
        let warps = shape.warps();
        let warp = warp.min(blocks[0] * blocks[1] * warps - 1);
        let (block, within) = (warp / warps, warp % warps);
        let bytes = 4 * u64::from(width * height);
        let block = [block % blocks[0], block / blocks[0], 0];
        let ran = run(&Request {
            ptx: include_str!(concat!(env!("OUT_DIR"), "/transpose.ptx")),
            kernel,
            grid: [blocks[0], blocks[1], 1],
            block: shape.threads,
            arguments: vec![
                Argument::Buffer("in", bytes, Content::Ramp),
                Argument::Buffer("out", bytes, Content::Unwritten),
                Argument::U32(width),
                Argument::U32(height),
            ],
            watch: Some(Watch { block, warp: within as usize }),
        })?;
        Ok(Seen { shape, blocks, warp, accesses: accesses(&ran) })
    }

    /// "4 sectors", or "4 times 16 sectors" where there are several requests.
    fn costs(&self) -> [String; 4] {
        let named = |number: usize, thing: &str| {
            let costs = &self.accesses[number].costs;
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

/// What the watched warp accessed, from its requests.
fn accesses(ran: &Ran) -> [Accesses; 4] {
    let mut seen: [Accesses; 4] = Default::default();
    for request in &ran.counts.requests {
        let (which, cost, ideal) = match (request.traffic, request.stores) {
            (Traffic::Global(cost), stores) => (3 * usize::from(stores), cost.sectors, cost.ideal),
            (Traffic::Shared(cost), stores) => {
                (2 - usize::from(stores), cost.wavefronts, cost.ideal)
            }
        };
        let is_shared = matches!(which, 1 | 2);
        seen[which].costs.push(cost);
        seen[which].is_dear |= cost > ideal;
        for lane in active(request.lanes) {
            let start = if is_shared { 0 } else { ran.buffers[usize::from(request.stores)] };
            let first = (request.addresses[lane] - start) / 4;
            let words = first..first + request.bytes.div_ceil(4);
            seen[which].words.extend(words.map(|word| word as u32));
        }
    }
    seen
}

/// The input at the left, the output at the right, the tile between them or below. A warp is
/// dragged over all three.
fn draw(picture: &mut Picture, size: [u32; 2], seen: &Seen) {
    let Seen { shape, blocks, warp, accesses: [input, store, load, output] } = seen;
    let longest = f64::from(size[0].max(size[1]).max(32));
    let all = picture.pick(192.0, 164.0);
    let scale = all / longest;
    let (top, right) = (24.0, picture.width - 1.0 - all);
    let [read, stored, loaded, written] = seen.costs();
    let end = top + all;
    let [width, height] = size;
    for (left, name, [across, down], accesses, pen, cost) in [
        (1.0, "input", [width, height], input, COMPUTE, format!("read: {read}")),
        (right, "output", [height, width], output, MEMORY, format!("written: {written}")),
    ] {
        picture.heading((left, 8.0), Anchor::Start, name);
        let all = [left, top, f64::from(across) * scale, f64::from(down) * scale];
        picture.cell(all, MUTED, 0.04, true);
        words(picture, [left, top, scale], across, accesses, pen);
        picture.text((left, end + 14.0), Anchor::Start, INK, &cost);
        for ([x, y], goes_down, warp) in shape.lines(*blocks, name == "output") {
            let long = if goes_down { [1, shape.side] } else { [shape.side, 1] };
            // A block may reach beyond the matrix.
            let long = [long[0].min(across.saturating_sub(x)), long[1].min(down.saturating_sub(y))];
            let [x, y, width, height] = [x, y, long[0], long[1]].map(|at| f64::from(at) * scale);
            if width * height > 0.0 {
                let area = [left + x, top + y, width, height];
                picture.place(area, "warp", &format!("warp={warp}"));
            }
        }
        picture.handle(all, "warp");
    }
    let cell = picture.pick(4.0, 3.0);
    let place = picture.pick(top, end + 56.0);
    let middle = |across: f64| picture.pick((picture.width - across) / 2.0, 1.0);
    if let Some([pitch, rows]) = shape.tile {
        let cell = cell * 32.0 / f64::from(rows);
        let [across, down] = [pitch, rows].map(|length| f64::from(length) * cell);
        let left = middle(across);
        picture.heading((left, place - 16.0), Anchor::Start, "tile");
        picture.cell([left, place, across, down], MUTED, 0.04, true);
        words(picture, [left, place, cell], pitch, store, COMPUTE);
        words(picture, [left, place, cell], pitch, load, MEMORY);
        let (x, y) = picture.pick((left, place + down + 14.0), (left + across + 12.0, place + 8.0));
        picture.text((x, y), Anchor::Start, INK, &format!("written: {stored}"));
        picture.text((x, y + 18.0), Anchor::Start, INK, &format!("read: {loaded}"));
        let first = warp / shape.warps() * shape.warps();
        for row in 0..rows {
            let area = [left, place + f64::from(row) * cell, across, cell];
            let warp = first + (shape.writes)(row);
            picture.place(area, "warp", &format!("warp={warp}"));
        }
        picture.handle([left, place, across, down], "warp");
    } else {
        let left = middle(32.0 * cell);
        picture.heading((left, place - 16.0), Anchor::Start, "tile");
        picture.text((left, place + 8.0), Anchor::Start, MUTED, "this kernel has none");
    }
    // As high as with a tile, so that nothing below it moves.
    picture.reach(picture.pick(end + 22.0, end + 56.0 + 32.0 * cell));
}

/// The kernels, what a request of each costs, and how fast it was.
fn ladder(picture: &mut Picture, rungs: &[Rung], chosen: &str, bars: Option<&Bars>) {
    let top = picture.bottom() + 20.0;
    let (left, pitch, row) = picture.pick((128.0, 56.0, 26.0), (112.0, 31.0, 26.0));
    let column = |number: usize| left + (number as f64 + 0.5) * pitch;
    let wide = ["read", "tile in", "tile out", "write"];
    for (number, head) in picture.pick(wide, ["read", "in", "out", "write"]).iter().enumerate() {
        picture.text((column(number), top), Anchor::Middle, MUTED, head);
    }
    for (place, Rung { name, costs, .. }) in rungs.iter().enumerate() {
        let y = top + 14.0 + place as f64 * row;
        let middle = y + row / 2.0;
        let is_chosen = *name == chosen;
        if is_chosen {
            picture.cell([0.0, y + 1.0, picture.width, row - 2.0], INK, 0.08, false);
        }
        let pen = if is_chosen { INK } else { MUTED };
        picture.text((1.0, middle), Anchor::Start, pen, name);
        for (number, (cost, is_dear)) in costs.iter().flatten().enumerate() {
            let at = (column(number), middle);
            match is_dear {
                false => picture.text(at, Anchor::Middle, MUTED, cost),
                true => picture.heading(at, Anchor::Middle, cost),
            }
        }
    }
    let start = left + 4.0 * pitch + 6.0;
    if let Some(Bars { heading, chart, most }) = bars {
        let below = top + 14.0 + rungs.len() as f64 * row + 12.0;
        let room = [0.0, below + 9.0, picture.width, 18.0];
        picture.measured(chart.as_deref(), room, |picture| {
            for (place, Rung { value, .. }) in rungs.iter().enumerate() {
                let Some((value, told)) = value else { continue };
                let y = top + 14.0 + place as f64 * row;
                let width = value / most * (picture.width - 1.0 - start);
                picture.cell([start, y + 4.0, width, row - 8.0], MEMORY, 0.25, false);
                picture.text((start + 5.0, y + row / 2.0), Anchor::Start, INK, told);
            }
            picture.text((1.0, below + 18.0), Anchor::Start, MUTED, heading);
        });
        picture.reach(below + 26.0);
    }
    let below = top + 14.0 + rungs.len() as f64 * row + 12.0;
    let what = picture.pick(
        "each request of read and write: sectors; of the tile: wavefronts",
        "of each request: sectors; in the tile, wavefronts",
    );
    picture.text((1.0, below), Anchor::Start, MUTED, what);
    for (place, Rung { name, .. }) in rungs.iter().enumerate() {
        let area = [0.0, top + 14.0 + place as f64 * row, picture.width, row];
        picture.target(area, &format!("kernel={name}"));
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
    use super::super::said;
    use super::{KERNELS, Seen};

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
            assert_eq!(said("transpose", &[("kernel", kernel)]), told);
        }
        for kernel in ["several", "swizzled"] {
            let told = "reads 4 times 4 sectors and writes 4 times 4 sectors. Its tile is written \
                in 4 times 1 wavefront and read in 4 times 1 wavefront.";
            assert!(said("transpose", &[("kernel", kernel)]).ends_with(told));
        }
    }

    /// A warp at an edge has a part of the work, or none.
    #[test]
    fn what_a_warp_leaves_out_is_told() {
        for (kernel, [width, height], warp, told) in [
            (
                "tile",
                ["96", "1"],
                "5",
                "reads nothing and writes 1 sector. It writes nothing to its tile, and reads it \
                 in 1 wavefront.",
            ),
            (
                "tile",
                ["33", "33"],
                "63",
                "reads 1 sector and writes nothing. Its tile is written in 1 wavefront and not \
                 read.",
            ),
            (
                "swizzled",
                ["1", "1"],
                "5",
                "reads nothing and writes nothing. Its tile is written in 4 times 1 wavefront, \
                 from registers without a value, and not read.",
            ),
            (
                "tile",
                ["1", "1"],
                "5",
                "reads nothing and writes nothing. Nor does it touch its tile.",
            ),
        ] {
            let state = [("kernel", kernel), ("width", width), ("height", height), ("warp", warp)];
            let said = said("transpose", &state);
            assert_eq!(said, format!("Warp {warp} of {kernel} {told}"));
        }
    }

    #[test]
    fn any_shape_and_every_warp_has_a_picture() {
        for kernel in ["read_coalesced", "write_coalesced", "several", "vectors"] {
            for (width, height, warp) in [("1", "1", "0"), ("96", "4", "31"), ("36", "96", "287")] {
                let state =
                    [("kernel", kernel), ("width", width), ("height", height), ("warp", warp)];
                let said = said("transpose", &state);
                let is_ragged = kernel == "vectors" && width == "1";
                assert_eq!(said.contains("multiples of 4"), is_ragged, "{said}");
                assert_eq!(said.starts_with("Warp "), !is_ragged, "{said}");
            }
        }
    }

    /// Where a warp is dragged to is where it reads, writes, and stores to the tile.
    #[test]
    fn every_place_is_its_warps() {
        let size = [96, 64];
        for (kernel, _) in KERNELS {
            let of = |warp| Seen::run(kernel, size, warp).unwrap();
            let Seen { shape, blocks, .. } = of(0);
            for warp in 0..blocks[0] * blocks[1] * shape.warps() {
                let [read, stored, loaded, written] = of(warp).accesses;
                for (accesses, width, is_output) in
                    [(&read, size[0], false), (&written, size[1], true)]
                {
                    let lines = shape.lines(blocks, is_output);
                    for word in &accesses.words {
                        let [x, y] = [word % width, word / width];
                        let is_there = |(first, goes_down, _): &&([u32; 2], bool, u32)| {
                            let [along, across] = if *goes_down { [1, 0] } else { [0, 1] };
                            let at = [x, y];
                            (first[along]..first[along] + shape.side).contains(&at[along])
                                && first[across] == at[across]
                        };
                        let (_, _, whose) = lines.iter().find(is_there).unwrap();
                        assert_eq!(*whose, warp, "{kernel}: {x} {y} {is_output}");
                    }
                }
                let Some([pitch, rows]) = shape.tile else { continue };
                for row in (0..rows).filter(|row| (shape.writes)(*row) == warp % shape.warps()) {
                    let mut words = stored.words.iter().chain(&loaded.words);
                    assert!(words.any(|word| word / pitch == row), "{kernel}: {row} of the tile");
                }
            }
        }
    }
}
