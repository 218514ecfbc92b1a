//! The whole PTX: head, variables, kernels.

use std::fmt::Write;

use crate::ir::{Function, Global, Module};
use crate::types::Space;
use crate::{Error, Known, Result, graph, lower, table, tidy};

pub(crate) fn write(module: &Module<'_>) -> Result<String> {
    let kernels = module.functions.iter().map(|function| kernel(module, function));
    let kernels = kernels.collect::<Result<String>>()?;
    let first = module.functions.first().ok_or_else(|| Error::new("there is no kernel"))?;
    let (version, target) = (first.ptx_version(), first.attributes.get("target-cpu"));
    let target = target.filter(|_| version != 0).known("IR without a version of PTX")?;
    let mut out = format!(
        ".version {}.{}\n.target {target}\n.address_size 64\n\n.file 1 \"{}\"\n",
        version / 10,
        version % 10,
        module.source.rsplit('/').next().unwrap_or_default()
    );
    for (name, declaration) in table::rows("declaration") {
        if kernels.contains(&format!("{name},")) {
            let _ = writeln!(out, "{declaration}");
        }
    }
    for global in &module.globals {
        let variable = variable(global).map_err(|error| error.of(&global.symbol))?;
        let _ = writeln!(out, "{variable};");
    }
    Ok(out + &kernels)
}

/// A variable's declaration, with what it begins with.
fn variable(global: &Global) -> Result<String> {
    let Global { symbol, space, external, align, kind, value } = global;
    let (head, space) = (if *external { ".extern " } else { "" }, space.suffix());
    let head = format!("{head}{space} .align {align} .b8 {symbol}");
    let bytes = kind.size();
    let most = if space == Space::Constant.suffix() { 1 << 16 } else { u32::MAX.into() };
    if bytes > most {
        return Err(Error::new(format!("it has {bytes} bytes and may have {most}")));
    }
    let is_set = !value.is_empty();
    let mut image = vec![0; if is_set { bytes as usize } else { 0 }];
    for (part, (kind, at)) in value.iter().zip(if is_set { kind.parts()? } else { Vec::new() }) {
        let bits = part.bits().known("a variable that begins with an address")?;
        let size = kind.size() as usize;
        image[at as usize..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    let all: Vec<String> = image.iter().map(u8::to_string).collect();
    Ok(match image.iter().any(|byte| *byte != 0) {
        true => format!("{head}[{bytes}] = {{{}}}", all.join(", ")),
        false if *external && bytes == 0 => head + "[]",
        false => format!("{head}[{}]", bytes.max(1)),
    })
}

fn kernel(module: &Module<'_>, function: &Function<'_>) -> Result<String> {
    let mut kernel = lower::kernel(module, function)?;
    tidy::drop_moves(&mut kernel);
    tidy::skip_empty(&mut kernel);
    let ways: Vec<_> = kernel.blocks.iter().map(|block| block.next.clone()).collect();
    let code = kernel.write(&graph::order(&ways));
    let (name, parameters) = (function.name, kernel.parameters.join(",\n"));
    let mut out = format!("\n.visible .entry {name}(\n{parameters}\n)\n");
    for (attribute, directive) in [("nvvm.maxntid", ".maxntid"), ("nvvm.minctasm", ".minnctapersm")]
    {
        if let Some(value) = function.attributes.get(attribute) {
            let _ = writeln!(out, "{directive} {}", value.replace(',', ", "));
        }
    }
    Ok(out + "{\n" + &code + "}\n")
}
