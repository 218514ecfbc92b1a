//! Memory in the order of streams, and the pools that it comes from.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUmemPool_attribute_enum as A;
use cudarc::driver::sys::CUresult::*;
use cudarc::driver::sys::{CUmemAccessDesc, CUmemPoolProps};
use streams::pool::{Block, Settings};
use streams::{Pool, Waited};

use crate::answer::{Answer, require};
use crate::call::{In, Location, Out, api};
use crate::driver::Session;
use crate::gpu;
use crate::memory::{Holding, Kind};
use crate::work::Work;

/// The kind of location that is a GPU, and those that are the host or a part of it; and
/// the flags of access: none, or to read and write.
pub(super) const ON_DEVICE: u32 = 1;
pub(super) const ON_HOST: std::ops::RangeInclusive<u32> = 2..=4;
const NO_ACCESS: u32 = 0;
const READ_AND_WRITE: u32 = 3;

impl Session {
    fn allocate_from(&mut self, pool: usize, bytes: usize, stream: usize) -> Answer<u64> {
        let (context, queue) = (self.context()?, self.queue(stream)?);
        if self.is_capturing(queue) {
            return self.refuse(CUDA_ERROR_NOT_SUPPORTED, "allocations in a graph");
        }
        require(bytes > 0, CUDA_ERROR_INVALID_VALUE)?;
        let bytes = bytes as u64;
        let Block { address, after } = match self.take_block(pool, bytes, queue)? {
            Some(block) => block,
            None => {
                self.grow_pool(pool, bytes)?;
                self.take_block(pool, bytes, queue)?.ok_or(CUDA_ERROR_OUT_OF_MEMORY)?
            }
        };
        let gpu = self.pool(pool)?.gpu;
        let call = self.call;
        let name = self.memory.new_name(call);
        let kind = Kind::Pool(pool);
        let make = Work::Make { address, bytes, name: name.clone() };
        self.memory.hold(address, Holding { bytes, kind, gpu, context, name, host: None });
        self.push(queue, make, after);
        self.stray();
        Ok(address)
    }

    fn take_block(&mut self, pool: usize, bytes: u64, queue: u32) -> Answer<Option<Block>> {
        let driver = &mut **self;
        let queues = &driver.queues;
        let pool = driver.pools.get_mut(pool).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let is_done = |ticket| queues.is_done(ticket);
        Ok(pool.take(bytes, queue, is_done, |ticket| queues.is_awaited(queue, ticket)))
    }

    fn grow_pool(&mut self, handle: usize, bytes: u64) -> Answer {
        let pool = self.pools.get(handle).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let gpu = pool.gpu;
        let growth = pool.growth_for(bytes).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
        if self.reserve(gpu, growth).is_err() {
            // All pools give back what they can, first.
            let last = self.queues.last_of_all();
            self.finish(&last);
            let handles: Vec<_> = self.pools.iter().map(|(handle, _)| handle).collect();
            handles.into_iter().for_each(|handle| self.trim_pool(handle, 0));
            self.reserve(gpu, growth)?;
        }
        let start = self.memory.new_addresses(gpu, growth);
        if let Some(pool) = self.pools.get_mut(handle) {
            pool.grow(start, growth);
        }
        Ok(())
    }

    fn free_in_order(&mut self, address: u64, stream: usize) -> Answer {
        let queue = self.queue(stream)?;
        if self.is_capturing(queue) {
            return self.refuse(CUDA_ERROR_NOT_SUPPORTED, "frees in a graph");
        }
        let call = self.call;
        let right = |kind| matches!(kind, Kind::Pool(_) | Kind::Device);
        let holding = self.memory.let_go(address, call, right);
        let holding = self.accept(CUDA_ERROR_INVALID_VALUE, holding)?;
        let (bytes, name) = (holding.bytes, holding.name.clone());
        let freed = self.push(queue, Work::Unmake { address, bytes, name }, vec![]);
        self.give_back(address, &holding, freed);
        self.stray();
        Ok(())
    }

