//! Copies and fills.
//!
//! A copy from memory that the driver knows reads it when its stream gets there, so a
//! program that writes there too early sees it. Pageable memory is read in the call, as
//! NVIDIA's driver stages it, and a copy to pageable memory, or from it to other memory of the
//! host's, ends before the call does.

use std::ffi::c_uint;
use std::sync::Arc;

use cudarc::driver::sys::CUresult::*;
use cudarc::driver::sys::{CUDA_MEMCPY2D, CUmemcpyAttributes};
use streams::Waited;

use crate::answer::{Answer, require};
use crate::call::{In, Out, api};
use crate::driver::Session;
use crate::host;
use crate::memory::{Kind, Where};
use crate::settings;
use crate::watch::Noted;
use crate::work::Work;

/// What a call says of one end of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Device,
    Host,
    Any,
}
use End::{Any, Device, Host};

/// Whose access decides whether a call may use a GPU's memory. So it was on two H100s with
/// driver 580: access to a pool is asked for whether the contexts have peer access or not, and
/// lifts every refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judge {
    /// The current context's, whatever the stream: copies refuse a pool of a GPU that it has
    /// no access to. Plain memory passes.
    Current,
    /// The stream's context's: batches refuse the same.
    Stream,
    /// The stream's context's, also for plain memory, to which peer access of the
    /// contexts is enough: fills.
    StreamForAll,
    /// Nobody's: copies that name both contexts.
    Nobody,
}

/// C's struct of a copy of rows: of both sides the same, one behind the other.
#[repr(C)]
#[derive(Clone, Copy)]
struct Rows {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
}
const _: () = assert!(size_of::<Rows>() == size_of::<CUDA_MEMCPY2D>());

#[repr(C)]
#[derive(Clone, Copy)]
struct Side {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: usize,
    pitch: usize,
}

impl Session {
    /// Where one end of a copy lies. An error if all of it does not lie in one memory, or
    /// not on the side that the call says.
    fn end(
        &self,
        what: &str,
        end: End,
        address: u64,
        bytes: usize,
        (judge, queue): (Judge, u32),
    ) -> Answer<Where> {
        let place = self.memory.locate(address, bytes as u64);
        let place = place.map_err(|why| format!("the {what}: {why}"));
        let place = self.accept(CUDA_ERROR_INVALID_VALUE, place)?;
        // With one address space, device memory may stand for the host's and the driver's
        // host memory for the device's.
        if place == Where::Pageable && end == Device {
            let why = format!("the {what}: {address:#x} is memory of the host's");
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        self.check_access(what, address, judge, queue)?;
        Ok(place)
    }

    /// An error if the memory at `address` is of another GPU, and the judge has no access to it.
    fn check_access(&self, what: &str, address: u64, judge: Judge, queue: u32) -> Answer {
        let (whose, context) = match judge {
            Judge::Nobody => return Ok(()),
            Judge::Current => ("current context", self.context()?),
            Judge::Stream | Judge::StreamForAll => ("stream's context", self.context_of(queue)),
        };
        let gpu = self.contexts.get(context).ok_or(CUDA_ERROR_INVALID_CONTEXT)?.gpu;
        let Some((_, holding)) = self.memory.around(address) else { return Ok(()) };
        let (owner, name) = (holding.gpu, &holding.name);
        let (is_asked, place) = match holding.kind {
            Kind::Pool(_) => (true, "of a pool"),
            Kind::Device => (judge == Judge::StreamForAll, "memory"),
            _ => (false, ""),
        };
        if !is_asked || owner == gpu || self.has_access(context, owner, address) {
            return Ok(());
        }
        let why = format!(
            "the {what}: {name} is {place} of GPU {owner}, but the {whose} is of GPU \
             {gpu}, which has no access to it"
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
        judge: Judge,
    ) -> Answer {
        let queue = self.queue(stream.unwrap_or(0))?;
        if bytes == 0 {
            return Ok(());
        }
        let target = self.end("target", to_end, to, bytes, (judge, queue))?;
        let source = self.end("source", from_end, from, bytes, (judge, queue))?;
        let capturing = self.is_capturing(queue);
        let staged = source == Where::Pageable && matches!(target, Where::Device(_));
        let pageable = source == Where::Pageable || target == Where::Pageable;
        let at_once = stream.is_none() || (pageable && !staged) || settings::copies("wait");
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
            let noted =
                noted.map(|start| unsafe { Noted::new(start as usize, bytes, self.host_writes) });
            Work::Copy { to, from, bytes: bytes as u64, noted }
        };
        self.enqueue(queue, work)?;
        if at_once && !capturing {
            self.synchronize(queue)?;
            // The real call does not wait for copies between devices' memories.
            let waits = [source, target].iter().any(|place| !matches!(place, Where::Device(_)));
            if waits {
                self.recorder.waited(Waited::Queue(queue));
            }
        }
        Ok(())
    }

    /// Copies rows of a rectangle, each by itself.
    fn copy_rows(&mut self, rows: &In<Rows>, stream: Option<usize>) -> Answer {
        let Rows { from, to, width, height } = rows.get()?;
        let start = |side: Side| {
            let (first, end) = match side.kind {
                1 => (side.host, Host),
                2 => (side.device, Device),
                4 => (side.device, Any),
                _ => return self.refuse(CUDA_ERROR_NOT_SUPPORTED, "copies of arrays"),
            };
            require(side.pitch == 0 || side.pitch >= width, CUDA_ERROR_INVALID_VALUE)?;
            let pitch = if side.pitch == 0 { width } else { side.pitch };
            let before = side.y.checked_mul(pitch).and_then(|rows| rows.checked_add(side.x));
            let first = before.and_then(|before| first.checked_add(before as u64));
            let first = first.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            let last = pitch.checked_mul(height).and_then(|all| first.checked_add(all as u64));
            last.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            Ok((first, end, pitch as u64))
        };
        let ((from, from_end, from_pitch), (to, to_end, to_pitch)) = (start(from)?, start(to)?);
        for row in 0..height as u64 {
            let (to, from) = ((to + row * to_pitch, to_end), (from + row * from_pitch, from_end));
            self.copy(to, from, width, stream, Judge::Current)?;
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

    fn fill(&mut self, to: u64, pattern: &[u8], count: usize, stream: Option<usize>) -> Answer {
        let queue = self.queue(stream.unwrap_or(0))?;
        let bytes = count.checked_mul(pattern.len()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if bytes == 0 {
            return Ok(());
        }
        require(to.is_multiple_of(pattern.len() as u64), CUDA_ERROR_INVALID_VALUE)?;
        self.end("target", Device, to, bytes, (Judge::StreamForAll, queue))?;
        let fill = Work::Fill { to, pattern: pattern.to_vec(), count: count as u64 };
        self.enqueue(queue, fill)
    }
}

api! {
    fn cuMemcpy(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, Any), (from, Any), bytes, None, Judge::Current)?;
    }

    fn cuMemcpyAsync(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Any), (from, Any), bytes, Some(stream), Judge::Current)?;
    }

