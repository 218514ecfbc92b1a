//! Conversions from one type to another.

use crate::Result;
use crate::code::Part;
use crate::ir::Instruction;
use crate::lower::Lower;
use crate::types::{Scalar, Space, sign_extended};

impl Lower<'_> {
    /// A conversion; of bits as another type, of as many.
    pub(super) fn convert(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let operand = instruction.operands::<1>()?;
        let targets = instruction.of.parts()?;
        let is_generic = self.function.values[operand[0]].kind == Scalar::Pointer(Space::Generic);
        Ok(self.each(&operand, |at, parts| {
            let Some((to, _)) = targets.get(at) else { return self.refuse("such a conversion") };
            let (to, part) = (*to, parts[0]);
            match (instruction.op, to) {
                // Of a generic pointer the space is known, whatever it is called.
                ("addrspacecast", Scalar::Pointer(Space::Generic)) => part,
                ("addrspacecast", Scalar::Pointer(space)) => self.in_space(part, space),
                ("ptrtoint", _) => {
                    let space = if is_generic { Space::Generic } else { part.space() };
                    self.truncated(self.address_in(part, space), to)
                }
                ("inttoptr", _) => {
                    let long = self.extended(part, Scalar::LONG, false);
                    Part { kind: to, ..self.in_register(long) }
                }
                ("trunc", _) => self.truncated(part, to),
                ("bitcast", _) if part.kind.bits() == to.bits() => self.moved(part, to),
                (op @ ("zext" | "uitofp" | "sext" | "sitofp"), _)
                    if part.kind == Scalar::BOOL || op.ends_with("ext") =>
                {
                    self.extended(part, to, op.starts_with('s'))
                }
                (op, _) => self.by_table(op, to, parts),
            }
        }))
    }

    /// An integer whose unused upper bits in its register are zeros, or the sign.
    pub(super) fn widened(&self, part: Part, signed: bool) -> Part {
        let (bits, width) = (part.kind.bits(), part.kind.width());
        let kind = Scalar::Int(width);
        if let Some(number) = part.bits() {
            let with_sign = sign_extended(number, bits) as u64;
            return Part::number(kind, if signed { with_sign } else { number });
        }
        let part = Part::new(kind, self.arg(part));
        let short = self.short.borrow().get(&part.base).copied().unwrap_or(width);
        if bits == width || !signed && short <= bits || signed && short < bits {
            return part;
        }
        let sign = if signed { 's' } else { 'u' };
        let text = match bits {
            8 | 16 => format!("cvt.{sign}{width}.{sign}{bits}"),
            _ => format!("bfe.{sign}{width} $0, $1, 0, {bits}"),
        };
        let result = self.pure(kind, &text, &[part]);
        if signed { result } else { self.zeros_from(result, bits) }
    }

    pub(super) fn truncated(&self, part: Part, to: Scalar) -> Part {
        if let Some(bits) = part.bits() {
            return Part::number(to, bits);
        }
        if to == Scalar::BOOL {
            let word = self.truncated(part, Scalar::WORD);
            return self.is_set(self.pure(Scalar::WORD, "and.b32 $0, $1, 1", &[word]));
        }
        let is_same = part.kind.width() == to.width();
        if is_same { Part { kind: to, ..part } } else { self.pure(to, "cvt.u32.u64", &[part]) }
    }

    /// An integer as one with more bits; a truth value also as a float.
    pub(super) fn extended(&self, part: Part, to: Scalar, signed: bool) -> Part {
        if part.kind == Scalar::BOOL {
            let (one, text) = if signed { (-1, "selp.b") } else { (1, "selp.u") };
            let (bits, text) = match to {
                Scalar::Float => ((one as f32).to_bits().into(), "selp.f"),
                Scalar::Double => (f64::from(one).to_bits(), "selp.f"),
                _ => (i64::from(one) as u64, text),
            };
            let choice = [Part::number(to, bits), Part::number(to, 0), part];
            let result = self.pure(to, &format!("{text}{}", to.width()), &choice);
            return if signed { result } else { self.zeros_from(result, 1) };
        }
        let wide = self.widened(part, signed);
        match wide.bits() {
            Some(bits) if signed => Part::number(to, sign_extended(bits, wide.kind.bits()) as u64),
            Some(bits) => Part::number(to, bits),
            None if wide.kind.width() == to.width() => Part { kind: to, ..wide },
            None => self.pure(to, if signed { "cvt.s64.s32" } else { "cvt.u64.u32" }, &[wide]),
        }
    }

    /// The same bits in a register of another class.
    fn moved(&self, part: Part, to: Scalar) -> Part {
        match (part.kind, part.bits()) {
            (Scalar::Pointer(_), _) => part,
            (_, Some(bits)) => Part::number(to, bits),
            (kind, _) if kind.class() == to.class() => Part { kind: to, ..part },
            (kind, _) => self.pure(to, &format!("mov.b{}", kind.bits()), &[part]),
        }
    }
}
