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
    let enable =
        || unsafe { sys::cuCtxEnablePeerAccess(there.cu_ctx(), 0) }.result();
    enable().unwrap();
    assert_eq!(code(enable()), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    add(&near, &kernels, &mut data, 10).unwrap();
    near.synchronize().unwrap();
    assert_eq!(far.clone_dtoh(&data).unwrap(), [11, 12, 13]);
}
