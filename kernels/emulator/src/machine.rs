//! Runs a program: block after block, and in a block warp after warp, each until it waits
//! for others.

use crate::WARP;
use crate::access::active;
use crate::counts::{Counts, Line, Note, NoteKind, Request, Step, Tally};
use crate::fault::{Fault, FaultKind, Place};
use crate::launch::{Launch, Options};
use crate::machine::global::Global;
use crate::machine::pieces::Counting;
use crate::machine::print::Printed;
use crate::machine::shared::Shared;
use crate::machine::taint::Unwritten;
use crate::machine::warp::{Reason, Warp};
use crate::memory::{Memory, Notes};
use crate::module::{Kernel, Module};
use crate::program::{Instruction, Op, Preset, Program, Special, Strength};
use crate::registers::{Class, Registers, Slot};
use crate::space::{FUNCTIONS, Space};

mod access;
mod atomic;
mod barrier;
mod collective;
mod conflict;
mod copies;
mod flags;
mod global;
mod journal;
mod lane;
mod marks;
mod matrix;
mod order;
mod pieces;
mod print;
mod readers;
mod shared;
mod taint;
mod trace;
mod warp;

/// Instructions after which another warp of the block gets its turn, if this one has not
/// come to a barrier before.
const SLICE: u32 = 1 << 16;
/// Instructions of a block after a race, before it is told even if no barrier has come.
const RACED: u64 = 1 << 22;
/// Instructions for which a group runs that is not the lowest of its warp.
const TURN: u32 = 1 << 12;
/// Instructions of a loop that waits for a flag or a lock, at most.
const LOOP: u64 = 64;
/// Instructions of a block without progress, at most, if its threads do little but that, and no
/// flag can be the host's.
const POLLING: u64 = 1 << 20;
/// Instructions of a block before somebody with a clock may end it.
const SHORT: u64 = 1 << 18;
/// What the clock advances by with each instruction of a warp. It goes forward, and says
/// nothing about time.
const TICKS: u64 = 16;
/// Bytes that one instruction of a warp moves at most.
const STAGE_BYTES: usize = WIDEST * WARP;
/// Bytes that one lane accesses at most.
const WIDEST: usize = 32;

type Result<T> = std::result::Result<T, Box<Fault>>;

/// Runs all blocks of a launch, and notes what they access if somebody asks.
pub(crate) fn run(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch<'_>,
    memory: &mut Memory,
    options: &Options,
) -> Result<Counts> {
    memory.notes = options.touched.then(Notes::default);
    let ran = Machine::new(module, kernel, launch, memory, options).run();
    let touched = memory.notes.take().map(|notes| notes.tell(memory));
    memory.touched = touched.unwrap_or_default();
    ran
}

/// What runs blocks of a launch.
struct Machine<'a> {
    kernel: &'a Kernel,
    program: &'a Program,
    launch: &'a Launch<'a>,
    memory: &'a mut Memory,
    global: Global,
    options: &'a Options,
    /// The values of the program's presets that all threads share.
    constants: Vec<(Slot, u64)>,
    /// Presets whose values are the same in each block, for each warp.
    of_warps: Vec<Vec<(Slot, [u32; WARP])>>,
    /// Presets that tell the place of the block: along which axis.
    of_blocks: Vec<(Slot, usize)>,
    /// For each instruction how many warps and threads executed it, what it did, and the buffer
    /// that it accessed last.
    runs: Vec<[u64; 2]>,
    tallies: Vec<Tally>,
    buffers: Vec<usize>,
    /// Pieces of global memory, if somebody asks.
    counting: Option<Box<Counting>>,
    printed: Printed,
    notes: Vec<Note>,
    /// What is told of the watched warp, and which one of this block that is.
    requests: Vec<Request>,
    steps: Vec<Step>,
    watched: Option<usize>,
    block: [u32; 3],
    shared: Shared,
    /// Whether the kernel copies asynchronously.
    has_copies: bool,
    /// What may be a part of a greater mistake: a read of shared memory that nobody has
    /// written, or a race within a warp. Until the next barrier it may show as a race
    /// between warps, and that as a barrier that not all come to.
    pending: Option<Box<Fault>>,
    /// Instructions executed when two warps of the block raced, if that is pending.
    raced_at: Option<u64>,
    /// Whether there are barriers for all of the block, and several warps to come to them.
    has_barriers: bool,
    /// Lanes that arrived at a barrier without waiting there.
    arrivals: [u32; 16],
    /// What the last access of lanes has read of what nobody has written.
    unwritten: Vec<Unwritten>,
    /// What an instruction moves, lane after lane.
    stage: Vec<u8>,
    executed: u64,
    /// Of the warp that executed most, over all blocks.
    longest: u64,
    /// How many of them before this block.
    before: u64,
    /// Instructions since a thread last got somewhere.
    stalled: u64,
    /// Accesses to flags and locks since then, and how many instructions there had been.
    polls: u64,
    waiting_from: u64,
}

