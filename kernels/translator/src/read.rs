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
    /// What follows a name and `=`: types, attributes, debug information.
    definitions: HashMap<&'t str, &'t str>,
    /// Addresses of variables.
    globals: HashMap<&'t str, Part>,
}

impl Names<'_> {
    /// The line of an instruction. No function of the prelude has lines of its own.
    fn line(&self, instruction: &str) -> Option<u32> {
        let name = instruction.split_once("!dbg ")?.1.split(',').next()?;
        let (_, line) = self.definitions.get(name)?.split_once("(line: ")?;
        line.split([',', ')']).next()?.parse().ok()
    }
}

pub(crate) fn module(text: &str) -> Result<Module<'_>> {
    let (mut names, mut globals) = (Names::default(), Vec::new());
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        let Some((name, definition)) = line.split_once(" = ") else { continue };
        if !name.starts_with('@') {
            names.definitions.insert(name.trim_matches(['%', '"']), definition);
        } else if let Some(name) = name.strip_prefix('@').filter(|name| !name.starts_with("llvm."))
        {
            let name = name.trim_matches('"');
            let global = global(&names, name, definition).map_err(|error| error.of(name))?;
            let address = Arg::Symbol(globals.len());
            names.globals.insert(name, Part::new(Scalar::Pointer(global.space), address));
            globals.push(global);
        }
    }
    let source = names.definitions.get("source_filename");
    let source = source.ok_or_else(|| Error::new("this is no LLVM IR: it names no source"))?;
    // Functions that are no kernels have been inlined.
    let functions = text.split("\ndefine ").skip(1).filter_map(|definition| {
        let (head, body) = definition.split_once('\n')?;
        let body = body.split("\n}").next()?;
        head.contains(" ptx_kernel ").then(|| function(&names, head, body))
    });
    let functions = functions.collect::<Result<_>>()?;
    Ok(Module { source: source.trim_matches('"'), functions, globals })
}

fn global<'t>(names: &Names<'t>, name: &'t str, definition: &'t str) -> Result<Global> {
    let kinds = ["global ", "constant "].map(|kind| definition.split_once(kind));
    let (head, rest) = kinds.into_iter().flatten().next().known(definition)?;
    // Those of no space, such as texts, lie in device memory.
    let space = head.split("addrspace(").nth(1).and_then(|rest| rest.split(')').next());
    let external = head.starts_with("external ");
    let mut cursor = Cursor::new(rest, names);
    let kind = cursor.kind()?;
    let is_unset =
        external || ["zeroinitializer", "undef", "poison"].iter().any(|one| cursor.take(one));
    let value = if is_unset { Vec::new() } else { cursor.constant(&kind)? };
    let align = rest.rsplit_once(", align ").and_then(|(_, align)| align.split(',').next());
    let align = align.and_then(|align| align.parse().ok()).unwrap_or_else(|| kind.align());
    let space = Space::numbered(space.unwrap_or("1"))?;
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
    let group = cursor.rest().split(' ').find(|word| word.starts_with('#')).unwrap_or_default();
    let group = names.definitions.get(&*format!("attributes {group}")).unwrap_or(&"");
    let parts: Vec<_> = group.split('"').collect();
    let pairs = parts.windows(3).filter(|parts| parts[1] == "=");
    let attributes = pairs.map(|pair| (pair[0], pair[2])).collect();
    let blocks = blocks(&mut cursor, body)?;
    Ok(Function { name, attributes, values: cursor.values, blocks })
}

/// The instructions of each block, in the order of the text.
fn blocks<'t>(cursor: &mut Cursor<'_, 't>, body: &'t str) -> Result<Vec<Vec<Id>>> {
    let label = |line: &'t str| {
        let is_label = !line.is_empty() && !line.starts_with([' ', ';']);
        is_label.then(|| line.split(':').next().unwrap_or_default().trim_matches('"'))
    };
    // The first block needs no name: nothing leads there.
    let (mut current, mut blocks) = (cursor.block(label(body).unwrap_or("")), Vec::new());
    for text in body.lines() {
        if let Some(label) = label(text) {
            current = cursor.block(label);
        } else if !text.is_empty() && !text.trim_start().starts_with([';', '#']) {
            cursor.rest = text;
            let line = cursor.names.line(text).unwrap_or(0);
            let (id, read) = cursor.instruction().map_err(|error| error.at(line))?;
            if read.op.is_empty() {
                continue;
            }
            let read = Instruction { line, block: Some(current), ..read };
            cursor.values[id].origin = Origin::Computed(read.into());
            blocks.resize(cursor.blocks.len(), Vec::new());
            blocks[current].push(id);
        }
    }
    let is_whole = !blocks.iter().any(Vec::is_empty);
    is_whole.then_some(blocks).known("a block with nothing in it")
}
