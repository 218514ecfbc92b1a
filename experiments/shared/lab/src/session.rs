//! One run of one experiment, from its start to its record.

use std::cell::RefCell;
use std::sync::Arc;

use anyhow::{Context, Result};
use cudarc::driver::{CudaContext, CudaModule, CudaSlice, CudaStream, sys};
use record::{Clock, EMULATED, Measurement, Record, Results, Skipped, Software, Source, units};

use crate::case::Case;
use crate::counters::{self, Windows};
use crate::emulator::{self, Counted, Emulator};
use crate::fingerprint::{self, Size};
use crate::gpu;
use crate::kernel::{self, Kernel};
use crate::machine::Monitor;
use crate::options::{CannotRun, Options};
use crate::shown::Shown;
use crate::terminal::Table;
use crate::timing::{self, Samples, Sampling};
use crate::{lasting, machine_code, place, reference, workspace};

/// What a lesson gets to work with. It owns the context and the record being made, and
/// nothing of the lesson's.
pub struct Lab {
    options: Options,
    pub(crate) sampling: Sampling,
    context: Arc<CudaContext>,
    module: Option<Arc<CudaModule>>,
    results: Results,
    record: Record,
    monitor: Monitor,
    table: Table,
    /// What is printed at the end; none if each case is printed as soon as it is measured.
    shown: Option<Shown>,
    /// Under `--counters`, in the program that the profiler watches.
    windows: Option<RefCell<Windows>>,
    /// The emulated GPU, if that is what runs this.
    emulator: Option<Emulator>,
    /// The kernels that were loaded, the module's first.
    sources: Vec<Kernel>,
}

impl Lab {
    pub(crate) fn start(
        name: &'static str,
        kernel: Option<Kernel>,
        options: Options,
        emulator: Option<Emulator>,
    ) -> Result<Lab> {
        let run = workspace::run(&options)?;
        let profiled = options.counters && emulator.is_none();
        let counted = profiled.then(|| format!("{name}{}", counters::SUFFIX));
        let experiment = counted.as_deref().unwrap_or(name);
        let context = open(options.device)?;
        let sources = kernel.into_iter().collect();
        let (module, loaded) = kernel.map(|k| load(&context, k)).transpose()?.unzip();
        if let Some(emulator) = emulator.as_ref().filter(|_| options.counters) {
            emulator.count_pieces();
        }
        gpu::wake(&context)?;
        let monitor = Monitor::new();
        let mut machine = monitor.describe("unnamed", options.device)?;
        let results = place::results(&options)?;
        machine.name = match &options.machine {
            Some(name) => name.clone(),
            None if emulator.is_some() => EMULATED.to_owned(),
            None => place::free_name(&results, &machine, experiment, options.replace)?,
        };
        let cuda = gpu::cuda_version().map(|(major, minor)| format!("{major}.{minor}"));
        let os = sysinfo::System::long_os_version().unwrap_or_default();
        let os_kernel = sysinfo::System::kernel_version().unwrap_or_default();
        let record = Record {
            schema: record::SCHEMA,
            experiment: experiment.to_owned(),
            source: match emulator {
                Some(_) => Source::Emulated,
                None if profiled => Source::Profiled,
                None => Source::Measured,
            },
            run,
            software: Software {
                // NVML tells NVIDIA's, which is not in use under an emulated one.
                driver: monitor.driver().filter(|_| emulator.is_none()),
                cuda: cuda.unwrap_or_default(),
                operating_system: format!("{os}, {os_kernel}"),
                compiler: env!("LAB_COMPILER").to_owned(),
                profile: env!("LAB_PROFILE").to_owned(),
            },
            gpu_before: monitor.state(options.device),
            gpu_after: record::GpuState::default(),
            gather_seconds: vec![],
            machine,
            kernel: loaded,
            further_kernels: vec![],
            measurements: vec![],
            skipped: vec![],
        };
        let at_once = options.all || options.counters;
        let shown = if at_once { None } else { Shown::find(name, options.page.as_deref())? };
        let mut table = Table::new(options.json);
        if shown.is_some() {
            table.keep_rows();
        }
        table.reference = emulator.and_then(|_| reference::record(name));
        let windows = profiled.then(|| Windows::new(&context)).transpose()?;
        let windows = windows.map(RefCell::new);
        let lab = Lab {
            sampling: Sampling::of(&options, emulator.is_some()),
            options,
            context,
            module,
            results,
            record,
            monitor,
            table,
            shown,
            windows,
            emulator,
            sources,
        };
        // Before measuring, not only after it.
        place::check(&lab.results, &lab.record, lab.options.replace)?;
        lab.introduce();
        lab.sources.iter().for_each(|kernel| lab.check_source(kernel));
        Ok(lab)
    }