impl<'a> Machine<'a> {
    fn new(
        module: &Module,
        kernel: &'a Kernel,
        launch: &'a Launch<'a>,
        memory: &'a mut Memory,
        options: &'a Options,
    ) -> Self {
        let program = &kernel.program;
        let (mut constants, mut of_lanes) = (Vec::new(), Vec::new());
        let mut of_blocks = Vec::new();
        let static_bytes = program.shared_bytes.next_multiple_of(program.dynamic_align);
        let shared_bytes = match launch.shared_bytes {
            0 => program.shared_bytes,
            dynamic => static_bytes + dynamic,
        };
        for (slot, preset) in &program.presets {
            let value = match *preset {
                Preset::Bits(bits) => bits,
                Preset::Parameter { offset, bytes, signed } => {
                    let start = offset as usize;
                    let end = start + usize::from(bytes);
                    let part = launch.arguments.get(start..end).unwrap_or_default();
                    extended(part, signed)
                }
                Preset::Variable { index, offset } => {
                    let variable = &module.variables()[index];
                    variable.address.unwrap_or(0).wrapping_add_signed(offset)
                }
                Preset::Shared { array, offset } => {
                    let start = program.shared[usize::from(array)].start.unwrap_or_default();
                    u64::from(start).wrapping_add_signed(offset)
                }
                Preset::Dynamic { offset } => u64::from(static_bytes).wrapping_add_signed(offset),
                Preset::Special(special) => match special {
                    Special::Threads(axis) => launch.block[axis].into(),
                    Special::Blocks(axis) => launch.grid[axis].into(),
                    Special::DynamicSharedBytes => launch.shared_bytes.into(),
                    Special::SharedBytes => shared_bytes.into(),
                    Special::Zero | Special::Cooperation => 0,
                    Special::One => 1,
                    Special::Block(axis) => {
                        of_blocks.push((*slot, axis));
                        continue;
                    }
                    special => {
                        of_lanes.push((*slot, special));
                        continue;
                    }
                },
            };
            constants.push((*slot, value));
        }
        let threads = launch.block.iter().product::<u32>() as usize;
        let blocks = launch.grid.iter().any(|blocks| *blocks > 1);
        let is = |is_one: fn(&Op) -> bool| program.code.iter().any(|one| is_one(&one.operation));
        let read_only = is(|op| matches!(op, Op::Load(access) if access.read_only));
        let traced = options.checks.races && (threads > 1 || blocks || read_only);
        let granule = traced.then_some(program.granule);
        let of_warps = (0..threads.div_ceil(WARP)).map(|warp| {
            let row =
                |(slot, special): &(Slot, Special)| (*slot, row(*special, warp, launch.block));
            of_lanes.iter().map(row).collect()
        });
        Self {
            kernel,
            program,
            launch,
            memory,
            global: Global::new(traced.then_some(program.global_granule), program.partial),
            options,
            constants,
            of_warps: of_warps.collect(),
            of_blocks,
            runs: vec![[0; 2]; program.code.len()],
            tallies: vec![Tally::default(); program.code.len()],
            buffers: vec![0; program.code.len()],
            counting: options.pieces.then(|| Box::new(Counting::new(program))),
            printed: Printed::new(options.print_bytes),
            notes: Vec::new(),
            requests: Vec::new(),
            steps: Vec::new(),
            watched: None,
            block: [0; 3],
            shared: Shared::new(shared_bytes as usize, threads, granule, program.partial),
            has_copies: is(|op| matches!(op, Op::CopyAsync(_))),
            pending: None,
            raced_at: None,
            has_barriers: threads > WARP
                && is(|op| matches!(op, Op::Barrier(barrier) if barrier.threads.is_none())),
            arrivals: [0; 16],
            unwritten: Vec::new(),
            stage: vec![0; STAGE_BYTES],
            executed: 0,
            longest: 0,
            before: 0,
            stalled: 0,
            polls: 0,
            waiting_from: 0,
        }
    }

