//! From the text of LLVM IR to a [`Module`].

use std::collections::HashMap;

use crate::code::{Arg, Part};
use crate::ir::{Function, Global, Id, Instruction, Module, Origin};
use crate::types::{Scalar, Space};
use crate::{Error, Known, Result};
use cursor::Cursor;

mod cursor;

pub(crate) use cursor::unescaped;

/// What stands in a module outside of functions and is needed inside.
#[derive(Default)]
struct Names<'t> {
    source: &'t str,
    types: HashMap<&'t str, &'t str>,
    /// Addresses of variables.
    globals: HashMap<&'t str, Part>,
    attributes: HashMap<&'t str, &'t str>,
    /// Debug information: by `!7`, what stands behind it, `!DILocation(` and the like.
    notes: HashMap<&'t str, &'t str>,
}

impl<'t> Names<'t> {
    /// The line of an instruction: of those that it was inlined through, the innermost one that is
    /// in the source itself.
    fn line(&self, instruction: &str) -> Option<u32> {
        let mut name = instruction.split_once("!dbg ")?.1.split(',').next()?.trim();
        loop {
            let file = self.note(self.note(name, "scope")?, "file")?;
            if self.note(file, "filename")? == self.source {
                return self.note(name, "line")?.parse().ok();
            }
            name = self.note(name, "inlinedAt")?;
        }
    }

    /// What a note has as this field.
    fn note(&self, name: &str, field: &str) -> Option<&'t str> {
        let (_, fields) = self.notes.get(name)?.split_once('(')?;
        let fields = fields.trim_end_matches(')').split(", ");
        let value = fields.filter_map(|part| part.split_once(": ")).find(|(key, _)| *key == field);
        value.map(|(_, value)| value.trim_matches('"'))
    }
}

pub(crate) fn module(text: &str) -> Result<Module<'_>> {
    let source = text.lines().find_map(|line| line.strip_prefix("source_filename = "));
    let source = source.ok_or_else(|| Error::new("this is no LLVM IR: it names no source"))?;
    let source = source.trim_matches('"');
    let (mut names, mut globals) = (Names { source, ..Names::default() }, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        let Some((name, definition)) = line.split_once(" = ") else { continue };
        if let Some(kind) = definition.strip_prefix("type ") {
            names.types.insert(name[1..].trim_matches('"'), kind);
        } else if let Some(group) = name.strip_prefix("attributes ") {
            names.attributes.insert(group, definition);
        } else if name.starts_with('!') {
            names.notes.insert(name, definition);
        } else if let Some(name) = name.strip_prefix('@').filter(|name| !name.starts_with("llvm."))
        {
            let name = name.trim_matches('"');
            let global = global(&names, name, definition).map_err(|error| error.of(name))?;
            let address = Arg::Symbol(globals.len());
            names.globals.insert(name, Part::new(Scalar::Pointer(global.space), address));
            globals.push(global);
        }
    }
    // Functions that are no kernels have been inlined.
    let functions = text.split("\ndefine ").skip(1).filter_map(|definition| {
        let (head, body) = definition.split_once('\n')?;
        let body = body.split("\n}").next()?;
        head.contains(" ptx_kernel ").then(|| function(&names, head, body))
    });
    Ok(Module { source, functions: functions.collect::<Result<_>>()?, globals })
}

fn global<'t>(names: &Names<'t>, name: &'t str, definition: &'t str) -> Result<Global> {
    let kinds = ["global ", "constant "].map(|kind| definition.split_once(kind));
    let (head, rest) = kinds.into_iter().flatten().next().known(definition)?;
    let space = head.split_once("addrspace(").and_then(|(_, rest)| rest.split_once(')'));
    let space = space.and_then(|(number, _)| number.parse().ok()).unwrap_or(0);
    let external = head.starts_with("external ");
    let mut cursor = Cursor::new(rest, names);
    let kind = cursor.kind()?;
    let is_unset = external || cursor.take("zeroinitializer");
    let value = if is_unset { Vec::new() } else { cursor.parts_of(&kind)?.unwrap_or_default() };
    let align = rest.rsplit_once(", align ").and_then(|(_, align)| align.split(',').next());
    let align = align.and_then(|align| align.parse().ok()).unwrap_or_else(|| kind.align());
    // Those of no space, such as texts, lie in device memory.
    let space = Space::numbered(space.max(1))?;
    Ok(Global { symbol: name.replace('.', "$"), space, external, align, kind, value })
}

