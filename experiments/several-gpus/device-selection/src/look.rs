//! Choosing: what there is to know about a GPU before work is given to it.

use std::ffi::CStr;
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};
use lab::{Case, Lab, Result};
use nvml_wrapper::{Device, Nvml};
use sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as MULTIPROCESSOR_COUNT;

/// What counts when GPUs are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) free_bytes: u64,
    pub(crate) multiprocessors: u64,
    /// Lanes times transfers per second of the link to the host, in GT/s.
    pub(crate) link: Option<u64>,
    /// Share of the last moments in which a kernel ran, of any program, in per cent.
    pub(crate) busy_percent: Option<u32>,
}

// ANCHOR: look
/// Asks the driver, and NVML where there is one. NVML counts what all programs do.
pub(crate) fn look(
    context: &Arc<CudaContext>,
    nvml: Option<&Nvml>,
) -> Result<Facts> {
    let device = nvml.and_then(|nvml| same_gpu(nvml, context));
    Ok(Facts {
        free_bytes: context.mem_get_info()?.0 as u64,
        multiprocessors: context.attribute(MULTIPROCESSOR_COUNT)? as u64,
        link: device.as_ref().and_then(|device| {
            let lanes = u64::from(device.current_pcie_link_width().ok()?);
            Some(u64::from(device.pcie_link_speed().ok()?) / 1000 * lanes)
        }),
        busy_percent: device.and_then(|d| Some(d.utilization_rates().ok()?.gpu)),
    })
}

/// NVML's handle of a context's GPU, by its PCI address: CUDA_VISIBLE_DEVICES changes
/// CUDA's numbers, and NVML does not know.
fn same_gpu<'a>(nvml: &'a Nvml, context: &CudaContext) -> Option<Device<'a>> {
    let mut text = [0; 32];
    let length = text.len() as i32;
    // SAFETY: the driver writes a text that ends in 0, of at most this length.
    let status = unsafe {
        sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), length, context.cu_device())
    };
    status.result().ok()?;
    // SAFETY: as above.
    let address = unsafe { CStr::from_ptr(text.as_ptr()) };
    nvml.device_by_pci_bus_id(address.to_str().ok()?).ok()
}
// ANCHOR_END: look

/// What it costs to make a context on a GPU, only to ask.
pub(crate) fn open_context(lab: &mut Lab, nvml: Option<&Nvml>) -> Result<()> {
    let case = Case::new("open_context");
    let ours = lab.context().ordinal();
    let another = (0..CudaContext::device_count()? as usize).find(|n| *n != ours);
    let Some(another) = another else {
        lab.skip(case, "CUDA sees one GPU, and it has a context already");
        return Ok(());
    };
    let samples = lab.time_on_host(|| Ok(CudaContext::new(another)?))?;
    let mut case = case.samples(samples);
    let context = CudaContext::new(another)?;
    if let Some(device) = nvml.and_then(|nvml| same_gpu(nvml, &context)) {
        let with = device.memory_info()?.used;
        drop(context);
        let without = device.memory_info()?.used;
        case = case.model("context_bytes", with.saturating_sub(without) as f64);
    }
    lab.record(case)
}

/// What is known about each GPU, and how long asking takes. `when` is before or after a
/// rest.
pub(crate) fn compare(
    lab: &mut Lab,
    contexts: &[Arc<CudaContext>],
    nvml: Option<&Nvml>,
    when: &str,
) -> Result<()> {
    for context in contexts {
        let facts = look(context, nvml)?;
        let mut case = Case::new("look")
            .with("gpu", context.ordinal())
            .with("when", when)
            .model("free_bytes", facts.free_bytes as f64)
            .model("multiprocessors", facts.multiprocessors as f64);
        if let Some(link) = facts.link {
            case = case.model("link_gigatransfers", link as f64);
        }
        if let Some(busy) = facts.busy_percent {
            case = case.model("busy_percent", f64::from(busy) / 100.0);
        }
        case.time_on_host(lab, || look(context, nvml))?.record(lab)?;
    }
    Ok(())
}