    /// Runs all blocks.
    fn run(mut self) -> Result<Counts> {
        // More than 2 to the power of 64 would never end either.
        let sizes = self.launch.grid.map(u64::from);
        let blocks = sizes.into_iter().fold(1, u64::saturating_mul);
        let mut warps = Vec::new();
        for number in 0..blocks {
            self.block = self.block_at(number);
            self.begin_block(number);
            let ran = self.run_block(&mut warps);
            let is_greater = |fault: &Fault| {
                fault.kind == FaultKind::Barrier
                    || fault.kind == FaultKind::Race && self.raced_at.is_none()
            };
            match self.pending.take() {
                Some(pending) if !ran.as_ref().is_err_and(|fault| is_greater(fault)) => {
                    return Err(pending);
                }
                _ => ran?,
            }
        }
        Ok(self.counts())
    }

    fn counts(self) -> Counts {
        let mut lines = Vec::<Line>::new();
        let Self { kernel, program, notes, requests, steps, .. } = self;
        for (pc, (instruction, mut tally)) in program.code.iter().zip(self.tallies).enumerate() {
            let weight = u64::from(instruction.weight);
            [tally.instructions, tally.thread_instructions] =
                self.runs[pc].map(|runs| runs * weight);
            let place = &program.places[instruction.place as usize];
            let pieces =
                self.counting.as_ref().map(|counting| counting.pieces[pc]).unwrap_or_default();
            match lines.last_mut() {
                Some(line) if line.place == *place => {
                    line.tally += tally;
                    line.pieces += pieces;
                }
                _ => lines.push(Line { place: place.clone(), tally, pieces }),
            }
        }
        // A function that is called from several places has its lines several times.
        lines.sort_by(|a, b| a.place.cmp(&b.place));
        lines.dedup_by(|next, line| {
            let same = next.place == line.place;
            if same {
                line.tally += next.tally;
                line.pieces += next.pieces;
            }
            same
        });
        let (printed, printed_before) = self.printed.last();
        let kernel = kernel.name.clone();
        let longest_warp = self.longest;
        Counts { kernel, lines, printed, printed_before, notes, requests, steps, longest_warp }
    }

    /// Nothing of the block before is there any more, but in device memory.
    fn begin_block(&mut self, number: u64) {
        if self.shared.begin_block(self.has_copies) {
            self.global.clear();
        }
        self.global.begin_block(self.shared.order.now, number);
        let watched = self.options.watch.filter(|watch| watch.block == self.block);
        self.watched = watched.map(|watch| watch.warp);
        self.arrivals = [0; 16];
        self.counting.iter_mut().for_each(|counting| counting.begin_block());
        (self.before, self.stalled) = (self.executed, 0);
        (self.polls, self.waiting_from) = (0, self.executed);
    }

