//! # How much of what a data sheet promises can a kernel get?
//!
//! Page: `book/src/models/device-report.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | what does the driver report, and which rates follow? |
//! | [`rates`] | Measured | how many operations of each kind in a cycle? |
//! | [`chains`] | Independent work | how much of it does a multiprocessor need? |
//! | [`tensor`] | Tensor cores | how many multiplications of bfloat16? |
//! | [`brochure`] | From the data sheet to the kernel | what does NVIDIA promise? |
//! | [`device`] | | the kernels, what they must compute, how many cycles they take |
//!
//! A data sheet says how many *CUDA cores* a GPU has. A core is not a processor: it is
//! a place where, in a cycle, one thread of a warp can have one multiplication with an
//! addition done. So the sheet can be checked: let every multiprocessor do nothing but
//! that, and divide by its own count of cycles.
//!
//! ```text
//! scheduler   each cycle, one instruction of one warp, for 32 threads
//! FP32 units  32 for each scheduler: an instruction occupies them for one cycle
//! INT32 units 16: for two cycles
//! ```
//!
//! **Prediction:** a Hopper multiprocessor, which has four schedulers, does 128 operations
//! in single precision in a cycle, and 64 in double precision, or of integers of any kind.

mod brochure;
mod chains;
mod device;
mod rates;
mod tensor;

use std::process::ExitCode;

use cudarc::driver::sys::CUdevice_attribute_enum as Attribute;
use lab::machine::Monitor;
use lab::{Case, Lab, Result};

use device::{Bench, KERNEL};

/// What the driver reports of a multiprocessor, a block and the memory.
const FACTS: [(&str, Attribute); 9] = [
    ("multiprocessors", Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    ("threads", Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
    ("registers", Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
    (
        "shared_bytes",
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    ),
    (
        "block_shared_bytes",
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    ),
    ("l2_bytes", Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    ("bus_bits", Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
    ("memory_clock_khz", Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
    ("sm_clock_khz", Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
];

/// Asks for all of them.
fn ask(lab: &Lab) -> Result<Vec<(&'static str, f64)>> {
    let ask =
        |(name, attribute)| Ok((name, lab.context().attribute(attribute)?.into()));
    FACTS.into_iter().map(ask).collect()
}

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. What the driver reports, and how much memory is gone before the first allocation.
    let (free, total) = lab.context().mem_get_info()?;
    let mut facts = ask(lab)?;
    facts.push(("memory_bytes", total as f64));
    facts.push(("taken_bytes", (total - free) as f64));
    let monitor = Monitor::new();
    let nvml = monitor.device(lab.context().ordinal() as i32);
    let limit = nvml.and_then(|device| device.power_management_limit().ok());
    facts.extend(
        limit.map(|milliwatts| ("power_limit_watts", f64::from(milliwatts) / 1e3)),
    );
    lab.print("");
    for (name, value) in &facts {
        lab.print(&format!("{name:20}{value:>16}"));
    }
    let case = facts
        .into_iter()
        .fold(Case::new("facts"), |case, (name, value)| case.model(name, value));
    case.time_on_host(lab, || ask(lab))?.record(lab)?;
    brochure::note(lab)?;

    // 2. What can be measured.
    let turns = match (lab.emulated(), lab.quick()) {
        (true, _) => 2,
        (_, true) => 100,
        _ => 1000,
    };
    let mut bench = Bench::new(lab)?;
    rates::measure(lab, &mut bench, turns)?;
    chains::measure(lab, &mut bench, turns)?;
    tensor::measure(lab, turns)
}
