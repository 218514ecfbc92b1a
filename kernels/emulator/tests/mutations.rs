//! Whatever happens to a PTX file, reading and running it ends with a result or an error.

use emulator::{Launch, Memory, Module, Options, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const TEXTS: [&str; 5] = [
    include_str!("../../ptx/gather.ptx"),
    include_str!("../../ptx/zero-copy.ptx"),
    include_str!("../../ptx/transpose-bulk.ptx"),
    include_str!("kernels/features.ptx"),
    include_str!("kernels/faults.ptx"),
];

#[derive(Clone, Debug)]
enum Change {
    Remove { start: usize, length: usize },
    Copy { start: usize, length: usize, to: usize },
    Insert { at: usize, text: String },
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = 0..1_000_000usize;
    let pieces = prop_oneof![
        "[%@{}()\\[\\];:,.<>=|!+-]{1,3}",
        "[0-9]{1,22}",
        "\\PC{1,4}",
        Just("\"".to_owned()),
        Just(".align 3".to_owned()),
        Just(" 0xffffffffffffffff".to_owned()),
        Just("%r1".to_owned()),
        Just("bra $L__BB0_1;".to_owned()),
    ];
    let change =
        prop_oneof![
            (place.clone(), 1..60usize)
                .prop_map(|(start, length)| Change::Remove { start, length }),
            (place.clone(), 1..80usize, place.clone())
                .prop_map(|(start, length, to)| Change::Copy { start, length, to }),
            (place, pieces).prop_map(|(at, text)| Change::Insert { at, text }),
        ];
    prop::collection::vec(change, 1..6)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut text = text.chars().collect::<Vec<_>>();
    for change in changes {
        let length = text.len();
        let range = |start: usize, many: usize| start % length..(start % length + many).min(length);
        match change {
            Change::Remove { start, length } => {
                text.drain(range(*start, *length));
            }
            Change::Copy { start, length: many, to } => {
                let piece = text[range(*start, *many)].to_vec();
                let to = to % length;
                text.splice(to..to, piece);
            }
            Change::Insert { at, text: piece } => {
                let at = at % length;
                text.splice(at..at, piece.chars());
            }
        }
    }
    text.into_iter().collect()
}

proptest! {
    // The same changes every time: a few seconds' worth.
    #![proptest_config(ProptestConfig {
        cases: 3000,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_panics(which in 0..TEXTS.len(), changes in changes()) {
        let text = changed(TEXTS[which], &changes);
        let Ok(mut module) = Module::parse(&text) else { return Ok(()) };
        let mut memory = Memory::new(1 << 28);
        if module.place(&mut memory).is_err() {
            return Ok(());
        }
        let buffer = memory.allocate(1 << 16, "buffer").unwrap();
        memory.fill(buffer, &[0], 1 << 16).unwrap();
        let options = Options { patience: 1 << 14, budget: 1 << 14, ..Options::default() };
        let arguments = buffer.to_le_bytes().repeat(40);
        for kernel in module.kernels() {
            let launch = Launch::new([2, 1, 1], [40, 1, 1], &arguments);
            let _ = run(&module, &kernel.name, &launch, &mut memory, &options);
        }
    }
}