    /// Runs a block. There are as many warps as have waited together; one that has ended starts
    /// anew as the next.
    fn run_block(&mut self, warps: &mut Vec<Warp>) -> Result<()> {
        let threads = self.launch.block.iter().product::<u32>() as usize;
        let mut waiting = 0;
        let count = threads.div_ceil(WARP);
        for place in 0..count {
            let index = if self.options.backwards { count - 1 - place } else { place };
            if waiting == warps.len() {
                warps.push(self.new_warp());
            }
            let warp = &mut warps[waiting];
            let lanes = (threads - index * WARP).min(WARP);
            self.start(warp, index, u32::MAX >> (WARP - lanes));
            self.run_warp(warp)?;
            if warp.live == 0 {
                self.longest = self.longest.max(warp.since_start());
            } else {
                waiting += 1;
            }
        }
        let waiting = &mut warps[..waiting];
        while waiting.iter().any(|warp| warp.live != 0) {
            self.check_end(waiting)?;
            if !waiting.iter().any(Warp::can_run) {
                self.open_barriers(waiting)?;
            } else if self.waits() {
                // Those that these look for may have met at a barrier of their own.
                self.open_complete(waiting)?;
            }
            for warp in waiting.iter_mut() {
                if warp.can_run() {
                    self.run_warp(warp)?;
                }
            }
        }
        for warp in waiting {
            self.longest = self.longest.max(warp.since_start());
        }
        Ok(())
    }

    fn new_warp(&self) -> Warp {
        let program = self.program;
        let mut registers = Registers::new(program.registers);
        for (slot, value) in &self.constants {
            registers.broadcast(*slot, *value);
        }
        Warp::new(registers, program.local_bytes as usize)
    }

    fn start(&self, warp: &mut Warp, index: usize, lanes: u32) {
        warp.restart(index, lanes);
        for slot in &self.program.unset {
            warp.registers.broadcast(*slot, 0);
        }
        for (slot, axis) in &self.of_blocks {
            warp.registers.broadcast(*slot, self.block[*axis].into());
        }
        for (slot, row) in &self.of_warps[index] {
            let place = usize::from(slot.index);
            match slot.class {
                Class::Narrow => warp.registers.narrow[place] = *row,
                Class::Wide => warp.registers.wide[place] = row.map(u64::from),
                Class::Predicate => {}
            }
        }
    }

    /// The place of the block with this number.
    fn block_at(&self, number: u64) -> [u32; 3] {
        let [width, height, depth] = self.launch.grid.map(u64::from);
        let number = match self.options.backwards {
            true => width * height * depth - 1 - number,
            false => number,
        };
        let place = [number % width, number / width % height, number / width / height];
        place.map(|place| place as u32)
    }

    /// The place of a lane's thread in its block.
    fn thread(&self, warp: usize, lane: usize) -> [u32; 3] {
        self.thread_at((warp * WARP + lane) as u32)
    }

    fn thread_at(&self, number: u32) -> [u32; 3] {
        thread_at(self.launch.block, number)
    }

