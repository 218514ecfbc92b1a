//! What has happened before what, for the threads of a block.
//!
//! There is one time for all of them, which goes on whenever something orders accesses. An
//! access is known by its thread and by the time. Mostly a barrier of the whole block or of
//! a whole warp orders it before what comes next, and one number tells that. What only some
//! threads have seen of some others is kept for each thread, from when a flag, a lock or a
//! barrier for some makes it so until the next barrier for all.

use std::collections::HashMap;
use std::rc::Rc;

use crate::WARP;
use crate::access::active;

/// The time of an asynchronous copy that nobody has waited for yet.
pub(crate) const IN_FLIGHT: u32 = u32::MAX;

/// For each thread: what it did before this time was seen.
type Times = Rc<[u32]>;

/// What a thread has seen.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Of itself.
    own: u32,
    /// Of all of its warp.
    warp: u32,
    /// Of all of the block.
    others: Option<Times>,
}

#[derive(Debug)]
pub(crate) struct Order {
    threads: usize,
    pub(crate) now: u32,
    /// What was before this time was before a barrier for all.
    pub(crate) barrier: u32,
    /// The same for the lanes of each warp.
    warps: Vec<u32>,
    /// Whether anything of the following is needed.
    busy: bool,
    /// What each thread has seen of others.
    seen: Vec<Option<Times>>,
    /// What each thread had seen at its last fence.
    fences: Vec<Option<Seen>>,
    /// For each flag and lock, what those see who read it.
    released: HashMap<u64, Times>,
    /// What each thread saw at such a place last.
    acquired: Vec<Option<Times>>,
    /// For each barrier what those saw who did not wait there.
    arrived: [Option<Times>; 16],
}

