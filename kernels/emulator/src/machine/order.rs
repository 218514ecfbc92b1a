//! The happens-before relation of accesses, for the threads of a block.
//!
//! Time is one number for all threads, which goes on whenever something orders accesses. An
//! access is known by its thread and by the time. Mostly a barrier of the whole block or of
//! a whole warp orders it before what comes next, and one number tells that. What only some
//! threads have seen of some others is a [vector clock](VectorClock) of each thread, from when
//! a flag, a lock or a barrier for some makes it so until the next barrier for all.
//!
//! Time goes on from block to block. What earlier blocks did happens before what a thread does
//! only if they set a flag, a lock or a counter after a fence for the whole GPU: see [`Flags`].

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::WARP;
use crate::access::active;
use crate::machine::flags::{Flags, Glance};
use crate::program::Scope;

/// The time of an asynchronous copy that nobody has waited for yet.
pub(crate) const IN_FLIGHT: u32 = u32::MAX;

/// A vector clock: which accesses of others happen before all that comes now.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock {
    /// Those of each thread of the block that were before this time.
    pub(crate) times: Vec<u32>,
    /// Those of earlier blocks, by the lists that were seen.
    pub(crate) blocks: Vec<Glance>,
}

/// A vector clock that several threads have.
type SharedClock = Rc<VectorClock>;

/// A vector clock in short: mostly three times tell all.
#[derive(Clone, Debug, Default)]
struct ShortClock {
    /// The time of the thread itself.
    own: u32,
    /// The time of all of its warp.
    warp: u32,
    /// The time of all of the block: their last barrier.
    barrier: u32,
    /// SharedClock of threads that were seen in another way.
    others: Option<SharedClock>,
}

/// The happens-before relation of a block that runs.
#[derive(Debug)]
pub(crate) struct Order {
    threads: usize,
    /// Whether threads may meet, or tell each other something, that are not all of the block.
    pub(crate) partial: bool,
    pub(crate) now: u32,
    /// The time of the last barrier for all: what was before it happens before all else.
    pub(crate) barrier: u32,
    /// The time when the block began.
    pub(crate) block: u32,
    /// The time of each warp's last barrier for all of its lanes.
    warps: Vec<u32>,
    /// Whether anything of the following is needed.
    busy: bool,
    /// The clock of each thread, if it has seen others but at barriers for all.
    seen: Vec<Option<SharedClock>>,
    /// The clock that each thread had at its last fence, and at its last for the whole GPU.
    fences: [Vec<Option<ShortClock>>; 2],
    /// The clock of each flag and lock, which those get who read it.
    released: BTreeMap<u64, SharedClock>,
    /// The clock that each thread got from a flag or a lock last.
    acquired: Vec<Option<SharedClock>>,
    /// The clock of each barrier: of those who arrived there and did not wait.
    arrived: [Option<SharedClock>; 16],
    /// Flags that blocks have set for each other.
    flags: Flags,
}

impl Order {
    pub(crate) fn new(threads: usize, partial: bool) -> Self {
        Self {
            threads,
            partial,
            now: 1,
            barrier: 1,
            block: 1,
            warps: vec![0; threads.div_ceil(WARP)],
            busy: false,
            seen: vec![None; threads],
            fences: [(); 2].map(|()| vec![None; threads]),
            released: BTreeMap::new(),
            acquired: vec![None; threads],
            arrived: [const { None }; 16],
            flags: Flags::default(),
        }
    }

    /// Another block begins.
    pub(crate) fn begin_block(&mut self) {
        self.now += 1;
        (self.barrier, self.block) = (self.now, self.now);
        self.reset();
    }

