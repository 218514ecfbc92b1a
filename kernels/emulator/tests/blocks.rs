//! Blocks run one after the other: what one writes the next one sees, and the first that is
//! wrong is told of.

use emulator::{Arguments, Checks, Options, Traffic, Watch};

use crate::common::{Device, Host, word};

const BLOCKS: u32 = 20;

/// A kernel in which every thread has its number in `%r1` and the address of its word in
/// `%rd1`; `%r2` is the number of its block.
fn device(body: &str, options: Options) -> Device {
    let ptx = format!(
        ".version 7.8 .target sm_75 .address_size 64
        .visible .entry kernel(.param .u64 data, .param .u64 other) {{
            .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            .shared .align 4 .b8 tile[256];
            mov.u32 %r2, %ctaid.x;
            mov.u32 %r3, %ntid.x;
            mov.u32 %r4, %tid.x;
            mad.lo.s32 %r1, %r2, %r3, %r4;
            ld.param.u64 %rd1, [data];
            ld.param.u64 %rd2, [other];
            mul.wide.u32 %rd3, %r1, 4;
            add.s64 %rd1, %rd1, %rd3;
            {body}
            ret;
        }}"
    );
    Device { options, ..Device::of(&ptx) }
}

type Outcome = (Result<(), String>, Vec<(Vec<u8>, Option<u64>)>);

/// What becomes of a kernel. Many of these have a race, which may be looked for or not.
fn outcome(body: &str, block: u32, races: bool) -> Outcome {
    let checks = Checks { races, ..Checks::default() };
    let mut device = device(body, Options { checks, ..Options::default() });
    let words = (BLOCKS * block) as usize;
    let data = device.words("data", (0..words).map(word));
    let other = device.fresh("other", words);
    let arguments = arguments![u64 data, u64 other];
    let ran = device.run("kernel", [BLOCKS, 1, 1], [block, 1, 1], &arguments);
    (ran.map(drop).map_err(|fault| format!("{fault:?}")), device.content())
}

/// A kernel that was declared with fewer parameters than it reads.
#[test]
fn no_parameter_is_read_beyond_the_last() {
    for (body, right) in [
        ("ld.param.u64 %rd4, [other];", true),
        ("ld.param.u64 %rd4, [other+8];", false),
        ("ld.param.u32 %r5, [data+16];", false),
        ("ld.param.u64 %rd4, [data+12];", false),
        ("ld.param.v2.u64 {%rd4, %rd5}, [other];", false),
    ] {
        let (ran, _) = outcome(body, 32, false);
        assert_eq!(ran.is_ok(), right, "{body}: {ran:?}");
        if let Err(why) = ran {
            assert!(why.contains("of 16 bytes of parameters"), "{body}: {why}");
        }
    }
}

#[test]
fn a_block_reads_what_the_one_before_it_has_written() {
    let body = "
        setp.eq.u32 %p1, %r2, 0;
        @%p1 ret;
        mul.wide.u32 %rd4, %r3, 4;
        sub.s64 %rd4, %rd1, %rd4;
        ld.global.u32 %r5, [%rd4];
        add.s32 %r5, %r5, 1;
        st.global.u32 [%rd1], %r5;";
    let (ran, content) = outcome(body, 32, false);
    ran.unwrap();
    let last = content[0].0.as_chunks().0.last().copied().map(u32::from_le_bytes);
    assert_eq!(last, Some(word(31).wrapping_add(BLOCKS - 1)));
}

#[test]
fn the_first_race_is_told_of() {
    // Each block writes to where another one has read or written.
    let to_one = "ld.param.u64 %rd1, [data]; st.global.u32 [%rd1], %r2;";
    let behind = "ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1+128], %r5;";
    let before = "
        setp.lt.u32 %p1, %r2, 13;
        @%p1 bra own;
        sub.s64 %rd1, %rd1, 1280;
        own: st.global.u32 [%rd1], %r1;";
    for (body, block, line) in [(to_one, 1, 13), (behind, 1, 13), (before, 13, 17)] {
        let (ran, _) = outcome(body, 32, true);
        let why = ran.unwrap_err();
        let same = "writes at the same line, and blocks run in";
        let there = why.contains(same) && why.contains(&format!("ptx_line: {line},"));
        assert!(there || body == behind, "{why}");
        assert!(why.contains(&format!("block: Some([{block}, 0, 0])")), "{why}");
    }
}