    /// Runs a warp until it waits for others, or for a while.
    fn run_warp(&mut self, warp: &mut Warp) -> Result<()> {
        let program = self.program;
        let mut fuel = if warp.favoured { TURN } else { SLICE };
        let mut spent = 0;
        while warp.can_run() || self.wake(warp) {
            if warp.pc >= warp.limit {
                warp.choose();
            }
            if spent == SLICE {
                if warp.favoured {
                    warp.choose();
                }
                break; // if this never ends, `check_end` tells it, of all warps
            }
            if fuel == 0 {
                warp.choose();
                fuel = SLICE;
            }
            fuel -= 1;
            spent += 1;
            warp.executed += 1;
            let pc = warp.pc;
            let instruction = &program.code[pc];
            let lanes = self.count(warp, pc, instruction);
            let is_watched = self.watched == Some(warp.index);
            if is_watched && instruction.weight > 0 {
                self.tell_step(pc, warp.lanes);
            }
            if warp.taint.is_some() {
                self.check_taint(warp, instruction, lanes)?;
            }
            if let Op::Compute(operation, operands) = &instruction.operation {
                if lanes != 0 {
                    operation.apply(&mut warp.registers, operands, lanes, warp.live);
                }
                warp.pc += 1;
                if warp.taint.is_none() && !is_watched {
                    let more = self.compute(warp, fuel.min(SLICE - spent));
                    (fuel, spent) = (fuel - more, spent + more);
                }
                continue;
            }
            if lanes == 0 {
                warp.pc += 1;
                continue;
            }
            match &instruction.operation {
                Op::Branch(target) => {
                    let target = *target as usize;
                    if lanes != warp.lanes {
                        self.tallies[pc].divergent_branches += 1;
                        warp.diverge(target, lanes);
                    } else if warp.jump(target) {
                        fuel = TURN;
                    }
                }
                Op::Load(access) => {
                    warp.work(lanes);
                    self.load(warp, access, lanes)?;
                    warp.pc += 1;
                    if access.strength == Strength::Atomic && self.polled(warp) {
                        break;
                    }
                }
                Op::Store(access) => {
                    warp.work(lanes);
                    self.store(warp, access, lanes)?;
                    self.stalled = 0;
                    warp.pc += 1;
                }
                Op::Atomic(atomic) => {
                    warp.work(lanes);
                    let changed = self.atomic(warp, atomic, lanes)?;
                    warp.pc += 1;
                    if !changed && self.polled(warp) {
                        break;
                    }
                }
                Op::Exit => {
                    self.stalled = 0;
                    warp.end(lanes);
                }
                other => {
                    if lanes != warp.lanes && waits_for_lanes(other) {
                        warp.narrow(lanes);
                    }
                    self.execute(warp, other, lanes)?;
                }
            }
        }
        self.executed += u64::from(spent);
        self.stalled += u64::from(spent);
        let is_long = self.executed - self.before > SHORT && warp.live != 0;
        if is_long && self.options.stop.is_some_and(|stop| stop()) {
            return Err(self.stopped(warp));
        }
        Ok(())
    }

    /// Counts an instruction that the running group executes. Tells in which lanes.
    #[inline(always)]
    fn count(&mut self, warp: &Warp, pc: usize, instruction: &Instruction) -> u32 {
        let lanes = match instruction.guard {
            None => warp.lanes,
            Some((predicate, negated)) => {
                let value = warp.registers.predicates[usize::from(predicate)];
                warp.lanes & if negated { !value } else { value }
            }
        };
        let [warps, threads] = &mut self.runs[pc];
        *warps += 1;
        // Counting bits takes long where there is no instruction for it.
        *threads += if lanes == u32::MAX { 32 } else { u64::from(lanes.count_ones()) };
        lanes
    }

    /// Goes on as long as there is only arithmetic, for so many instructions at most. Tells how
    /// many there were.
    #[inline]
    fn compute(&mut self, warp: &mut Warp, most: u32) -> u32 {
        let program = self.program;
        let first = warp.pc;
        let end = warp.limit.min(first + most as usize);
        let mut pc = first;
        while pc < end
            && let instruction = &program.code[pc]
            && let Op::Compute(operation, operands) = &instruction.operation
        {
            let lanes = self.count(warp, pc, instruction);
            if lanes != 0 {
                operation.apply(&mut warp.registers, operands, lanes, warp.live);
            }
            pc += 1;
        }
        warp.pc = pc;
        warp.executed += (pc - first) as u64;
        (pc - first) as u32
    }

