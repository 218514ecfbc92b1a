//! Elements with eight fields, laid out in tiles of a size of one's choice, and what a warp
//! moves that wants some of the fields.

use std::collections::BTreeMap;

use emulator::access::{SECTOR_BYTES, WORD_BYTES};
use emulator::{Traffic, WARP};

use super::picture::{Anchor, INK, MEMORY, MUTED, Picture};
use super::{Case, Drawn, Explorer, Knob, State, Values, active, case, count, run};
use crate::launch::{Argument, Content, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "layout",
    title: "What a warp moves for some fields of its elements",
    task: "Read one field: which is the smallest tile that is as good as a structure of arrays, and \
        why that one? Then read more fields: where does the array of structures catch up, and what \
        does it still pay?",
    finding: "A tile of 8 elements: their equal fields fill a sector, and no other field's is in it. \
        The array of structures moves all 32 sectors even for one field. With all 8 fields these \
        are wanted as well; but each of its loads touches all 32, so that they are asked for 8 \
        times, and only a cache helps. Two loads of 16 bytes for each element ask for them twice. \
        Sectors are not all of the time: from tiles of 1 to tiles of 2 they halve, and the time \
        measured stays; from 8 to 32 they stay, and it falls.",
    knobs: &[
        Knob {
            name: "tile",
            label: "elements of a tile",
            first: "1",
            values: Values::Choice(&[
                ("1", "1: array of structures"),
                ("2", "2"),
                ("4", "4"),
                ("8", "8"),
                ("16", "16"),
                ("32", "32: structure of arrays"),
            ]),
        },
        Knob {
            name: "read",
            label: "reads",
            first: "1",
            values: Values::Choice(&[
                ("1", "1 field"),
                ("2", "2 fields"),
                ("3", "3 fields"),
                ("4", "4 fields"),
                ("8", "8 fields"),
                ("vectors", "8 fields, 16 bytes a load"),
            ]),
        },
    ],
    show,
};

/// Fields of an element, each a word.
const FIELDS: u32 = 8;
/// Words of all elements of a warp.
const WORDS: u32 = FIELDS * WARP as u32;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let (tile, read) = (state.number("tile")?, state.text("read")?);
    let is_vectors = read == "vectors";
    if is_vectors && tile != 1 {
        let what = "loads of 16 bytes take four fields of one element, which lie together in tiles";
        return Err(format!("{what} of 1 only"));
    }
    let arguments = vec![
        Argument::Buffer("elements", WORD_BYTES * u64::from(WORDS), Content::Ramp),
        Argument::Buffer("sums", WORD_BYTES * WARP as u64, Content::Unwritten),
        Argument::U32(WARP as u32),
        Argument::U32(FIELDS),
        Argument::U32(tile.trailing_zeros()),
    ];
    let kernel = if is_vectors { "read8_vectors".to_owned() } else { format!("read{read}") };
    let ptx = include_str!(concat!(env!("OUT_DIR"), "/data-layout.ptx"));
    let ran = run(&Request::of_a_warp(ptx, &kernel, arguments))?;
    // The wanted words of each sector, one bit for each.
    let (mut sectors, mut loads, mut asked) = (BTreeMap::<u64, u8>::new(), 0, 0);
    for request in ran.counts.requests.iter().filter(|request| !request.stores) {
        let Traffic::Global(cost) = request.traffic else { continue };
        (loads, asked) = (loads + 1, asked + cost.sectors);
        for lane in active(request.lanes) {
            let first = (request.addresses[lane] - ran.buffers[0]) / WORD_BYTES;
            for word in first..first + request.bytes / WORD_BYTES {
                let words = SECTOR_BYTES / WORD_BYTES;
                *sectors.entry(word / words).or_default() |= 1 << (word % words);
            }
        }
    }
    let wanted: u32 = sectors.values().map(|words| words.count_ones()).sum();
    let told = Told { tile, loads, asked, wanted, sectors };
    let moved = told.sectors.len() as u64;
    let said = format!(
        "{} of the warp {} for {}{}, and {}% of their bytes are wanted.",
        count(loads, "load"),
        if loads == 1 { "asks" } else { "ask" },
        count(asked, "sector"),
        if asked == moved { String::new() } else { format!(", {moved} different ones") },
        (1000.0 * f64::from(wanted) / (8 * moved).max(1) as f64).round() / 10.0,
    );
    let draw = move |picture: &mut Picture| draw(picture, &told);
    Ok(Drawn { said, draw: Box::new(draw), case: Some(called(tile, read)), limit: None })
}

