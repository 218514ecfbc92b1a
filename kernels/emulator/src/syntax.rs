//! PTX as a tree: variables, functions, statements, operands. What they mean is for
//! [`decode`](crate::decode) to find out.

use std::collections::HashSet;

use crate::error::ParseError;
use crate::space::{FUNCTION_BYTES, FUNCTIONS};
use crate::syntax::parser::Parser;

mod parser;
mod token;

/// How deep braces may be nested.
const DEEPEST: u32 = 64;

/// A file of PTX.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// `.file`: numbers and names of source files.
    pub(crate) sources: Vec<(u32, String)>,
    pub(crate) variables: Vec<Declaration>,
    pub(crate) functions: Vec<Function>,
}

impl File {
    /// Where the function with this name seems to lie.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        let place = self.functions.iter().position(|function| function.name == name)?;
        Some(FUNCTIONS + FUNCTION_BYTES * place as u64)
    }

    /// Functions whose address is in a register or a variable somewhere.
    pub(crate) fn pointed_at(&self) -> Vec<&Function> {
        let mut names = HashSet::new();
        for variable in &self.variables {
            names.extend(variable.values.iter().filter_map(|value| match value {
                Value::Address(name, _) => Some(name.as_str()),
                Value::Bits(_) => None,
            }));
        }
        let bodies =
            self.functions.iter().filter_map(|function| function.body.as_ref()?.as_ref().ok());
        let mut left = bodies.map(Vec::as_slice).collect::<Vec<_>>();
        while let Some(statements) = left.pop() {
            for statement in statements {
                match statement {
                    Statement::Scope(inner) => left.push(inner),
                    Statement::Instruction(Instruction { name, operands, .. })
                        if name.starts_with("mov.") =>
                    {
                        names.extend(operands.iter().filter_map(|operand| match operand {
                            Operand::Name(name) => Some(name.as_str()),
                            _ => None,
                        }));
                    }
                    _ => {}
                }
            }
        }
        let functions = self.functions.iter().filter(|function| function.body.is_some());
        functions.filter(|function| names.contains(function.name.as_str())).collect()
    }
}

/// A variable, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) line: u32,
    /// `.global`, `.shared`, `.param` and so on, without the dot.
    pub(crate) space: String,
    pub(crate) external: bool,
    pub(crate) align: u64,
    pub(crate) name: String,
    /// Bytes of an element.
    pub(crate) element: u64,
    pub(crate) is_float: bool,
    pub(crate) bytes: u64,
    pub(crate) values: Vec<Value>,
}

/// A first value of an element of a variable.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bits(u64),
    /// The address of another variable, and an offset.
    Address(String, i64),
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) kernel: bool,
    pub(crate) results: Vec<Declaration>,
    pub(crate) parameters: Vec<Declaration>,
    pub(crate) max_threads: Option<u32>,
    /// Nothing, if the function is only declared; an error, if it holds what the parser does
    /// not understand.
    pub(crate) body: Option<Result<Vec<Statement>, ParseError>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// `{ … }`
    Scope(Vec<Statement>),
    /// `.reg .b32 %r<3>`: the type, and names with the number of registers behind each.
    Registers {
        line: u32,
        kind: String,
        names: Vec<(String, Option<u32>)>,
    },
    Variable(Declaration),
    Label(u32, String),
    /// `name: .branchtargets a, b`
    Targets(String, Vec<String>),
    /// `.pragma "used_bytes_mask 3"`: of the load that follows, a bit for each byte.
    UsedBytes(u64),
    /// `.loc`: file and line of the source.
    Source((u32, u32), Option<(u32, u32)>),
    Instruction(Instruction),
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) line: u32,
    /// The register of `@p` or `@!p`, and whether it is the latter.
    pub(crate) guard: Option<(String, bool)>,
    /// The operation with its modifiers.
    pub(crate) name: String,
    pub(crate) operands: Vec<Operand>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, a variable, a label.
    Name(String),
    /// The address of a variable, and an offset.
    Offset(String, i64),
    /// A number, as bits: 64 of an integer or a double, 32 of a float.
    Bits(u64),
    /// `!p`
    Not(String),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `[a+4]`, and what stands behind a comma.
    Memory(Box<Operand>, i64, Vec<Operand>),
    /// `p|q`
    Both(Box<Operand>, Box<Operand>),
    /// `(a, b)`, in calls.
    List(Vec<Operand>),
}

pub(crate) fn parse(text: &str) -> Result<File, ParseError> {
    Parser::new(token::tokens(text)?).file()
}

/// The size of a type such as `.u32`, given without the dot.
pub(crate) fn size_of(kind: &str) -> Option<u64> {
    Some(match kind {
        "b8" | "u8" | "s8" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// A number as PTX writes it.
pub(crate) fn number(word: &str) -> Option<u64> {
    let digits = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    let word = word.strip_suffix('U').unwrap_or(word);
    let prefix =
        |small: &str, large: &str| word.strip_prefix(small).or_else(|| word.strip_prefix(large));
    if let Some(bits) = prefix("0f", "0F").or_else(|| prefix("0d", "0D")) {
        return digits(bits, 16);
    }
    if let Some(hex) = prefix("0x", "0X") {
        return digits(hex, 16);
    }
    if let Some(binary) = prefix("0b", "0B") {
        return digits(binary, 2);
    }
    if word.starts_with('0') && word.len() > 1 && !word.contains('.') {
        return digits(word, 8);
    }
    digits(word, 10)
}
