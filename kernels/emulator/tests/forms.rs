//! Forms of PTX that the kernels here do not have, written by hand.

use emulator::{FaultKind, Module, Options};

use crate::common::Device;

/// Runs a body on one block and gives the word that each thread stored. The body has its
/// thread's number in %r0, and leaves the result in %r1.
fn results(threads: u32, body: &str) -> Result<Vec<u32>, (FaultKind, String)> {
    let ptx = format!(
        ".version 8.4
        .target sm_80
        .address_size 64
        .visible .entry kernel(.param .u64 out) {{
            .reg .b16 %h<10>;
            .reg .b32 %r<30>;
            .reg .b64 %d<30>;
            .reg .pred %p<10>;
            .shared .align 8 .b8 tile[1024];
            .local .align 8 .b8 own[64];
            mov.u32 %r0, %tid.x;
            {body}
            ld.param.u64 %d20, [out];
            mad.wide.u32 %d20, %r0, 4, %d20;
            st.global.u32 [%d20], %r1;
            ret;
        }}"
    );
    let options = Options { patience: 1 << 20, ..Options::default() };
    let mut device = Device { options, ..Device::of(&ptx) };
    let out = device.fresh("out", threads as usize);
    device
        .run("kernel", [1, 1, 1], [threads, 1, 1], &arguments![u64 out])
        .map_err(|fault| (fault.kind, fault.to_string()))?;
    Ok(device.read(out, threads as usize))
}

fn check(threads: u32, body: &str, expected: impl Fn(u32) -> u32) {
    let expected = (0..threads).map(expected).collect::<Vec<_>>();
    assert_eq!(results(threads, body), Ok(expected), "{body}");
}

#[test]
fn vectors_and_registers() {
    let body = "
        mul.lo.u32 %r2, %r0, 65537;
        mov.b32 {%h1, %h2}, %r2;
        mov.b32 %r3, {%h2, %h1};
        cvt.u64.u32 %d1, %r3;
        mov.b64 {%r4, _}, %d1;
        st.local.v2.u32 [own+8], {%r4, 5};
        ld.local.v2.u8 {%h3, %h4}, [own+8];
        ld.local.s8 %d2, [own+8];
        cvt.u32.u64 %r5, %d2;
        cvt.u32.u16 %r6, %h3;
        add.u32 %r1, %r5, %r6;";
    check(200, body, |t| (t as u8 as i8 as u32).wrapping_add(t & 255));
}

#[test]
fn generic_addresses() {
    // Even lanes go to shared memory, odd ones to local memory, with one instruction.
    let body = "
        mov.u64 %d1, tile;
        cvta.shared.u64 %d1, %d1;
        mad.wide.u32 %d1, %r0, 4, %d1;
        mov.u64 %d2, own;
        cvta.local.u64 %d2, %d2;
        and.b32 %r2, %r0, 1;
        setp.eq.u32 %p1, %r2, 0;
        selp.b64 %d3, %d1, %d2, %p1;
        isspacep.shared %p2, %d3;
        isspacep.local %p3, %d3;
        st.u32 [%d3], %r0;
        ld.u32 %r1, [%d3];
        @%p2 add.u32 %r1, %r1, 1000;
        @%p3 add.u32 %r1, %r1, 2000;";
    check(64, body, |t| t + if t % 2 == 0 { 1000 } else { 2000 });
}

#[test]
fn barriers_for_some_warps() {
    // Warp 1 makes, warp 0 takes; warp 2 goes by.
    let body = "
        mov.u32 %r1, %r0;
        shr.u32 %r2, %r0, 5;
        and.b32 %r3, %r0, 31;
        mul.wide.u32 %d1, %r3, 4;
        mov.u64 %d2, tile;
        add.u64 %d1, %d1, %d2;
        setp.eq.u32 %p0, %r2, 0;
        @%p0 bra take;
        setp.eq.u32 %p1, %r2, 2;
        @%p1 bra done;
        st.shared.u32 [%d1], %r0;
        bar.arrive 3, 64;
        bra done;
        take: bar.sync 3, 64;
        ld.shared.u32 %r1, [%d1];
        done:";
    check(96, body, |t| if t < 32 { t + 32 } else { t });
}

#[test]
fn reductions_at_a_barrier() {
    let body = "
        setp.lt.u32 %p1, %r0, 50;
        barrier.cta.red.popc.u32 %r1, 0, %p1;
        bar.red.and.pred %p2, 0, %p1;
        bar.red.or.pred %p3, 0, !%p1;
        @%p2 add.u32 %r1, %r1, 1000;
        @%p3 add.u32 %r1, %r1, 2000;";
    check(64, body, |_| 2050);
    check(48, body, |_| 1048);
}

