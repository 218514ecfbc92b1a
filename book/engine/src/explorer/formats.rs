//! A sum of ones in a format of few bits.

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::{Drawn, Explorer, Found, Knob, State, Values, case, grouped, run};
use crate::launch::{Argument, Content, Request};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "formats",
    title: "A number of few bits, to which 1 is added again and again",
    task: "Add 1 again and again. Where does the sum stop, and how far apart do the format's \
        numbers lie there? Give the fraction a bit more or less, and find the rule. Then take \
        bits from the exponent: what happens instead?",
    finding: "256 + 1 = 256, with 7 bits of fraction as in BF16. From 256 on the numbers lie 2 \
        apart, so 257 is half-way, and goes to the one whose last bit is 0. Each bit of fraction \
        doubles where it stops: 4 with 1 bit, 8 with 2 … 2048 with 10, as in FP16. Bits of \
        exponent do not move it, but with too few of them, 4 where the fraction has 7, the sum is \
        infinite first.",
    knobs: &[
        Knob { name: "ones", label: "ones added", first: "100", values: Values::Range(0, MOST) },
        Knob {
            name: "fraction",
            label: "bits of fraction",
            first: "7",
            values: Values::Range(1, 10),
        },
        Knob {
            name: "exponent",
            label: "bits of exponent",
            first: "8",
            values: Values::Range(2, 8),
        },
    ],
    show,
};

const MOST: u32 = 2100;
/// Sums of the curve: as many ones as the first has, the next one more …
const POINTS: u32 = 30;
/// The numbers of the format around the sum are looked for in steps of this size.
const FINE: f32 = 0.25;
/// How far from the sum, to both sides.
const NEAR: f32 = 5.0;

/// Bits of exponent and of fraction, as the kernels have them.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    fraction: u32,
}

impl Format {
    /// What the experiment calls it, if it knows it.
    fn kind(self) -> Option<&'static str> {
        match (self.exponent, self.fraction) {
            (8, 10) => Some("tf32"),
            (8, 7) => Some("bf16"),
            (5, 10) => Some("fp16"),
            (5, 2) => Some("e5m2"),
            (4, 3) => Some("e4m3"),
            _ => None,
        }
    }

    /// Its bits, the pattern of its largest number, and that of infinity, which comes next.
    fn arguments(self) -> [Argument; 4] {
        let infinity = ((1 << self.exponent) - 1) << self.fraction;
        [self.exponent, self.fraction, infinity - 1, infinity].map(Argument::U32)
    }

    /// Runs a kernel of `number-formats.cu` on a thread for each of `count` results, which are
    /// words.
    fn run(
        self,
        kernel: &str,
        numbers: Vec<f32>,
        count: u32,
        more: impl IntoIterator<Item = Argument>,
    ) -> Result<Vec<u32>, String> {
        let words: Vec<u32> = numbers.into_iter().map(f32::to_bits).collect();
        let mut results = vec![0; 4 * count as usize];
        let mut arguments = vec![
            Argument::Buffer("numbers", 4 * words.len() as u64, Content::Words(words)),
            Argument::Buffer("results", results.len() as u64, Content::Unwritten),
        ];
        arguments.extend(more);
        arguments.extend(self.arguments());
        let ptx = include_str!(concat!(env!("OUT_DIR"), "/number-formats.ptx"));
        let (block, watch) = ([count, 1, 1], None);
        let request = Request { block, watch, ..Request::of_a_warp(ptx, kernel, arguments) };
        let ran = run(&request)?;
        ran.memory.read(ran.buffers[1], &mut results).map_err(|error| error.to_string())?;
        let words = results.as_chunks().0;
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// For each of these counts the sum of so many ones, each sum rounded to the format.
    fn sums(self, counts: &[u32]) -> Result<Vec<f32>, String> {
        let (threads, terms) = (counts.len() as u32, counts.iter().copied().max().unwrap_or(0));
        let numbers = (0..terms)
            .flat_map(|term| counts.iter().map(move |count| if term < *count { 1.0 } else { 0.0 }));
        let more = [threads, terms].map(Argument::U32);
        let sums = self.run("naive", numbers.collect(), threads, more)?;
        Ok(sums.into_iter().map(f32::from_bits).collect())
    }
}

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let format =
        Format { exponent: state.number("exponent")?, fraction: state.number("fraction")? };
    let ones = state.number("ones")?;
    let mut counts: Vec<u32> = (0..POINTS).map(|point| MOST * point / (POINTS - 1)).collect();
    counts.extend([ones, ones + 1]);
    let mut curve = format.sums(&counts)?;
    let [next, sum] = [curve.pop(), curve.pop()].map(|sum| sum.unwrap_or(f32::NAN));
    // What the format makes of the numbers nearby are its numbers.
    let near = (-(NEAR / FINE) as i32..=(NEAR / FINE) as i32).map(|n| sum + n as f32 * FINE);
    let near: Vec<f32> = near.filter(|number| sum.is_finite() && *number >= 0.0).collect();
    let count = near.len() as u32;
    let mut marks = match count {
        0 => vec![],
        _ => format.run("naive", near, count, [count, 1].map(Argument::U32))?,
    };
    marks.dedup();
    let marks = marks.into_iter().map(f32::from_bits).filter(|mark| mark.is_finite()).collect();
    let scaled = [Argument::U64(1), Argument::F32(1.0)];
    let pattern = format.run("scaled", vec![sum], 1, scaled)?[0];
    let told = |sum: f32| if sum.is_finite() { sum.to_string() } else { "infinity".to_owned() };
    let [said, after] = [sum, next].map(told);
    let said = format!("Ones added: {ones}. Their sum: {said}. Once more: {said} + 1 = {after}.");
    let said = grouped(&said);
    // What the experiment computed on a GPU lies behind the curve.
    let case = format.kind().map(|kind| case([("case", "count"), ("kind", kind), ("terms", "0")]));
    let found = case.and_then(|case| Found::of(state.measured, &case));
    let computed = found.map(|found| Computed {
        heading: found.heading(),
        chart: found.measured.chart.clone(),
        sums: found.first().1.iter().map(|point| (point.at.0, point.value.0)).collect(),
    });
    let seen = Seen { format, ones, sum, next, curve, marks, pattern, computed };
    let draw = move |picture: &mut Picture| draw(picture, &seen);
    Ok(Drawn { said, draw: Box::new(draw), case: None, limit: None })
}