    /// What is neither arithmetic nor frequent.
    fn execute(&mut self, warp: &mut Warp, operation: &Op, lanes: u32) -> Result<()> {
        if let Some(members) = operation.members() {
            if !self.meet(warp, members)? {
                return Ok(());
            }
            self.shared.order.tell_lanes(warp.index, warp.lanes);
        }
        match operation {
            Op::CopyAsync(copy) => self.start_copy(warp, copy, lanes)?,
            Op::CommitCopies => warp.copies.commit(lanes),
            Op::Fence(scope) => self.fence(warp, lanes, *scope),
            Op::WaitForCopies(left) => self.finish_copies(warp, lanes, *left)?,
            Op::BranchTable(index, targets) => {
                return self.branch_table(warp, *index, targets, lanes);
            }
            Op::Trap => {
                let asks = |preset: &(Slot, Preset)| {
                    matches!(preset.1, Preset::Special(Special::Cooperation))
                };
                let (kind, what) = match self.program.presets.iter().any(asks) {
                    true => (
                        FaultKind::Unsupported,
                        "a barrier for all blocks needs a cooperative launch, which is not \
                         supported",
                    ),
                    false => (FaultKind::Trap, "the kernel executes a trap"),
                };
                let lane = lanes.trailing_zeros() as usize;
                return Err(self.fault(warp, kind, lane, what.to_owned()));
            }
            Op::NoFunction(pointer) => {
                let lane = lanes.trailing_zeros() as usize;
                let address = warp.registers.get(*pointer, lane);
                let (kind, what) = match address.wrapping_sub(FUNCTIONS) < 1 << 20 {
                    true => (
                        FaultKind::Unsupported,
                        "calls a function through a pointer from within that function or with \
                         other parameters, which is not supported"
                            .to_owned(),
                    ),
                    false => (
                        FaultKind::OutOfBounds,
                        format!("calls a function at {address:#x}, where none starts"),
                    ),
                };
                return Err(self.fault(warp, kind, lane, what));
            }
            Op::Barrier(barrier) => return self.barrier(warp, barrier),
            Op::WarpBarrier(members) => return self.warp_barrier(warp, *members),
            Op::Shuffle(shuffle) => self.shuffle(warp, shuffle)?,
            Op::Vote(vote) => self.vote(warp, vote),
            Op::Match(matching) => self.matching(warp, matching),
            Op::Reduce(reduce) => self.reduce(warp, reduce),
            Op::Aligned(name) => self.check_aligned(warp, name, lanes)?,
            Op::LoadMatrices(load) => self.load_matrices(warp, load)?,
            Op::Multiply(multiply) => {
                self.tallies[warp.pc].matrix_operations += 1;
                matrix::multiply(&mut warp.registers, multiply);
            }
            Op::ActiveMask(result) => {
                for lane in active(lanes) {
                    warp.registers.set(*result, lane, lanes.into());
                }
            }
            Op::Clock(result) => {
                let now = warp.executed * TICKS;
                for lane in active(lanes) {
                    warp.registers.set(*result, lane, now);
                }
            }
            Op::Print(print) => self.print(warp, print, lanes)?,
            Op::AssertionFailed(places) => {
                return Err(self.assertion(warp, places, lanes));
            }
            Op::Nothing => {}
            Op::Compute(..)
            | Op::Branch(_)
            | Op::Load(_)
            | Op::Store(_)
            | Op::Atomic(_)
            | Op::Exit => unreachable!("the caller does these"),
        }
        warp.pc += 1;
        Ok(())
    }

    fn branch_table(
        &mut self,
        warp: &mut Warp,
        index: Slot,
        targets: &[u32],
        lanes: u32,
    ) -> Result<()> {
        let (pc, stay) = (warp.pc, warp.lanes & !lanes);
        let first = warp.registers.get(index, lanes.trailing_zeros() as usize);
        warp.lanes = 0;
        warp.add(pc + 1, stay);
        let mut divergent = false;
        for lane in active(lanes) {
            let chosen = warp.registers.get(index, lane);
            let target = usize::try_from(chosen).ok().and_then(|chosen| targets.get(chosen));
            let Some(target) = target else {
                let what = format!("jumps to target {chosen} of {}", targets.len());
                return Err(self.fault(warp, FaultKind::Unsupported, lane, what));
            };
            warp.add(*target as usize, 1 << lane);
            divergent |= chosen != first;
        }
        self.tallies[pc].divergent_branches += u64::from(divergent);
        warp.choose();
        Ok(())
    }

    /// A group has looked at a flag or a lock. True, if other warps should get their turn.
    fn polled(&mut self, warp: &mut Warp) -> bool {
        if self.stalled == 0 {
            (self.polls, self.waiting_from) = (0, self.executed);
        }
        self.polls += 1;
        warp.poll()
    }