#[test]
fn lanes_meet_in_divergent_code() {
    // The upper half comes later and by another way.
    let body = "
        mov.u32 %r2, 0;
        setp.lt.u32 %p1, %r0, 16;
        @%p1 bra meet;
        again: add.u32 %r2, %r2, 1;
        setp.lt.u32 %p2, %r2, %r0;
        @%p2 bra again;
        meet: shfl.sync.idx.b32 %r1|%p3, %r2, 31, 31, -1;
        bar.warp.sync -1;
        vote.sync.ballot.b32 %r3, %p1, -1;
        add.u32 %r1, %r1, %r3;";
    check(32, body, |_| 31 + 0xffff);
    // Each half by itself, in one instruction.
    let body = "
        setp.lt.u32 %p1, %r0, 16;
        selp.b32 %r2, 0xffff, 0xffff0000, %p1;
        redux.sync.add.u32 %r1, %r0, %r2;
        match.all.sync.b32 %r3|%p2, %r2, %r2;
        @%p2 add.u32 %r1, %r1, 1000;";
    check(32, body, |t| 1000 + if t < 16 { 120 } else { 376 });
    // Only some of the lanes, under a guard.
    let body = "
        mov.u32 %r1, 5;
        setp.lt.u32 %p1, %r0, 8;
        @%p1 shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xff;";
    check(32, body, |t| if t < 8 { t ^ 1 } else { 5 });
}

#[test]
fn matrices_between_lanes() {
    // Element e of a warp's matrix is e; its lanes have two each, row after row.
    let body = "
        mad.lo.u32 %r2, %r0, 0x20002, 0x10000;
        setp.lt.u32 %p1, %r0, LANES;
        @%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;
        mov.u32 %r1, %r2;";
    check(64, &body.replace("LANES", "64"), |t| {
        let first = t / 32 * 64 + t % 4 * 16 + t % 32 / 4;
        first | (first + 8) << 16
    });
    let unwritten = "
        ld.param.u64 %d1, [out];
        ld.global.u32 %r2, [%d1];
        movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;
        add.u32 %r1, %r3, 1;";
    let (kind, text) = results(32, unwritten).unwrap_err();
    assert_eq!(kind, FaultKind::Uninitialised, "{text}");
    let (kind, text) = results(64, &body.replace("LANES", "48")).unwrap_err();
    assert_eq!(kind, FaultKind::InactiveLane);
    assert!(
        text.contains("lanes 0-15 of warp 1 execute movmatrix, and lanes 16-31 do not"),
        "{text}"
    );
}

#[test]
fn lanes_that_never_come() {
    let body = "
        setp.lt.u32 %p1, %r0, 16;
        @%p1 bra meet;
        wait: bra wait;
        meet: shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;";
    let (kind, text) = results(32, body).unwrap_err();
    assert_eq!(kind, FaultKind::NoProgress);
    assert!(text.contains("lanes 16-31 of warp 0 run at line"), "{text}");
    assert!(text.contains("lanes 0-15 of warp 0 wait for other lanes at line"), "{text}");
    // Those who are named wait, too, at an instruction of their own.
    let body = "
        setp.lt.u32 %p1, %r0, 5;
        @%p1 bra few;
        shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;
        few: shfl.sync.idx.b32 %r1, %r0, 1, 31, -1;";
    let (kind, text) = results(32, body).unwrap_err();
    assert_eq!(kind, FaultKind::InactiveLane);
    assert!(text.contains("in their mask, which do not come here: "), "{text}");
}

#[test]
fn declarations_without_spaces() {
    let body = "
        {.reg.b32 f;.reg.pred q;
        .local.align 4 .b8 place[4];
        mov.u32 f, %r0; st.local.u32 [place], f;
        setp.gt.u32 q, f, 3;
        ld.local.u32 %r1, [place];
        @q add.u32 %r1, %r1, 10;}";
    check(8, body, |t| if t > 3 { t + 10 } else { t });
}

