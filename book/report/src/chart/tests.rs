//! Properties that every chart must have, over figures chosen to break them.

use super::*;
use crate::svg::Area;
use crate::svg::text::{self, SIZE};

fn axis(label: &str, scale: Scale, unit: Unit) -> Axis {
    Axis { label: label.to_owned(), scale, unit }
}

fn guide(label: &str, value: f64, kind: GuideKind) -> Guide {
    Guide { label: label.to_owned(), value, kind, beside: false }
}

fn series(label: &str, points: &[(f64, f64)]) -> Series {
    let point = |&(x, y): &(f64, f64)| Point {
        x,
        y,
        low: y * 0.9,
        high: y * 1.1,
        hover: format!("{x}: {y}"),
        work: None,
    };
    Series { label: label.to_owned(), points: points.iter().map(point).collect() }
}

fn figure(form: Form) -> Figure {
    let (title, description) = ("<Title> & \"more\"".to_owned(), "What\n\nit shows".to_owned());
    Figure { id: "id".to_owned(), title, description, form }
}

fn lines(y: Scale, series: Vec<Series>, models: Vec<Series>, guides: Vec<Guide>) -> Figure {
    figure(Form::Lines(Lines {
        x: axis("Bytes", Scale::Log2, Unit::Bytes),
        y: axis("Effective bandwidth", y, Unit::Bandwidth),
        series,
        models,
        guides,
        ..Lines::default()
    }))
}

fn bars(labels: &[&str], values: &[f64], guides: Vec<Guide>) -> Figure {
    let bar = |(n, (label, &value)): (usize, (&&str, &f64))| Bar {
        label: (*label).to_owned(),
        value,
        low: value * 0.9,
        high: value * 1.1,
        hover: format!("{label}: {value}"),
        color: n,
        work: None,
        beside: None,
    };
    let bars = labels.iter().zip(values).enumerate().map(bar).collect();
    let group = |label: &str, bars| Group { label: label.to_owned(), bars };
    let groups = vec![group("4,096²", bars), group("", Vec::new())];
    let value = axis("Effective bandwidth", Scale::Linear, Unit::Bandwidth);
    figure(Form::Bars(Bars { value, groups, guides, whose: None }))
}

/// Bars of a machine and of a reference that has more, a little more, as much, less and nothing.
fn two_machines(guides: Vec<Guide>) -> Figure {
    let own = [2.89e12, 3.8e12, 2e12, 2.9e12, 1e12, 0.0];
    let names = ["more", "a little more", "as much", "less", "nothing", "all"];
    let theirs = [3.865e12, 3.9e12, 2e12, 0.5e12, 0.0, 3.9e12];
    let mine = bars(&names, &own, guides);
    mine.beside(&bars(&names, &theirs, vec![]), ("this machine", "H200")).unwrap()
}

/// `ratio(row, column)` in every cell.
fn heatmap(columns: &[&str], rows: &[&str], ratio: impl Fn(usize, usize) -> f64) -> Figure {
    let side = |label: &str, names: &[&str]| Side {
        label: label.to_owned(),
        names: names.iter().map(|&name| name.to_owned()).collect(),
    };
    let cell = |y, x| Cell { value: ratio(y, x), hover: format!("{y}, {x} <&>") };
    let row = |y| (0..columns.len()).map(|x| cell(y, x)).collect();
    figure(Form::Heatmap(Heatmap {
        columns: side("Size of the array", columns),
        rows: side("Reads of each byte", rows),
        label: "Time".to_owned(),
        below: "zero-copy is faster".to_owned(),
        above: "copying is faster".to_owned(),
        cells: (0..rows.len()).map(row).collect(),
    }))
}

/// A ratio that crosses break-even in every row, in each a column earlier.
fn break_even() -> Figure {
    let sizes = [
        "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB",
        "256 MiB",
    ];
    heatmap(&sizes, &["1", "2", "16"], |y, x| 0.0523 * 2f64.powi((x + y) as i32))
}

/// A piece's label, start and end.
type Part<'a> = (&'a str, f64, f64);

/// A panel of lanes. Waiting has no colour, other work that of its place here.
fn panel(label: &str, lanes: &[(&str, &[Part])]) -> Panel {
    let color = |label: &str| {
        let is = |kind: &&str| label.starts_with(kind);
        ["copy", "kernel", "launch"].iter().position(is)
    };
    let piece = |&(label, start, end): &Part| Piece {
        label: label.to_owned(),
        start,
        end,
        hover: format!("{label} <&> {start} {end}"),
        color: color(label),
    };
    let lane = |(label, pieces): &(&str, &[Part])| Lane {
        label: (*label).to_owned(),
        pieces: pieces.iter().map(piece).collect(),
    };
    let note = "1.52 ms".to_owned();
    Panel { label: label.to_owned(), note, lanes: lanes.iter().map(lane).collect() }
}