/// What the experiment calls it: it reads one field in tiles of any size, and several in the
/// layouts at both ends. With 32 elements a warp cannot tell a tile of them from the latter.
fn called(tile: u32, read: &str) -> Case {
    let (layout, used) = match (tile, read) {
        (_, "1") => return case([("case", "tile"), ("used", "1"), ("tile", &tile.to_string())]),
        (1, "vectors") => ("array_of_structures_as_vectors", "8"),
        (1, used) => ("array_of_structures", used),
        (32, used) => ("structure_of_arrays", used),
        _ => return vec![],
    };
    case([("case", "read"), ("layout", layout), ("used", used)])
}

/// What the loads of a warp touched.
struct Told {
    tile: u32,
    loads: u64,
    /// Sectors, counted for each load.
    asked: u64,
    wanted: u32,
    sectors: BTreeMap<u64, u8>,
}

/// All words of the elements, sector by sector, with the element of each.
fn draw(picture: &mut Picture, told: &Told) {
    let across = picture.pick(4, 2);
    let sector = (picture.width - 2.0) / f64::from(across);
    let word = sector / 8.0;
    let (top, height) = (24.0, picture.pick(24.0, 20.0));
    let what = "memory: boxes are sectors, numbers are elements";
    picture.text((1.0, 8.0), Anchor::Start, MUTED, what);
    for number in 0..WORDS / 8 {
        let x = 1.0 + f64::from(number % across) * sector;
        let y = top + f64::from(number / across) * (height + 4.0);
        let words = told.sectors.get(&u64::from(number)).copied();
        let fill = if words.is_some() { 0.16 } else { 0.0 };
        picture.cell([x, y, sector, height], MEMORY, fill, true);
        for at in 0..8 {
            let left = x + f64::from(at) * word;
            if words.is_some_and(|words| words >> at & 1 == 1) {
                picture.cell([left + 0.5, y + 0.5, word - 1.0, height - 1.0], MEMORY, 0.4, false);
                let place = number * 8 + at;
                let element = place / (FIELDS * told.tile) * told.tile + place % told.tile;
                let middle = (left + word / 2.0, y + height / 2.0);
                picture.text(middle, Anchor::Middle, INK, &element.to_string());
            }
        }
    }
    let below = top + f64::from(WORDS / 8 / across) * (height + 4.0) + 12.0;
    let moved = told.sectors.len() as u64;
    picture.heading((1.0, below), Anchor::Start, &count(moved, "sector"));
    let wanted = format!("{} of {} words wanted", told.wanted, 8 * moved);
    picture.text((picture.width - 1.0, below), Anchor::End, INK, &wanted);
    let loads = format!("{} ask for {} in all", count(told.loads, "load"), told.asked);
    let loads = if told.loads == 1 { loads.replacen(" ask", " asks", 1) } else { loads };
    picture.text((1.0, below + 20.0), Anchor::Start, INK, &loads);
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn told(tile: &str, read: &str) -> String {
        said("layout", &[("tile", tile), ("read", read)])
    }

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for (tile, sectors, share) in [
            (1, 32, "12.5"),
            (2, 16, "25"),
            (4, 8, "50"),
            (8, 4, "100"),
            (16, 4, "100"),
            (32, 4, "100"),
        ] {
            let expected = format!(
                "1 load of the warp asks for {sectors} sectors, and {share}% of their bytes are \
                 wanted."
            );
            assert_eq!(told(&tile.to_string(), "1"), expected);
        }
        let all = told("1", "8");
        assert!(
            all.starts_with("8 loads of the warp ask for 256 sectors, 32 different ones"),
            "{all}"
        );
        assert!(all.ends_with("100% of their bytes are wanted."), "{all}");
        assert!(told("8", "8").starts_with("8 loads of the warp ask for 32 sectors"));
        assert!(told("1", "vectors").starts_with("2 loads of the warp ask for 64 sectors"));
        assert!(told("8", "vectors").ends_with("in tiles of 1 only."));
    }
}
