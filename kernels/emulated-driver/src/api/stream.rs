//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUresult::*;
use streams::Waited;
use streams::queue::Kind;

use crate::answer::{Answer, require};
use crate::call::{Out, api};
use crate::driver::Session;
use crate::gpu;
use crate::work::{HostFunction, Work};

/// What `cuStreamAddCallback` calls: with the stream, what became of its work, and an argument.
type Callback = unsafe extern "C" fn(usize, c_int, usize);

/// Calls a callback that was boxed with its stream and its argument. (A graph may call it again.)
unsafe extern "C" fn call_back(called: *mut c_void) {
    // SAFETY: the box was made for this, with what the program gave.
    unsafe {
        let (function, stream, argument) = *called.cast::<(Callback, usize, usize)>();
        function(stream, 0, argument);
    }
}

/// Flag of a stream that the legacy default stream does not wait for.
const NON_BLOCKING: c_uint = 1;

impl Session {
    fn new_stream(&mut self, flags: c_uint) -> Answer<usize> {
        let context = self.context()?;
        require(flags <= NON_BLOCKING, CUDA_ERROR_INVALID_VALUE)?;
        let kind = if flags == NON_BLOCKING { Kind::NonBlocking } else { Kind::Blocking };
        let queue = self.queues.open(context, kind);
        self.recorder.stream(queue, context, kind);
        Ok(self.streams.insert(queue))
    }
}

api! {
    fn cuStreamCreate(session, stream: Out<usize>, flags: c_uint) {
        stream.check()?;
        stream.set(session.new_stream(flags)?)?;
    }

    /// No order follows from a priority. One that is out of range becomes the nearest in it.
    fn cuStreamCreateWithPriority(
        session, stream: Out<usize>, flags: c_uint, priority: c_int,
    ) {
        stream.check()?;
        let new = session.new_stream(flags)?;
        let queue = session.queue(new)?;
        let (least, greatest) = gpu::PRIORITIES;
        session.priorities.insert(queue, priority.clamp(greatest, least));
        stream.set(new)?;
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
        session.recorder.waited(Waited::Queue(queue));
    }

    fn cuStreamQuery(session, stream: usize) {
        let queue = session.queue(stream)?;
        session.forbid_capture(queue)?;
        if let Some(last) = session.queues.last(queue)
            && !session.step_towards(last)
        {
            return Err(CUDA_ERROR_NOT_READY);
        }
        session.recorder.waited(Waited::Queue(queue));
        session.failure_in(session.context_of(queue))?;
    }

    fn cuStreamWaitEvent(session, stream: usize, event: usize, flags: c_uint) {
        let queue = session.queue(stream)?;
        require(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        session.wait_event(queue, event)?;
    }

    fn cuStreamGetCtx(session, stream: usize, context: Out<usize>) {
        let queue = session.queue(stream)?;
        context.set(session.context_of(queue))?;
    }

    fn cuStreamGetDevice(session, stream: usize, device: Out<c_int>) {
        let queue = session.queue(stream)?;
        device.set(session.gpu_of(queue)? as c_int)?;
    }

    fn cuStreamGetFlags(session, stream: usize, flags: Out<c_uint>) {
        let queue = session.queue(stream)?;
        let kind = session.queues.get(queue).map(|queue| queue.kind);
        flags.set(if kind == Some(Kind::NonBlocking) { NON_BLOCKING } else { 0 })?;
    }

    fn cuStreamGetPriority(session, stream: usize, priority: Out<c_int>) {
        let queue = session.queue(stream)?;
        priority.set(session.priorities.get(&queue).copied().unwrap_or_default())?;
    }

    fn cuStreamGetId(session, stream: usize, id: Out<u64>) {
        id.set(session.queue(stream)?.into())?;
    }

    fn cuStreamAddCallback(
        session, stream: usize, callback: Option<Callback>, argument: usize, flags: c_uint,
    ) {
        let queue = session.queue(stream)?;
        let function = callback.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        require(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        let called = Box::into_raw(Box::new((function, stream, argument))) as usize;
        let call = HostFunction { function: call_back, argument: called };
        session.enqueue(queue, Work::Call(call))?;
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
