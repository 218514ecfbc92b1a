//! Contexts: who is current, and what is set.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUlimit_enum::*;
use cudarc::driver::sys::CUresult::*;
use streams::Waited;
use streams::queue::Kind;

use crate::answer::{Answer, require};
use crate::call::{Out, api};
use crate::driver::{self, Context, Session};
use crate::gpu;

/// Limits, with their first value and the largest.
const LIMITS: [(c_uint, usize, usize); 5] = [
    (CU_LIMIT_STACK_SIZE as c_uint, 1 << 10, 512 << 10),
    (CU_LIMIT_PRINTF_FIFO_SIZE as c_uint, 1 << 20, gpu::MEMORY_BYTES),
    (CU_LIMIT_MALLOC_HEAP_SIZE as c_uint, 8 << 20, gpu::MEMORY_BYTES),
    (CU_LIMIT_MAX_L2_FETCH_GRANULARITY as c_uint, 64, 128),
    (CU_LIMIT_PERSISTING_L2_CACHE_SIZE as c_uint, 0, 0),
];

impl Session {
    fn new_context(&mut self, gpu: usize, flags: c_uint) -> usize {
        let handle = self.contexts.insert(Context {
            gpu,
            legacy: 0,
            peers: BTreeSet::new(),
            limits: LIMITS.iter().map(|(limit, first, _)| (*limit, *first)).collect(),
            flags,
            failed: None,
        });
        let legacy = self.queues.open(handle, Kind::Legacy);
        if let Some(context) = self.contexts.get_mut(handle) {
            context.legacy = legacy;
        }
        handle
    }

    /// A context of the program's own, which becomes current.
    fn create_context(&mut self, place: &Out<usize>, flags: c_uint, device: c_int) -> Answer {
        let gpu = self.device(device)?;
        place.check()?;
        let handle = self.new_context(gpu, flags);
        driver::push_current(handle);
        place.set(handle)
    }

    /// The context with this handle; the current one, if that is null.
    fn context_or_current(&self, handle: usize) -> Answer<&Context> {
        let handle = if handle == 0 { self.context()? } else { handle };
        self.contexts.get(handle).ok_or(CUDA_ERROR_INVALID_CONTEXT)
    }

    /// Frees all that was made in a context, when all work is done that may use it: that of
    /// other contexts, too.
    fn end_context(&mut self, handle: usize) {
        let last = self.queues.last_of_all();
        self.finish(&last);
        self.recorder.waited(Waited::All);
        for address in self.memory.of_context(handle) {
            let _ = self.free_now(address, |_| true); // it is held
        }
        let Some(context) = self.contexts.remove(handle) else { return };
        self.queues.retire(context.legacy);
        let queues: BTreeMap<_, _> = self.streams.iter().map(|(h, q)| (h, *q)).collect();
        for (stream, queue) in queues {
            if self.queues.get(queue).is_none_or(|queue| queue.context == handle) {
                self.streams.remove(stream);
                self.queues.retire(queue);
            }
        }
        self.events.retain(|event| event.context != handle);
        let modules: Vec<_> = self.modules.iter().collect();
        let own = modules.into_iter().filter(|(_, module)| module.context == handle);
        for module in own.map(|(module, _)| module).collect::<Vec<_>>() {
            self.unload(module);
        }
    }

    /// Bytes of the buffer for what kernels in a queue print.
    pub(crate) fn print_bytes(&self, queue: u32) -> usize {
        let context = self.contexts.get(self.context_of(queue));
        let limit = CU_LIMIT_PRINTF_FIFO_SIZE as c_uint;
        context.map_or(0, |context| context.limits[&limit])
    }
}

fn check_limit(limit: c_uint) -> Answer<usize> {
    let found = LIMITS.iter().find(|(known, ..)| *known == limit);
    found.map(|(_, _, most)| *most).ok_or(CUDA_ERROR_UNSUPPORTED_LIMIT)
}

