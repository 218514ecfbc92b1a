//! Two emulated GPUs, by cudarc.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use common::{add, code, context, module};
use cudarc::driver::sys::{self, CUresult::*};

#[test]
fn copies_cross_with_and_without_access() {
    let (here, there) = (context(0), context(1));
    let mut can = 0;
    // SAFETY: writes an integer.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, 0, 1) }.result().unwrap();
    assert_eq!(can, 1);
    let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    let source = near.clone_htod(&[1u32, 2, 3]).unwrap();
    let mut target = far.alloc_zeros::<u32>(3).unwrap();
    near.synchronize().unwrap();
    far.memcpy_dtod(&source, &mut target).unwrap();
    assert_eq!(far.clone_dtoh(&target).unwrap(), [1, 2, 3]);
}

#[test]
fn a_kernel_reaches_the_other_gpu_once_it_may() {
    let (here, there) = (context(2), context(3));
    let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    // Not from the pool, whose memory asks for an access of its own.
    // SAFETY: the memory is the test's, and as long as it says.
    let mut data = unsafe {
        there.bind_to_thread().unwrap();
        let address = cudarc::driver::result::malloc_sync(12).unwrap();
        far.upgrade_device_ptr::<u32>(address, 3)
    };
    far.memcpy_htod(&[1, 2, 3], &mut data).unwrap();
    far.synchronize().unwrap();
    let kernels = module(&here);
    let refused = add(&near, &kernels, &mut data, 10);
    assert_eq!(code(refused), CUDA_ERROR_ILLEGAL_ADDRESS);

    here.bind_to_thread().unwrap();
    // SAFETY: both contexts live.
    let enable = || unsafe { sys::cuCtxEnablePeerAccess(there.cu_ctx(), 0) }.result();
    enable().unwrap();
    assert_eq!(code(enable()), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    add(&near, &kernels, &mut data, 10).unwrap();
    near.synchronize().unwrap();
    assert_eq!(far.clone_dtoh(&data).unwrap(), [11, 12, 13]);
}

/// What NVIDIA's driver refused on two H100s, by whose access it has to another GPU's memory.
#[test]
fn another_gpus_pool_asks_for_an_access_of_its_own() {
    let (here, there) = (context(4), context(5));
    let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    // SAFETY: a call for each kind; the memory outlives them.
    let [pool, plain, near_plain] = unsafe {
        there.bind_to_thread().unwrap();
        let pool = cudarc::driver::result::malloc_async(far.cu_stream(), 64).unwrap();
        far.synchronize().unwrap(); // from here on other streams may use it
        let plain = cudarc::driver::result::malloc_sync(64).unwrap();
        here.bind_to_thread().unwrap();
        [pool, plain, cudarc::driver::result::malloc_sync(64).unwrap()]
    };
    let pinned = common::pinned(&here, &[0; 16]);
    let host = pinned.as_slice().unwrap().as_ptr().cast_mut();
    let (near, far) = (near.cu_stream(), far.cu_stream());
    // SAFETY: both have 64 bytes.
    let batch = |stream| unsafe { common::batch([pool], [host as u64], [64], stream) }.0;
    let copies = || {
        let in_stream = |stream| {
            // SAFETY: all memory has 64 bytes and lives.
            unsafe {
                [
                    sys::cuMemcpyHtoDAsync_v2(pool, host.cast(), 64, stream),
                    sys::cuMemcpyDtoHAsync_v2(host.cast(), pool, 64, stream),
                    sys::cuMemcpyDtoDAsync_v2(pool, near_plain, 64, stream),
                    sys::cuMemcpyAsync(host as u64, pool, 64, stream),
                ]
            }
        };
        // SAFETY: as above.
        let at_once = unsafe {
            [
                sys::cuMemcpyHtoD_v2(pool, host.cast(), 64),
                sys::cuMemcpyDtoD_v2(near_plain, pool, 64),
                sys::cuMemsetD8_v2(pool, 1, 64),
                sys::cuMemsetD8Async(pool, 1, 64, near),
                batch(near),
            ]
        };
        [in_stream(near).to_vec(), in_stream(far).to_vec(), at_once.to_vec()].concat()
    };
    // SAFETY: as above.
    let always = || unsafe {
        let (near_context, far_context) = (here.cu_ctx(), there.cu_ctx());
        [
            sys::cuMemcpyDtoD_v2(plain, near_plain, 64),
            sys::cuMemcpyHtoD_v2(plain, host.cast(), 64),
            sys::cuMemsetD8Async(pool, 1, 64, far),
            batch(far),
            sys::cuMemsetD8Async(plain, 1, 64, far),
            sys::cuMemcpyPeerAsync(pool, far_context, near_plain, near_context, 64, near),
        ]
    };
    // SAFETY: as above.
    let fill_of_plain = || unsafe { sys::cuMemsetD8Async(plain, 1, 64, near) };
    let all = |results: &[sys::CUresult], result| results.iter().all(|r| *r == result);

    assert!(all(&copies(), CUDA_ERROR_INVALID_VALUE), "{:?}", copies());
    assert!(all(&always(), CUDA_SUCCESS), "{:?}", always());
    assert_eq!(fill_of_plain(), CUDA_ERROR_INVALID_VALUE);

    // SAFETY: both contexts live.
    unsafe { sys::cuCtxEnablePeerAccess(there.cu_ctx(), 0) }.result().unwrap();
    assert!(all(&copies(), CUDA_ERROR_INVALID_VALUE), "{:?}", copies());
    assert_eq!(fill_of_plain(), CUDA_SUCCESS);

    // SAFETY: a C structure of numbers; the pool is the GPU's own.
    unsafe {
        let mut handle = std::ptr::null_mut();
        sys::cuDeviceGetDefaultMemPool(&mut handle, 5).result().unwrap();
        let mut access: sys::CUmemAccessDesc = std::mem::zeroed();
        access.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = 4;
        access.flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        sys::cuMemPoolSetAccess(handle, &access, 1).result().unwrap();
    }
    assert!(all(&copies(), CUDA_SUCCESS), "{:?}", copies());
    assert!(all(&always(), CUDA_SUCCESS), "{:?}", always());
}