fn timeline(kinds: &[&str], panels: Vec<Panel>) -> Figure {
    let time = axis("Time", Scale::Linear, Unit::Time);
    let kind =
        |(n, label): (usize, &&str)| Kind { label: (*label).to_owned(), color: n.checked_sub(1) };
    let kinds = kinds.iter().enumerate().map(kind).collect();
    figure(Form::Timeline(Timeline { time, kinds, panels }))
}

/// Two panels: copies and kernels one after the other, and overlapping.
fn overlap() -> Figure {
    let one: &[_] = &[("copy 1", 0.0, 1.0e-3), ("kernel 1", 1.0e-3, 2.1e-3)];
    let copy: &[_] = &[("copy 1", 0.0, 1.0e-3)];
    let kernel: &[_] = &[("kernel 1", 4e-6, 1.1e-3)];
    let calls: &[_] = &[("launch 1", 0.0, 4e-6), ("launch 2", 5e-6, 8e-6), ("wait", 8e-6, 1.1e-3)];
    let panels = vec![
        panel("One stream", &[("stream 1", one)]),
        panel("Two", &[("host", calls), ("stream 1", copy), ("stream 2", kernel)]),
    ];
    timeline(&["waiting", "copy", "kernel", "launch"], panels)
}

/// Panels of one curve or two each, with a cap.
fn memory(panels: &[&str], readings: &[(f64, f64)]) -> Figure {
    let panel = |label: &&str| MemoryPanel {
        label: (*label).to_owned(),
        lines: Lines {
            x: axis("Time", Scale::Linear, Unit::Time),
            y: axis("Memory", Scale::Linear, Unit::Bytes),
            series: vec![
                series("used", readings),
                series("reserved by the pool", &[(0.0, 2e9), (3e-3, 3e9)]),
            ],
            guides: vec![guide("Cap", 4e9, GuideKind::Peak)],
            steps: true,
            ..Lines::default()
        },
    };
    let panels = panels.iter().map(panel).collect();
    figure(Form::Memory(Memory { panels }))
}

/// The bandwidth of transfers of 1 KiB to 1 GiB.
fn saturating(latency: f64, bandwidth: f64) -> Vec<(f64, f64)> {
    let sizes = (10..=30).map(|n| 2f64.powi(n));
    sizes.map(|bytes| (bytes, bytes / (latency + bytes / bandwidth))).collect()
}

