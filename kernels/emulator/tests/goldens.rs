//! The emulator counts what the hardware counts: requests, sectors and wavefronts of small
//! launches are compared with those that ncu read on an H200. How to measure them again
//! is in `goldens/measure.py`.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::{Device, word};
use emulator::{Arguments, Tally};

/// Whether the driver's compiler replaces a branch round an access to shared memory of this
/// kernel by a predicate. ncu's requests to shared memory
/// (`smsp__inst_executed_op_shared_…`) count such an instruction also for warps in which no
/// lane executes it: they can be more than those of the PTX. Sectors and wavefronts are the
/// same.
fn is_predicated(ptx: &str, kernel: &str) -> bool {
    let list = include_str!("../../ptx/machine-code.txt");
    let start = format!("{ptx} ");
    let file = list.lines().skip_while(|line| !line.starts_with(&start)).skip(1);
    let mut file = file.take_while(|line| line.starts_with(' '));
    file.any(|line| {
        let words = line.split_whitespace().collect::<Vec<_>>();
        words[0] == kernel
            && words[2].starts_with("shared")
            && words[3] == "predicated"
    })
}

/// Kernels that no launch can be counted for, and why.
const UNCOUNTED: [(&str, &str, &str); 1] =
    [("transpose-bulk", "bulk", "the emulator runs no bulk copies")];

fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').collect())
}

/// Every launch of `launches.txt`, with its line of `counters` as far as that goes.
fn measured(counters: &str) -> impl Iterator<Item = (Vec<&str>, Vec<u64>)> {
    lines(include_str!("goldens/launches.txt")).zip(lines(counters)).map(
        |(launch, measured)| {
            assert_eq!(launch[1], measured[0], "the kernels of both lines");
            let numbers = measured[1..].iter().map(|number| number.parse().unwrap());
            (launch, numbers.collect())
        },
    )
}

fn shape(text: &str) -> [u32; 3] {
    let numbers = text.split(',').map(|number| number.parse().unwrap());
    numbers.collect::<Vec<_>>().try_into().unwrap()
}

/// An argument as `launches.txt` describes it.
fn argument(device: &mut Device, arguments: Arguments, text: &str) -> Arguments {
    let parts = text.split(':').collect::<Vec<_>>();
    let number = |place: usize| parts[place].parse::<u64>().unwrap();
    match parts[0] {
        "u32" => return arguments.with((number(1) as u32).to_le_bytes()),
        "u64" => return arguments.with(number(1).to_le_bytes()),
        "f32" => return arguments.with((number(1) as f32).to_le_bytes()),
        _ => {}
    }
    let content = |i: u32| match parts[0] {
        "words" => word(i as usize),
        "zeros" => 0,
        "all" => number(2) as u32,
        "stride" => i * number(2) as u32,
        "shr" => i >> number(2),
        "and" => i & number(2) as u32,
        "indices" => (word(i as usize) >> 7) % number(2) as u32,
        other => panic!("no such buffer: {other}"),
    };
    let words = number(1).div_ceil(4) as u32;
    let buffer = device.words("buffer", (0..words).map(content));
    arguments.with(buffer.to_le_bytes())
}

/// Runs a line of `launches.txt`.
fn run(launch: &[&str]) -> Tally {
    let [ptx, kernel, grid, block, rest @ ..] = launch else { panic!() };
    let mut device = match *ptx {
        "patterns" => Device::tests(ptx),
        _ => Device::workbook(ptx),
    };
    let arguments = rest.iter().fold(Arguments::new(), |arguments, text| {
        argument(&mut device, arguments, text)
    });
    device.run(kernel, shape(grid), shape(block), &arguments).unwrap().total()
}

#[test]
fn every_kernel_of_the_workbook_was_measured() {
    let launches = lines(include_str!("goldens/launches.txt"));
    let launched = launches.map(|l| (l[0], l[1])).collect::<BTreeSet<_>>();
    let uncounted = UNCOUNTED.map(|(ptx, kernel, _)| (ptx, kernel));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx");
    let mut problems = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let Some(ptx) = file.strip_suffix(".ptx") else { continue };
        for kernel in Device::workbook(ptx).module.kernels() {
            let name = (ptx, &*kernel.name);
            match (launched.contains(&name), uncounted.contains(&name)) {
                (false, false) => problems.push(format!(
                    "{ptx}: {}: needs a line in launches.txt, and its counters",
                    kernel.name
                )),
                (true, true) => problems.push(format!("{name:?} has counters")),
                // The reason has to be true.
                (_, true) => assert!(kernel.unsupported.is_some(), "{name:?}"),
                (true, false) => {}
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let counters = lines(include_str!("goldens/counters.txt")).count();
    assert_eq!(lines(include_str!("goldens/launches.txt")).count(), counters);
}

#[test]
fn counts_are_those_of_the_hardware() {
    for (launch, expected) in measured(include_str!("goldens/counters.txt")) {
        let tally = run(&launch);
        let Tally { global_loads, global_stores, .. } = tally;
        let Tally { shared_loads, shared_stores, .. } = tally;
        let traffic = [
            global_loads.requests,
            global_loads.sectors,
            global_stores.requests,
            global_stores.sectors,
            shared_loads.wavefronts,
            shared_stores.wavefronts,
        ];
        let requests = [shared_loads.requests, shared_stores.requests];
        let [ld, ld_sectors, st, st_sectors, lds, lds_waves, sts, sts_waves] =
            expected[..]
        else {
            panic!("eight counters for each launch")
        };
        let text = launch.join(" ");
        let expected = [ld, ld_sectors, st, st_sectors, lds_waves, sts_waves];
        assert_eq!(traffic, expected, "{text}");
        if is_predicated(launch[0], launch[1]) {
            assert!(requests[0] <= lds && requests[1] <= sts, "{text}");
        } else {
            assert_eq!(requests, [lds, sts], "{text}");
        }
    }
}

#[test]
fn ideals_are_those_of_the_profiler() {
    for (launch, expected) in measured(include_str!("goldens/ideals.txt")) {
        let tally = run(&launch);
        let sectors = tally.global_loads.ideal + tally.global_stores.ideal;
        let wavefronts = tally.shared_loads.ideal + tally.shared_stores.ideal;
        assert_eq!([sectors, wavefronts][..], expected, "{}", launch.join(" "));
    }
}
