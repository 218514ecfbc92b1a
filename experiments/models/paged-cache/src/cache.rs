//! The cache, the kernels that use it, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::check::value;
use lab::{Lab, Result, check};

use crate::table::{Layout, table};

/// Words of a key, and its bytes: one head of 128 elements of FP16.
const KEY_WORDS: usize = 64;
pub(crate) const KEY_BYTES: usize = KEY_WORDS * size_of::<u32>();
/// Tokens that a block takes: of `scores`, of `fill`.
const TOKENS: [usize; 2] = [128, 4];

// SAFETY: the kernels use the slots of tokens below each of `lengths`, all at most `most`.
// They are in `keys`, which has `most` for each request, or the pages that `table` names.
// `query` has a key's words, and `scores` `most` for each request.
lab::kernels! { unsafe "paged-cache" {
    fn scores["scores_contiguous", "scores_paged"](
        keys: &CudaSlice<u32>, table: &CudaSlice<u32>, lengths: &CudaSlice<u32>,
        query: &CudaSlice<u32>, scores: &mut CudaSlice<u32>, most: u32, page_bits: u32,
    );
    fn fill["fill_contiguous", "fill_paged"](
        keys: &mut CudaSlice<u32>, table: &CudaSlice<u32>, lengths: &CudaSlice<u32>,
        most: u32, page_bits: u32,
    );
} }

/// What all caches have in common.
pub(crate) struct Caches {
    kernels: Kernels,
    stream: Arc<CudaStream>,
    query: Vec<u32>,
    pub(crate) requests: usize,
    /// Tokens of the longest request.
    pub(crate) most: usize,
}

impl Caches {
    pub(crate) fn new(lab: &Lab, requests: usize, most: usize) -> Result<Caches> {
        // One odd number and 63 even ones: their sum is odd, so that no two tokens have the
        // same score.
        let query =
            (0..KEY_WORDS).map(|i| value(i + 1) << 1 | u32::from(i == 0)).collect();
        let (kernels, stream) = (Kernels::load(lab)?, lab.context().new_stream()?);
        Ok(Caches { kernels, stream, query, requests, most })
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Makes a cache for requests of these lengths, fills it, and clears the scores.
    pub(crate) fn prepare(
        &self,
        lengths: &[u32],
        layout: Layout,
    ) -> Result<Cache<'_>> {
        let (stream, slots) = (&self.stream, self.requests * self.most);
        let (table, reserved, pages) = match layout {
            Layout::Contiguous => (vec![0], slots, 0),
            Layout::Paged { page_bits, at_random } => {
                let (table, pages) = table(lengths, self.most, page_bits, at_random);
                (table, pages << page_bits, pages)
            }
        };
        let mut cache = Cache {
            caches: self,
            layout,
            pages,
            keys: stream.alloc_zeros(reserved * KEY_WORDS)?,
            table: stream.clone_htod(&table)?,
            query: stream.clone_htod(&self.query)?,
            scores: stream.alloc_zeros(slots + check::GUARD)?,
            lengths: stream.clone_htod(lengths)?,
            host_lengths: lengths.to_vec(),
        };
        cache.fill()?;
        Ok(cache)
    }

    /// Blocks for the longest request, of each request.
    fn grid(&self, tokens: usize) -> LaunchConfig {
        LaunchConfig {
            grid_dim: (self.most.div_ceil(tokens) as u32, self.requests as u32, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        }
    }
}

/// One cache.
pub(crate) struct Cache<'a> {
    caches: &'a Caches,
    layout: Layout,
    /// Pages that hold tokens.
    pages: usize,
    keys: CudaSlice<u32>,
    table: CudaSlice<u32>,
    query: CudaSlice<u32>,
    scores: CudaSlice<u32>,
    lengths: CudaSlice<u32>,
    host_lengths: Vec<u32>,
}

impl Cache<'_> {
    /// Bytes that the cache takes, with its table.
    pub(crate) fn reserved_bytes(&self) -> usize {
        let table = if self.pages == 0 { 0 } else { self.table.num_bytes() };
        self.keys.num_bytes() + table
    }

    /// Bytes of the entries that the scores need.
    pub(crate) fn table_bytes_used(&self) -> usize {
        self.pages * size_of::<u32>()
    }

    fn fill(&mut self) -> Result<()> {
        let Caches { kernels, stream, most, .. } = self.caches;
        let (_, fill, page_bits) = self.layout.kernels();
        let (keys, grid) = (&mut self.keys, self.caches.grid(TOKENS[1]));
        let (table, lengths) = (&self.table, &self.lengths);
        kernels.fill(
            fill,
            stream,
            grid,
            keys,
            table,
            lengths,
            *most as u32,
            page_bits,
        )
    }

    pub(crate) fn launch(&mut self) -> Result<()> {
        let Caches { kernels, stream, most, .. } = self.caches;
        let (scores, _, page_bits) = self.layout.kernels();
        let (keys, table, lengths) = (&self.keys, &self.table, &self.lengths);
        let (query, out, grid) =
            (&self.query, &mut self.scores, self.caches.grid(TOKENS[0]));
        kernels.scores(
            scores,
            stream,
            grid,
            keys,
            table,
            lengths,
            query,
            out,
            *most as u32,
            page_bits,
        )
    }

    /// Compares every score, and that nothing was written for tokens that are not there.
    pub(crate) fn check(&self) -> Result<u64> {
        let Caches { stream, query, requests, most, .. } = self.caches;
        // Word w of token t is value(64 t + w), so a score is this of the query's words:
        // value(64 t) times their sum, and the sum of each times value(w).
        let sum = query.iter().fold(0, |sum: u32, q| sum.wrapping_add(*q));
        let terms = query.iter().enumerate().map(|(w, q)| q.wrapping_mul(value(w)));
        let rest = terms.fold(0, u32::wrapping_add);
        check::output("scores", stream, &self.scores, requests * most, |i| {
            let (request, token) = (i / most, i % most);
            let score = value(KEY_WORDS * i).wrapping_mul(sum).wrapping_add(rest);
            if token < self.host_lengths[request] as usize { score } else { 0 }
        })
    }
}
