//! Facts about a machine, by name.

use record::Ceiling::{DeviceMemory, HostLink, NvLink};
use record::{Gpu, Record};

use crate::unit::Unit;

/// A fact: its name, its unit, and how it is found in a record.
pub type Fact = (&'static str, Unit, fn(&Record) -> Option<f64>);

pub static FACTS: [Fact; 10] = [
    ("memory_peak", Unit::Bandwidth, |of| of.peak_bytes_per_second(DeviceMemory)),
    ("link_peak", Unit::Bandwidth, |of| of.peak_bytes_per_second(HostLink)),
    ("nvlink_peak", Unit::Bandwidth, |of| of.peak_bytes_per_second(NvLink)),
    ("pcie_generation", Unit::Number, |of| {
        Some(of.machine.measured_gpu()?.pcie.as_ref()?.generation.into())
    }),
    ("nvlink_version", Unit::Number, |of| {
        Some(of.machine.measured_gpu()?.nvlink.as_ref()?.version?.into())
    }),
    ("gpus", Unit::Number, |of| Some(of.machine.gpus.len() as f64)),
    ("l2_bytes", Unit::Bytes, |of| of_gpu(of, |gpu| gpu.l2_bytes as f64)),
    ("memory_bytes", Unit::Bytes, |of| of_gpu(of, |gpu| gpu.memory_bytes as f64)),
    ("multiprocessors", Unit::Number, |of| of_gpu(of, |gpu| gpu.multiprocessors.into())),
    ("threads", Unit::Number, |of| {
        let gpu = of.machine.measured_gpu()?;
        Some(f64::from(gpu.threads_per_multiprocessor()?) * f64::from(gpu.multiprocessors))
    }),
];

fn of_gpu(record: &Record, number: fn(&Gpu) -> f64) -> Option<f64> {
    record.machine.measured_gpu().map(number)
}