#[test]
fn the_first_wrong_block_is_told_of() {
    // From block 7 on beyond the end, and every later block in another way.
    let beyond = "
        setp.lt.u32 %p1, %r2, 7;
        @%p1 bra good;
        add.s64 %rd1, %rd1, 65536;
        good: st.global.u32 [%rd1], %r1;";
    let (ran, content) = outcome(beyond, 32, false);
    assert!(ran.unwrap_err().contains("block: Some([7, 0, 0])"));
    assert_eq!(content[0].0[4 * 223..][..4], 223u32.to_le_bytes());
    assert_eq!(content[0].0[4 * 224..][..4], word(224).to_le_bytes());
    // Nobody has written there, but for an earlier block.
    let unwritten = "
        add.s64 %rd2, %rd2, %rd3;
        setp.eq.u32 %p1, %r2, 11;
        @%p1 bra read;
        st.global.u32 [%rd2], %r1;
        ret;
        read: ld.global.u32 %r5, [%rd2+128];
        st.global.u32 [%rd1], %r5;";
    assert!(outcome(unwritten, 32, false).0.unwrap_err().contains("Uninitialised"));
    let written = unwritten.replace("+128", "+-128");
    outcome(&written, 32, false).0.unwrap();
    outcome("setp.eq.u32 %p1, %r1, 333; @%p1 trap; st.global.u32 [%rd1], %r1;", 32, false)
        .0
        .unwrap_err();
}

#[test]
fn registers_and_memory_that_nobody_wrote_are_the_same_for_each_block() {
    // Only the first block writes %r8 and the place in local memory.
    let body = "
        .local .align 4 .b8 own[8];
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra skip;
        mov.u32 %r8, 77;
        st.local.u32 [own], %r8;
        skip: ld.local.u32 %r7, [own];
        add.s32 %r8, %r8, %r7;
        st.global.u32 [%rd1], %r8;";
    let why = outcome(body, 32, false).0.unwrap_err();
    assert!(why.contains("of local memory, where the thread has written"), "{why}");
    let checks = Checks { initialised: false, ..Checks::default() };
    let mut device = device(body, Options { checks, ..Options::default() });
    let data = device.words("data", (0..32 * BLOCKS).map(|_| 1));
    device.run("kernel", [BLOCKS, 1, 1], [32, 1, 1], &arguments![u64 data, u64 data]).unwrap();
    let content = device.content();
    assert_eq!(content[0].0[..4], 154u32.to_le_bytes());
    assert!(content[0].0[128..].iter().all(|byte| *byte == 0));
}

#[test]
fn memory_of_the_host_is_accessed_by_one_block_after_the_other() {
    // Each block reads a word of its own and writes the next.
    let body = "
        mul.wide.u32 %rd3, %r2, 1024;
        add.s64 %rd2, %rd2, %rd3;
        ld.global.u32 %r5, [%rd2];
        add.s32 %r5, %r5, %r2;
        st.global.u32 [%rd2+4], %r5;";
    let mut device = device(body, Options::default());
    let host = Host::new(1024 * BLOCKS as usize);
    let address = 0x7000_0000_0000u64;
    device.memory.map_host(address, Box::new(host.clone()), "host").unwrap();
    let arguments = Arguments::new().with([0; 8]).with(address.to_le_bytes());
    device.run("kernel", [BLOCKS, 1, 1], [1, 1, 1], &arguments).unwrap();
    let host = host.0.lock().unwrap();
    let blocks = 0..u64::from(BLOCKS);
    let accesses = blocks.flat_map(|block| [1024 * block, 1024 * block + 4]);
    assert!(host.1.iter().copied().eq(accesses), "{:?}", host.1);
    assert_eq!(host.0[1024 * 19 + 4], 19);
}