/// Figures with everything that charts find hard.
fn figures() -> Vec<Figure> {
    use GuideKind::{Claim, Model, Peak};
    use Scale::{Linear, Log10};
    const LONG: &str = "A label so long that it fits on no line of any chart, wide or \
        narrow, and must be cut before it ends";
    let transfer = |y| {
        let curves = [("host to device", 55e9), ("device to host", 55e9), ("both", 98e9)];
        let curves = curves.map(|(label, top)| series(label, &saturating(4e-6, top)));
        let fit = series("latency + bytes / bandwidth", &saturating(4.2e-6, 55e9));
        let guides = vec![
            guide("Theoretical peak, one way", 63e9, Peak),
            guide("Theoretical peak, both ways", 126e9, Peak),
            guide("The chapter: 50 GB/s", 50e9, Claim),
        ];
        lines(y, curves.to_vec(), vec![fit.clone(), fit], guides)
    };
    let few: Vec<_> = saturating(4e-6, 5e10).into_iter().step_by(2).collect();
    let six = (0..6).map(|_| series("variant & <co>", &few));
    let point = series("only one", &[(4096.0, 3e9)]);
    let zeros = series("zeros", &[(1024.0, 0.0), (2048.0, 0.0)]);
    let not_finite = series("not finite", &[(f64::NAN, 1e9), (1024.0, f64::INFINITY)]);
    let far = || vec![guide("Peak", 4e12, Peak), guide(LONG, 4e9, Model)];
    let close = vec![
        guide("The chapter, one", 50e9, Claim),
        guide("The chapter, two", 50e9, Claim),
        guide("Theoretical peak", 51e9, Peak),
    ];
    vec![
        transfer(Linear),
        transfer(Log10),
        lines(Linear, six.collect(), vec![], vec![guide("Claim", 45e9, Claim)]),
        lines(Linear, vec![point.clone()], vec![], far()),
        lines(Log10, vec![point.clone()], vec![point], far()),
        lines(Linear, vec![zeros.clone()], vec![], vec![guide("Peak", 1e9, Peak)]),
        lines(Log10, vec![zeros, not_finite], vec![], vec![]),
        lines(Linear, vec![series(LONG, &saturating(1e-6, 1e9))], vec![], close.clone()),
        lines(Linear, vec![], vec![], vec![guide("Peak", 1e9, Peak)]),
        bars(&["pageable", "pinned", "nothing"], &[13e9, 55e9, 0.0], close),
        bars(&["read", LONG], &[1e9, 0.5e9], far()),
        bars(&["naive, reads coalesced", "tile"], &[2e12, f64::NAN], far()),
        bars(&[], &[], vec![guide("", 1e9, Claim)]),
        two_machines(vec![guide("Theoretical peak", 3.35e12, Peak)]),
        break_even(),
        heatmap(&["GPU 0", LONG], &[LONG, "GPU 1"], |y, x| if y == x { f64::NAN } else { 276e3 }),
        heatmap(&[LONG; 32], &["0"], |_, x| x as f64),
        heatmap(&[], &[], |_, _| 0.0),
        heatmap(&["zero"], &["0", "1"], |_, _| 0.0),
        overlap(),
        timeline(
            &["waiting", LONG],
            vec![
                panel(LONG, &[(LONG, &[(LONG, -1e-6, 3e-6), ("b", 1e-6, 2e-6)])]),
                panel("", &[("", &[("nan", f64::NAN, 1.0), ("0", 0.0, 0.0)])]),
            ],
        ),
        timeline(&[], vec![]),
        timeline(&[], vec![panel("empty", &[])]),
        memory(&["Threshold 0", LONG], &[(0.0, 0.0), (1e-3, 1e9), (2e-3, 0.0)]),
        memory(&[""], &[(0.0, f64::INFINITY), (1e-3, 1e9)]),
        memory(&[], &[]),
    ]
}

fn drawings() -> impl Iterator<Item = String> {
    let widths = [Width::Wide, Width::Narrow];
    figures().into_iter().flat_map(move |figure| widths.map(|width| svg(&figure, width)))
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn number(tag: &str, name: &str) -> f64 {
    attribute(tag, name).and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
}

/// The shapes of this kind that `part` is in.
fn shapes<'s>(svg: &'s str, kind: &str, part: &str) -> Vec<&'s str> {
    let is_one = |line: &&str| line.starts_with(kind) && line.contains(part);
    svg.lines().filter(is_one).collect()
}

/// The lines of a path, each by the places that it goes through, in pixels.
fn places(path: &str) -> Vec<Vec<(f64, f64)>> {
    let lines = attribute(path, "d").unwrap().split('M').skip(1);
    let line = |line: &str| {
        let steps = line.trim_end_matches('z').split(['l', ' ']);
        let from = |(x, y): &mut (f64, f64), step: &str| {
            let (right, down) = step.split_once(',').unwrap();
            *x += right.parse::<f64>().unwrap() / 4.0;
            *y += down.parse::<f64>().unwrap() / 4.0;
            Some((*x, *y))
        };
        steps.scan((0.0, 0.0), from).collect()
    };
    lines.map(line).collect()
}

/// Every line, and how far what it draws is moved down.
fn moved(svg: &str) -> Vec<(&str, f64)> {
    let mut down = 0.0;
    let with = |line| {
        let moved = attribute(line, "transform")
            .and_then(|moved| moved.strip_prefix("translate(0 "))
            .and_then(|moved| moved.trim_end_matches(')').parse().ok());
        down = moved.unwrap_or(down);
        (line, down)
    };
    svg.lines().map(with).collect()
}

/// Every text with the area it covers. Those that look alike may be in a group.
fn texts(svg: &str) -> Vec<(String, Area)> {
    let mut group = "";
    let texts = moved(svg).into_iter().filter_map(|(line, down)| {
        if line.starts_with("<g") || line == "</g>" {
            group = line;
        }
        line.starts_with("<text ").then_some((line, group, down))
    });
    let area = |(line, group, down): (&str, &str, f64)| {
        let content = line.split_once('>').unwrap().1.trim_end_matches("</text>");
        let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
        let content = plain.iter().fold(content.to_owned(), |s, (a, b)| s.replace(a, b));
        let (x, width) = (number(line, "x"), text::width(&content));
        let anchor = attribute(line, "text-anchor").or(attribute(group, "text-anchor"));
        let left = match anchor {
            None => x,
            Some("middle") => x - width / 2.0,
            _ => x - width,
        };
        let bottom = number(line, "y") + 3.0 + down;
        (content, Area { left, right: left + width, top: bottom - SIZE, bottom })
    };
    texts.map(area).collect()
}

