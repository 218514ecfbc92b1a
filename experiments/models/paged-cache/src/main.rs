//! # What does it cost to keep a cache in pages?
//!
//! Page: `book/src/models/paged-cache.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | contiguous, and pages of 1 to 256 tokens |
//! | [`lengths`] | What pages save | how much memory do requests of unknown length take? |
//! | [`mod@table`] | The experiment | where do the keys of a request lie? |
//! | [`cache`] | The experiment | the cache, the kernels, the check |
//!
//! A language model keeps a *key* and a *value* of each token that it has read or written,
//! in each layer and head: the KV cache. It reads a request's part of the cache for every
//! token that it writes. How long a request becomes is not known beforehand. So one
//! reserves room for the longest, or room in *pages*, when they are needed:
//!
//! ```text
//! contiguous:  |request 0 AAAAA...........|request 1 BBBBBBBBB.......|
//! pages:       |BBBB|AAAA|BBBB|A...|B...|    table: 0 → 1, 3   1 → 0, 2, 4
//! ```
//!
//! **Prediction:** the table costs a load of 4 bytes for each page, which neighbouring
//! threads share. A page of 16 keys has 4 KiB in one piece, 128 sectors, so reading it in
//! any order costs no more bytes than without pages. So pages of 16 tokens take 1.00 times
//! as long as a contiguous cache. With pages of one token each key of 256 bytes needs 4
//! more, and they lie in a random order: up to half as long again, as in `gather`.

mod cache;
mod lengths;
mod table;

use std::process::ExitCode;

use lab::{Case, Ceiling, Lab, Result};

use cache::{Caches, KEY_BYTES};
use lengths::Lengths;
use table::{ALL, Layout};

/// Pages of 2^0 to 2^8 tokens.
const PAGE_BITS: [u32; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

/// Bytes of pages that are in a random order among each other.
const NEAR: [usize; 5] = [2 << 20, 8 << 20, 32 << 20, 128 << 20, 512 << 20];

fn main() -> ExitCode {
    lab::run!(Some(cache::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. So many requests of up to `most` tokens that the keys of a quarter of them are
    //    four times the L2 cache, or as many as there is room for.
    let most = if lab.emulated() { 512 } else { 2048 };
    let wanted = 16 * lab.l2_bytes() / if lab.emulated() { 4 } else { 1 };
    let bytes = wanted.min(lab.free_bytes()? / 4);
    let requests = (bytes / (most * KEY_BYTES)).max(7);
    let caches = Caches::new(lab, requests, most)?;

    // 2. Lengths from 1 token to the most: no page and no block divides them.
    let spread = Lengths::Spread.of(requests, most);

    // 3. One piece for each request; then pages, of all sizes: a request's one after the
    //    other or, as after a day of work, in a random order.
    let case = |layout: &str| Case::new("scores").with("layout", layout);
    measure(lab, &caches, case("contiguous"), &spread, Layout::Contiguous)?;
    for page_bits in PAGE_BITS {
        for (order, at_random) in [("in_order", 1), ("shuffled", ALL)] {
            let case =
                case("paged").with("order", order).with("page", 1usize << page_bits);
            let layout = Layout::Paged { page_bits, at_random };
            measure(lab, &caches, case, &spread, layout)?;
        }
    }

    // 4. Pages of 16 in a random order, but none far from where it would be in order.
    for near_bytes in NEAR {
        let at_random = near_bytes / (KEY_BYTES << 4);
        let case = Case::new("near").with("near_bytes", near_bytes);
        let layout = Layout::Paged { page_bits: 4, at_random };
        measure(lab, &caches, case, &spread, layout)?;
    }
    lengths::cases(lab, &caches)
}

/// Times the scores of all tokens, compares them, and records the case with what its cache
/// has reserved and uses.
fn measure(
    lab: &mut Lab,
    caches: &Caches,
    case: Case,
    lengths: &[u32],
    layout: Layout,
) -> Result<()> {
    let mut cache = caches.prepare(lengths, layout)?;
    let tokens: usize = lengths.iter().map(|length| *length as usize).sum();
    let (used, reserved) = (tokens * KEY_BYTES, cache.reserved_bytes());
    let case = case
        .reads(used + cache.table_bytes_used())
        .writes(tokens * size_of::<u32>())
        .ceiling(Ceiling::DeviceMemory)
        .footprint(used, lab.l2_bytes())
        .model("requests", lengths.len() as f64)
        .model("tokens", tokens as f64)
        .model("used_bytes", used as f64)
        .model("reserved_bytes", reserved as f64)
        .model("wasted_percent", 1.0 - used as f64 / reserved as f64);
    let timed = case.time_on_gpu(lab, caches.stream(), |_| cache.launch())?;
    let checked = cache.check()?;
    timed.checked(checked).record(lab)
}
