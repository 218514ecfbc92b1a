//! Runs a learner's host code on the emulated GPU, and tells what it did.
//!
//! An exercise in host code has a `check.rs` with `pub fn check(trial: &mut Trial)`. It makes the
//! inputs, calls the learner's functions ([`Trial::watch`]), and compares the results
//! ([`Trial::equal`]). The driver keeps a ledger of what happens meanwhile, which whoever started
//! this program judges.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

pub use anyhow::{Result, anyhow, ensure};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, CudaView, CudaViewMut, LaunchConfig,
    PushKernelArg, UnifiedViewMut, sys,
};
use cudarc::nvrtc::Ptx;
use lab::emulator::{self, Emulator};
pub use lab::memory::{Mapped, Registration, mapped, pinned};
pub use ledger;
use ledger::{Costs, Operation, Range};
pub use ledger::{Kind, Ledger};
pub use peer_access;

mod memory;

/// One trial of a learner's code.
pub struct Trial {
    contexts: Vec<Arc<CudaContext>>,
    emulator: Emulator,
    /// What was run and compared, with what is wrong; and the ledger of each run. All of it is
    /// written at once: the learner's code may end this program at any time.
    report: File,
    /// Ledger of the last run.
    ledger: Ledger,
    /// What that left in flight, if anything.
    in_flight: String,
}

/// What an exercise's `check.rs` is.
pub type Check = fn(&mut Trial) -> Result<()>;

/// Runs one of the program's checks, and reports: the last two arguments are its number and the
/// report's file. A learner's error is in the report, not in the exit code.
pub fn main(check: impl FnOnce(usize) -> Option<Check>) -> ExitCode {
    // The same each time: without the thread's number, and without a backtrace.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    match run(check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: impl FnOnce(usize) -> Option<Check>) -> Result<()> {
    let mut arguments = std::env::args_os().rev();
    let report = arguments.next().map(PathBuf::from);
    let report = report.ok_or_else(|| anyhow!("no file is named for the report"))?;
    let report = File::create(report)?;
    let number = arguments.next().and_then(|number| number.to_str()?.parse().ok());
    let check = number.and_then(check);
    let check = check.ok_or_else(|| anyhow!("there is no check of this number"))?;
    emulator::load_if_needed();
    let count = CudaContext::device_count()?;
    let contexts = (0..count as usize).map(CudaContext::new);
    let contexts = contexts.collect::<Result<Vec<_>, _>>()?;
    for context in &contexts {
        // Its events would order what the learner has to order.
        // SAFETY: nothing was allocated yet, so no event is missing.
        unsafe { context.disable_event_tracking() };
    }
    let emulator = Emulator::loaded().ok_or_else(|| anyhow!("no emulated GPU"))?;
    let mut trial =
        Trial { contexts, emulator, report, ledger: Ledger::default(), in_flight: String::new() };
    if let Err(e) = check(&mut trial) {
        let why = trial.emulator.explanations();
        let why = if why.is_empty() { String::new() } else { format!("\n{}", why.trim()) };
        trial.tell("failed", &format!("{e:#}{why}"));
    }
    trial.tell("done", "");
    Ok(())
}

impl Trial {
    pub fn contexts(&self) -> &[Arc<CudaContext>] {
        &self.contexts
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        &self.contexts[0]
    }

    /// The kernels, on the GPU of a context.
    pub fn kernels(&self, context: &Arc<CudaContext>) -> Result<Kernels> {
        let ptx = Ptx::from_src(include_str!("../../../../kernels/ptx/exercises.ptx"));
        let module = context.load_module(ptx)?;
        Ok(Kernels {
            scale: module.load_function("scale")?,
            add: module.load_function("add")?,
            total: module.load_function("total")?,
            accumulate: module.load_function("accumulate")?,
        })
    }

    /// The first GPU, with a stream and the kernels.
    pub fn gpu(&self) -> Result<Gpu> {
        self.gpu_of(self.context())
    }

    /// All GPUs, likewise.
    pub fn gpus(&self) -> Result<Vec<Gpu>> {
        self.contexts.iter().map(|context| self.gpu_of(context)).collect()
    }

