//! From the text of LLVM IR to a [`Module`].

use std::collections::HashMap;

use crate::ir::{Block, Function, Global, Id, Module, Parameter, Value};
use crate::types::{Type, space};
use crate::{Error, Result};
use cursor::Cursor;
use lines::Lines;

mod cursor;
mod instruction;
mod lines;
mod part;
mod value;

pub(crate) use value::sign_extended;

/// What stands in a module outside of functions and is needed inside.
struct Names<'a> {
    types: HashMap<&'a str, &'a str>,
    /// Number and address space.
    globals: HashMap<&'a str, (usize, u32)>,
    attributes: HashMap<&'a str, &'a str>,
    lines: Lines<'a>,
}

/// What a function calls its values and blocks.
#[derive(Default)]
struct Locals {
    values: HashMap<String, Id>,
    blocks: HashMap<String, Id>,
    kinds: Vec<Type>,
}

impl Locals {
    /// The number of a value, which may be defined further down.
    fn value(&mut self, name: &str) -> Id {
        let next = self.kinds.len();
        let id = *self.values.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.kinds.push(Type::Void);
        }
        id
    }

    fn block(&self, name: &str) -> Result<Id> {
        let block = self.blocks.get(name).copied();
        block.ok_or_else(|| Error::new(format!("there is no block {name}")))
    }
}

pub(crate) fn module(text: &str) -> Result<Module> {
    let source = text.lines().find_map(|line| line.strip_prefix("source_filename = "));
    let source = source.ok_or_else(|| Error::new("this is no LLVM IR: it names no source"))?;
    let source = source.trim_matches('"');
    let mut names = Names {
        types: HashMap::new(),
        globals: HashMap::new(),
        attributes: HashMap::new(),
        lines: Lines::new(text, source),
    };
    for line in text.lines() {
        let Some((name, definition)) = line.split_once(" = ") else { continue };
        if let Some(kind) = definition.strip_prefix("type ") {
            names.types.insert(name, kind);
        } else if let Some(group) = name.strip_prefix("attributes ") {
            names.attributes.insert(group, definition);
        } else if name.starts_with('@') {
            let (_, space, _) = head(definition)?;
            // Those of no space, such as texts, lie in device memory.
            names.globals.insert(name, (names.globals.len(), space.max(space::GLOBAL)));
        }
    }
    let mut module = Module { source: source.to_owned(), ..Module::default() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('@') {
            module.globals.push(names.global(line)?);
        } else if line.starts_with("define ") {
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != "}").collect();
            // Functions that are no kernels have been inlined.
            if line.contains(" ptx_kernel ") {
                module.functions.push(names.function(line, &body)?);
            }
        }
    }
    Ok(module)
}

/// Of a global's definition: is it external, its address space, and what follows `global`.
fn head(definition: &str) -> Result<(bool, u32, &str)> {
    let parts = definition.split_once("global ").or_else(|| definition.split_once("constant "));
    let (words, rest) = parts.ok_or_else(|| Error::unknown(format!("globals: {definition}")))?;
    let space = words.split_once("addrspace(").and_then(|(_, space)| space.split_once(')'));
    let space = space.and_then(|(space, _)| space.parse().ok()).unwrap_or(0);
    Ok((words.starts_with("external "), space, rest))
}

impl Names<'_> {
    fn cursor<'t>(&'t self, text: &'t str) -> Cursor<'t> {
        Cursor::new(text, self)
    }

    fn global(&self, line: &str) -> Result<Global> {
        let (name, definition) = line.split_once(" = ").unwrap_or_default();
        let (external, space, rest) = head(definition)?;
        let name = name[1..].trim_matches('"').to_owned();
        let mut cursor = self.cursor(rest);
        let kind = cursor.kind()?;
        let of_compiler = name.starts_with("llvm.");
        let value = match external || of_compiler {
            true => Value::Undefined,
            false => cursor.constant(&kind).map_err(|error| {
                Error::new(format!("{} (in the value of the variable {name})", error.what))
            })?,
        };
        let align = rest
            .rsplit_once(", align ")
            .and_then(|(_, align)| align.split(',').next().and_then(|align| align.parse().ok()));
        let align = align.unwrap_or_else(|| kind.align());
        Ok(Global { name, space: space.max(space::GLOBAL), external, kind, align, value })
    }

    fn function(&self, head: &str, body: &[&str]) -> Result<Function> {
        let (_, rest) = head.split_once(" @").unwrap_or_default();
        let mut cursor = self.cursor(rest);
        let mut function = Function { name: cursor.name().to_owned(), ..Function::default() };
        let mut locals = Locals::default();
        cursor.expect("(")?;
        while !cursor.take(")") {
            let kind = cursor.kind()?;
            let attributes = cursor.attributes()?;
            let number = function.parameters.len().to_string();
            let id = locals.value(cursor.local().unwrap_or(&number));
            locals.kinds[id] = kind.clone();
            let read_only = attributes.no_alias && attributes.read_only;
            let by_value = attributes.by_value;
            function.parameters.push(Parameter { kind, by_value, read_only });
            cursor.take(",");
        }
        let group = cursor.rest().split(' ').find(|word| word.starts_with('#'));
        let group = group.and_then(|group| self.attributes.get(group)).unwrap_or(&"");
        let parts: Vec<_> = group.split('"').collect();
        for pair in parts.windows(3).filter(|parts| parts[1] == "=") {
            function.attributes.insert(pair[0].to_owned(), pair[2].to_owned());
        }
        self.blocks(&mut function, &mut locals, body)?;
        function.kinds = locals.kinds;
        Ok(function)
    }

    fn blocks(&self, function: &mut Function, locals: &mut Locals, body: &[&str]) -> Result<()> {
        let label = |line: &str| {
            let label = line.split(':').next().filter(|_| !line.starts_with([' ', ';', ']']));
            label.filter(|label| !label.is_empty()).map(|label| label.trim_matches('"').to_owned())
        };
        if body.first().and_then(|line| label(line)).is_none() {
            // The first block has the number after those of the parameters.
            locals.blocks.insert(function.parameters.len().to_string(), 0);
        }
        for label in body.iter().filter_map(|line| label(line)) {
            let number = locals.blocks.len();
            locals.blocks.insert(label, number);
        }
        function.blocks.resize_with(locals.blocks.len(), Block::default);
        let mut current = 0;
        let mut lines = body.iter();
        while let Some(line) = lines.next() {
            if let Some(label) = label(line) {
                current = locals.block(&label)?;
                continue;
            }
            let mut text = line.trim().to_owned();
            if text.is_empty() || text.starts_with([';', '#']) {
                continue;
            }
            if text.ends_with('[') {
                let cases = lines.by_ref().take_while(|line| !line.trim().starts_with(']'));
                text.extend(cases.flat_map(|case| [" ", case.trim()]));
            }
            let line = self.lines.of(&text);
            let read = instruction::read(self.cursor(&text), locals, line);
            function.blocks[current].code.extend(read.map_err(|error| error.at(line))?);
        }
        Ok(())
    }
}