    /// Says so if an edit of a kernel is not in this program.
    fn check_source(&self, kernel: &Kernel) {
        if kernel.is_outdated() {
            self.table.warn(&format!(
                "kernels/{}.cu of this checkout is not what this program was compiled with, \
                 and is not what runs: touch it and compile again, or, if `target` came from \
                 another folder, delete that",
                kernel.name
            ));
        }
    }

    /// The CUDA context of the GPU to measure. cudarc's automatic event tracking is off:
    /// streams are ordered by what the lesson says, and by nothing else.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The experiment's kernels, loaded. Fails if it named none.
    pub fn module(&self) -> Result<&Arc<CudaModule>> {
        self.module.as_ref().context("this experiment was started without a kernel")
    }

    /// Contexts of all GPUs that CUDA sees, the measured one first; event tracking is
    /// off on all. With fewer than `least` the experiment cannot run here ([`CannotRun`]).
    pub fn gpus(&self, least: usize) -> Result<Vec<Arc<CudaContext>>> {
        let count = self.record.machine.gpus.len();
        if count < least {
            let s = if count == 1 { "" } else { "s" };
            let why = format!(
                "it needs {least} GPUs, and CUDA sees {count} GPU{s} (if there are more, look \
                 at CUDA_VISIBLE_DEVICES)"
            );
            return Err(CannotRun(why).into());
        }
        let mut contexts = vec![self.context.clone()];
        for ordinal in (0..count).filter(|n| *n != self.options.device) {
            let context = open(ordinal)?;
            gpu::wake(&context)?;
            contexts.push(context);
        }
        self.context.bind_to_thread()?;
        Ok(contexts)
    }

    /// The experiment's kernels on one of [`Lab::gpus`].
    pub fn module_on(&self, context: &Arc<CudaContext>) -> Result<Arc<CudaModule>> {
        let module = self.module()?;
        if context.ordinal() == self.context.ordinal() {
            return Ok(module.clone());
        }
        let kernel = self.sources.first().expect("there is a module");
        Ok(load(context, *kernel)?.0)
    }

    /// Loads a further kernel file, and names it in the record. `None` if this GPU is
    /// older than the file asks for ([`kernel::compute`]), or emulated and the file is for what
    /// only real ones have, whatever limits the emulated one has.
    pub fn load(&mut self, kernel: Kernel) -> Result<Option<Arc<CudaModule>>> {
        let compute = kernel::compute(kernel.source);
        let has = |gpu: &str| kernel::runs_on(compute, gpu);
        if !has(&self.gpu().compute_capability) || self.emulated() && !has(emulator::COMPUTE) {
            return Ok(None);
        }
        self.sources.push(kernel);
        let (module, kernel) = load(&self.context, kernel)?;
        self.record.further_kernels.push(kernel);
        Ok(Some(module))
    }

    /// A further kernel file that was loaded ([`Lab::load`]), on one of [`Lab::gpus`].
    pub fn load_on(&self, context: &Arc<CudaContext>, kernel: Kernel) -> Result<Arc<CudaModule>> {
        Ok(load(context, kernel)?.0)
    }

    /// Says that it is a library which is measured, run by an interpreter; each with its version.
    pub fn measures(&mut self, library: String, interpreter: String) {
        self.table.say(&library);
        self.record.software.profile = library;
        self.record.software.compiler = interpreter;
    }

    /// Prints lines of text, as they are: a lesson's result that is there to be read.
    pub fn print(&self, text: &str) {
        self.table.line(text);
    }

    /// Whether this is a `--quick` run, in which sizes may be smaller.
    pub fn quick(&self) -> bool {
        self.options.quick
    }

    /// Whether the GPU is an emulated one. It has no time: what repeats its work only to last
    /// longer need not.
    pub fn emulated(&self) -> bool {
        self.emulator.is_some()
    }

    /// Size of the GPU's L2 cache in bytes.
    pub fn l2_bytes(&self) -> usize {
        self.gpu().l2_bytes as usize
    }

    /// Bytes that the L2 cache asks the memory for when it misses; a sector (32) where the
    /// driver does not tell.
    pub fn l2_fetch_bytes(&self) -> usize {
        let limit = sys::CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
        self.context.get_limit(limit).unwrap_or(0).max(32)
    }

    pub fn multiprocessors(&self) -> usize {
        self.gpu().multiprocessors as usize
    }

    /// Device memory that is free now, in bytes.
    pub fn free_bytes(&self) -> Result<usize> {
        Ok(self.context.mem_get_info()?.0)
    }

    /// Threads that the GPU can hold at once, on all multiprocessors together.
    pub fn resident_threads(&self) -> Result<usize> {
        let each = sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        Ok(self.context.attribute(each)? as usize * self.multiprocessors())
    }