    fn gpu_of(&self, context: &Arc<CudaContext>) -> Result<Gpu> {
        let (context, kernels) = (context.clone(), self.kernels(context)?);
        Ok(Gpu { stream: context.new_stream()?, context, kernels })
    }

    /// Calls the learner's code, with the ledger open: it keeps what the last such call did. What
    /// is in flight afterwards is waited for.
    pub fn watch<T>(&mut self, title: &str, code: impl FnOnce() -> Result<T>) -> Result<T> {
        self.tell("run", title);
        self.emulator.start_ledger();
        let done = code();
        let before: Ledger = self.emulator.ledger().parse()?;
        let ended = self.contexts.iter().try_for_each(|gpu| gpu.synchronize());
        // With all that is known after the last work has ended, but with the calls and waits
        // that there were before: those of the end are not the learner's.
        let after = self.emulator.ledger().parse()?;
        self.ledger = Ledger { calls: before.calls, waits: before.waits, ..after };
        self.write(&self.ledger.to_string());
        self.in_flight = in_flight(&self.ledger);
        let done = done?; // what the code says comes first
        ended?;
        Ok(done)
    }

    /// What the code asked for that was watched last.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }

    /// Calls device memory by a name, in what is said of it.
    pub fn name<T>(&self, memory: &CudaSlice<T>, stream: &Arc<CudaStream>, name: &str) {
        use cudarc::driver::DevicePtr;
        self.emulator.name(memory.device_ptr(stream).0, name);
    }

    /// Calls pinned memory of the host's by a name.
    pub fn name_host<T>(&self, memory: &[T], name: &str) {
        self.emulator.name(memory.as_ptr() as u64, name);
    }

    /// So many zeros in device memory, called by a name.
    pub fn zeros(
        &self,
        stream: &Arc<CudaStream>,
        count: usize,
        name: &str,
    ) -> Result<CudaSlice<f32>> {
        let memory = stream.alloc_zeros(count)?;
        self.name(&memory, stream, name);
        Ok(memory)
    }

    /// These numbers in device memory, called by a name.
    pub fn upload(
        &self,
        stream: &Arc<CudaStream>,
        numbers: &[f32],
        name: &str,
    ) -> Result<CudaSlice<f32>> {
        let memory = stream.clone_htod(numbers)?;
        self.name(&memory, stream, name);
        Ok(memory)
    }

    /// Compares what is in device memory, as [`Trial::equal`] does.
    pub fn equal_on_gpu(
        &mut self,
        what: &str,
        stream: &Arc<CudaStream>,
        found: &CudaSlice<f32>,
        wanted: &[f32],
    ) -> Result<()> {
        self.equal(what, &stream.clone_dtoh(found)?, wanted);
        Ok(())
    }

    /// Compares what the learner's code made; the first difference is told.
    pub fn equal(&mut self, what: &str, found: &[f32], wanted: &[f32]) {
        if found.len() != wanted.len() {
            let (found, wanted) = (found.len(), wanted.len());
            let said = format!("{what} has {found} numbers, and has to have {wanted}");
            return self.tell("wrong", &said);
        }
        let differ = |place: &usize| found[*place] != wanted[*place];
        if let Some(place) = (0..found.len()).find(differ) {
            let wrong = (0..found.len()).filter(differ).count();
            let are = if wrong == 1 { "is" } else { "are" };
            let (is, has_to_be) = (found[place], wanted[place]);
            let said = format!(
                "{what}[{place}] is {is}, and has to be {has_to_be} ({wrong} of {} {are} wrong{})",
                found.len(),
                self.in_flight
            );
            self.tell("wrong", &said);
        }
    }

    /// Names a number for the demands in `check.toml`.
    pub fn size(&mut self, name: &str, number: usize) {
        self.tell("size", &format!("{name} {number}"));
    }

    /// Tells that something is not as it has to be.
    pub fn wrong(&mut self, what: &str) {
        self.tell("wrong", what);
    }

    fn tell(&self, kind: &str, text: &str) {
        let text = text.replace('\\', "\\\\").replace('\n', "\\n");
        self.write(&format!("{kind} {text}\n"));
    }

