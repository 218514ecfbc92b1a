//! Numbers and truth values: instructions of tables, what is fused to one, and conversions.

use crate::Result;
use crate::code::Part;
use crate::ir::{Id, Instruction};
use crate::lower::Lower;
use crate::table::find;
use crate::types::{Scalar, Space, sign_extended};

impl<'m> Lower<'m> {
    pub(super) fn arithmetic(&self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let op = instruction.op;
        Ok(self.each(&instruction.operands, |at, parts| {
            let kind = parts[0].kind;
            let one = match op {
                "mul" | "shl" if kind == Scalar::LONG => self.wide_product(instruction),
                "add" | "fadd" | "fsub" => self.sum_with_product(instruction, kind, at),
                _ => None,
            };
            let mut parts = parts.to_vec();
            if let ("shl" | "lshr" | "ashr", [_, by]) = (op, &mut parts[..]) {
                // By how many bits is a number of 32 bits.
                *by = self.truncated(self.widened(*by, false), Scalar::WORD);
            }
            let result = one.unwrap_or_else(|| self.by_table(op, kind, &parts));
            if let ("and", [Part { kind: Scalar::Int(..=32), .. }, mask]) = (op, &parts[..])
                && let Some(mask) = mask.bits()
            {
                self.zeros_from(result, u64::BITS - mask.leading_zeros());
            }
            result
        }))
    }

    pub(super) fn by_table(&self, name: &str, kind: Scalar, parts: &[Part]) -> Part {
        match find("instruction", name) {
            Some(text) => self.steps(&text, kind, parts),
            None => self.refuse(format_args!("the instruction {name}")),
        }
    }

    /// The result of the last one of such instructions as [the table](crate::table) has.
    pub(super) fn steps(&self, text: &str, kind: Scalar, parts: &[Part]) -> Part {
        let of = parts.first().map_or(kind, |part| part.kind);
        let is_narrow = matches!(of, Scalar::Int(bits) if bits != of.width());
        let is_any = text.contains(['A', 'M']);
        if of == Scalar::BOOL && !text.contains('A') || is_narrow && text.contains(".bN") {
            let function = text.split('.').next().unwrap_or_default();
            return self.refuse(format_args!("{function} of {} bits", of.bits()));
        }
        let is_unsigned = text.contains(".u");
        let given = parts.iter().map(|part| match part.kind {
            Scalar::Int(_) if !is_any => self.widened(*part, !is_unsigned),
            _ => *part,
        });
        let (mut operands, count) = (given.collect::<Vec<_>>(), parts.len());
        let text = text.replace('F', kind.ptx()).replace('A', of.ptx());
        let text = text.replace('B', &of.width().to_string());
        let text = text.replace(['N', 'M'], &kind.width().to_string());
        for step in text.split("; ") {
            let step = step.replace("$r", &format!("${}", operands.len()));
            // These have 32 bits, whatever they count.
            let counts = step.starts_with("popc") || step.starts_with("clz");
            let result = self.pure(if counts { Scalar::WORD } else { kind }, &step, &operands);
            operands.truncate(count);
            operands.push(if counts { self.extended(result, kind, false) } else { result });
        }
        let result = operands[count];
        match (of, kind) {
            (Scalar::Int(_), Scalar::Int(bits)) if is_unsigned => self.zeros_from(result, bits),
            _ => result,
        }
    }

    /// A product of words that are extended to 64 bits.
    fn wide_product(&self, instruction: &Instruction<'_>) -> Option<Part> {
        let [a, b] = instruction.operands().ok()?;
        let (signed, word) = self.word_of(a)?;
        let is_shift = instruction.op == "shl";
        let range = if signed { i32::MIN.into()..=i32::MAX.into() } else { 0..=u32::MAX.into() };
        let other = match (self.function.number(b), self.word_of(b)) {
            (Some(by), _) => {
                let by = if is_shift { 1i64.checked_shl(by as u32)? } else { by as i64 };
                range.contains(&by).then(|| Part::number(Scalar::LONG, by as u64))?
            }
            (_, Some((sign, other))) if sign == signed && !is_shift => self.one(other),
            _ => return None,
        };
        let text = if signed { "mul.wide.s32" } else { "mul.wide.u32" };
        Some(self.pure(Scalar::LONG, text, &[self.in_register(self.one(word)), other]))
    }

    /// Of a word that is extended to 64 bits: whether with its sign, and the word.
    pub(super) fn word_of(&self, id: Id) -> Option<(bool, Id)> {
        let by = self.function.computed(id).filter(|by| matches!(by.op, "sext" | "zext"))?;
        let word = *by.operands.first()?;
        let is_word = self.function.values[word].kind == Scalar::WORD && by.of == Scalar::LONG;
        is_word.then_some((by.op == "sext", word))
    }

