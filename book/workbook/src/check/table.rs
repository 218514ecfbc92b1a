//! Counts of one kernel or of two, as a table.

use referee::count::{COLUMNS, Column, Lines};

/// Pairs of lines that are compared at most.
const MOST_PAIRS: usize = 1 << 24;

/// The columns in which one of these has something.
pub(crate) fn columns(of: &[&Lines]) -> Vec<&'static Column> {
    let any = |column: &&Column| {
        of.iter().flat_map(|lines| lines.values()).any(|tally| column.of(tally).0 > 0)
    };
    COLUMNS.iter().filter(any).collect()
}

/// A line of two files beside each other: one of the first, one of the second, or the same in both.
pub(crate) type Pair = (Option<u32>, Option<u32>);

/// Lines that count in two files, those of the same text beside each other.
pub(crate) fn pairs(
    (one, source): (&Lines, &str),
    (other, other_source): (&Lines, &str),
) -> Vec<Pair> {
    let texts = |lines: &Lines, source: &str| {
        let all: Vec<_> = source.lines().collect();
        let text =
            |line: &u32| all.get(*line as usize - 1).map_or("", |text| text.trim()).to_owned();
        lines.keys().map(|line| (*line, text(line))).collect::<Vec<_>>()
    };
    let (a, b) = (texts(one, source), texts(other, other_source));
    if a.len() * b.len() > MOST_PAIRS {
        let first = a.iter().map(|(line, _)| (Some(*line), None));
        return first.chain(b.iter().map(|(line, _)| (None, Some(*line)))).collect();
    }
    // How many lines the rests have in common, from each pair of places on.
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = match a[i].1 == b[j].1 {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut pairs, mut i, mut j) = (vec![], 0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i].1 == b[j].1 {
            pairs.push((Some(a[i].0), Some(b[j].0)));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[i + 1][j] >= common[i][j + 1] {
            pairs.push((Some(a[i].0), None));
            i += 1;
        } else {
            pairs.push((None, Some(b[j].0)));
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use emulator::Tally;

    use super::*;

    #[test]
    fn lines_of_the_same_text_are_beside_each_other() {
        let lines = |of: &[u32]| of.iter().map(|n| (*n, Tally::default())).collect::<Lines>();
        let (one, other) = (lines(&[1, 2, 4]), lines(&[2, 3, 4]));
        let pairs = pairs((&one, "a\nb\n\nd"), (&other, "\n a\nc\nd"));
        assert_eq!(
            pairs,
            [(Some(1), Some(2)), (Some(2), None), (None, Some(3)), (Some(4), Some(4))]
        );
    }
}
