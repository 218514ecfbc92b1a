//! The driver's state, and what it means that time passes for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};

use cudarc::driver::sys::CUresult::{self, *};
use emulator::Module;
use streams::pool::Settings;
use streams::queue::Kind;
use streams::{Next, Pool, Queue, Queues, Schedule, Ticket};

use crate::answer::{Answer, require};
use crate::counted::Counted;
use crate::gpu;
use crate::graph::{Capture, Graph, Place};
use crate::handles::Handles;
use crate::memory::Memory;
use crate::recorder::Recorder;
use crate::work::{Failure, HostFunction, Work};

pub(crate) struct Driver {
    pub(crate) initialised: bool,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) contexts: Handles<Context>,
    /// Queues by the handles of their streams.
    pub(crate) streams: Handles<u32>,
    /// Priorities of queues that have one; of all others it is 0.
    pub(crate) priorities: BTreeMap<u32, i32>,
    pub(crate) queues: Queues<Work>,
    /// What all work that was ever queued takes, in nanoseconds, on the clock of tests.
    pub(crate) clock: u64,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Loaded>,
    pub(crate) functions: Handles<Function>,
    pub(crate) pools: Handles<Pool>,
    pub(crate) graphs: Handles<Arc<Graph>>,
    /// Graphs that were made ready to launch.
    pub(crate) executables: Handles<Arc<Graph>>,
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) memory: Memory,
    pub(crate) counted: Counted,
    pub(crate) recorder: Recorder,
    /// How much work was done that may have written to the host's memory.
    pub(crate) host_writes: u64,
    /// Whoever asks for an elapsed time gets not-a-number instead of an error.
    pub(crate) elapsed_is_nan: bool,
    /// Whether kernels count pieces of memory, for the lines of their sources.
    pub(crate) counts_pieces: bool,
    schedule: Schedule,
}

/// A GPU, as far as it changes.
pub(crate) struct Gpu {
    /// Number among all the machine's, of which the program may see fewer.
    pub(crate) number: usize,
    /// Handle of the primary context, if it is there, and how often it is retained.
    pub(crate) primary: Option<usize>,
    pub(crate) retained: u32,
    /// Handles of the pool that it came with, and of the one in use.
    pub(crate) default_pool: usize,
    pub(crate) pool: usize,
    /// Bytes that are taken of its memory.
    pub(crate) used_bytes: u64,
}

pub(crate) struct Context {
    pub(crate) gpu: usize,
    /// The queue of the legacy default stream.
    pub(crate) legacy: u32,
    /// Contexts whose memory kernels of this one may use.
    pub(crate) peers: BTreeSet<usize>,
    pub(crate) limits: BTreeMap<u32, usize>,
    /// What it was made with, which changes nothing here.
    pub(crate) flags: u32,
    /// After work has failed, every call in the context answers this.
    pub(crate) failed: Option<CUresult>,
}

pub(crate) struct Event {
    pub(crate) context: usize,
    pub(crate) timed: bool,
    pub(crate) recorded: Option<Recorded>,
    /// When that was, on the clock of tests.
    pub(crate) at: u64,
}

impl Event {
    /// The work that an event stands for; `None` if it was never recorded.
    pub(crate) fn ticket(&self) -> Answer<Option<Ticket>> {
        match self.recorded {
            None => Ok(None),
            Some(Recorded::Queued(ticket)) => Ok(Some(ticket)),
            Some(Recorded::Captured { .. }) => Err(CUDA_ERROR_CAPTURED_EVENT),
        }
    }
}

/// Where an event was recorded.
#[derive(Clone, Copy)]
pub(crate) enum Recorded {
    Queued(Ticket),
    Captured { capture: u64, place: Place },
}

pub(crate) struct Loaded {
    pub(crate) context: usize,
    pub(crate) module: Arc<Module>,
}

