//! Memory that is allocated and freed at once: on the GPU, on the host, and managed.

use std::ffi::c_uint;

use cudarc::driver::sys::CUresult::*;
use streams::{Ticket, Waited};

use super::pool::{ON_DEVICE, ON_HOST};
use crate::answer::{Answer, require};
use crate::call::{Location, Out, api};
use crate::driver::Session;
use crate::faults;
use crate::gpu;
use crate::host::{self, HostRange};
use crate::memory::{Holding, Kind};
use crate::work::Work;

/// Flags of `cuMemHostAlloc` and `cuMemHostRegister` that mean something here: portable,
/// mapped, and write-combined or in I/O memory.
const HOST_FLAGS: c_uint = 0b111;

/// Rows of pitched memory start at multiples of it.
const PITCH: usize = 512;

impl Session {
    /// Memory of the GPU that the current context has.
    fn allocate(&mut self, bytes: usize) -> Answer<u64> {
        let (context, gpu, bytes) = (self.context()?, self.gpu()?, bytes as u64);
        require(bytes > 0, CUDA_ERROR_INVALID_VALUE)?;
        self.reserve(gpu, bytes)?;
        let call = self.call;
        let name = self.memory.new_name(call);
        let address = self.memory.new_addresses(gpu, bytes);
        if let Err(e) = self.memory.make(address, bytes, &name) {
            return self.refuse(CUDA_ERROR_UNKNOWN, &e.to_string());
        }
        let holding = Holding { bytes, kind: Kind::Device, gpu, context, name, host: None };
        self.memory.hold(address, holding);
        Ok(address)
    }

    /// Memory of the host's that kernels can reach at its own address.
    fn allocate_host(&mut self, bytes: usize, kind: Kind) -> Answer<u64> {
        self.context()?;
        require((1..=isize::MAX as usize / 2).contains(&bytes), CUDA_ERROR_INVALID_VALUE)?;
        let host = HostRange::allocate(bytes).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
        self.hold_host(host, bytes, kind)
    }

    fn hold_host(&mut self, host: HostRange, bytes: usize, kind: Kind) -> Answer<u64> {
        let (context, gpu, bytes) = (self.context()?, self.gpu()?, bytes as u64);
        let call = self.call;
        let name = self.memory.new_name(call);
        if let Err(e) = self.memory.map(&host, &name) {
            return self.refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, &e.to_string());
        }
        let address = host.start() as u64;
        if kind == Kind::Managed {
            self.recorder.managed(address, bytes);
        }
        let holding = Holding { bytes, kind, gpu, context, name, host: Some(host) };
        self.memory.hold(address, holding);
        Ok(address)
    }

    /// Frees what `right` says may be freed here, when all work is done, as the real calls
    /// do; but memory of a pool at once, once it is there: for that they promise no wait.
    /// `code` answers for what cannot be freed.
    fn free(
        &mut self,
        address: u64,
        code: cudarc::driver::sys::CUresult,
        right: impl Fn(Kind) -> bool,
    ) -> Answer {
        let context = self.context()?;
        let last = self.queues.last_of_all();
        if let Some(holding) = self.memory.starting_at(address)
            && right(holding.kind)
        {
            let is_of_pool = matches!(holding.kind, Kind::Pool(_));
            if is_of_pool {
                let made = self.queues.waiting(|work| work.makes(address));
                self.finish(made.as_slice());
            } else {
                if !last.is_empty() {
                    faults::spoil(holding, address);
                    self.finish(&last);
                }
                self.recorder.waited(Waited::All);
            }
        }
        let freed = self.free_now(address, right);
        self.accept(code, freed)?;
        self.failure_in(context)
    }

    /// Frees memory that no work uses any more. The error says what is wrong with the
    /// address.
    pub(crate) fn free_now(
        &mut self,
        address: u64,
        right: impl Fn(Kind) -> bool,
    ) -> Result<(), String> {
        let call = self.call;
        let holding = self.memory.let_go(address, call, right)?;
        // It is there, unless the context's work has failed before it was made.
        let _ = self.memory.unmake(address);
        self.give_back(address, &holding, Ticket::DONE);
        Ok(())
    }

    /// Gives memory back to its pool or its GPU. It can be used again after `freed`.
    pub(crate) fn give_back(&mut self, address: u64, holding: &Holding, freed: Ticket) {
        match holding.kind {
            Kind::Device => self.gpus[holding.gpu].used_bytes -= holding.bytes,
            Kind::Pool(pool) => {
                if let Some(pool) = self.pools.get_mut(pool) {
                    pool.give_back(address, freed);
                }
            }
            Kind::Variable | Kind::Managed | Kind::Pinned | Kind::Registered => {}
        }
    }

    /// An error unless all of the range is managed memory.
    fn check_managed(&self, address: u64, bytes: usize) -> Answer {
        let managed = self.memory.around(address).is_some_and(|(_, h)| h.kind == Kind::Managed);
        let place = self.memory.locate(address, bytes as u64);
        self.accept(CUDA_ERROR_INVALID_VALUE, place)?;
        require(managed, CUDA_ERROR_INVALID_VALUE)
    }
}

