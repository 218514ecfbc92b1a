//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUresult::*;

use crate::answer::Answer;
use crate::call::{Out, api};
use crate::driver::Session;
use crate::gpu;
use crate::queue::Kind;
use crate::work::{HostFunction, Work};

/// Flag of a stream that the legacy default stream does not wait for.
const NON_BLOCKING: c_uint = 1;

impl Session {
    fn new_stream(&mut self, flags: c_uint, priority: c_int) -> Answer<usize> {
        let context = self.context()?;
        if flags > NON_BLOCKING {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let kind =
            if flags == NON_BLOCKING { Kind::NonBlocking } else { Kind::Blocking };
        let (least, greatest) = gpu::PRIORITIES;
        let queue = self.queues.open(context, kind, priority.clamp(greatest, least));
        Ok(self.streams.insert(queue))
    }
}

api! {
    fn cuStreamCreate(session, stream: Out<usize>, flags: c_uint) {
        stream.check()?;
        stream.set(session.new_stream(flags, 0)?)?;
    }

    /// A priority is kept and told; no order follows from it.
    fn cuStreamCreateWithPriority(
        session, stream: Out<usize>, flags: c_uint, priority: c_int,
    ) {
        stream.check()?;
        stream.set(session.new_stream(flags, priority)?)?;
    }

    /// What is queued is still done.
    fn cuStreamDestroy_v2(session, stream: usize) {
        session.context()?;
        let queue = session.streams.remove(stream).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        session.queues.retire(queue);
    }

    fn cuStreamSynchronize(session, stream: usize) {
        let queue = session.queue(stream)?;
        session.forbid_capture(queue)?;
        session.synchronize(queue)?;
    }

    fn cuStreamQuery(session, stream: usize) {
        let queue = session.queue(stream)?;
        session.forbid_capture(queue)?;
        if let Some(last) = session.queues.last(queue)
            && !session.step_towards(last)
        {
            return Err(CUDA_ERROR_NOT_READY);
        }
        session.queue(stream)?; // which tells if the work has failed
    }

    fn cuStreamWaitEvent(session, stream: usize, event: usize, flags: c_uint) {
        let queue = session.queue(stream)?;
        if flags > 1 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        session.wait_event(queue, event)?;
    }

    fn cuStreamGetPriority(session, stream: usize, priority: Out<c_int>) {
        let queue = session.queue(stream)?;
        priority.set(session.queues.get(queue).map_or(0, |queue| queue.priority))?;
    }

    fn cuStreamGetFlags(session, stream: usize, flags: Out<c_uint>) {
        let queue = session.queue(stream)?;
        let kind = session.queues.get(queue).map(|queue| queue.kind);
        flags.set(if kind == Some(Kind::NonBlocking) { NON_BLOCKING } else { 0 })?;
    }

    fn cuStreamGetCtx(session, stream: usize, context: Out<usize>) {
        let queue = session.queue(stream)?;
        context.set(session.queues.get(queue).map_or(0, |queue| queue.context))?;
    }

    fn cuLaunchHostFunc(
        session, stream: usize, function: Option<unsafe extern "C" fn(*mut c_void)>,
        argument: usize,
    ) {
        let queue = session.queue(stream)?;
        let function = function.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        session.enqueue(queue, Work::Call(HostFunction { function, argument }))?;
    }
}
