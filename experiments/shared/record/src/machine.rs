//! The hardware a record was made on, and the theoretical peaks that follow from it.

use serde::{Deserialize, Serialize};

/// One computer with its GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Folder in `results/`: lower-case letters, digits and hyphens.
    pub name: String,
    /// Every GPU that the process could see, in CUDA's order.
    pub gpus: Vec<Gpu>,
    /// Which of them the experiment used: an index into `gpus`.
    pub measured_gpu: usize,
    /// The host's processor.
    pub cpu: Cpu,
    /// The host's memory at the start of the run (a virtual machine's may grow later).
    pub host_memory_bytes: u64,
    /// NUMA nodes of the host; `None` where the system does not say.
    pub numa_nodes: Option<u32>,
    /// Whether the host is a virtual machine; `None` where the system does not say.
    pub virtualised: Option<bool>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Marketing name, as the driver gives it.
    pub name: String,
    /// Compute capability, such as `9.0`.
    pub compute_capability: String,
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Device memory.
    pub memory_bytes: u64,
    /// L2 cache.
    pub l2_bytes: u64,
    /// Highest clock of the multiprocessors.
    pub sm_clock_khz: u64,
    /// Highest clock of the memory; it transfers twice per cycle.
    pub memory_clock_khz: u64,
    /// Width of the memory bus.
    pub memory_bus_bits: u32,
    /// Whether memory is error-corrected.
    pub ecc: Option<bool>,
    /// The link to the host; `None` where the machine does not say.
    pub pcie: Option<Pcie>,
    /// Links to other GPUs; `None` if there are none.
    pub nvlink: Option<NvLink>,
    /// Version of the board's firmware, which is that of many boards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vbios: Option<String>,
    /// The maker's number of this kind of board, not of one board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board_part_number: Option<String>,
}

/// A PCI Express link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    /// Generation in use while data moved (an idle link may drop to a lower one).
    pub generation: u32,
    /// Lanes in use.
    pub width: u32,
    /// Highest generation that both ends support.
    pub max_generation: Option<u32>,
    /// Most lanes that both ends support.
    pub max_width: Option<u32>,
}

/// NVLink connections of one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLink {
    /// Links that are up.
    pub links: u32,
    /// NVLink version, as NVML numbers them: 6 is NVLink 4.0, 7 is 5.0.
    pub version: Option<u32>,
    /// Line rate of one link in one direction, as NVML gives it.
    pub link_bytes_per_second: Option<u64>,
}

/// The host's processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Model name.
    pub model: String,
    /// Logical cores that the process could use.
    pub logical_cores: u32,
}

impl Machine {
    /// The GPU that the experiment used.
    pub fn measured_gpu(&self) -> Option<&Gpu> {
        self.gpus.get(self.measured_gpu)
    }
}

/// Whether two records were made on the same hardware: the same GPUs, the same
/// processor, the same link at its best. Neither the machine's name, nor the driver,
/// nor what memory a virtual machine had grown to, nor the state of an idle link count.
pub fn same_hardware(a: &Machine, b: &Machine) -> bool {
    let best = |p: &Option<Pcie>| {
        p.as_ref()
            .map(|p| (p.max_generation.unwrap_or(p.generation), p.max_width.unwrap_or(p.width)))
    };
    let same_gpu = |a: &Gpu, b: &Gpu| {
        a.name == b.name
            && a.compute_capability == b.compute_capability
            && a.multiprocessors == b.multiprocessors
            && a.memory_bytes == b.memory_bytes
            && a.memory_bus_bits == b.memory_bus_bits
            && best(&a.pcie) == best(&b.pcie)
    };
    a.gpus.len() == b.gpus.len()
        && a.gpus.iter().zip(&b.gpus).all(|(a, b)| same_gpu(a, b))
        && a.measured_gpu == b.measured_gpu
        && a.cpu == b.cpu
}

impl Gpu {
    /// Theoretical peak of device memory: two transfers per clock over the whole bus.
    /// `None` if the driver reports no clock or no bus width.
    pub fn memory_peak_bytes_per_second(&self) -> Option<f64> {
        let peak = 2.0 * self.memory_clock_khz as f64 * 1e3 * f64::from(self.memory_bus_bits) / 8.0;
        (peak > 0.0).then_some(peak)
    }

    /// The most threads that a multiprocessor holds at once, by the technical specifications in
    /// NVIDIA's CUDA Programming Guide; `None` for GPUs that are not in this table.
    pub fn threads_per_multiprocessor(&self) -> Option<u32> {
        match self.compute_capability.as_str() {
            "7.5" => Some(1024),
            "8.6" | "8.7" | "8.9" | "12.0" | "12.1" => Some(1536),
            "7.0" | "7.2" | "8.0" | "9.0" | "10.0" | "10.3" => Some(2048),
            _ => None,
        }
    }
}

impl NvLink {
    /// Theoretical peak in one direction: all links together, after line coding. `None`
    /// if the machine does not report their rate.
    pub fn peak_bytes_per_second(&self) -> Option<f64> {
        // NVIDIA does not publish the codes. Those of Ethernet's lanes at this rate (IEEE
        // 802.3), 256b/257b and the Reed-Solomon code of 514 symbols in 544, make exactly
        // the 25 GB/s that NVIDIA gives for a link of NVLink 4 out of 26.5625 GB/s, and
        // the 50 GB/s of NVLink 5 out of twice that.
        let coding = match self.version {
            Some(6..) => 256.0 / 257.0 * 514.0 / 544.0,
            _ => 1.0,
        };
        let links = f64::from(self.links) * self.link_bytes_per_second? as f64;
        Some(links * coding)
    }
}

impl Pcie {
    /// Theoretical peak in one direction: line rate times lanes, after line coding.
    /// Protocol headers come off that too; how much is for the experiment to find.
    /// `None` for a generation this table does not know.
    pub fn peak_bytes_per_second(&self) -> Option<f64> {
        // Transfers per second and payload bits per transferred bit. PCI Express Base
        // Specification: 8b/10b to generation 2, 128b/130b from 3, 242B/256B FLITs in 6.
        let (transfers, coding) = match self.generation {
            1 => (2.5e9, 8.0 / 10.0),
            2 => (5e9, 8.0 / 10.0),
            3 => (8e9, 128.0 / 130.0),
            4 => (16e9, 128.0 / 130.0),
            5 => (32e9, 128.0 / 130.0),
            6 => (64e9, 242.0 / 256.0),
            _ => return None,
        };
        Some(transfers * coding / 8.0 * f64::from(self.width))
    }
}
