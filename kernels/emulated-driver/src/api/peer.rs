//! Access of one GPU to the memory of another. Emulated GPUs can have it, unless the
//! environment says otherwise.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::CUresult::*;

use crate::answer::{Answer, require};
use crate::call::{Out, api};
use crate::driver::Session;
use crate::gpu;
use crate::memory::Kind;

impl Session {
    /// An error unless all of these are contexts.
    pub(crate) fn known_contexts(&self, contexts: &[usize]) -> Answer {
        let known = contexts.iter().all(|context| self.contexts.get(*context).is_some());
        require(known, CUDA_ERROR_INVALID_CONTEXT)
    }

    /// Whether a context may use this address, on another GPU.
    pub(crate) fn has_access(&self, context: usize, owner: usize, address: u64) -> bool {
        let Some(found) = self.contexts.get(context) else { return false };
        match self.memory.around(address).map(|(_, holding)| holding.kind) {
            Some(Kind::Pool(pool)) => {
                let pool = self.pools.get(pool);
                pool.is_some_and(|pool| pool.accessible_to.contains(&found.gpu))
            }
            _ => found
                .peers
                .iter()
                .any(|peer| self.contexts.get(*peer).is_some_and(|peer| peer.gpu == owner)),
        }
    }
}

api! {
    fn cuDeviceCanAccessPeer(session, can: Out<c_int>, device: c_int, peer: c_int) {
        let (device, peer) = (session.device(device)?, session.device(peer)?);
        can.set(c_int::from(device != peer && gpu::can_access_peers()))?;
    }

    fn cuCtxEnablePeerAccess(session, peer: usize, flags: c_uint) {
        let handle = session.context()?;
        session.known_contexts(&[peer])?;
        let gpu_of = |handle| session.contexts.get(handle).map(|context| context.gpu);
        require(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        let can = gpu_of(handle) != gpu_of(peer) && gpu::can_access_peers();
        require(can, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)?;
        let context = session.current_context()?;
        require(!context.peers.contains(&peer), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)?;
        require(context.peers.len() < gpu::most_peers(), CUDA_ERROR_TOO_MANY_PEERS)?;
        context.peers.insert(peer);
    }

    fn cuCtxDisablePeerAccess(session, peer: usize) {
        let context = session.current_context()?;
        require(context.peers.remove(&peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)?;
    }
}
