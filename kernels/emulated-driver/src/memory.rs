//! What memory a program holds, and what is in it.
//!
//! The two are apart in time. Allocations and frees take effect for the program when it
//! calls, so that a wrong pointer is found in the call that passes it. What is in device
//! memory comes and goes when the stream gets there.

use std::collections::BTreeMap;

use emulator::{Addresses, Freed, MemoryError};

use crate::gpu;
use crate::host::HostRange;

/// How far behind one GPU's memory the next one's lies, and where there is none: Linux places
/// nothing of a process before that.
const ADDRESSES_OF_A_GPU: u64 = 1 << 40;
const LAST_ADDRESS: u64 = 0x2000_0000_0000;
/// Where the emulator itself may place the variables of modules.
const VARIABLES: u64 = 0x1f00_0000_0000;

#[derive(Debug)]
pub(crate) struct Holding {
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) gpu: usize,
    /// Handle of the context it was got in.
    pub(crate) context: usize,
    /// What errors call it.
    pub(crate) name: String,
    pub(crate) host: Option<HostRange>,
}

/// How memory was got, which decides how it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cuMemAlloc`.
    Device,
    Variable,
    /// Out of the pool with this handle.
    Pool(usize),
    /// `cuMemAllocManaged`.
    Managed,
    /// `cuMemHostAlloc`.
    Pinned,
    /// The program's own, since `cuMemHostRegister`.
    Registered,
}

/// Where a pointer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Device(usize),
    /// Memory of the host's that the driver knows: pinned, registered or managed.
    Host,
    /// Memory of the host's that the driver does not know.
    Pageable,
}

/// All memory of the process.
pub(crate) struct Memory {
    held: BTreeMap<u64, Holding>,
    /// What was freed lately, and by which call.
    freed: Freed,
    pub(crate) content: emulator::Memory,
    addresses: Vec<Addresses>,
    named: u64,
}

impl Memory {
    pub(crate) fn new(gpus: usize) -> Memory {
        let of = |gpu| Addresses::from(Addresses::FIRST + gpu as u64 * ADDRESSES_OF_A_GPU);
        let capacity = (gpus * gpu::memory_bytes()) as u64;
        Memory {
            held: BTreeMap::new(),
            freed: Freed::default(),
            content: emulator::Memory::with_first_address(capacity, VARIABLES),
            addresses: (0..gpus).map(of).collect(),
            named: 0,
        }
    }

    /// Addresses on a GPU that were never given out.
    pub(crate) fn new_addresses(&mut self, gpu: usize, bytes: u64) -> u64 {
        self.addresses[gpu].take(bytes)
    }

    /// A name for an allocation: what errors call it.
    pub(crate) fn new_name(&mut self, call: &str) -> String {
        self.named += 1;
        format!("buffer {} of {call}", self.named)
    }

    /// The program holds this from now on.
    pub(crate) fn hold(&mut self, address: u64, holding: Holding) {
        self.freed.forget(address, holding.bytes);
        self.held.insert(address, holding);
    }

    /// The program holds this no longer. The error says what is wrong with the address.
    pub(crate) fn let_go(
        &mut self,
        address: u64,
        call: &'static str,
        right: impl Fn(Kind) -> bool,
    ) -> Result<Holding, String> {
        match self.held.get(&address) {
            Some(holding) if right(holding.kind) => {}
            Some(holding) => {
                return Err(format!("{} is not freed by this call", holding.name));
            }
            None => return Err(self.nobodys(address)),
        }
        let Some(holding) = self.held.remove(&address) else {
            return Err(String::new());
        };
        let said = format!("{}, which {call} has freed", holding.name);
        self.freed.remember(address, holding.bytes, said);
        Ok(holding)
    }

    /// The holding that starts here.
    pub(crate) fn starting_at(&self, address: u64) -> Option<&Holding> {
        self.held.get(&address)
    }

    /// The holding that an address lies in, and where that starts.
    pub(crate) fn around(&self, address: u64) -> Option<(u64, &Holding)> {
        let (start, holding) = self.held.range(..=address).next_back()?;
        (address - start < holding.bytes).then_some((*start, holding))
    }

    /// Addresses and sizes of managed memory.
    pub(crate) fn managed(&self) -> impl Iterator<Item = (u64, u64)> {
        let managed = self.held.iter().filter(|(_, h)| h.kind == Kind::Managed);
        managed.map(|(address, holding)| (*address, holding.bytes))
    }

    /// The addresses of all holdings of a context.
    pub(crate) fn of_context(&self, context: usize) -> Vec<u64> {
        let own = self.held.iter().filter(|(_, holding)| holding.context == context);
        own.map(|(address, _)| *address).collect()
    }

