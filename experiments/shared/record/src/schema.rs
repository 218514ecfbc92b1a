//! The types of a record. `results/README.md` tells the same, field by field, for
//! people who read the JSON; a test keeps the two lists of fields equal.
//!
//! Field names carry their units. Only what was observed is stored: medians,
//! bandwidths and shares of a peak are computed when a record is read.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::machine::Machine;
use crate::statistics::Statistics;
use crate::units;

/// Compute capability that kernels are compiled for, if a source does not ask for a newer one. The
/// driver translates it for the GPU at hand, and every GPU since 2018 has at least this one.
pub const COMMITTED_COMPUTE: &str = "7.5";

/// The compute capability that `source` is compiled for: what its first line says, such
/// as `// compute: 9.0`, because it uses what older GPUs do not have; or else
/// [`COMMITTED_COMPUTE`].
pub fn compute(source: &str) -> &str {
    let first = source.lines().next().unwrap_or_default();
    first.strip_prefix("// compute:").map_or(COMMITTED_COMPUTE, str::trim)
}

/// The version of the format that this crate reads and writes.
pub const SCHEMA: u32 = 4;

/// The oldest version that it reads: what came since may be left out.
pub const OLDEST_SCHEMA: u32 = 2;

/// One run of one experiment on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this format, from [`OLDEST_SCHEMA`] to [`SCHEMA`].
    pub schema: u32,
    /// Name of the experiment, which is also its crate, kernel and page, or of the baseline.
    pub experiment: String,
    /// Whether real hardware was timed, or a profiler or an emulator counted.
    pub source: Source,
    /// When and how the run was made.
    pub run: Run,
    /// Versions of the software it ran on.
    pub software: Software,
    /// The hardware it ran on.
    pub machine: Machine,
    /// The kernel it launched; `None` for an experiment that only copies, and for a
    /// baseline.
    pub kernel: Option<Kernel>,
    /// Further kernel files that it launched, such as one for newer GPUs only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_kernels: Vec<Kernel>,
    /// Clocks and temperature of the measured GPU before the first measurement.
    pub gpu_before: GpuState,
    /// Clocks and temperature of the measured GPU after the last one.
    pub gpu_after: GpuState,
    /// Seconds of gathers that are the same after every experiment, by which kinds of memory in
    /// one model of GPU differ: 2^26 words in a random order from 1 GiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gather_seconds: Vec<f64>,
    /// What was measured, in the order in which it ran.
    pub measurements: Vec<Measurement>,
    /// What could not be measured here, and why.
    pub skipped: Vec<Skipped>,
}

/// Where the numbers of a record come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Real hardware: every measurement has samples in seconds.
    Measured,
    /// Real hardware under a profiler: measurements have what the hardware counted, and
    /// never a time, since a profiler changes it.
    Profiled,
    /// An emulated GPU: measurements have counters and never a time.
    Emulated,
}

/// Name of the machine, and so the folder, of what an emulated GPU counted.
pub const EMULATED: &str = "emulated";

/// What an emulated GPU is called, which nothing that was measured is.
pub const EMULATED_GPU: &str = "Emulated GPU";

/// When and how a run was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Start of the run, UTC, as RFC 3339: `2026-11-21T04:05:06Z`.
    pub started: String,
    /// The command line, with the program's name instead of its path.
    pub command: String,
    /// Git revision of the sources; `None` outside a checkout.
    pub revision: Option<String>,
    /// Whether sources differed from that revision (results and figures not counted).
    pub dirty: Option<bool>,
    /// Whether this was a `--quick` run: fewer samples, smaller sizes.
    pub quick: bool,
    /// What tells the run from others of its machine, if it was given a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Versions of the software a run was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// NVIDIA driver release, such as `580.159.04`.
    pub driver: Option<String>,
    /// Newest CUDA version that the driver supports, such as `13.0`.
    pub cuda: String,
    /// Operating system and kernel release.
    pub operating_system: String,
    /// The Rust compiler; for a baseline, the Python interpreter.
    pub compiler: String,
    /// Cargo profile and optimisation level, such as `dev, opt-level 3`; for a
    /// baseline, the library and its version.
    pub profile: String,
}

/// A kernel file that was launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// File stem in `kernels/`.
    pub name: String,
    /// The kernels in it by name, each with the SHA-256 of what the GPU runs for it, in
    /// hexadecimal.
    #[serde(deserialize_with = "unique")]
    pub functions: BTreeMap<String, String>,
    /// Which PTX was loaded.
    pub origin: KernelOrigin,
    /// Compiler that made the PTX, such as `NVRTC 12.4`.
    pub compiler: String,
    /// Compute capability the PTX was made for, such as `7.5`.
    pub compute: String,
}

