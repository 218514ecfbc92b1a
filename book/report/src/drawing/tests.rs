use excerpt::machine::FACTS;

use super::*;
use crate::svg::text::SIZE;
use crate::svg::{Area, Form, Place, Shape};

/// No numbers, and more and longer ones than any machine has.
fn facts() -> [Facts; 2] {
    let number = |name: &'static str| {
        let most = match name {
            "link_peak" | "memory_peak" | "nvlink_peak" => "123,456 GB/s",
            "host" | "l2_bytes" | "memory_bytes" => "1,023 GiB",
            _ => "1,234",
        };
        (name, most.to_owned())
    };
    let names = FACTS.iter().map(|(name, ..)| *name).chain(["host", "fp32", "fp64", "tensor"]);
    [Facts::default(), Facts { gpus: 72, numbers: names.map(number).collect() }]
}

/// Calls `look` with each drawing's name and canvas, wide and narrow.
fn each_canvas(mut look: impl FnMut(String, Canvas)) {
    for drawing in ALL.values() {
        for facts in facts() {
            for width in [Width::Wide, Width::Narrow] {
                look(format!("{} ({width:?})", drawing.name), drawing.canvas(&facts, width));
            }
        }
    }
}

/// The edges that a text must not touch.
fn edges(shape: &Shape) -> Vec<(Place, Place)> {
    let around = |corners: &[(i32, i32)]| -> Vec<(Place, Place)> {
        let next = corners.iter().cycle().skip(1);
        corners.iter().zip(next).map(|(from, to)| (pixels(from), pixels(to))).collect()
    };
    match &shape.form {
        Form::Rectangle(..) if shape.look.line == 0.0 => vec![],
        Form::Rectangle([from, to], _) => around(&[*from, (to.0, from.1), *to, (from.0, to.1)]),
        Form::Lines(lines, true) => lines.iter().flat_map(|line| around(line)).collect(),
        Form::Lines(lines, false) => {
            let ends = lines.iter().flat_map(|line| line.windows(2));
            ends.map(|ends| (pixels(&ends[0]), pixels(&ends[1]))).collect()
        }
        Form::Disc(..) => panic!("no drawing has a disc"),
    }
}

fn pixels((x, y): &(i32, i32)) -> Place {
    (f64::from(*x) / 4.0, f64::from(*y) / 4.0)
}

/// Semi-bold letters are wider than regular ones by less than this.
const BOLD: f64 = 1.07;

#[test]
fn texts_lie_on_the_sheet_and_on_nothing_else() {
    let mut problems = vec![];
    each_canvas(|name, canvas| {
        let texts = canvas.svg.texts.iter().map(|text| (text.area(SIZE, BOLD), &*text.content));
        let texts: Vec<(Area, &str)> = texts.collect();
        for (n, (area, content)) in texts.iter().enumerate() {
            if area.left < 0.0 || area.right > canvas.width || area.top < 0.0 {
                problems.push(format!("{name}: `{content}` leaves the sheet"));
            }
            for (_, other) in texts[..n].iter().filter(|(other, _)| other.meets(area)) {
                problems.push(format!("{name}: `{content}` lies on `{other}`"));
            }
            let crosses = |shape: &&Shape| {
                edges(shape).into_iter().any(|(from, to)| area.crossed_by(from, to))
            };
            if canvas.svg.shapes.iter().any(|shape| crosses(&shape)) {
                problems.push(format!("{name}: a line crosses `{content}`"));
            }
        }
        let places = canvas.svg.shapes.iter().flat_map(edges);
        if let Some(place) = places
            .flat_map(|(from, to)| [from, to])
            .find(|(x, y)| !(0.0..=canvas.width).contains(x) || *y < 0.0)
        {
            problems.push(format!("{name}: {place:?} is off the sheet"));
        }
    });
    problems.dedup();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_is_drawn_by_code_has_words() {
    for (name, _) in BY_CODE {
        assert!(ALL.contains_key(name), "drawings.toml has no {name}");
    }
    let problem = find("bank").unwrap_err();
    assert_eq!(problem, "there is no such drawing; did you mean `banks`?");
}

#[test]
fn an_all_reduce_ends_with_every_input_everywhere() {
    let steps = ring::steps();
    let complete = |n: usize| {
        let state = steps[n].inputs;
        state.iter().flatten().filter(|inputs| **inputs == state.len()).count()
    };
    assert_eq!([complete(2), complete(3), complete(6)], [0, 4, 16]);
    assert_eq!(steps.len(), 7);
}
