//! The operations that programs choose from, and what they share.

/// What a register holds: a letter in the rows below.
///
/// | integers, bits | floats | pairs |
/// |---|---|---|
/// | `h` 16 bits, `r` 32, `d` 64, `p` one | `x` f16, `b` bf16, `f` f32, `g` f64 | `y` f16x2, `c` bf16x2 |
pub(crate) const KINDS: [char; 10] = ['h', 'r', 'd', 'x', 'b', 'f', 'g', 'y', 'c', 'p'];

/// The letter of registers that have room for a kind.
pub(crate) fn class(kind: char) -> char {
    match kind {
        'h' | 'x' | 'b' => 'h',
        'd' | 'g' => 'd',
        'p' => 'p',
        _ => 'r',
    }
}

pub(crate) fn bytes(kind: char) -> u64 {
    match class(kind) {
        'p' => 1,
        'h' => 2,
        'r' => 4,
        _ => 8,
    }
}

/// Operations: kind of the result, name, kinds of the operands. `<a|b>` is `a` or `b`. A capital
/// letter may be a constant, `S` a distance to shift, `N`, `M` and `O` are `h`, `r` and `d` other
/// than zero, `t` a tf32, `I` is a constant of 8 bits, `L` one of 5, `Z` a special register, and `q` two predicates.
pub(crate) const ROWS: [(usize, &[&str]); 10] = [
    (10, &HALF_WORDS),
    (22, &WORDS),
    (14, &LONG_WORDS),
    (14, &BITS),
    (18, &SINGLES),
    (12, &DOUBLES),
    (14, &HALVES),
    (8, &BRAIN_FLOATS),
    (12, &CONVERSIONS),
    (10, &PREDICATES),
];

pub(crate) const HALF_WORDS: [&str; 14] = [
    "h <add|sub|min|max>.<s16|u16> h H",
    "h mul.<lo|hi>.<s16|u16> h H",
    "r mul.wide.<s16|u16> h H",
    "h mad.<lo|hi>.<s16|u16> h h H",
    "r mad.wide.<s16|u16> h h R",
    "h sad.<s16|u16> h h h",
    "h <abs|neg>.s16 h",
    "h <div|rem>.<s16|u16> h N",
    "h <and|or|xor>.b16 h H",
    "h <not|cnot>.b16 h",
    "h shl.b16 h S",
    "h shr.<b16|u16|s16> h S",
    "h selp.<b16|u16|s16> h H p",
    "h slct.<b16|u16|s16>.s32 h h r",
];

pub(crate) const WORDS: [&str; 22] = [
    "r <add|sub|min|max>.<s32|u32> r R",
    "r <add|sub>.sat.s32 r R",
    "r mul.<lo|hi>.<s32|u32> r R",
    "d mul.wide.<s32|u32> r R",
    "r mad.<lo|hi>.<s32|u32> r r R",
    "r mad.hi.sat.s32 r r R",
    "d mad.wide.<s32|u32> r r D",
    "r <mul24.lo|mul24.hi>.<s32|u32> r R",
    "r <mad24.lo|mad24.hi>.<s32|u32> r r R",
    "r mad24.hi.sat.s32 r r R",
    "r sad.<s32|u32> r r R",
    "r <abs|neg>.s32 r",
    "r <div|rem>.<s32|u32> r M",
    "r dp4a.<s32|u32>.<s32|u32> r r r",
    "r dp2a.<lo|hi>.<s32|u32>.<s32|u32> r r r",
    "r <and|or|xor>.b32 r R",
    "r <not|cnot>.b32 r",
    "r shl.b32 r S",
    "r shr.<b32|u32|s32> r S",
    "r selp.<b32|u32|s32> r R p",
    "r slct.<b32|u32|s32>.<s32 r r r|f32 r r f|f32 r R f>",
    "r mov.u32 Z",
];

pub(crate) const LONG_WORDS: [&str; 13] = [
    "d <add|sub|min|max>.<s64|u64> d D",
    "d mul.<lo|hi>.<s64|u64> d D",
    "d mad.<lo|hi>.<s64|u64> d d D",
    "d sad.<s64|u64> d d d",
    "d <abs|neg>.s64 d",
    "d <div|rem>.<s64|u64> d O",
    "d <and|or|xor>.b64 d D",
    "d <not|cnot>.b64 d",
    "d shl.b64 d S",
    "d shr.<b64|u64|s64> d S",
    "d selp.<b64|u64|s64> d D p",
    "d slct.<b64|u64|s64>.s32 d d r",
    "d slct.<b64|s64>.f32 d d f",
];