/// A kernel of a module, with what may be set of it.
pub(crate) struct Function {
    pub(crate) module: usize,
    pub(crate) kernel: String,
    pub(crate) most_dynamic_bytes: u32,
    pub(crate) carveout: i32,
}

/// Environment variable: the seed of the schedule.
const SEED: &str = "WORKBOOK_EMULATED_SCHEDULE";

/// Environment variable: 1 if a program is told, when it gives its context back, which of its work
/// uses the same memory in no order.
const ORDER: &str = "WORKBOOK_EMULATED_ORDER";
/// Pieces of work that are looked at; each is compared with all before it.
const MOST_WORK: usize = 10_000;
/// Pairs of them that are told.
const MOST_TOLD: usize = 5;

static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| Mutex::new(Driver::new(&gpu::visible())));
/// Signalled when a host function has ended.
static ENDED: Condvar = Condvar::new();

thread_local! {
    /// The contexts of this thread; the last one is current.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(vec![]) };
    /// Whether this thread runs a host function, which may not call the driver.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    /// This thread's default streams: context and queue.
    static OF_THREAD: RefCell<Vec<(usize, u32)>> = const { RefCell::new(vec![]) };
}

unsafe extern "C" {
    // C's, whose promise is to call any such function when the process ends or the library is
    // unloaded: nothing that a caller could do wrong.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Tells the order of a program's work however it ends: programs in C seldom give their contexts
/// back. One that ends within a call, in another thread, is told nothing.
extern "C" fn tell_order_at_end() {
    match DRIVER.try_lock() {
        Ok(driver) => driver.tell_order(),
        Err(TryLockError::Poisoned(driver)) => driver.into_inner().tell_order(),
        Err(TryLockError::WouldBlock) => {}
    }
}

fn is_order_told() -> bool {
    std::env::var_os(ORDER).is_some_and(|value| value == "1")
}

impl Driver {
    fn new(visible: &[usize]) -> Driver {
        let mut pools = Handles::of_kind(6);
        let gpu = |(ordinal, number): (usize, &usize)| {
            let pool = pools.insert(Pool::new(ordinal, Settings::default()));
            Gpu {
                number: *number,
                primary: None,
                retained: 0,
                default_pool: pool,
                pool,
                used_bytes: 0,
            }
        };
        let seed = std::env::var(SEED).ok().and_then(|text| text.trim().parse().ok());
        let gpus: Vec<_> = visible.iter().enumerate().map(gpu).collect();
        let (memory, mut recorder) = (Memory::new(gpus.len()), Recorder::default());
        if is_order_told() {
            recorder.start(&memory);
            atexit(tell_order_at_end);
        }
        Driver {
            initialised: false,
            memory,
            gpus,
            contexts: Handles::of_kind(1),
            streams: Handles::of_kind(2),
            priorities: BTreeMap::new(),
            queues: Queues::default(),
            clock: 0,
            events: Handles::of_kind(3),
            modules: Handles::of_kind(4),
            functions: Handles::of_kind(5),
            pools,
            graphs: Handles::of_kind(7),
            executables: Handles::of_kind(8),
            captures: BTreeMap::new(),
            counted: Counted::default(),
            recorder,
            host_writes: 0,
            elapsed_is_nan: false,
            counts_pieces: false,
            schedule: Schedule::new(seed),
        }
    }

    /// The driver, once nobody else uses it. A call that panicked has left it as it was
    /// then; that is the best there is.
    pub(crate) fn lock() -> MutexGuard<'static, Driver> {
        DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handle of a queue's context; 0 if there is no such queue.
    pub(crate) fn context_of(&self, queue: u32) -> usize {
        self.queues.get(queue).map_or(0, |queue| queue.context)
    }

    /// Number of the GPU of a queue's context.
    pub(crate) fn gpu_of(&self, queue: u32) -> Answer<usize> {
        let context = self.contexts.get(self.context_of(queue));
        context.map(|context| context.gpu).ok_or(CUDA_ERROR_INVALID_CONTEXT)
    }

    /// Tells which work used the same memory in no order, if the program wants to know.
    pub(crate) fn tell_order(&self) {
        if !is_order_told() {
            return;
        }
        let Some(mut ledger) = self.recorder.ledger() else { return };
        let all = ledger.operations.len();
        ledger.operations.truncate(MOST_WORK);
        ledger.waits.retain(|wait| wait.operation <= MOST_WORK);
        let found = ledger::unordered(&ledger);
        for conflict in found.iter().take(MOST_TOLD) {
            report("order", &conflict.to_string());
        }
        if found.len() > MOST_TOLD {
            report("order", &format!("and {} pairs more", found.len() - MOST_TOLD));
        }
        if found.is_empty() {
            report("order", "all work that uses the same memory is in order");
        }
        if all > MOST_WORK {
            report("order", &format!("only the first {MOST_WORK} of {all} pieces of work count"));
        }
    }

    /// Queues work behind what is in `queue`, and behind `after`; and notes it.
    pub(crate) fn push(&mut self, queue: u32, work: Work, after: Vec<Ticket>) -> Ticket {
        let gpu = self.gpu_of(queue).unwrap_or_default();
        let noted = self.recorder.note(&work, gpu, &self.memory);
        let noted = noted.map(|noted| (noted, after.clone()));
        self.clock += work.nanoseconds();
        let ticket = self.queues.push(queue, work, after);
        if let Some((noted, after)) = noted
            && let Some(Queue { context, kind, .. }) = self.queues.get(queue)
        {
            self.recorder.stream(queue, *context, *kind);
            self.recorder.add(ticket, noted, &after);
        }
        ticket
    }

    /// Takes memory of a GPU, if it has so much left.
    pub(crate) fn reserve(&mut self, gpu: usize, bytes: u64) -> Answer {
        let left = gpu::memory_bytes() as u64 - self.gpus[gpu].used_bytes;
        require(bytes <= left, CUDA_ERROR_OUT_OF_MEMORY)?;
        self.gpus[gpu].used_bytes += bytes;
        Ok(())
    }

    /// Gives back what pools do not need and may not keep, as synchronising does.
    pub(crate) fn trim_pools(&mut self) {
        let handles: Vec<_> = self.pools.iter().map(|(handle, _)| handle).collect();
        for handle in handles {
            self.release(handle, |pool, queues| pool.synchronise(|ticket| queues.is_done(ticket)));
        }
    }

    pub(crate) fn trim_pool(&mut self, handle: usize, keep: u64) {
        self.release(handle, |pool, queues| pool.trim(keep, |ticket| queues.is_done(ticket)));
    }

    /// Has a pool give memory back to its GPU.
    fn release(&mut self, handle: usize, trim: impl Fn(&mut Pool, &Queues<Work>) -> u64) {
        let Some(pool) = self.pools.get_mut(handle) else { return };
        let freed = trim(pool, &self.queues);
        self.gpus[pool.gpu].used_bytes -= freed;
    }
}

/// A call of the program's, in which it has the driver for itself.
pub(crate) struct Session {
    driver: Option<MutexGuard<'static, Driver>>,
    pub(crate) call: &'static str,
    /// Whether standard error has been told why the call fails.
    pub(crate) explained: Cell<bool>,
}

impl std::ops::Deref for Session {
    type Target = Driver;
    fn deref(&self) -> &Driver {
        self.driver.as_ref().expect("held but while others may have it")
    }
}

impl std::ops::DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Driver {
        self.driver.as_mut().expect("held but while others may have it")
    }
}

