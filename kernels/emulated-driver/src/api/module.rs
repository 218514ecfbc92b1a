//! Modules and their functions.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use cudarc::driver::sys::CUfunction_attribute_enum::*;
use cudarc::driver::sys::CUresult::*;
use emulator::{Kernel, Module};

use crate::answer::{Answer, require};
use crate::call::{In, Out, Room, Text, api};
use crate::driver::{Function, Loaded, Session};
use crate::gpu;
use crate::memory::{Holding, Kind};

/// Options of a translation: where errors are to be told, and how much room there is.
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_BYTES: c_uint = 6;
/// Registers that a thread is taken to need: what the compiler of a real driver decides.
const THREAD_REGISTERS: u32 = 32;

impl Session {
    /// Loads PTX. The error comes with what a compiler would say.
    fn load(&mut self, ptx: &str) -> Answer<Result<usize, String>> {
        let (context, gpu) = (self.context()?, self.gpu()?);
        if ptx.starts_with("\x7fELF") {
            return self.refuse(CUDA_ERROR_INVALID_IMAGE, "machine code; only PTX runs here");
        }
        if let Some(target) = target(ptx).filter(|target| *target > gpu::current().compute) {
            let why = format!("PTX for compute capability {}.{}", target.0, target.1);
            return self.refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, &why);
        }
        let mut module = match Module::parse(ptx) {
            Ok(module) => module,
            Err(e) => return Ok(Err(e.to_string())),
        };
        for kernel in module.kernels() {
            if let Some(why) = kernel.too_much_shared() {
                return Ok(Err(format!("{}: {why}", kernel.name)));
            }
        }
        if let Err(e) = module.place(&mut self.memory.content) {
            return self.refuse(CUDA_ERROR_OUT_OF_MEMORY, &e.to_string());
        }
        for variable in module.variables() {
            let name = format!("the variable {}", variable.name);
            let (bytes, kind) = (variable.bytes, Kind::Variable);
            let holding = Holding { bytes, kind, gpu, context, name, host: None };
            if let Some(address) = variable.address {
                self.memory.hold(address, holding);
            }
        }
        Ok(Ok(self.modules.insert(Loaded { context, module: Arc::new(module) })))
    }

    /// Loads PTX for a caller who has no room for a log.
    fn load_or_report(&mut self, ptx: &str) -> Answer<usize> {
        match self.load(ptx)? {
            Ok(module) => Ok(module),
            Err(log) => self.refuse(CUDA_ERROR_INVALID_PTX, &log),
        }
    }

    /// Unloads a module, with its functions and variables.
    pub(crate) fn unload(&mut self, handle: usize) {
        let Some(loaded) = self.modules.remove(handle) else { return };
        self.functions.retain(|function| function.module != handle);
        for address in loaded.module.variables().iter().filter_map(|v| v.address) {
            let _ = self.free_now(address, |kind| kind == Kind::Variable);
        }
    }

    pub(crate) fn function(&self, function: usize) -> Answer<(&Function, &Arc<Module>, &Kernel)> {
        let function = self.functions.get(function).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let loaded = self.modules.get(function.module).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let kernel = loaded.module.kernel(&function.kernel).ok_or(CUDA_ERROR_NOT_FOUND)?;
        Ok((function, &loaded.module, kernel))
    }

    fn function_attribute(&self, function: usize, attribute: c_uint) -> Answer<c_int> {
        let (function, _, kernel) = self.function(function)?;
        let (major, minor) = gpu::current().compute;
        let version = (10 * major + minor) as c_int;
        let threads = kernel.max_threads.unwrap_or(gpu::BLOCK_THREADS) as c_int;
        let known = [
            (CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, threads),
            (CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.shared_bytes as c_int),
            (CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel.local_bytes as c_int),
            (CU_FUNC_ATTRIBUTE_NUM_REGS, THREAD_REGISTERS as c_int),
            (CU_FUNC_ATTRIBUTE_PTX_VERSION, version),
            (CU_FUNC_ATTRIBUTE_BINARY_VERSION, version),
            (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function.most_dynamic_bytes as c_int),
            (CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, function.carveout),
            (CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 0),
            (CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 0),
        ];
        let value = known.iter().find(|(name, _)| *name as c_uint == attribute);
        value.map(|(_, value)| *value).ok_or(CUDA_ERROR_INVALID_VALUE)
    }
}

/// The compute capability that PTX says it is for: `.target sm_75`.
fn target(ptx: &str) -> Option<(u32, u32)> {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".target"))?;
    let digits: String =
        line.split("sm_").nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    let number: u32 = digits.parse().ok()?;
    Some((number / 10, number % 10))
}