    /// What cannot be written is missed by who reads it: the end, if nothing else.
    fn write(&self, text: &str) {
        let _ = (&self.report).write_all(text.as_bytes());
    }
}

/// Whether the host has waited for an operation: it knows the order of a stream.
pub fn is_known(ledger: &Ledger, number: usize) -> bool {
    let stream = |number: usize| ledger.operations[number - 1].stream;
    let mut waits = ledger.waits.iter();
    waits.any(|w| w.operation >= number && stream(w.operation) == stream(number))
}

/// What to say of the first download that the host has not waited for.
fn in_flight(ledger: &Ledger) -> String {
    let mut downloads = ledger.operations.iter().filter(|o| o.kind == Kind::Download);
    match downloads.find(|download| !is_known(ledger, download.number)) {
        Some(Operation { number, stream, .. }) => format!(
            "; nothing had waited for download {number} in stream {stream} when the function \
             returned"
        ),
        None => String::new(),
    }
}

/// Numbers that differ from each other, of which thousands have an exact sum.
pub fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + seed * 31) % 2039) as f32 / 8.0 + 1.0).collect()
}

/// The most bytes that were allocated in the order of streams at a time, and not yet freed, as
/// the program asked for it.
pub fn most_bytes(ledger: &Ledger) -> usize {
    let (mut bytes, mut most) = (0, 0);
    for operation in &ledger.operations {
        match operation.kind {
            Kind::Allocate => bytes += operation.bytes,
            // What was made before the ledger began may be freed in it.
            Kind::Free => bytes -= operation.bytes.min(bytes),
            _ => {}
        }
        most = most.max(bytes);
    }
    most as usize
}

/// Bytes of uploads from memory that the driver knows: pinned or registered.
pub fn pinned_upload_bytes(ledger: &Ledger) -> usize {
    let uploads = ledger.operations.iter().filter(|o| o.kind == Kind::Upload);
    bytes(uploads.flat_map(|upload| &upload.read))
}

/// Bytes of downloads into such memory.
pub fn pinned_download_bytes(ledger: &Ledger) -> usize {
    let downloads = ledger.operations.iter().filter(|o| o.kind == Kind::Download);
    bytes(downloads.flat_map(|download| &download.written))
}

fn bytes<'r>(ranges: impl Iterator<Item = &'r Range>) -> usize {
    ranges.map(|range| range.bytes as usize).sum()
}

/// Bytes that a GPU, of so many, has sent to others at most, and that one has got from others.
pub fn most_sent_and_received(ledger: &Ledger, gpus: usize) -> [usize; 2] {
    let (mut sent, mut received) = (vec![0; gpus], vec![0; gpus]);
    for operation in &ledger.operations {
        if let Kind::PeerCopy { from, to } = operation.kind {
            sent[from] += operation.bytes as usize;
            received[to] += operation.bytes as usize;
        }
    }
    [sent, received].map(|of_each| of_each.into_iter().max().unwrap_or(0))
}

/// How many kernels run one after another up to each operation, itself included, on a GPU with
/// places for all: those that it comes after, and those that the host had waited for. The last
/// number is the largest of all.
pub fn kernels_in_a_row(ledger: &Ledger) -> Vec<usize> {
    let (mut rows, mut host) = (Vec::<usize>::new(), 0);
    let mut waits = ledger.waits.iter().peekable();
    for (place, operation) in ledger.operations.iter().enumerate() {
        while let Some(wait) = waits.next_if(|wait| wait.queued <= place) {
            host = host.max(rows[wait.operation - 1]);
        }
        let before = operation.after.iter().map(|number| rows[number - 1]).fold(host, usize::max);
        rows.push(before + usize::from(matches!(operation.kind, Kind::Kernel(_))));
    }
    rows.push(rows.iter().copied().max().unwrap_or_default());
    rows
}