/// Which PTX a run loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelOrigin {
    /// The PTX committed beside the source, whose code had not changed.
    CommittedPtx,
    /// Compiled by NVRTC at run time, because the code had been edited.
    CompiledAtRunTime,
}

/// What the GPU reported at one moment. `None`: this machine does not report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuState {
    /// Clock of the multiprocessors.
    pub sm_clock_khz: Option<u64>,
    /// Clock of the memory.
    pub memory_clock_khz: Option<u64>,
    /// Temperature of the chip.
    pub temperature_celsius: Option<u32>,
    /// Temperature of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_celsius: Option<u32>,
    /// Power drawn by the board.
    pub power_milliwatts: Option<u32>,
    /// Why the clocks were below their maximum, in NVML's words; empty if they were not.
    pub throttle_reasons: Option<Vec<String>>,
}

/// One case of an experiment with every sample taken of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// What was done, such as `copy` or `tile_padded`.
    pub case: String,
    /// The swept parameters by name; with `case` they identify the measurement.
    #[serde(deserialize_with = "unique")]
    pub parameters: BTreeMap<String, Parameter>,
    /// Which clock took the samples, or would have.
    pub clock: Clock,
    /// Whether the data could have been in the GPU's L2 cache.
    pub cache: Cache,
    /// Which theoretical peak bounds this measurement.
    pub ceiling: Ceiling,
    /// Bytes the algorithm asks to read in one operation, seen from the GPU.
    pub bytes_read: u64,
    /// Bytes the algorithm asks to write in one operation, seen from the GPU.
    pub bytes_written: u64,
    /// Additions and multiplications that the algorithm asks for in one operation, where its
    /// rate is of interest.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arithmetic_operations: u64,
    /// Output elements compared with the expected result after timing.
    pub elements_checked: u64,
    /// Operations timed together for one sample; the sample is their mean.
    pub operations_per_sample: u32,
    /// Every sample: seconds for one operation.
    pub seconds: Vec<f64>,
    /// Clock of the multiprocessors right after the last sample, if the machine tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_khz: Option<u64>,
    /// Why the clocks were below their maximum then, in NVML's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttle_reasons: Vec<String>,
    /// What the experiment's own model says of this case, by name.
    #[serde(default, deserialize_with = "unique", skip_serializing_if = "BTreeMap::is_empty")]
    pub model: BTreeMap<String, f64>,
    /// What a profiler or an emulator counted in one operation, by name; empty in a
    /// measured record.
    #[serde(default, deserialize_with = "unique", skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// Where an emulator's counters are not those of the hardware, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What ran when in one of the timed operations, the one of median time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// Memory in use over the course of one operation: readings by name of the series,
    /// in order of time.
    #[serde(default, deserialize_with = "unique", skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<String, Vec<MemoryReading>>,
}

/// One piece of work on a timeline. Times count from the start of the operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Where it ran: a stream, an engine, the host.
    pub lane: String,
    /// What it was, such as `kernel 3`; with `lane` it identifies the span.
    pub label: String,
    /// The start of the work.
    pub start_seconds: f64,
    /// The end of the work.
    pub end_seconds: f64,
}

/// One reading of how much memory was in use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryReading {
    /// When, from the start of the operation.
    pub seconds: f64,
    /// Memory in use.
    pub bytes: u64,
}

/// The value of a swept parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A size, a stride, a count.
    Integer(u64),
    /// A name out of a fixed set, such as `pinned`.
    Name(String),
}

/// Which clock took a measurement's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// CUDA events on the GPU, with the work queued before the first one fires.
    CudaEvents,
    /// The host's monotonic clock around calls that return when the work is done.
    Host,
}

/// Whether a measurement's data could have been in the L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// The operations of a sample touch at least four times the L2 cache.
    Cold,
    /// They touch less, so part of the data may be served from L2.
    Warm,
    /// The L2 cache plays no part.
    NotApplicable,
}

/// The theoretical peak that bounds a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ceiling {
    /// The GPU's memory: clock times bus width, reads and writes together.
    DeviceMemory,
    /// The host link in one direction.
    HostLink,
    /// The host link in both directions together.
    HostLinkBothWays,
    /// The GPU's links to other GPUs in one direction.
    #[serde(rename = "nvlink")]
    NvLink,
    /// The GPU's links to other GPUs in both directions together.
    #[serde(rename = "nvlink_both_ways")]
    NvLinkBothWays,
    /// No bandwidth bounds it.
    None,
}

