//! Who has accessed a piece of memory, and when.

use crate::WARP;
use crate::machine::order::{IN_FLIGHT, Order};
use crate::program::{Scope, Strength};

/// Who a thread is, beside its marks.
pub(crate) const THREAD: u16 = 0x0fff;
/// Beside a thread: the access was atomic for the threads of its block only.
const OF_BLOCK: u16 = 0x1000;
/// Beside a writer: the word is a flag, which threads read until another one has written it.
const FLAG: u16 = 0x2000;
/// Beside a thread: the access was volatile.
const VOLATILE: u16 = 0x4000;
/// Beside a thread: the access was atomic.
const ATOMIC: u16 = 0x8000;

/// An access to a word, or to a part of one. Small, because there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: u32,
    pub(crate) thread: u16,
    pub(crate) line: u16,
}

/// Before all.
pub(crate) const NEVER: Event = Event { time: 0, thread: THREAD, line: 0 };

/// Who has accessed a word: the last that wrote, and two that have read since. Where there
/// are more than two, these are of different warps; or the others are [kept
/// elsewhere](crate::machine::readers), if threads may meet that are not all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace {
    pub(crate) write: Event,
    pub(crate) reads: [Event; 2],
}

pub(crate) const UNTOUCHED: Trace = Trace { write: NEVER, reads: [NEVER; 2] };

/// An access that nothing orders with another of the same word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    /// The other thread.
    pub(crate) thread: u16,
    /// The [line](Touch::line) of its access.
    pub(crate) line: u16,
    /// Whether it has written.
    pub(crate) wrote: bool,
    /// Whether it was atomic or volatile.
    pub(crate) strong: bool,
    /// Whether it copies, and nobody has waited for that.
    pub(crate) in_flight: bool,
    /// Whether one of the two says that nobody writes the word in this launch.
    pub(crate) read_only: bool,
}

/// How a thread accesses a word: in eight bytes, which a register of the processor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) thread: u16,
    /// Which of the program's places.
    pub(crate) line: u16,
    pub(crate) writes: bool,
    pub(crate) strength: Strength,
    pub(crate) scope: Scope,
    pub(crate) kind: TouchKind,
}

/// What is special about an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TouchKind {
    Usual,
    /// An asynchronous copy, which goes on.
    InFlight,
    /// A read of what nobody writes in this launch, as it says: `ld.global.nc`.
    ReadOnly,
}

impl Event {
    /// Was the access neither volatile nor atomic?
    pub(crate) fn is_plain(&self) -> bool {
        self.thread & (VOLATILE | ATOMIC) == 0
    }

    /// Is its thread of the same warp as this one?
    pub(crate) fn is_of_warp(&self, thread: u16) -> bool {
        (self.thread ^ thread) & THREAD < WARP as u16
    }

    /// Does an access race with this one?
    #[inline(always)]
    pub(crate) fn races(&self, order: &Order, touch: Touch) -> bool {
        self.time >= order.barrier && self.is_unseen(order, touch)
    }

    /// Is it before an access for sure, if not all that is?
    #[inline(always)]
    pub(crate) fn is_before(&self, order: &Order, touch: Touch) -> bool {
        self.time == NEVER.time
            || self.time >= order.block
                && (self.time < order.barrier || self.thread & THREAD == touch.thread)
    }

    /// The same for an access to device memory, where this one may be of an earlier block.
    #[inline(always)]
    pub(crate) fn races_in_grid(&self, order: &Order, touch: Touch) -> bool {
        if self.time >= order.block {
            return self.races(order, touch);
        }
        let of_block = touch.scope == Scope::Block || self.thread & OF_BLOCK != 0;
        let other = self.thread & THREAD;
        self.time != NEVER.time
            && (of_block || !self.is_as_strong(touch))
            && !order.has_seen_of_block(touch.thread, other, self.time)
    }

    /// Need this read not be remembered once there is another, because what comes after that
    /// comes after this one?
    pub(crate) fn gives_way(&self, order: &Order, touch: Touch) -> bool {
        let weaker = self.is_plain() && touch.strength != Strength::Weak;
        self.time < order.barrier
            || !weaker && order.has_seen(touch.thread, self.thread & THREAD, self.time)
    }