pub(crate) const BITS: [&str; 18] = [
    "r <popc|clz>.<b32 r|b64 d>",
    "<r brev.b32 r|d brev.b64 d>",
    "r bfind.<|shiftamt.><u32 r|s32 r|u64 d|s64 d>",
    "r bfe.<u32|s32> r r r",
    "r bfe.<u32|s32> r S S",
    "d bfe.<u64|s64> d S S",
    "d bfe.<u64|s64> d r r",
    "r bfi.b32 r r S S",
    "r bfi.b32 r r r r",
    "d bfi.b64 d d S S",
    "d bfi.b64 d d r r",
    "r prmt.b32 r r R",
    "r prmt.b32.<f4e|b4e|rc8|ecl|ecr|rc16> r r R",
    "r lop3.b32 r r r I",
    "r shf.<l|r>.<wrap|clamp>.b32 r r S",
    "r fns.b32 r L S",
    "r bmsk.<clamp|wrap>.b32 R S",
    "r szext.<clamp|wrap>.<s32|u32> r S",
];

pub(crate) const SINGLES: [&str; 13] = [
    "f <add|sub|mul>.<rn|rz|rm|rp>.<|ftz.><|sat.>f32 f F",
    "f <add|sub|mul>.rn.f32 f F",
    "f fma.<rn|rz|rm|rp>.<|ftz.><|sat.>f32 f f F",
    "f fma.rn.f32 f f f",
    "f div.<rn|rz|rm|rp>.<|ftz.>f32 f F",
    "f <rcp|sqrt>.<rn|rz|rm|rp>.<|ftz.>f32 f",
    "f <min|max>.<|ftz.><|NaN.>f32 f F",
    "f <min|max>.<|ftz.><|NaN.>xorsign.abs.f32 f f",
    "f <abs|neg>.<|ftz.>f32 f",
    "f copysign.f32 f F",
    "f cvt.<rni|rzi|rmi|rpi>.<|ftz.><|sat.>f32.f32 f",
    "f cvt.<sat|ftz|ftz.sat>.f32.f32 f",
    "f selp.f32 f F p",
];

pub(crate) const DOUBLES: [&str; 10] = [
    "g <add|sub|mul>.rn.f64 g G",
    "g <add|sub|mul>.<rz|rm|rp>.f64 g G",
    "g fma.rn.f64 g g G",
    "g fma.<rz|rm|rp>.f64 g g G",
    "g div.<rn|rz|rm|rp>.f64 g G",
    "g <rcp|sqrt>.<rn|rz|rm|rp>.f64 g",
    "g <min|max>.f64 g G",
    "g <abs|neg>.f64 g",
    "g copysign.f64 g G",
    "g cvt.<rni|rzi|rmi|rpi>.f64.f64 g",
];

pub(crate) const HALVES: [&str; 11] = [
    "x <add|sub|mul>.rn.<|ftz.><|sat.>f16 x x",
    "y <add|sub|mul>.rn.<|ftz.><|sat.>f16x2 y y",
    "x fma.rn.<|ftz.><|sat.|relu.>f16 x x x",
    "y fma.rn.<|ftz.><|sat.|relu.>f16x2 y y y",
    "x <min|max>.<|ftz.><|NaN.><|xorsign.abs.>f16 x x",
    "y <min|max>.<|ftz.><|NaN.><|xorsign.abs.>f16x2 y y",
    "x <abs|neg>.<|ftz.>f16 x",
    "y <abs|neg>.<|ftz.>f16x2 y",
    "x cvt.<rni|rzi|rmi|rpi>.f16.f16 x",
    "<r set.<eq|lt|gtu|nan>.u32.f16x2 y y|y set.<ne|geu|le|num>.f16x2.f16x2 y y>",
    "<x set.<eq|ltu>.f16.f16 x x|r set.<gt|neu>.<u32|s32>.f16 x x>",
];