/// A case that could not be measured on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The case that was left out.
    pub case: String,
    /// Its parameters, as far as they were fixed.
    #[serde(deserialize_with = "unique")]
    pub parameters: BTreeMap<String, Parameter>,
    /// Why it was skipped, in one sentence.
    pub reason: String,
}

impl Skipped {
    /// The reason for people: `needs 200 GiB` for `needs 204800 MiB`.
    pub fn why(&self) -> String {
        let Some((before, number, after)) = units::first_amount(&self.reason) else {
            return self.reason.clone();
        };
        let (amount, rest) = units::amount(number, after);
        format!("{before}{amount}{rest}")
    }
}

impl Record {
    /// Theoretical peak of `ceiling` on this record's measured GPU, in bytes per second.
    /// `None` if there is no such peak or the machine does not report it.
    pub fn peak_bytes_per_second(&self, ceiling: Ceiling) -> Option<f64> {
        let gpu = self.machine.measured_gpu()?;
        let link = || gpu.pcie.as_ref().and_then(|p| p.peak_bytes_per_second());
        let nvlink = || gpu.nvlink.as_ref().and_then(|n| n.peak_bytes_per_second());
        match ceiling {
            Ceiling::DeviceMemory => gpu.memory_peak_bytes_per_second(),
            Ceiling::HostLink => link(),
            Ceiling::HostLinkBothWays => link().map(|one_way| 2.0 * one_way),
            Ceiling::NvLink => nvlink(),
            Ceiling::NvLinkBothWays => nvlink().map(|one_way| 2.0 * one_way),
            Ceiling::None => None,
        }
    }

    /// Measured bandwidth over the theoretical peak that bounds it; 1.0 is the peak.
    pub fn share_of_peak(&self, measurement: &Measurement) -> Option<f64> {
        let peak = self.peak_bytes_per_second(measurement.ceiling)?;
        Some(measurement.bandwidth_bytes_per_second()? / peak)
    }
}

impl Measurement {
    /// Median and spread of the samples; `None` where nothing was timed.
    pub fn statistics(&self) -> Option<Statistics> {
        Statistics::of(&self.seconds)
    }

    /// Median seconds for one operation; `None` where nothing was timed.
    pub fn median_seconds(&self) -> Option<f64> {
        self.statistics().map(|s| s.median)
    }

    /// Bytes that one operation asks for, read and written together.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// How much one operation does: bytes, and additions and multiplications.
    pub fn work(&self) -> (u64, u64) {
        (self.bytes(), self.arithmetic_operations)
    }

    /// Effective bandwidth: bytes asked for over the median time. `None` without
    /// traffic or samples.
    pub fn bandwidth_bytes_per_second(&self) -> Option<f64> {
        let bytes = self.bytes();
        (bytes > 0)
            .then(|| bytes as f64 / self.median_seconds().unwrap_or(f64::NAN))
            .filter(|b| b.is_finite())
    }

    /// Additions and multiplications over the median time. `None` without either.
    pub fn arithmetic_per_second(&self) -> Option<f64> {
        let operations = self.arithmetic_operations as f64;
        let rate = self.median_seconds().map(|seconds| operations / seconds)?;
        (rate > 0.0 && rate.is_finite()).then_some(rate)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Parameter {
    /// The number, if it is one.
    pub fn integer(&self) -> Option<u64> {
        match self {
            Parameter::Integer(n) => Some(*n),
            Parameter::Name(_) => None,
        }
    }
}

/// A map in which no key stands twice: the first would be lost silently.
fn unique<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Unique<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry()? {
                if map.insert(key, value).is_some() {
                    return Err(A::Error::custom("a key stands here twice"));
                }
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Unique(PhantomData))
}

impl From<u64> for Parameter {
    fn from(n: u64) -> Self {
        Parameter::Integer(n)
    }
}

impl From<usize> for Parameter {
    fn from(n: usize) -> Self {
        Parameter::Integer(n as u64)
    }
}

impl From<&str> for Parameter {
    fn from(name: &str) -> Self {
        Parameter::Name(name.to_owned())
    }
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Parameter::Integer(n) => write!(f, "{n}"),
            Parameter::Name(name) => f.write_str(name),
        }
    }
}
