//! Copies and fills.
//!
//! A copy from memory that the driver knows reads it when its stream gets there, so a
//! program that writes there too early sees it. Pageable memory is read in the call, as
//! NVIDIA's driver stages it, and a copy to pageable memory, or from it to other memory of the
//! host's, ends before the call does.

use std::ffi::c_uint;
use std::sync::Arc;

use cudarc::driver::sys::CUmemcpyAttributes;
use cudarc::driver::sys::CUresult::*;

use crate::answer::Answer;
use crate::call::{In, Out, api};
use crate::driver::Session;
use crate::for_tests;
use crate::host;
use crate::memory::{Kind, Where};
use crate::watch::Noted;
use crate::work::Work;

/// What a call says of one end of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// On the device, where the current context may copy.
    Device,
    /// On the device, whichever context is current.
    AnyDevice,
    Host,
    Any,
}
use End::{Any, AnyDevice, Device, Host};

impl Session {
    /// Where one end of a copy lies. An error if all of it does not lie in one memory, or
    /// not on the side that the call says.
    fn end(
        &self,
        what: &str,
        end: End,
        address: u64,
        bytes: usize,
    ) -> Answer<Where> {
        let place = self.memory.locate(address, bytes as u64);
        let place = place.map_err(|why| format!("the {what}: {why}"));
        let place = self.accept(CUDA_ERROR_INVALID_VALUE, place)?;
        // With one address space, device memory may stand for the host's and the driver's
        // host memory for the device's.
        if place == Where::Pageable && matches!(end, Device | AnyDevice) {
            let why = format!("the {what}: {address:#x} is memory of the host's");
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        if end == Device {
            self.check_pool_access(what, address)?;
        }
        Ok(place)
    }

    /// On two H100s with driver 580, a copy from or to the host refuses a pool's memory
    /// while the context of another GPU is current: also in a stream of the pool's own
    /// GPU, and also with peer access of the contexts, which does not cover pools. It
    /// takes memory of `cuMemAlloc`, and fills take both. Not measured: that it takes the
    /// pool's memory, too, once that other GPU has access to the pool; and copies within
    /// the device's memory, `cuMemcpyAsync` and batches, which refuse nothing here.
    fn check_pool_access(&self, what: &str, address: u64) -> Answer {
        let (context, gpu) = (self.context()?, self.gpu()?);
        let Some((_, holding)) = self.memory.around(address) else { return Ok(()) };
        let (owner, name) = (holding.gpu, &holding.name);
        let pooled = matches!(holding.kind, Kind::Pool(_));
        if !pooled || owner == gpu || self.has_access(context, owner, address) {
            return Ok(());
        }
        let why = format!(
            "the {what}: {name} is of a pool of GPU {owner}, but the current context \
             is of GPU {gpu}, which has no access to the pool"
        );
        self.refuse(CUDA_ERROR_INVALID_VALUE, &why)
    }

    /// Queues a copy; if `wait` or pageable memory asks for it, to its end.
    fn copy(
        &mut self,
        (to, to_end): (u64, End),
        (from, from_end): (u64, End),
        bytes: usize,
        stream: Option<usize>,
    ) -> Answer {
        let queue = self.queue(stream.unwrap_or(0))?;
        if bytes == 0 {
            return Ok(());
        }
        let target = self.end("target", to_end, to, bytes)?;
        let source = self.end("source", from_end, from, bytes)?;
        let capturing = self.is_capturing(queue);
        let staged = source == Where::Pageable && matches!(target, Where::Device(_));
        let pageable = source == Where::Pageable || target == Where::Pageable;
        let at_once =
            stream.is_none() || (pageable && !staged) || for_tests::copies("wait");
        let work = if staged && !capturing {
            let mut taken = vec![0; bytes];
            // SAFETY: the program promises that it can be read.
            unsafe { host::read(from as usize, &mut taken) };
            Work::Upload { to, from: Arc::new(taken) }
        } else {
            let noted = match (source, target) {
                _ if capturing || at_once => None,
                (Where::Host, _) => Some(from),
                (_, Where::Host) => Some(to),
                _ => None,
            };
            // SAFETY: the driver knows the memory, and does these copies before it goes.
            let noted = noted.map(|start| unsafe {
                Noted::new(start as usize, bytes, self.host_writes)
            });
            Work::Copy { to, from, bytes: bytes as u64, noted }
        };
        self.enqueue(queue, work)?;
        if at_once && !capturing {
            self.synchronize(queue)?;
            // The real call does not wait for copies between devices' memories.
            let waits = [source, target]
                .iter()
                .any(|place| !matches!(place, Where::Device(_)));
            if waits {
                self.ledger.waited_for_queue(queue);
            }
        }
        Ok(())
    }

    /// Waits until a queue is empty, and tells if its work has failed.
    pub(crate) fn synchronize(&mut self, queue: u32) -> Answer {
        let last = self.queues.last(queue);
        self.finish(last.as_slice());
        self.trim_pools();
        self.failure_in(self.context_of(queue))
    }

    fn fill(
        &mut self,
        to: u64,
        pattern: &[u8],
        count: usize,
        stream: Option<usize>,
    ) -> Answer {
        let queue = self.queue(stream.unwrap_or(0))?;
        let bytes =
            count.checked_mul(pattern.len()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if bytes == 0 {
            return Ok(());
        }
        if !to.is_multiple_of(pattern.len() as u64) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        self.end("target", AnyDevice, to, bytes)?;
        let fill = Work::Fill { to, pattern: pattern.to_vec(), count: count as u64 };
        self.enqueue(queue, fill)
    }
}

api! {
    fn cuMemcpyAsync(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Any), (from, Any), bytes, Some(stream))?;
    }

