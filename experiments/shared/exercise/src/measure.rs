//! A kernel on a real GPU, to be timed.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use emulator::Module;
use lab::compiler::{Compiler, Unit};
use record::hash::sha256;
use referee::check::{Check, Launch};
use referee::data::{Buffers, Device, Shape};
use referee::judge::of_elements;
use referee::launch::Form;

use crate::catalogue::Exercise;

/// What surrounds a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// Bytes that have to stay as they are.
    Guards,
    /// Nothing, and nothing is in what is not filled: a tool that watches memory is to see its
    /// ends, and what nobody wrote.
    Nothing,
}

impl Around {
    /// Bytes before each buffer, and as many behind it.
    fn bytes(self) -> usize {
        match self {
            Around::Guards => 1024,
            Around::Nothing => 0,
        }
    }
}

/// What is in guards, and in what nothing has been written to: no number, as a float.
const GUARD: u8 = 0xFF;

/// What a record calls a source: the beginning of its hash, which tells whether it is the one that
/// was timed.
pub fn code(source: &str) -> String {
    // With a letter in front: what looks like a number is one in a query.
    format!("x{}", &sha256(source)[..12])
}

/// A solution, ready to be launched.
pub struct OnGpu<'e> {
    stream: Arc<CudaStream>,
    memory: Memory,
    buffers: Buffers<'e>,
    launches: Vec<(CudaFunction, Form)>,
}

/// Memory of a GPU, with guards around each buffer.
struct Memory {
    stream: Arc<CudaStream>,
    around: Around,
    /// Buffers, each with the address behind its first guard.
    slices: Vec<(u64, CudaSlice<u8>)>,
}

impl<'e> OnGpu<'e> {
    /// At the sizes of a shape. Compiles `source`, of which messages speak as of `file`, launches it once, and compares the
    /// results. An error also if they are wrong.
    pub fn prepare(
        exercise: &'e Exercise,
        file: &str,
        source: &str,
        shape: &Shape,
        stream: &Arc<CudaStream>,
        around: Around,
    ) -> Result<OnGpu<'e>> {
        let check = &exercise.check;
        let memory = || Memory { stream: stream.clone(), around, slices: vec![] };
        let own = OnGpu::of(check, &check.launches, file, source, shape, memory())?;
        let expected = exercise.file("expected");
        let file = expected.display().to_string();
        let text = std::fs::read_to_string(&expected).context(file.clone())?;
        let launches = check.expected.iter().map(|e| {
            let elements = own.buffers.get(&e.result).map_or(0, |b| b.elements());
            of_elements(&e.kernel, elements, &e.arguments)
        });
        let launches: Vec<_> = launches.collect();
        let wanted = OnGpu::of(check, &launches, &file, &text, shape, memory())?;
        own.launch()?;
        wanted.launch()?;
        stream.synchronize()?;
        own.memory.check_guards()?;
        match own.buffers.compare(&own.memory, &wanted.buffers, &wanted.memory)? {
            Some(wrong) => bail!("on the GPU: {wrong}"),
            None => Ok(own),
        }
    }

    fn of(
        check: &'e Check,
        launches: &[Launch],
        file: &str,
        source: &str,
        shape: &Shape,
        mut memory: Memory,
    ) -> Result<OnGpu<'e>> {
        let ptx = Compiler::find()?.compile(file, &Unit::of(source), &check.compute)?;
        let layout = Module::parse(&ptx).context(file.to_owned())?;
        let stream = memory.stream.clone();
        let module = stream.context().load_module(Ptx::from_src(ptx))?;
        let buffers = Buffers::make(&check.buffers, shape, &mut memory)?;
        let launches = launches.iter().map(|launch| {
            let form = Form::of(&layout, launch, shape, &buffers)?;
            let form = form.map_err(|what| anyhow!(what))?;
            Ok((module.load_function(&form.kernel)?, form))
        });
        let launches = launches.collect::<Result<Vec<_>>>()?;
        Ok(OnGpu { stream, memory, buffers, launches })
    }

    pub fn launch(&self) -> Result<()> {
        for (function, form) in &self.launches {
            let Form { grid: [x, y, z], block: [i, j, k], shared_bytes, .. } = *form;
            let mut eights = vec![];
            for bytes in &form.arguments {
                let mut eight = [0; 8];
                eight[..bytes.len()].copy_from_slice(bytes);
                eights.push(u64::from_le_bytes(eight));
            }
            let fours: Vec<_> = eights.iter().map(|eight| *eight as u32).collect();
            let mut launch = self.stream.launch_builder(function);
            for (place, bytes) in form.arguments.iter().enumerate() {
                match bytes.len() {
                    4 => launch.arg(&fours[place]),
                    _ => launch.arg(&eights[place]),
                };
            }
            let config = LaunchConfig {
                grid_dim: (x, y, z),
                block_dim: (i, j, k),
                shared_mem_bytes: shared_bytes,
            };
            // SAFETY: each argument has the size of its parameter. What the kernel does
            // with it is what is tried here, on buffers with guards around them.
            unsafe { launch.launch(config)? };
        }
        Ok(())
    }

    /// Bytes that any solution has to read, and to write.
    pub fn moved_bytes(&self) -> [u64; 2] {
        self.buffers.moved_bytes()
    }

    /// Numbers that were compared.
    pub fn checked(&self) -> u64 {
        self.buffers.checked()
    }
}

impl Memory {
    fn check_guards(&self) -> Result<()> {
        let guard = self.around.bytes();
        if guard == 0 {
            return Ok(());
        }
        for (_, slice) in &self.slices {
            let end = slice.len() - guard;
            for guard in [slice.slice(..guard), slice.slice(end..)] {
                let bytes = self.stream.clone_dtoh(&guard)?;
                self.stream.synchronize()?;
                ensure!(
                    bytes.iter().all(|byte| *byte == GUARD),
                    "on the GPU: the kernel writes beyond a buffer"
                );
            }
        }
        Ok(())
    }

    fn find(&self, address: u64) -> Result<usize> {
        let found = self.slices.iter().position(|(start, _)| *start == address);
        found.context("it was allocated here")
    }
}

impl Device for Memory {
    fn allocate(&mut self, bytes: u64, _name: &str) -> Result<u64> {
        let (bytes, guard) = (bytes as usize, self.around.bytes());
        let slice = match self.around {
            Around::Guards => self.stream.clone_htod(&vec![GUARD; bytes + 2 * guard])?,
            // SAFETY: bytes have no invalid value.
            Around::Nothing => unsafe { self.stream.alloc(bytes)? },
        };
        let address = slice.device_ptr(&self.stream).0 + guard as u64;
        self.slices.push((address, slice));
        Ok(address)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<()> {
        let slice = self.find(address)?;
        let guard = self.around.bytes();
        let mut target = self.slices[slice].1.slice_mut(guard..guard + from.len());
        Ok(self.stream.memcpy_htod(from, &mut target)?)
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<()> {
        let (_, slice) = &self.slices[self.find(address)?];
        let guard = self.around.bytes();
        let source = slice.slice(guard..guard + into.len());
        self.stream.memcpy_dtoh(&source, into)?;
        Ok(self.stream.synchronize()?)
    }

    /// The GPU does not tell.
    fn first_unwritten(&self, _address: u64, _bytes: u64) -> Result<Option<u64>> {
        Ok(None)
    }
}
