//! Tables: what is one instruction of PTX, or a few.
//!
//! In a name, `_` is any word, and the ones that words with `|` stand for are put in the place of
//! each `*`: of `floor=rmi`, `rmi`. If there are several instructions, each may use the result of
//! the one before as `$r`. `F` is the type of a result with a point, `A` that of the first operand;
//! `N` and `B` are how many bits their registers have. Integers that have fewer are given with
//! zeros above, if a `u` is in the text, and else with their sign; with `M` for `N`, as they are.

/// Instructions that do nothing but compute, with what they compare by as a second word.
///
/// With a rounding of its own, ptxas fuses nothing that is not fused here.
pub(super) const INSTRUCTIONS: [(&str, &str); 16] = [
    ("fadd=add|fsub=sub|fmul=mul|fdiv=div", "*.rn.F"),
    ("fneg", "neg.F"),
    ("add|sub", "*.sM"),
    ("mul", "mul.lo.sM"),
    ("and|or|xor", "*.bM"),
    ("shl", "shl.bM"),
    ("udiv=div|urem=rem|lshr=shr", "*.uN"),
    ("sdiv=div|srem=rem|ashr=shr", "*.sN"),
    ("fptrunc", "cvt.rn.f32.f64"),
    ("fpext", "cvt.f64.f32"),
    ("fptosi=s|fptoui=u", "cvt.rzi.*N.A"),
    ("sitofp=s|uitofp=u", "cvt.rn.F.*B"),
    ("icmp.eq|ne|ult=lt|ule=le|ugt=gt|uge=ge", "setp.*.uB"),
    ("icmp.slt=lt|sle=le|sgt=gt|sge=ge", "setp.*.sB"),
    ("fcmp.oeq=eq|one=ne|olt=lt|ole=le|ogt=gt|oge=ge|ord=num|uno=nan", "setp.*.A"),
    ("fcmp.ueq=equ|une=neu|ult=ltu|ule=leu|ugt=gtu|uge=geu", "setp.*.A"),
];

/// Functions that do nothing but compute, without `llvm.`.
pub(super) const FUNCTIONS: [(&str, &str); 25] = [
    ("fma|fmuladd=fma|sqrt._", "*.rn.F"),
    ("maxnum=max|maximumnum=max|minnum=min|minimumnum=min|fabs=abs._", "*.F"),
    ("copysign._", "copysign.F $0, $2, $1"),
    ("floor=rmi|ceil=rpi|trunc=rzi|rint=rni|nearbyint=rni|roundeven=rni._", "cvt.*.F.F"),
    ("smax=max|smin=min|abs._", "*.sN"),
    ("umax=max|umin=min._", "*.uN"),
    ("bitreverse=brev|ctpop=popc|ctlz=clz._", "*.bN"),
    ("cttz._", "brev.bN $0, $1; clz.bN $0, $r"),
    ("usub.sat._", "max.uN $0, $1, $2; sub.sN $0, $r, $2"),
    ("uadd.sat._", "not.bN $0, $2; min.uN $0, $1, $r; add.sN $0, $r, $2"),
    ("fshl=l|fshr=r.i32", "shf.*.wrap.b32 $0, $2, $1, $3"),
    ("nvvm.fmax=max|fmin=min|fabs=abs._", "*.F"),
    ("nvvm.saturate.f", "cvt.sat.f32.f32"),
    ("nvvm.prmt", "prmt.b32"),
    ("nvvm.i2f=s|ui2f=u.rn", "cvt.rn.f32.*32"),
    ("nvvm.f2i.rn|rz|rm|rp", "cvt.*i.s32.f32"),
    ("nvvm.f2ui.rn|rz|rm|rp", "cvt.*i.u32.f32"),
    ("nvvm.d2f.rn|rz|rm|rp", "cvt.*.f32.f64"),
    ("nvvm.add|mul|div|fma|rcp|sqrt.rn|rz|rm|rp._", "*.*.F"),
    ("nvvm.add|mul|div|fma|rcp|sqrt.rn|rz|rm|rp.ftz._", "*.*.ftz.F"),
    ("nvvm.div|rcp|sqrt|rsqrt|sin|cos|ex2|lg2.approx._", "*.approx.F"),
    ("nvvm.div|rcp|sqrt|rsqrt|sin|cos|ex2|lg2.approx.ftz._", "*.approx.ftz.F"),
    ("nvvm.read.ptx.sreg.tid|ntid|ctaid|nctaid.x|y|z", "mov.uN $0, %*.*"),
    ("nvvm.read.ptx.sreg.laneid|warpid", "mov.uN $0, %*"),
    ("nvvm.read.ptx.sreg.lanemask.eq|le|lt|ge|gt", "mov.uN $0, %lanemask_*"),
];

