//! Our ring and NCCL with equal numbers of blocks.
//!
//! A block of a kernel that sends takes a multiprocessor's time from kernels that compute. NCCL
//! takes few, so a comparison has to say how many.

use std::ffi::c_int;
use std::ptr::null_mut;

use cudarc::driver::DevicePtr;
use cudarc::nccl::{group_end, group_start, result, sys};
use lab::{Case, Lab, Result, nccl};

use crate::device::Ranks;
use crate::ways::Method;
use crate::{ELEMENT, IN_A_ROW, case, in_a_row};

/// Blocks of each GPU's kernel; NCCL calls them CTAs, and has a channel for each.
const BLOCKS: [u32; 4] = [8, 16, 24, 32];
/// Elements between two flags: four times as many as elsewhere, since with few blocks no other
/// one hides a wait.
const SLICE: usize = 64 << 10;
/// Bytes of a vector.
const SIZES: [usize; 2] = [64 << 20, 1 << 30];

/// Both, in turn. Every vector's sums are compared.
pub(crate) fn equal_blocks(
    lab: &mut Lab,
    gpus: &mut Ranks,
    largest: usize,
) -> Result<()> {
    let all = gpus.blocks;
    gpus.slice = SLICE;
    let mut sizes = SIZES.map(|bytes| bytes.min(largest)).to_vec();
    sizes.dedup();
    for blocks in BLOCKS.into_iter().filter(|blocks| *blocks <= all) {
        if !gpus.comms.is_empty() {
            match Limited::join(gpus, blocks) {
                Ok(limited) => gpus.limited = Some(limited),
                Err(why) => {
                    let case = Case::new("equal").with("method", Method::Nccl);
                    lab.skip(case.with("blocks", blocks as usize), why.to_string());
                }
            }
        }
        for bytes in sizes.iter().copied() {
            for method in [Method::Ring, Method::Nccl] {
                if method == Method::Nccl && gpus.limited.is_none() {
                    continue;
                }
                gpus.blocks = if method == Method::Ring { blocks } else { all };
                let case = case(lab, "equal", method, bytes, gpus.each.len())
                    .with("blocks", blocks as usize);
                // NCCL prepares at its first call for a size.
                gpus.clear()?;
                method.queue(gpus, bytes / ELEMENT)?;
                in_a_row(lab, gpus, (method, IN_A_ROW), bytes, case)?;
            }
        }
        gpus.blocks = all;
        gpus.wait()?;
        gpus.limited = None;
    }
    Ok(())
}

/// NCCL's communicators, one for each GPU, with so many blocks.
pub(crate) struct Limited(Vec<sys::ncclComm_t>);

impl Limited {
    // ANCHOR: limited
    /// Asks NCCL for exactly so many.
    fn join(gpus: &Ranks, blocks: u32) -> Result<Limited> {
        let (count, limit) = (gpus.each.len() as c_int, blocks as c_int);
        let version =
            nccl::check("ask for its version", result::get_nccl_version())?;
        let mut config = unset(version);
        (config.minCTAs, config.maxCTAs) = (limit, limit);
        let mut configs = vec![config; gpus.each.len()];
        let mut comms = vec![null_mut(); gpus.each.len()];
        let id = nccl::check("get an id", result::get_uniqueid())?;
        nccl::check("begin a group", group_start())?;
        for (rank, gpu) in gpus.each.iter().enumerate() {
            gpu.stream.context().bind_to_thread()?;
            let (comm, config) = (&raw mut comms[rank], &raw mut configs[rank]);
            // SAFETY: both lists stay where they are until the group has ended.
            let joined = unsafe {
                result::comm_init_rank_config(comm, count, id, rank as c_int, config)
            };
            nccl::check("join with a number of blocks", joined)?;
        }
        nccl::check("join with a number of blocks", group_end())?;
        Ok(Limited(comms))
    }
    // ANCHOR_END: limited

    /// As `Ranks::nccl`.
    pub(crate) fn all_reduce(&self, gpus: &Ranks, count: usize) -> Result<()> {
        nccl::check("begin a group", group_start())?;
        for (gpu, comm) in gpus.each.iter().zip(&self.0) {
            let (from, to) = (
                gpu.input.device_ptr(&gpu.stream).0,
                gpu.output.device_ptr(&gpu.stream).0,
            );
            gpu.stream.context().bind_to_thread()?;
            // SAFETY: both buffers have `count` floats, and the stream is the GPU's.
            let queued = unsafe {
                result::all_reduce(
                    from as *const _,
                    to as *mut _,
                    count,
                    sys::ncclDataType_t::ncclFloat32,
                    sys::ncclRedOp_t::ncclSum,
                    *comm,
                    gpu.stream.cu_stream().cast(),
                )
            };
            nccl::check("queue an all-reduce", queued)?;
        }
        nccl::check("start an all-reduce", group_end())?;
        Ok(())
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        for comm in &self.0 {
            // SAFETY: nothing of it is queued any more, and it is not used again. An error is
            // of no consequence: the program joins anew, or ends.
            let _ = unsafe { result::comm_destroy(*comm) };
        }
    }
}

/// NCCL's settings, each of them left to NCCL. One that the library does not know yet is beyond
/// what it reads.
fn unset(version: c_int) -> sys::ncclConfig_t {
    const UNSET: c_int = c_int::MIN;
    sys::ncclConfig_t {
        size: size_of::<sys::ncclConfig_t>(),
        magic: 0xcafe_beef,
        version: version as u32,
        blocking: UNSET,
        cgaClusterSize: UNSET,
        minCTAs: UNSET,
        maxCTAs: UNSET,
        netName: null_mut(),
        splitShare: UNSET,
        trafficClass: UNSET,
        commName: null_mut(),
        collnetEnable: UNSET,
        CTAPolicy: UNSET,
        shrinkShare: UNSET,
        nvlsCTAs: UNSET,
        nChannelsPerNetPeer: UNSET,
        nvlinkCentricSched: UNSET,
        graphUsageMode: UNSET,
        numRmaCtx: UNSET,
        maxP2pPeers: UNSET,
    }
}