/// Curves with names of their own, too many to be labelled at their ends.
fn many(curves: usize, name: &str) -> (f64, String) {
    let points = [(1024.0, 1e9), (4096.0, 2e9)];
    let curves = (0..curves).map(|n| series(&format!("{name}{n}"), &points));
    let figure = lines(Scale::Linear, curves.collect(), vec![], vec![]);
    let svg = svg(&figure, Width::Narrow);
    let size = attribute(&svg, "viewBox").unwrap().rsplit(' ').next();
    (size.unwrap().parse().unwrap(), svg)
}

#[test]
fn a_key_makes_its_picture_higher_and_too_many_curves_are_said() {
    let (ordinary, _) = many(2, "n");
    let (high, sixteen) = many(16, "a name that fills a row of the key by itself ");
    assert!(high > ordinary, "{high}");
    for (curves, svg) in [(16, &sixteen), (94, &many(94, "n").1)] {
        assert!(svg.contains("data-value-axis"), "it has a plot");
        let texts = texts(svg);
        let named = texts.iter().filter(|(text, _)| text.starts_with(['n', 'a']));
        assert_eq!(named.count(), curves);
        for (n, (text, area)) in texts.iter().enumerate() {
            let other = texts[..n].iter().find(|(_, other)| area.meets(other));
            assert!(other.is_none(), "{text} meets {}", other.unwrap().0);
        }
    }
    let (height, none) = many(1000, "n");
    assert_eq!(height, ordinary);
    let [(why, _)] = &texts(&none)[..] else { panic!("{none}") };
    assert_eq!(why, "1000 curves are too many for one picture");
}

#[test]
fn drawings_are_well_formed_and_small() {
    for svg in drawings() {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, content) = tag.split_once('>').expect("tags are closed");
            assert!(!content.contains(['>', '"']), "unescaped text: {content}");
            assert_eq!(tag.matches('"').count() % 2, 0, "unescaped attribute: {tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap());
            }
        }
        assert!(open.is_empty());
        for part in svg.split('&').skip(1) {
            let entity = ["amp;", "lt;", "gt;", "quot;"];
            assert!(entity.iter().any(|entity| part.starts_with(entity)), "&{part}");
        }
        assert!(svg.ends_with("</svg>\n") && !svg.contains("\n\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        assert!(svg.len() < 25_000, "{} bytes", svg.len());
    }
}

#[test]
fn no_text_overlaps_another_or_a_curve_or_is_clipped() {
    for svg in drawings() {
        let view = attribute(&svg, "viewBox").unwrap();
        let view: Vec<f64> = view.split(' ').map(|n| n.parse().unwrap()).collect();
        let texts = texts(&svg);
        for (i, (text, area)) in texts.iter().enumerate() {
            let inside = area.left > -0.5 && area.right < view[2] + 0.5;
            assert!(inside && area.top >= 0.0 && area.bottom < view[3], "{text} is cut");
            for (other, taken) in &texts[..i] {
                assert!(!area.meets(taken), "{text} lies on {other}");
            }
        }
        assert_eq!(lies_on_a_line(&svg), None);
    }
}

/// A text of a drawing that a line goes through, if there is one.
fn lies_on_a_line(svg: &str) -> Option<String> {
    let is_line = |line: &str| {
        let is_grid = line.contains("--chart-grid") || line.contains("opacity");
        line.starts_with("<path fill=\"none\"") && !is_grid
    };
    let paths = moved(svg).into_iter().filter(|(line, _)| is_line(line));
    let lines: Vec<Vec<(f64, f64)>> = paths
        .flat_map(|(path, down)| {
            let lower = move |(x, y)| (x, y + down);
            places(path).into_iter().map(move |line| line.into_iter().map(lower).collect())
        })
        .collect();
    texts(svg).into_iter().find_map(|(text, area)| {
        let through =
            |line: &&Vec<_>| line.windows(2).any(|ends| area.crossed_by(ends[0], ends[1]));
        let line = lines.iter().find(through)?;
        Some(format!("{text} lies on {line:?}"))
    })
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let svg = svg_of(&figures()[3]);
    assert!(svg.contains("Peak: 4,000 GB/s ↑"), "a guide far beyond is a note");
    assert!(svg_of(&figures()[8]).contains("No measurements"));
}

