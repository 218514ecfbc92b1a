//! The whole PTX: head, variables, kernels.

use std::fmt::Write;

use crate::ir::{Function, Global, Module, Value};
use crate::lower::{self, Local, global_name, parameter_name};
use crate::types::{Type, space};
use crate::{Error, Result, coalesce, tidy};

/// What the driver has: for `printf` and `assert`.
const OF_DRIVER: [(&str, &str); 2] = [
    (
        "vprintf,",
        ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);",
    ),
    (
        "__assertfail,",
        ".extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, \
         .param .b64 function, .param .b64 width);",
    ),
];

pub(crate) fn write(module: &Module) -> Result<String> {
    let mut kernels = String::new();
    for function in &module.functions {
        write_kernel(module, function, &mut kernels)?;
    }
    let first = module.functions.first().ok_or_else(|| Error::new("there is no kernel"))?;
    let (version, target) = (first.ptx_version(), first.attributes.get("target-cpu"));
    let target = target.filter(|_| version != 0);
    let target = target.ok_or_else(|| Error::new("the IR names no version of PTX"))?;
    let mut out = format!(
        ".version {}.{}\n.target {target}\n.address_size 64\n\n.file 1 \"{}\"\n",
        version / 10,
        version % 10,
        module.source.rsplit('/').next().unwrap_or_default()
    );
    for (call, declaration) in OF_DRIVER {
        if kernels.contains(call) {
            let _ = writeln!(out, "{declaration}");
        }
    }
    for global in module.globals.iter().filter(|global| !global.name.starts_with("llvm.")) {
        write_global(global, &mut out)?;
    }
    Ok(out + &kernels)
}

fn write_global(global: &Global, out: &mut String) -> Result<()> {
    let Global { name, space: place, external, kind, align, value } = global;
    let _ = write!(
        out,
        "{}{} .align {align} .b8 {}",
        if *external { ".extern " } else { "" },
        space::suffix(*place),
        global_name(name)
    );
    let bytes = match (external, kind.size()) {
        (true, 0) => {
            let _ = writeln!(out, "[];");
            return Ok(());
        }
        (_, bytes) => bytes.max(1),
    };
    let _ = write!(out, "[{bytes}]");
    let is_empty = matches!(value, Value::Zero | Value::Undefined);
    if *place != space::SHARED && !is_empty {
        let mut image = vec![0; bytes as usize];
        put(value, kind, &mut image)
            .map_err(|error| Error::new(format!("{} (of the variable {name})", error.what)))?;
        if image.iter().any(|byte| *byte != 0) {
            let all: Vec<String> = image.iter().map(u8::to_string).collect();
            let _ = write!(out, " = {{{}}}", all.join(", "));
        }
    }
    let _ = writeln!(out, ";");
    Ok(())
}

/// Writes a constant's bytes.
fn put(value: &Value, kind: &Type, image: &mut [u8]) -> Result<()> {
    match value {
        Value::Zero | Value::Undefined => Ok(()),
        Value::Bits(bits) => {
            let size = kind.size() as usize;
            image[..size].copy_from_slice(&bits.to_le_bytes()[..size]);
            Ok(())
        }
        Value::Parts(parts) => {
            for (number, part) in parts.iter().enumerate() {
                let (_, at) = kind.field(number as u64)?;
                put(&part.value, &part.kind, &mut image[at as usize..])?;
            }
            Ok(())
        }
        Value::Local(_) | Value::Address { .. } => {
            Err(Error::unknown("a variable that begins with an address"))
        }
    }
}

fn write_kernel(module: &Module, function: &Function, out: &mut String) -> Result<()> {
    let (locals, mut kernel) = lower::kernel(module, function)?;
    tidy::drop_unused(&mut kernel);
    coalesce::coalesce(&mut kernel);
    tidy::drop_empty(&mut kernel);
    tidy::order(&mut kernel);
    let mut parameters = Vec::new();
    for (id, parameter) in function.parameters.iter().enumerate() {
        let name = parameter_name(function, id);
        parameters.push(match (&parameter.by_value, &parameter.kind) {
            (Some(kind), _) => {
                format!("\t.param .align {} .b8 {name}[{}]", kind.align(), kind.size())
            }
            (None, Type::Int(1 | 8)) => format!("\t.param .u8 {name}"),
            (None, Type::Int(bits @ (16 | 32 | 64))) => format!("\t.param .u{bits} {name}"),
            (None, Type::Pointer(_)) => format!("\t.param .u64 {name}"),
            (None, Type::Float) => format!("\t.param .f32 {name}"),
            (None, Type::Double) => format!("\t.param .f64 {name}"),
            (None, kind) => return Err(Error::unknown(format!("a parameter of type {kind:?}"))),
        });
    }
    let _ = writeln!(out, "\n.visible .entry {}(\n{}\n)", function.name, parameters.join(",\n"));
    for (attribute, directive) in [("nvvm.maxntid", ".maxntid"), ("nvvm.minctasm", ".minnctapersm")]
    {
        if let Some(value) = function.attributes.get(attribute) {
            let _ = writeln!(out, "{directive} {}", value.replace(',', ", "));
        }
    }
    let _ = writeln!(out, "{{");
    for (name, align, bytes) in locals as Vec<Local> {
        let _ = writeln!(out, "\t.local .align {align} .b8 {name}[{bytes}];");
    }
    kernel.write(out);
    let _ = writeln!(out, "}}");
    Ok(())
}
