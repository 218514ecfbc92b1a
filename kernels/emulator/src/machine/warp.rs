//! A warp: 32 lanes that go their ways together as long as they can.
//!
//! Lanes at different places form groups. The group with the lowest place always runs,
//! and when it comes to where another is, the two become one. A compiler lays code out so
//! that for loops and conditions the lanes meet again as soon as they can. But a lane that
//! waits in a loop for another, which is further on, would wait forever; so a group that
//! goes back very often while others could run lets one of them run for a while.

use crate::WARP;
use crate::machine::copies::Copies;
use crate::machine::marks::Taint;
use crate::memory::Bits;
use crate::registers::Registers;

/// Jumps back of a group, while others could run, before one of those gets its turn.
const PATIENCE: u32 = 1024;
/// Accesses to a flag or a lock that change nothing, before others get their turn.
const POLLS: u32 = 32;

/// Lanes that are at the same place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) pc: usize,
    pub(crate) lanes: u32,
}

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A barrier of the block with this number, for so many threads or all.
    Barrier { number: u32, threads: Option<u32> },
    /// Other lanes, which have to come to the same instruction.
    Lanes,
    /// Other lanes, which have to come to any `bar.warp.sync`.
    WarpBarrier,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) group: Group,
    pub(crate) reason: Reason,
    /// Lanes that have accessed memory meanwhile.
    pub(crate) others: u32,
}

#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) index: usize,
    pub(crate) registers: Registers,
    /// Local memory, lane after lane.
    pub(crate) local: Vec<u8>,
    pub(crate) local_written: Bits,
    /// Registers whose values mean nothing, if there are any.
    pub(crate) taint: Option<Box<Taint>>,
    pub(crate) copies: Copies,
    /// Lanes that have not ended.
    pub(crate) live: u32,
    /// Lanes that there were in the beginning.
    pub(crate) all: u32,
    /// Where the running group is.
    pub(crate) pc: usize,
    /// The running group's lanes; none, if no group can run.
    pub(crate) lanes: u32,
    /// Where the running group meets another.
    pub(crate) limit: usize,
    /// The other groups that can run, the lowest last.
    others: Vec<Group>,
    pub(crate) waiting: Vec<Waiting>,
    /// Lanes for which the running group has waited, and which have accessed memory and ended
    /// meanwhile.
    pub(crate) absent: u32,
    /// Instructions that it has executed: its clock.
    pub(crate) executed: u64,
    /// What that was at its start.
    before: u64,
    jumps_back: u32,
    /// Accesses to flags and locks that have changed nothing since others had their turn.
    polls: u32,
    turn: usize,
    /// Whether the running group runs although it is not the lowest.
    pub(crate) favoured: bool,
}

impl Warp {
    pub(crate) fn new(registers: Registers, local_bytes: usize) -> Self {
        Self {
            index: 0,
            registers,
            local: vec![0; local_bytes * WARP],
            local_written: Bits::new((local_bytes * WARP) as u64),
            taint: None,
            copies: Copies::default(),
            live: 0,
            all: 0,
            pc: 0,
            lanes: 0,
            limit: usize::MAX,
            others: Vec::new(),
            waiting: Vec::new(),
            absent: 0,
            executed: 0,
            before: 0,
            jumps_back: 0,
            polls: 0,
            turn: 0,
            favoured: false,
        }
    }

    /// Instructions that it has executed since it started.
    pub(crate) fn since_start(&self) -> u64 {
        self.executed - self.before
    }

    /// Goes back to the start, with other lanes.
    pub(crate) fn restart(&mut self, index: usize, lanes: u32) {
        if self.local_written.any() {
            self.local.fill(0);
            self.local_written.clear_all();
        }
        self.taint = None;
        (self.index, self.live, self.all) = (index, lanes, lanes);
        (self.pc, self.lanes, self.limit) = (0, lanes, usize::MAX);
        self.before = self.executed;
        self.others.clear();
        self.waiting.clear();
        self.absent = 0;
        self.copies.clear();
        (self.jumps_back, self.polls) = (0, 0);
        (self.turn, self.favoured) = (0, false);
    }

    pub(crate) fn can_run(&self) -> bool {
        self.lanes != 0
    }

    /// All groups that can run.
    pub(crate) fn runnable(&self) -> impl Iterator<Item = Group> {
        let running = Group { pc: self.pc, lanes: self.lanes };
        let all = self.others.iter().copied().chain([running]);
        all.filter(|group| group.lanes != 0)
    }

    /// Is every lane that has not ended in the running group?
    pub(crate) fn is_whole(&self) -> bool {
        self.lanes == self.live
    }

