//! Instructions in which lanes or warps meet.

use crate::decode::memory::{atomic_kind, number};
use crate::decode::{Decoder, Result};
use crate::program::{
    AtomicKind, Barrier, Consensus, Match, Op, Preset, Program, Reduce, Shuffle, ShuffleKind, Vote,
    VoteKind,
};
use crate::registers::{Class, Role, Slot};
use crate::syntax::Operand;
use crate::table::Form;

impl Decoder<'_> {
    pub(super) fn narrow(&mut self, operand: &Operand) -> Result<Slot> {
        self.source(operand, Class::Narrow)
    }

    pub(super) fn barrier(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let aligned = form.take("aligned") || name.starts_with("bar.");
        form.take("cta");
        if form.take("warp") {
            let [members] = self.exactly(name, operands)?;
            let members = self.narrow(members)?;
            return self.emit(Op::WarpBarrier(members));
        }
        let what = form.take_one_of(&["sync", "arrive", "red"]);
        let how = form.take_one_of(&["popc", "and", "or"]);
        let (Some(what), true) = (what, form.modifiers.is_empty()) else {
            return Err(self.unsupported(name));
        };
        let mut barrier = Barrier {
            number: self.constant(Class::Narrow, Preset::Bits(0))?,
            threads: None,
            only_arrive: what == "arrive",
            aligned,
            reduction: None,
        };
        let mut operands = operands;
        if let (Some(how), [result, middle @ .., value]) = (how, operands) {
            let (how, class) = match how {
                "popc" => (Consensus::Count, Class::Narrow),
                "and" => (Consensus::All, Class::Predicate),
                _ => (Consensus::Any, Class::Predicate),
            };
            let result = self.result(result, class)?;
            let value = self.source(value, Class::Predicate)?;
            barrier.reduction = Some((how, value, result));
            operands = middle;
        }
        if barrier.reduction.is_some() != (what == "red") {
            return Err(self.unsupported(name));
        }
        match operands {
            [] => {}
            [number] => barrier.number = self.narrow(number)?,
            [number, threads] => {
                barrier.number = self.narrow(number)?;
                barrier.threads = Some(self.narrow(threads)?);
                barrier.aligned = false;
            }
            _ => return Err(self.wrong_operands(name)),
        }
        if barrier.only_arrive && barrier.threads.is_none() {
            return Err(self.error(format!("{name} must tell how many threads")));
        }
        self.emit(Op::Barrier(Box::new(barrier)))
    }

    pub(super) fn shuffle(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let kind = match form.take_one_of(&["up", "down", "bfly", "idx"]) {
            Some("up") => ShuffleKind::Up,
            Some("down") => ShuffleKind::Down,
            Some("bfly") => ShuffleKind::Butterfly,
            Some(_) => ShuffleKind::Index,
            None => return Err(self.unsupported(name)),
        };
        if !form.take("sync") || !form.modifiers.is_empty() {
            return Err(self.unsupported(name));
        }
        let [result, value, lane, clamp, members] = self.exactly(name, operands)?;
        let (result, in_range) = Self::both(result);
        let shuffle = Shuffle {
            kind,
            result: self.any_register(result)?,
            in_range: in_range
                .map(|in_range| self.result(in_range, Class::Predicate))
                .transpose()?,
            value: self.narrow(value)?,
            lane: self.narrow(lane)?,
            clamp: self.narrow(clamp)?,
            members: self.narrow(members)?,
        };
        if shuffle.result.is_some_and(|result| result.class != Class::Narrow) {
            return Err(self.error("the result is not a register of 32 bits"));
        }
        self.emit(Op::Shuffle(Box::new(shuffle)))
    }

    pub(super) fn vote(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let (kind, class) = match form.take_one_of(&["all", "any", "uni", "ballot"]) {
            Some("all") => (VoteKind::All, Class::Predicate),
            Some("any") => (VoteKind::Any, Class::Predicate),
            Some("uni") => (VoteKind::Uniform, Class::Predicate),
            Some(_) => (VoteKind::Ballot, Class::Narrow),
            None => return Err(self.unsupported(name)),
        };
        if !form.take("sync") || !form.modifiers.is_empty() {
            return Err(self.unsupported(name));
        }
        let [result, value, members] = self.exactly(name, operands)?;
        let vote = Vote {
            kind,
            result: self.result(result, class)?,
            value: self.source(value, Class::Predicate)?,
            members: self.narrow(members)?,
        };
        self.emit(Op::Vote(Box::new(vote)))
    }

    pub(super) fn matching(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let all = form.take("all");
        if !(all || form.take("any")) || !form.take("sync") {
            return Err(self.unsupported(name));
        }
        let class = match form.only_type() {
            Some("b32") => Class::Narrow,
            Some("b64") => Class::Wide,
            _ => return Err(self.unsupported(name)),
        };
        let [result, value, members] = self.exactly(name, operands)?;
        let (result, agreed) = Self::both(result);
        let matching = Match {
            all,
            result: self.result(result, Class::Narrow)?,
            agreed: agreed.map(|agreed| self.result(agreed, Class::Predicate)).transpose()?,
            value: self.source(value, class)?,
            members: self.narrow(members)?,
        };
        self.emit(Op::Match(Box::new(matching)))
    }

    pub(super) fn reduce(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let sync = form.take("sync");
        let kind = match form.modifiers[..] {
            [kind] if sync => atomic_kind(kind),
            _ => None,
        };
        let number = match form.only_type() {
            Some(kind @ ("u32" | "s32" | "b32")) => number(kind, 4),
            _ => None,
        };
        let (Some(kind), Some(number)) = (kind, number) else {
            return Err(self.unsupported(name));
        };
        if matches!(
            kind,
            AtomicKind::Increment
                | AtomicKind::Decrement
                | AtomicKind::Exchange
                | AtomicKind::CompareAndSwap
        ) {
            return Err(self.unsupported(name));
        }
        let [result, value, members] = self.exactly(name, operands)?;
        let reduce = Reduce {
            kind,
            number,
            result: self.result(result, Class::Narrow)?,
            value: self.narrow(value)?,
            members: self.narrow(members)?,
        };
        self.emit(Op::Reduce(Box::new(reduce)))
    }
}

/// May threads meet, or tell each other something, that are not all of a block or of a warp?
pub(super) fn is_partial(program: &Program) -> bool {
    program.code.iter().any(|instruction| match &instruction.operation {
        Op::Fence(_) => true,
        Op::Load(access) | Op::Store(access) => access.releases,
        Op::Atomic(atomic) => atomic.releases,
        Op::Barrier(barrier) => barrier.threads.is_some(),
        Op::WarpBarrier(members) => !is_whole(program, *members),
        _ => false,
    })
}

/// Is this mask that of all lanes, whatever the kernel does?
fn is_whole(program: &Program, mask: Slot) -> bool {
    let is_set = |mask: Slot| {
        let mut presets = program.presets.iter();
        let found = presets.find(|(slot, _)| *slot == mask).map(|(_, preset)| *preset);
        matches!(found, Some(Preset::Bits(bits)) if bits as u32 == u32::MAX)
    };
    let writes = program.code.iter().filter_map(|instruction| match &instruction.operation {
        Op::Compute(operation, operands) => {
            let result = Slot { class: operation.result, index: operands.result };
            (result == mask).then_some((operation, operands))
        }
        _ => None,
    });
    let mut written = false;
    let mut copies = writes.map(|(operation, operands)| {
        written = true;
        operation.role == Role::Moves
            && is_set(Slot { class: operation.sources[0], index: operands.sources[0] })
    });
    is_set(mask) || copies.all(|copy| copy) && written
}
