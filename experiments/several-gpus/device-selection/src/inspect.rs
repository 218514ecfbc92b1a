//! What to know of a GPU before work is given to it, and which one to take.

use std::cmp::Reverse;
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
    sys,
};
use lab::check::{every_element, value};
use lab::{Case, Lab, Result};
use nvml_wrapper::{Device, Nvml};
use sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as MULTIPROCESSOR_COUNT;

use crate::schedule::{FACTOR, after};

/// Steps of a kernel that plays the work of a program.
const STEPS: u32 = 100_000;
/// What NVML tells is a mean over the last second at most.
pub(crate) const WATCHED: Duration = Duration::from_millis(1500);

/// What counts when GPUs are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) free_bytes: u64,
    pub(crate) multiprocessors: u64,
    /// Lanes times transfers per second of the link to the host, in GT/s.
    pub(crate) link: Option<u64>,
    /// Share of the last moments in which a kernel ran, anybody's, in percent.
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
/// CUDA's numbers, and NVML does not know of it.
pub(crate) fn same_gpu<'a>(
    nvml: &'a Nvml,
    context: &CudaContext,
) -> Option<Device<'a>> {
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

// ANCHOR: choose
/// The GPU for work that needs so much memory, if one has it: the least busy, to ten
/// percent; among equals the one with more multiprocessors, then with the faster link,
/// then with more free memory.
pub(crate) fn choose(gpus: &[Facts], bytes: u64) -> Option<usize> {
    let fit = (0..gpus.len()).filter(|i| gpus[*i].free_bytes >= bytes);
    fit.min_by_key(|i| {
        let gpu = &gpus[*i];
        let strength = (gpu.multiprocessors, gpu.link, gpu.free_bytes);
        (gpu.busy_percent.unwrap_or(0) / 10, Reverse(strength))
    })
}
// ANCHOR_END: choose

/// What it costs to make a context on a GPU, only to ask.
pub(crate) fn cost_of_context(lab: &mut Lab, nvml: Option<&Nvml>) -> Result<()> {
    let case = Case::new("open_context");
    let ours = lab.context().ordinal();
    let another = (0..CudaContext::device_count()? as usize).find(|n| *n != ours);
    let Some(another) = another else {
        let why = "CUDA sees one GPU, and it has a context already";
        lab.skip(case, why);
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

/// What is known of each GPU, and how long asking takes. `when` is before or after a
/// rest.
pub(crate) fn compare(
    lab: &mut Lab,
    contexts: &[Arc<CudaContext>],
    nvml: Option<&Nvml>,
    when: &str,
) -> Result<()> {
    for context in contexts {
        let facts = look(context, nvml)?;
        let samples = lab.time_on_host(|| look(context, nvml))?;
        let mut case = Case::new("look").with("gpu", context.ordinal());
        case = case.with("when", when);
        case = case.model("free_bytes", facts.free_bytes as f64);
        case = case.model("multiprocessors", facts.multiprocessors as f64);
        if let Some(link) = facts.link {
            case = case.model("link_gigatransfers", link as f64);
        }
        if let Some(busy) = facts.busy_percent {
            case = case.model("busy_percent", f64::from(busy) / 100.0);
        }
        lab.record(case.samples(samples))?;
    }
    Ok(())
}

/// Kernels that fill a GPU for some milliseconds.
struct Filler {
    stream: Arc<CudaStream>,
    chain: CudaFunction,
    words: CudaSlice<u32>,
    out: CudaSlice<u32>,
}

impl Filler {
    fn new(lab: &Lab, context: &Arc<CudaContext>) -> Result<Filler> {
        let stream = context.new_stream()?;
        let count = 4 * lab.resident_threads()?;
        Ok(Filler {
            chain: lab.module_on(context)?.load_function("chain")?,
            words: stream.clone_htod(&(0..count).map(value).collect::<Vec<_>>())?,
            out: stream.alloc_zeros(count)?,
            stream,
        })
    }

    fn run(&mut self) -> Result<()> {
        let count = self.words.len();
        let mut launch = self.stream.launch_builder(&self.chain);
        launch
            .arg(&self.words)
            .arg(&mut self.out)
            .arg(&count)
            .arg(&STEPS)
            .arg(&FACTOR);
        // SAFETY: the kernel takes (in, out, count, steps, factor), and both arrays have
        // as many words.
        unsafe { launch.launch(LaunchConfig::for_num_elems(count as u32)) }?;
        Ok(self.stream.synchronize()?)
    }

    /// Compares what the last kernel wrote.
    fn check(&self) -> Result<u64> {
        let after = after(STEPS);
        let got = self.stream.clone_dtoh(&self.out)?;
        every_element("filler", &got, |i| after(value(i)))
    }
}

/// A kernel on the first GPU and on the chosen one, while somebody else uses the first.
pub(crate) fn beside_others(
    lab: &mut Lab,
    contexts: &[Arc<CudaContext>],
    nvml: Option<&Nvml>,
) -> Result<()> {
    let case = |on| Case::new("beside").with("on", on);
    if contexts.len() < 2 || nvml.is_none() {
        let why = "it takes a second GPU, and NVML to tell which one is busy";
        lab.skip(case("chosen"), why);
        return Ok(());
    }
    let mut fillers = vec![];
    for context in contexts {
        fillers.push(Filler::new(lab, context)?);
    }
    let samples = lab.time_on_host(|| fillers[0].run())?;
    let checked = fillers[0].check()?;
    lab.record(
        case("first").with("others", "idle").checked(checked).samples(samples),
    )?;

    let mut other = Filler::new(lab, &contexts[0])?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let program = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                other.run()?;
            }
            Ok(())
        });
        let mut measure = || -> Result<()> {
            std::thread::sleep(WATCHED);
            let facts = contexts.iter().map(|context| look(context, nvml));
            let facts = facts.collect::<Result<Vec<_>>>()?;
            let bytes = 4 * fillers[0].words.len() as u64 * 2;
            let chosen =
                choose(&facts, bytes).context("no GPU has enough memory")?;
            for (name, gpu) in [("first", 0), ("chosen", chosen)] {
                let samples = lab.time_on_host(|| fillers[gpu].run())?;
                let mut case = case(name).with("others", "busy");
                case = case.model("gpu", contexts[gpu].ordinal() as f64);
                if let Some(busy) = facts[gpu].busy_percent {
                    case = case.model("busy_percent", f64::from(busy) / 100.0);
                }
                lab.record(case.checked(fillers[gpu].check()?).samples(samples))?;
            }
            Ok(())
        };
        let measured = measure();
        stop.store(true, Ordering::Relaxed);
        let ran = program.join().expect("a launch does not panic");
        measured.and(ran)
    })
}

#[cfg(test)]
mod tests {
    use super::{Facts, choose};

    const FREE: Facts = Facts {
        free_bytes: 100,
        multiprocessors: 132,
        link: Some(512),
        busy_percent: Some(0),
    };

    #[test]
    fn memory_comes_first_then_load_then_strength() {
        let busy = Facts { busy_percent: Some(50), ..FREE };
        let noise = Facts { busy_percent: Some(3), ..FREE };
        let full = Facts { free_bytes: 10, ..FREE };
        let small = Facts { multiprocessors: 40, ..FREE };
        for (gpus, chosen) in [
            (&[busy, FREE][..], Some(1)),
            (&[full, busy], Some(1)),
            (&[small, noise], Some(1)),
            (&[small, busy], Some(0)),
            (&[FREE, FREE], Some(0)),
            (&[full], None),
            (&[], None),
        ] {
            assert_eq!(choose(gpus, 50), chosen, "{gpus:?}");
        }
    }
}
