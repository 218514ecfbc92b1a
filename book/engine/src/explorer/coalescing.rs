//! An index of the lane, and the sectors that a load or a store there costs.

use std::collections::BTreeMap;
use std::error::Error;

use emulator::access::SECTOR_BYTES;
use emulator::{Fault, Request as Access, Sectors, Traffic, WARP};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Case, Drawn, Explorer, Knob, State, Values, active, case, count, expression, grouped};
use crate::launch::{self, Argument, Content, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "coalescing",
    title: "Which sectors a warp touches",
    task: "The stride is how many elements apart neighbouring lanes are. Move it up from 1: from \
        which stride on does the number of sectors stop growing, and why?",
    finding: "Up to a stride of 8 each step costs 4 sectors more. From there on every lane has a \
        sector of its own, and 32 lanes cannot touch more than 32.",
    knobs: &[
        Knob {
            name: "index",
            label: "index",
            first: "1*t",
            values: Values::Text {
                examples: &["t+1", "31-t", "(t/8)*64+t%8", "t^1", "0"],
                slider: Some(("stride", "*t", 1, 40)),
                words: &[],
            },
        },
        Knob {
            name: "bytes",
            label: "bytes of each lane",
            first: "4",
            values: Values::Choice(&[("1", "1"), ("2", "2"), ("4", "4"), ("8", "8"), ("16", "16")]),
        },
        Knob {
            name: "access",
            label: "the warp",
            first: "load",
            values: Values::Choice(&[("load", "loads"), ("store", "stores")]),
        },
    ],
    show,
};

/// Bytes of the array.
const BYTES: u64 = 1 << 20;

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let (index, bytes) = (state.text("index")?, state.number("bytes")?);
    let stores = state.text("access")? == "store";
    let array = Argument::Buffer("the array", BYTES, Content::Ramp);
    let ptx = kernel(index, bytes, stores)?;
    let ran = launch::run(&Request::of_a_warp(&ptx, "explore", vec![array]))
        .map_err(|error| explain(&*error))?;
    let [access] = &ran.counts.requests[..] else {
        return Err("the kernel made no request".to_owned());
    };
    let Traffic::Global(cost) = access.traffic else {
        return Err("the kernel did not access device memory".to_owned());
    };
    let touched = Touched::of(access, ran.buffers[0]);
    let said = said(index, &touched, cost, access);
    let draw = move |picture: &mut Picture| draw(picture, &touched, cost, stores);
    Ok(Drawn { said, draw: Box::new(draw), case: Some(called(index, bytes, stores)), limit: None })
}

/// What the experiment calls it, if the index is a stride or an offset.
fn called(index: &str, bytes: u32, stores: bool) -> Case {
    let index: String = index.chars().filter(|c| !c.is_whitespace()).collect();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let stride = if index == "t" { Some(1) } else { number(index.strip_suffix("*t")) };
    let (name, number) = match (stride, number(index.strip_prefix("t+"))) {
        (Some(stride), _) => ("stride", stride),
        (_, Some(offset)) => ("offset", offset),
        _ => return vec![],
    };
    let kind = if stores { "scatter" } else { "gather" };
    let [number, bytes] = [number, bytes].map(|number| number.to_string());
    case([("case", name), ("kind", kind), (name, &number), ("access_bytes", &bytes)])
}

