//! Events. They order streams; they have no time, but in tests.

use std::ffi::c_uint;

use cudarc::driver::sys::CUresult::*;
use streams::{Ticket, Waited};

use crate::answer::{Answer, require};
use crate::call::{Out, api};
use crate::driver::{Event, Session};

/// Flags: the waiting thread may sleep, no time is wanted, for other processes.
const FLAGS: c_uint = 7;
const DISABLE_TIMING: c_uint = 2;

impl Session {
    fn event(&self, event: usize) -> Answer<&Event> {
        self.events.get(event).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    /// The work that an event stands for, if any.
    fn ticket(&self, event: usize) -> Answer<Option<Ticket>> {
        self.event(event)?.ticket()
    }

    fn record_on(&mut self, event: usize, stream: usize) -> Answer {
        let queue = self.queue(stream)?;
        let context = self.event(event)?.context;
        require(self.context_of(queue) == context, CUDA_ERROR_INVALID_HANDLE)?;
        let recorded = self.record(queue)?;
        let at = self.clock;
        if let Some(event) = self.events.get_mut(event) {
            (event.recorded, event.at) = (Some(recorded), at);
        }
        Ok(())
    }

    fn tell_failure_of(&self, event: usize) -> Answer {
        self.failure_in(self.event(event)?.context)
    }

    fn elapsed(&mut self, place: &Out<f32>, start: usize, end: usize) -> Answer {
        for handle in [start, end] {
            let event = self.event(handle)?;
            if !event.timed {
                return self.refuse(
                    CUDA_ERROR_INVALID_HANDLE,
                    "an event keeps no time if it was made with CU_EVENT_DISABLE_TIMING, \
                     which is cudarc's default: make both with CU_EVENT_DEFAULT (in Rust, \
                     cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT)",
                );
            }
            if event.recorded.is_none() {
                return self.refuse(
                    CUDA_ERROR_INVALID_HANDLE,
                    "an event that was not recorded has no time: record both",
                );
            }
            if let Some(ticket) = self.ticket(handle)?
                && !self.queues.is_done(ticket)
            {
                self.step_towards(ticket); // so a program that asks again gets there
                return Err(CUDA_ERROR_NOT_READY);
            }
        }
        if cfg!(for_tests) {
            let at = |event| Ok(self.event(event)?.at);
            let nanoseconds = at(end)? as f64 - at(start)? as f64;
            return place.set((nanoseconds * 1e-6) as f32);
        }
        if self.elapsed_is_nan {
            return place.set(f32::NAN);
        }
        self.refuse(CUDA_ERROR_NOT_SUPPORTED, "the emulated GPU has no time")
    }
}

api! {
    fn cuEventCreate(session, place: Out<usize>, flags: c_uint) {
        let context = session.context()?;
        place.check()?;
        require(flags & !FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        let timed = flags & DISABLE_TIMING == 0;
        place.set(session.events.insert(Event { context, timed, recorded: None, at: 0 }))?;
    }

    fn cuEventDestroy_v2(session, event: usize) {
        session.events.remove(event).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    }

    fn cuEventRecord(session, event: usize, stream: usize) {
        session.record_on(event, stream)?;
    }

    fn cuEventRecordWithFlags(session, event: usize, stream: usize, flags: c_uint) {
        if flags != 0 {
            return session.refuse(CUDA_ERROR_NOT_SUPPORTED, "events outside of a graph");
        }
        session.record_on(event, stream)?;
    }

    fn cuEventSynchronize(session, event: usize) {
        let ticket = session.ticket(event)?;
        session.finish(ticket.as_slice());
        if let Some(ticket) = ticket {
            session.recorder.waited(Waited::For(ticket));
            session.trim_pools();
        }
        session.tell_failure_of(event)?;
    }

    fn cuEventQuery(session, event: usize) {
        if let Some(ticket) = session.ticket(event)? {
            require(session.step_towards(ticket), CUDA_ERROR_NOT_READY)?;
            session.recorder.waited(Waited::For(ticket));
        }
        session.tell_failure_of(event)?;
    }

    fn cuEventElapsedTime(session, milliseconds: Out<f32>, start: usize, end: usize) {
        session.elapsed(&milliseconds, start, end)?;
    }

    fn cuEventElapsedTime_v2(session, milliseconds: Out<f32>, start: usize, end: usize) {
        session.elapsed(&milliseconds, start, end)?;
    }
}