    fn cuMemcpyHtoD_v2(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, Device), (from, Host), bytes, None)?;
    }

    fn cuMemcpyHtoDAsync_v2(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Device), (from, Host), bytes, Some(stream))?;
    }

    fn cuMemcpyDtoH_v2(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, Host), (from, Device), bytes, None)?;
    }

    fn cuMemcpyDtoHAsync_v2(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Host), (from, Device), bytes, Some(stream))?;
    }

    fn cuMemcpyDtoD_v2(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, AnyDevice), (from, AnyDevice), bytes, None)?;
    }

    fn cuMemcpyDtoDAsync_v2(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, AnyDevice), (from, AnyDevice), bytes, Some(stream))?;
    }

    /// Between the memories of two GPUs; peer access only changes the way it takes.
    fn cuMemcpyPeerAsync(
        session, to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize,
        stream: usize,
    ) {
        session.known_contexts(&[to_context, from_context])?;
        session.copy((to, AnyDevice), (from, AnyDevice), bytes, Some(stream))?;
    }

    /// Many copies by one call. Each is one here, too.
    fn cuMemcpyBatchAsync(
        session, to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize,
        attributes: In<CUmemcpyAttributes>, first: In<usize>, attribute_count: usize,
        failed: Out<usize>, stream: usize,
    ) {
        failed.set_if_wanted(usize::MAX)?;
        let legacy = stream < 2; // which may not be used
        if count == 0 || attribute_count == 0 || attribute_count > count || legacy {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        if attributes.is_null() || first.get()? != 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        for copy in 0..count {
            let (to, from, bytes) = (to.at(copy)?, from.at(copy)?, sizes.at(copy)?);
            if let Err(code) = session.copy((to, Any), (from, Any), bytes, Some(stream)) {
                failed.set_if_wanted(copy)?;
                return Err(code);
            }
        }
    }

    fn cuMemsetD8_v2(session, to: u64, value: u8, count: usize) {
        session.fill(to, &[value], count, None)?;
    }

    fn cuMemsetD8Async(session, to: u64, value: u8, count: usize, stream: usize) {
        session.fill(to, &[value], count, Some(stream))?;
    }

    fn cuMemsetD32Async(session, to: u64, value: c_uint, count: usize, stream: usize) {
        session.fill(to, &value.to_le_bytes(), count, Some(stream))?;
    }

    /// Which host accesses memory is the business of managed memory that moves.
    fn cuStreamAttachMemAsync(
        session, stream: usize, address: u64, _bytes: usize, _flags: c_uint,
    ) {
        let queue = session.queue(stream)?;
        let place = session.memory.locate(address, 1);
        session.accept(CUDA_ERROR_INVALID_VALUE, place)?;
        session.enqueue(queue, Work::Nothing)?;
    }
}
