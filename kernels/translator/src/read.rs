//! From the text of LLVM IR to a [`Module`].

use std::collections::HashMap;

use crate::ir::{Function, Global, Instruction, Module, Parameter, Typed, Value};
use crate::types::Space;
use crate::{Error, Result};
use cursor::Cursor;
use lines::Lines;

mod cursor;
mod instruction;
mod lines;

pub(crate) use cursor::unescaped;

/// What stands in a module outside of functions and is needed inside.
pub(crate) struct Names<'t> {
    text: &'t str,
    source: &'t str,
    types: HashMap<&'t str, &'t str>,
    /// Number and address space.
    globals: HashMap<&'t str, (usize, Space)>,
    attributes: HashMap<&'t str, &'t str>,
    lines: Lines<'t>,
}

impl<'t> Names<'t> {
    pub(crate) fn new(text: &'t str) -> Result<Self> {
        let source = text.lines().find_map(|line| line.strip_prefix("source_filename = "));
        let source = source.ok_or_else(|| Error::new("this is no LLVM IR: it names no source"))?;
        let (types, globals, attributes) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (source, lines) = (source.trim_matches('"'), Lines::new(text));
        let mut names = Self { text, source, types, globals, attributes, lines };
        let lines = text.lines().filter(|line| !line.starts_with([' ', '!']));
        for (name, definition) in lines.filter_map(|line| line.split_once(" = ")) {
            if let Some(kind) = definition.strip_prefix("type ") {
                names.types.insert(name[1..].trim_matches('"'), kind);
            } else if let Some(group) = name.strip_prefix("attributes ") {
                names.attributes.insert(group, definition);
            } else if let Some(name) = name.strip_prefix('@') {
                let space = definition.split_once("addrspace(").map(|(_, rest)| rest);
                let space = space.and_then(|rest| rest.split_once(')')?.0.parse().ok());
                // Those of no space, such as texts, lie in device memory.
                let space = Space::numbered(space.unwrap_or(0).max(1))?;
                names.globals.insert(name.trim_matches('"'), (names.globals.len(), space));
            }
        }
        Ok(names)
    }

    pub(crate) fn module(&'t self) -> Result<Module<'t>> {
        let globals = self.text.lines().filter(|line| line.starts_with('@'));
        let globals = globals.map(|line| self.global(line)).collect::<Result<_>>()?;
        // Functions that are no kernels have been inlined.
        let functions = self.text.split("\ndefine ").skip(1).filter_map(|definition| {
            let (head, body) = definition.split_once('\n')?;
            let body = body.split("\n}").next()?;
            head.contains(" ptx_kernel ").then(|| self.function(head, body))
        });
        Ok(Module { source: self.source, globals, functions: functions.collect::<Result<_>>()? })
    }

    fn global(&'t self, line: &'t str) -> Result<Global<'t>> {
        let (name, definition) = line[1..].split_once(" = ").unwrap_or_default();
        let name = name.trim_matches('"');
        let (_, space) = self.globals.get(name).copied().unwrap_or((0, Space::Global));
        let (head, rest) = definition
            .split_once("global ")
            .or_else(|| definition.split_once("constant "))
            .ok_or_else(|| Error::unknown(format!("globals: {definition}")))?;
        let external = head.starts_with("external ");
        let mut cursor = Cursor::new(rest, self);
        let kind = cursor.kind()?;
        let align = rest.rsplit_once(", align ").and_then(|(_, align)| align.split(',').next());
        let align = align.and_then(|align| align.parse().ok()).unwrap_or_else(|| kind.align());
        let value = if external || name.starts_with("llvm.") {
            Typed { kind, value: Value::Undefined }
        } else {
            cursor.value(kind).map_err(|error| {
                Error::new(format!("{} (in the value of the variable {name})", error.what))
            })?
        };
        Ok(Global { name, space, external, align, value })
    }

    fn function(&'t self, head: &'t str, body: &'t str) -> Result<Function<'t>> {
        let (_, rest) = head.split_once(" @").unwrap_or_default();
        let mut cursor = Cursor::new(rest, self);
        let (name, mut parameters) = (cursor.name(), Vec::new());
        cursor.expect("(")?;
        while !cursor.take(")") {
            let mut kind = cursor.kind()?;
            let attributes = cursor.attributes();
            let by_value = attributes.split_once("byval(").map(|(_, kind)| kind);
            if let Some(text) = by_value {
                kind = Cursor::new(text, self).kind()?;
            }
            let space = match attributes.contains("noalias") && attributes.contains("readonly") {
                _ if by_value.is_some() => Space::Parameter,
                true => Space::ReadOnly,
                false => Space::Global,
            };
            let name = cursor.local().ok_or_else(|| cursor.wrong("a parameter's name"))?;
            cursor.id(name);
            parameters.push(Parameter { kind, space });
            cursor.take(",");
        }
        let group = cursor.rest().split(' ').find(|word| word.starts_with('#'));
        let group = group.and_then(|group| self.attributes.get(group)).unwrap_or(&"");
        let parts: Vec<_> = group.split('"').collect();
        let pairs = parts.windows(3).filter(|parts| parts[1] == "=");
        let attributes = pairs.map(|pair| (pair[0], pair[2])).collect();
        let blocks = self.blocks(&mut cursor, body)?;
        Ok(Function { name, attributes, parameters, blocks, values: cursor.values.len() })
    }

    fn blocks(
        &'t self,
        cursor: &mut Cursor<'t>,
        body: &'t str,
    ) -> Result<Vec<Vec<Instruction<'t>>>> {
        let label = |line: &str| {
            let is_label = !line.is_empty() && !line.starts_with([' ', ';']);
            let label = || line.split(':').next().unwrap_or_default();
            is_label.then(|| label().trim_matches('"').to_owned())
        };
        if label(body).is_none() {
            // The first block has the number after those of the parameters.
            cursor.blocks.insert(cursor.values.len().to_string(), 0);
        }
        for label in body.lines().filter_map(label) {
            let number = cursor.blocks.len();
            cursor.blocks.insert(label, number);
        }
        let (mut blocks, mut current, mut rest) = (Vec::new(), 0, body);
        blocks.resize_with(cursor.blocks.len(), Vec::new);
        while !rest.is_empty() {
            let end = |text: &str| text.find('\n').unwrap_or(text.len());
            let mut length = end(rest);
            if rest[..length].ends_with('[') {
                // The cases of a switch have lines of their own.
                let cases = rest.find(']').unwrap_or(length);
                length = cases + end(&rest[cases..]);
            }
            let text = rest[..length].trim();
            if let Some(label) = label(&rest[..length]) {
                current = cursor.blocks[&label];
            } else if !text.is_empty() && !text.starts_with([';', '#']) {
                let line = self.lines.of(text, self.source).unwrap_or(0);
                cursor.rest = text;
                let read = cursor.next().map_err(|error| error.at(line))?;
                blocks[current].extend(read.map(|read| Instruction { line, ..read }));
            }
            rest = rest[length..].strip_prefix('\n').unwrap_or_default();
        }
        Ok(blocks)
    }
}
