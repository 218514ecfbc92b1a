//! A module of LLVM IR as far as the translator knows it.

use std::collections::HashMap;

use crate::types::Type;

/// The number of a value in its function, and of a block.
pub(crate) type Id = usize;

#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Where the IR comes from.
    pub(crate) source: String,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
}

/// A variable in device, shared or constant memory.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) space: u32,
    pub(crate) external: bool,
    pub(crate) kind: Type,
    pub(crate) align: u64,
    pub(crate) value: Value,
}

/// A kernel.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// `"target-cpu"` and the like.
    pub(crate) attributes: HashMap<String, String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) blocks: Vec<Block>,
    /// The type of each value, by its number. The parameters come first.
    pub(crate) kinds: Vec<Type>,
}

impl Function {
    /// The version of PTX that clang was told to make: 75 is 7.5.
    pub(crate) fn ptx_version(&self) -> u32 {
        let features = self.attributes.get("target-features").map_or("", String::as_str);
        let versions = features.split(',').filter_map(|feature| feature.strip_prefix("+ptx"));
        versions.filter_map(|version| version.parse().ok()).max().unwrap_or(0)
    }
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) kind: Type,
    /// The structure that is passed itself, not by address.
    pub(crate) by_value: Option<Type>,
    /// Nobody writes what it points to while the kernel runs.
    pub(crate) read_only: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) code: Vec<Instruction>,
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) result: Option<Id>,
    /// The line of the source, or 0.
    pub(crate) line: u32,
    pub(crate) op: Op,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Local(Id),
    /// A number, or the bits of a float.
    Bits(u64),
    /// Nothing but zeros, or nobody cares.
    Zero,
    Undefined,
    /// A constant aggregate.
    Parts(Vec<Typed>),
    /// The address of a global in a space, as a pointer or a number.
    Address {
        global: usize,
        offset: i64,
        space: u32,
    },
}

/// A value with its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    pub(crate) kind: Type,
    pub(crate) value: Value,
}

/// Which access to memory it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub(crate) align: u64,
    pub(crate) volatile: bool,
    pub(crate) atomic: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// `add`, `fmul` and the like; whether it may become part of a fused multiply-add; whether it
    /// can't overflow as unsigned, as signed.
    Binary {
        name: String,
        a: Typed,
        b: Value,
        contract: bool,
        unsigned: bool,
        signed: bool,
    },
    Negate(Typed),
    Compare {
        how: String,
        float: bool,
        a: Typed,
        b: Value,
    },
    Select {
        by: Typed,
        a: Typed,
        b: Value,
    },
    Convert {
        name: String,
        from: Typed,
    },
    Freeze(Typed),
    Alloca {
        kind: Type,
        align: u64,
    },
    /// `getelementptr`.
    Element {
        of: Type,
        base: Typed,
        indices: Vec<Typed>,
    },
    Load {
        pointer: Typed,
        access: Access,
    },
    Store {
        value: Typed,
        pointer: Typed,
        access: Access,
    },
    Atomic {
        name: String,
        pointer: Typed,
        value: Typed,
        swap: Option<Value>,
    },
    Extract {
        from: Typed,
        indices: Vec<u64>,
    },
    Insert {
        into: Typed,
        value: Typed,
        indices: Vec<u64>,
    },
    ExtractElement {
        from: Typed,
        index: Value,
    },
    InsertElement {
        into: Typed,
        value: Typed,
        index: Value,
    },
    Shuffle {
        a: Typed,
        b: Value,
        mask: Vec<Option<usize>>,
    },
    Call {
        name: String,
        arguments: Vec<Typed>,
    },
    Assembly {
        text: String,
        constraints: String,
        arguments: Vec<Typed>,
    },
    Phi(Vec<(Value, Id)>),
    Jump(Id),
    Branch {
        by: Value,
        yes: Id,
        no: Id,
    },
    Switch {
        by: Typed,
        cases: Vec<(u64, Id)>,
        otherwise: Id,
    },
    Return,
    Unreachable,
}

impl Op {
    /// The blocks that may come next.
    pub(crate) fn targets(&self) -> Vec<Id> {
        match self {
            Self::Jump(to) => vec![*to],
            Self::Branch { yes, no, .. } => vec![*yes, *no],
            Self::Switch { cases, otherwise, .. } => {
                let cases = cases.iter().map(|(_, to)| *to);
                cases.chain([*otherwise]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// All values that it reads.
    pub(crate) fn each_value(&self, see: &mut impl FnMut(&Value)) {
        match self {
            Self::Binary { a, b, .. } | Self::Compare { a, b, .. } | Self::Shuffle { a, b, .. } => {
                see(&a.value);
                see(b);
            }
            Self::Select { by, a, b } => [&by.value, &a.value, b].into_iter().for_each(see),
            Self::Negate(value)
            | Self::Freeze(value)
            | Self::Convert { from: value, .. }
            | Self::Load { pointer: value, .. }
            | Self::Extract { from: value, .. }
            | Self::ExtractElement { from: value, .. }
            | Self::Switch { by: value, .. } => see(&value.value),
            Self::Element { base, indices, .. } => {
                see(&base.value);
                indices.iter().for_each(|index| see(&index.value));
            }
            Self::Store { value: a, pointer: b, .. }
            | Self::Insert { into: a, value: b, .. }
            | Self::InsertElement { into: a, value: b, .. } => {
                see(&a.value);
                see(&b.value);
            }
            Self::Atomic { pointer, value, swap, .. } => {
                see(&pointer.value);
                see(&value.value);
                swap.iter().for_each(see);
            }
            Self::Call { arguments, .. } | Self::Assembly { arguments, .. } => {
                arguments.iter().for_each(|argument| see(&argument.value));
            }
            Self::Phi(incoming) => incoming.iter().for_each(|(value, _)| see(value)),
            Self::Branch { by, .. } => see(by),
            Self::Alloca { .. } | Self::Jump(_) | Self::Return | Self::Unreachable => {}
        }
    }
}
