//! What several tests need: memory with buffers of words, and launches on it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use emulator::{Arguments, Counts, Fault, HostMemory, Launch, Memory, Module, Options, run};

/// Word i of most inputs: all different.
pub fn word(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761)
}

/// A module with memory of its own.
pub struct Device {
    pub module: Module,
    pub memory: Memory,
    pub options: Options,
}

impl Device {
    pub fn workbook(name: &str) -> Self {
        Self::at(&format!("../ptx/{name}.ptx"))
    }

    pub fn tests(name: &str) -> Self {
        Self::at(&format!("tests/kernels/{name}.ptx"))
    }

    fn at(path: &str) -> Self {
        let folder = env!("CARGO_MANIFEST_DIR");
        Self::of(&std::fs::read_to_string(format!("{folder}/{path}")).unwrap())
    }

    pub fn of(ptx: &str) -> Self {
        let mut module = Module::parse(ptx).unwrap();
        let mut memory = Memory::new(1 << 32);
        module.place(&mut memory).unwrap();
        Self { module, memory, options: Options::default() }
    }

    /// A buffer that holds `words`.
    pub fn words(&mut self, name: &str, words: impl Iterator<Item = u32>) -> u64 {
        let bytes = words.flat_map(u32::to_le_bytes).collect::<Vec<_>>();
        let address = self.memory.allocate(bytes.len() as u64, name).unwrap();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    /// A buffer that nothing was written to.
    pub fn fresh(&mut self, name: &str, words: usize) -> u64 {
        self.memory.allocate(4 * words as u64, name).unwrap()
    }

    pub fn read(&self, address: u64, words: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * words];
        self.memory.read(address, &mut bytes).unwrap();
        let words = bytes.as_chunks::<4>().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// What is in all buffers, and up to where that was written.
    pub fn content(&self) -> Vec<(Vec<u8>, Option<u64>)> {
        let content = self.memory.buffers().map(|buffer| {
            let mut bytes = vec![0; buffer.bytes as usize];
            self.memory.read(buffer.address, &mut bytes).unwrap();
            let unwritten = self.memory.first_unwritten(buffer.address, buffer.bytes);
            (bytes, unwritten.unwrap())
        });
        content.collect()
    }

    pub fn run(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &Arguments,
    ) -> Result<Counts, Box<Fault>> {
        let launch = Launch::new(grid, block, arguments.bytes());
        run(&self.module, kernel, &launch, &mut self.memory, &self.options)
    }
}

/// Memory of the host: its bytes, and the offset of each access to it.
#[derive(Clone, Debug)]
pub struct Host(pub Arc<Mutex<(Vec<u8>, Vec<u64>)>>);

impl Host {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new((vec![0; bytes], Vec::new()))))
    }
}

impl HostMemory for Host {
    fn bytes(&self) -> u64 {
        self.0.lock().unwrap().0.len() as u64
    }

    fn read(&self, offset: u64, into: &mut [u8]) {
        let mut host = self.0.lock().unwrap();
        host.1.push(offset);
        into.copy_from_slice(&host.0[offset as usize..][..into.len()]);
    }

    fn write(&mut self, offset: u64, from: &[u8]) {
        let mut host = self.0.lock().unwrap();
        host.1.push(offset);
        host.0[offset as usize..][..from.len()].copy_from_slice(from);
    }
}

/// Builds [`Arguments`]: `arguments![u64 address, u32 5]`.
macro_rules! arguments {
    ($($type:ident $value:expr),* $(,)?) => {
        emulator::Arguments::new()$(.with(<$type>::to_le_bytes($value as $type)))*
    };
}