    /// Forgets what threads of the block have seen of each other.
    fn reset(&mut self) {
        if self.busy {
            let Self { now, barrier, block, threads, partial, .. } = *self;
            let (warps, flags) = (std::mem::take(&mut self.warps), std::mem::take(&mut self.flags));
            *self = Self { now, barrier, block, warps, flags, ..Self::new(threads, partial) };
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// What came before has happened for all that comes now.
    pub(crate) fn meet_all(&mut self) {
        self.now += 1;
        self.barrier = self.now;
        if !self.busy {
            return;
        }
        // What one thread knows of other blocks, all do now; and who tells other blocks
        // something tells what all had seen at their fences.
        let mut known = VectorClock { times: vec![0; self.threads], blocks: Vec::new() };
        let last = distinct(self.seen.iter().flatten());
        last.for_each(|seen| merge(&mut known.blocks, &seen.blocks));
        let mut fenced = None;
        for (member, fence) in self.fences[Scope::Grid as usize].iter().enumerate() {
            if let Some(fence) = fence {
                let all = fenced.get_or_insert_with(|| known.clone());
                add(all, member, fence);
            }
        }
        self.reset();
        self.busy = fenced.is_some() || !known.blocks.is_empty();
        if !known.blocks.is_empty() {
            self.seen.fill(Some(known.into()));
        }
        if let Some(fenced) = fenced {
            let others = Some(fenced.into());
            let fence = Some(ShortClock { others, ..ShortClock::default() });
            self.fences[Scope::Grid as usize].fill(fence);
        }
    }

    /// Is it late enough to begin anew?
    pub(crate) fn is_late(&self) -> bool {
        self.now > u32::MAX / 2
    }

    /// Has a thread seen what another one did at this time?
    #[inline]
    pub(crate) fn has_seen(&self, thread: u16, other: u16, time: u32) -> bool {
        if time < self.barrier {
            return true;
        }
        let warp = usize::from(thread) / WARP;
        let same_warp = warp == usize::from(other) / WARP;
        let seen = |known: &SharedClock| known.times[usize::from(other)] > time;
        time != IN_FLIGHT
            && (thread == other
                || same_warp && time < self.warps[warp]
                || self.seen[usize::from(thread)].as_ref().is_some_and(seen))
    }

    /// Has a thread seen what one of an earlier block did at this time?
    pub(crate) fn has_seen_of_block(&self, thread: u16, other: u16, time: u32) -> bool {
        let known = self.seen[usize::from(thread)].as_ref();
        known.is_some_and(|known| self.flags.have_told(&known.blocks, other, time))
    }

    /// Has it, but without a fence since it was told?
    pub(crate) fn is_unfenced(&self, thread: u16, other: u16, time: u32) -> bool {
        let Some(known) = &self.seen[usize::from(thread)] else { return false };
        if known.blocks.iter().all(Glance::is_fenced) {
            return false;
        }
        let fenced = known.blocks.iter().map(|glance| Glance { length: glance.fenced, ..*glance });
        let fenced = fenced.collect::<Vec<_>>();
        self.flags.have_told(&known.blocks, other, time)
            && !self.flags.have_told(&fenced, other, time)
    }

    /// `bar.warp.sync` of these lanes, of all that the warp has.
    pub(crate) fn meet_lanes(&mut self, warp: usize, lanes: u32, all: u32) {
        if lanes == all {
            self.now += 1;
            self.warps[warp] = self.now;
        }
        if lanes != all || self.busy {
            let members = active(lanes).map(|lane| warp * WARP + lane);
            let (known, fenced) = self.join(members.clone(), None);
            self.tell(members, &known, fenced);
        }
    }

    /// Lanes tell each other something. What one of them has seen of other warps, all know
    /// now.
    pub(crate) fn tell_lanes(&mut self, warp: usize, lanes: u32) {
        if !self.busy {
            return;
        }
        let members = || active(lanes).map(|lane| warp * WARP + lane);
        let mut known = members().filter_map(|member| self.seen[member].clone());
        let Some(first) = known.next() else { return };
        let mut all = (*first).clone();
        known.filter(|known| !Rc::ptr_eq(known, &first)).for_each(|known| {
            later(&mut all, &known);
        });
        let all = SharedClock::from(all);
        members().for_each(|member| self.seen[member] = Some(all.clone()));
    }

    /// A barrier of some of the block's threads.
    pub(crate) fn meet_some(
        &mut self,
        number: usize,
        members: impl Iterator<Item = usize> + Clone,
    ) {
        let arrived = self.arrived[number].take();
        let (known, [_, fenced]) = self.join(members.clone(), arrived);
        // It is a fence, too, for the block.
        self.tell(members, &known, [Some(known.clone()), fenced]);
    }

    /// Threads arrive at a barrier of some, and go on.
    pub(crate) fn arrive(&mut self, number: usize, members: impl Iterator<Item = usize>) {
        let arrived = self.arrived[number].take();
        self.arrived[number] = Some(self.join(members, arrived).0);
    }

    /// All that members have seen, and all that they had at their last fences.
    fn join(
        &mut self,
        members: impl Iterator<Item = usize>,
        arrived: Option<SharedClock>,
    ) -> (SharedClock, [Option<SharedClock>; 2]) {
        self.busy = true;
        let none = VectorClock { times: vec![0; self.threads], blocks: Vec::new() };
        let mut all = none.clone();
        let mut fenced = [None, None];
        if let Some(arrived) = arrived {
            later(&mut all, &arrived);
        }
        let mut last = None::<SharedClock>;
        for member in members {
            let mut seen = self.seen_by(member);
            // Those who have met before have seen the same.
            match (&seen.others, &last) {
                (Some(a), Some(b)) if Rc::ptr_eq(a, b) => seen.others = None,
                (Some(a), _) => last = Some(a.clone()),
                (None, _) => {}
            }
            add(&mut all, member, &seen);
            for (fenced, fences) in fenced.iter_mut().zip(&self.fences) {
                if let Some(fence) = &fences[member] {
                    add(fenced.get_or_insert_with(|| none.clone()), member, fence);
                }
            }
        }
        self.now += 1;
        (all.into(), fenced.map(|fenced| fenced.map(Rc::new)))
    }

    fn tell(
        &mut self,
        members: impl Iterator<Item = usize>,
        known: &SharedClock,
        fenced: [Option<SharedClock>; 2],
    ) {
        for member in members {
            self.seen[member] = Some(known.clone());
            for (fences, fenced) in self.fences.iter_mut().zip(&fenced) {
                if fenced.is_some() {
                    let others = fenced.clone();
                    fences[member] = Some(ShortClock { others, ..ShortClock::default() });
                }
            }
        }
    }

    fn seen_by(&self, thread: usize) -> ShortClock {
        let others = self.seen[thread].clone();
        let (own, warp) = (self.now + 1, self.warps[thread / WARP]);
        ShortClock { own, warp, barrier: self.barrier, others }
    }

    /// What lanes have seen until now, those see who see what they write next.
    pub(crate) fn fence(&mut self, warp: usize, lanes: u32, scope: Scope) {
        let mut last = None::<[SharedClock; 2]>;
        for lane in active(lanes) {
            let thread = warp * WARP + lane;
            // What it was told by other blocks is before what it does now.
            if scope == Scope::Grid
                && let Some(seen) = &mut self.seen[thread]
                && !seen.blocks.iter().all(Glance::is_fenced)
            {
                match &last {
                    Some([before, fenced]) if Rc::ptr_eq(before, seen) => *seen = fenced.clone(),
                    _ => {
                        let mut known = VectorClock::clone(seen);
                        known.blocks.iter_mut().for_each(|glance| glance.fenced = glance.length);
                        let before = std::mem::replace(seen, known.into());
                        last = Some([before, seen.clone()]);
                    }
                }
            }
            let seen = self.seen_by(thread);
            let [of_block, of_grid] = &mut self.fences;
            if scope == Scope::Grid {
                of_grid[thread] = Some(seen.clone());
            }
            of_block[thread] = Some(seen);
        }
        self.now += 1;
        self.busy = true;
    }

    /// Has nothing been told that a thread could see at a flag or a lock, or tell there?
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        !self.busy && self.flags.is_empty()
    }

    /// A thread writes to a flag or a lock. `adds`: what others wrote there before is seen
    /// by those who read it, too. `scope`: for whom that counts.
    pub(crate) fn release(&mut self, thread: usize, address: u64, adds: bool, scope: Scope) {
        if !adds {
            self.flags.clear(address);
        }
        if !self.busy {
            return;
        }
        let [of_block, of_grid] = &self.fences;
        let none = || VectorClock { times: vec![0; self.threads], blocks: Vec::new() };
        if let (Some(fence), Scope::Grid) = (&of_grid[thread], scope) {
            let mut known = none();
            add(&mut known, thread, fence);
            self.flags.tell(address, self.block, known);
        }
        let before = self.released.remove(&address).filter(|_| adds);
        let known = match (&of_block[thread], before) {
            (None, None) => return,
            (None, Some(before)) => before,
            (Some(fence), before) => {
                let mut known = before.map_or_else(none, Rc::unwrap_or_clone);
                add(&mut known, thread, fence);
                known.into()
            }
        };
        self.released.insert(address, known);
    }

    /// A thread reads a flag or a lock. `fenced`: in a way that needs no fence behind it.
    pub(crate) fn acquire(&mut self, thread: usize, address: u64, fenced: bool) {
        if let Some(glance) = self.flags.glance(address) {
            let fenced = if fenced { glance.length } else { 0 };
            self.look(thread, Glance { fenced, ..glance });
        }
        let Some(known) = self.released.get(&address) else { return };
        let last = &mut self.acquired[thread];
        if last.as_ref().is_some_and(|last| Rc::ptr_eq(last, known)) {
            return;
        }
        *last = Some(known.clone());
        let seen = &mut self.seen[thread];
        *seen = Some(match seen {
            None => known.clone(),
            Some(seen) => {
                let mut all = (**seen).clone();
                later(&mut all, known);
                all.into()
            }
        });
    }

    /// A thread reads what earlier blocks have told.
    fn look(&mut self, thread: usize, glance: Glance) {
        let seen = &mut self.seen[thread];
        let is_known = |known: &Glance| {
            known.list == glance.list
                && known.length >= glance.length
                && known.fenced >= glance.fenced
        };
        if seen.as_ref().is_some_and(|seen| seen.blocks.iter().any(is_known)) {
            return;
        }
        let none = || VectorClock { times: vec![0; self.threads], blocks: Vec::new() };
        let mut known = seen.take().map_or_else(none, Rc::unwrap_or_clone);
        merge(&mut known.blocks, &[glance]);
        *seen = Some(known.into());
        self.busy = true;
    }
}

/// Adds what a thread has seen.
fn add(all: &mut VectorClock, thread: usize, seen: &ShortClock) {
    if let Some(others) = &seen.others {
        later(all, others);
    }
    let times = &mut all.times;
    times.iter_mut().for_each(|time| *time = seen.barrier.max(*time));
    let first = thread / WARP * WARP;
    let last = times.len().min(first + WARP);
    times[first..last].iter_mut().for_each(|time| *time = seen.warp.max(*time));
    times[thread] = times[thread].max(seen.own);
}

pub(crate) fn later(all: &mut VectorClock, other: &VectorClock) {
    let times = all.times.iter_mut().zip(&other.times);
    times.for_each(|(a, b)| *a = (*a).max(*b));
    merge(&mut all.blocks, &other.blocks);
}

pub(crate) fn merge(all: &mut Vec<Glance>, others: &[Glance]) {
    for other in others {
        match all.iter_mut().find(|glance| glance.list == other.list) {
            Some(glance) => {
                glance.length = glance.length.max(other.length);
                glance.fenced = glance.fenced.max(other.fenced);
            }
            None => all.push(*other),
        }
    }
}

/// Those of them that are not the same as the one before.
fn distinct<'a>(
    all: impl Iterator<Item = &'a SharedClock>,
) -> impl Iterator<Item = &'a SharedClock> {
    let mut last = None::<&SharedClock>;
    all.filter(move |known| {
        let is_same = last.is_some_and(|last| Rc::ptr_eq(last, known));
        last = Some(known);
        !is_same
    })
}