api! {
    fn cuDevicePrimaryCtxRetain(session, context: Out<usize>, device: c_int) {
        let gpu = session.device(device)?;
        context.check()?;
        let handle = match session.gpus[gpu].primary {
            Some(handle) => handle,
            None => session.new_context(gpu, 0),
        };
        session.gpus[gpu].primary = Some(handle);
        session.gpus[gpu].retained += 1;
        context.set(handle)?;
    }

    fn cuDevicePrimaryCtxRelease_v2(session, device: c_int) {
        let gpu = session.device(device)?;
        let Some(left) = session.gpus[gpu].retained.checked_sub(1) else {
            return Err(CUDA_ERROR_INVALID_CONTEXT);
        };
        session.gpus[gpu].retained = left;
        if left == 0 && let Some(handle) = session.gpus[gpu].primary.take() {
            session.end_context(handle);
        }
    }

    fn cuDevicePrimaryCtxReset_v2(session, device: c_int) {
        let gpu = session.device(device)?;
        if let Some(handle) = session.gpus[gpu].primary.take() {
            session.gpus[gpu].retained = 0;
            session.end_context(handle);
        }
    }

    fn cuDevicePrimaryCtxGetState(
        session, device: c_int, flags: Out<c_uint>, active: Out<c_int>,
    ) {
        let primary = session.gpus[session.device(device)?].primary;
        let context = primary.and_then(|handle| session.contexts.get(handle));
        flags.set(context.map_or(0, |context| context.flags))?;
        active.set(c_int::from(primary.is_some()))?;
    }

    /// How threads wait makes no difference here.
    fn cuDevicePrimaryCtxSetFlags_v2(session, device: c_int, flags: c_uint) {
        let primary = session.gpus[session.device(device)?].primary;
        if let Some(context) = primary.and_then(|handle| session.contexts.get_mut(handle)) {
            context.flags = flags;
        }
    }

    fn cuCtxCreate_v2(session, context: Out<usize>, flags: c_uint, device: c_int) {
        session.create_context(&context, flags, device)?;
    }

    fn cuCtxCreate_v3(
        session, context: Out<usize>, _parameters: *const c_void, parameter_count: c_int,
        flags: c_uint, device: c_int,
    ) {
        if parameter_count != 0 {
            return session.refuse(CUDA_ERROR_NOT_SUPPORTED, "contexts with parameters");
        }
        session.create_context(&context, flags, device)?;
    }

    fn cuCtxCreate_v4(
        session, context: Out<usize>, parameters: *const c_void, flags: c_uint, device: c_int,
    ) {
        if !parameters.is_null() {
            return session.refuse(CUDA_ERROR_NOT_SUPPORTED, "contexts with parameters");
        }
        session.create_context(&context, flags, device)?;
    }

    fn cuCtxPushCurrent_v2(session, context: usize) {
        session.contexts.get(context).ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
        driver::push_current(context);
    }

    fn cuCtxPopCurrent_v2(session, context: Out<usize>) {
        driver::current().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
        context.set_if_wanted(driver::pop_current().unwrap_or(0))?;
    }

    fn cuCtxDestroy_v2(session, context: usize) {
        let primary = session.gpus.iter().any(|gpu| gpu.primary == Some(context));
        require(session.contexts.get(context).is_some() && !primary, CUDA_ERROR_INVALID_CONTEXT)?;
        session.end_context(context);
        if driver::current() == Some(context) {
            driver::pop_current();
        }
    }

    fn cuCtxSetCurrent(session, context: usize) {
        let is_known = context == 0 || session.contexts.get(context).is_some();
        require(is_known, CUDA_ERROR_INVALID_CONTEXT)?;
        driver::set_current(context);
    }

    fn cuCtxGetCurrent(session, context: Out<usize>) {
        context.set(driver::current().unwrap_or(0))?;
    }

    fn cuCtxGetDevice(session, device: Out<c_int>) {
        device.set(session.gpu()? as c_int)?;
    }

    fn cuCtxSynchronize(session) {
        let context = session.context()?;
        require(!session.captures_in(context), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        let last = session.queues.last_of_context(context);
        session.finish(&last);
        session.recorder.waited(Waited::Context(context));
        session.trim_pools();
        session.context()?; // which tells if the work has failed
    }

    fn cuCtxGetFlags(session, flags: Out<c_uint>) {
        flags.set(session.context_or_current(0)?.flags)?;
    }

    fn cuCtxSetFlags(session, flags: c_uint) {
        session.current_context()?.flags = flags;
    }

    fn cuCtxGetId(session, context: usize, id: Out<u64>) {
        session.context_or_current(context)?;
        id.set(if context == 0 { session.context()? } else { context } as u64)?;
    }

    fn cuCtxGetApiVersion(session, context: usize, version: Out<c_uint>) {
        session.context_or_current(context)?;
        version.set(3020)?; // as NVIDIA's driver says of each
    }

    fn cuCtxGetLimit(session, value: Out<usize>, limit: c_uint) {
        let context = session.current_context()?;
        check_limit(limit)?;
        value.set(context.limits[&limit])?;
    }

    /// Limits are kept and told; only that of `printf` has an effect.
    fn cuCtxSetLimit(session, limit: c_uint, value: usize) {
        let context = session.current_context()?;
        context.limits.insert(limit, value.min(check_limit(limit)?));
    }

    fn cuCtxGetCacheConfig(session, config: Out<c_uint>) {
        session.context()?;
        config.set(0)?;
    }

    /// Banks have four bytes.
    fn cuCtxGetSharedMemConfig(session, config: Out<c_uint>) {
        session.context()?;
        config.set(1)?;
    }

    /// A hint that hardware ignores.
    fn cuCtxSetSharedMemConfig(session, config: c_uint) {
        session.context()?;
        require(config <= 2, CUDA_ERROR_INVALID_VALUE)?;
    }

    /// A hint that hardware may ignore.
    fn cuCtxSetCacheConfig(session, config: c_uint) {
        session.context()?;
        require(config <= 3, CUDA_ERROR_INVALID_VALUE)?;
    }

    fn cuCtxGetStreamPriorityRange(session, least: Out<c_int>, greatest: Out<c_int>) {
        session.context()?;
        least.set_if_wanted(gpu::PRIORITIES.0)?;
        greatest.set_if_wanted(gpu::PRIORITIES.1)?;
    }
}
