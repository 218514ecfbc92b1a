//! Calls: of functions that are instructions, of the two that the driver knows, and PTX that the
//! source has in it.

use crate::code::{Arg, Reg};
use crate::ir::Typed;
use crate::lower::{Lower, Part};
use crate::types::{Class, Type};
use crate::{Error, Result};

impl Lower<'_> {
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Typed],
        kind: &Type,
    ) -> Result<Vec<Part>> {
        if let Some(nvvm) = name.strip_prefix("llvm.nvvm.") {
            if let Some(register) = nvvm.strip_prefix("read.ptx.sreg.") {
                return self.special(register, kind);
            }
            if let Some(parts) = self.numeric(nvvm, arguments, kind)? {
                return Ok(parts);
            }
            if let Some(parts) = self.of_warp_or_block(nvvm, arguments, kind)? {
                return Ok(parts);
            }
            if let ("fabs.f" | "fmin.f" | "fmax.f" | "fmin.d" | "fmax.d", Some((base, _))) =
                (nvvm, nvvm.split_once('.'))
            {
                let base = base.replace("fm", "m") + if base == "fabs" { "" } else { "num" };
                if let Some(parts) = self.elementwise(&format!("{base}.f"), arguments, kind)? {
                    return Ok(parts);
                }
            }
            return Err(Error::unknown(format!("the function {name}")));
        }
        if let Some(llvm) = name.strip_prefix("llvm.") {
            return self.of_llvm(llvm, arguments, kind);
        }
        match (name, arguments.len()) {
            ("vprintf", 2) | ("__assertfail", 5) => self.of_driver(name, arguments, kind),
            _ => Err(Error::new(format!(
                "{name} is called: it has no body, or calls itself; all functions have to be \
                 inlined"
            ))),
        }
    }

    fn of_llvm(&mut self, name: &str, arguments: &[Typed], kind: &Type) -> Result<Vec<Part>> {
        let base = name.split('.').next().unwrap_or_default();
        match (base, arguments) {
            ("memcpy" | "memmove" | "memset", [to, from, bytes, ..]) => {
                let Part::Bits(bytes) = self.one(&bytes.value, &bytes.kind)? else {
                    return Err(Error::new(format!(
                        "{base} of a number of bytes that is known only when the kernel runs: \
                         write a loop"
                    )));
                };
                if base != "memset" {
                    return self.fill(to, Some(from), 0, bytes).map(|()| Vec::new());
                }
                let Part::Bits(byte) = self.one(&from.value, &from.kind)? else {
                    return Err(Error::unknown("memset of a byte that varies"));
                };
                self.fill(to, None, byte, bytes).map(|()| Vec::new())
            }
            ("trap", _) => {
                self.emit("trap;", &[], vec![]);
                Ok(vec![])
            }
            _ => {
                let parts = match kind {
                    Type::Void => None,
                    kind => self.elementwise(name, arguments, kind)?,
                };
                parts.ok_or_else(|| Error::unknown(format!("the function llvm.{name}")))
            }
        }
    }

    /// A register that says where the thread is, or what time it is.
    fn special(&mut self, name: &str, kind: &Type) -> Result<Vec<Part>> {
        let class = kind.class()?;
        let width = if class == Class::Long { 64 } else { 32 };
        let text = format!("mov.u{width} $0, %{name};");
        let known = ["tid.", "ntid.", "ctaid.", "nctaid.", "laneid", "warpid", "lanemask."];
        if known.iter().any(|known| name.starts_with(known)) {
            let name = name.replace("lanemask.", "lanemask_");
            let text = format!("mov.u{width} $0, %{name};");
            let result = self.pure(class, &text, vec![]);
            return Ok(vec![self.part(result, kind)]);
        }
        if !matches!(name, "clock" | "clock64" | "globaltimer") {
            return Err(Error::unknown(format!("the register %{name}")));
        }
        // Of a clock each look counts.
        let result = self.kernel.register(class);
        self.emit(&text, &[result], vec![]);
        Ok(vec![self.part(Arg::Reg(result), kind)])
    }

    fn of_warp_or_block(
        &mut self,
        name: &str,
        arguments: &[Typed],
        kind: &Type,
    ) -> Result<Option<Vec<Part>>> {
        let words: Vec<&str> = name.split('.').collect();
        // The text, the operands by their number, and of which of them a register is needed.
        let (text, operands, in_register): (String, &[usize], &[usize]) = match words[..] {
            ["barrier0"] => ("bar.sync 0;".into(), &[], &[]),
            ["barrier", "cta", "sync", "aligned", "all"] => ("bar.sync $0;".into(), &[0], &[]),
            ["barrier", "cta", "sync", "aligned", "count"] => {
                ("bar.sync $0, $1;".into(), &[0, 1], &[])
            }
            ["bar", "warp", "sync"] => ("bar.warp.sync $0;".into(), &[0], &[]),
            ["membar", how @ ("cta" | "gl" | "sys")] => (format!("membar.{how};"), &[], &[]),
            ["shfl", "sync", how, "i32" | "f32"] => {
                let text = format!("shfl.sync.{how}.b32 $0, $1, $2, $3, $4;");
                (text, &[1, 2, 3, 0], &[1])
            }
            ["vote", how @ ("all" | "any" | "uni"), "sync"] => {
                (format!("vote.sync.{how}.pred $0, $1, $2;"), &[1, 0], &[1])
            }
            ["vote", "ballot", "sync"] => {
                ("vote.sync.ballot.b32 $0, $1, $2;".into(), &[1, 0], &[1])
            }
            ["isspacep", space] => {
                (format!("isspacep.{} $0, $1;", space.replace("constant", "const")), &[0], &[0])
            }
            _ => return Ok(None),
        };
        let mut args = Vec::new();
        for place in operands {
            let argument = arguments.get(*place);
            let argument = argument.ok_or_else(|| Error::unknown(format!("such a {name}")))?;
            args.push(match in_register.contains(place) {
                true => self.reg_of(argument)?,
                false => self.arg_of(argument)?,
            });
        }
        let results: Vec<Reg> = match kind {
            Type::Void => vec![],
            kind => vec![self.kernel.register(kind.class()?)],
        };
        self.emit(&text, &results, args);
        Ok(Some(results.into_iter().map(|reg| self.part(Arg::Reg(reg), kind)).collect()))
    }

    /// `printf` and `assert`: what the driver has.
    fn of_driver(&mut self, name: &str, arguments: &[Typed], kind: &Type) -> Result<Vec<Part>> {
        let results: Vec<Reg> = match kind {
            Type::Void => vec![],
            kind => vec![self.kernel.register(kind.class()?)],
        };
        let mut args = Vec::new();
        let mut text = "{".to_owned();
        let mut names = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            args.push(self.reg_of(argument)?);
            let (kind, place) = (argument.kind.class()?.kind(), results.len() + number);
            text += &format!(" .param .{kind} p{number}; st.param.{kind} [p{number}], ${place};");
            names.push(format!("p{number}"));
        }
        let names = names.join(", ");
        text += &match results.is_empty() {
            true => format!(" call.uni {name}, ({names}); }}"),
            false => format!(
                " .param .b32 r0; call.uni (r0), {name}, ({names}); ld.param.b32 $0, [r0]; }}"
            ),
        };
        self.emit(&text, &results, args);
        Ok(results.into_iter().map(|reg| self.part(Arg::Reg(reg), kind)).collect())
    }

    /// PTX in the source. Its operands are registers of the class that its constraints name.
    pub(super) fn assembly(
        &mut self,
        text: &str,
        constraints: &str,
        arguments: &[Typed],
        kind: &Type,
    ) -> Result<Vec<Part>> {
        let text = unescaped(text);
        let constraints =
            constraints.split(',').filter(|one| !one.is_empty() && !one.starts_with('~'));
        let (outputs, inputs): (Vec<&str>, Vec<&str>) =
            constraints.partition(|one| one.starts_with('='));
        let kinds = if *kind == Type::Void { Vec::new() } else { kind.parts()? };
        if kinds.len() != outputs.len() || inputs.len() != arguments.len() {
            return Err(Error::unknown("PTX with such constraints"));
        }
        let mut results = Vec::new();
        for output in &outputs {
            results.push(self.kernel.register(class_of(output.trim_start_matches(['=', '&']))?));
        }
        let mut args = Vec::new();
        for (constraint, argument) in inputs.iter().zip(arguments) {
            if let Ok(place) = constraint.parse::<usize>() {
                // It has to be where the result will be.
                let value = self.reg_of(argument)?;
                let to = *results.get(place).ok_or_else(|| Error::unknown("such a constraint"))?;
                let value = self.in_class(value, &argument.kind, self.kernel.classes[to])?;
                self.copy(to, value);
                args.push(Arg::Reg(to));
                continue;
            }
            let part = self.one(&argument.value, &argument.kind)?;
            args.push(match (*constraint, &part) {
                ("n" | "i", Part::Bits(_)) => self.arg(&part, &argument.kind)?,
                (constraint, _) => {
                    let value = self.reg(&part, &argument.kind)?;
                    self.in_class(value, &argument.kind, class_of(constraint)?)?
                }
            });
        }
        self.emit(&text, &results, args);
        let mut parts = Vec::new();
        for (reg, (kind, _)) in results.into_iter().zip(kinds) {
            let value = match (self.kernel.classes[reg], kind.class()?) {
                (Class::Short, Class::Word) => {
                    let text = "cvt.u32.u16 $0, $1;";
                    let word = self.pure(Class::Word, text, vec![Arg::Reg(reg)]);
                    if let Arg::Reg(word) = word {
                        self.short.insert(word, 16);
                    }
                    word
                }
                (from, to) if from == to => Arg::Reg(reg),
                _ => return Err(Error::unknown("PTX with a result of another size")),
            };
            parts.push(self.part(value, &kind));
        }
        Ok(parts)
    }

    fn in_class(&mut self, value: Arg, kind: &Type, class: Class) -> Result<Arg> {
        match (kind.class()?, class) {
            (Class::Word, Class::Short) => Ok(self.pure(class, "cvt.u16.u32 $0, $1;", vec![value])),
            (from, to) if from == to => Ok(value),
            _ => Err(Error::unknown("PTX with an operand of another size")),
        }
    }
}

fn class_of(constraint: &str) -> Result<Class> {
    Ok(match constraint {
        "h" => Class::Short,
        "r" => Class::Word,
        "l" => Class::Long,
        "f" => Class::Float,
        "d" => Class::Double,
        _ => return Err(Error::unknown(format!("the constraint \"{constraint}\" of PTX"))),
    })
}

/// `\0A` is a line's end; `${0:r}` is the operand `$0`.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '$']) {
        out += &rest[..at];
        let (mark, after) = rest[at..].split_at(1);
        let hex = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match (mark, hex) {
            ("\\", Some(code)) => {
                out.push(if code == b'\n' { ' ' } else { code.into() });
                &after[2..]
            }
            ("$", _) if after.starts_with('{') => {
                let (inside, after) = after[1..].split_once('}').unwrap_or((&after[1..], ""));
                out.push('$');
                out += inside.split(':').next().unwrap_or_default();
                after
            }
            (mark, _) => {
                out += mark;
                after
            }
        };
    }
    out + rest
}