fn svg_of(figure: &Figure) -> String {
    svg(figure, Width::Wide)
}

#[test]
fn data_attributes_map_values_to_pixels() {
    let points = [(1024.0, 2e9), (2048.0, 5e9), (4096.0, 40e9)];
    for scale in [Scale::Linear, Scale::Log10] {
        let svg = svg_of(&lines(scale, vec![series("", &points)], vec![], vec![]));
        let warp = |value: f64| if scale == Scale::Linear { value } else { value.ln() };
        let [min, max] = ["min", "max"].map(|n| warp(number(&svg, &format!("data-value-{n}"))));
        let [start, end] = ["start", "end"].map(|n| number(&svg, &format!("data-value-{n}")));
        let circles = svg.lines().filter(|line| line.ends_with("</circle>"));
        for (circle, (_, y)) in circles.zip(points) {
            let pixel = start + (warp(y) - min) / (max - min) * (end - start);
            assert!((pixel - number(circle, "cy")).abs() <= 0.25, "{circle}");
        }
        let (left, right) = (number(&svg, "data-cross-start"), number(&svg, "data-cross-end"));
        assert!(0.0 < left && left < right && right < 640.0);
    }
    let svg = svg_of(&bars(&["a"], &[30e9], vec![]));
    assert_eq!(attribute(&svg, "data-value-axis"), Some("x"));
}

#[test]
fn each_machines_mark_has_its_own_number() {
    for width in [Width::Wide, Width::Narrow] {
        let svg = super::svg(&two_machines(vec![]), width);
        for (pen, numbers) in [
            ("--chart-1)", ["2,890", "3,800", "2,000", "2,900", "1,000", "0"]),
            ("--chart-muted)", ["3,865", "3,900", "2,000", "500", "0", "3,900"]),
        ] {
            // The first is in the key.
            let marks = shapes(&svg, "<rect", pen).into_iter().skip(1).map(|rect| {
                let [x, y, width, height] =
                    ["x", "y", "width", "height"].map(|name| number(rect, name) / 4.0);
                (x + width, y + height / 2.0)
            });
            let beside = |(end, middle): (f64, f64)| {
                let is_near = |area: &Area| {
                    let right = area.left - end;
                    (0.0..60.0).contains(&right) && (area.middle().1 - middle).abs() < 4.0
                };
                let mut found = texts(&svg).into_iter().filter(|(_, area)| is_near(area));
                let (only, none) = (found.next(), found.next());
                assert!(none.is_none(), "{only:?} {none:?} {svg}");
                only.map(|(text, _)| text).unwrap_or_default()
            };
            assert_eq!(marks.map(beside).collect::<Vec<_>>(), numbers, "{svg}");
        }
        assert!(svg.contains("fill=\"var(--chart-muted)\">3,865<"), "in the bar's grey: {svg}");
    }
}

#[test]
fn the_peaks_of_two_machines_are_told_apart() {
    let with = |peak| {
        let points = [series("a", &[(1024.0, 1e9), (4096.0, 3e9)])];
        lines(Scale::Linear, points.to_vec(), vec![], vec![guide("Peak", peak, GuideKind::Peak)])
    };
    let both = with(4e9).beside(&with(5e9), ("this machine", "H200")).unwrap();
    let svg = svg_of(&both);
    let peaks = shapes(&svg, "<path fill=\"none\"", "--chart-peak)");
    let [own, theirs] = &peaks[..] else { panic!("{svg}") };
    assert!(!own.contains("dasharray") && theirs.contains("dasharray"), "{svg}");
}

/// What bounds one machine's curves may lie below the other's, and they may bend elsewhere.
#[test]
fn a_model_or_mark_of_one_machine_is_called_after_it_beside_another() {
    let with = |bound| {
        let points = [series("a", &[(1024.0, 1e9), (4096.0, 3e9)])];
        let model = series("bound", &[(1024.0, bound), (4096.0, bound)]);
        let mut figure = lines(Scale::Linear, points.to_vec(), vec![model], vec![]);
        if let Form::Lines(lines) = &mut figure.form {
            lines.marks = vec![Mark { label: "L2 cache".to_owned(), x: bound / 1e6 }];
        }
        figure
    };
    for (theirs, of) in [(4e9, ""), (5e9, ", this machine")] {
        let both = with(4e9).beside(&with(theirs), ("this machine", "H200")).unwrap();
        let Form::Lines(lines) = &both.form else { panic!("{}", both.title) };
        let labels = (&*lines.models[0].label, &*lines.marks[0].label);
        assert_eq!(labels, (&*format!("bound{of}"), &*format!("L2 cache{of}")));
    }
}