#[test]
fn what_was_read_and_written_is_told_in_ranges() {
    let body = "
        ld.global.u32 %r5, [%rd1];
        add.s64 %rd4, %rd2, %rd3;
        setp.ge.u32 %p1, %r1, 300;
        @%p1 st.global.u32 [%rd4], %r5;
        setp.eq.u32 %p2, %r1, 7;
        @%p2 atom.global.add.u32 %r5, [%rd2], %r1;";
    let mut device = device(body, Options::default());
    let data = device.words("data", (0..640).map(word));
    let other = device.words("other", (0..640).map(word));
    let arguments = arguments![u64 data, u64 other];
    let mut touched = |touched| {
        device.options.touched = touched;
        device.run("kernel", [BLOCKS, 1, 1], [32, 1, 1], &arguments).unwrap();
        device.memory.take_touched()
    };
    let [first, second] = touched(true).try_into().unwrap();
    assert_eq!((first.address, second.address), (data, other));
    let ends = |ranges: Vec<std::ops::Range<u64>>| {
        ranges.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
    };
    assert_eq!((ends(first.read), ends(first.written)), (vec![(0, 2560)], vec![]));
    assert_eq!(ends(second.read), [(0, 4)]);
    assert_eq!(ends(second.written), [(0, 4), (1200, 2560)]);
    assert!(touched(false).is_empty(), "nobody asks");
}

#[test]
fn a_watched_warp_tells_its_requests() {
    let mut device = Device::workbook("transpose");
    device.options.watch = Some(Watch { block: [1, 0, 0], warp: 3 });
    let input = device.words("in", (0..64 * 32).map(word));
    let output = device.fresh("out", 64 * 32);
    let arguments = arguments![u64 input, u64 output, u32 64, u32 32];
    let counts = device.run("tile", [2, 1, 1], [32, 32, 1], &arguments).unwrap();
    let costs = counts.requests.iter().map(|request| match request.traffic {
        Traffic::Global(sectors) => (request.stores, "sectors", sectors.sectors),
        Traffic::Shared(wavefronts) => (request.stores, "wavefronts", wavefronts.wavefronts),
    });
    let expected = [
        (false, "sectors", 4),
        (true, "wavefronts", 1),
        (false, "wavefronts", 32),
        (true, "sectors", 4),
    ];
    assert_eq!(costs.collect::<Vec<_>>(), expected);
    // Lane 5 reads row 3 of the tile and writes row 32 + 3 of the output.
    let addresses: Vec<u64> = counts.requests.iter().map(|request| request.addresses[5]).collect();
    let [row, column] = [4 * (3 * 32 + 5), 4 * (5 * 32 + 3)];
    let [read, written] = [input + 4 * (3 * 64 + 32 + 5), output + 4 * ((32 + 3) * 32 + 5)];
    assert_eq!(addresses, [read, row, column, written]);
}

#[test]
fn a_watched_warp_tells_its_instructions() {
    let mut device = Device::workbook("warps");
    device.options.watch = Some(Watch { block: [0; 3], warp: 1 });
    let out = device.fresh("out", 64);
    let counts =
        device.run("sides", [1; 3], [64, 1, 1], &arguments![u64 out, u32 40, u32 3]).unwrap();
    // Lanes 0 to 7 are the last of the first group of 40.
    let at = |line| counts.steps.iter().filter(move |step| step.line == line);
    assert_eq!(at(13).map(|step| step.lanes).collect::<Vec<_>>(), [0xff; 3]);
    assert_eq!(at(17).map(|step| step.lanes).collect::<Vec<_>>(), [!0xff; 3]);
    assert_eq!(at(19).next().map(|step| step.lanes), Some(!0));
    assert_eq!(counts.steps.len() as u64, counts.longest_warp);
    device.options.watch = Some(Watch { block: [0; 3], warp: 2 });
    let counts =
        device.run("sides", [1; 3], [64, 1, 1], &arguments![u64 out, u32 40, u32 3]).unwrap();
    assert!(counts.steps.is_empty(), "there is no such warp");
}
