//! A module of LLVM IR as far as the translator knows it.

use std::collections::HashMap;

use crate::code::Part;
use crate::types::{Space, Type};
use crate::{Known, Result};

/// The number of a value in its function, and of a block.
pub(crate) type Id = usize;

pub(crate) struct Module<'t> {
    /// Where the IR comes from.
    pub(crate) source: &'t str,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function<'t>>,
}

/// A variable in device, shared or constant memory.
pub(crate) struct Global {
    /// Its name, as PTX has room for it: of texts it is `$str1`.
    pub(crate) symbol: String,
    pub(crate) space: Space,
    pub(crate) external: bool,
    pub(crate) align: u64,
    pub(crate) kind: Type,
    /// What it begins with; nothing, if that is zeros.
    pub(crate) value: Vec<Part>,
}

/// A kernel.
pub(crate) struct Function<'t> {
    pub(crate) name: &'t str,
    /// `"target-cpu"` and the like.
    pub(crate) attributes: HashMap<&'t str, &'t str>,
    /// The parameters come first.
    pub(crate) values: Vec<Value<'t>>,
    /// Instructions, each of which is a value, even if it has no result.
    pub(crate) blocks: Vec<Vec<Id>>,
}

impl<'t> Function<'t> {
    /// The version of PTX that clang was told to make: 75 is 7.5.
    pub(crate) fn ptx_version(&self) -> u32 {
        let features = self.attributes.get("target-features").unwrap_or(&"");
        let versions = features.split(',').filter_map(|feature| feature.strip_prefix("+ptx"));
        versions.filter_map(|version| version.parse().ok()).max().unwrap_or(0)
    }

    /// The instruction that a value comes from.
    pub(crate) fn computed(&self, id: Id) -> Option<&Instruction<'t>> {
        if let Origin::Computed(by) = &self.values[id].origin { Some(by) } else { None }
    }

    pub(crate) fn instructions(&self, block: Id) -> impl Iterator<Item = (Id, &Instruction<'t>)> {
        let block = self.blocks.get(block).into_iter().flatten();
        block.filter_map(|id| Some((*id, self.computed(*id)?)))
    }

    /// The number that a value is.
    pub(crate) fn number(&self, id: Id) -> Option<u64> {
        match &self.values[id].origin {
            Origin::Constant(parts) if parts.len() == 1 => parts[0].bits(),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(crate) struct Value<'t> {
    pub(crate) kind: Type,
    pub(crate) origin: Origin<'t>,
    /// How many instructions use it.
    pub(crate) uses: usize,
}

#[derive(Default)]
pub(crate) enum Origin<'t> {
    #[default]
    Unknown,
    /// A parameter of this type: where it points to, if it is a pointer; of a structure that is
    /// passed itself, where it is.
    Given(Space, Type),
    /// The scalars of a constant.
    Constant(Vec<Part>),
    /// Whatever it is, nobody cares.
    Undefined,
    Computed(Box<Instruction<'t>>),
}

/// An instruction: what LLVM calls it, and whatever else its text names, in that order.
#[derive(Default)]
pub(crate) struct Instruction<'t> {
    pub(crate) op: &'t str,
    /// Where it is executed; of a part of a constant, wherever that is used.
    pub(crate) block: Option<Id>,
    pub(crate) flags: Vec<&'t str>,
    /// What is compared or done atomically, the called function, or PTX that the source has in it.
    pub(crate) name: &'t str,
    /// Of such PTX: where its operands are to be.
    pub(crate) constraints: &'t str,
    /// A type without a value: of what is loaded, lies at an address, or is the result.
    pub(crate) of: Type,
    pub(crate) operands: Vec<Id>,
    pub(crate) blocks: Vec<Id>,
    pub(crate) indices: Vec<u64>,
    pub(crate) align: Option<u64>,
    /// The line of the source, or 0.
    pub(crate) line: u32,
}

impl Instruction<'_> {
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// Its first operands, if there are so many.
    pub(crate) fn operands<const N: usize>(&self) -> Result<[Id; N]> {
        let found = self.operands.first_chunk().copied();
        found.known(format_args!("{} of fewer than {N} operands", self.op))
    }
}
