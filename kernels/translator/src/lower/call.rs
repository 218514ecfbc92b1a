//! Calls: of functions that are instructions, of those that the driver has, and PTX that the
//! source has in it.

use crate::code::Effect::{self, Acts, Computes};
use crate::code::{Arg, Part};
use crate::ir::{Instruction, Op};
use crate::lower::Lower;
use crate::read::unescaped;
use crate::types::Scalar;
use crate::{Error, Result};

/// Functions by their names without `llvm.`, and the instructions that they are.
///
/// In a name, `_` is any word, and the ones that words with `|` stand for are put in the place of
/// each `*`: of `floor=rmi`, `rmi`. If there are several instructions, each may use the result of
/// the one before as `$r`. `F` is the type of a result with a point, `N` the width of an integer.
const FUNCTIONS: [(Effect, &str, &str); 38] = [
    (Computes, "fma|fmuladd=fma|sqrt._", "*.rn.F"),
    (Computes, "maxnum=max|maximumnum=max|minnum=min|minimumnum=min|fabs=abs._", "*.F"),
    (Computes, "copysign._", "copysign.F $0, $2, $1"),
    (Computes, "floor=rmi|ceil=rpi|trunc=rzi|rint=rni|nearbyint=rni|roundeven=rni._", "cvt.*.F.F"),
    (Computes, "smax=max|smin=min|abs._", "*.sN"),
    (Computes, "umax=max|umin=min._", "*.uN"),
    (Computes, "bitreverse=brev|ctpop=popc|ctlz=clz._", "*.bN"),
    (Computes, "cttz._", "brev.bN $0, $1; clz.bN $0, $r"),
    (Computes, "usub.sat._", "max.uN $0, $1, $2; sub.sN $0, $r, $2"),
    (Computes, "uadd.sat._", "not.bN $0, $2; min.uN $0, $1, $r; add.sN $0, $r, $2"),
    (Computes, "fshl=l|fshr=r.i32", "shf.*.wrap.b32 $0, $2, $1, $3"),
    (Computes, "nvvm.fmax=max|fmin=min|fabs=abs._", "*.F"),
    (Computes, "nvvm.saturate.f", "cvt.sat.f32.f32"),
    (Computes, "nvvm.prmt", "prmt.b32"),
    (Computes, "nvvm.i2f=s|ui2f=u.rn", "cvt.rn.f32.*32"),
    (Computes, "nvvm.f2i.rn|rz|rm|rp", "cvt.*i.s32.f32"),
    (Computes, "nvvm.f2ui.rn|rz|rm|rp", "cvt.*i.u32.f32"),
    (Computes, "nvvm.d2f.rn|rz|rm|rp", "cvt.*.f32.f64"),
    (Computes, "nvvm.add|mul|div|fma|rcp|sqrt.rn|rz|rm|rp._", "*.*.F"),
    (Computes, "nvvm.add|mul|div|fma|rcp|sqrt.rn|rz|rm|rp.ftz._", "*.*.ftz.F"),
    (Computes, "nvvm.div|rcp|sqrt|rsqrt|sin|cos|ex2|lg2.approx._", "*.approx.F"),
    (Computes, "nvvm.div|rcp|sqrt|rsqrt|sin|cos|ex2|lg2.approx.ftz._", "*.approx.ftz.F"),
    (Computes, "nvvm.read.ptx.sreg.tid|ntid|ctaid|nctaid.x|y|z", "mov.uN $0, %*.*"),
    (Computes, "nvvm.read.ptx.sreg.laneid|warpid", "mov.uN $0, %*"),
    (Computes, "nvvm.read.ptx.sreg.lanemask.eq|le|lt|ge|gt", "mov.uN $0, %lanemask_*"),
    // Of a clock each look counts.
    (Acts, "nvvm.read.ptx.sreg.clock|clock64|globaltimer", "mov.uN $0, %*"),
    (Acts, "trap", "trap"),
    (
        Acts,
        "vprintf",
        "{ .param .b64 p0; st.param.b64 [p0], $1; .param .b64 p1; st.param.b64 [p1], $2; \
         .param .b32 r0; call.uni (r0), vprintf, (p0, p1); ld.param.b32 $0, [r0]; }",
    ),
    (
        Acts,
        "__assertfail",
        "{ .param .b64 p0; st.param.b64 [p0], $0; .param .b64 p1; st.param.b64 [p1], $1; \
         .param .b32 p2; st.param.b32 [p2], $2; .param .b64 p3; st.param.b64 [p3], $3; \
         .param .b64 p4; st.param.b64 [p4], $4; call.uni __assertfail, (p0, p1, p2, p3, p4); }",
    ),
    (Acts, "nvvm.barrier0", "bar.sync 0"),
    (Acts, "nvvm.barrier.cta.sync.aligned.all", "bar.sync $0"),
    (Acts, "nvvm.barrier.cta.sync.aligned.count", "bar.sync $0, $1"),
    (Acts, "nvvm.bar.warp.sync", "bar.warp.sync $0"),
    (Acts, "nvvm.membar.cta|gl|sys", "membar.*"),
    (Acts, "nvvm.shfl.sync.down|up|bfly|idx.i32|f32", "shfl.sync.*.b32 $0, $2, $3, $4, $1"),
    (Acts, "nvvm.vote.ballot.sync", "vote.sync.ballot.b32 $0, $2, $1"),
    (Acts, "nvvm.vote.all|any|uni.sync", "vote.sync.*.pred $0, $2, $1"),
    (Acts, "nvvm.isspacep.global|shared|local|constant=const", "isspacep.* $0, $1"),
];

