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

/// Flies labels from the tops of vertical lines, given as (x, width of label), left or
/// right of them, between `left` and `right`, in as few rows as possible. No label
/// meets another, or the line that another flies from; as few as possible get none.
pub(super) fn flags(poles: &[(f64, f64)], left: f64, right: f64) -> Vec<Option<Flag>> {
    const MOST: usize = 6; // 2⁶ choices of labels, with 2⁶ choices of sides, are tried
    let mut left_out: Vec<usize> = (0..1 << poles.len().min(MOST)).collect();
    left_out.sort_by_key(|set| set.count_ones());
    let mut flags = vec![None; poles.len()];
    for set in left_out {
        let kept: Vec<usize> = (0..poles.len().min(MOST)).filter(|i| set >> i & 1 == 0).collect();
        let flying: Vec<(f64, f64)> = kept.iter().map(|&i| poles[i]).collect();
        let hoisted = (0..1 << kept.len())
            .filter_map(|sides| hoist(&flying, sides, left, right))
            .min_by_key(|flags| flags.iter().map(|flag| flag.row).max());
        if let Some(hoisted) = hoisted {
            kept.iter().zip(hoisted).for_each(|(&i, flag)| flags[i] = Some(flag));
            break;
        }
    }
    flags
}

/// From a flag's pole to its label.
pub(super) const STAFF: f64 = 4.0;

/// The flags when those in the set `sides` fly to the left. A pole that stands below
/// another's label must end there, so it is placed before, in a lower row.
fn hoist(poles: &[(f64, f64)], sides: usize, from: f64, to: f64) -> Option<Vec<Flag>> {
    let flag = |(i, &(x, width)): (usize, &(f64, f64))| {
        let left = sides >> i & 1 == 1;
        let start = if left { x - STAFF - width } else { x + STAFF };
        Flag { ends: (start, start + width), left, row: 0 }
    };
    let mut flags: Vec<Flag> = poles.iter().enumerate().map(flag).collect();
    if flags.iter().any(|flag| flag.ends.0 < from || flag.ends.1 > to) {
        return None;
    }
    let mut placed: Vec<usize> = Vec::new();
    while placed.len() < flags.len() {
        let below = |i: usize, j: usize| {
            let (left, right) = flags[i].ends;
            j != i && left - 2.0 < poles[j].0 && poles[j].0 < right + 2.0
        };
        let ready = |i: &usize| (0..flags.len()).all(|j| !below(*i, j) || placed.contains(&j));
        let next = (0..flags.len()).filter(|i| !placed.contains(i)).find(ready)?;
        let lowest = placed.iter().filter(|&&j| below(next, j)).map(|&j| flags[j].row + 1);
        let mut row = lowest.max().unwrap_or(0);
        let (left, right) = flags[next].ends;
        let meets = |ends: (f64, f64)| left - 12.0 < ends.1 && ends.0 - 12.0 < right;
        while placed.iter().any(|&j| flags[j].row == row && meets(flags[j].ends)) {
            row += 1;
        }
        flags[next].row = row;
        placed.push(next);
    }
    Some(flags)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_at_the_same_height_are_pushed_apart_around_it() {
        let middles = spread(&[50.0, 50.0, 10.0], &[16.0; 3], 0.0, 100.0).unwrap();
        assert_eq!(middles, [42.0, 58.0, 10.0]);
        let low = spread(&[99.0, 98.0], &[16.0, 32.0], 0.0, 100.0).unwrap();
        assert_eq!(low, [92.0, 68.0]);
        assert_eq!(spread(&[1.0; 7], &[16.0; 7], 0.0, 100.0), None);
        assert_eq!(spread(&[], &[], 0.0, 100.0), Some(vec![]));
    }

    #[test]
    fn a_label_beside_a_line_avoids_curves_and_other_labels() {
        let plot = Area { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };
        let free = beside(50.0, 60.0, plot, &[], &[]).unwrap();
        assert_eq!((free.left, free.bottom), (4.0, 49.0));
        let curve = vec![(0.0, 0.0), (100.0, 100.0)];
        let right = beside(50.0, 60.0, plot, &[curve], &[free]).unwrap();
        assert_eq!((right.right, right.bottom), (196.0, 49.0));
        let below = beside(5.0, 60.0, plot, &[], &[]).unwrap();
        assert_eq!(below.top, 6.0);
        assert!(beside(50.0, 250.0, plot, &[], &[]).is_none());
    }

    #[test]
    fn flags_take_rows_and_sides_so_that_none_meets_a_pole() {
        let row = |flag: &Option<Flag>| flag.map(|flag| (flag.left, flag.row));
        let apart = flags(&[(100.0, 80.0), (300.0, 80.0)], 0.0, 400.0);
        assert_eq!(apart.iter().map(row).collect::<Vec<_>>(), [Some((false, 0)); 2]);
        let same = flags(&[(100.0, 80.0), (100.0, 80.0)], 0.0, 190.0);
        let rows: Vec<_> = same.iter().map(row).collect();
        assert_eq!(rows, [Some((false, 0)), Some((false, 1))]);
        assert!(flags(&[(100.0, 300.0)], 0.0, 200.0)[0].is_none());
    }

    #[test]
    fn rows_break_when_they_are_full() {
        let places = rows(&[50.0, 40.0, 60.0, 300.0], 10.0, 100.0);
        assert_eq!(places, [(0.0, 0), (60.0, 0), (0.0, 1), (0.0, 2)]);
    }
}