    /// A sum with a product in the same block: of floats, a fused multiply-add where LLVM makes one
    /// for NVPTX, of two products that with fewer uses; of integers, if nothing else uses it.
    fn sum_with_product(&self, sum: &Instruction<'_>, kind: Scalar, at: usize) -> Option<Part> {
        let [a, b] = sum.operands().ok()?;
        let may_fuse = |one: &Instruction<'_>| one.has("contract") || one.has("fast");
        let product = |id: Id| {
            let by = self.function.computed(id)?;
            let (uses, [x, _]) = (self.function.values[id].uses, by.operands().ok()?);
            let fits = match by.op {
                "fmul" => may_fuse(by) && may_fuse(sum),
                // The product of extended numbers is an instruction already.
                "mul" => uses == 1 && kind.bits() >= 32 && self.word_of(x).is_none(),
                _ => false,
            };
            (fits && by.block == Some(self.from.get())).then_some((uses, by))
        };
        let (first, second) = (product(a), product(b));
        let takes_first = match (&first, &second) {
            (Some((few, _)), Some((many, _))) => few <= many,
            _ => first.is_some(),
        };
        let ((_, product), other) = if takes_first { (first?, b) } else { (second?, a) };
        let [x, y] = product.operands().ok()?;
        let [mut x, y, mut z] = [self.parts(x)[at], self.parts(y)[at], self.parts(other)[at]];
        if sum.op == "fsub" {
            let subtracted = if takes_first { &mut z } else { &mut x };
            *subtracted = self.by_table("fneg", kind, &[*subtracted]);
        }
        let text = if kind.is_float() { "fma.rn." } else { "mad.lo." };
        let text = format!("{text}{}", kind.ptx().replace('b', "s"));
        Some(self.pure(kind, &text, &[self.in_register(x), y, z]))
    }

    pub(super) fn compare(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let name = format!("{}.{}", instruction.op, instruction.name);
        Ok(self.each(&instruction.operands::<2>()?, |_, parts| {
            let (mut x, mut y) = (parts[0], parts[1]);
            if let Scalar::Pointer(_) = x.kind {
                let space = x.space().common(y.space());
                (x, y) = (self.address_in(x, space), self.address_in(y, space));
            }
            self.by_table(&name, Scalar::BOOL, &[self.in_register(x), y])
        }))
    }

    /// The second, if the first one holds, or else the third.
    pub(super) fn select(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let operands = instruction.operands::<3>()?;
        Ok(self.each(&operands, |_, parts| {
            let (by, mut x, mut y) = (parts[0], parts[1], parts[2]);
            if x.kind == Scalar::BOOL {
                return match (x.bits(), y.bits()) {
                    (Some(1), _) => self.by_table("or", Scalar::BOOL, &[by, y]),
                    (_, Some(0)) => self.by_table("and", Scalar::BOOL, &[by, x]),
                    _ => self.by_table("choose", Scalar::BOOL, &[by, x, y]),
                };
            }
            let (by, mut kind) = (self.in_register(by), x.kind);
            if let Scalar::Pointer(_) = kind {
                let space = x.space().common(y.space());
                kind = Scalar::Pointer(space);
                (x, y) = (self.address_in(x, space), self.address_in(y, space));
            }
            self.pure(kind, &format!("selp.{}", kind.ptx()), &[x, y, by])
        }))
    }

    /// A conversion; of bits as another type, of as many.
    pub(super) fn convert(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let operand = instruction.operands::<1>()?;
        let targets = instruction.of.parts()?;
        let is_generic = self.function.values[operand[0]].kind == Scalar::Pointer(Space::Generic);
        Ok(self.each(&operand, |at, parts| {
            let Some((to, _)) = targets.get(at) else { return self.refuse("such a conversion") };
            let (to, part, signed) = (*to, parts[0], instruction.op.starts_with('s'));
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
                ("zext" | "sext", _) => self.extended(part, to, signed),
                (op, _) if part.kind == Scalar::BOOL => {
                    self.by_table(op, to, &[self.extended(part, Scalar::WORD, signed)])
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
            let bit = self.pure(Scalar::WORD, "and.b32 $0, $1, 1", &[word]);
            return self.pure(to, "setp.ne.u32 $0, $1, 0", &[bit]);
        }
        let is_same = part.kind.width() == to.width();
        if is_same { Part { kind: to, ..part } } else { self.pure(to, "cvt.u32.u64", &[part]) }
    }

    /// An integer or a truth value as an integer with more bits.
    pub(super) fn extended(&self, part: Part, to: Scalar, signed: bool) -> Part {
        if part.kind == Scalar::BOOL {
            let (one, text) = if signed { (u64::MAX, "selp.b") } else { (1, "selp.u") };
            let choice = [Part::number(to, one), Part::number(to, 0), part];
            let result = self.pure(to, &format!("{text}{}", to.width()), &choice);
            return if signed { result } else { self.zeros_from(result, 1) };
        }
        let wide = self.widened(part, signed);
        if wide.kind.width() == to.width() {
            return Part { kind: to, ..wide };
        }
        self.pure(to, if signed { "cvt.s64.s32" } else { "cvt.u64.u32" }, &[wide])
    }

    /// The same bits in a register of another class.
    pub(super) fn moved(&self, part: Part, to: Scalar) -> Part {
        match (part.kind, to) {
            (Scalar::Pointer(_), _) => part,
            _ if part.bits().is_some() => Part::number(to, part.bits().unwrap_or(0)),
            (kind, _) if kind.class() == to.class() => Part { kind: to, ..part },
            (Scalar::Short, Scalar::Int(2..=32)) => self.pure(to, "cvt.u32.u16", &[part]),
            (Scalar::Int(2..=32), Scalar::Short) => self.pure(to, "cvt.u16.u32", &[part]),
            (kind, _) if kind.size() == to.size() => {
                self.pure(to, &format!("mov.b{}", kind.bits()), &[part])
            }
            _ => self.refuse("PTX with an operand of another size"),
        }
    }
}