impl Order {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            threads,
            now: 1,
            barrier: 1,
            warps: vec![0; threads.div_ceil(WARP)],
            busy: false,
            seen: vec![None; threads],
            fences: vec![None; threads],
            released: HashMap::new(),
            acquired: vec![None; threads],
            arrived: [const { None }; 16],
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// What came before has happened for all that comes now.
    pub(crate) fn meet_all(&mut self) {
        self.now += 1;
        self.barrier = self.now;
        if self.busy {
            let (threads, warps) = (self.threads, std::mem::take(&mut self.warps));
            let Self { now, barrier, .. } = *self;
            *self = Self { now, barrier, warps, ..Self::new(threads) };
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
        let seen = |times: &Times| times[usize::from(other)] > time;
        time != IN_FLIGHT
            && (thread == other
                || same_warp && time < self.warps[warp]
                || self.seen[usize::from(thread)].as_ref().is_some_and(seen))
    }

    /// `bar.warp.sync` of these lanes, of all that the warp has.
    pub(crate) fn meet_lanes(&mut self, warp: usize, lanes: u32, all: u32) {
        if lanes == all {
            self.now += 1;
            self.warps[warp] = self.now;
        }
        if lanes != all || self.busy {
            let members = active(lanes).map(|lane| warp * WARP + lane);
            let (times, fenced) = self.join(members.clone(), None);
            self.tell(members, &times, fenced);
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
        let mut all = first.to_vec();
        known.filter(|times| !Rc::ptr_eq(times, &first)).for_each(|times| {
            later(&mut all, &times);
        });
        let all = Times::from(all);
        members().for_each(|member| self.seen[member] = Some(all.clone()));
    }

    /// A barrier of some of the block's threads.
    pub(crate) fn meet_some(
        &mut self,
        number: usize,
        members: impl Iterator<Item = usize> + Clone,
    ) {
        let arrived = self.arrived[number].take();
        let (times, _) = self.join(members.clone(), arrived);
        // It is a fence, too.
        self.tell(members, &times, Some(times.clone()));
    }

    /// Threads arrive at a barrier of some, and go on.
    pub(crate) fn arrive(
        &mut self,
        number: usize,
        members: impl Iterator<Item = usize>,
    ) {
        let arrived = self.arrived[number].take();
        self.arrived[number] = Some(self.join(members, arrived).0);
    }

    /// All that members have seen, and all that they had at their last fences.
    fn join(
        &mut self,
        members: impl Iterator<Item = usize>,
        arrived: Option<Times>,
    ) -> (Times, Option<Times>) {
        self.busy = true;
        let mut all = vec![0; self.threads];
        let mut fenced = None;
        if let Some(arrived) = arrived {
            later(&mut all, &arrived);
        }
        let mut last = None::<Times>;
        for member in members {
            let mut seen = self.seen_by(member);
            // Those who have met before have seen the same.
            match (&seen.others, &last) {
                (Some(a), Some(b)) if Rc::ptr_eq(a, b) => seen.others = None,
                (Some(a), _) => last = Some(a.clone()),
                (None, _) => {}
            }
            add(&mut all, member, &seen);
            if let Some(fence) = &self.fences[member] {
                let fenced = fenced.get_or_insert_with(|| vec![0; self.threads]);
                add(fenced, member, fence);
            }
        }
        self.now += 1;
        (all.into(), fenced.map(Rc::from))
    }

    fn tell(
        &mut self,
        members: impl Iterator<Item = usize>,
        times: &Times,
        fenced: Option<Times>,
    ) {
        for member in members {
            self.seen[member] = Some(times.clone());
            if let Some(fenced) = &fenced {
                let others = Some(fenced.clone());
                self.fences[member] = Some(Seen { others, ..Seen::default() });
            }
        }
    }

    fn seen_by(&self, thread: usize) -> Seen {
        let others = self.seen[thread].clone();
        Seen { own: self.now + 1, warp: self.warps[thread / WARP], others }
    }

    /// What lanes have seen until now, those see who see what they write next.
    pub(crate) fn fence(&mut self, warp: usize, lanes: u32) {
        for lane in active(lanes) {
            let thread = warp * WARP + lane;
            self.fences[thread] = Some(self.seen_by(thread));
        }
        self.now += 1;
        self.busy = true;
    }

    /// A thread writes to a flag or a lock. `adds`: what others wrote there before is seen
    /// by those who read it, too.
    pub(crate) fn release(&mut self, thread: usize, address: u64, adds: bool) {
        if !self.busy {
            return;
        }
        let before = self.released.remove(&address).filter(|_| adds);
        let times = match (&self.fences[thread], before) {
            (None, None) => return,
            (None, Some(before)) => before,
            (Some(fence), before) => {
                let mut times =
                    before.map_or(vec![0; self.threads], |times| times.to_vec());
                add(&mut times, thread, fence);
                times.into()
            }
        };
        self.released.insert(address, times);
    }

    /// A thread reads a flag or a lock.
    pub(crate) fn acquire(&mut self, thread: usize, address: u64) {
        let Some(times) = self.released.get(&address) else { return };
        let last = &mut self.acquired[thread];
        if last.as_ref().is_some_and(|last| Rc::ptr_eq(last, times)) {
            return;
        }
        *last = Some(times.clone());
        let seen = &mut self.seen[thread];
        *seen = Some(match seen {
            None => times.clone(),
            Some(seen) => {
                let mut all = seen.to_vec();
                later(&mut all, times);
                all.into()
            }
        });
    }
}

/// Adds what a thread has seen.
fn add(all: &mut [u32], thread: usize, seen: &Seen) {
    if let Some(others) = &seen.others {
        later(all, others);
    }
    let first = thread / WARP * WARP;
    let last = all.len().min(first + WARP);
    all[first..last].iter_mut().for_each(|time| *time = seen.warp.max(*time));
    all[thread] = all[thread].max(seen.own);
}

fn later(all: &mut [u32], times: &[u32]) {
    all.iter_mut().zip(times).for_each(|(a, b)| *a = (*a).max(*b));
}