/// What a GPU computed.
struct Computed {
    /// What it is, and whose.
    heading: String,
    chart: Option<String>,
    /// Ones, and their sum.
    sums: Vec<(f64, f64)>,
}

/// What the format made of the ones.
struct Seen {
    format: Format,
    ones: u32,
    sum: f32,
    next: f32,
    curve: Vec<f32>,
    /// Numbers of the format around the sum.
    marks: Vec<f32>,
    /// The sum's bits.
    pattern: u32,
    computed: Option<Computed>,
}

/// The bits, the number line around the sum, and the sums so far.
fn draw(picture: &mut Picture, seen: &Seen) {
    let Seen { format, sum, .. } = seen;
    let (middle, width) = (picture.width / 2.0, picture.width);
    let bits = 1 + format.exponent + format.fraction;
    let cell = picture.pick(22.0, 17.0);
    let left = middle - f64::from(bits) * cell / 2.0;
    for bit in 0..bits {
        let pen = match bit {
            0 => MUTED,
            _ if bit <= format.exponent => COMPUTE,
            _ => MEMORY,
        };
        let (x, is_set) = (left + f64::from(bit) * cell, seen.pattern >> (bits - 1 - bit) & 1 == 1);
        picture.cell([x, 1.0, cell, 24.0], pen, if is_set { 0.4 } else { 0.05 }, true);
        let digit = if is_set { "1" } else { "0" };
        picture.text((x + cell / 2.0, 13.0), Anchor::Middle, INK, digit);
    }
    let fraction = left + f64::from(1 + format.exponent) * cell;
    picture.text((fraction - 6.0, 36.0), Anchor::End, INK, "exponent");
    picture.text((fraction + 4.0, 36.0), Anchor::Start, INK, "fraction");
    // The number line.
    let (line, scale) = (104.0, (width - 60.0) / f64::from(2.0 * NEAR));
    let place = |number: f32| middle + f64::from(number - sum) * scale;
    picture.lines(&[[1.0, line, width - 1.0, line]], MUTED, 1.0);
    if sum.is_infinite() {
        let text = "the sum is infinite: there are no numbers near it";
        picture.text((middle, line - 20.0), Anchor::Middle, INK, text);
    }
    // Where the numbers may lie closer than those that were looked for.
    for pair in seen.marks.windows(2).filter(|pair| pair[1] - pair[0] <= FINE) {
        let [x, to] = [pair[0], pair[1]].map(place);
        picture.cell([x, line - 9.0, to - x, 18.0], MUTED, 0.35, false);
    }
    for mark in &seen.marks {
        let x = place(*mark);
        picture.lines(&[[x, line - 9.0, x, line + 9.0]], INK, 1.0);
        if mark.fract() == 0.0 && (*mark as u32).is_multiple_of(picture.pick(1, 2)) || mark == sum {
            picture.text((x, line + 20.0), Anchor::Middle, INK, &mark.to_string());
        }
    }
    if sum.is_finite() {
        let exact = place(sum + 1.0);
        picture.cell([middle - 5.0, line - 5.0, 10.0, 10.0], COMPUTE, 0.9, false);
        let (up, to) =
            (line - 30.0, place(if seen.next.is_finite() { seen.next } else { sum + 4.0 }));
        picture.lines(
            &[[middle, line - 9.0, exact, up], [exact, up, to, line - 9.0]],
            COMPUTE,
            1.0,
        );
        picture.text((exact, up - 10.0), Anchor::Middle, INK, "+ 1");
    }
    // Sums, over the ones that went into them.
    let (base, high) = (330.0, 170.0);
    let at = |ones: f64| 40.0 + ones / f64::from(MOST) * (width - 46.0);
    let up = |sum: f64| base - sum.min(f64::from(MOST)) / f64::from(MOST) * high;
    picture.lines(&[[40.0, base, width - 1.0, base], [40.0, base, 40.0, base - high]], MUTED, 0.6);
    picture.lines(&[[at(0.0), up(0.0), at(f64::from(MOST)), up(f64::from(MOST))]], MUTED, 0.6);
    for (point, sum) in seen.curve.iter().enumerate() {
        let ones = f64::from(MOST * point as u32 / (POINTS - 1));
        let (x, y) = (at(ones), up(f64::from(*sum)));
        if sum.is_finite() {
            picture.cell([x - 2.5, y - 2.5, 5.0, 5.0], MEMORY, 0.8, false);
        }
        let area = [x - at(35.0) / 2.0 + 20.0, base - high, at(72.0) - at(0.0), high];
        picture.target(area, &format!("ones={ones}"));
    }
    if let Some(Computed { heading, chart, sums }) = &seen.computed {
        let below = base + 36.0;
        picture.measured(chart.as_deref(), [0.0, below - 9.0, width, 18.0], |picture| {
            for (ones, sum) in sums.iter().filter(|(ones, _)| *ones <= f64::from(MOST)) {
                picture.cell([at(*ones) - 5.0, up(*sum) - 5.0, 10.0, 10.0], INK, 0.0, true);
            }
            picture.cell([1.0, below - 5.0, 10.0, 10.0], INK, 0.0, true);
            picture.text((17.0, below), Anchor::Start, INK, heading);
        });
    }
    picture.reach(base + 44.0);
    let (x, y) = (at(f64::from(seen.ones)), up(f64::from(*sum)));
    match sum.is_finite() {
        true => picture.cell([x - 5.0, y - 5.0, 10.0, 10.0], COMPUTE, 0.9, false),
        false => picture.text((x, y + 30.0), Anchor::End, INK, "infinity"),
    }
    for number in [0.0, 1000.0] {
        picture.text((at(number), base + 12.0), Anchor::Middle, MUTED, &number.to_string());
        picture.text((34.0, up(number)), Anchor::End, MUTED, &number.to_string());
    }
    picture.text((1.0, base - high - 14.0), Anchor::Start, MUTED, "the sum, up to 2100");
    picture.text((width - 1.0, base + 12.0), Anchor::End, MUTED, "2100 ones");
}

#[cfg(test)]
mod tests {
    use super::super::{grouped, said};

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        let sum = |state: &[(&str, &str)], told: &str| {
            let said = said("formats", state);
            let (_, sum) = said.split_once(". Their sum: ").unwrap_or_default();
            assert_eq!(sum, told, "{state:?}");
        };
        sum(&[("ones", "255")], "255. Once more: 255 + 1 = 256.");
        sum(&[("ones", "256")], "256. Once more: 256 + 1 = 256.");
        for fraction in 1..=10_u32 {
            let end = 2 << fraction;
            let told = grouped(&format!("{end}. Once more: {end} + 1 = {end}."));
            sum(&[("fraction", &fraction.to_string()), ("ones", "2100")], &told);
        }
        sum(&[("exponent", "5"), ("ones", "300")], "256. Once more: 256 + 1 = 256.");
        sum(&[("exponent", "3"), ("ones", "15")], "15. Once more: 15 + 1 = infinity.");
        let infinite = "infinity. Once more: infinity + 1 = infinity.";
        sum(&[("exponent", "3"), ("ones", "16")], infinite);
    }
}