/// Functions that do more than to compute, without `llvm.`. Of a clock each look counts.
pub(super) const ACTIONS: [(&str, &str); 11] = [
    ("nvvm.read.ptx.sreg.clock|clock64|globaltimer", "mov.uN $0, %*"),
    ("trap", "trap"),
    ("nvvm.barrier0", "bar.sync 0"),
    ("nvvm.barrier.cta.sync.aligned.all", "bar.sync $0"),
    ("nvvm.barrier.cta.sync.aligned.count", "bar.sync $0, $1"),
    ("nvvm.bar.warp.sync", "bar.warp.sync $0"),
    ("nvvm.membar.cta|gl|sys", "membar.*"),
    ("nvvm.shfl.sync.down|up|bfly|idx.i32|f32", "shfl.sync.*.b32 $0, $2, $3, $4, $1"),
    ("nvvm.vote.ballot.sync", "vote.sync.ballot.b32 $0, $2, $1"),
    ("nvvm.vote.all|any|uni.sync", "vote.sync.*.pred $0, $2, $1"),
    ("nvvm.isspacep.global|shared|local|constant=const", "isspacep.* $0, $1"),
];

/// Atomic operations.
pub(super) const ATOMICS: [(&str, &str); 8] = [
    ("fadd", "add.fN"),
    ("add|sub=add", "*.uN"),
    ("and|or|xor", "*.bN"),
    ("max|min", "*.sN"),
    ("umax=max|umin=min", "*.uN"),
    ("uinc_wrap=inc|udec_wrap=dec", "*.u32"),
    ("xchg", "exch.bN"),
    ("compare", "cas.bN"),
];

/// Functions that the driver has, without the `llvm.` that others have.
pub(super) const CALLS: [(&str, &str); 2] = [
    (
        "vprintf",
        "{ .param .b64 p0; st.param.b64 [p0], $1; .param .b64 p1; st.param.b64 [p1], $2; \
         .param .b32 r0; call.uni (r0), vprintf, (p0, p1); ld.param.b32 $0, [r0]; }",
    ),
    (
        "__assertfail",
        "{ .param .b64 p0; st.param.b64 [p0], $0; .param .b64 p1; st.param.b64 [p1], $1; \
         .param .b32 p2; st.param.b32 [p2], $2; .param .b64 p3; st.param.b64 [p3], $3; \
         .param .b64 p4; st.param.b64 [p4], $4; call.uni __assertfail, (p0, p1, p2, p3, p4); }",
    ),
];

/// The text in one of these tables that stands behind a name.
pub(super) fn find(table: &[(&str, &str)], name: &str) -> Option<String> {
    table.iter().find_map(|(pattern, text)| {
        let (mut text, mut words) = ((*text).to_owned(), name.split('.'));
        let fits = pattern.split('.').all(|pattern| {
            let word = words.next().unwrap_or_default();
            let mut ways = pattern.split('|').map(|one| one.split_once('=').unwrap_or((one, one)));
            let way = ways.find(|(own, _)| *own == word);
            if let Some((_, meant)) = way.filter(|_| pattern.contains('|')) {
                text = text.replacen('*', meant, 1);
            }
            way.is_some() || pattern == "_"
        });
        (fits && words.next().is_none()).then_some(text)
    })
}
