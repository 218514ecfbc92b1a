//! Where labels go: none over another, over a line, or outside the sheet.
//!
//! | labels | placed by |
//! |---|---|
//! | of curves, right of their ends | [`spread`] |
//! | of horizontal lines, on the line inside the plot | [`beside`] |
//! | of vertical lines, above the plot | [`flags`] |
//! | those that found no place, in rows above the plot | [`rows`] |

use crate::svg::Area;
use crate::svg::text::LINE;

/// Pushes labels of these heights apart, as little as possible from the heights they
/// point at, within `top..bottom`. Returns their middles, or none if they are too many.
pub(super) fn spread(wanted: &[f64], heights: &[f64], top: f64, bottom: f64) -> Option<Vec<f64>> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // Neighbours that would overlap form a block around the mean of what they want. A
    // block is (sum of wanted tops, members), both less the heights above them.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let mut total = 0.0;
    for &i in &order {
        blocks.push((wanted[i] - heights[i] / 2.0 - total, 1));
        total += heights[i];
        while let [.., (a, m), (b, n)] = blocks[..]
            && a / m as f64 >= b / n as f64
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((a + b, m + n));
        }
    }
    if total > bottom - top {
        return None;
    }
    let mut middles = vec![0.0; wanted.len()];
    let (mut above, mut next) = (0.0, order.into_iter());
    for (sum, members) in blocks {
        let block = (sum / members as f64).min(bottom - total).max(top);
        for i in next.by_ref().take(members) {
            middles[i] = block + above + heights[i] / 2.0;
            above += heights[i];
        }
    }
    Some(middles)
}

/// A place on the horizontal line at `y` for a label of this width: inside the plot, on
/// no curve and on no area taken. At the left if it is free there, above the line
/// rather than below it.
pub(super) fn beside(
    y: f64,
    width: f64,
    plot: Area,
    curves: &[Vec<(f64, f64)>],
    taken: &[Area],
) -> Option<Area> {
    const MARGIN: f64 = 4.0;
    let last = plot.right - MARGIN - width;
    let first = plot.left + MARGIN;
    let between = (1..).map(|n| first + 12.0 * f64::from(n)).take_while(|x| *x < last);
    let columns: Vec<f64> = [first, last].into_iter().chain(between).collect();
    let above = [y - LINE - 1.0, y + 1.0];
    let places = above.into_iter().flat_map(|top| {
        columns.iter().map(move |&left| Area { left, top, right: left + width, bottom: top + LINE })
    });
    places.into_iter().find(|place| {
        let inside = place.left >= plot.left
            && place.right <= plot.right
            && place.top >= plot.top
            && place.bottom <= plot.bottom;
        let near = Area { left: place.left - MARGIN, right: place.right + MARGIN, ..*place };
        inside
            && !taken.iter().any(|area| near.meets(area))
            && !curves.iter().any(|curve| match curve[..] {
                [point] => near.crossed_by(point, point),
                _ => curve.windows(2).any(|ends| near.crossed_by(ends[0], ends[1])),
            })
    })
}

/// The path with places added where one of the others has a corner to the right or left.
pub(super) fn cut(path: &[(f64, f64)], others: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut corners: Vec<f64> = others.iter().flatten().map(|(x, _)| *x).collect();
    corners.sort_by(f64::total_cmp);
    corners.dedup();
    let mut all: Vec<(f64, f64)> = path.first().copied().into_iter().collect();
    for ends in path.windows(2) {
        let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
        let first = corners.partition_point(|x| *x <= ax);
        let between = corners[first..].iter().take_while(|x| **x < bx);
        all.extend(between.map(|x| (*x, ay + (by - ay) * (x - ax) / (bx - ax))));
        all.push((bx, by));
    }
    all
}

/// Whether both ends of a straight line, and its middle, are so near to a path that one drawn
/// there hides the other.
pub(super) fn lies_on(a: (f64, f64), b: (f64, f64), path: &[(f64, f64)]) -> bool {
    const NEAR: f64 = 1.0;
    let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let near = |(x, y): (f64, f64)| {
        path.windows(2).any(|ends| {
            let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
            let (dx, dy) = (bx - ax, by - ay);
            let along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy);
            let along = if along.is_finite() { along.clamp(0.0, 1.0) } else { 0.0 };
            (ax + along * dx - x).hypot(ay + along * dy - y) <= NEAR
        })
    };
    near(a) && near(b) && near(middle)
}

/// A label flying from a vertical line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// The label's left and right end.
    pub(super) ends: (f64, f64),
    /// Flies to the left of its pole.
    pub(super) left: bool,
    /// Counted upwards from the plot.
    pub(super) row: usize,
}

/// From a flag's pole to its label.
pub(super) const STAFF: f64 = 4.0;

/// Flies labels from the tops of vertical lines, given as (x, width of label), on a sheet of this
/// width: to the right, above all that fly further right unless they begin beyond its end. A label
/// that would leave the sheet there flies to the left, if no line stands there, and else not at all.
pub(super) fn flags(poles: &[(f64, f64)], width: f64) -> Vec<Option<Flag>> {
    let mut order: Vec<usize> = (0..poles.len()).collect();
    order.sort_by(|&a, &b| poles[b].0.total_cmp(&poles[a].0));
    let mut flags = vec![None; poles.len()];
    let (mut next, mut rows) = (f64::INFINITY, 0);
    for i in order {
        let (x, label) = poles[i];
        let stands = |&(pole, _): &(f64, f64)| x - STAFF - label - 2.0 < pole && pole < x;
        let left = x + STAFF + label > width;
        let start = if left { x - STAFF - label } else { x + STAFF };
        if left && (start < 0.0 || poles.iter().any(stands)) {
            continue;
        }
        let row = if start + label + 12.0 < next { 0 } else { rows };
        flags[i] = Some(Flag { ends: (start, start + label), left, row });
        (next, rows) = (start.min(x), rows.max(row + 1));
    }
    flags
}

/// Sets items of these widths in rows of at most `room` pixels: (x, row) of each.
pub(super) fn rows(widths: &[f64], gap: f64, room: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (0.0, 0);
    let place = |&width: &f64| {
        if x > 0.0 && x + width > room {
            (x, row) = (0.0, row + 1);
        }
        let place = (x, row);
        x += width + gap;
        place
    };
    widths.iter().map(place).collect()
}