/// What a function does, and by which instructions.
fn instructions(name: &str) -> Option<(Effect, String)> {
    FUNCTIONS.into_iter().find_map(|(effect, pattern, text)| {
        let mut text = text.to_owned();
        let mut words = name.strip_prefix("llvm.").unwrap_or(name).split('.');
        let fits = pattern.split('.').all(|pattern| {
            let word = words.next().unwrap_or_default();
            let mut ways = pattern.split('|').map(|one| one.split_once('=').unwrap_or((one, one)));
            let way = ways.find(|(own, _)| *own == word);
            if let Some((_, meant)) = way.filter(|_| pattern.contains('|')) {
                text = text.replacen('*', meant, 1);
            }
            way.is_some() || pattern == "_"
        });
        (fits && words.next().is_none()).then_some((effect, text))
    })
}

impl<'m> Lower<'m> {
    pub(super) fn call(&mut self, call: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let name = call.name;
        if let Some("memcpy" | "memmove" | "memset") = name.split('.').nth(1) {
            return self.fill(call);
        }
        let (effect, text) = instructions(name).ok_or_else(|| match name.starts_with("llvm.") {
            true => Error::unknown(format!("the function {name}")),
            false => Error::new(format!(
                "{name} is called: it has no body, or calls itself; all functions have to be \
                 inlined"
            )),
        })?;
        let kinds = call.of.parts()?;
        let kind = kinds.first().map_or(Scalar::WORD, |(kind, _)| *kind);
        let text = text.replace('F', kind.ptx()).replace('N', &kind.width().to_string());
        if effect == Computes {
            // Flags such as “zero is poison” are of no part.
            let operands = call.operands.iter().filter(|operand| operand.kind != Scalar::BOOL);
            return self.each(operands, |lower, _, parts| lower.steps(&text, parts, kind));
        }
        let mut args = Vec::new();
        for (place, operand) in call.operands.iter().enumerate() {
            let part = self.one(operand)?;
            // What is given to other lanes, an address, and what the driver gets.
            let in_register = match text.split('.').next() {
                Some("shfl") => place == 1,
                word => matches!(word, Some("isspacep" | "{ ")),
            };
            args.push(if in_register { self.in_register(part)?.base } else { self.arg(part)? });
        }
        let parts = self.results(&kinds);
        let end = if text.ends_with('}') { "" } else { ";" };
        self.emit(&(text + end), &parts, args);
        Ok(parts)
    }