fn function<'t>(names: &Names<'t>, head: &'t str, body: &'t str) -> Result<Function<'t>> {
    let (_, rest) = head.split_once(" @").unwrap_or_default();
    let mut cursor = Cursor::new(rest, names);
    let name = cursor.name();
    cursor.expect("(")?;
    while !cursor.take(")") {
        let mut kind = cursor.kind()?;
        let flags = cursor.flags();
        let is_read = flags.contains(&"noalias") && flags.contains(&"readonly");
        let mut space = if is_read { Space::ReadOnly } else { Space::Global };
        if let Some(text) = flags.iter().find_map(|flag| flag.strip_prefix("byval(")) {
            (kind, space) = (Cursor::new(text, names).kind()?, Space::Parameter);
        }
        let name = cursor.local().ok_or_else(|| cursor.wrong("a parameter's name"))?;
        let id = cursor.id(name);
        cursor.values[id].origin = Origin::Given(space, kind);
        cursor.take(",");
    }
    let group = cursor.rest().split(' ').find(|word| word.starts_with('#'));
    let group = group.and_then(|group| names.attributes.get(group)).unwrap_or(&"");
    let parts: Vec<_> = group.split('"').collect();
    let pairs = parts.windows(3).filter(|parts| parts[1] == "=");
    let attributes = pairs.map(|pair| (pair[0], pair[2])).collect();
    let blocks = blocks(names, &mut cursor, body)?;
    Ok(Function { name, attributes, values: cursor.values, blocks })
}

/// The instructions of each block, in the order of the text.
fn blocks<'t>(
    names: &Names<'t>,
    cursor: &mut Cursor<'_, 't>,
    body: &'t str,
) -> Result<Vec<Vec<Id>>> {
    let label = |line: &'t str| {
        let is_label = !line.is_empty() && !line.starts_with([' ', ';']);
        is_label.then(|| line.split(':').next().unwrap_or_default().trim_matches('"'))
    };
    // The first block needs no name: nothing leads there.
    let (mut current, mut all, mut rest) = (cursor.block(label(body).unwrap_or("")), vec![], body);
    while let Some(first) = rest.lines().next() {
        // The cases of a switch have lines of their own.
        let cases = if first.ends_with('[') { rest.find(']').unwrap_or(0) } else { 0 };
        let end = rest[cases..].find('\n').map_or(rest.len(), |end| cases + end);
        let text = rest[..end].trim();
        rest = rest.get(end + 1..).unwrap_or_default();
        if let Some(label) = label(first) {
            current = cursor.block(label);
        } else if !text.is_empty() && !text.starts_with([';', '#']) {
            cursor.rest = text;
            let line = names.line(text).unwrap_or(0);
            let (name, read) = cursor.instruction().map_err(|error| error.at(line))?;
            if read.op.is_empty() {
                continue;
            }
            let id = match name {
                Some(name) => cursor.id(name),
                None => cursor.add(Origin::Unknown),
            };
            let read = Instruction { line, block: Some(current), ..read };
            cursor.values[id].origin = Origin::Computed(read.into());
            all.push((current, id));
        }
    }
    let mut blocks = vec![Vec::new(); cursor.blocks.len()];
    all.into_iter().for_each(|(block, id)| blocks[block].push(id));
    let is_whole = !blocks.iter().any(Vec::is_empty);
    is_whole.then_some(blocks).known("a block with nothing in it")
}