    /// Theoretical peak of the GPU's memory in bytes per second, if the driver tells.
    pub fn memory_peak(&self) -> Option<f64> {
        self.gpu().memory_peak_bytes_per_second()
    }

    /// Times work on `stream` by CUDA events; see [`timing::by_events`].
    pub fn time_on_gpu(
        &self,
        stream: &CudaStream,
        enqueue: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Samples> {
        if let Some(emulator) = &self.emulator {
            return timing::by_counting(emulator, self.l2_bytes(), stream, enqueue);
        }
        let Some(windows) = &self.windows else {
            let samples = timing::by_events(stream, self.sampling, enqueue)?;
            return Ok(self.observed(samples));
        };
        let window = windows.borrow_mut().watch(stream, || enqueue(0))?;
        // The profiler saw one turn; the lesson's checks expect them all.
        let samples = timing::by_events(stream, Sampling::QUICK, enqueue)?;
        Ok(Samples { window: Some(window), seconds: vec![], ..samples })
    }

    /// Times work on `stream` in bursts after rests, and when it has gone on for two seconds;
    /// see module `lasting`. With each comes the clock in kHz, counted right after by the kernel
    /// that `clock` queues: into two words, the cycles of at least so many nanoseconds, and the
    /// nanoseconds. Where nothing is timed, it does not run.
    pub fn time_in_bursts_and_lasting(
        &self,
        stream: &Arc<CudaStream>,
        enqueue: &mut dyn FnMut(usize) -> Result<()>,
        clock: &mut dyn FnMut(&mut CudaSlice<u64>, u32) -> Result<()>,
    ) -> Result<[(Samples, f64); 2]> {
        if self.emulator.is_some() || self.windows.is_some() {
            let mut once = || self.time_on_gpu(stream, enqueue);
            return Ok([(once()?, f64::NAN), (once()?, f64::NAN)]);
        }
        let times = lasting::Times::of(self.quick());
        let mut clock = || lasting::clock_khz(stream, clock);
        let sampling = self.sampling;
        let [burst, (samples, khz)] =
            lasting::by_bursts_and_lasting(stream, sampling, times, enqueue, &mut clock)?;
        // What holds the clocks back afterwards is of the two seconds, not of the bursts.
        Ok([burst, (self.observed(samples), khz)])
    }

    /// Times `work` by the host's clock. It must return when its work is done, on the
    /// GPU too; what it returns is dropped after the clock has stopped.
    pub fn time_on_host<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<Samples> {
        let (samples, _) = timing::by_host(self.sampling, || Ok(()), |()| work())?;
        Ok(self.observed(samples))
    }

    /// Samples that have just been taken, with the GPU's clocks.
    pub fn observed(&self, samples: Samples) -> Samples {
        if self.emulator.is_some() {
            return samples;
        }
        Samples { clocks: self.monitor.clocks(self.options.device), ..samples }
    }

    /// Takes a finished case into the record and prints its row.
    pub fn record(&mut self, case: Case) -> Result<()> {
        if self.windows.is_some() {
            return self.record_window(case);
        }
        let counted = case.samples.as_ref().map(|samples| samples.counted.clone());
        let notes = case.notes.clone();
        let mut measurement = case.finish()?;
        if let Some(emulator) = &self.emulator {
            emulator.explanations(); // of errors that the lesson expected
            forget_times(&mut measurement);
            let counted = counted.unwrap_or_default();
            measurement.remarks = machine_code::remarks(&self.sources, &counted);
            let other_kernel = self.is_of_other_kernels(&measurement, &counted);
            self.table.emulated(&measurement, other_kernel);
            if self.options.counters {
                let text = |file: &str, line| self.sources.iter().find_map(|k| k.line(file, line));
                self.table.lines(&counted.lines, text);
            }
        } else {
            self.table.measured(&self.record, &measurement, &notes);
        }
        self.record.measurements.push(measurement);
        Ok(())
    }

    /// Writes the record as far as it is, if it is one of times. What ends later, ends with a whole
    /// one in its place.
    pub fn keep_so_far(&self) -> Result<()> {
        match self.record.source {
            Source::Measured => place::store_so_far(&self.results, &self.record, &self.options),
            Source::Profiled | Source::Emulated => Ok(()),
        }
    }

    /// Whether the reference machine ran other kernels in this case. What ran while the
    /// host's clock was to be looked at is not known, and then any kernel counts.
    fn is_of_other_kernels(&self, m: &Measurement, counted: &Counted) -> bool {
        let now = &self.record;
        let all = now.kernel.iter().chain(&now.further_kernels);
        self.table.reference.as_ref().is_some_and(|record| match m.clock {
            Clock::CudaEvents => reference::kernels_differ(record, now, counted.kernels.iter()),
            Clock::Host => {
                let functions = all.flat_map(|kernel| kernel.functions.keys());
                reference::kernels_differ(record, now, functions)
            }
        })
    }

    /// Takes a case into the record with the window it ran in. What the host's clock
    /// timed ran in none and is left out.
    fn record_window(&mut self, case: Case) -> Result<()> {
        let window = case.samples.as_ref().and_then(|samples| samples.window);
        if let Some(number) = window {
            let mut measurement = case.finish()?;
            measurement.counters = counters::placeholder(number);
            measurement.operations_per_sample = 1;
            // A model may rest on the median of times that were not taken.
            measurement.model.retain(|_, value| value.is_finite());
            self.record.measurements.push(measurement);
        }
        Ok(())
    }

    /// Notes that a case cannot be measured here, and why (one sentence, no full stop).
    pub fn skip(&mut self, case: Case, reason: impl Into<String>) {
        let Case { measurement, .. } = case;
        let skipped = Skipped {
            case: measurement.case,
            parameters: measurement.parameters,
            reason: reason.into(),
        };
        self.table.skipped(&skipped);
        self.record.skipped.push(skipped);
    }

    fn gpu(&self) -> &record::Gpu {
        self.record.machine.measured_gpu().expect("described at the start")
    }

    /// How many samples the options ask for.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    fn introduce(&self) {
        let (gpu, name) = (self.gpu(), &self.record.experiment);
        if self.emulator.is_some() {
            self.table.say(&format!(
                "{name} on an emulated GPU: results checked, memory traffic counted, \
                 nothing timed."
            ));
            if let Some(record) = &self.table.reference {
                self.table.say(&format!(
                    "Beside it, where there is room, is what another machine measured: {}.",
                    reference::label(record)
                ));
            }
            return;
        }
        let memory = gpu.memory_peak_bytes_per_second().map(units::bandwidth);
        let link = gpu.pcie.as_ref().and_then(|p| {
            let peak = units::bandwidth(p.peak_bytes_per_second()?);
            Some(format!("PCIe {}.0 x{} {peak} each way", p.generation, p.width))
        });
        let peaks = [memory.map(|m| format!("memory {m}")), link];
        let peaks = peaks.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let peaks = if peaks.is_empty() { peaks } else { format!(" (peak: {peaks})") };
        self.table.say(&format!("{name} on {}{peaks}", gpu.name));
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.record.gpu_after = self.monitor.state(self.options.device);
        if self.emulator.is_some() {
            fingerprint::take(&self.context, Size::SMALL)?;
        } else if self.windows.is_none() {
            self.record.gather_seconds = fingerprint::take(&self.context, Size::FULL)?;
        }
        match &self.shown {
            Some(shown) => shown.print(&self.record, &mut self.table),
            None => self.table.explain(),
        }
        let skeleton = match self.windows {
            Some(_) => counters::skeleton()?,
            None => None,
        };
        match skeleton {
            Some(path) => Ok(std::fs::write(path, record::file::to_json(&self.record))?),
            None => place::store(&self.record, &self.options),
        }
    }
}