    /// Instructions one after the other, of which the last one's result counts.
    fn steps(&mut self, text: &str, parts: &[Part], kind: Scalar) -> Result<Part> {
        if matches!(kind, Scalar::Int(bits) if bits != kind.width()) && text.contains(".b") {
            let function = text.split('.').next().unwrap_or_default();
            return Err(Error::unknown(format!("{function} of {} bits", kind.bits())));
        }
        let parts = parts.iter().map(|part| match part.kind {
            Scalar::Int(_) => self.widened(*part, !text.contains(".u")),
            _ => Ok(*part),
        });
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        if let Some(first) = parts.first_mut() {
            *first = self.in_register(*first)?;
        }
        let mut last = None;
        for step in text.split("; ") {
            let operands = [&parts[..], last.as_slice()].concat();
            let step = step.replace("$r", &format!("${}", operands.len()));
            // These have 32 bits, whatever they count.
            let counts = step.starts_with("popc") || step.starts_with("clz");
            let result = self.pure(if counts { Scalar::WORD } else { kind }, &step, &operands)?;
            last = Some(self.converted(Op::ZExt, result, kind)?);
        }
        last.ok_or_else(|| Error::unknown("nothing to do"))
    }

    /// PTX in the source: its operands are registers of the class that its constraints name.
    pub(super) fn assembly(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let constraints = instruction.constraints.split(',');
        let constraints = constraints.filter(|one| !one.is_empty() && !one.starts_with('~'));
        let (outputs, inputs): (Vec<&str>, Vec<&str>) =
            constraints.partition(|one| one.starts_with('='));
        let kinds = instruction.of.parts()?;
        if kinds.len() != outputs.len() || inputs.len() != instruction.operands.len() {
            return Err(Error::unknown("PTX with such constraints"));
        }
        let outputs = outputs.iter().map(|output| output.trim_start_matches(['=', '&']));
        let outputs = outputs.map(|output| Ok((constrained(output)?, 0)));
        let results = self.results(&outputs.collect::<Result<Vec<_>>>()?);
        let mut args = Vec::new();
        for (constraint, operand) in inputs.into_iter().zip(&instruction.operands) {
            let part = self.one(operand)?;
            // The result with this number has to be where the operand is.
            let result = constraint.parse().ok().and_then(|place: usize| results.get(place));
            args.push(match (constraint, part.base, result) {
                ("n" | "i", number @ Arg::Number(_), _) => number,
                (_, _, Some(result)) => {
                    let part = self.in_class(part, result.kind)?;
                    self.copy(*result, part.base);
                    result.base
                }
                _ => self.in_class(part, constrained(constraint)?)?.base,
            });
        }
        self.emit(&ptx(instruction.name), &results, args);
        let parts = results.into_iter().zip(kinds).map(|(result, (kind, _))| {
            let result = self.in_class(result, kind)?;
            if kind == Scalar::Int(16) {
                self.short.insert(result.base, 16);
            }
            Ok(Part { kind, ..result })
        });
        parts.collect()
    }

    /// The same number in a register of this class.
    fn in_class(&mut self, part: Part, kind: Scalar) -> Result<Part> {
        let part = self.in_register(part)?;
        match (part.kind.register(), kind.register()) {
            (from, to) if from == to => Ok(part),
            (Scalar::WORD, Scalar::Short) => self.pure(kind, "cvt.u16.u32", &[part]),
            (Scalar::Short, Scalar::WORD) => self.pure(kind, "cvt.u32.u16", &[part]),
            _ => Err(Error::unknown("PTX with an operand of another size")),
        }
    }
}

/// What kind of register a constraint asks for.
fn constrained(constraint: &str) -> Result<Scalar> {
    Ok(match constraint {
        "h" => Scalar::Short,
        "r" => Scalar::WORD,
        "l" => Scalar::LONG,
        "f" => Scalar::Float,
        "d" => Scalar::Double,
        _ => return Err(Error::unknown(format!("the constraint \"{constraint}\" of PTX"))),
    })
}

/// PTX as it is written here: in one line, with `$0` for the operand `${0:r}`.
fn ptx(text: &str) -> String {
    let text = String::from_utf8_lossy(&unescaped(text)).replace('\n', " ");
    let mut pieces = text.split("${");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (inside, after) = piece.split_once('}').unwrap_or((piece, ""));
        out = out + "$" + inside.split(':').next().unwrap_or_default() + after;
    }
    out
}
