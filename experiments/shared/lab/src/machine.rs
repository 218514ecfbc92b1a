//! Describing the hardware and its state, for the record.
//!
//! What the CUDA driver tells comes from its attributes; link, clocks and temperature
//! come from NVML, or for the link from Linux's sysfs. What nobody tells stays `None`.

use std::ffi::CStr;
use std::path::Path;

use anyhow::{Context, Result};
use cudarc::driver::{result, sys};
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use nvml_wrapper::{Device, Nvml};
use record::{Cpu, Gpu, GpuState, Machine, NvLink, Pcie};
use sys::CUdevice_attribute_enum as Attribute;

/// What may change from case to case.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// Clock of the multiprocessors, if the machine tells.
    pub sm_clock_khz: Option<u64>,
    /// Why the clocks are below their maximum, in NVML's words.
    pub throttle_reasons: Vec<String>,
}

/// NVML, or what can be told without it.
pub struct Monitor {
    nvml: Option<Nvml>,
}

impl Monitor {
    /// Opens NVML if the machine has it.
    pub fn new() -> Monitor {
        Monitor { nvml: Nvml::init().ok() }
    }

    /// Driver release, such as `580.159.04`.
    pub fn driver(&self) -> Option<String> {
        self.nvml.as_ref()?.sys_driver_version().ok()
    }

    /// The machine with every GPU that CUDA sees; `device` is the one to measure. Read
    /// it while the GPU is busy: an idle link reports a lower generation.
    pub fn describe(&self, name: &str, device: usize) -> Result<Machine> {
        let count = result::device::get_count().context("cannot count the GPUs")?;
        let gpus = (0..count).map(|ordinal| self.gpu(ordinal)).collect::<Result<_>>()?;
        let mut system = sysinfo::System::new().context("cannot read the system")?;
        system.refresh_memory();
        system.refresh_cpu_all();
        let model = system.cpus().first().map(|c| c.brand().trim().to_owned());
        Ok(Machine {
            name: name.to_owned(),
            gpus,
            measured_gpu: device,
            cpu: Cpu {
                model: model.unwrap_or_default(),
                logical_cores: system.cpus().len() as u32,
            },
            host_memory_bytes: system.total_memory(),
            numa_nodes: numa_nodes(),
            virtualised: virtualised(),
        })
    }

    /// Clocks, temperature, power and throttling of a GPU at this moment.
    pub fn state(&self, ordinal: usize) -> GpuState {
        let Some(device) = self.device(ordinal as i32) else {
            return GpuState::default();
        };
        GpuState {
            sm_clock_khz: khz(&device, Clock::SM),
            memory_clock_khz: khz(&device, Clock::Memory),
            temperature_celsius: device.temperature(TemperatureSensor::Gpu).ok(),
            memory_celsius: field(&device, &[field_id::NVML_FI_DEV_MEMORY_TEMP])
                .and_then(|celsius| celsius.try_into().ok()),
            power_milliwatts: device.power_usage().ok(),
            throttle_reasons: throttle_reasons(&device),
        }
    }

    /// The clocks of a GPU at this moment.
    pub fn clocks(&self, ordinal: usize) -> Clocks {
        let Some(device) = self.device(ordinal as i32) else {
            return Clocks::default();
        };
        Clocks {
            sm_clock_khz: khz(&device, Clock::SM),
            throttle_reasons: throttle_reasons(&device).unwrap_or_default(),
        }
    }

    /// Bytes of a GPU's memory that are in use at this moment, by whichever program.
    pub fn memory_used(&self, ordinal: usize) -> Option<u64> {
        Some(self.device(ordinal as i32)?.memory_info().ok()?.used)
    }

    fn gpu(&self, ordinal: i32) -> Result<Gpu> {
        let device = result::device::get(ordinal)?;
        let attribute = |a: Attribute| -> Result<i32> {
            // SAFETY: `device` came from the driver.
            Ok(unsafe { result::device::get_attribute(device, a) }?)
        };
        let nvml = self.device(ordinal);
        Ok(Gpu {
            name: result::device::get_name(device)?,
            compute_capability: format!(
                "{}.{}",
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?
            ),
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
            // SAFETY: `device` came from the driver.
            memory_bytes: unsafe { result::device::total_mem(device) }? as u64,
            l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as u64,
            sm_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? as u64,
            memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? as u64,
            memory_bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?
                as u32,
            ecc: Some(attribute(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? != 0),
            pcie: nvml.as_ref().and_then(pcie_by_nvml).or_else(|| pcie_by_sysfs(ordinal)),
            nvlink: nvml.as_ref().and_then(nvlink),
            vbios: told(nvml.as_ref(), Device::vbios_version),
            board_part_number: told(nvml.as_ref(), Device::board_part_number),
        })
    }

    /// The NVML device of a CUDA ordinal. They are matched by PCI address, because the
    /// two number GPUs differently (CUDA_VISIBLE_DEVICES).
    pub fn device(&self, ordinal: i32) -> Option<Device<'_>> {
        self.nvml.as_ref()?.device_by_pci_bus_id(pci_address(ordinal)?).ok()
    }
}

impl Default for Monitor {
    fn default() -> Self {
        Monitor::new()
    }
}