/// The context of a GPU, without cudarc's automatic event tracking.
fn open(ordinal: usize) -> Result<Arc<CudaContext>> {
    let context = CudaContext::new(ordinal).with_context(|| format!("cannot use GPU {ordinal}"))?;
    // SAFETY: experiments order their streams themselves, with events in the open;
    // cudarc's automatic waits would stand inside the timed regions.
    unsafe { context.disable_event_tracking() };
    Ok(context)
}

/// Loads a kernel file; with it comes what the record says of it.
fn load(context: &Arc<CudaContext>, kernel: Kernel) -> Result<(Arc<CudaModule>, record::Kernel)> {
    let (ptx, kernel) = kernel.ptx()?;
    let module = context
        .load_module(ptx)
        .with_context(|| format!("the driver does not take kernels/{}.cu", kernel.name))?;
    Ok((module, kernel))
}

/// Takes out of a measurement what an emulated GPU cannot know: what took how long, and
/// what a lesson derived from that, by a model in seconds or per second. (The host's clock
/// goes on, and it would say how fast the emulator is.) Without times a sample is one
/// operation.
fn forget_times(measurement: &mut Measurement) {
    measurement.seconds.clear();
    measurement.spans.clear();
    measurement.memory.clear();
    measurement.model.retain(|name, value| {
        value.is_finite() && !name.ends_with("seconds") && !name.ends_with("second")
    });
    measurement.operations_per_sample = 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn of_an_emulated_case_nothing_stays_that_is_a_time() {
        let mut m = Case::new("copy")
            .model("sectors", 4.0)
            .model("bound_seconds", 0.5)
            .model("bound_bytes_per_second", 1e9)
            .model("share", f64::NAN)
            .measurement;
        forget_times(&mut m);
        assert_eq!(m.model, BTreeMap::from([("sectors".to_owned(), 4.0)]));
    }
}
