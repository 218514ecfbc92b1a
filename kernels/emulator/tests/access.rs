//! Sectors and wavefronts of a request, against counting them one by one.

use std::collections::BTreeSet;

use emulator::access::{load_wavefronts, sectors, served, store_wavefronts};
use proptest::prelude::*;

type Pattern = [Option<u64>; 32];

/// Elements of lanes, as patterns in which neighbours or other lanes may share.
fn patterns() -> impl Strategy<Value = Pattern> {
    let starts = prop_oneof![
        prop::array::uniform32(0u64..64),
        prop::array::uniform32(0u64..100_000),
        (0u64..2000, 0u64..70).prop_map(|(start, stride)| {
            std::array::from_fn(|lane| start + stride * lane as u64)
        }),
        (0u64..64, 0u32..6, 0u64..32).prop_map(|(start, shift, mask)| {
            std::array::from_fn(|lane| start + (lane as u64 >> shift ^ mask))
        }),
    ];
    let masks = prop_oneof![Just(u32::MAX), any::<u32>(), Just(0x0000_ffff), Just(1)];
    (starts, masks).prop_map(|(starts, mask)| {
        std::array::from_fn(|lane| (mask >> lane & 1 == 1).then(|| starts[lane]))
    })
}

fn brute_force_sectors(pattern: &Pattern, bytes: u64) -> (u64, u64) {
    let bytes = pattern.iter().flatten().flat_map(|start| *start..start + bytes);
    let touched = bytes.collect::<BTreeSet<_>>();
    let sectors = touched.iter().map(|byte| byte / 32).collect::<BTreeSet<_>>();
    (sectors.len() as u64, (touched.len() as u64).div_ceil(32))
}

/// The rule as the workbook's page on bank conflicts states it.
fn brute_force_wavefronts(pattern: &Pattern, bytes: u64, stores: bool) -> (u64, u64) {
    let words_each = bytes.div_ceil(4);
    let words = |start: u64| start / 4..start / 4 + words_each;
    let shares = |distance: usize| {
        (0..32).all(|lane| match (pattern[lane], pattern[lane ^ distance]) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        })
    };
    let mut groups = words_each as usize;
    if groups > 1 && !stores && (shares(1) || shares(2)) {
        groups /= 2;
    }
    let of_group = |lanes: &[Option<u64>]| {
        let words = lanes.iter().flatten().flat_map(|start| words(*start));
        let mut in_bank = [0; 32];
        for word in words.collect::<BTreeSet<_>>() {
            in_bank[word as usize % 32] += 1;
        }
        in_bank.into_iter().max().unwrap_or(0)
    };
    let wavefronts = pattern.chunks(32 / groups).map(of_group).sum::<u64>();
    let all = pattern.iter().flatten().count() as u64 * words_each;
    (wavefronts, wavefronts.min(all.div_ceil(32)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sectors_are_those_that_are_touched(pattern in patterns(), bytes in 1u64..33) {
        let counted = sectors(|lane| pattern[lane], bytes);
        prop_assert_eq!(
            (counted.sectors, counted.ideal),
            brute_force_sectors(&pattern, bytes)
        );
        let any = pattern.iter().any(Option::is_some);
        prop_assert_eq!(counted.requests, u64::from(any));
    }

    #[test]
    fn wavefronts_follow_the_rule(pattern in patterns(), power in 0u32..5) {
        let bytes = 1 << power;
        let pattern = pattern.map(|start| start.map(|element| element * bytes));
        for stores in [false, true] {
            let counted = match stores {
                false => load_wavefronts(|lane| pattern[lane], bytes),
                true => store_wavefronts(|lane| pattern[lane], bytes),
            };
            prop_assert_eq!(
                (counted.wavefronts, counted.ideal),
                brute_force_wavefronts(&pattern, bytes, stores)
            );
            // Each wavefront serves a lane, and gives each bank's word once.
            let served = served(|lane| pattern[lane], bytes, stores);
            let turns = served.iter().flatten().collect::<BTreeSet<_>>();
            prop_assert!(turns.iter().copied().eq(&(0..counted.wavefronts).collect::<Vec<_>>()));
            let words = |start: u64| start / 4..start / 4 + bytes.div_ceil(4);
            let given = (0..32).filter_map(|lane| Some((served[lane]?, pattern[lane]?)));
            let given = given.flat_map(|(turn, start)| words(start).map(move |word| (turn, word)));
            let given = given.collect::<BTreeSet<_>>();
            let banks = given.iter().map(|(turn, word)| (turn, word % 32));
            prop_assert_eq!(banks.collect::<BTreeSet<_>>().len(), given.len());
        }
    }
}

#[test]
fn known_cases() {
    let stride = |stride: u64| move |lane: usize| Some(stride * lane as u64);
    assert_eq!(sectors(stride(4), 4).sectors, 4);
    assert_eq!(sectors(|lane| Some(4 + 4 * lane as u64), 4).sectors, 5);
    assert_eq!(sectors(stride(16), 16).sectors, 16);
    assert_eq!(sectors(stride(4096), 4).sectors, 32);
    assert_eq!(sectors(|_| Some(0), 4).sectors, 1);
    assert_eq!(sectors(|_| None, 4).requests, 0);
    assert_eq!(load_wavefronts(stride(128), 4).wavefronts, 32);
    assert_eq!(load_wavefronts(stride(132), 4).wavefronts, 1);
    assert_eq!(load_wavefronts(stride(16), 16).wavefronts, 4);
    assert_eq!(load_wavefronts(|_| Some(0), 16).wavefronts, 2);
    assert_eq!(store_wavefronts(|_| Some(0), 16).wavefronts, 4);
}

#[test]
fn the_ideal_counts_each_byte_once() {
    for (bytes, share, ideal) in [(16, 32, 1), (8, 32, 1), (16, 4, 4), (8, 2, 4), (16, 1, 16)] {
        // So many lanes after each other access the same element.
        let address = |lane: usize| Some(256 + (lane / share) as u64 * bytes);
        assert_eq!(sectors(address, bytes).ideal, ideal, "{bytes} bytes by {share}");
        // Far apart, and the last lanes first.
        let far = |lane: usize| Some(4096 * (31 - lane / share) as u64);
        let distinct = 32 / share as u64 * bytes;
        assert_eq!(sectors(far, bytes).ideal, distinct.div_ceil(32));
    }
}