    fn pool(&mut self, pool: usize) -> Answer<&mut Pool> {
        self.pools.get_mut(pool).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    fn pool_attribute(&mut self, pool: usize, attribute: u32, value: *mut c_void) -> Answer {
        let pool = self.pool(pool)?;
        let settings = pool.settings;
        let (most_used, most_reserved) = pool.most_bytes();
        let switches = [
            (A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, settings.follow_events),
            (A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, settings.opportunistic),
            (A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, settings.internal_dependencies),
        ];
        let numbers = [
            (A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, settings.release_threshold),
            (A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, pool.reserved_bytes()),
            (A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, most_reserved),
            (A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT, pool.used_bytes()),
            (A::CU_MEMPOOL_ATTR_USED_MEM_HIGH, most_used),
        ];
        if let Some((_, on)) = switches.iter().find(|(name, _)| *name as u32 == attribute) {
            return Out::new(value).set(c_int::from(*on));
        }
        let number = numbers.iter().find(|(name, _)| *name as u32 == attribute);
        Out::new(value).set(number.ok_or(CUDA_ERROR_INVALID_VALUE)?.1)
    }

    fn set_pool_attribute(&mut self, pool: usize, attribute: u32, value: *const c_void) -> Answer {
        let pool = self.pool(pool)?;
        let is = |name: A| attribute == name as u32;
        let switch = || Ok(In::<c_int>::new(value).get()? != 0);
        let number = || In::<u64>::new(value).get();
        if is(A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES) {
            pool.settings.follow_events = switch()?;
        } else if is(A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC) {
            pool.settings.opportunistic = switch()?;
        } else if is(A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
            pool.settings.internal_dependencies = switch()?;
        } else if is(A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
            pool.settings.release_threshold = number()?;
        } else if is(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH) && number()? == 0 {
            pool.reset_most_used();
        } else if is(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) && number()? == 0 {
            pool.reset_most_reserved();
        } else {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(())
    }
}

/// What is in C's struct of a pool's properties, read without trust in its enums.
#[repr(C)]
#[derive(Clone, Copy)]
struct Properties {
    kind: u32,
    handle_types: u32,
    location: Location,
    security: usize,
    most_bytes: usize,
}
const _: () = assert!(size_of::<Properties>() <= size_of::<CUmemPoolProps>());

/// What is in C's struct of where something is, and who may access it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Access {
    location: Location,
    flags: u32,
}
const _: () = assert!(size_of::<Access>() == size_of::<CUmemAccessDesc>());

api! {
    fn cuMemAllocAsync(session, address: Out<u64>, bytes: usize, stream: usize) {
        address.check()?;
        let queue = session.queue(stream)?;
        let gpu = session.gpu_of(queue)?;
        let pool = session.gpus[gpu].pool;
        address.set(session.allocate_from(pool, bytes, stream)?)?;
    }

    fn cuMemAllocFromPoolAsync(
        session, address: Out<u64>, bytes: usize, pool: usize, stream: usize,
    ) {
        address.check()?;
        session.pool(pool)?;
        address.set(session.allocate_from(pool, bytes, stream)?)?;
    }

    fn cuMemFreeAsync(session, address: u64, stream: usize) {
        session.free_in_order(address, stream)?;
    }

    fn cuDeviceGetDefaultMemPool(session, pool: Out<usize>, device: c_int) {
        let gpu = session.device(device)?;
        pool.set(session.gpus[gpu].default_pool)?;
    }

    fn cuDeviceGetMemPool(session, pool: Out<usize>, device: c_int) {
        let gpu = session.device(device)?;
        pool.set(session.gpus[gpu].pool)?;
    }

    fn cuDeviceSetMemPool(session, device: c_int, pool: usize) {
        let gpu = session.device(device)?;
        require(session.pool(pool)?.gpu == gpu, CUDA_ERROR_INVALID_VALUE)?;
        session.gpus[gpu].pool = pool;
    }

    fn cuMemPoolCreate(session, place: Out<usize>, properties: In<Properties>) {
        place.check()?;
        let wanted = properties.get()?;
        let gpu = session.device(wanted.location.id)?;
        require(wanted.kind == 1 && wanted.location.kind == ON_DEVICE, CUDA_ERROR_INVALID_VALUE)?;
        if wanted.handle_types != 0 || wanted.security != 0 {
            return session.refuse(CUDA_ERROR_NOT_SUPPORTED, "pools for other processes");
        }
        let most_bytes = wanted.most_bytes as u64;
        let settings = Settings { most_bytes, ..Settings::default() };
        place.set(session.pools.insert(Pool::new(gpu, settings)))?;
    }

    fn cuMemPoolDestroy(session, pool: usize) {
        let gpu = session.pool(pool)?.gpu;
        require(session.gpus[gpu].default_pool != pool, CUDA_ERROR_INVALID_VALUE)?;
        if session.gpus[gpu].pool == pool {
            session.gpus[gpu].pool = session.gpus[gpu].default_pool;
        }
        // Blocks in use stay valid until they are freed.
        let last = session.queues.last_of_all();
        session.finish(&last);
        session.recorder.waited(Waited::All);
        session.pool(pool)?.settings.release_threshold = 0;
        session.trim_pool(pool, 0);
        if session.pool(pool)?.used_bytes() == 0 {
            session.pools.remove(pool);
        }
    }

    fn cuMemPoolTrimTo(session, pool: usize, keep: usize) {
        session.pool(pool)?;
        session.trim_pool(pool, keep as u64);
    }

    fn cuMemPoolGetAttribute(session, pool: usize, attribute: c_uint, value: *mut c_void) {
        session.pool_attribute(pool, attribute, value)?;
    }

    fn cuMemPoolSetAttribute(session, pool: usize, attribute: c_uint, value: *const c_void) {
        session.set_pool_attribute(pool, attribute, value)?;
    }

    fn cuMemPoolSetAccess(session, pool: usize, list: In<Access>, count: usize) {
        for index in 0..count {
            let Access { location, flags } = list.at(index)?;
            let gpu = session.device(location.id)?;
            let pool = session.pool(pool)?;
            require(gpu == pool.gpu || gpu::can_access_peers(), CUDA_ERROR_INVALID_VALUE)?;
            match (location.kind, flags) {
                (ON_DEVICE, READ_AND_WRITE) => _ = pool.accessible_to.insert(gpu),
                (ON_DEVICE, NO_ACCESS) if gpu != pool.gpu => _ = pool.accessible_to.remove(&gpu),
                _ => return Err(CUDA_ERROR_INVALID_VALUE),
            }
        }
    }

    fn cuMemPoolGetAccess(session, flags: Out<c_uint>, pool: usize, place: In<Location>) {
        let Location { kind, id } = place.get()?;
        if ON_HOST.contains(&kind) {
            session.pool(pool)?;
            return flags.set(NO_ACCESS);
        }
        let gpu = session.device(id)?;
        require(kind == ON_DEVICE, CUDA_ERROR_INVALID_VALUE)?;
        let pool = session.pool(pool)?;
        let access = gpu == pool.gpu || pool.accessible_to.contains(&gpu);
        flags.set(if access { READ_AND_WRITE } else { NO_ACCESS })?;
    }
}
