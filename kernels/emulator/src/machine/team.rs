//! Blocks on several threads, with the result that they have one after the other.
//!
//! Each thread of a team runs a share of the next blocks, on a [layer](Layer) of its own
//! over the memory. Then the layers go into the memory in the order of the blocks. If the
//! blocks of one have read what earlier ones of the same round have written, they have read
//! what was there before: then their work is thrown away, and they and all that follow run
//! one after the other. The same happens if they have accessed what earlier blocks accessed,
//! and one of both wrote: that may be a race, which is told as it is found one after the
//! other. So the result never depends on how many threads there are.

use std::ops::Range;
use std::thread::Builder;

use crate::counts::Counts;
use crate::fault::FaultKind;
use crate::launch::{Launch, Options};
use crate::machine::global::Global;
use crate::machine::{Done, Machine, Result};
use crate::memory::{Layer, Memory, Notes, View};
use crate::module::{Kernel, Module};
use crate::program::{Op, Program, Strength};
use crate::space::Space;

/// Instructions without a store or a barrier, after which a block that runs ahead is taken
/// to wait for an earlier one.
const PATIENCE: u64 = 1 << 20;
/// How many times more instructions than expected a block that runs ahead may execute. Then
/// it is taken to have read what an earlier one has yet to write: it may be a loop that
/// never ends.
const MOST_TIMES: u64 = 512;

/// Bytes of local memory that all machines have together, if they are several.
const MOST_LOCAL_BYTES: u64 = 1 << 28;

/// A launch, for any number of machines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) options: &'a Options,
}

impl Task<'_> {
    /// Runs all blocks, and notes what they access if somebody asks.
    pub(crate) fn run(self, memory: &mut Memory) -> Result<Counts> {
        memory.notes = self.options.touched.then(Notes::default);
        let ran = self.run_all(memory);
        let touched = memory.notes.take().map(|notes| notes.tell(memory));
        memory.touched = touched.unwrap_or_default();
        ran
    }

    fn run_all(self, memory: &mut Memory) -> Result<Counts> {
        // More than 2 to the power of 64 would never end either.
        let sizes = self.launch.grid.map(u64::from);
        let blocks = sizes.into_iter().fold(1, u64::saturating_mul);
        let threads = self.launch.block.iter().product::<u32>();
        let traced = self.options.checks.races && (threads > 1 || blocks > 1);
        let granule = self.kernel.program.global_granule;
        let mut global = Global::new(traced.then_some(granule));
        let mut done = Done::new(&self);
        let mut next = 0;
        if self.team() > 1 && blocks > 1 {
            // The first block tells how long a block takes.
            done = self.run_here(memory, &mut global, done, 0..1)?;
            next = self.run_together(memory, &mut global, &mut done, 1..blocks)?;
        }
        let done = self.run_here(memory, &mut global, done, next..blocks)?;
        Ok(done.counts(self.kernel))
    }

    /// How many threads can take part.
    fn team(&self) -> usize {
        if waits_for_others(&self.kernel.program) {
            return 1;
        }
        // A thread's local memory may be large, and each machine has that of a block.
        let lanes = self.launch.block.iter().map(|size| u64::from(*size)).product();
        let bytes = u64::from(self.kernel.local_bytes).saturating_mul(lanes);
        let fit = MOST_LOCAL_BYTES.checked_div(bytes).unwrap_or(u64::MAX);
        self.options.threads.min(fit as usize).max(1)
    }

    fn run_here(
        &self,
        memory: &mut Memory,
        global: &mut Global,
        done: Done,
        blocks: Range<u64>,
    ) -> Result<Done> {
        Machine::new(self, View::Whole(memory), global, done)?.run(blocks)
    }

    /// Runs blocks as long as several threads can, and tells which is the next one.
    fn run_together(
        &self,
        memory: &mut Memory,
        global: &mut Global,
        done: &mut Done,
        blocks: Range<u64>,
    ) -> Result<u64> {
        let team = self.team() as u64;
        let layer = |_| (Layer::over(memory), global.fresh());
        let mut layers = (0..team).map(layer).collect::<Vec<_>>();
        let mut next = blocks.start;
        loop {
            let each = (done.executed / next).max(1);
            let left = blocks.end - next;
            let stretch = self.options.stretch;
            if left < 2 || left.saturating_mul(each) < stretch / 4 {
                return Ok(next);
            }
            let share = left.div_ceil(team).min((stretch / each).max(1));
            let first = next;
            let shares = (0..team).map(|number| {
                let start = blocks.end.min(first + number * share);
                start..blocks.end.min(start + share)
            });
            let below = &*memory;
            let most = stretch.max(share * each).saturating_mul(MOST_TIMES);
            let outcomes = std::thread::scope(|scope| {
                let run = |(layer, blocks)| self.run_ahead(below, layer, blocks, most);
                let mut work = layers.iter_mut().zip(shares.clone());
                let mine = work.next();
                let others = work
                    .map(|work| Builder::new().spawn_scoped(scope, move || run(work)))
                    .collect::<Vec<_>>();
                let mine = mine.map(run);
                let others = others.into_iter().map(|other| {
                    let outcome = other.ok()?.join();
                    Some(outcome.unwrap_or_else(|e| std::panic::resume_unwind(e)))
                });
                [mine].into_iter().chain(others).collect::<Vec<_>>()
            });
            for (number, (blocks, outcome)) in shares.zip(outcomes).enumerate() {
                // None: the system gave no thread for it.
                let Some(outcome) = outcome else { return Ok(next) };
                let ((layer, accesses), earlier) = (&layers[number], &layers[..number]);
                let undecided = matches!(
                    &outcome,
                    Err(fault) if matches!(
                        fault.kind,
                        FaultKind::NoProgress
                            | FaultKind::OverBudget
                            | FaultKind::Race
                    )
                );
                if layer.is_void()
                    || undecided
                    || earlier.iter().any(|(earlier, _)| layer.has_read_of(earlier))
                    || global.clashes(accesses)
                {
                    return Ok(next);
                }
                layer.apply(memory);
                global.add(accesses);
                *done += outcome?;
                next = blocks.end;
            }
            for (layer, accesses) in &mut layers {
                layer.clear();
                accesses.clear();
            }
        }
    }

    /// Runs blocks on a layer, each with so many instructions at most.
    fn run_ahead(
        &self,
        memory: &Memory,
        (layer, global): &mut (Layer, Global),
        blocks: Range<u64>,
        most: u64,
    ) -> Result<Done> {
        let patience = self.options.patience.min(PATIENCE);
        let budget = self.options.budget.min(most);
        let options = Options { patience, budget, ..*self.options };
        let task = Task { options: &options, ..*self };
        let done = Done::new(&task);
        Machine::new(&task, View::Layered(memory, layer), global, done)?.run(blocks)
    }
}

/// Does a program access what other blocks change at the same time? Its blocks would mostly
/// run ahead for nothing. And what a clock shows depends on what has run before.
fn waits_for_others(program: &Program) -> bool {
    let elsewhere = |space| !matches!(space, Space::Shared | Space::Local);
    program.code.iter().any(|instruction| match &instruction.operation {
        Op::Load(access) | Op::Store(access) => {
            access.strength != Strength::Weak && elsewhere(access.address.space)
        }
        Op::Atomic(atomic) => elsewhere(atomic.address.space),
        Op::Clock(_) => true,
        _ => false,
    })
}
