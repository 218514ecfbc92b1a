//! Memory, by cudarc: allocations, copies, fills, and the mistakes that they find.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use common::{batch, code, context, pinned};
use cudarc::driver::{result, sys};
use sys::CUresult::*;

#[test]
fn bytes_go_there_and_back() {
    let context = context(0);
    let stream = context.new_stream().unwrap();
    let words: Vec<u32> = (0..10_007).collect();
    let mut device = stream.clone_htod(&words).unwrap();
    assert_eq!(stream.clone_dtoh(&device).unwrap(), words);
    let copy = stream.clone_dtod(&device.slice(7..)).unwrap();
    assert_eq!(stream.clone_dtoh(&copy).unwrap(), words[7..]);
    stream.memset_zeros(&mut device.slice_mut(1..10_006)).unwrap();
    let got = stream.clone_dtoh(&device).unwrap();
    assert_eq!((got[0], got[10_006]), (0, 10_006));
    assert!(got[1..10_006].iter().all(|word| *word == 0));
}

#[test]
fn memory_is_counted_and_runs_out() {
    let context = context(1);
    let (free, total) = context.mem_get_info().unwrap();
    assert_eq!((free, total), (64 << 20, 64 << 20));
    // SAFETY: the addresses are only freed.
    unsafe {
        let address = result::malloc_sync(40 << 20).unwrap();
        assert_eq!(context.mem_get_info().unwrap().0, 24 << 20);
        assert_eq!(code(result::malloc_sync(25 << 20)), CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(code(result::malloc_sync(usize::MAX)), CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(code(result::malloc_sync(0)), CUDA_ERROR_INVALID_VALUE);
        result::free_sync(address).unwrap();
    }
    assert_eq!(context.mem_get_info().unwrap().0, total);
    let stream = context.new_stream().unwrap();
    // SAFETY: nothing reads it.
    let too_much = unsafe { stream.alloc::<u8>(65 << 20) };
    assert_eq!(code(too_much), CUDA_ERROR_OUT_OF_MEMORY);
}

#[test]
fn wrong_pointers_are_found_when_they_are_passed() {
    let context = context(2);
    let stream = context.new_stream().unwrap();
    let (mut host, raw) = ([0u8; 256], stream.cu_stream());
    // SAFETY: the driver checks what the test does on purpose.
    unsafe {
        let address = result::malloc_sync(100).unwrap();
        result::memcpy_htod_async(address, &host[..100], raw).unwrap();
        let too_long = result::memcpy_htod_async(address + 1, &host[..100], raw);
        assert_eq!(code(too_long), CUDA_ERROR_INVALID_VALUE);
        let too_long = result::memcpy_dtoh_async(&mut host[..101], address, raw);
        assert_eq!(code(too_long), CUDA_ERROR_INVALID_VALUE);
        let too_long = result::memset_d8_async(address, 0, 101, raw);
        assert_eq!(code(too_long), CUDA_ERROR_INVALID_VALUE);
        let of_host = result::memset_d8_async(host.as_ptr() as u64, 0, 1, raw);
        assert_eq!(code(of_host), CUDA_ERROR_INVALID_VALUE);

        assert_eq!(code(result::free_sync(address + 1)), CUDA_ERROR_INVALID_VALUE);
        result::free_sync(address).unwrap();
        assert_eq!(code(result::free_sync(address)), CUDA_ERROR_INVALID_VALUE);
        let gone = result::memcpy_dtoh_async(&mut host[..1], address, raw);
        assert_eq!(code(gone), CUDA_ERROR_INVALID_VALUE);
        let null = result::memcpy_dtoh_async(&mut host[..1], 0, raw);
        assert_eq!(code(null), CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn pinned_memory_is_read_when_the_stream_gets_there() {
    let context = context(3);
    let stream = context.new_stream().unwrap();
    let mut device = stream.alloc_zeros::<u32>(2).unwrap();
    let mut pinned = pinned(&context, &[1, 2]);
    let words = pinned.as_mut_slice().unwrap();
    stream.memcpy_htod(words, &mut device).unwrap();
    words[0] = 7; // too early, and seen
    assert_eq!(stream.clone_dtoh(&device).unwrap(), [7, 2]);

    let mut pageable = [1, 2];
    stream.memcpy_htod(&pageable, &mut device).unwrap();
    pageable[0] = 7; // the driver has taken the words in the call
    assert_eq!(stream.clone_dtoh(&device).unwrap(), [1, 2]);

    // And back: to pinned memory when somebody waits, to pageable memory in the call.
    stream.memcpy_dtoh(&device, words).unwrap();
    assert_eq!(words, [7, 2]);
    stream.memcpy_dtoh(&device, &mut pageable).unwrap();
    assert_eq!(pageable, [1, 2]);
    stream.synchronize().unwrap();
    assert_eq!(words, [1, 2]);

    // Between two memories of the host's, a pageable one ends the copy in the call, too.
    let pageable = [9, 2];
    let (to, from) = (words.as_mut_ptr() as u64, pageable.as_ptr() as u64);
    // SAFETY: both are as long, and nobody else uses them.
    let answer = unsafe { sys::cuMemcpyAsync(to, from, 8, stream.cu_stream()) };
    answer.result().unwrap();
    assert_eq!(words, [9, 2]);
}

#[test]
fn registered_memory_is_known_until_it_is_unregistered() {
    let context = context(4);
    let stream = context.new_stream().unwrap();
    let mut words = vec![5u32; 4096];
    let start = words.as_mut_ptr().cast();
    // SAFETY: the vector outlives its registration.
    unsafe {
        sys::cuMemHostRegister_v2(start, 16_384, 0).result().unwrap();
        let again = sys::cuMemHostRegister_v2(start, 4, 0).result();
        assert_eq!(code(again), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    let mut device = stream.alloc_zeros::<u32>(4096).unwrap();
    stream.memcpy_htod(&words, &mut device).unwrap();
    words[4095] = 6; // seen, because the memory is pinned now
    assert_eq!(stream.clone_dtoh(&device).unwrap()[4094..], [5, 6]);
    // SAFETY: as above.
    unsafe {
        sys::cuMemHostUnregister(start).result().unwrap();
        let again = sys::cuMemHostUnregister(start).result();
        assert_eq!(code(again), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    }
}

#[test]
fn managed_memory_is_the_hosts_and_the_gpus() {
    let context = context(5);
    let stream = context.new_stream().unwrap();
    // SAFETY: all words are written below.
    let mut managed = unsafe { context.alloc_unified::<u32>(1000, true) }.unwrap();
    managed.as_mut_slice().unwrap().fill(3);
    managed.prefetch().unwrap();
    assert_eq!(stream.clone_dtoh(&managed).unwrap(), [3; 1000]);
    stream.memset_zeros(&mut managed).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(managed.as_slice().unwrap(), [0; 1000]);
}

#[test]
fn many_copies_by_one_call() {
    let context = context(6);
    let stream = context.new_stream().unwrap();
    let pinned = pinned(&context, &[u32::from_le_bytes([1, 2, 3, 4])]);
    // SAFETY: the test frees the address; the driver refuses the last copy, which is too long.
    unsafe {
        let device = result::malloc_sync(4).unwrap();
        let source = pinned.as_ptr().unwrap() as u64;
        let to = |to| batch(to, [source + 2, source], [2, 2], stream.cu_stream());
        assert_eq!(to([device, device + 2]).0, CUDA_SUCCESS);
        let mut got = [0u8; 4];
        stream.synchronize().unwrap();
        result::memcpy_dtoh_sync(&mut got, device).unwrap();
        assert_eq!(got, [3, 4, 1, 2]);
        assert_eq!(to([device, device + 3]), (CUDA_ERROR_INVALID_VALUE, 1));
        result::free_sync(device).unwrap();
    }
}