    /// The same in device memory.
    pub(crate) fn gives_way_in_grid(&self, order: &Order, touch: Touch) -> bool {
        if self.time >= order.block {
            return self.gives_way(order, touch);
        }
        let weaker = self.is_plain() && touch.strength != Strength::Weak;
        let other = self.thread & THREAD;
        self.time == NEVER.time
            || !weaker && order.has_seen_of_block(touch.thread, other, self.time)
    }

    /// Has a thread seen this write of an earlier block without a fence since?
    pub(crate) fn is_unfenced(&self, order: &Order, touch: Touch) -> bool {
        self.time < order.block
            && self.time != NEVER.time
            && !self.is_as_strong(touch)
            && order.is_unfenced(touch.thread, self.thread & THREAD, self.time)
    }

    fn is_unseen(&self, order: &Order, touch: Touch) -> bool {
        let other = self.thread & THREAD;
        !(self.is_as_strong(touch) || order.has_seen(touch.thread, other, self.time))
    }

    /// Is this a volatile write, and the access another? Whichever comes last counts: they do not
    /// race, but lanes of one instruction hardly mean that.
    pub(crate) fn is_replaced(&self, order: &Order, touch: Touch) -> bool {
        let together =
            self.is_of_warp(touch.thread) && (self.time, self.line) == (order.now, touch.line);
        let are_volatile = touch.strength == Strength::Volatile && self.thread & VOLATILE != 0;
        touch.writes && are_volatile && !together
    }

    /// Are both strong, and one atomic?
    #[inline(always)]
    fn is_as_strong(&self, touch: Touch) -> bool {
        let strong = touch.strength != Strength::Weak && !self.is_plain();
        let atomic = touch.strength == Strength::Atomic || self.thread & (ATOMIC | FLAG) != 0;
        strong && atomic
    }

    pub(crate) fn race(&self, wrote: bool) -> Race {
        let Self { time, thread, line } = *self;
        let in_flight = time == IN_FLIGHT;
        let strong = !self.is_plain();
        Race { thread: thread & THREAD, line, wrote, strong, in_flight, read_only: false }
    }
}

impl Trace {
    /// If an access races with the last write, tells so.
    #[inline(always)]
    pub(crate) fn write_before(&self, order: &Order, touch: Touch) -> Option<Race> {
        let races = self.write.races(order, touch) && !self.write.is_replaced(order, touch);
        races.then(|| self.write.race(true))
    }

    /// If a write races with a read, tells so.
    #[inline(always)]
    pub(crate) fn read_before(&self, order: &Order, touch: Touch) -> Option<Race> {
        let races = |read: &&Event| read.races(order, touch);
        let read = if touch.writes { self.reads.iter().find(races) } else { None };
        read.map(|read| read.race(false))
    }

    /// Notes an access. If it is a read that there is no room for, and must not be forgotten,
    /// gives it back. `gives_way`: tells which reads need not be remembered any more.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        order: &Order,
        touch: Touch,
        gives_way: impl Fn(&Event) -> bool,
    ) -> Option<Event> {
        let Touch { thread, line, writes, strength, scope, kind } = touch;
        let is_flag = strength == Strength::Atomic
            || strength == Strength::Volatile && self.write.thread & FLAG != 0;
        let mut mark = match strength {
            Strength::Weak => 0,
            _ if is_flag => ATOMIC | FLAG,
            _ => VOLATILE,
        };
        if scope == Scope::Block && strength != Strength::Weak {
            mark |= OF_BLOCK;
        }
        let time = if kind == TouchKind::InFlight { IN_FLIGHT } else { order.now };
        let event = Event { time, thread: thread | mark, line };
        if !writes && !is_flag && order.partial {
            let Some(read) = self.reads.iter_mut().find(|read| gives_way(read)) else {
                return Some(event);
            };
            *read = event;
            return None;
        }
        if writes {
            self.write = event;
        } else if is_flag {
            self.write.thread |= FLAG;
        } else {
            self.note_read(order.barrier, event);
        }
        None
    }

    /// Notes a read, where all threads meet who meet.
    #[inline(always)]
    pub(crate) fn note_read(&mut self, barrier: u32, event: Event) {
        let thread = event.thread & THREAD;
        let [first, second] = &mut self.reads;
        if first.time < barrier || first.thread & THREAD == thread {
            *first = event;
        } else if second.time < barrier
            || second.thread & THREAD == thread
            || second.is_of_warp(first.thread) && !first.is_of_warp(thread)
        {
            *second = event;
        }
    }
}
