//! Memory: addresses, which are a base, an offset that instructions have room for, and a space;
//! loads, stores and atomics.

use crate::code::{Arg, Part};
use crate::ir::{Id, Instruction};
use crate::lower::Lower;
use crate::table::find;
use crate::types::{Scalar, Space, Type, sign_extended};
use crate::{Error, Known, Result};

/// Bytes of the widest access.
const WIDEST: u64 = 16;
/// Bytes that are copied or set at once.
const MOST: u64 = 4096;

/// What is accessed: scalars of a type, at an address that is a multiple of so much.
type What<'t> = (&'t Type, u64);

/// Scalars of this type, as many as have so many bytes.
fn array(of: Scalar, bytes: u64) -> Type {
    Type::Array(false, bytes / of.size(), Type::Scalar(of).into())
}

impl Lower<'_> {
    pub(super) fn load(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let ([pointer], of) = (instruction.operands()?, &instruction.of);
        let place = self.one(pointer);
        let name = match place.space() {
            space if instruction.has("volatile") => format!("ld.volatile{}", space.suffix()),
            Space::ReadOnly => "ld.global.nc".to_owned(),
            space => format!("ld{}", space.suffix()),
        };
        let what = (of, instruction.align.unwrap_or_else(|| of.align()));
        let mut parts = self.read(&name, place, what)?;
        if let ([Part { kind: Scalar::Pointer(Space::Generic), .. }], Space::Parameter) =
            (&parts[..], place.space())
        {
            // What a kernel is given points to device memory.
            parts[0] = self.in_space(parts[0], Space::Global);
        }
        Ok(parts)
    }

    /// Loads that do nothing else, if their name does not say that they are volatile.
    pub(super) fn read(&self, name: &str, place: Part, what: What<'_>) -> Result<Vec<Part>> {
        if let (Type::Scalar(kind), align) = what
            && align < kind.size()
        {
            let (piece, whole) = (Scalar::Int(8 * align as u32), Scalar::Int(kind.bits()));
            let pieces = self.read(name, place, (&array(piece, kind.size()), align))?.into_iter();
            let pieces = pieces.map(|piece| self.extended(piece, whole, false));
            let joined = pieces.rev().reduce(|high, low| {
                let by = Part::number(Scalar::WORD, 8 * align);
                self.by_table("or", whole, &[self.by_table("shl", whole, &[high, by]), low])
            });
            return Ok(joined.map(|part| self.moved(part, *kind)).into_iter().collect());
        }
        let kinds = what.0.parts()?;
        let registers = kinds.into_iter().map(|(kind, _)| self.register(kind));
        let loaded: Vec<_> =
            registers.map(|part| self.zeros_from(part, part.kind.bits())).collect();
        self.access(name, place, what, &loaded)?;
        Ok(loaded)
    }

    pub(super) fn store(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [value, pointer] = instruction.operands()?;
        let of = &self.function.values[value].kind;
        let what = (of, instruction.align.unwrap_or_else(|| of.align()));
        let how = if instruction.has("volatile") { ".volatile" } else { "" };
        self.write(how, self.one(pointer), what, &self.parts(value))
    }

    fn write(&self, how: &str, to: Part, what: What<'_>, parts: &[Part]) -> Result<Vec<Part>> {
        if to.space() == Space::Parameter {
            return Err(Error::new("a parameter is changed; copy it to a variable first"));
        }
        if let (Type::Scalar(kind), align) = what
            && align < kind.size()
        {
            let whole = self.moved(self.in_register(parts[0]), Scalar::Int(kind.bits()));
            let piece = Scalar::Int(8 * align as u32);
            let pieces = (0..kind.size() / align).map(|number| {
                let by = Part::number(Scalar::WORD, 8 * align * number);
                self.truncated(self.by_table("lshr", whole.kind, &[whole, by]), piece)
            });
            let pieces: Vec<_> = pieces.collect();
            return self.write(how, to, (&array(piece, kind.size()), align), &pieces);
        }
        let stored: Vec<_> = parts.iter().map(|part| self.in_register(*part)).collect();
        self.access(&format!("st{how}{}", to.space().suffix()), to, what, &stored)?;
        Ok(Vec::new())
    }

    /// Loads or stores of parts that are in registers: of those that lie side by side at once, one,
    /// two or four of the same size, at an address that is a multiple of their size.
    fn access(&self, name: &str, to: Part, what: What<'_>, parts: &[Part]) -> Result<()> {
        let (places, mut done) = (what.0.parts()?, 0);
        while let [(kind, at), ..] = places[done..] {
            let size = kind.size();
            let known = if at == 0 { what.1 } else { what.1.min(1 << at.trailing_zeros()) };
            if known < size {
                return Err(Error::unknown(format_args!(
                    "an access of {size} bytes at an address that need not be a multiple of {size}"
                )));
            }
            let fits = |count: &usize| {
                let alike = (at..).step_by(size as usize).map(|at| (kind, at)).take(*count);
                let found = places[done..].iter().take(*count).copied();
                size * *count as u64 <= known.min(WIDEST) && found.eq(alike)
            };
            let count = [4, 2].into_iter().find(fits).unwrap_or(1);
            let these = parts.get(done..done + count).known("a value of another type here")?;
            done += count;
            let (base, address) = self.operand(to.plus(at as i64), count);
            let (vector, values) =
                [("", "$0"), (".v2", "{$0, $1}"), (".v4", "{$0, $1, $2, $3}")][count / 2];
            let text = format!("{name}{vector}.{}", kind.in_memory()?);
            if name.starts_with("ld") {
                let text = format!("{text} {values}, {address}");
                self.push(text.contains("volatile"), &text, these, vec![base]);
            } else {
                let args = these.iter().map(|part| part.base).chain([base]).collect();
                self.push(true, &format!("{text} {address}, {values}"), &[], args);
            }
        }
        Ok(())
    }

    /// An address as an operand with this number: what it begins with, and the text.
    fn operand(&self, mut place: Part, number: usize) -> (Arg, String) {
        // An instruction has room for an offset of 32 bits; null is no address.
        if i32::try_from(place.offset).is_err() || place.bits().is_some() {
            place = self.in_register(self.address(place));
        }
        match place.offset {
            0 => (place.base, format!("[${number}]")),
            offset => (place.base, format!("[${number}+{offset}]")),
        }
    }

    pub(super) fn atomic(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [pointer, value] = instruction.operands()?;
        let (place, value) = (self.one(pointer), self.one(value));
        let (kind, swaps) = (value.kind, instruction.op == "cmpxchg");
        let (name, bits) =
            (if swaps { "compare" } else { instruction.name }, kind.bits().to_string());
        let operation = find("atomic", name).map(|text| text.replace('N', &bits));
        let operation = operation.filter(|text| kind.bits() >= 32 && text.ends_with(&bits));
        let operation =
            operation.known(format_args!("the atomic operation {name} on {bits} bits"))?;
        let (base, address) = self.operand(place, 1);
        let mut args = vec![base, self.arg(value)];
        let mut text = format!("atom{}.{operation} $0, {address}, $2", place.space().suffix());
        if swaps {
            args.push(self.arg(self.one(instruction.operands::<3>()?[2])));
            text += ", $3";
        }
        let old = self.register(kind);
        self.push(true, &text, &[old], args);
        let mut parts = vec![old];
        if swaps {
            parts.push(self.by_table("icmp.eq", Scalar::BOOL, &[old, value]));
        }
        Ok(parts)
    }

    /// `memcpy`, `memmove` and `memset` of a number of bytes that is known.
    pub(super) fn fill(&self, call: &Instruction<'_>) -> Result<Vec<Part>> {
        let ([to, from, bytes], name) = (call.operands()?, call.name.split('.').nth(1));
        let name = name.unwrap_or_default();
        let bytes = self.function.number(bytes).filter(|bytes| *bytes <= MOST).ok_or_else(|| {
            Error::new(format!(
                "{name} of more than {MOST} bytes, or of a number of bytes that is known only when \
                 the kernel runs: write a loop"
            ))
        })?;
        // Four bytes at a time, where both addresses are known to be multiples of four.
        let words = bytes % 4 == 0 && call.align >= Some(4);
        let kind = Scalar::Int(if words { 32 } else { 8 });
        let all = array(kind, bytes);
        let what = (&all, kind.size());
        let parts = if name == "memset" {
            let byte = self.function.number(from).known("memset of a byte that varies")?;
            vec![Part::number(kind, byte * 0x0101_0101); (bytes / kind.size()) as usize]
        } else {
            let source = self.one(from);
            self.read(&format!("ld{}", source.space().suffix()), source, what)?
        };
        self.write("", self.one(to), what, &parts)
    }

    /// A variable on the stack.
    pub(super) fn variable(&self, alloca: &Instruction<'_>) -> Result<Vec<Part>> {
        let [] = alloca.operands[..] else {
            return Err(Error::unknown("an array on the stack whose size varies"));
        };
        let name = format!("__local_depot{}", self.kernel.borrow().locals.len());
        let align = alloca.align.unwrap_or_else(|| alloca.of.align());
        let bytes = alloca.of.size().max(1);
        let declared = format!("\t.local .align {align} .b8 {name}[{bytes}];\n");
        self.kernel.borrow_mut().locals.push(declared);
        Ok(vec![self.symbol(Space::Local, name)])
    }

    /// The address in a register, in its own space: a number.
    pub(super) fn address(&self, place: Part) -> Part {
        let kind = Scalar::LONG;
        let base = match place.base {
            name @ Arg::Symbol(_) => self.compute(kind, "mov.u64 $0, $1", vec![name]),
            base => Part::new(kind, base),
        };
        match place.offset {
            0 => base,
            offset => self.pure(kind, "add.s64", &[base, Part::number(kind, offset as u64)]),
        }
    }

    /// The address in a register, in another space.
    pub(super) fn address_in(&self, place: Part, space: Space) -> Part {
        self.address(self.in_space(place, space))
    }

    /// The same address in another space.
    pub(super) fn in_space(&self, place: Part, to: Space) -> Part {
        let (own, kind) = (place.space(), Scalar::Pointer(to));
        let text = match (own, to) {
            _ if own.suffix() == to.suffix() => return Part { kind, ..place },
            (_, Space::Generic) => format!("cvta{}.u64", own.suffix()),
            (Space::Generic, _) => format!("cvta.to{}.u64", to.suffix()),
            _ => return self.refuse("an address that changes from one space to another"),
        };
        let address = self.address(Part { offset: 0, ..place });
        let generic = self.generic.borrow().get(&address.base).copied();
        let base = match generic.filter(|_| to == Space::Generic) {
            Some(generic) => generic,
            None => self.pure(Scalar::LONG, &text, &[address]).base,
        };
        if own == Space::Generic {
            self.generic.borrow_mut().insert(base, address.base);
        }
        Part { kind, base, ..place }
    }

    /// `getelementptr`: with `-O2` each has one index.
    pub(super) fn element(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let [pointer, index] = instruction.operands[..] else {
            return Err(Error::unknown("an element of an element"));
        };
        Ok(vec![self.step(self.one(pointer), index, instruction.of.size() as i64)])
    }

    /// Adds so many times a size to an address.
    fn step(&self, mut place: Part, mut index: Id, size: i64) -> Part {
        let (function, mut signed) = (self.function, true);
        // A constant summand becomes a part of the offset, also that of a narrow number which is
        // said not to overflow.
        while let Some(by) = function.computed(index) {
            let is_long = function.values[index].kind == Scalar::LONG;
            let promise = if signed { "nsw" } else { "nuw" };
            if let Some((sign, word)) = self.word_of(index) {
                (signed, index) = (sign, word);
            } else if let ("add", [sum, number]) = (by.op, &by.operands[..])
                && (is_long || by.has(promise) || by.has("disjoint"))
                && let Some(bits) = function.number(*number)
            {
                let with_sign = sign_extended(bits, if is_long { 64 } else { 32 });
                let by = if signed { with_sign } else { bits as i64 };
                (place, index) = (place.plus(by.wrapping_mul(size)), *sum);
            } else {
                break;
            }
        }
        let index = self.one(index);
        if let Some(bits) = index.bits() {
            return place.plus(sign_extended(bits, index.kind.bits()).wrapping_mul(size));
        }
        let base = self.address(Part { offset: 0, ..place });
        let factor = Part::number(Scalar::LONG, size as u64);
        let far = match index.kind.width() {
            64 if size == 1 => self.pure(place.kind, "add.s64", &[base, index]),
            64 => self.pure(place.kind, "mad.lo.s64", &[index, factor, base]),
            _ if size >= 1 << 31 => self.refuse("elements of 2 GiB"),
            _ => {
                let text = if signed { "mad.wide.s32" } else { "mad.wide.u32" };
                self.pure(place.kind, text, &[self.widened(index, signed), factor, base])
            }
        };
        far.plus(place.offset)
    }
}