#[test]
fn values_are_offered_as_they_are_kept() {
    let share = |label: &str| axis(label, Scale::Linear, Unit::Share);
    let model = series("=model", &[(1024.0, 1.5e9)]);
    let of_lines =
        lines(Scale::Linear, vec![series("a, b", &[(1024.0, 1e9)])], vec![model], vec![]);
    let mut of_bars = bars(&["pinned"], &[0.5], vec![]);
    if let Form::Bars(bars) = &mut of_bars.form {
        bars.value = share("Share");
    }
    let cases = [
        (
            of_lines,
            "series,Bytes (bytes),Effective bandwidth (bytes/s),low (bytes/s),high (bytes/s)\n\
             \"a, b\",1024,1000000000,900000000,1100000000\n\
             '=model,1024,1500000000,,\n",
        ),
        (
            of_bars,
            "group,bar,Share (of 1),low (of 1),high (of 1)\n\
             \"4,096²\",pinned,0.5,0.45,0.55\n",
        ),
        (
            heatmap(&["0", "1"], &["2"], |_, x| if x == 0 { f64::NAN } else { 1.5 }),
            "Reads of each byte,Size of the array,Time\n2,0,\n2,1,1.5\n",
        ),
        (
            timeline(&[], vec![panel("One", &[("host", &[("copy 1", 0.0, 1e-3)])])]),
            "panel,lane,work,start (s),end (s)\nOne,host,copy 1,0,0.001\n",
        ),
        (
            memory(&["One"], &[(0.0, 1e9)]),
            "panel,series,Time (s),Memory (bytes),low (bytes),high (bytes)\n\
             One,used,0,1000000000,900000000,1100000000\n\
             One,reserved by the pool,0,2000000000,1800000000,2200000000\n\
             One,reserved by the pool,0.003,3000000000,2700000000,3300000000.0000005\n",
        ),
    ];
    for (figure, want) in cases {
        assert_eq!(csv(&figure), want);
    }
    figures().iter().for_each(|figure| assert!(!csv(figure).contains("NaN")));
}

/// The committed figures, which are those of all charts of the book at both widths.
#[test]
fn in_the_book_no_label_lies_on_a_line() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/figures");
    let files = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    let files = files.filter(|file| file.path().extension().is_some_and(|e| e == "svg"));
    let mut count = 0;
    for file in files {
        let svg = std::fs::read_to_string(file.path()).unwrap();
        if let Some(fault) = lies_on_a_line(&svg) {
            panic!("{}: {fault}", file.path().display());
        }
        count += 1;
    }
    assert!(count > 0, "there are no figures in {folder}");
}

#[test]
fn no_finite_number_panics() {
    let extremes = [0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324];
    let units = [Unit::Bytes, Unit::Bandwidth, Unit::Time];
    for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
        for (a, b) in extremes.iter().flat_map(|&a| extremes.map(|b| (a, b))) {
            for unit in &units {
                let guides = vec![guide("Guide", b, GuideKind::Peak)];
                let series = vec![series("series", &[(a, b), (b, a)])];
                let mut chart = lines(scale, series, vec![], guides);
                if let Form::Lines(lines) = &mut chart.form {
                    let axis = axis("Axis", scale, unit.clone());
                    (lines.x, lines.y) = (axis.clone(), axis);
                }
                svg(&chart, Width::Narrow);
            }
            let mut chart = bars(&["a", "b"], &[a, b], vec![]);
            if let Form::Bars(bars) = &mut chart.form {
                bars.value.scale = scale;
            }
            svg(&chart, Width::Wide);
            let ratio = |y, _| if y == 0 { a } else { b };
            svg(&heatmap(&["x"], &["0", "1"], ratio), Width::Narrow);
            let pieces: &[_] = &[("a", a, b), ("b", b, a)];
            let panels = vec![panel("", &[("lane", pieces)])];
            svg(&timeline(&[], panels), Width::Wide);
            svg(&memory(&["panel"], &[(a, b), (b, a)]), Width::Narrow);
        }
    }
}