#[test]
fn what_one_kernel_does_not_understand_fails_that_kernel_only() {
    let head = ".version 8.4\n.target sm_80\n.address_size 64\n";
    for (kernel, what) in [
        (".visible .entry bad() {\nadd.cc.f16 x, y, z; ret; }", "5 of the PTX: add.cc.f16"),
        (".visible .entry bad() {\nmov.u32 x, 1..5; { } }", "5 of the PTX: 1..5: not"),
        (".visible .entry bad() {\n.texref t; }", "5 of the PTX: .texref"),
        (".visible .entry bad()\n.explicitcluster\n{ ret; }", "6 of the PTX: .explicitcl"),
        (".func f() {\n.texref t; }\n.entry bad() { call f; ret; }", "5 of the PTX: .texref"),
    ] {
        let ptx = format!("{head}{kernel}\n.visible .entry good() {{ ret; }}");
        let mut device = Device::of(&ptx);
        let one = [1, 1, 1];
        device.run("good", one, one, &arguments![]).unwrap();
        let fault = device.run("bad", one, one, &arguments![]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unsupported);
        let text = fault.to_string();
        assert!(text.starts_with(&format!("bad: line {what}")), "{text}");
    }
    let foreign = format!("{head}.entry bad() {{ .register .b32 %r; }}");
    assert!(Module::parse(&foreign).is_err());
}

#[test]
fn what_is_not_supported_is_an_error() {
    for (body, name) in [
        ("add.cc.f16 %h1, %h2, %h3;", "add.cc.f16"),
        ("mad.low.s32 %r1, %r0, 1, 2;", "mad.low.s32"),
        ("vote.all.pred %p1, %p2;", "vote.all.pred"),
        ("ld.global.b128 %d1, [%d2];", "ld.global.b128"),
        ("barrier.cluster.arrive;", "barrier.cluster.arrive"),
        ("movmatrix.sync.aligned.m8n8.b16 %r1, %r0;", "movmatrix.sync.aligned.m8n8.b16"),
        ("vadd4.u32.u32.u32 %r1, %r0, 1, 2;", "vadd4.u32.u32.u32"),
        ("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [t, {%r0}];", "tex.1d.v4.s32.s32"),
    ] {
        let (kind, text) = results(32, body).unwrap_err();
        assert_eq!(kind, FaultKind::Unsupported);
        assert_eq!(text, format!("kernel: line 12 of the PTX: {name} is not supported"));
    }
}

#[test]
fn calls_through_pointers() {
    let ptx = "
        .version 8.4
        .target sm_75
        .address_size 64
        .func (.param .b32 result) twice(.param .b32 number)
        {
            .reg .b32 %r<2>;
            ld.param.b32 %r1, [number];
            add.u32 %r1, %r1, %r1;
            st.param.b32 [result], %r1;
            ret;
        }
        .func (.param .b32 result) next(.param .b32 number)
        {
            .reg .b32 %r<2>;
            ld.param.b32 %r1, [number];
            add.u32 %r1, %r1, 1;
            st.param.b32 [result], %r1;
            ret;
        }
        .global .align 8 .u64 both[3] = {twice, next, 0};
        .visible .entry kernel(.param .u64 out) {
            .reg .b32 %r<9>;
            .reg .b64 %d<9>;
            .reg .pred %p<2>;
            mov.u32 %r0, %tid.x;
            rem.u32 %r2, %r0, 2;
            setp.gt.u32 %p1, %r0, 39;
            @%p1 mov.u32 %r2, 2;
            mov.u64 %d1, both;
            mad.wide.u32 %d1, %r2, 8, %d1;
            ld.global.u64 %d2, [%d1];
            mov.u64 %d3, next;
            setp.eq.u32 %p1, %r0, 6;
            @%p1 mov.u64 %d2, %d3;
            {
            .param .b32 in;
            .param .b32 back;
            st.param.b32 [in], %r0;
            kind: .callprototype (.param .b32 _) _ (.param .b32 _);
            call (back), %d2, (in), kind;
            ld.param.b32 %r1, [back];
            }
            ld.param.u64 %d4, [out];
            mad.wide.u32 %d4, %r0, 4, %d4;
            st.global.u32 [%d4], %r1;
            ret;
        }";
    let mut device = Device::of(ptx);
    let out = device.fresh("out", 64);
    device.run("kernel", [1, 1, 1], [40, 1, 1], &arguments![u64 out]).unwrap();
    let expected = |t: u32| if t.is_multiple_of(2) && t != 6 { 2 * t } else { t + 1 };
    assert_eq!(device.read(out, 40), (0..40).map(expected).collect::<Vec<_>>());
    let fault = device.run("kernel", [1, 1, 1], [64, 1, 1], &arguments![u64 out]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.what.contains("calls a function at 0x0, where none starts"), "{fault}");
}