fn managed_or_device(kind: Kind) -> bool {
    matches!(kind, Kind::Device | Kind::Pool(_) | Kind::Managed)
}

api! {
    fn cuMemGetInfo_v2(session, free: Out<usize>, total: Out<usize>) {
        let gpu = session.gpu()?;
        free.set(gpu::memory_bytes() - session.gpus[gpu].used_bytes as usize)?;
        total.set(gpu::memory_bytes())?;
    }

    fn cuMemAlloc_v2(session, address: Out<u64>, bytes: usize) {
        address.check()?;
        address.set(session.allocate(bytes)?)?;
    }

    fn cuMemFree_v2(session, address: u64) {
        if address != 0 {
            session.free(address, CUDA_ERROR_INVALID_VALUE, managed_or_device)?;
        }
    }

    fn cuMemAllocManaged(session, address: Out<u64>, bytes: usize, flags: c_uint) {
        address.check()?;
        require((1..=2).contains(&flags), CUDA_ERROR_INVALID_VALUE)?;
        address.set(session.allocate_host(bytes, Kind::Managed)?)?;
    }

    fn cuMemHostAlloc(session, address: Out<u64>, bytes: usize, flags: c_uint) {
        address.check()?;
        require(flags & !HOST_FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        address.set(session.allocate_host(bytes, Kind::Pinned)?)?;
    }

    fn cuMemAllocHost_v2(session, address: Out<u64>, bytes: usize) {
        address.check()?;
        address.set(session.allocate_host(bytes, Kind::Pinned)?)?;
    }

    /// Rows that each start at a multiple of what suits textures.
    fn cuMemAllocPitch_v2(
        session, address: Out<u64>, pitch: Out<usize>, width: usize, height: usize,
        element: c_uint,
    ) {
        address.check()?;
        pitch.check()?;
        require(matches!(element, 4 | 8 | 16), CUDA_ERROR_INVALID_VALUE)?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        address.set(session.allocate(bytes)?)?;
        pitch.set(row)?;
    }

    fn cuMemGetAddressRange_v2(
        session, start: Out<u64>, bytes: Out<usize>, address: u64,
    ) {
        session.context()?;
        let (first, holding) = session.memory.around(address).ok_or(CUDA_ERROR_NOT_FOUND)?;
        start.set_if_wanted(first)?;
        bytes.set_if_wanted(holding.bytes as usize)?;
    }

    fn cuMemFreeHost(session, address: u64) {
        session.free(address, CUDA_ERROR_INVALID_VALUE, |kind| kind == Kind::Pinned)?;
    }

    fn cuMemHostRegister_v2(session, address: usize, bytes: usize, flags: c_uint) {
        session.context()?;
        let is_range = address != 0 && bytes != 0 && address.checked_add(bytes).is_some();
        require(is_range && flags <= 15, CUDA_ERROR_INVALID_VALUE)?;
        if !host::is_mapped(address, bytes) {
            let why = format!("the program does not have {bytes} bytes at {address:#x}");
            return session.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        let is_new = !session.memory.overlaps(address as u64, bytes as u64);
        require(is_new, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)?;
        let host = HostRange::of_program(address, bytes);
        session.hold_host(host, bytes, Kind::Registered)?;
    }

    fn cuMemHostUnregister(session, address: u64) {
        let code = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
        session.free(address, code, |kind| kind == Kind::Registered)?;
    }

    /// Kernels reach the host's memory at the address that it has there.
    fn cuMemHostGetDevicePointer_v2(
        session, place: Out<u64>, address: u64, flags: c_uint,
    ) {
        session.context()?;
        let known = session.memory.around(address).is_some_and(|(_, h)| h.host.is_some());
        require(known && flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        place.set(address)?;
    }

    fn cuMemPrefetchAsync_v2(
        session, address: u64, bytes: usize, place: Location,
        _flags: c_uint, stream: usize,
    ) {
        session.check_managed(address, bytes)?;
        let to = match place.kind {
            ON_DEVICE => Some(session.device(place.id)?),
            kind if ON_HOST.contains(&kind) => None,
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        let queue = session.queue(stream)?;
        let bytes = bytes as u64;
        session.enqueue(queue, Work::Prefetch { address, bytes, to })?;
    }

    /// Advice is taken and changes nothing.
    fn cuMemAdvise_v2(
        session, address: u64, bytes: usize, _advice: c_uint, _place: Location,
    ) {
        session.context()?;
        session.check_managed(address, bytes)?;
    }
}
