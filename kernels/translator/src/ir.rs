//! A module of LLVM IR as far as the translator knows it.

use std::collections::HashMap;

use crate::code::Part;
use crate::types::{Space, Type};
use crate::{Error, Result};

/// The number of a value in its function, and of a block.
pub(crate) type Id = usize;

pub(crate) struct Module<'t> {
    /// Where the IR comes from.
    pub(crate) source: &'t str,
    pub(crate) globals: Vec<Global<'t>>,
    pub(crate) functions: Vec<Function<'t>>,
}

/// A variable in device, shared or constant memory.
pub(crate) struct Global<'t> {
    pub(crate) name: &'t str,
    pub(crate) space: Space,
    pub(crate) external: bool,
    pub(crate) align: u64,
    /// What it begins with.
    pub(crate) value: Typed<'t>,
}

/// A kernel.
pub(crate) struct Function<'t> {
    pub(crate) name: &'t str,
    /// `"target-cpu"` and the like.
    pub(crate) attributes: HashMap<&'t str, &'t str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) blocks: Vec<Vec<Instruction<'t>>>,
    /// How many values it has. The parameters come first.
    pub(crate) values: usize,
}

pub(crate) struct Parameter {
    pub(crate) kind: Type,
    /// Where it points to, if it is a pointer; of a structure that is passed itself, where it is.
    pub(crate) space: Space,
}

impl Function<'_> {
    /// The version of PTX that clang was told to make: 75 is 7.5.
    pub(crate) fn ptx_version(&self) -> u32 {
        let features = self.attributes.get("target-features").unwrap_or(&"");
        let versions = features.split(',').filter_map(|feature| feature.strip_prefix("+ptx"));
        versions.filter_map(|version| version.parse().ok()).max().unwrap_or(0)
    }
}

pub(crate) enum Value<'t> {
    Local(Id),
    /// The scalars of a constant.
    Parts(Vec<Part>),
    /// Nothing but zeros, or nobody cares.
    Zero,
    Undefined,
    /// What an instruction without a name computes.
    Expression(Box<Instruction<'t>>),
}

/// A value with its type.
pub(crate) struct Typed<'t> {
    pub(crate) kind: Type,
    pub(crate) value: Value<'t>,
}

impl Typed<'_> {
    /// The number that it is.
    pub(crate) fn number(&self) -> Option<u64> {
        match &self.value {
            Value::Parts(parts) if parts.len() == 1 => parts[0].bits(),
            Value::Zero => Some(0),
            _ => None,
        }
    }
}

/// An instruction: what it does, and whatever its text names, in that order.
#[derive(Default)]
pub(crate) struct Instruction<'t> {
    pub(crate) op: Op,
    pub(crate) result: Option<Id>,
    pub(crate) flags: Vec<&'t str>,
    /// What is compared or done atomically, the called function, or PTX that the source has in it.
    pub(crate) name: &'t str,
    /// Of such PTX: where its operands are to be.
    pub(crate) constraints: &'t str,
    /// A type without a value: of what is loaded, lies at an address, or is the result.
    pub(crate) of: Type,
    pub(crate) operands: Vec<Typed<'t>>,
    pub(crate) blocks: Vec<Id>,
    pub(crate) indices: Vec<u64>,
    pub(crate) align: Option<u64>,
    /// The line of the source, or 0.
    pub(crate) line: u32,
}

impl<'t> Instruction<'t> {
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// Its first operands, if there are so many.
    pub(crate) fn operands<const N: usize>(&self) -> Result<&[Typed<'t>; N]> {
        let found = self.operands.first_chunk();
        found.ok_or_else(|| Error::unknown(format!("{:?} of fewer than {N} operands", self.op)))
    }
}

macro_rules! operations {
    ($($name:ident $word:literal $ptx:literal,)*) => {
        /// What an instruction does.
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub(crate) enum Op { #[default] Nothing, $($name,)* }

        impl Op {
            /// By LLVM's word for it.
            pub(crate) fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The instruction that it is, without the bits of its operands; of some there is none.
            pub(crate) fn ptx(self) -> &'static str {
                ["", $($ptx,)*][self as usize]
            }
        }
    };
}

// With a rounding of its own, ptxas fuses nothing that is not fused here.
operations! {
    Add "add" "add.s", Sub "sub" "sub.s", Mul "mul" "mul.lo.s",
    UDiv "udiv" "div.u", SDiv "sdiv" "div.s", URem "urem" "rem.u", SRem "srem" "rem.s",
    Shl "shl" "shl.b", LShr "lshr" "shr.u", AShr "ashr" "shr.s",
    And "and" "and.b", Or "or" "or.b", Xor "xor" "xor.b",
    FAdd "fadd" "add.rn.f", FSub "fsub" "sub.rn.f", FMul "fmul" "mul.rn.f", FDiv "fdiv" "div.rn.f",
    Trunc "trunc" "", ZExt "zext" "", SExt "sext" "", FPTrunc "fptrunc" "", FPExt "fpext" "",
    FPToUI "fptoui" "", FPToSI "fptosi" "", UIToFP "uitofp" "", SIToFP "sitofp" "",
    PtrToInt "ptrtoint" "", IntToPtr "inttoptr" "", BitCast "bitcast" "",
    AddrSpaceCast "addrspacecast" "",
    GetElementPtr "getelementptr" "", Alloca "alloca" "", Load "load" "", Store "store" "",
    AtomicRmw "atomicrmw" "", CmpXchg "cmpxchg" "", FNeg "fneg" "", ICmp "icmp" "", FCmp "fcmp" "",
    Select "select" "", Freeze "freeze" "", ExtractValue "extractvalue" "",
    InsertValue "insertvalue" "", ExtractElement "extractelement" "",
    InsertElement "insertelement" "", Shuffle "shufflevector" "", Call "call" "",
    Assembly "call asm" "", Phi "phi" "", Br "br" "", Switch "switch" "", Ret "ret" "",
    Unreachable "unreachable" "",
}

impl Op {
    /// Whether it has two operands of the same type, which is its result's as well.
    pub(crate) fn is_binary(self) -> bool {
        (Self::Add..=Self::FDiv).contains(&self)
    }

    /// Whether its result has the type that follows `to`.
    pub(crate) fn is_conversion(self) -> bool {
        (Self::Trunc..=Self::AddrSpaceCast).contains(&self)
    }
}