/// How many batches the host made while the copy of the one before was in flight. The first
/// operation's stream has marks that begin when the host has come so far: one before any batch is
/// made, and then one for each.
pub fn made_beside_copies(ledger: &Ledger) -> usize {
    // Only copies take time.
    let (upload, download, peer, memory, launch) = (1.0, 1.0, 1.0, f64::INFINITY, 0.0);
    let costs = Costs { upload, download, peer, memory, launch, kernels: [].into() };
    let runs = ledger::schedule(ledger, &costs).runs;
    let all = || ledger.operations.iter().zip(&runs);
    let stream = ledger.operations[0].stream;
    let marks = all().filter(|(operation, _)| operation.stream == stream);
    let uploads = all().filter(|(operation, _)| operation.kind == Kind::Upload);
    let pairs = marks.skip(2).zip(uploads);
    pairs.filter(|((_, mark), (_, upload))| mark.start < upload.end).count()
}

/// A GPU that shares the work.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub context: Arc<CudaContext>,
    /// A stream of its own.
    pub stream: Arc<CudaStream>,
    pub kernels: Kernels,
}

/// Kernels that exercises launch.
#[derive(Clone, Debug)]
pub struct Kernels {
    scale: CudaFunction,
    add: CudaFunction,
    total: CudaFunction,
    accumulate: CudaFunction,
}

/// Launches a kernel with a thread for each of so many numbers, how many being the last argument.
macro_rules! launch {
    ($stream:expr, $kernel:expr, $count:expr, $($argument:expr),*) => {{
        let count = $count as i32;
        let mut launch = $stream.launch_builder($kernel);
        launch$(.arg($argument))*.arg(&count);
        // SAFETY: as each kernel of exercises.cu asks: arrays of `count` numbers.
        unsafe { launch.launch(LaunchConfig::for_num_elems(count as u32))? };
        Ok(())
    }};
}

impl Kernels {
    /// Multiplies each number by `factor`, in place.
    pub fn scale(
        &self,
        stream: &Arc<CudaStream>,
        data: &mut CudaViewMut<'_, f32>,
        factor: f32,
    ) -> Result<()> {
        launch!(stream, &self.scale, data.len(), data, &factor)
    }

    /// Multiplies each number of managed memory by `factor`, in place.
    pub fn scale_managed(
        &self,
        stream: &Arc<CudaStream>,
        data: &mut UnifiedViewMut<'_, f32>,
        factor: f32,
    ) -> Result<()> {
        launch!(stream, &self.scale, data.len(), data, &factor)
    }

    /// Writes the sums of two arrays' numbers to a third one, all of the same length.
    pub fn add(
        &self,
        stream: &Arc<CudaStream>,
        a: &CudaView<'_, f32>,
        b: &CudaView<'_, f32>,
        out: &mut CudaViewMut<'_, f32>,
    ) -> Result<()> {
        ensure!(a.len() == out.len() && b.len() == out.len(), "other lengths");
        launch!(stream, &self.add, out.len(), a, b, out)
    }

    /// Writes the total of all numbers to one number: in a GPU's memory, or mapped memory.
    ///
    /// # Safety
    ///
    /// A number can be written at `total`, until the stream has done it.
    pub unsafe fn total(
        &self,
        stream: &Arc<CudaStream>,
        data: &CudaView<'_, f32>,
        total: sys::CUdeviceptr,
    ) -> Result<()> {
        let count = data.len() as i32;
        let mut launch = stream.launch_builder(&self.total);
        launch.arg(data).arg(&total).arg(&count);
        let block =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: as `total` of exercises.cu asks, and as the caller promises.
        unsafe { launch.launch(block)? };
        Ok(())
    }

    /// The kernel that [`Kernels::add`] launches, for those who launch it themselves.
    pub fn add_function(&self) -> &CudaFunction {
        &self.add
    }

    /// Adds an array's numbers to those of a sum of the same length.
    pub fn accumulate(
        &self,
        stream: &Arc<CudaStream>,
        data: &CudaView<'_, f32>,
        sum: &mut CudaViewMut<'_, f32>,
    ) -> Result<()> {
        ensure!(data.len() == sum.len(), "other lengths");
        launch!(stream, &self.accumulate, sum.len(), data, sum)
    }
}