/// What NVML answers, if it has words.
fn told<'n>(
    device: Option<&Device<'n>>,
    ask: impl Fn(&Device<'n>) -> Result<String, NvmlError>,
) -> Option<String> {
    ask(device?).ok().filter(|text| !text.trim().is_empty())
}

fn khz(device: &Device<'_>, clock: Clock) -> Option<u64> {
    device.clock_info(clock).ok().map(|mhz| u64::from(mhz) * 1000)
}

/// Why the clocks are below their maximum; idling is no reason.
fn throttle_reasons(device: &Device<'_>) -> Option<Vec<String>> {
    let reasons = device.current_throttle_reasons().ok()?;
    let names = reasons.iter_names().map(|(name, _)| name.to_lowercase());
    Some(names.filter(|name| name != "gpu_idle").collect())
}

fn pcie_by_nvml(device: &Device<'_>) -> Option<Pcie> {
    Some(Pcie {
        generation: device.current_pcie_link_gen().ok()?,
        width: device.current_pcie_link_width().ok()?,
        max_generation: device.max_pcie_link_gen().ok(),
        max_width: device.max_pcie_link_width().ok(),
    })
}

fn pcie_by_sysfs(ordinal: i32) -> Option<Pcie> {
    let address = pci_address(ordinal)?.to_lowercase();
    // The driver writes the domain with eight digits or four, Linux with four.
    let address = address.get(address.len().checked_sub(12)?..)?.to_owned();
    let folder = Path::new("/sys/bus/pci/devices").join(address);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let width = |name: &str| read(name)?.trim().parse().ok();
    let generation = |name: &str| generation_of(&read(name)?);
    Some(Pcie {
        generation: generation("current_link_speed")?,
        width: width("current_link_width")?,
        max_generation: generation("max_link_speed"),
        max_width: width("max_link_width"),
    })
}

/// PCIe generation of sysfs's `16.0 GT/s PCIe`.
fn generation_of(speed: &str) -> Option<u32> {
    let transfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
    [(2.5, 1), (5.0, 2), (8.0, 3), (16.0, 4), (32.0, 5), (64.0, 6)]
        .iter()
        .find_map(|(gts, generation)| (*gts == transfers).then_some(*generation))
}

/// PCI address of a CUDA ordinal, such as `0000:1b:00.0`.
fn pci_address(ordinal: i32) -> Option<String> {
    let device = result::device::get(ordinal).ok()?;
    let mut text = [0; 32];
    // SAFETY: the driver writes a NUL-terminated text of at most the given length.
    unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as i32, device) }
        .result()
        .ok()?;
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    Some(text.to_string_lossy().into_owned())
}

fn nvlink(device: &Device<'_>) -> Option<NvLink> {
    const MOST_LINKS: u32 = 18; // NVML_NVLINK_MAX_LINKS
    let links = (0..MOST_LINKS).map(|n| device.link_wrapper_for(n));
    let active: Vec<_> = links.filter(|l| l.is_active().unwrap_or(false)).collect();
    let version = active.first().and_then(|l| l.version().ok());
    (!active.is_empty()).then(|| NvLink {
        links: active.len() as u32,
        version,
        link_bytes_per_second: link_rate(device),
    })
}

/// Bytes per second of the first NVLink in one direction; the active ones are alike.
fn link_rate(device: &Device<'_>) -> Option<u64> {
    // Newer drivers answer the first, older ones the second; both in MB/s.
    let fields =
        [field_id::NVML_FI_DEV_NVLINK_GET_SPEED, field_id::NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON];
    Some(field(device, &fields)? * 1_000_000)
}

/// The first of NVML's fields that this GPU answers with a number above 0.
fn field(device: &Device<'_>, fields: &[u32]) -> Option<u64> {
    let fields: Vec<_> = fields.iter().copied().map(FieldId).collect();
    let samples = device.field_values_for(&fields).ok()?;
    samples.into_iter().find_map(|sample| match sample.ok()?.value.ok()? {
        SampleValue::U32(value) if value > 0 => Some(u64::from(value)),
        SampleValue::U64(value) if value > 0 => Some(value),
        _ => None,
    })
}

fn numa_nodes() -> Option<u32> {
    let entries = std::fs::read_dir("/sys/devices/system/node").ok()?;
    let nodes = entries.flatten().filter(|e| {
        let name = e.file_name();
        let number = name.to_str().and_then(|n| n.strip_prefix("node"));
        number.is_some_and(|n| n.parse::<u32>().is_ok())
    });
    u32::try_from(nodes.count()).ok().filter(|n| *n > 0)
}

/// Linux on x86 shows the processor flag that hypervisors set for their guests.
fn virtualised() -> Option<bool> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = cpuinfo.lines().find(|l| l.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::generation_of;

    #[test]
    fn link_speeds_name_generations() {
        for (speed, generation) in [
            ("2.5 GT/s PCIe\n", Some(1)),
            ("16.0 GT/s PCIe\n", Some(4)),
            ("32.0 GT/s PCIe\n", Some(5)),
            ("Unknown\n", None),
        ] {
            assert_eq!(generation_of(speed), generation, "{speed}");
        }
    }
}
