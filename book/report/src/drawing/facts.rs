//! What a drawing says of a machine, out of its records.

use crate::query::Query;
use crate::records::{Machine, Records};

/// Which machine's numbers a drawing shows: the reader's if it has them, else the first
/// reference's that has.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Of {
    Nobody,
    AMachine,
    SeveralGpus,
}

/// Numbers for people; a machine need not have all.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) gpus: usize,
    pub(super) host_memory: Option<String>,
    pub(super) pcie_generation: Option<String>,
    /// One way, in theory.
    pub(super) link_peak: Option<String>,
    pub(super) multiprocessors: Option<String>,
    pub(super) l2: Option<String>,
    pub(super) memory: Option<String>,
    /// In theory.
    pub(super) memory_peak: Option<String>,
    /// One way, in theory.
    pub(super) nvlink_peak: Option<String>,
    /// Operations of one multiprocessor in a cycle, measured: in single and double
    /// precision, and of tensor cores.
    pub(super) fp32: Option<String>,
    pub(super) fp64: Option<String>,
    pub(super) tensor: Option<String>,
}

impl Of {
    pub(super) fn machine(self, records: &Records) -> Option<&Machine> {
        let least = match self {
            Of::Nobody => return None,
            Of::AMachine => 1.0,
            Of::SeveralGpus => 2.0,
        };
        let mut machines = records.here.iter().chain(records.references());
        machines.find(|machine| fact(machine, "gpus").is_some_and(|(gpus, _)| gpus >= least))
    }
}

impl Facts {
    pub(super) fn of(machine: &Machine) -> Facts {
        let fact = |name| fact(machine, name);
        let text = |name| fact(name).map(|(_, text)| text);
        let host = machine.experiments().next().and_then(|experiment| {
            Some(machine.record(experiment).ok()?.machine.host_memory_bytes)
        });
        let a_cycle = |case: &str| {
            let query = format!("{case} : model.operations_per_cycle");
            number(machine, &query).map(|(_, text)| text)
        };
        Facts {
            gpus: fact("gpus").map_or(0, |(gpus, _)| gpus as usize),
            host_memory: host.map(record::units::bytes),
            pcie_generation: text("pcie_generation"),
            link_peak: text("link_peak"),
            multiprocessors: text("multiprocessors"),
            l2: text("l2_bytes"),
            memory: text("memory_bytes"),
            memory_peak: text("memory_peak"),
            nvlink_peak: text("nvlink_peak"),
            fp32: a_cycle("device-report rate operation=fma4"),
            fp64: a_cycle("device-report rate operation=fma_f64"),
            tensor: a_cycle("max device-report tensor"),
        }
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
