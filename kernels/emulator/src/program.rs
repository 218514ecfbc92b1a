//! A kernel, decoded: a flat list of instructions whose operands are numbers of
//! registers.

use std::ops::Range;

use crate::fault::Place;
use crate::matrix::Fragment;
use crate::registers::{Operands, Operation, Slot};
use crate::space::Space;

/// What a kernel is made of. Calls are inlined, so there is only one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) code: Vec<Instruction>,
    /// The lines that instructions come from.
    pub(crate) places: Vec<Place>,
    /// For each place the line where the function was called that it is in, if it was put there.
    pub(crate) callers: Vec<Option<(String, u32)>>,
    /// Registers that have a value from the start: constants, parameters, `%tid.x`.
    pub(crate) presets: Vec<(Slot, Preset)>,
    /// For each instruction its [operands](Op::operands).
    pub(crate) operands: Vec<Box<[(Slot, Use)]>>,
    /// For each instruction the range of the array in shared memory that it accesses, if that is
    /// always the same.
    pub(crate) bounds: Vec<Option<Range<u64>>>,
    /// Registers that may be read before anything was written to them.
    pub(crate) unset: Vec<Slot>,
    /// How many registers there are of each [class](crate::registers::Class).
    pub(crate) registers: [usize; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) shared: Vec<SharedArray>,
    /// How dynamic shared memory, which follows, is aligned.
    pub(crate) dynamic_align: u32,
    pub(crate) local_bytes: u32,
    /// Bytes of the narrowest access that may be to shared memory, 16 at most.
    pub(crate) granule: u32,
    /// The same for device memory.
    pub(crate) global_granule: u32,
    pub(crate) uses_variables: bool,
    /// Whether threads may meet, or tell each other something, that are not all of a block.
    pub(crate) partial: bool,
}

/// An array in shared memory, or another variable.
#[derive(Clone, Debug)]
pub(crate) struct SharedArray {
    pub(crate) name: String,
    /// Where it is; None if it is dynamic, and behind all others.
    pub(crate) start: Option<u32>,
    pub(crate) bytes: u64,
    pub(crate) align: u64,
}

/// What a register holds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    Bits(u64),
    /// A part of a kernel parameter.
    Parameter {
        offset: u32,
        bytes: u8,
        signed: bool,
    },
    /// The address of a variable of the module, and an offset.
    Variable {
        index: usize,
        offset: i64,
    },
    /// The address of an array in shared memory, by its number, and an offset.
    Shared {
        array: u16,
        offset: i64,
    },
    /// The address of dynamic shared memory, and an offset.
    Dynamic {
        offset: i64,
    },
    Special(Special),
}

/// A register that PTX provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Thread(usize),
    Threads(usize),
    Block(usize),
    Blocks(usize),
    Lane,
    Warp,
    Warps,
    LanesEqual,
    LanesBefore,
    LanesUpTo,
    LanesAfter,
    LanesFrom,
    DynamicSharedBytes,
    SharedBytes,
    /// What the driver tells of a cooperative launch: that it is none.
    Cooperation,
    Zero,
    One,
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Op,
    /// A predicate, and whether it must be false.
    pub(crate) guard: Option<(u16, bool)>,
    pub(crate) place: u32,
    /// 0 for all but the first of several that one PTX instruction became.
    pub(crate) weight: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Compute(Operation, Operands),
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    CopyAsync(Box<CopyAsync>),
    CommitCopies,
    /// `fence`, `membar`
    Fence(Scope),
    /// Waits until at most so many groups of copies are in flight.
    WaitForCopies(u32),
    Branch(u32),
    BranchTable(Slot, Box<[u32]>),
    Exit,
    Trap,
    /// Behind a call through a pointer: its address is that of no function that can be called.
    NoFunction(Slot),
    Barrier(Box<Barrier>),
    /// `bar.warp.sync`, with its members.
    WarpBarrier(Slot),
    Shuffle(Box<Shuffle>),
    Vote(Box<Vote>),
    Match(Box<Match>),
    Reduce(Box<Reduce>),
    /// All lanes of the warp must be here: of an instruction with this name.
    Aligned(Box<str>),
    LoadMatrices(Box<LoadMatrices>),
    Multiply(Box<Multiply>),
    ActiveMask(Slot),
    Clock(Slot),
    Print(Box<Print>),
    /// `assert` failed: the places of its arguments in local memory.
    AssertionFailed(Box<[u32]>),
    Nothing,
}

/// What an instruction does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Reads it and does what it says: an address, a condition, a number to add. It is a
    /// mistake if nobody has written it.
    Needs,
    /// Reads it and copies it to memory. It may be padding of a struct, but nothing that was
    /// computed from what nobody has written.
    Stores,
    /// Reads it for its results. What that makes of them is told where they are
    /// [marked](Self::Marks).
    Passes,
    /// Reads it and takes it as it is: the mask of a shuffle, the number of a barrier.
    Trusts,
    /// Writes a value that means something, because all that it needs does.
    Writes,
    /// Writes a value that means nothing if what it comes from does not: `machine::taint` has a
    /// function for it, which the instruction calls.
    Marks,
}

