//! What pages save: room for the longest request is mostly empty, and how empty depends on
//! the requests. A page that is not full is lost, too, but a request has only one.

use lab::{Case, Lab, Result, check};

use crate::cache::Caches;
use crate::measure;
use crate::table::{ALL, Layout};

/// How long requests are.
#[derive(Clone, Copy)]
pub(crate) enum Lengths {
    /// All as long as they may be.
    Full,
    /// From 1 token to the most, all equally frequent.
    Spread,
    /// Most of them short, few long: a quarter of the most, in the mean.
    MostlyShort,
}

impl Lengths {
    /// Lengths of so many requests, in a random order.
    pub(crate) fn of(self, requests: usize, most: usize) -> Vec<u32> {
        let place = |rank: u32| (f64::from(rank) + 0.5) / requests as f64;
        let tokens = |share: f64| (share * most as f64).ceil() as u32;
        let length = |rank| match self {
            Lengths::Full => most as u32,
            Lengths::Spread => tokens(place(rank)),
            Lengths::MostlyShort => tokens(place(rank).powi(3)),
        };
        check::shuffled(requests as u32).into_iter().map(length).collect()
    }
}

// ANCHOR: cases
pub(crate) fn cases(lab: &mut Lab, caches: &Caches) -> Result<()> {
    let kinds = [
        ("full", Lengths::Full),
        ("spread", Lengths::Spread),
        ("mostly_short", Lengths::MostlyShort),
    ];
    for (name, kind) in kinds {
        let lengths = kind.of(caches.requests, caches.most);
        for (layout, page_bits) in [("contiguous", None), ("pages_of_16", Some(4))] {
            let case =
                Case::new("lengths").with("lengths", name).with("layout", layout);
            let layout = match page_bits {
                None => Layout::Contiguous,
                Some(page_bits) => Layout::Paged { page_bits, at_random: ALL },
            };
            measure(lab, caches, case, &lengths, layout)?;
        }
    }
    Ok(())
}
// ANCHOR_END: cases