api! {
    fn cuModuleLoadData(session, module: Out<usize>, image: Text) {
        module.check()?;
        module.set(session.load_or_report(&image.get()?)?)?;
    }

    fn cuModuleLoad(session, module: Out<usize>, path: Text) {
        module.check()?;
        let ptx = std::fs::read_to_string(path.get()?).map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
        module.set(session.load_or_report(&ptx)?)?;
    }

    /// Options have their values beside them, as numbers or as pointers. Only the error log
    /// means something here.
    fn cuModuleLoadDataEx(
        session, module: Out<usize>, image: Text, count: c_uint, options: In<c_uint>,
        values: In<usize>,
    ) {
        module.check()?;
        let (mut log, mut room) = (0, 0);
        for option in 0..count as usize {
            match options.at(option)? {
                ERROR_LOG => log = values.at(option)?,
                ERROR_LOG_BYTES => room = values.at(option)?,
                _ => {}
            }
        }
        match session.load(&image.get()?)? {
            Ok(handle) => module.set(handle)?,
            Err(text) if log == 0 => return session.refuse(CUDA_ERROR_INVALID_PTX, &text),
            Err(text) => {
                Room::new(log).fill(&text, room)?;
                return Err(CUDA_ERROR_INVALID_PTX);
            }
        }
    }

    fn cuModuleUnload(session, module: usize) {
        session.context()?;
        session.modules.get(module).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        session.unload(module); // work that is queued keeps the code that it needs
    }

    fn cuModuleGetFunction(session, function: Out<usize>, module: usize, name: Text) {
        function.check()?;
        let kernel = name.get()?;
        let loaded = session.modules.get(module).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let found = loaded.module.kernel(&kernel).ok_or(CUDA_ERROR_NOT_FOUND)?;
        let most_dynamic_bytes = gpu::BLOCK_SHARED_BYTES.saturating_sub(found.shared_bytes);
        let found = Function { module, kernel, most_dynamic_bytes, carveout: -1 };
        function.set(session.functions.insert(found))?;
    }

    fn cuModuleGetGlobal_v2(
        session, address: Out<u64>, bytes: Out<usize>, module: usize, name: Text,
    ) {
        let name = name.get()?;
        let loaded = session.modules.get(module).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let mut variables = loaded.module.variables().iter();
        let found = variables.find(|variable| variable.name == name);
        let found = found.ok_or(CUDA_ERROR_NOT_FOUND)?;
        address.set_if_wanted(found.address.ok_or(CUDA_ERROR_NOT_FOUND)?)?;
        bytes.set_if_wanted(found.bytes as usize)?;
    }

    fn cuFuncGetAttribute(session, value: Out<c_int>, attribute: c_uint, function: usize) {
        value.set(session.function_attribute(function, attribute)?)?;
    }

    fn cuFuncGetParamInfo(session, function: usize, place: usize, offset: Out<usize>, bytes: Out<usize>) {
        let (_, _, kernel) = session.function(function)?;
        let Some(parameter) = kernel.parameters.get(place).copied() else {
            session.explained.set(true); // how programs find out how many there are
            return Err(CUDA_ERROR_INVALID_VALUE);
        };
        offset.set(parameter.offset as usize)?;
        bytes.set_if_wanted(parameter.bytes as usize)?;
    }

    fn cuFuncSetAttribute(session, function: usize, attribute: c_uint, value: c_int) {
        let shared = session.function(function)?.2.shared_bytes;
        let function = session.functions.get_mut(function).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        if attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_uint {
            let bytes = u32::try_from(value).map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
            let most = gpu::current().block_shared_bytes.saturating_sub(shared);
            require(bytes <= most, CUDA_ERROR_INVALID_VALUE)?;
            function.most_dynamic_bytes = bytes;
        } else if attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT as c_uint {
            require((-1..=100).contains(&value), CUDA_ERROR_INVALID_VALUE)?;
            function.carveout = value;
        } else {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn cuFuncGetModule(session, module: Out<usize>, function: usize) {
        module.set(session.functions.get(function).ok_or(CUDA_ERROR_INVALID_HANDLE)?.module)?;
    }

    fn cuFuncGetParamCount(session, function: usize, count: Out<usize>) {
        count.set(session.function(function)?.2.parameters.len())?;
    }

    /// A module is loaded as a whole.
    fn cuFuncLoad(session, function: usize) {
        session.function(function)?;
    }

    fn cuFuncIsLoaded(session, state: Out<c_uint>, function: usize) {
        session.function(function)?;
        state.set(1)?;
    }

    fn cuModuleGetLoadingMode(session, mode: Out<c_uint>) {
        mode.set(1)?; // at once
    }

    fn cuModuleGetFunctionCount(session, count: Out<c_uint>, module: usize) {
        let loaded = session.modules.get(module).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        count.set(loaded.module.kernels().len() as c_uint)?;
    }

    /// A hint that hardware ignores.
    fn cuFuncSetSharedMemConfig(session, function: usize, config: c_uint) {
        session.function(function)?;
        require(config <= 2, CUDA_ERROR_INVALID_VALUE)?;
    }

    /// A hint that hardware may ignore.
    fn cuFuncSetCacheConfig(session, function: usize, config: c_uint) {
        session.function(function)?;
        require(config <= 3, CUDA_ERROR_INVALID_VALUE)?;
    }
}