    fn is_stuck(&self) -> bool {
        let patience = self.options.patience;
        let is_alone = !self.memory.has_host_buffers();
        self.stalled > if is_alone && self.waits() { patience.min(POLLING) } else { patience }
    }

    fn is_endless(&self) -> bool {
        self.executed - self.before > self.options.budget
    }

    /// Do threads do little but look at flags and locks?
    fn waits(&self) -> bool {
        self.stalled > 0 && self.polls * LOOP > self.stalled
    }

    /// Ends a block that would go on for ever.
    fn check_end(&mut self, warps: &[Warp]) -> Result<()> {
        // No barrier comes that would explain it.
        if self.raced_at.is_some_and(|at| self.executed > at + RACED) {
            return self.pending.take().map_or(Ok(()), Err);
        }
        let waited = self.executed - self.waiting_from;
        if self.is_stuck() || self.is_endless() && self.waits() && waited > self.options.budget / 2
        {
            return Err(self.no_progress(warps));
        }
        if self.is_endless() {
            let what = format!(
                "a loop without an end: the block has executed {} instructions, as many \
                 as a block may; find the condition that never ends the loop",
                self.options.budget
            );
            return Err(self.everywhere(FaultKind::OverBudget, what, warps));
        }
        Ok(())
    }

    fn stopped(&self, warp: &Warp) -> Box<Fault> {
        let warps = std::slice::from_ref(warp);
        if self.waits() {
            return self.no_progress(warps);
        }
        let what = "it takes too long; find the condition that never ends a loop".to_owned();
        self.everywhere(FaultKind::OverBudget, what, warps)
    }

    /// A fault of this lane at the instruction that the warp is at.
    fn fault(&self, warp: &Warp, kind: FaultKind, lane: usize, what: String) -> Box<Fault> {
        Box::new(Fault {
            kind,
            what,
            kernel: self.kernel.name.clone(),
            place: Some(self.place(warp.pc)),
            block: Some(self.block),
            thread: Some(self.thread(warp.index, lane)),
        })
    }

    fn has_noted(&self, kind: NoteKind, pc: usize) -> bool {
        let place = self.place_at(pc);
        self.notes.iter().any(|note| note.kind == kind && note.place == *place)
    }

    /// Adds a note, if it is the first of its kind and line.
    fn note(&mut self, kind: NoteKind, pc: usize, what: String) {
        if !self.has_noted(kind, pc) {
            let place = self.place(pc);
            self.notes.push(Note { kind, what, place });
        }
    }

    fn place(&self, pc: usize) -> Place {
        self.place_at(pc).clone()
    }

    fn place_at(&self, pc: usize) -> &Place {
        let code = &self.program.code;
        let instruction = &code[pc.min(code.len() - 1)];
        &self.program.places[instruction.place as usize]
    }

    /// Where the function was called that an instruction is in.
    fn caller(&self, pc: usize) -> Option<&(String, u32)> {
        self.program.callers[self.program.code[pc].place as usize].as_ref()
    }

    fn no_progress(&self, warps: &[Warp]) -> Box<Fault> {
        let nobody_runs = !warps.iter().any(Warp::can_run);
        let what = match nobody_runs || self.waits() {
            true => "a deadlock: all threads wait, and no thread gets anywhere",
            false => "no thread gets anywhere",
        };
        let mut fault = self.everywhere(FaultKind::NoProgress, what.to_owned(), warps);
        if self.looks_at_blocks(warps) {
            fault.what += "; if they wait for another block: blocks run in any order, here one \
                           after another; a block that waits for earlier ones takes its number \
                           from an atomic counter";
        }
        fault
    }

    /// Do running threads look at what another block may set, rather than take a lock?
    fn looks_at_blocks(&self, warps: &[Warp]) -> bool {
        let code = &self.program.code;
        let is_flag = |instruction: &Instruction| match &instruction.operation {
            Op::Load(load) => {
                load.strength != Strength::Weak && load.address.space != Space::Shared
            }
            _ => false,
        };
        let looks = |pc: usize| {
            let around = LOOP as usize / 2;
            code[pc.saturating_sub(around)..code.len().min(pc + around)].iter().any(is_flag)
        };
        let mut groups = warps.iter().flat_map(Warp::runnable);
        self.launch.grid != [1; 3] && groups.any(|group| looks(group.pc))
    }