impl Session {
    /// `None` in a host function, which may not call the driver.
    pub(crate) fn open(call: &'static str) -> Option<Session> {
        let allowed = !IN_HOST_FUNCTION.get();
        let explained = Cell::new(false);
        allowed.then(|| Session { driver: Some(Driver::lock()), call, explained })
    }

    /// Answers with an error, and explains it.
    pub(crate) fn refuse<T>(&self, code: CUresult, why: &str) -> Answer<T> {
        explain(self.call, why);
        self.explained.set(true);
        Err(code)
    }

    /// What is in `result`; or answers with an error, and explains it.
    pub(crate) fn accept<T>(&self, code: CUresult, result: Result<T, String>) -> Answer<T> {
        result.or_else(|why| self.refuse(code, &why))
    }

    /// Handle of the current context. An error if its work has failed.
    pub(crate) fn context(&self) -> Answer<usize> {
        require(self.initialised, CUDA_ERROR_NOT_INITIALIZED)?;
        let handle = current().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
        let context = self.contexts.get(handle).ok_or(CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        context.failed.map_or(Ok(handle), Err)
    }

    /// The current context, likewise.
    pub(crate) fn current_context(&mut self) -> Answer<&mut Context> {
        let handle = self.context()?;
        self.contexts.get_mut(handle).ok_or(CUDA_ERROR_INVALID_CONTEXT)
    }

    /// Number of the current context's GPU.
    pub(crate) fn gpu(&self) -> Answer<usize> {
        let context = self.contexts.get(self.context()?);
        context.map(|context| context.gpu).ok_or(CUDA_ERROR_INVALID_CONTEXT)
    }

    /// An error if a context's work has failed.
    pub(crate) fn failure_in(&self, context: usize) -> Answer {
        let failed = self.contexts.get(context).and_then(|context| context.failed);
        failed.map_or(Ok(()), Err)
    }

    /// The queue of a stream. Null and 1 are the legacy default stream, 2 is the thread's.
    pub(crate) fn queue(&mut self, stream: usize) -> Answer<u32> {
        let context = self.context()?;
        let queue = match stream {
            0 | 1 => self.contexts.get(context).map(|context| context.legacy),
            2 => Some(self.queue_of_thread(context)),
            _ => self.streams.get(stream).copied(),
        };
        let queue = queue.ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        self.failure_in(self.context_of(queue))?;
        Ok(queue)
    }

    fn queue_of_thread(&mut self, context: usize) -> u32 {
        let known = OF_THREAD.with_borrow(|own| {
            own.iter().find(|(owner, _)| *owner == context).map(|(_, queue)| *queue)
        });
        known.filter(|queue| self.queues.get(*queue).is_some()).unwrap_or_else(|| {
            let queue = self.queues.open(context, Kind::Blocking);
            self.recorder.stream(queue, context, Kind::Blocking);
            OF_THREAD.with_borrow_mut(|own| own.push((context, queue)));
            queue
        })
    }

    /// Queues work in a stream, or adds it to what the stream captures.
    pub(crate) fn enqueue(&mut self, queue: u32, work: Work) -> Answer {
        if self.add_to_capture(queue, &work)? {
            return Ok(());
        }
        self.push(queue, work, vec![]);
        self.stray();
        Ok(())
    }

    /// Lets work happen that nobody waits for, if the schedule says so.
    pub(crate) fn stray(&mut self) {
        while let Some(queue) = self.next_stray() {
            self.run_first(queue);
        }
    }

    fn next_stray(&mut self) -> Option<u32> {
        let Driver { schedule, queues, .. } = &mut **self;
        schedule.next(queues)
    }

    /// Works until all of this is done.
    pub(crate) fn finish(&mut self, tickets: &[Ticket]) {
        for ticket in tickets {
            loop {
                self.stray();
                match self.queues.next_towards(*ticket) {
                    Next::Done => break,
                    Next::First(queue) => self.run_first(queue),
                    Next::Running => self.wait(),
                }
            }
        }
    }

    /// Does one piece of what has to be done for `ticket`, without waiting; and says
    /// whether it is done. So a program that asks again and again gets there.
    pub(crate) fn step_towards(&mut self, ticket: Ticket) -> bool {
        self.stray();
        if let Next::First(queue) = self.queues.next_towards(ticket) {
            self.run_first(queue);
        }
        self.queues.is_done(ticket)
    }

    fn run_first(&mut self, queue: u32) {
        let context = self.context_of(queue);
        let Some((ticket, work)) = self.queues.begin(queue) else { return };
        let done = match work {
            Work::Call(function) => {
                self.host_writes += 1;
                match call_host(function, queue) {
                    Ok(()) => return, // the other thread ends it
                    Err(failure) => Err(failure),
                }
            }
            work if self.failure_in(context).is_ok() => self.perform_whatever_happens(ticket, work),
            _ => Ok(()),
        };
        if let Err(failure) = done {
            report("while the stream worked", &failure.what);
            if let Some(context) = self.contexts.get_mut(context) {
                context.failed = Some(failure.code);
            }
        }
        self.queues.end(queue);
    }

    /// A panic must not leave the queue as if its work went on: a thread that waits for it would wait forever.
    fn perform_whatever_happens(&mut self, ticket: Ticket, work: Work) -> Result<(), Failure> {
        let done = catch_unwind(AssertUnwindSafe(|| self.perform(ticket, work)));
        done.unwrap_or_else(|_| {
            let what = "the emulator has panicked".to_owned();
            Err(Failure { code: CUDA_ERROR_UNKNOWN, what })
        })
    }

    /// Lets the program do something in which it may call the driver.
    pub(crate) fn outside<T>(&mut self, action: impl FnOnce() -> T) -> T {
        self.driver = None;
        let result = action();
        self.driver = Some(Driver::lock());
        result
    }

    /// Waits until a host function ends, and lets other threads use the driver meanwhile.
    fn wait(&mut self) {
        if let Some(driver) = self.driver.take() {
            self.driver = Some(ENDED.wait(driver).unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Runs a host function on a thread of its own, as NVIDIA's driver does: it may block.
fn call_host(host: HostFunction, queue: u32) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().spawn(move || {
        IN_HOST_FUNCTION.set(true);
        let HostFunction { function, argument } = host;
        // SAFETY: the program gave the function with its argument, to be called once.
        unsafe { function(argument as *mut c_void) };
        let mut driver = Driver::lock();
        driver.host_writes += 1;
        driver.queues.end(queue);
        drop(driver);
        ENDED.notify_all();
    });
    thread.map(drop).map_err(|error| {
        let what = format!("no thread can be made for a host function: {error}");
        Failure { code: CUDA_ERROR_OUT_OF_MEMORY, what }
    })
}

/// Handle of the context that is current for this thread.
pub(crate) fn current() -> Option<usize> {
    CURRENT.with_borrow(|stack| stack.last().copied()).filter(|handle| *handle != 0)
}

/// Makes a context current in place of the one that is.
pub(crate) fn set_current(handle: usize) {
    CURRENT.with_borrow_mut(|stack| {
        stack.pop();
        stack.push(handle);
    });
}

pub(crate) fn push_current(handle: usize) {
    CURRENT.with_borrow_mut(|stack| stack.push(handle));
}

pub(crate) fn pop_current() -> Option<usize> {
    CURRENT.with_borrow_mut(Vec::pop)
}

/// Says on standard error what went wrong.
pub(crate) fn report(call: &str, what: &str) {
    eprintln!("emulated driver: {call}: {what}");
}

/// Says why a call is answered with an error: to a program that asks, else on standard error.
pub(crate) fn explain(call: &str, why: &str) {
    match &mut *explanations() {
        Some(kept) => *kept += &format!("emulated driver: {call}: {why}\n"),
        None => report(call, why),
    }
}

/// Why calls were answered with errors, if somebody asks.
pub(crate) fn explanations() -> MutexGuard<'static, Option<String>> {
    static KEPT: Mutex<Option<String>> = Mutex::new(None);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
