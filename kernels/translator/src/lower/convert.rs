//! Conversions from one type to another.

use crate::code::Arg;
use crate::ir::{Id, Typed};
use crate::lower::{Lower, Part, Place};
use crate::read::sign_extended;
use crate::types::{Class, Type};
use crate::{Error, Result};

impl Lower<'_> {
    /// An integer whose unused upper bits in its register are zeros, or the sign.
    pub(super) fn widened(&mut self, part: &Part, kind: &Type, signed: bool) -> Result<Arg> {
        let bits = kind.bits();
        if let Part::Bits(number) = part {
            return Ok(match (signed, bits) {
                (true, _) | (_, 32 | 64) => Arg::text(sign_extended(*number, bits)),
                (false, _) => Arg::text(number),
            });
        }
        let arg = self.arg(part, kind)?;
        let class = kind.class()?;
        let width = if class == Class::Long { 64 } else { 32 };
        let is_short = match &arg {
            Arg::Reg(reg) => self.short.get(reg).copied().unwrap_or(width),
            Arg::Text(_) => width,
        };
        if bits == width || !signed && is_short <= bits || signed && is_short < bits {
            return Ok(arg);
        }
        let sign = if signed { 's' } else { 'u' };
        let text = match bits {
            8 | 16 => format!("cvt.{sign}{width}.{sign}{bits} $0, $1;"),
            _ => format!("bfe.{sign}{width} $0, $1, 0, {bits};"),
        };
        let result = self.pure(class, &text, vec![arg]);
        if let (Arg::Reg(reg), false) = (&result, signed) {
            self.short.insert(*reg, bits);
        }
        Ok(result)
    }

    pub(super) fn convert(
        &mut self,
        name: &str,
        from: &Typed,
        to: &Type,
        result: Option<Id>,
    ) -> Result<Vec<Part>> {
        if name == "bitcast" {
            return self.bits_as(from, to);
        }
        let parts = self.parts(&from.value, &from.kind)?;
        let (sources, targets) = (from.kind.parts()?, to.parts()?);
        let mut results = Vec::new();
        for (part, ((source, _), (target, _))) in parts.iter().zip(sources.iter().zip(&targets)) {
            results.push(match name {
                "addrspacecast" => {
                    let space = result.map_or(0, |id| self.space_of(id));
                    let place = self.place_of(part, source)?;
                    Part::Place(self.in_space(&place, space)?)
                }
                "ptrtoint" => {
                    let place = self.place_of(part, source)?;
                    let address = match source {
                        Type::Pointer(0) => self.generic(&place)?,
                        _ => self.address(&place),
                    };
                    let long = self.part(address, &Type::Int(64));
                    self.convert_one("trunc", &long, &Type::Int(64), target)?
                }
                "inttoptr" => {
                    let long = self.convert_one("zext", part, source, &Type::Int(64))?;
                    let base = self.reg(&long, &Type::Int(64))?;
                    let Type::Pointer(space) = *target else {
                        return Err(Error::unknown("such an inttoptr"));
                    };
                    Part::Place(Place { base, offset: 0, space })
                }
                _ => self.convert_one(name, part, source, target)?,
            });
        }
        Ok(results)
    }

    fn convert_one(&mut self, name: &str, part: &Part, from: &Type, to: &Type) -> Result<Part> {
        if from == to {
            return Ok(part.clone());
        }
        let class = to.class()?;
        let width = |kind: &Type| if kind.bits() <= 32 { 32 } else { 64 };
        if *from == Type::BOOL && name != "trunc" {
            let is_set = self.reg(part, from)?;
            let number = match (name, class) {
                ("sext", _) => format!("selp.b{} $0, -1, 0, $1;", width(to)),
                (_, Class::Float) => "selp.f32 $0, 0f3F800000, 0f00000000, $1;".to_owned(),
                (_, Class::Double) => {
                    "selp.f64 $0, 0d3FF0000000000000, 0d0000000000000000, $1;".to_owned()
                }
                _ => format!("selp.u{} $0, 1, 0, $1;", width(to)),
            };
            if name == "sitofp" {
                return Err(Error::unknown("a truth value as a number with a sign"));
            }
            let result = self.pure(class, &number, vec![is_set]);
            if let (Arg::Reg(reg), "zext") = (&result, name) {
                self.short.insert(*reg, 1);
            }
            return Ok(self.part(result, to));
        }
        let sign = if matches!(name, "sext" | "sitofp" | "fptosi") { 's' } else { 'u' };
        let text = match name {
            "trunc" if *to == Type::BOOL => {
                let word = self.convert_one("trunc", part, from, &Type::Int(32))?;
                let word = self.arg(&word, &Type::Int(32))?;
                let bit = self.pure(Class::Word, "and.b32 $0, $1, 1;", vec![word]);
                let is_set = self.pure(Class::Predicate, "setp.ne.u32 $0, $1, 0;", vec![bit]);
                return Ok(self.part(is_set, to));
            }
            "trunc" if width(from) == width(to) => return Ok(part.clone()),
            "trunc" => "cvt.u32.u64 $0, $1;".to_owned(),
            "zext" | "sext" => {
                let wide = self.widened(part, from, sign == 's')?;
                if width(from) == width(to) {
                    return Ok(match (&wide, part) {
                        (Arg::Text(_), Part::Bits(bits)) => Part::Bits(match sign {
                            's' => sign_extended(*bits, from.bits()) as u64,
                            _ => *bits,
                        }),
                        _ => self.part(wide, to),
                    });
                }
                let text = format!("cvt.{sign}64.{sign}32 $0, $1;");
                let wide = self.in_word(wide);
                let result = self.pure(class, &text, vec![wide]);
                return Ok(self.part(result, to));
            }
            "uitofp" | "sitofp" => {
                let wide = self.widened(part, from, sign == 's')?;
                let text = format!("cvt.rn.{}.{sign}{} $0, $1;", class.kind(), width(from));
                let result = self.pure(class, &text, vec![wide]);
                return Ok(self.part(result, to));
            }
            "fptoui" | "fptosi" => {
                format!("cvt.rzi.{sign}{}.{} $0, $1;", width(to), from.class()?.kind())
            }
            "fpext" => "cvt.f64.f32 $0, $1;".to_owned(),
            "fptrunc" => "cvt.rn.f32.f64 $0, $1;".to_owned(),
            _ => return Err(Error::unknown(format!("the conversion {name}"))),
        };
        let value = self.reg(part, from)?;
        let result = self.pure(class, &text, vec![value]);
        Ok(self.part(result, to))
    }

    fn in_word(&mut self, arg: Arg) -> Arg {
        match arg {
            number @ Arg::Text(_) => self.pure(Class::Word, "mov.u32 $0, $1;", vec![number]),
            reg => reg,
        }
    }

    /// The same bits as another type: words are put together from smaller parts, or taken apart.
    fn bits_as(&mut self, from: &Typed, to: &Type) -> Result<Vec<Part>> {
        let sources = from.kind.parts()?;
        let targets = to.parts()?;
        let parts = self.parts(&from.value, &from.kind)?;
        let (source, target) = (&sources[0].0, &targets[0].0);
        let unknown = || Error::unknown(format!("the bits of {:?} as {to:?}", from.kind));
        if source.bits() == target.bits() {
            let moved = parts.iter().map(|part| self.moved(part, source, target));
            return moved.collect();
        }
        let (wide, narrow) = (source.bits().max(target.bits()), source.bits().min(target.bits()));
        let count = (wide / narrow) as usize;
        if !matches!(narrow, 8 | 16 | 32) || !matches!(wide, 16 | 32 | 64) {
            return Err(unknown());
        }
        let (wide_kind, narrow_kind) = (Type::Int(wide), Type::Int(narrow));
        let mut results = Vec::new();
        if source.bits() > target.bits() {
            for part in &parts {
                let whole = self.moved(part, source, &wide_kind)?;
                for piece in self.taken_apart(&whole, wide, narrow)? {
                    results.push(self.moved(&piece, &narrow_kind, target)?);
                }
            }
        } else {
            for group in parts.chunks(count) {
                let pieces = group.iter().map(|part| self.moved(part, source, &narrow_kind));
                let pieces = pieces.collect::<Result<Vec<_>>>()?;
                let whole = self.put_together(&pieces, narrow)?;
                results.push(self.moved(&whole, &wide_kind, target)?);
            }
        }
        Ok(results)
    }

    /// The same bits in a register of another class.
    fn moved(&mut self, part: &Part, from: &Type, to: &Type) -> Result<Part> {
        if matches!(part, Part::Bits(_)) || from.class()? == to.class()? {
            return Ok(part.clone());
        }
        let value = self.arg(part, from)?;
        let text = format!("mov.b{} $0, $1;", from.bits());
        let result = self.pure(to.class()?, &text, vec![value]);
        Ok(self.part(result, to))
    }

    fn taken_apart(&mut self, whole: &Part, wide: u32, narrow: u32) -> Result<Vec<Part>> {
        if wide == 64 {
            let long = self.reg(whole, &Type::Int(64))?;
            let low = self.pure(Class::Word, "cvt.u32.u64 $0, $1;", vec![long.clone()]);
            let high = self.pure(Class::Long, "shr.u64 $0, $1, 32;", vec![long]);
            let high = self.pure(Class::Word, "cvt.u32.u64 $0, $1;", vec![high]);
            let mut pieces = Vec::new();
            for word in [low, high] {
                let word = self.part(word, &Type::Int(32));
                match narrow {
                    32 => pieces.push(word),
                    narrow => pieces.extend(self.taken_apart(&word, 32, narrow)?),
                }
            }
            return Ok(pieces);
        }
        let word = self.reg(whole, &Type::Int(32))?;
        let pieces = (0..wide / narrow).map(|number| {
            let shift = number * narrow;
            let text = format!("shr.u32 $0, $1, {shift};");
            let piece = match shift {
                0 => word.clone(),
                _ => self.pure(Class::Word, &text, vec![word.clone()]),
            };
            self.part(piece, &Type::Int(narrow))
        });
        Ok(pieces.collect())
    }

    fn put_together(&mut self, pieces: &[Part], narrow: u32) -> Result<Part> {
        let words: Vec<Arg> = {
            let kind = Type::Int(narrow);
            pieces.iter().map(|piece| self.reg(piece, &kind)).collect::<Result<_>>()?
        };
        let bits = narrow * words.len() as u32;
        let mut pair =
            |text: &str, a: &Arg, b: &Arg| self.pure(Class::Word, text, vec![a.clone(), b.clone()]);
        // Which bytes of two words: the lower halves of both, or the lowest bytes.
        let halves = "prmt.b32 $0, $1, $2, 0x5410;";
        let bytes = "prmt.b32 $0, $1, $2, 0x0040;";
        let whole = match (narrow, &words[..]) {
            (16, [a, b]) => pair(halves, a, b),
            (8, [a, b]) => pair(bytes, a, b),
            (8, [a, b, c, d]) => {
                let (low, high) = (pair(bytes, a, b), pair(bytes, c, d));
                pair(halves, &low, &high)
            }
            (32, [a, b]) => {
                let args = vec![a.clone(), b.clone()];
                self.pure(Class::Long, "mov.b64 $0, {$1, $2};", args)
            }
            (narrow, words) => {
                let half = words.len() / 2;
                let kind = Type::Int(narrow);
                let part = |word: &Arg| self.part(word.clone(), &kind);
                let all: Vec<Part> = words.iter().map(part).collect();
                let low = self.put_together(&all[..half], narrow)?;
                let high = self.put_together(&all[half..], narrow)?;
                return self.put_together(&[low, high], bits / 2);
            }
        };
        Ok(self.part(whole, &Type::Int(bits)))
    }
}
