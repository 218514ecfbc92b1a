//! Conversions from one type to another.

use crate::code::Part;
use crate::ir::Instruction;
use crate::lower::Lower;
use crate::types::{Scalar, Space, sign_extended};
use crate::{Error, Result};

impl Lower<'_> {
    pub(super) fn convert(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let operand = instruction.operands::<1>()?;
        let targets = instruction.of.parts()?;
        let is_generic = self.function.values[operand[0]].kind == Scalar::Pointer(Space::Generic);
        self.each(&operand, |lower, at, parts| {
            let (to, _) = *targets.get(at).ok_or_else(|| Error::unknown("such a conversion"))?;
            let part = parts[0];
            match (instruction.op, to) {
                // Of a generic pointer the space is known, whatever it is called.
                ("addrspacecast", Scalar::Pointer(Space::Generic)) => Ok(part),
                ("addrspacecast", Scalar::Pointer(space)) => lower.in_space(part, space),
                ("ptrtoint", _) => {
                    let space = if is_generic { Space::Generic } else { part.space() };
                    let long = lower.address_in(part, space)?;
                    lower.truncated(long, to)
                }
                ("inttoptr", _) => {
                    let long = lower.extended(part, Scalar::LONG, false)?;
                    Ok(Part { kind: to, ..lower.in_register(long)? })
                }
                ("trunc", _) => lower.truncated(part, to),
                (op @ ("zext" | "uitofp" | "sext" | "sitofp"), _)
                    if part.kind == Scalar::BOOL || op.ends_with("ext") =>
                {
                    lower.extended(part, to, op.starts_with('s'))
                }
                (op, _) => lower.by_table(op, to, parts),
            }
        })
    }

    /// An integer whose unused upper bits in its register are zeros, or the sign.
    pub(super) fn widened(&mut self, part: Part, signed: bool) -> Result<Part> {
        let (bits, width) = (part.kind.bits(), part.kind.width());
        let kind = Scalar::Int(width);
        if let Some(number) = part.bits() {
            let with_sign = sign_extended(number, bits) as u64;
            return Ok(Part::number(kind, if signed { with_sign } else { number }));
        }
        let part = Part::new(kind, self.arg(part)?);
        let short = self.short.get(&part.base).copied().unwrap_or(width);
        if bits == width || !signed && short <= bits || signed && short < bits {
            return Ok(part);
        }
        let sign = if signed { 's' } else { 'u' };
        let text = match bits {
            8 | 16 => format!("cvt.{sign}{width}.{sign}{bits}"),
            _ => format!("bfe.{sign}{width} $0, $1, 0, {bits}"),
        };
        let result = self.pure(kind, &text, &[part])?;
        if !signed {
            self.short.insert(result.base, bits);
        }
        Ok(result)
    }

    pub(super) fn truncated(&mut self, part: Part, to: Scalar) -> Result<Part> {
        if let Some(bits) = part.bits() {
            return Ok(Part::number(to, bits));
        }
        if to == Scalar::BOOL {
            let word = self.truncated(part, Scalar::WORD)?;
            let bit = self.pure(Scalar::WORD, "and.b32 $0, $1, 1", &[word])?;
            return self.is_set(bit);
        }
        let is_same = part.kind.width() == to.width();
        if is_same { Ok(Part { kind: to, ..part }) } else { self.pure(to, "cvt.u32.u64", &[part]) }
    }

    /// An integer as one with more bits; a truth value also as a float.
    pub(super) fn extended(&mut self, part: Part, to: Scalar, signed: bool) -> Result<Part> {
        if part.kind == Scalar::BOOL {
            let (one, text) = if signed { (-1, "selp.b") } else { (1, "selp.u") };
            let (bits, text) = match to {
                Scalar::Float => ((one as f32).to_bits().into(), "selp.f"),
                Scalar::Double => (f64::from(one).to_bits(), "selp.f"),
                _ => (i64::from(one) as u64, text),
            };
            let choice = [Part::number(to, bits), Part::number(to, 0), part];
            let result = self.pure(to, &format!("{text}{}", to.width()), &choice)?;
            if !signed {
                self.short.insert(result.base, 1);
            }
            return Ok(result);
        }
        let wide = self.widened(part, signed)?;
        match wide.bits() {
            Some(bits) if signed => {
                Ok(Part::number(to, sign_extended(bits, wide.kind.bits()) as u64))
            }
            Some(bits) => Ok(Part::number(to, bits)),
            None if wide.kind.width() == to.width() => Ok(Part { kind: to, ..wide }),
            None => self.pure(to, if signed { "cvt.s64.s32" } else { "cvt.u64.u32" }, &[wide]),
        }
    }

    /// The same bits as another type: words are put together from smaller parts, or taken apart.
    pub(super) fn bitcast(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [operand] = instruction.operands()?;
        let (parts, targets) = (self.parts(operand)?, instruction.of.parts()?);
        let (Some(source), Some((target, _))) = (parts.first(), targets.first()) else {
            return Ok(Vec::new());
        };
        let (bits, wanted) = (source.kind.bits(), target.bits());
        let (narrow, wide) = (bits.min(wanted), bits.max(wanted));
        if narrow != wide && !(matches!(narrow, 8 | 16 | 32) && matches!(wide, 16 | 32 | 64)) {
            return Err(Error::unknown(format!("numbers of {bits} bits as those of {wanted}")));
        }
        let mut results = Vec::new();
        for group in parts.chunks((wanted / bits).max(1) as usize) {
            let pieces = if bits == wanted {
                group.to_vec()
            } else {
                let numbers = group.iter().map(|part| self.moved(*part, Scalar::Int(bits)));
                let numbers = numbers.collect::<Result<Vec<_>>>()?;
                let whole = self.put_together(&numbers)?;
                self.taken_apart(whole, wanted)?
            };
            for piece in pieces {
                results.push(self.moved(piece, *target)?);
            }
        }
        Ok(results)
    }

    /// The same bits in a register of another class.
    fn moved(&mut self, part: Part, to: Scalar) -> Result<Part> {
        match (part.kind, part.bits()) {
            (Scalar::Pointer(_), _) => Ok(part),
            (_, Some(bits)) => Ok(Part::number(to, bits)),
            (kind, _) if kind.class() == to.class() => Ok(Part { kind: to, ..part }),
            (kind, _) => self.pure(to, &format!("mov.b{}", kind.bits()), &[part]),
        }
    }

    /// Numbers of so many bits, halved until they are.
    fn taken_apart(&mut self, whole: Part, wanted: u32) -> Result<Vec<Part>> {
        let half = whole.kind.bits() / 2;
        if half < wanted {
            return Ok(vec![whole]);
        }
        let (whole, kind) = (self.in_register(whole)?, Scalar::Int(half));
        let high = self.pure(
            whole.kind,
            &format!("shr.u{} $0, $1, {half}", whole.kind.width()),
            &[whole],
        )?;
        let (low, high) = (self.truncated(whole, kind)?, self.truncated(high, kind)?);
        Ok([self.taken_apart(low, wanted)?, self.taken_apart(high, wanted)?].concat())
    }

    /// One number of several, of which the first one has the lowest bits.
    fn put_together(&mut self, pieces: &[Part]) -> Result<Part> {
        if let [whole] = pieces {
            return Ok(*whole);
        }
        let (low, high) = pieces.split_at(pieces.len() / 2);
        let (low, high) = (self.put_together(low)?, self.put_together(high)?);
        let (low, high) = (self.in_register(low)?, self.in_register(high)?);
        // Which bytes of two words: the lowest ones, or the lower halves.
        let text = match low.kind.bits() {
            8 => "prmt.b32 $0, $1, $2, 0x0040",
            16 => "prmt.b32 $0, $1, $2, 0x5410",
            _ => "mov.b64 $0, {$1, $2}",
        };
        self.pure(Scalar::Int(2 * low.kind.bits()), text, &[low, high])
    }
}