pub(crate) const BRAIN_FLOATS: [&str; 8] = [
    "b <add|sub|mul>.rn.bf16 b b",
    "c <add|sub|mul>.rn.bf16x2 c c",
    "b fma.rn.<|relu.>bf16 b b b",
    "c fma.rn.<|relu.>bf16x2 c c c",
    "b <min|max>.<|NaN.><|xorsign.abs.>bf16 b b",
    "c <min|max>.<|NaN.><|xorsign.abs.>bf16x2 c c",
    "b <abs|neg>.bf16 b",
    "c <abs|neg>.bf16x2 c",
];

/// Integers to integers, and integers from and to floats, are made by [`Writer::between`].
pub(crate) const CONVERSIONS: [&str; 16] = [
    "x cvt.<rn|rz|rm|rp>.f16.f32 f",
    "x cvt.<rn|rz|rm|rp>.f16.f64 g",
    "f cvt.<rn|rz|rm|rp>.<|ftz.>f32.f64 g",
    "f cvt.rn.sat.f32.f64 g",
    "f cvt.<|ftz.>f32.f16 x",
    "g cvt.<|ftz.>f64.f32 f",
    "g cvt.f64.f16 x",
    "f cvt.f32.bf16 b",
    "<b cvt.rn.bf16.f64 g|g cvt.f64.bf16 b>",
    "b cvt.<rn|rz><|.relu>.bf16.f32 f",
    "x cvt.<rn|rz>.relu.f16.f32 f",
    "y cvt.<rn|rz><|.relu>.f16x2.f32 f f",
    "c cvt.<rn|rz><|.relu>.bf16x2.f32 f f",
    "h cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.<f32 f f|f16x2 y>",
    "y cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2> h",
    "t cvt.rna.tf32.f32 f",
];

pub(crate) const PREDICATES: [&str; 13] = [
    "p setp.<eq|ne|lt|le|gt|ge>.<s16|u16> h H",
    "p setp.<eq|ne|lt|le|gt|ge>.<s32|u32> r R",
    "p setp.<lo|ls|hi|hs>.u32 r R",
    "q setp.<eq|ne|lt|ge>.<and|or|xor>.<s32|u32> r R p",
    "p setp.<eq|ne|lt|le|gt|ge>.<s64|u64> d D",
    "p setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.<|ftz.>f32 f F",
    "q setp.<eq|lt|gtu|nan>.<and|or|xor>.f32 f F p",
    "p setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.f64 g G",
    "p setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.<|ftz.>f16 x x",
    "p setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.bf16 b b",
    "p testp.<finite|infinite|number|notanumber|normal|subnormal>.<f32 f|f64 g>",
    "p <and|or|xor>.pred p p",
    "<p not.pred p|r set.<lt|eq|ge>.<u32|s32>.<s32|u32> r R|f set.<gt|leu>.f32.f32 f F>",
];

/// Operations of a loop's body: the result and the first operand are of one kind.
pub(crate) const STEADY: [&str; 6] = [
    "r <add.s32|sub.u32|xor.b32|mul.lo.s32> r R",
    "r mad.lo.u32 r r R",
    "r shf.l.wrap.b32 r r S",
    "f fma.rn.f32 f f F",
    "d mad.lo.s64 d d D",
    "g add.rn.f64 g G",
];

/// Functions that programs call, and variables.
pub(crate) const PARTS: &str = "\
.const .align 4 .b32 table[16] = {
    3, 0x80000000, 0xffffffff, 7, 0x3f800000, 0x7f800000, 1, 0, 100, 0x12345678, 31, 32, 64, 255,
    0x00010001, 0xfffffff0 };

.func (.param .b32 result) collatz(.param .b32 number)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    ld.param.b32 %r1, [number];
    and.b32 %r1, %r1, 63;
    mov.u32 %r2, 0;
again:
    setp.le.u32 %p1, %r1, 1;
    @%p1 bra done;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra even;
    mad.lo.u32 %r1, %r1, 3, 1;
    bra next;
even:
    shr.u32 %r1, %r1, 1;
next:
    add.u32 %r2, %r2, 1;
    bra again;
done:
    st.param.b32 [result], %r2;
    ret;
}

.func (.param .b64 result) mixed(.param .b64 first, .param .b32 second)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.b64 %d1, [first];
    ld.param.b32 %r1, [second];
    cvt.s64.s32 %d2, %r1;
    mul.lo.s64 %d1, %d1, 6364136223846793005;
    shr.u64 %d3, %d1, 29;
    xor.b64 %d1, %d1, %d3;
    sub.s64 %d1, %d1, %d2;
    st.param.b64 [result], %d1;
    ret;
}
";
