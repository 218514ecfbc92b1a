//! How the keys of requests lie, and the table that says where.

use lab::check::shuffled;

/// All pages in a random order.
pub(crate) const ALL: usize = usize::MAX;

/// How the keys of a request lie.
#[derive(Clone, Copy)]
pub(crate) enum Layout {
    /// In one piece, with room for the longest request.
    Contiguous,
    /// In pages of 2^`page_bits` tokens, so many of which at a time are in a random order: 1 for
    /// pages one after the other.
    Paged { page_bits: u32, at_random: usize },
}

impl Layout {
    /// Names of the layout's kernels, and the bits of its pages.
    pub(crate) fn kernels(self) -> (&'static str, &'static str, u32) {
        match self {
            Layout::Contiguous => ("scores_contiguous", "fill_contiguous", 0),
            Layout::Paged { page_bits, .. } => {
                ("scores_paged", "fill_paged", page_bits)
            }
        }
    }
}

// ANCHOR: table
/// A row for each request, an entry for each page that it may need; and how many pages
/// they need together.
pub(crate) fn table(
    lengths: &[u32],
    most: usize,
    page_bits: u32,
    at_random: usize,
) -> (Vec<u32>, usize) {
    let row = most >> page_bits;
    let needed = |length: &u32| (*length as usize).div_ceil(1 << page_bits);
    let pages: usize = lengths.iter().map(needed).sum();
    let windows = (0..pages).step_by(at_random.min(pages));
    let free: Vec<u32> = windows
        .flat_map(|first| {
            let window = shuffled(at_random.min(pages - first) as u32);
            window.into_iter().map(move |page| first as u32 + page)
        })
        .collect();
    let (mut first, mut table) = (0, vec![0; lengths.len() * row]);
    for (row, length) in table.chunks_mut(row).zip(lengths) {
        let taken = needed(length);
        row[..taken].copy_from_slice(&free[first..first + taken]);
        first += taken;
    }
    (table, pages)
}
// ANCHOR_END: table

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn every_page_has_one_owner() {
        let lengths = [1, 16, 17, 64, 63];
        for at_random in [1, 5, super::ALL] {
            let (table, pages) = table(&lengths, 64, 4, at_random);
            let mut taken: Vec<u32> = vec![];
            for (row, length) in table.chunks(4).zip(lengths) {
                taken.extend(&row[..length.div_ceil(16) as usize]);
            }
            taken.sort_unstable();
            assert_eq!(pages, 1 + 1 + 2 + 4 + 4);
            assert!(taken.into_iter().eq(0..pages as u32), "at random: {at_random}");
        }
    }
}
