use super::*;
use crate::svg::text::SIZE;
use crate::svg::{Area, Form, Place, Shape};

/// No numbers, and more and longer ones than any machine has.
fn facts() -> [Facts; 2] {
    let rate = || Some("123,456 GB/s".to_owned());
    let bytes = || Some("1,023 GiB".to_owned());
    let count = || Some("1,234".to_owned());
    let most = Facts {
        gpus: 72,
        host_memory: bytes(),
        pcie_generation: count(),
        link_peak: rate(),
        multiprocessors: count(),
        l2: bytes(),
        memory: bytes(),
        memory_peak: rate(),
        nvlink_peak: rate(),
        fp32: count(),
        fp64: count(),
        tensor: count(),
    };
    [Facts::default(), most]
}

fn canvases() -> impl Iterator<Item = (String, Canvas)> {
    let of = |drawing: &'static Drawing| {
        facts().into_iter().flat_map(move |facts| {
            [Width::Wide, Width::Narrow].map(|width| {
                let name = format!("{} ({width:?})", drawing.name);
                (name, drawing.canvas(&facts, width))
            })
        })
    };
    ALL.iter().flat_map(of)
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
    for (name, canvas) in canvases() {
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
    }
    problems.dedup();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_drawing_is_found_by_its_name_or_a_like_one_is() {
    for drawing in &ALL {
        let found = find(drawing.name).unwrap();
        assert!(std::ptr::eq(found, drawing), "two are called {}", drawing.name);
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
