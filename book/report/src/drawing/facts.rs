//! What a drawing says of a machine, out of its records.

use std::collections::BTreeMap;

use excerpt::machine::FACTS;
use record::units;

use crate::query::Query;
use crate::records::{Machine, Records};

/// Numbers of a machine for people, by their names; a machine need not have all.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) gpus: usize,
    pub(super) numbers: BTreeMap<&'static str, String>,
}

/// Operations of one multiprocessor in a cycle, as they were measured.
const A_CYCLE: [(&str, &str); 3] = [
    ("fp32", "device-report rate operation=fma4 : model.operations_per_cycle"),
    ("fp64", "device-report rate operation=fma_f64 : model.operations_per_cycle"),
    ("tensor", "max device-report tensor : model.operations_per_cycle"),
];

/// The reader's machine if it has so many GPUs, or else the first reference machine that has.
pub(super) fn machine(gpus: u32, records: &Records) -> Option<&Machine> {
    let mut machines = records.here.iter().chain(records.references());
    machines.find(|machine| fact(machine, "gpus").is_some_and(|(has, _)| has >= gpus.into()))
}

impl Facts {
    pub(super) fn of(machine: &Machine) -> Facts {
        let facts = FACTS.iter().map(|(name, ..)| (*name, fact(machine, name)));
        let a_cycle = A_CYCLE.map(|(name, query)| (name, number(machine, query)));
        let all = facts.chain(a_cycle);
        let mut numbers: BTreeMap<_, _> = all.filter_map(|(n, is)| Some((n, is?.1))).collect();
        let record = machine.experiments().next().and_then(|of| machine.record(of).ok());
        numbers.extend(record.map(|of| ("host", units::bytes(of.machine.host_memory_bytes))));
        let gpus = fact(machine, "gpus").map_or(0, |(gpus, _)| gpus as usize);
        Facts { gpus, numbers }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.numbers.get(name).map(String::as_str)
    }

    /// `what`, and after `between` the number of this name, if there is one.
    pub(super) fn with(&self, what: &str, between: &str, name: &str) -> String {
        self.get(name).map_or(what.to_owned(), |number| format!("{what}{between}{number}"))
    }
}

/// A fact about the machine from whichever of its records tells, as it is and for people.
fn fact(machine: &Machine, name: &str) -> Option<(f64, String)> {
    machine
        .experiments()
        .find_map(|experiment| number(machine, &format!("machine {experiment} : {name}")))
}

fn number(machine: &Machine, query: &str) -> Option<(f64, String)> {
    let query = Query::parse(query, None, |_| None).ok()?;
    let (runs, _) = query.value(&[machine]).ok()?;
    let value = runs.estimate().value;
    Some((value, query.unit().print(value)))
}
