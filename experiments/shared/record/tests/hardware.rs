//! Which records may replace each other: those of the same hardware.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::path::Path;

use record::file::{Conflict, conflict, parse};
use record::{Machine, Record, Source, same_hardware};

const GOLDEN: &str = include_str!("golden/h200/example.json");

fn record() -> Record {
    parse(Path::new("example.json"), GOLDEN).unwrap()
}

fn machine() -> Machine {
    record().machine
}

#[test]
fn same_hardware_is_what_it_says() {
    type Change = fn(&mut Machine);
    let cases: &[(&str, bool, Change)] = &[
        ("nothing", true, |_| {}),
        ("name of the machine", true, |m| m.name = "other".to_owned()),
        ("memory of the host", true, |m| m.host_memory_bytes *= 2),
        ("NUMA nodes", true, |m| m.numa_nodes = None),
        ("virtualised", true, |m| m.virtualised = None),
        ("generation of an idle link", true, |m| pcie(m).generation = 1),
        ("width of an idle link", true, |m| pcie(m).width = 1),
        ("name of the GPU", false, |m| m.gpus[0].name = "NVIDIA H100".to_owned()),
        ("compute capability", false, |m| m.gpus[0].compute_capability = "8.0".to_owned()),
        ("multiprocessors", false, |m| m.gpus[0].multiprocessors = 114),
        ("memory of the GPU", false, |m| m.gpus[0].memory_bytes /= 2),
        ("memory bus", false, |m| m.gpus[0].memory_bus_bits = 5120),
        ("number of GPUs", false, |m| m.gpus.push(m.gpus[0].clone())),
        ("no GPU", false, |m| m.gpus.clear()),
        ("link's generation", false, |m| pcie(m).max_generation = Some(4)),
        ("link's width", false, |m| pcie(m).max_width = Some(8)),
        ("no link told", false, |m| m.gpus[0].pcie = None),
        ("processor", false, |m| m.cpu.model = "AMD EPYC 9654".to_owned()),
        ("cores", false, |m| m.cpu.logical_cores = 8),
    ];
    for (what, same, change) in cases {
        let mut other = machine();
        change(&mut other);
        assert_eq!(same_hardware(&machine(), &other), *same, "{what}");
        assert_eq!(same_hardware(&other, &machine()), *same, "{what}, the other way");
        assert!(same_hardware(&other, &other), "{what}, with itself");
    }
}

/// Of two equal GPUs, one may sit in a slower slot.
#[test]
fn the_measured_gpu_is_part_of_the_hardware() {
    let mut two = machine();
    two.gpus.push(two.gpus[0].clone());
    let mut second = two.clone();
    second.measured_gpu = 1;
    assert!(!same_hardware(&two, &second));
}

/// Where a machine does not report the best that a link can do, what it does counts.
#[test]
fn a_link_without_a_maximum_counts_as_it_is() {
    let mut told = machine();
    pcie(&mut told).max_generation = None;
    let mut idle = told.clone();
    assert!(same_hardware(&machine(), &told));
    pcie(&mut idle).generation = 1;
    assert!(!same_hardware(&told, &idle));
}

#[test]
fn what_may_not_replace_a_record_silently() {
    let changed = |change: &dyn Fn(&mut Record)| {
        let mut record = record();
        change(&mut record);
        record
    };
    let full = record();
    let quick = changed(&|r| r.run.quick = true);
    let other = changed(&|r| r.machine.gpus[0].name = "NVIDIA H100".to_owned());
    let quick_other = Record { machine: other.machine.clone(), ..quick.clone() };
    let earlier = changed(&|r| r.run.started = "2020-01-01T00:00:00Z".to_owned());
    let emulated = changed(&|r| r.source = Source::Emulated);
    let emulated_other = Record { machine: other.machine.clone(), ..emulated.clone() };
    for (old, new, expected) in [
        (&full, &full, None),
        (&full, &quick, Some(Conflict::QuickOverFull)),
        (&quick, &full, None),
        (&quick, &quick, None),
        (&full, &other, Some(Conflict::OtherHardware)),
        (&full, &quick_other, Some(Conflict::OtherHardware)),
        (&quick, &other, Some(Conflict::OtherHardware)),
        (&full, &earlier, Some(Conflict::EarlierOverLater)),
        (&earlier, &full, None),
        (&full, &emulated, Some(Conflict::EmulatedOverMeasured)),
        (&full, &emulated_other, Some(Conflict::EmulatedOverMeasured)),
        (&emulated, &full, Some(Conflict::OtherSource)),
        (&emulated, &emulated, None),
    ] {
        assert_eq!(conflict(old, new), expected);
    }
}

fn pcie(machine: &mut Machine) -> &mut record::Pcie {
    machine.gpus[0].pcie.as_mut().unwrap()
}
