use super::canvas::{Area, Edge, Place, Shape, Text};
use super::*;

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
    match shape {
        Shape::Rectangle { edge: Edge::None, .. } => vec![],
        Shape::Rectangle { area, .. } => {
            let Area { left, top, right, bottom } = *area;
            let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
            (0..4).map(|n| (corners[n], corners[(n + 1) % 4])).collect()
        }
        Shape::Line { places, .. } => places.windows(2).map(|ends| (ends[0], ends[1])).collect(),
    }
}

#[test]
fn texts_lie_on_the_sheet_and_on_nothing_else() {
    let mut problems = vec![];
    for (name, canvas) in canvases() {
        for (n, Text { area, content, .. }) in canvas.texts.iter().enumerate() {
            if area.left < 0.0 || area.right > canvas.width || area.top < 0.0 {
                problems.push(format!("{name}: `{content}` leaves the sheet"));
            }
            let others = canvas.texts[..n].iter();
            for other in others.filter(|other| other.area.meets(area)) {
                let other = &other.content;
                problems.push(format!("{name}: `{content}` lies on `{other}`"));
            }
            let crosses = |shape: &&Shape| {
                edges(shape).into_iter().any(|(from, to)| area.crossed_by(from, to))
            };
            if canvas.shapes.iter().any(|shape| crosses(&shape)) {
                problems.push(format!("{name}: a line crosses `{content}`"));
            }
        }
        let places = canvas.shapes.iter().flat_map(edges);
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
