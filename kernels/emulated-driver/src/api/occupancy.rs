//! How many blocks a multiprocessor holds: by threads, blocks and shared memory. How many
//! registers a thread has only a real compiler knows; they are taken to be few enough.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::CUresult::*;

use crate::answer::Answer;
use crate::call::{Out, api};
use crate::driver::Session;
use crate::gpu;

impl Session {
    fn resident_blocks(&self, function: usize, threads: c_int, dynamic: usize) -> Answer<c_int> {
        let (_, _, kernel) = self.function(function)?;
        let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0);
        let threads = threads.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let most = kernel.max_threads.unwrap_or(gpu::BLOCK_THREADS);
        let shared = u64::from(kernel.shared_bytes) + dynamic as u64;
        let model = gpu::current();
        if threads > most || shared > u64::from(model.block_shared_bytes) {
            return Ok(0);
        }
        let by_threads = model.threads / threads.next_multiple_of(32);
        let each = shared + u64::from(model.reserved_bytes);
        let by_shared = u64::from(model.shared_bytes).checked_div(each);
        let by_shared = by_shared.map_or(model.blocks, |blocks| blocks as u32);
        Ok(by_threads.min(by_shared).min(model.blocks) as c_int)
    }

    fn best_block(
        &mut self,
        function: usize,
        shared_for: Option<extern "C" fn(c_int) -> usize>,
        dynamic: usize,
        limit: c_int,
    ) -> Answer<(c_int, c_int)> {
        let most = if limit > 0 { limit } else { gpu::BLOCK_THREADS as c_int };
        let mut best = (0, 0);
        for threads in (32..=most.min(gpu::BLOCK_THREADS as c_int)).rev().filter(|n| n % 32 == 0) {
            let dynamic = match shared_for {
                Some(bytes) => self.outside(|| bytes(threads)),
                None => dynamic,
            };
            let blocks = self.resident_blocks(function, threads, dynamic)?;
            if blocks * threads > best.0 * best.1 {
                best = (blocks, threads);
            }
        }
        Ok((best.0 * gpu::MULTIPROCESSORS as c_int, best.1))
    }
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        session, blocks: Out<c_int>, function: usize, threads: c_int, dynamic: usize,
    ) {
        blocks.set(session.resident_blocks(function, threads, dynamic)?)?;
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        session, blocks: Out<c_int>, function: usize, threads: c_int, dynamic: usize,
        _flags: c_uint,
    ) {
        blocks.set(session.resident_blocks(function, threads, dynamic)?)?;
    }

    fn cuOccupancyMaxPotentialBlockSize(
        session, grid: Out<c_int>, block: Out<c_int>, function: usize,
        shared_for: Option<extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int,
    ) {
        let best = session.best_block(function, shared_for, dynamic, limit)?;
        grid.set(best.0)?;
        block.set(best.1)?;
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        session, grid: Out<c_int>, block: Out<c_int>, function: usize,
        shared_for: Option<extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int,
        _flags: c_uint,
    ) {
        let best = session.best_block(function, shared_for, dynamic, limit)?;
        grid.set(best.0)?;
        block.set(best.1)?;
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        session, bytes: Out<usize>, function: usize, blocks: c_int, _threads: c_int,
    ) {
        let (_, _, kernel) = session.function(function)?;
        let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0);
        let model = gpu::current();
        let each = model.shared_bytes / blocks.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let each = each.saturating_sub(model.reserved_bytes).min(gpu::BLOCK_SHARED_BYTES);
        bytes.set(each.saturating_sub(kernel.shared_bytes) as usize)?;
    }
}