impl Use {
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Marks)
    }
}

impl Op {
    /// Visits all registers but the guard, first those that are read. Registers are shared and
    /// uses of what nobody has written are found by what it says.
    pub(crate) fn operands(&mut self, visit: &mut dyn FnMut(&mut Slot, Use)) {
        match self {
            Self::Compute(operation, operands) => {
                let mut visit_index = |class, index: &mut u16, how| {
                    let mut slot = Slot { class, index: *index };
                    visit(&mut slot, how);
                    *index = slot.index;
                };
                for (class, source) in operation.sources.iter().zip(&mut operands.sources) {
                    visit_index(*class, source, Use::Passes);
                }
                visit_index(operation.result, &mut operands.result, Use::Marks);
            }
            Self::Load(access) => {
                visit(&mut access.address.base, Use::Needs);
                access.registers.iter_mut().flatten().for_each(|slot| visit(slot, Use::Marks));
            }
            Self::Store(access) => {
                visit(&mut access.address.base, Use::Needs);
                access.registers.iter_mut().flatten().for_each(|slot| visit(slot, Use::Stores));
            }
            Self::Atomic(atomic) => {
                visit(&mut atomic.address.base, Use::Needs);
                visit(&mut atomic.operand, Use::Needs);
                atomic.swap.iter_mut().for_each(|slot| visit(slot, Use::Needs));
                atomic.result.iter_mut().for_each(|slot| visit(slot, Use::Writes));
            }
            Self::CopyAsync(copy) => {
                visit(&mut copy.to.base, Use::Needs);
                visit(&mut copy.from.base, Use::Needs);
                copy.source_bytes.iter_mut().for_each(|slot| visit(slot, Use::Trusts));
            }
            Self::BranchTable(index, _) => visit(index, Use::Needs),
            Self::NoFunction(pointer) => visit(pointer, Use::Needs),
            Self::WarpBarrier(members) => visit(members, Use::Trusts),
            Self::ActiveMask(result) | Self::Clock(result) => visit(result, Use::Writes),
            Self::Barrier(barrier) => {
                visit(&mut barrier.number, Use::Trusts);
                barrier.threads.iter_mut().for_each(|slot| visit(slot, Use::Trusts));
                if let Some((_, value, result)) = &mut barrier.reduction {
                    visit(value, Use::Needs);
                    visit(result, Use::Writes);
                }
            }
            Self::Shuffle(shuffle) => {
                visit(&mut shuffle.value, Use::Passes);
                visit(&mut shuffle.lane, Use::Needs);
                visit(&mut shuffle.clamp, Use::Trusts);
                visit(&mut shuffle.members, Use::Trusts);
                shuffle.result.iter_mut().for_each(|slot| visit(slot, Use::Marks));
                shuffle.in_range.iter_mut().for_each(|slot| visit(slot, Use::Writes));
            }
            Self::Vote(vote) => {
                visit(&mut vote.value, Use::Needs);
                visit(&mut vote.members, Use::Trusts);
                visit(&mut vote.result, Use::Writes);
            }
            Self::Match(matching) => {
                visit(&mut matching.value, Use::Needs);
                visit(&mut matching.members, Use::Trusts);
                visit(&mut matching.result, Use::Writes);
                matching.agreed.iter_mut().for_each(|slot| visit(slot, Use::Writes));
            }
            Self::Reduce(reduce) => {
                visit(&mut reduce.value, Use::Needs);
                visit(&mut reduce.members, Use::Trusts);
                visit(&mut reduce.result, Use::Writes);
            }
            Self::LoadMatrices(load) => {
                visit(&mut load.address.base, Use::Needs);
                load.results.iter_mut().for_each(|slot| visit(slot, Use::Marks));
            }
            Self::Multiply(multiply) => {
                let Multiply { a, b, c, d, .. } = &mut **multiply;
                for matrix in [a, b, c] {
                    matrix.registers.iter_mut().for_each(|slot| visit(slot, Use::Passes));
                }
                d.registers.iter_mut().for_each(|slot| visit(slot, Use::Marks));
            }
            Self::CommitCopies
            | Self::Aligned(_)
            | Self::Fence(_)
            | Self::WaitForCopies(_)
            | Self::Branch(_)
            | Self::Exit
            | Self::Trap
            | Self::Print(_)
            | Self::AssertionFailed(_)
            | Self::Nothing => {}
        }
    }

    /// The members of an operation that lanes do together, all of them at one instruction.
    pub(crate) fn members(&self) -> Option<Slot> {
        match self {
            Self::Shuffle(shuffle) => Some(shuffle.members),
            Self::Vote(vote) => Some(vote.members),
            Self::Match(matching) => Some(matching.members),
            Self::Reduce(reduce) => Some(reduce.members),
            _ => None,
        }
    }
}

