//! Memory pools, by cudarc.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::ffi::c_void;

use common::{add, code, context, hold, module, streams};
use cudarc::driver::{CudaContext, CudaStream, result, sys};
use result::mem_pool;
use sys::CUmemPool_attribute as Attribute;
use sys::CUresult::*;

const MIB: usize = 1 << 20;

fn new_pool(context: &CudaContext, most_bytes: usize) -> sys::CUmemoryPool {
    // SAFETY: zeros are a valid value of every field.
    let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = context.ordinal() as i32;
    properties.maxSize = most_bytes;
    // SAFETY: the properties are valid.
    unsafe { mem_pool::create(&raw const properties) }.unwrap()
}

fn attribute(pool: sys::CUmemoryPool, which: Attribute) -> u64 {
    let mut value = 0u64;
    let place = (&raw mut value).cast::<c_void>();
    // SAFETY: the value has 64 bits, as the attributes of this test.
    unsafe { mem_pool::get_attribute(pool, which, place) }.unwrap();
    value
}

fn set(pool: sys::CUmemoryPool, which: Attribute, mut value: u64) {
    let place = (&raw mut value).cast::<c_void>();
    // SAFETY: as above.
    unsafe { mem_pool::set_attribute(pool, which, place) }.unwrap();
}

fn take(pool: sys::CUmemoryPool, bytes: usize, stream: &CudaStream) -> u64 {
    // SAFETY: the tests free it.
    unsafe { mem_pool::alloc_async(pool, bytes, stream.cu_stream()) }.unwrap()
}

fn give(address: u64, stream: &CudaStream) {
    // SAFETY: the tests give each address back once.
    unsafe { result::free_async(address, stream.cu_stream()) }.unwrap();
}

#[test]
fn memory_stays_in_the_pool_until_somebody_synchronises() {
    let context = context(0);
    let stream = context.new_stream().unwrap();
    let pool = new_pool(&context, 0);
    let used = || attribute(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    let reserved = || attribute(pool, Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);

    let first = take(pool, 3 * MIB, &stream);
    assert_eq!((used(), reserved()), (3 << 20, 4 << 20));
    give(first, &stream);
    assert_eq!((used(), reserved()), (0, 4 << 20));
    assert_eq!(take(pool, 3 * MIB, &stream), first, "the same stream, the same memory");
    give(first, &stream);
    stream.synchronize().unwrap();
    assert_eq!(reserved(), 0, "no threshold, so nothing is kept");

    set(pool, Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX);
    give(take(pool, 3 * MIB, &stream), &stream);
    stream.synchronize().unwrap();
    assert_eq!(reserved(), 4 << 20);
    // SAFETY: the pool is there.
    unsafe { mem_pool::trim_to(pool, 0) }.unwrap();
    assert_eq!(reserved(), 0);
    let most = attribute(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    assert_eq!(most, 3 << 20);
    // SAFETY: nothing is left in it.
    unsafe { mem_pool::destroy(pool) }.unwrap();
}

#[test]
fn a_pool_keeps_its_limit() {
    let context = context(1);
    let stream = context.new_stream().unwrap();
    let pool = new_pool(&context, 4 * MIB);
    let address = take(pool, 3 * MIB, &stream);
    // SAFETY: nothing uses the memory.
    let more = unsafe { mem_pool::alloc_async(pool, 2 * MIB, stream.cu_stream()) };
    assert_eq!(code(more), CUDA_ERROR_OUT_OF_MEMORY);
    give(address, &stream);
    assert_eq!(take(pool, 4 * MIB, &stream), address);
    give(address, &stream);
}

#[test]
fn another_stream_waits_for_the_memory_that_it_is_given() {
    let context = context(2);
    let [first, second] = streams(&context);
    let pool = new_pool(&context, 2 * MIB);
    let address = take(pool, 2 * MIB, &first);
    // SAFETY: the memory has as many bytes.
    unsafe { result::memset_d8_async(address, 1, 2 * MIB, first.cu_stream()) }.unwrap();
    give(address, &first);
    let again = take(pool, 2 * MIB, &second);
    assert_eq!(again, address);
    second.synchronize().unwrap(); // without the driver's wait, memory would be there twice
    give(again, &second);
    second.synchronize().unwrap();
}

#[test]
fn a_use_after_a_free_is_found() {
    let context = context(3);
    let stream = context.new_stream().unwrap();
    let pool = new_pool(&context, 0);
    let address = take(pool, 100, &stream);
    give(address, &stream);
    // SAFETY: the driver checks what the test does on purpose.
    unsafe {
        let raw = stream.cu_stream();
        assert_eq!(code(result::free_async(address, raw)), CUDA_ERROR_INVALID_VALUE);
        let fill = result::memset_d8_async(address, 0, 1, raw);
        assert_eq!(code(fill), CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn a_use_before_the_allocation_in_another_stream_is_found() {
    let context = context(4);
    let [first, second] = streams(&context);
    let pool = new_pool(&context, 0);
    let opener = hold(&first); // or the allocation may come first by chance
    let address = take(pool, 100, &first);
    // SAFETY: the driver checks what the test does on purpose.
    unsafe { result::memset_d8_async(address, 0, 1, second.cu_stream()) }.unwrap();
    assert_eq!(code(second.synchronize()), CUDA_ERROR_ILLEGAL_ADDRESS);
    opener.send(()).unwrap();
    assert_eq!(code(context.synchronize()), CUDA_ERROR_ILLEGAL_ADDRESS, "for good");
}

#[test]
fn freeing_memory_of_a_pool_waits_for_nothing() {
    let context = context(7);
    let (stream, kernels) = (context.new_stream().unwrap(), module(&context));
    let pool = new_pool(&context, 0);
    let words = || {
        let address = take(pool, 400, &stream);
        // SAFETY: the memory is that of 100 words, which nobody else frees.
        unsafe { stream.upgrade_device_ptr::<u32>(address, 100) }
    };
    for waits in [true, false] {
        let mut data = words();
        stream.memset_zeros(&mut data).unwrap();
        add(&stream, &kernels, &mut data, 1).unwrap();
        if waits {
            stream.synchronize().unwrap();
        }
        // SAFETY: it is freed once, and too early if the stream has work left.
        unsafe { result::free_sync(data.leak()) }.unwrap();
        let ended = stream.synchronize();
        if waits { ended.unwrap() } else { assert_eq!(code(ended), CUDA_ERROR_ILLEGAL_ADDRESS) }
    }
}
