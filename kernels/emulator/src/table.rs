//! What operations do in one lane: a table by base, modifiers and type. Operations that
//! concern memory, other lanes or the order of execution are not here.

use crate::registers::{Class, Operation, Role, predicate_operation, vector_operation};

/// An operation for each of several types, which it calls by the name that is given:
/// `by_type!(kind, T, ["u32" u32, "u64" u64], operation!(|a: T| -> T { !a }))`.
macro_rules! by_type {
    ($kind:expr, $name:ident, [$($($literal:literal)|+ $type:ident),*], $operation:expr) => {
        match $kind {
            $($($literal)|+ => {
                type $name = $type;
                $operation
            })*
            _ => return None,
        }
    };
}

mod bits;
pub(crate) mod carry;
mod compare;
mod convert;
mod float;
mod fused;
mod integer;

/// The name of an operation, taken apart: `add.ftz.f32`.
#[derive(Clone, Debug)]
pub(crate) struct Form<'a> {
    pub(crate) base: &'a str,
    /// What is neither base nor type, as far as nobody has taken it yet.
    pub(crate) modifiers: Vec<&'a str>,
    pub(crate) types: Vec<&'a str>,
}

impl<'a> Form<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        let mut parts = name.split('.');
        let base = parts.next().unwrap_or_default();
        let is_type = |part: &&str| *part == "pred" || crate::syntax::size_of(part).is_some();
        let (types, modifiers) = parts.partition(is_type);
        Self { base, modifiers, types }
    }

    /// Is this modifier there? It is gone afterwards.
    pub(crate) fn take(&mut self, modifier: &str) -> bool {
        let place = self.modifiers.iter().position(|m| *m == modifier);
        place.map(|place| self.modifiers.remove(place)).is_some()
    }

    /// Which of these modifiers is there? It is gone afterwards.
    pub(crate) fn take_one_of(&mut self, modifiers: &[&'static str]) -> Option<&'static str> {
        modifiers.iter().copied().find(|modifier| self.take(modifier))
    }

    /// The only type.
    pub(crate) fn only_type(&self) -> Option<&'a str> {
        match self.types[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// The operation that gives its operand.
pub(crate) fn copy(class: Class) -> Operation {
    let operation = match class {
        Class::Narrow => vector_operation!(|a: u32| -> u32 { a }),
        Class::Wide => vector_operation!(|a: u64| -> u64 { a }),
        Class::Predicate => predicate_operation!(|a| a),
    };
    operation.with(Role::Moves)
}

/// The operation with this name. None, if there is none or it is not supported.
pub(crate) fn lookup(name: &str) -> Option<Operation> {
    let form = &mut Form::new(name);
    let operation = match (form.base, form.types.as_slice()) {
        ("cvt", _) => convert::lookup(form),
        ("setp", _) => compare::lookup(form),
        ("slct", _) => bits::choose(form),
        ("dp4a" | "dp2a", _) => integer::dot(form),
        ("vabsdiff2" | "vabsdiff4", ["u32", "u32", "u32"]) => integer::differences(form),
        ("mov" | "selp", _) => bits::lookup(form),
        (_, ["f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f64"]) => float::lookup(form),
        (
            "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "sad" | "div" | "rem" | "abs"
            | "neg" | "min" | "max",
            _,
        ) => integer::lookup(form),
        _ => bits::lookup(form),
    }?;
    let is_integer = |kind: &&str| !kind.contains('f');
    let role = match form.base {
        "mov" => Role::Moves,
        "selp" => Role::Chooses,
        "and" | "or" | "xor" | "not" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev" | "prmt"
        | "lop3" | "szext" => Role::Bits,
        "cvt" if form.types.iter().all(is_integer) => Role::Bits,
        _ => Role::Computes,
    };
    form.modifiers.is_empty().then_some(operation.with(role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::{Operands, Registers};

    /// The result of an operation, whose operands may be of any class.
    fn evaluate(name: &str, sources: [u64; 3]) -> u64 {
        let operation = lookup(name).unwrap_or_else(|| panic!("no {name}"));
        let mut registers = Registers::new([4; 3]);
        let slot = |class, index| crate::registers::Slot { class, index };
        for (index, class) in operation.sources.iter().enumerate() {
            registers.broadcast(slot(*class, index as u16), sources[index]);
        }
        let operands = Operands { result: 3, sources: [0, 1, 2, 0] };
        operation.apply(&mut registers, &operands, 1 << 5, u32::MAX);
        assert_eq!(registers.get(slot(operation.result, 3), 4), 0, "{name}: masked");
        registers.get(slot(operation.result, 3), 5)
    }

    fn float(value: f32) -> u64 {
        value.to_bits().into()
    }

    #[test]
    fn integers() {
        let minus = |value: u32| u64::from(value.wrapping_neg());
        assert_eq!(evaluate("add.s32", [7, minus(9), 0]), minus(2));
        assert_eq!(evaluate("mul.wide.s32", [minus(3), 5, 0]), 15u64.wrapping_neg());
        assert_eq!(evaluate("mul.wide.u16", [65535, 65535, 0]), 65535 * 65535);
        assert_eq!(evaluate("mul.hi.u32", [1 << 31, 6, 0]), 3);
        assert_eq!(evaluate("mul.hi.s64", [1 << 63, 2, 0]), u64::MAX);
        assert_eq!(evaluate("mad.lo.s32", [3, 4, 5]), 17);
        assert_eq!(evaluate("div.s32", [minus(7), 2, 0]), minus(3));
        assert_eq!(evaluate("rem.s32", [minus(7), 2, 0]), minus(1));
        assert_eq!(evaluate("div.u32", [7, 0, 0]), u64::from(u32::MAX));
        assert_eq!(evaluate("min.s32", [minus(1), 1, 0]), minus(1));
        assert_eq!(evaluate("min.u32", [minus(1), 1, 0]), 1);
        assert_eq!(evaluate("abs.s64", [5u64.wrapping_neg(), 0, 0]), 5);
        // What an H100 says.
        let factors = [0x12fe_dcba, 0xff80_0123, 0x7fff_fff1];
        assert_eq!(evaluate("mul24.lo.u32", factors), 0x7eb4_e76e);
        assert_eq!(evaluate("mul24.hi.u32", factors), 0x7f6f_7eb4);
        assert_eq!(evaluate("mul24.lo.s32", factors), 0xa1b4_e76e);
        assert_eq!(evaluate("mul24.hi.s32", factors), 0x0091_a1b4);
        assert_eq!(evaluate("mad24.lo.u32", factors), 0xfeb4_e75f);
        assert_eq!(evaluate("mad24.hi.s32", factors), 0x8091_a1a5);
        let factors = [0x127f_dcba, 0x007f_0123, 0x7fff_fff1];
        assert_eq!(evaluate("mad24.hi.sat.s32", factors), 0x7fff_ffff);
        assert_eq!(evaluate("sad.u32", [5, 0xffff_fff0, 7]), 0xffff_fff2);
        assert_eq!(evaluate("sad.s32", [5, 0xffff_fff0, 7]), 0x1c);
        assert_eq!(evaluate("sad.s32", [0x7fff_ffff, 1 << 31, 7]), 6);
        // 255 · 2 + 1 · 3 + 128 · 4 + 127 · 5, and with signs.
        let bytes = [0x7f80_01ff, 0x0504_0302, 1000];
        assert_eq!(evaluate("dp4a.u32.u32", bytes), 1000 + 510 + 3 + 512 + 635);
        assert_eq!(evaluate("dp4a.s32.u32", bytes), 1000 - 2 + 3 - 512 + 635);
        // 65535 · 2 + 3 · 3, and the upper bytes.
        let halves = [0x0003_ffff, 0x0504_0302, 1];
        assert_eq!(evaluate("dp2a.lo.u32.u32", halves), 1 + 131_070 + 9);
        assert_eq!(evaluate("dp2a.hi.s32.s32", halves), 1 + 15 - 4);
        let parts = [0x01ff_8000, 0x0300_0102, 1000];
        assert_eq!(evaluate("vabsdiff4.u32.u32.u32", parts), 0x02ff_7f02);
        assert_eq!(evaluate("vabsdiff4.u32.u32.u32.add", parts), 1000 + 2 + 255 + 127 + 2);
        assert_eq!(evaluate("vabsdiff2.u32.u32.u32.add", parts), 1000 + 0x101 + 0x7efe);
    }

    #[test]
    fn bits() {
        assert_eq!(evaluate("shl.b32", [1, 32, 0]), 0);
        assert_eq!(evaluate("shr.s32", [1 << 31, 99, 0]), u64::from(u32::MAX));
        assert_eq!(evaluate("shr.u64", [1 << 63, 63, 0]), 1);
        assert_eq!(evaluate("shf.l.wrap.b32", [1 << 31, 1, 33]), 3);
        assert_eq!(evaluate("shf.r.clamp.b32", [9, 7, 40]), 7);
        assert_eq!(evaluate("brev.b32", [1, 0, 0]), 1 << 31);
        assert_eq!(evaluate("bfind.u32", [0, 0, 0]), u64::from(u32::MAX));
        assert_eq!(evaluate("bfind.u32", [40, 0, 0]), 5);
        assert_eq!(evaluate("bfind.s32", [u64::from(!40u32), 0, 0]), 5);
        assert_eq!(evaluate("clz.b64", [1, 0, 0]), 63);
        assert_eq!(evaluate("bfe.u32", [0x12, 0x0104, 0x0104]), 1);
        assert_eq!(evaluate("bfe.u64", [0x12, 0x0104, 0x0104]), 0);
        assert_eq!(evaluate("bfe.s64", [0x8000_0000_0000_0012, 4, 0x0104]), 0xf800_0000_0000_0001);
        assert_eq!(evaluate("prmt.b32", [0x3322_1100, 0x7766_5544, 0x7531]), 0x7755_3311);
        let bytes = [0x3322_1100, 0x7766_5544, 6];
        assert_eq!(evaluate("prmt.b32.f4e", bytes), 0x5544_3322);
        assert_eq!(evaluate("prmt.b32.b4e", bytes), 0x7700_1122);
        assert_eq!(evaluate("prmt.b32.rc8", bytes), 0x2222_2222);
        assert_eq!(evaluate("prmt.b32.ecl", bytes), 0x3322_2222);
        assert_eq!(evaluate("prmt.b32.ecr", bytes), 0x2222_1100);
        assert_eq!(evaluate("prmt.b32.rc16", [0x3322_1100, 0, 3]), 0x3322_3322);
        assert_eq!(evaluate("bmsk.clamp.b32", [4, 40, 0]), 0xffff_fff0);
        assert_eq!(evaluate("bmsk.clamp.b32", [40, 4, 0]), 0);
        assert_eq!(evaluate("bmsk.wrap.b32", [36, 33, 0]), 0x10);
        assert_eq!(evaluate("szext.clamp.s32", [0x80, 8, 0]), 0xffff_ff80);
        assert_eq!(evaluate("szext.clamp.u32", [0x1ff, 8, 0]), 0xff);
        assert_eq!(evaluate("szext.clamp.s32", [0x1ff, 77, 0]), 0x1ff);
        assert_eq!(evaluate("szext.wrap.s32", [0x1ff, 32, 0]), 0);
        let places = 0b1001_0010;
        assert_eq!(evaluate("fns.b32", [places, 2, 1]), 4);
        assert_eq!(evaluate("fns.b32", [places, 4, 2]), 7);
        let backwards = u64::from(3u32.wrapping_neg());
        assert_eq!(evaluate("fns.b32", [places, 6, backwards]), u64::from(u32::MAX));
        assert_eq!(evaluate("fns.b32", [places, 1, 0]), 1);
        assert_eq!(evaluate("selp.b64", [1 << 40, 2, 1]), 1 << 40);
        let minus = |value: u32| u64::from(value.wrapping_neg());
        assert_eq!(evaluate("slct.b64.s32", [1 << 40, 2, 0]), 1 << 40);
        assert_eq!(evaluate("slct.u32.s32", [1, 2, minus(1)]), 2);
        assert_eq!(evaluate("slct.f32.f32", [1, 2, float(-0.0)]), 1);
        assert_eq!(evaluate("slct.f32.f32", [1, 2, float(f32::NAN)]), 2);
        assert_eq!(evaluate("slct.ftz.f32.f32", [1, 2, float(-1e-40)]), 1);
    }

    #[test]
    fn floats() {
        assert_eq!(evaluate("add.f32", [float(0.1), float(0.2), 0]), float(0.1 + 0.2));
        assert_eq!(evaluate("add.ftz.f32", [1, 0, 0]), 0);
        assert_eq!(evaluate("add.sat.f32", [float(1.0), float(9.0), 0]), float(1.0));
        let nan = float(f32::NAN);
        assert_eq!(evaluate("min.f32", [nan, float(3.0), 0]), float(3.0));
        assert_eq!(evaluate("max.f32", [float(-0.0), float(0.0), 0]), float(0.0));
        assert_eq!(evaluate("min.f32", [float(0.0), float(-0.0), 0]), float(-0.0));
        assert_eq!(evaluate("setp.lt.f32", [nan, 0, 0]), 0);
        assert_eq!(evaluate("setp.ltu.f32", [nan, 0, 0]), 1);
        assert_eq!(evaluate("setp.gt.f16", [0, 0x8025, 0]), 1);
        assert_eq!(evaluate("setp.gt.ftz.f16", [0, 0x8025, 0]), 0);
        assert_eq!(evaluate("testp.normal.f32", [float(-0.0), 0, 0]), 1);
        assert_eq!(evaluate("testp.normal.f32", [1, 0, 0]), 0);
        assert_eq!(evaluate("copysign.f32", [float(-1.0), float(2.0), 0]), float(-2.0));
        assert_eq!(evaluate("ex2.approx.f32", [float(3.0), 0, 0]), float(8.0));
        let fused = f32::mul_add(0.1, 0.2, 0.3);
        let sources = [float(0.1), float(0.2), float(0.3)];
        assert_eq!(evaluate("fma.rn.f32", sources), float(fused));
        assert_eq!(evaluate("add.f16", [0x3c00, 0x3c00, 0]), 0x4000);
        assert_eq!(evaluate("add.ftz.f16", [0x0001, 0x8001, 0]), 0);
        assert_eq!(evaluate("neg.ftz.f16x2", [0x0001_3c00, 0, 0]), 0x8000_bc00);
        assert_eq!(evaluate("max.xorsign.abs.f32", [float(-3.0), float(2.0), 0]), float(-3.0));
        assert_eq!(evaluate("min.xorsign.abs.f16", [0xc000, 0xbc00, 0]), 0x3c00);
        let third = (1.0f64 / 3.0).to_bits(); // rounded down
        assert_eq!(evaluate("rcp.rp.f64", [3f64.to_bits(), 0, 0]), third + 1);
        let pairs = [0x3c00_4000, 0x3c00_3c00, 0];
        assert_eq!(evaluate("mul.f16x2", pairs), 0x3c00_4000);
    }

    #[test]
    fn conversions() {
        assert_eq!(evaluate("cvt.u64.u32", [u64::from(u32::MAX), 0, 0]), 0xffff_ffff);
        assert_eq!(evaluate("cvt.s64.s32", [u64::from(u32::MAX), 0, 0]), u64::MAX);
        assert_eq!(evaluate("cvt.u32.u8", [0x1ff, 0, 0]), 0xff);
        assert_eq!(evaluate("cvt.rzi.s32.f32", [float(-2.7), 0, 0]), 0xffff_fffe);
        assert_eq!(evaluate("cvt.rni.s32.f32", [float(2.5), 0, 0]), 2);
        assert_eq!(evaluate("cvt.rpi.u32.f32", [float(2.1), 0, 0]), 3);
        assert_eq!(evaluate("cvt.rzi.u32.f32", [float(f32::NAN), 0, 0]), 0);
        assert_eq!(evaluate("cvt.rzi.u64.f32", [float(f32::NAN), 0, 0]), 1 << 63);
        assert_eq!(evaluate("cvt.rzi.s64.f16", [0x7e00, 0, 0]), 1 << 63);
        assert_eq!(evaluate("cvt.rzi.u32.f64", [f64::NAN.to_bits(), 0, 0]), 1 << 31);
        assert_eq!(evaluate("cvt.rni.u16.f64", [f64::NAN.to_bits(), 0, 0]), 1 << 15);
        assert_eq!(evaluate("cvt.rzi.s8.f64", [f64::NAN.to_bits(), 0, 0]), 0xffff_ff80);
        assert_eq!(evaluate("cvt.rn.f32.s64", [u64::MAX, 0, 0]), float(-1.0));
        assert_eq!(evaluate("cvt.rn.f16.f32", [float(1.0), 0, 0]), 0x3c00);
        assert_eq!(evaluate("cvt.rm.f16.f32", [float(-1e-9), 0, 0]), 0x8001);
        assert_eq!(evaluate("cvt.rn.bf16.s32", [u64::from(u32::MAX), 0, 0]), 0xbf80);
        assert_eq!(evaluate("cvt.rzi.s16.bf16", [0xc048, 0, 0]), 0xffff_fffd);
        assert_eq!(evaluate("cvt.rp.f64.u64", [u64::MAX, 0, 0]), 2f64.powi(64).to_bits());
        assert_eq!(evaluate("cvt.rni.sat.f32.f32", [float(0.7), 0, 0]), float(1.0));
        assert_eq!(evaluate("cvt.f32.f16", [0xc000, 0, 0]), float(-2.0));
        assert_eq!(evaluate("cvt.rmi.f32.f32", [float(-0.5), 0, 0]), float(-1.0));
        assert_eq!(evaluate("cvt.sat.u8.s32", [300, 0, 0]), 255);
        let pair = [float(1.0), float(2.0), 0];
        assert_eq!(evaluate("cvt.rn.f16x2.f32", pair), 0x3c00_4000);
    }

    #[test]
    fn what_is_not_supported_is_not_found() {
        for name in ["add.cc.u32", "dp4a.u32.f32", "add.rn.bogus.f32", "cvt.f32.s32"] {
            assert!(lookup(name).is_none(), "{name}");
        }
    }
}