/// Where an access starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    /// Bytes of an element.
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    pub(crate) strength: Strength,
    pub(crate) scope: Scope,
    /// `ld.global.nc`: of what nobody writes in this launch.
    pub(crate) read_only: bool,
    /// Bytes that are loaded and not used, as padding is, as far as the compiler says so.
    pub(crate) unused: u32,
    /// `acquire` and stronger, for all blocks: needs no fence behind it.
    pub(crate) acquires: bool,
    /// `release` and stronger: who reads what is written sees what was done before.
    pub(crate) releases: bool,
    /// One for each element of a vector. None for `_`.
    pub(crate) registers: Box<[Option<Slot>]>,
}

/// How an access stands to others of the same bytes. Two that are not weak do not race, if
/// one is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    Weak,
    /// `volatile`, which orders nothing. A load that a thread polls, as that of a flag, counts as
    /// atomic.
    Volatile,
    /// `relaxed` and stronger.
    Atomic,
}

/// For which threads a fence or an atomic access counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// `cta`: those of the block.
    Block,
    /// `gpu`, `sys`: all.
    Grid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
    Exchange,
    CompareAndSwap,
}

/// What the bits of an operand mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Unsigned,
    Signed,
    Float,
    /// Two `f16`.
    Pair,
    /// A `bf16`.
    BrainFloat,
    /// Two of them.
    BrainPair,
}

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) address: Address,
    pub(crate) kind: AtomicKind,
    pub(crate) number: Number,
    pub(crate) bytes: usize,
    pub(crate) scope: Scope,
    /// As of an [access](Access::acquires).
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
    /// `red`: nobody can ask for the old value.
    pub(crate) is_reduction: bool,
    /// Adds 1 to a word, which shared memory does for all lanes of one address at once.
    pub(crate) counts: bool,
    /// What a compare-and-swap expects may come from a plain read.
    pub(crate) after_plain_read: bool,
    /// Where the old value goes, unless nobody wants it.
    pub(crate) result: Option<Slot>,
    pub(crate) operand: Slot,
    /// The new value of a compare-and-swap.
    pub(crate) swap: Option<Slot>,
}

#[derive(Clone, Debug)]
pub(crate) struct CopyAsync {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: usize,
    /// How many of the bytes to read; the rest becomes zero.
    pub(crate) source_bytes: Option<Slot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consensus {
    Count,
    All,
    Any,
}

#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub(crate) number: Slot,
    pub(crate) threads: Option<Slot>,
    /// `bar.arrive`: does not wait.
    pub(crate) only_arrive: bool,
    /// Whether all threads have to come to this one, and to no other, as with `bar.sync 0`.
    pub(crate) aligned: bool,
    /// `bar.red`: how, of which predicate, where to.
    pub(crate) reduction: Option<(Consensus, Slot, Slot)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleKind {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    pub(crate) kind: ShuffleKind,
    pub(crate) result: Option<Slot>,
    /// Whether the lane to read from was in range.
    pub(crate) in_range: Option<Slot>,
    pub(crate) value: Slot,
    pub(crate) lane: Slot,
    pub(crate) clamp: Slot,
    pub(crate) members: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteKind {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Debug)]
pub(crate) struct Vote {
    pub(crate) kind: VoteKind,
    pub(crate) result: Slot,
    pub(crate) value: Slot,
    pub(crate) members: Slot,
}

#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// `match.all`, which has a predicate as well.
    pub(crate) all: bool,
    pub(crate) result: Slot,
    pub(crate) agreed: Option<Slot>,
    pub(crate) value: Slot,
    pub(crate) members: Slot,
}

/// `redux.sync`
#[derive(Clone, Debug)]
pub(crate) struct Reduce {
    pub(crate) kind: AtomicKind,
    pub(crate) number: Number,
    pub(crate) result: Slot,
    pub(crate) value: Slot,
    pub(crate) members: Slot,
}

/// `ldmatrix`: matrices of 8 by 8 elements of 16 bits, a register for each.
#[derive(Clone, Debug)]
pub(crate) struct LoadMatrices {
    /// Of a row: eight lanes have those of one matrix.
    pub(crate) address: Address,
    pub(crate) transposed: bool,
    pub(crate) results: Box<[Slot]>,
}

/// A matrix in registers.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) fragment: Fragment,
    pub(crate) registers: Box<[Slot]>,
}

/// `mma`, `wmma.mma`: D = A B + C.
#[derive(Clone, Debug)]
pub(crate) struct Multiply {
    pub(crate) shape: [usize; 3],
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) d: Matrix,
    /// An integer that is too large becomes the largest.
    pub(crate) saturates: bool,
}

/// `vprintf`: places in local memory of its two arguments, and of its result.
#[derive(Clone, Debug)]
pub(crate) struct Print {
    pub(crate) format: u32,
    pub(crate) arguments: u32,
    pub(crate) result: Option<u32>,
}
