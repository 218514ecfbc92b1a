//! Conversions from one type to another.

use crate::code::{Arg, Part};
use crate::ir::{Instruction, Op};
use crate::lower::Lower;
use crate::types::{Scalar, Space, Type, sign_extended};
use crate::{Error, Result};

impl<'m> Lower<'m> {
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

    pub(super) fn convert(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let [operand] = instruction.operands()?;
        if instruction.op == Op::BitCast {
            let parts = self.parts(operand)?;
            return self.bits_as(&parts, &instruction.of);
        }
        let targets = instruction.of.parts()?;
        self.each([operand], |lower, at, parts| {
            let (to, _) = *targets.get(at).ok_or_else(|| Error::unknown("such a conversion"))?;
            match (instruction.op, to) {
                // Of a generic pointer the space is known, whatever it is called.
                (Op::AddrSpaceCast, Scalar::Pointer(Space::Generic)) => lower.place(parts[0]),
                (Op::AddrSpaceCast, Scalar::Pointer(space)) => lower.in_space(parts[0], space),
                (Op::PtrToInt, _) => {
                    let place = lower.place(parts[0])?;
                    let is_generic = operand.kind == Scalar::Pointer(Space::Generic);
                    let place =
                        if is_generic { lower.in_space(place, Space::Generic)? } else { place };
                    let long = lower.address(place)?;
                    lower.truncated(long, to)
                }
                (Op::IntToPtr, _) => {
                    let long = lower.converted(Op::ZExt, parts[0], Scalar::LONG)?;
                    Ok(Part { kind: to, ..lower.in_register(long)? })
                }
                (op, _) => lower.converted(op, parts[0], to),
            }
        })
    }

    pub(super) fn converted(&mut self, op: Op, part: Part, to: Scalar) -> Result<Part> {
        let signed = matches!(op, Op::SExt | Op::SIToFP | Op::FPToSI);
        let sign = if signed { 's' } else { 'u' };
        let (kind, from_width, width) = (part.kind, part.kind.width(), to.width());
        match op {
            _ if kind == to => Ok(part),
            Op::Trunc => self.truncated(part, to),
            Op::FPTrunc => self.pure(to, "cvt.rn.f32.f64", &[part]),
            Op::FPExt => self.pure(to, "cvt.f64.f32", &[part]),
            Op::FPToUI | Op::FPToSI => {
                self.pure(to, &format!("cvt.rzi.{sign}{width}.{}", kind.ptx()), &[part])
            }
            _ if kind == Scalar::BOOL => {
                let one = if signed { -1.0 } else { 1.0 };
                let (text, one) = match (to, signed) {
                    (Scalar::Float, _) => ("selp.f", (one as f32).to_bits().into()),
                    (Scalar::Double, _) => ("selp.f", f64::to_bits(one)),
                    (_, true) => ("selp.b", u64::MAX),
                    (_, false) => ("selp.u", 1),
                };
                let choice = [Part::number(to, one), Part::number(to, 0), part];
                let result = self.pure(to, &format!("{text}{width}"), &choice)?;
                if op == Op::ZExt {
                    self.short.insert(result.base, 1);
                }
                Ok(result)
            }
            Op::UIToFP | Op::SIToFP => {
                let wide = self.widened(part, signed)?;
                self.pure(to, &format!("cvt.rn.{}.{sign}{from_width}", to.ptx()), &[wide])
            }
            Op::ZExt | Op::SExt => {
                let wide = self.widened(part, signed)?;
                match wide.base {
                    Arg::Number(number) => Ok(Part::number(to, number as u64)),
                    _ if from_width == width => Ok(Part { kind: to, ..wide }),
                    _ => self.pure(to, &format!("cvt.{sign}64.{sign}32"), &[wide]),
                }
            }
            _ => Err(Error::unknown(format!("the conversion {op:?}"))),
        }
    }

    /// The same bits as another type: words are put together from smaller parts, or taken apart.
    fn bits_as(&mut self, parts: &[Part], to: &Type) -> Result<Vec<Part>> {
        let targets = to.parts()?;
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
            let mut pieces = group.to_vec();
            if bits != wanted {
                let numbers = group.iter().map(|part| self.moved(*part, Scalar::Int(bits)));
                let numbers = numbers.collect::<Result<Vec<_>>>()?;
                let whole = self.put_together(&numbers)?;
                pieces = self.taken_apart(whole, wanted)?;
            }
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
            (kind, _) if kind.register() == to.register() => Ok(Part { kind: to, ..part }),
            (kind, _) => self.pure(to, &format!("mov.b{}", kind.bits()), &[part]),
        }
    }

    /// Numbers of so many bits.
    fn taken_apart(&mut self, whole: Part, wanted: u32) -> Result<Vec<Part>> {
        let bits = whole.kind.bits();
        if bits <= wanted {
            return Ok(vec![whole]);
        }
        let whole = self.in_register(whole)?;
        if bits < 64 {
            let (kind, shifts) = (Scalar::Int(wanted), (0..bits).step_by(wanted as usize));
            let pieces = shifts.map(|shift| match shift {
                0 => Ok(Part { kind, ..whole }),
                _ => self.pure(kind, &format!("shr.u32 $0, $1, {shift}"), &[whole]),
            });
            return pieces.collect();
        }
        let low = self.pure(Scalar::WORD, "cvt.u32.u64", &[whole])?;
        let high = self.pure(Scalar::LONG, "shr.u64 $0, $1, 32", &[whole])?;
        let high = self.pure(Scalar::WORD, "cvt.u32.u64", &[high])?;
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