    /// Whether some memory of the host's in this range is known already.
    pub(crate) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let before = self.held.range(..address.saturating_add(bytes)).next_back();
        before.is_some_and(|(start, holding)| start + holding.bytes > address)
    }

    /// Where a range of bytes lies. The error says what is wrong with it.
    pub(crate) fn locate(&self, address: u64, bytes: u64) -> Result<Where, String> {
        if let Some((start, holding)) = self.around(address) {
            let left = holding.bytes - (address - start);
            if bytes > left {
                let (beyond, name) = (bytes - left, &holding.name);
                let lie = if beyond == 1 { "lies" } else { "lie" };
                return Err(format!(
                    "of {bytes} bytes from {address:#x} on, {beyond} {lie} past the end of \
                     {name}, which has {}",
                    holding.bytes
                ));
            }
            return Ok(match holding.kind {
                Kind::Device | Kind::Variable | Kind::Pool(_) => Where::Device(holding.gpu),
                Kind::Managed | Kind::Pinned | Kind::Registered => Where::Host,
            });
        }
        if address == 0 {
            return Err("the pointer is null".to_owned());
        }
        if (Addresses::FIRST..LAST_ADDRESS).contains(&address) {
            return Err(self.nobodys(address));
        }
        Ok(Where::Pageable)
    }

    /// Why an address is nobody's.
    pub(crate) fn nobodys(&self, address: u64) -> String {
        match self.freed.at(address) {
            Some(freed) => format!("{address:#x} was in {freed}"),
            None => format!("{address:#x} lies in no memory that the program holds"),
        }
    }

    /// The memory that a number would lead to if it were a pointer: whose GPU's, and what
    /// it is called.
    pub(crate) fn device_behind(&self, number: u64) -> Option<(usize, &str)> {
        let (_, holding) = self.around(number)?;
        let on_device = holding.host.is_none();
        on_device.then_some((holding.gpu, holding.name.as_str()))
    }

    /// Device memory comes into being, when its stream gets there.
    pub(crate) fn make(&mut self, address: u64, bytes: u64, name: &str) -> Result<(), MemoryError> {
        self.content.allocate_at(address, bytes, name)
    }

    /// What was in this memory is gone.
    pub(crate) fn unmake(&mut self, address: u64) -> Result<(), MemoryError> {
        self.content.free(address)
    }

    /// Lets kernels reach memory of the host's.
    pub(crate) fn map(&mut self, host: &HostRange, name: &str) -> Result<(), MemoryError> {
        self.content.map_host(host.start() as u64, host.mapping(), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory_with(address: u64, bytes: u64) -> Memory {
        let mut memory = Memory::new(2);
        let name = memory.new_name("cuMemAlloc");
        let holding = Holding { bytes, kind: Kind::Device, gpu: 1, context: 7, name, host: None };
        memory.hold(address, holding);
        memory
    }

    #[test]
    fn a_range_is_located_or_the_mistake_is_told() {
        let start = Addresses::FIRST + 512;
        let memory = memory_with(start, 100);
        assert_eq!(memory.locate(start + 4, 96), Ok(Where::Device(1)));
        let beyond = memory.locate(start + 4, 97).unwrap_err();
        assert!(
            beyond.ends_with("on, 1 lies past the end of buffer 1 of cuMemAlloc, which has 100"),
            "{beyond}"
        );
        let beyond = memory.locate(start + 4, 98).unwrap_err();
        assert!(beyond.contains("on, 2 lie past the end of"), "{beyond}");
        assert!(memory.locate(start + 100, 1).is_err());
        assert!(memory.locate(0, 1).is_err());
        assert!(memory.locate(start, u64::MAX).is_err());
        assert_eq!(memory.locate(0x5555_0000_0000, 1), Ok(Where::Pageable));
    }

    #[test]
    fn a_second_free_names_the_first() {
        let start = Addresses::FIRST + 512;
        let mut memory = memory_with(start, 100);
        memory.let_go(start, "cuMemFree", |kind| kind == Kind::Device).unwrap();
        let again = memory.let_go(start, "cuMemFree", |_| true).unwrap_err();
        assert!(again.ends_with("which cuMemFree has freed"), "{again}");
        assert!(memory.locate(start + 99, 1).unwrap_err().contains("has freed"));
    }

    #[test]
    fn gpus_never_share_an_address() {
        let mut memory = Memory::new(2);
        let [first, second] = [0, 0].map(|gpu| memory.new_addresses(gpu, 100));
        assert!(first < second);
        assert_eq!(memory.new_addresses(1, 1), first + ADDRESSES_OF_A_GPU);
    }
}