    /// Makes lanes a group that can run. Call [`choose`](Self::choose) afterwards.
    pub(crate) fn add(&mut self, pc: usize, lanes: u32) {
        if lanes == 0 {
            return;
        }
        let at = self.others.partition_point(|other| other.pc > pc);
        match self.others.get_mut(at) {
            Some(other) if other.pc == pc => other.lanes |= lanes,
            _ => self.others.insert(at, Group { pc, lanes }),
        }
    }

    /// Lets the lowest group run.
    pub(crate) fn choose(&mut self) {
        self.add(self.pc, self.lanes);
        self.favoured = false;
        match self.others.pop() {
            Some(lowest) => (self.pc, self.lanes) = (lowest.pc, lowest.lanes),
            None => self.lanes = 0,
        }
        self.limit = self.others.last().map_or(usize::MAX, |next| next.pc);
    }

    /// Some lanes of the running group go to `target`, the others to what follows.
    pub(crate) fn diverge(&mut self, target: usize, taken: u32) {
        let (pc, stay) = (self.pc, self.lanes & !taken);
        self.lanes = 0;
        self.add(target, taken);
        self.add(pc + 1, stay);
        self.choose();
    }

    /// The running group goes to `target`. True, if another group has got its turn.
    pub(crate) fn jump(&mut self, target: usize) -> bool {
        let back = target <= self.pc;
        self.pc = target;
        if !back || self.others.is_empty() || self.favoured {
            return false;
        }
        self.jumps_back += 1;
        if self.jumps_back < PATIENCE {
            return false;
        }
        self.favour_next();
        true
    }

    /// The running group has looked at a flag or a lock, and changed nothing. True, if it has
    /// done so often: other groups get their turn, and should other warps.
    pub(crate) fn poll(&mut self) -> bool {
        self.polls += 1;
        if self.polls < POLLS {
            return false;
        }
        self.polls = 0;
        if self.favoured {
            self.choose();
        } else if !self.others.is_empty() {
            self.favour_next();
        }
        true
    }

    /// Lets another group run for a while that is not the lowest.
    fn favour_next(&mut self) {
        self.jumps_back = 0;
        let next = self.others.remove(self.turn % self.others.len());
        self.turn = self.turn.wrapping_add(1);
        self.add(self.pc, self.lanes);
        (self.pc, self.lanes) = (next.pc, next.lanes);
        (self.limit, self.favoured) = (usize::MAX, true);
    }

    /// The lanes of the running group that are not in `stay` go on to what follows.
    pub(crate) fn narrow(&mut self, stay: u32) {
        let (pc, rest) = (self.pc, self.lanes & !stay);
        self.lanes = stay;
        self.add(pc + 1, rest);
        self.limit = self.others.last().map_or(usize::MAX, |next| next.pc);
    }

    /// Lanes of the running group access memory, while others may wait.
    #[inline(always)]
    pub(crate) fn work(&mut self, lanes: u32) {
        self.waiting.iter_mut().for_each(|waiting| waiting.others |= lanes);
    }

    /// The running group waits, and another runs.
    pub(crate) fn wait(&mut self, reason: Reason) {
        let group = Group { pc: self.pc, lanes: self.lanes };
        let here = |w: &&mut Waiting| w.group.pc == group.pc && w.reason == reason;
        match self.waiting.iter_mut().find(here) {
            Some(waiting) => waiting.group.lanes |= group.lanes,
            None => self.waiting.push(Waiting { group, reason, others: 0 }),
        }
        self.lanes = 0;
        self.choose();
    }

    /// Lanes of the running group end.
    pub(crate) fn end(&mut self, lanes: u32) {
        self.live &= !lanes;
        self.lanes &= !lanes;
        self.pc += 1;
        if self.lanes == 0 {
            self.choose();
        }
    }

    /// Those who wait at a barrier with this number.
    pub(crate) fn at_barrier(&self, number: u32) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().filter(move |waiting| {
            matches!(waiting.reason, Reason::Barrier { number: n, .. } if n == number)
        })
    }

    /// Takes those out who wait for a reason that is wanted, one after the other.
    pub(crate) fn take_waiting(
        &mut self,
        wanted: impl Fn(&Waiting) -> bool,
        mut each: impl FnMut(&mut Self, Waiting),
    ) {
        let mut all = std::mem::take(&mut self.waiting);
        all.retain(|waiting| {
            let taken = wanted(waiting);
            if taken {
                each(self, *waiting);
            }
            !taken
        });
        all.append(&mut self.waiting);
        self.waiting = all;
    }
}