    fn cuMemcpyHtoD_v2(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, Device), (from, Host), bytes, None, Judge::Current)?;
    }

    fn cuMemcpyHtoDAsync_v2(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Device), (from, Host), bytes, Some(stream), Judge::Current)?;
    }

    fn cuMemcpyDtoH_v2(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, Host), (from, Device), bytes, None, Judge::Current)?;
    }

    fn cuMemcpyDtoHAsync_v2(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Host), (from, Device), bytes, Some(stream), Judge::Current)?;
    }

    fn cuMemcpyDtoD_v2(session, to: u64, from: u64, bytes: usize) {
        session.copy((to, Device), (from, Device), bytes, None, Judge::Current)?;
    }

    fn cuMemcpyDtoDAsync_v2(session, to: u64, from: u64, bytes: usize, stream: usize) {
        session.copy((to, Device), (from, Device), bytes, Some(stream), Judge::Current)?;
    }

    /// Between the memories of two GPUs; peer access only changes the way it takes.
    fn cuMemcpyPeerAsync(
        session, to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize,
        stream: usize,
    ) {
        session.known_contexts(&[to_context, from_context])?;
        session.copy((to, Device), (from, Device), bytes, Some(stream), Judge::Nobody)?;
    }

    fn cuMemcpyPeer(
        session, to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize,
    ) {
        session.known_contexts(&[to_context, from_context])?;
        session.copy((to, Device), (from, Device), bytes, None, Judge::Nobody)?;
    }

    fn cuMemcpy2D_v2(session, rows: In<Rows>) {
        session.copy_rows(&rows, None)?;
    }

    fn cuMemcpy2DUnaligned_v2(session, rows: In<Rows>) {
        session.copy_rows(&rows, None)?;
    }

    fn cuMemcpy2DAsync_v2(session, rows: In<Rows>, stream: usize) {
        session.copy_rows(&rows, Some(stream))?;
    }

    /// Many copies by one call. Each is one here, too.
    fn cuMemcpyBatchAsync(
        session, to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize,
        attributes: In<CUmemcpyAttributes>, first: In<usize>, attribute_count: usize,
        failed: Out<usize>, stream: usize,
    ) {
        failed.set_if_wanted(usize::MAX)?;
        let legacy = stream < 2; // which may not be used
        require(!legacy && (1..=count).contains(&attribute_count), CUDA_ERROR_INVALID_VALUE)?;
        require(!attributes.is_null() && first.get()? == 0, CUDA_ERROR_INVALID_VALUE)?;
        for copy in 0..count {
            let (to, from, bytes) = (to.at(copy)?, from.at(copy)?, sizes.at(copy)?);
            let copied =
                session.copy((to, Any), (from, Any), bytes, Some(stream), Judge::Stream);
            if let Err(code) = copied {
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

    fn cuMemsetD16_v2(session, to: u64, value: u16, count: usize) {
        session.fill(to, &value.to_le_bytes(), count, None)?;
    }

    fn cuMemsetD16Async(session, to: u64, value: u16, count: usize, stream: usize) {
        session.fill(to, &value.to_le_bytes(), count, Some(stream))?;
    }

    fn cuMemsetD32_v2(session, to: u64, value: c_uint, count: usize) {
        session.fill(to, &value.to_le_bytes(), count, None)?;
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