    /// A fault of the whole block. Says which lanes are where.
    fn everywhere(&self, kind: FaultKind, mut what: String, warps: &[Warp]) -> Box<Fault> {
        let mut sentences = Vec::new();
        let mut pc = 0;
        for warp in warps.iter().filter(|warp| warp.live != 0) {
            let place = |pc| self.place(pc).to_string();
            for group in warp.runnable() {
                pc = group.pc;
                let (lanes, place) = (list(group.lanes), place(pc));
                let verb = if group.lanes.count_ones() == 1 { "runs" } else { "run" };
                let index = warp.index;
                sentences.push(format!("{lanes} of warp {index} {verb} at {place}"));
            }
            for waiting in &warp.waiting {
                pc = waiting.group.pc;
                let (lanes, place) = (list(waiting.group.lanes), place(pc));
                let thing = match waiting.reason {
                    Reason::Barrier { .. } => "a barrier",
                    Reason::Lanes | Reason::WarpBarrier => "other lanes",
                };
                let index = warp.index;
                let one = waiting.group.lanes.count_ones() == 1;
                let verb = if one { "waits" } else { "wait" };
                sentences.push(format!("{lanes} of warp {index} {verb} for {thing} at {place}"));
            }
        }
        let more = sentences.len().saturating_sub(4);
        sentences.truncate(4);
        what += &format!(": {}", sentences.join("; "));
        if more > 0 {
            what += &format!("; and {more} more groups");
        }
        Box::new(Fault {
            kind,
            what,
            kernel: self.kernel.name.clone(),
            place: Some(self.place(pc)),
            block: Some(self.block),
            thread: None,
        })
    }
}

/// The place in its block of the thread with this number.
fn thread_at(block: [u32; 3], number: u32) -> [u32; 3] {
    let [width, height, _] = block;
    [number % width, number / width % height, number / width / height]
}

/// The values that a special register has in the lanes of a warp.
fn row(special: Special, warp: usize, block: [u32; 3]) -> [u32; WARP] {
    let mut row = [0; WARP];
    for (lane, value) in row.iter_mut().enumerate() {
        let below = |lane: usize| ((1u64 << lane) - 1) as u32;
        *value = match special {
            Special::Thread(axis) => thread_at(block, (warp * WARP + lane) as u32)[axis],
            Special::Lane => lane as u32,
            Special::Warp => warp as u32,
            Special::Warps => block.iter().product::<u32>().div_ceil(WARP as u32),
            Special::LanesEqual => 1 << lane,
            Special::LanesBefore => below(lane),
            Special::LanesUpTo => below(lane + 1),
            Special::LanesAfter => !below(lane + 1),
            Special::LanesFrom => !below(lane),
            _ => 0,
        };
    }
    row
}

/// Does an instruction need other lanes to be there?
fn waits_for_lanes(operation: &Op) -> bool {
    matches!(operation, Op::Barrier(_) | Op::WarpBarrier(_)) || operation.members().is_some()
}

/// The number that little-endian bytes are.
fn extended(bytes: &[u8], signed: bool) -> u64 {
    let negative = signed && bytes.last().is_some_and(|last| last >> 7 == 1);
    let mut all = [if negative { 0xff } else { 0 }; 8];
    let count = bytes.len().min(8);
    all[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(all)
}

/// "lane 3", "lanes 0-7, 12".
fn list(lanes: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let run = (!(u64::from(lanes) >> lane)).trailing_zeros();
        match run {
            0 => {}
            1 => parts.push(format!("{lane}")),
            _ => parts.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run + 1;
    }
    let word = if lanes.count_ones() == 1 { "lane" } else { "lanes" };
    format!("{word} {}", parts.join(", "))
}