/// What of a fault in this kernel is for the reader, who has not seen it.
fn explain(error: &(dyn Error + 'static)) -> String {
    let fault = error.downcast_ref::<Box<Fault>>();
    match fault.and_then(|fault| Some((fault.thread?, &fault.what))) {
        Some(([lane, ..], what)) => grouped(&format!("Lane {lane} {what}.")),
        None => error.to_string(),
    }
}

/// A kernel whose thread `t` loads or stores one element at this index.
fn kernel(index: &str, bytes: u32, stores: bool) -> Result<String, String> {
    let expression::Compiled { ptx, result, registers } = expression::compile(index)?;
    let (kind, values) = match bytes {
        1 => ("u8", "%w0"),
        2 => ("u16", "%w0"),
        4 => ("u32", "%w0"),
        8 => ("v2.u32", "{%w0, %w1}"),
        _ => ("v4.u32", "{%w0, %w1, %w2, %w3}"),
    };
    // Every lane stores the same: where two store to one place, neither is wrong.
    let access = match stores {
        true => format!(
            "{}st.global.{kind} [%rd3], {values};",
            (0..4).map(|n| format!("mov.u32 %w{n}, 1;\n")).collect::<String>()
        ),
        false => format!("ld.global.{kind} {values}, [%rd3];"),
    };
    Ok(format!(
        ".version 7.8\n.target sm_75\n.address_size 64\n\
         .visible .entry explore(.param .u64 array) {{\n\
         .reg .b32 %r<{registers}>;\n.reg .b32 %w<4>;\n.reg .b64 %rd<4>;\n\
         mov.u32 %r0, %tid.x;\n{ptx}\
         ld.param.u64 %rd1, [array];\nmul.wide.s32 %rd2, {result}, {bytes};\n\
         add.s64 %rd3, %rd1, %rd2;\n{access}\nret;\n}}\n"
    ))
}

/// What the lanes touch.
struct Touched {
    /// Of each lane the byte of the array that it starts at.
    starts: Vec<u64>,
    bytes: u64,
    /// The wanted bytes of each sector, one bit for each, by the sector's number in the array.
    sectors: BTreeMap<u64, u32>,
}

impl Touched {
    fn of(access: &Access, start: u64) -> Self {
        let starts: Vec<u64> =
            active(access.lanes).map(|lane| access.addresses[lane] - start).collect();
        let mut sectors = BTreeMap::new();
        for byte in starts.iter().flat_map(|start| *start..start + access.bytes) {
            *sectors.entry(byte / SECTOR_BYTES).or_default() |= 1 << (byte % SECTOR_BYTES);
        }
        Self { starts, bytes: access.bytes, sectors }
    }

    fn wanted(&self) -> u32 {
        self.sectors.values().map(|bytes| bytes.count_ones()).sum()
    }
}

fn said(index: &str, touched: &Touched, cost: Sectors, access: &Access) -> String {
    let moved = count(cost.sectors * SECTOR_BYTES, "byte");
    let (verb, bytes, wanted) =
        (if access.stores { "stores" } else { "loads" }, access.bytes, touched.wanted());
    let sectors = count(cost.sectors, "sector");
    let bytes = count(bytes, "byte");
    let each = format!("Each lane {verb} {bytes} at index {index}: {sectors}");
    if !access.stores {
        return format!(
            "{each}, {moved} move, and {} of them {} wanted.",
            grouped(&wanted.to_string()),
            if wanted == 1 { "is" } else { "are" }
        );
    }
    let partial = touched.sectors.values().filter(|bytes| **bytes != u32::MAX).count();
    let filled = match partial as u64 {
        0 if cost.sectors == 1 => "filled".to_owned(),
        0 => "all of them filled".to_owned(),
        1 if cost.sectors == 1 => "not filled".to_owned(),
        some if some == cost.sectors => "none of them filled".to_owned(),
        some => format!("{some} of them filled only in part"),
    };
    format!("{each} for {}, {filled}.", count(wanted.into(), "byte"))
}

/// Lanes above, and below each the sector that it touches; as many sectors fit as lanes.
fn draw(picture: &mut Picture, touched: &Touched, cost: Sectors, stores: bool) {
    let right = picture.width - 1.0;
    let step = (right - 1.0) / WARP as f64;
    let (lanes, memory, height) = (24.0, 116.0, 30.0);
    picture.text((1.0, 8.0), Anchor::Start, MUTED, "32 lanes of a warp");
    let (first, last) = (touched.sectors.keys().next(), touched.sectors.keys().last());
    let (first, last) = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
    // Where all fit, sectors between those that are touched are shown as well.
    let fits = last - first < WARP as u64;
    let number = |sector: u64| match fits {
        true => sector - first,
        false => touched.sectors.range(..sector).count() as u64,
    };
    let left = |sector: u64| 1.0 + number(sector) as f64 * step;
    let byte = step / SECTOR_BYTES as f64;
    let middle = |start: u64| {
        let within = (start % SECTOR_BYTES) as f64 + touched.bytes as f64 / 2.0;
        left(start / SECTOR_BYTES) + within * byte
    };
    let mut fan = vec![];
    for (lane, start) in touched.starts.iter().enumerate() {
        let x = 1.0 + lane as f64 * step;
        picture.cell([x, lanes, step, 24.0], COMPUTE, 0.3, true);
        if lane % picture.pick(1, 8) == 0 {
            let at = (x + step / 2.0, lanes + 12.0);
            picture.text(at, Anchor::Middle, INK, &lane.to_string());
        }
        fan.push([x + step / 2.0, lanes + 24.0, middle(*start), memory]);
    }
    picture.lines(&fan, COMPUTE, 0.55);
    if fits {
        let slots = (0..WARP as u64).map(|n| [1.0 + n as f64 * step, memory, step, height]);
        slots.for_each(|slot| picture.cell(slot, MUTED, 0.04, false));
    }
    for (sector, bytes) in &touched.sectors {
        let x = left(*sector);
        picture.cell([x, memory, step, height], MEMORY, 0.16, true);
        // Neighbouring wanted bytes are one rectangle.
        let mut at = 0;
        while at < SECTOR_BYTES as u32 {
            let run = (bytes >> at).trailing_ones();
            if run > 0 {
                let area = [x + f64::from(at) * byte, memory, f64::from(run) * byte, height];
                picture.cell(area, MEMORY, 0.75, false);
            }
            at += run.max(1);
        }
    }
    let below = memory + height + 14.0;
    let what = match fits {
        true => "memory, in sectors of 32 bytes",
        false => "the touched sectors of 32 bytes; between them lie others",
    };
    picture.text((1.0, below), Anchor::Start, MUTED, what);
    let moved = cost.sectors * SECTOR_BYTES;
    let use_of = format!(
        "{} of {} {}",
        grouped(&touched.wanted().to_string()),
        count(moved, "byte"),
        if stores { "written" } else { "wanted" }
    );
    picture.heading((1.0, below + 22.0), Anchor::Start, &count(cost.sectors, "sector"));
    picture.text((right, below + 22.0), Anchor::End, INK, &use_of);
}

#[cfg(test)]
mod tests {
    use super::super::{Request, case, said, show};
    use super::called;

    const NAME: &str = "coalescing";

    /// What the sentences that the reader is to find say, this explorer's and the pages' own.
    #[test]
    fn what_there_is_to_find_is_there() {
        let sectors = |index: &str| {
            let said = said(NAME, &[("index", index)]);
            let (_, rest) = said.split_once(": ").unwrap_or_default();
            rest.split(' ').next().and_then(|number| number.parse::<u32>().ok())
        };
        for stride in 1..=40 {
            let expected = (4 * stride).min(32);
            assert_eq!(sectors(&format!("{stride}*t")), Some(expected), "stride {stride}");
        }
        assert_eq!([sectors("t+1"), sectors("31-t")], [Some(5), Some(4)]);
        assert_eq!([sectors("(t/8)*64+t%8"), sectors("0")], [Some(4), Some(1)]);
        let one = said(NAME, &[("index", "0"), ("access", "store")]);
        assert!(one.ends_with("1 sector for 4 bytes, not filled."), "{one}");
        let one = said(NAME, &[("index", "0"), ("access", "store"), ("bytes", "1")]);
        assert!(one.ends_with("1 sector for 1 byte, not filled."), "{one}");
        let wide = said(NAME, &[("index", "2*t"), ("bytes", "16")]);
        assert!(wide.ends_with(" 1,024 bytes move, and 512 of them are wanted."), "{wide}");
        let far = said(NAME, &[("index", "1000000+t")]);
        assert!(far.contains(" 2,951,424 bytes past the end"), "{far}");
        assert_eq!(sectors("(t/4)*64+t%4"), Some(8));
        for (index, bytes, is_its_own) in
            [("31*t", "1", false), ("32*t", "1", true), ("t", "16", false), ("2*t", "16", true)]
        {
            let said = said(NAME, &[("index", index), ("bytes", bytes)]);
            assert_eq!(said.contains(": 32 sectors, "), is_its_own, "{said}");
        }
        let store = said(NAME, &[("index", "2*t"), ("access", "store")]);
        assert!(store.ends_with("8 sectors for 128 bytes, none of them filled."), "{store}");
    }

    #[test]
    fn each_width_is_one_access() {
        for (bytes, sectors) in [("1", 1), ("2", 2), ("4", 4), ("8", 8), ("16", 16)] {
            for access in ["load", "store"] {
                let said = said(NAME, &[("bytes", bytes), ("access", access)]);
                let count = super::count(sectors, "sector");
                assert!(said.contains(&format!(": {count}")), "{said}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (index, told) in [
            ("t-1", "Lane 0 reads 4 bytes at "),
            ("t*t*t*t*t", "the array"),
            ("t+", "The index ends where a number, `t` or `(` should follow"),
            ("2t", "`2t`: write `2*t`"),
            ("3000000000*t", "`3000000000` is no whole number below 2147483648"),
            ("t/0", "`/ 0` in the index divides by 0"),
            ("x", "`x` in the index"),
            ("(t", "A `(` of the index has no `)`."),
            ("t)", "`)` after the end of the index `t)`"),
            ("t é", "`é` after the end"),
            (&"(".repeat(60), "too many parentheses."),
            (&"t+".repeat(60), "longer than 80 characters"),
        ] {
            let said = said(NAME, &[("index", index)]);
            assert!(said.contains(told), "{index}: {said}");
        }
        assert!(
            said(NAME, &[("bytes", "3")]).contains("`bytes` is \"3\"; expected 1, 2, 4, 8, 16")
        );
        assert!(said(NAME, &[("widht", "3")]).contains("no knob `widht`"));
    }

    #[test]
    fn a_stride_or_an_offset_is_a_case() {
        for (index, name, number) in
            [("t", "stride", "1"), ("3 * t", "stride", "3"), ("t+8", "offset", "8")]
        {
            let expected =
                [("case", name), ("kind", "gather"), (name, number), ("access_bytes", "4")];
            assert_eq!(called(index, 4, false), case(expected));
        }
        assert!(["31-t", "t+t", "x*t"].iter().all(|index| called(index, 4, true).is_empty()));
    }

    /// As C has it: what binds more, and from left to right.
    #[test]
    fn an_index_means_what_it_means_in_c() {
        for (index, same) in [
            ("1+2*t", "(2*t)+1"),
            ("64-t-t", "64-2*t"),
            ("t<<1+1", "4*t"),
            ("t&3|8", "(t%4)+8"),
            ("-t+31", "31-t"),
            ("~t+33", "32-t"),
            ("t^1", "t+1-2*(t%2)"),
            ("64/2/2*t", "16*t"),
        ] {
            let shape = |index: &str| {
                let state = [("index".to_owned(), index.to_owned())].into();
                let request = Request { name: NAME.to_owned(), state, ..Request::default() };
                show(&request).map(|shown| {
                    let (_, body) = shown.wide.split_once('\n').unwrap_or_default();
                    body.to_owned()
                })
            };
            assert_eq!(shape(index), shape(same), "{index}");
        }
    }
}
