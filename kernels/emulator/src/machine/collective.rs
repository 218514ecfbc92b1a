//! Instructions that lanes of a warp execute together: shuffles, votes, matches.

use crate::WARP;
use crate::access::active;
use crate::fault::{Fault, FaultKind};
use crate::machine::atomic::combine;
use crate::machine::warp::{Group, Reason, Waiting, Warp};
use crate::machine::{Machine, Result, list};
use crate::program::{Match, Op, Reduce, Shuffle, ShuffleKind, Vote, VoteKind};
use crate::registers::{Class, Slot};

impl Machine<'_> {
    /// Lets those lanes go on whose members are all at this instruction: they are the
    /// running group then. The others wait. False, if all have to.
    pub(super) fn meet(&mut self, warp: &mut Warp, members: Slot) -> Result<bool> {
        // Mostly all lanes have come, and each names all.
        if warp.lanes == u32::MAX
            && members.class == Class::Narrow
            && warp.registers.narrow[usize::from(members.index)] == [u32::MAX; WARP]
        {
            self.check_absent(warp)?;
            return Ok(true);
        }
        self.check_membership(warp, members)?;
        if warp.is_whole() {
            self.check_absent(warp)?;
            self.check_masks(warp, members)?;
            return Ok(true);
        }
        let (pc, came) = (warp.pc, warp.lanes);
        self.check_absent(warp)?;
        let is_here = |waiting: &Waiting| waiting.group.pc == pc && waiting.reason == Reason::Lanes;
        warp.take_waiting(is_here, |warp, waiting| warp.lanes |= waiting.group.lanes);
        let ready = ready(warp, members, warp.lanes);
        let [warps, threads] = &mut self.runs[pc];
        if ready == 0 {
            // Nobody has executed the instruction yet.
            *warps -= 1;
            *threads -= u64::from(came.count_ones());
            warp.wait(Reason::Lanes);
            return Ok(false);
        }
        *threads += u64::from((ready & !came).count_ones());
        *threads -= u64::from((came & !ready).count_ones());
        let group = Group { pc, lanes: warp.lanes & !ready };
        if group.lanes != 0 {
            warp.waiting.push(Waiting { group, reason: Reason::Lanes, others: 0 });
        }
        warp.lanes = ready;
        self.check_masks(warp, members)?;
        Ok(true)
    }

    /// Lanes that are named must come, unless they have ended. Those that went elsewhere, did
    /// something there and ended should have come.
    fn check_absent(&self, warp: &mut Warp) -> Result<()> {
        let absent = std::mem::take(&mut warp.absent);
        let group = Group { pc: warp.pc, lanes: warp.lanes };
        self.absence(warp, group, absent).map_or(Ok(()), Err)
    }

    /// Lanes wait where no other can run any more, for lanes that wait elsewhere.
    pub(super) fn parted(&self, warp: &Warp) -> Option<Box<Fault>> {
        let group = warp.waiting.iter().find(|waiting| waiting.reason == Reason::Lanes)?.group;
        let members = self.program.code[group.pc].operation.members()?;
        let mask = |lane| warp.registers.get(members, lane) as u32;
        let named = active(group.lanes).fold(0, |named, lane| named | mask(lane));
        self.absence(warp, group, named & warp.live & !group.lanes)
    }

    /// A group names lanes that are not there.
    fn absence(&self, warp: &Warp, Group { pc, lanes }: Group, absent: u32) -> Option<Box<Fault>> {
        if absent == 0 || !self.options.checks.shuffles {
            return None;
        }
        let is_one = |lanes: u32| lanes.count_ones() == 1;
        let what = format!(
            "{} {} {} in {} mask, which {} here: all lanes of a mask must come to the same \
             instruction; leave them out of the mask, or take this out of the branch",
            list(lanes),
            if is_one(lanes) { "names" } else { "name" },
            list(absent),
            if is_one(lanes) { "its" } else { "their" },
            if is_one(absent) { "does not come" } else { "do not come" }
        );
        let lane = lanes.trailing_zeros() as usize;
        let fault = self.fault(warp, FaultKind::InactiveLane, lane, what);
        Some(Box::new(Fault { place: Some(self.place(pc)), ..*fault }))
    }

    /// Lanes that name each other must all give the same mask.
    fn check_masks(&self, warp: &Warp, members: Slot) -> Result<()> {
        let mask = |lane: usize| warp.registers.get(members, lane) as u32;
        let mut lanes = active(warp.lanes);
        let first = lanes.next().map_or(0, mask);
        if !self.options.checks.shuffles || lanes.clone().all(|lane| mask(lane) == first) {
            return Ok(());
        }
        for lane in active(warp.lanes) {
            let named = mask(lane);
            let mut others = active(named & warp.lanes);
            if let Some(other) = others.find(|other| mask(*other) != named) {
                let what = format!(
                    "lane {lane} names lane {other}, which names another mask: {named:#010x} \
                     and {:#010x}; all lanes of a mask must give the same",
                    mask(other)
                );
                return Err(self.fault(warp, FaultKind::InactiveLane, lane, what));
            }
        }
        Ok(())
    }

    /// Lets lanes go on that wait for lanes that have ended since. False, if there are
    /// none.
    pub(super) fn wake(&mut self, warp: &mut Warp) -> bool {
        let barrier = |waiting: &&Waiting| waiting.reason == Reason::WarpBarrier;
        let at_barrier = warp.waiting.iter().filter(barrier);
        let at_barrier = at_barrier.fold(0, |lanes, w| lanes | w.group.lanes);
        if warp.waiting.is_empty() {
            return false;
        }
        let program = self.program;
        let mut met = Vec::new();
        let is_for_lanes =
            |waiting: &Waiting| matches!(waiting.reason, Reason::Lanes | Reason::WarpBarrier);
        warp.take_waiting(is_for_lanes, |warp, waiting| {
            let Group { pc, lanes } = waiting.group;
            let operation = &program.code[pc].operation;
            let (members, here, next) = match (operation, operation.members()) {
                (Op::WarpBarrier(members), _) => (*members, at_barrier, pc + 1),
                (_, Some(members)) => (members, lanes, pc),
                _ => return,
            };
            let ready = ready(warp, members, here) & lanes;
            if next > pc {
                // Groups with masks of their own may meet at one instruction.
                let masks =
                    active(ready).map(|lane| warp.registers.get(members, lane) as u32 & warp.all);
                masks.for_each(|mask| {
                    if !met.contains(&mask) {
                        met.push(mask);
                    }
                });
            }
            if next == pc {
                let named = active(ready)
                    .fold(0, |named, lane| named | warp.registers.get(members, lane) as u32);
                warp.absent = named & warp.all & !warp.live & waiting.others;
            }
            warp.add(next, ready);
            if lanes != ready {
                let group = Group { pc, lanes: lanes & !ready };
                warp.waiting.push(Waiting { group, ..waiting });
            }
        });
        if self.shared.is_traced() {
            for mask in met {
                self.shared.order.meet_lanes(warp.index, mask, warp.all);
            }
        }
        warp.choose();
        warp.can_run()
    }

    /// Every lane must be a member of its own group.
    pub(super) fn check_membership(&self, warp: &Warp, members: Slot) -> Result<()> {
        for lane in active(warp.lanes) {
            let members = warp.registers.get(members, lane) as u32;
            if members >> lane & 1 == 0 {
                let what =
                    format!("lane {lane} takes part, but the mask {members:#010x} leaves it out");
                return Err(self.fault(warp, FaultKind::InactiveLane, lane, what));
            }
        }
        Ok(())
    }

    pub(super) fn shuffle(&mut self, warp: &mut Warp, shuffle: &Shuffle) -> Result<()> {
        let mut values = [0; WARP];
        let mut sources = [0; WARP];
        let (mut found, mut strays, mut all_there) = (0, 0, 0);
        let lane = warp.lanes.trailing_zeros() as usize;
        let beside = !(warp.registers.get(shuffle.clamp, lane) as u32 >> 8) & 31;
        if !(beside + 1).is_power_of_two() && self.options.checks.shuffles {
            let what = format!(
                "a shuffle among {} lanes: the width has to be a power of two from 1 to {WARP}",
                beside + 1
            );
            return Err(self.fault(warp, FaultKind::InactiveLane, lane, what));
        }
        for lane in active(warp.lanes) {
            let distance = warp.registers.get(shuffle.lane, lane) as usize & 31;
            let clamp = warp.registers.get(shuffle.clamp, lane) as usize;
            let (segment, clamp) = (clamp >> 8 & 31, clamp & 31);
            let last = lane & segment | clamp & !segment;
            let first = lane & segment;
            let (source, in_range) = match shuffle.kind {
                ShuffleKind::Up => {
                    let source = lane as isize - distance as isize;
                    (source, source >= last as isize)
                }
                ShuffleKind::Down => ((lane + distance) as isize, lane + distance <= last),
                ShuffleKind::Butterfly => ((lane ^ distance) as isize, lane ^ distance <= last),
                ShuffleKind::Index => {
                    let source = first | distance & !segment;
                    (source as isize, source <= last)
                }
            };
            let source = if in_range { source as usize & 31 } else { lane };
            let members = warp.registers.get(shuffle.members, lane) as u32;
            let there = warp.lanes & members;
            sources[lane] = source;
            // Of a lane that takes no part there is no telling what is in its registers.
            let is_there = there >> source & 1 == 1;
            if !is_there && self.options.checks.shuffles {
                (strays, all_there) = (strays | 1 << lane, there);
            }
            let source = if is_there { source } else { lane };
            values[lane] = warp.registers.get(shuffle.value, source);
            found |= u32::from(in_range) << lane;
        }
        if let Some(result) = shuffle.result {
            let strays = [strays, all_there];
            self.mark_shuffled(warp, shuffle.value, result, &sources, strays);
        }
        for lane in active(warp.lanes) {
            if let Some(result) = shuffle.result {
                warp.registers.set(result, lane, values[lane]);
            }
            if let Some(in_range) = shuffle.in_range {
                warp.registers.set(in_range, lane, u64::from(found >> lane & 1));
            }
        }
        Ok(())
    }

    pub(super) fn vote(&mut self, warp: &mut Warp, vote: &Vote) {
        let values = warp.registers.predicates[usize::from(vote.value.index)];
        for lane in active(warp.lanes) {
            let members = warp.registers.get(vote.members, lane) as u32 & warp.lanes;
            let yes = values & members;
            let answer = match vote.kind {
                VoteKind::All => u32::from(yes == members),
                VoteKind::Any => u32::from(yes != 0),
                VoteKind::Uniform => u32::from(yes == members || yes == 0),
                VoteKind::Ballot => yes,
            };
            warp.registers.set(vote.result, lane, answer.into());
        }
    }

    pub(super) fn matching(&mut self, warp: &mut Warp, matching: &Match) {
        for lane in active(warp.lanes) {
            let members = warp.registers.get(matching.members, lane) as u32;
            let members = members & warp.lanes;
            let own = warp.registers.get(matching.value, lane);
            let mut equal = 0;
            for other in active(members) {
                let same = warp.registers.get(matching.value, other) == own;
                equal |= u32::from(same) << other;
            }
            let agreed = equal == members;
            let result = if matching.all && !agreed { 0 } else { equal };
            warp.registers.set(matching.result, lane, result.into());
            if let Some(slot) = matching.agreed {
                warp.registers.set(slot, lane, agreed.into());
            }
        }
    }

    pub(super) fn reduce(&mut self, warp: &mut Warp, reduce: &Reduce) {
        let mut results = [0; WARP];
        for lane in active(warp.lanes) {
            let members = warp.registers.get(reduce.members, lane) as u32 & warp.lanes;
            let mut values = active(members).map(|member| warp.registers.get(reduce.value, member));
            let first = values.next().unwrap_or(0);
            results[lane] = values
                .fold(first, |result, value| combine(reduce.kind, reduce.number, 4, result, value));
        }
        for lane in active(warp.lanes) {
            warp.registers.set(reduce.result, lane, results[lane]);
        }
    }
}

/// Those of the lanes that are `here` whose members are all here.
fn ready(warp: &Warp, members: Slot, here: u32) -> u32 {
    let mut ready = 0;
    for lane in active(here) {
        let wanted = warp.registers.get(members, lane) as u32 & warp.live;
        ready |= u32::from(wanted & !here == 0) << lane;
    }
    ready
}
