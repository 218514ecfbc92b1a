//! Barriers of a block and of a warp.

use crate::WARP;
use crate::access::active;
use crate::counts::NoteKind;
use crate::fault::{Fault, FaultKind, Place};
use crate::machine::warp::{Group, Reason, Warp};
use crate::machine::{Machine, Result, list};
use crate::program::{Barrier, Consensus, Op};
use crate::registers::Slot;

impl Machine<'_> {
    pub(super) fn barrier(&mut self, warp: &mut Warp, barrier: &Barrier) -> Result<()> {
        self.tallies[warp.pc].barriers += 1;
        let lane = warp.lanes.trailing_zeros() as usize;
        let number = warp.registers.get(barrier.number, lane) as u32;
        if number >= 16 {
            let what = format!("there are barriers 0 to 15, but not {number}");
            return Err(self.fault(warp, FaultKind::Barrier, lane, what));
        }
        let threads = barrier.threads;
        let threads = threads.map(|slot| warp.registers.get(slot, lane) as u32);
        if let Some(count) = threads
            && (count == 0 || !count.is_multiple_of(WARP as u32))
        {
            let what = format!(
                "a barrier for {count} threads: the number has to be a multiple of {WARP}, for \
                 barriers count whole warps"
            );
            return Err(self.fault(warp, FaultKind::Barrier, lane, what));
        }
        if barrier.only_arrive {
            self.arrivals[number as usize] += arrived(warp, warp.lanes);
            let lanes = active(warp.lanes).map(|lane| warp.index * WARP + lane);
            if self.shared.is_traced() {
                self.shared.order.arrive(number as usize, lanes);
            }
            warp.pc += 1;
        } else {
            warp.wait(Reason::Barrier { number, threads });
        }
        Ok(())
    }

    /// Opens the barriers that all have reached who have to. Tells whether there was one.
    pub(super) fn open_complete(&mut self, warps: &mut [Warp]) -> Result<bool> {
        let mut opened = false;
        let waiting = warps.iter().flat_map(|warp| &warp.waiting);
        let numbers = waiting.fold(0u32, |numbers, waiting| match waiting.reason {
            Reason::Barrier { number, .. } => numbers | 1 << number,
            _ => numbers,
        });
        for number in active(numbers).map(|number| number as u32) {
            let first = warps.iter().flat_map(|warp| warp.at_barrier(number)).next();
            let Some(reason) = first.map(|waiting| waiting.reason) else { continue };
            let Reason::Barrier { threads, .. } = reason else { continue };
            self.check_numbers(warps, number)?;
            let lanes_of =
                |warp: &Warp| warp.at_barrier(number).fold(0, |lanes, w| lanes | w.group.lanes);
            let complete = match threads {
                Some(wanted) => {
                    let waiting = warps.iter().map(|warp| arrived(warp, lanes_of(warp)));
                    let came = waiting.sum::<u32>() + self.arrivals[number as usize];
                    self.check_arrivals(warps, number, [came, wanted])?;
                    came >= wanted
                }
                None => warps.iter().all(|warp| lanes_of(warp) == warp.live),
            };
            if complete {
                self.check_barrier(warps, number, threads.is_none())?;
                self.reduce_at_barrier(warps, number);
                self.pass_barrier(warps, number, threads.is_none())?;
                opened = true;
            }
        }
        if opened {
            self.stalled = 0;
        }
        Ok(opened)
    }

    /// The same where no warp can run. If there is none, nobody can go on.
    pub(super) fn open_barriers(&mut self, warps: &mut [Warp]) -> Result<()> {
        if self.open_complete(warps)? {
            return Ok(());
        }
        if self.raced_at.is_some() {
            return self.pending.take().map_or(Ok(()), Err);
        }
        if let Some(fault) = warps.iter().find_map(|warp| self.parted(warp)) {
            return Err(fault);
        }
        let mut fault = self.no_progress(warps);
        let at_barrier =
            |warp: &Warp| warp.waiting.iter().any(|w| matches!(w.reason, Reason::Barrier { .. }));
        if warps.iter().any(at_barrier) {
            fault.kind = FaultKind::Barrier;
        }
        Err(fault)
    }

    /// Do all that wait at a barrier say the same number of threads?
    fn check_numbers(&self, warps: &[Warp], number: u32) -> Result<()> {
        let all = warps.iter().flat_map(|warp| warp.at_barrier(number).map(move |w| (warp, w)));
        let mut all = all.filter_map(|(warp, waiting)| match waiting.reason {
            Reason::Barrier { threads, .. } => Some((warp, waiting.group, threads?)),
            _ => None,
        });
        let Some((_, first, count)) = all.next() else { return Ok(()) };
        let Some((warp, group, other)) = all.find(|(.., other)| *other != count) else {
            return Ok(());
        };
        let what = format!(
            "waits at barrier {number} for {other} threads, and others there, at {}, for {count}",
            self.place(first.pc)
        );
        let lane = group.lanes.trailing_zeros() as usize;
        let mut fault = self.fault(warp, FaultKind::Barrier, lane, what);
        fault.place = Some(self.place(group.pc));
        Err(fault)
    }

    /// Did no more threads come to a barrier than it is for?
    fn check_arrivals(&self, warps: &[Warp], number: u32, [came, wanted]: [u32; 2]) -> Result<()> {
        let mut all = warps.iter().flat_map(|warp| warp.at_barrier(number).map(move |w| (warp, w)));
        let Some((warp, waiting)) = all.next().filter(|_| came > wanted) else { return Ok(()) };
        let Group { pc, lanes } = waiting.group;
        let why = match self.arrivals[number as usize] {
            0 => "which of them meet is left to chance; give each group a barrier of its own",
            _ => {
                "others arrived there again before it opened; let them wait at a second barrier \
                 first, where who waits here tells that it is done"
            }
        };
        let what =
            format!("waits at barrier {number} for {wanted} threads, and {came} have come: {why}");
        let fault = self.fault(warp, FaultKind::Barrier, lanes.trailing_zeros() as usize, what);
        Err(Box::new(Fault { place: Some(self.place(pc)), ..*fault }))
    }

    /// `everyone`: all that have not ended have come.
    fn pass_barrier(&mut self, warps: &mut [Warp], number: u32, everyone: bool) -> Result<()> {
        let lanes_of =
            |warp: &Warp| warp.at_barrier(number).fold(0, |lanes, w| lanes | w.group.lanes);
        let came = warps.iter().map(|warp| lanes_of(warp).count_ones()).sum::<u32>();
        if everyone || came == self.launch.block.iter().product() {
            if self.shared.pass_barrier() {
                self.global.clear();
            }
            // Nothing that comes later can explain it.
            self.pending.take().map_or(Ok(()), Err)?;
        } else if self.shared.is_traced() {
            let members = warps
                .iter()
                .flat_map(|warp| active(lanes_of(warp)).map(|lane| warp.index * WARP + lane));
            self.shared.order.meet_some(number as usize, members);
        }
        for warp in warps {
            let is_here =
                |reason| matches!(reason, Reason::Barrier { number: n, .. } if n == number);
            warp.take_waiting(
                |waiting| is_here(waiting.reason),
                |warp, waiting| warp.add(waiting.group.pc + 1, waiting.group.lanes),
            );
            warp.choose();
        }
        self.arrivals[number as usize] = 0;
        Ok(())
    }

    /// `bar.red`: all who wait get the answer.
    fn reduce_at_barrier(&mut self, warps: &mut [Warp], number: u32) {
        let reduction = |machine: &Self, pc: usize| match &machine.program.code[pc].operation {
            Op::Barrier(barrier) => barrier.reduction,
            _ => None,
        };
        let (mut yes, mut all) = (0, 0);
        for warp in &*warps {
            for waiting in warp.at_barrier(number) {
                let group = waiting.group;
                if let Some((_, value, _)) = reduction(self, group.pc) {
                    let values = warp.registers.predicates[usize::from(value.index)];
                    yes += u64::from((values & group.lanes).count_ones());
                    all += u64::from(group.lanes.count_ones());
                }
            }
        }
        for warp in warps {
            let groups = warp.at_barrier(number).map(|waiting| waiting.group);
            for group in groups.collect::<Vec<_>>() {
                let Some((how, _, result)) = reduction(self, group.pc) else {
                    continue;
                };
                let answer = match how {
                    Consensus::Count => yes,
                    Consensus::All => u64::from(yes == all),
                    Consensus::Any => u64::from(yes > 0),
                };
                for lane in active(group.lanes) {
                    warp.registers.set(result, lane, answer);
                }
            }
        }
    }

    /// Did all threads come, and the lanes of a warp to the same barrier?
    fn check_barrier(&mut self, warps: &[Warp], number: u32, everyone: bool) -> Result<()> {
        let waiting =
            warps.iter().find_map(|warp| Some((warp, warp.at_barrier(number).next()?.group)));
        let Some((waiting_warp, group)) = waiting else { return Ok(()) };
        let threads = self.launch.block.iter().product::<u32>();
        let live = warps.iter().map(|warp| warp.live.count_ones()).sum::<u32>();
        let checked = self.options.checks.barriers;
        let mut what = None;
        if everyone && live < threads {
            let missing = (0..threads)
                .find(|thread| {
                    let (warp, lane) = (*thread as usize / WARP, thread % WARP as u32);
                    let warp = warps.iter().find(|w| w.index == warp);
                    warp.is_none_or(|warp| warp.live >> lane & 1 == 0)
                })
                .unwrap_or(0);
            let [x, y, z] = self.thread_at(missing);
            what = Some(format!(
                "a barrier that not all threads reach: {} of {threads} have ended \
                 before it, thread ({x}, {y}, {z}) first",
                threads - live
            ));
        }
        if !checked {
            if let Some(what) = what {
                self.note(NoteKind::Barrier, group.pc, what);
            }
            return Ok(());
        }
        if let Some(what) = &mut what {
            *what += "; a GPU may go on without them, but CUDA does not promise it";
        }
        for warp in warps {
            let mut groups = warp.at_barrier(number).map(|waiting| waiting.group);
            if let (Some(first), Some(second)) = (groups.next(), groups.next()) {
                what = Some(format!(
                    "a barrier that not all lanes of a warp reach: {} of warp {} wait \
                     there, {} at {}",
                    list(first.lanes),
                    warp.index,
                    list(second.lanes),
                    self.place(second.pc)
                ));
            }
        }
        if what.is_none() {
            let elsewhere = warps.iter().find_map(|warp| {
                let pc = warp.at_barrier(number).next()?.group.pc;
                (pc != group.pc && self.own_line(pc)? != self.own_line(group.pc)?)
                    .then_some((warp.index, pc))
            });
            if let Some((other, pc)) = elsewhere {
                what = Some(format!(
                    "a barrier that not all threads reach: warp {} waits {}, and warp \
                     {other} at another one, at {}; all threads of a block must come to the \
                     same __syncthreads(), in the same order (a GPU only counts them)",
                    waiting_warp.index,
                    match self.caller(group.pc) {
                        Some(_) => format!("at {}", self.place_and_caller(group.pc)),
                        None => "there".to_owned(),
                    },
                    self.place_and_caller(pc)
                ));
            }
        }
        let Some(what) = what else { return Ok(()) };
        let lane = group.lanes.trailing_zeros() as usize;
        Err(Box::new(Fault {
            kind: FaultKind::Barrier,
            what,
            kernel: self.kernel.name.clone(),
            place: Some(self.place(group.pc)),
            block: Some(self.block),
            thread: Some(self.thread(waiting_warp.index, lane)),
        }))
    }

    /// Where a barrier is that all threads of a block have to come to, and where its function was
    /// called.
    fn own_line(&self, pc: usize) -> Option<(Place, Option<&(String, u32)>)> {
        match &self.program.code[pc].operation {
            Op::Barrier(barrier) if barrier.aligned => {
                let place = self.place(pc);
                let ptx_line = if place.source.is_some() { 0 } else { place.ptx_line };
                Some((Place { ptx_line, ..place }, self.caller(pc)))
            }
            _ => None,
        }
    }

    /// "line 7 of kernel.cu", and ", called at line 9" if it is in a function.
    fn place_and_caller(&self, pc: usize) -> String {
        let called = self.caller(pc).map(|(_, line)| format!(", called at line {line}"));
        format!("{}{}", self.place(pc), called.unwrap_or_default())
    }

    /// `bar.warp.sync`: lanes may come to different ones.
    pub(super) fn warp_barrier(&mut self, warp: &mut Warp, members: Slot) -> Result<()> {
        self.check_membership(warp, members)?;
        warp.wait(Reason::WarpBarrier);
        self.wake(warp);
        Ok(())
    }
}

/// For how many threads lanes count. A warp that is there as a whole counts fully, even
/// if the block has fewer threads in it.
fn arrived(warp: &Warp, lanes: u32) -> u32 {
    if lanes != 0 && lanes == warp.live { WARP as u32 } else { lanes.count_ones() }
}
