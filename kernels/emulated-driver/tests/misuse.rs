//! Arguments that nobody should pass. The driver answers with an error code, and goes on.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::ptr::{null, null_mut};

use common::context;
use cudarc::driver::sys::{self, *};
use proptest::prelude::*;

/// Numbers that are no handles, or were some, or might be.
fn number() -> impl Strategy<Value = usize> {
    let kinds =
        (0..10usize, 0..20usize).prop_map(|(kind, n)| (0xe0 + kind) << 40 | n << 4);
    prop_oneof![Just(0), Just(1), Just(2), Just(usize::MAX), kinds, any::<usize>()]
}

/// Numbers that are no device addresses, or might be.
fn address() -> impl Strategy<Value = u64> {
    let near = (0..4u64, -9000..9000i64).prop_map(|(gpu, near)| {
        (0x1000_0000_0000 + (gpu << 40)).wrapping_add_signed(near)
    });
    prop_oneof![near, 0..9u64, Just(0x1fff_ffff_ffff), Just(0x1f00_0000_0000)]
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..9usize,
        Just(usize::MAX),
        Just(isize::MAX as usize),
        any::<usize>()
    ]
}

/// Calls a function that the numbers choose. All pointers that it follows are good or null.
fn call(which: u32, [a, b, c]: [usize; 3], [x, y]: [u64; 2], n: usize) -> CUresult {
    let (mut int, mut word, mut bytes) = (0, 0u64, 0usize);
    let mut handle = null_mut::<std::ffi::c_void>();
    let mut float = 0f32;
    let stream = c as CUstream;
    // SAFETY: the driver has to stand any number; no pointer leads to a wrong place.
    unsafe {
        match which {
            0 => cuMemAlloc_v2(&mut word, n),
            1 => cuMemFree_v2(x),
            2 => cuMemcpyDtoD_v2(x, y, n),
            3 => cuMemcpyDtoDAsync_v2(x, y, n, stream),
            4 => cuMemsetD8Async(x, 1, n, stream),
            5 => cuMemsetD32_v2(x, 1, n),
            6 => cuMemAllocAsync(&mut word, n.min(1 << 20), stream),
            7 => cuMemFreeAsync(x, stream),
            8 => cuStreamSynchronize(stream),
            9 => cuStreamQuery(stream),
            10 => cuStreamDestroy_v2(stream),
            11 => cuStreamWaitEvent(stream, a as CUevent, b as u32),
            12 => cuStreamCreate(null_mut(), 0),
            13 => cuEventRecord(a as CUevent, stream),
            14 => cuEventQuery(a as CUevent),
            15 => cuEventSynchronize(a as CUevent),
            16 => cuEventDestroy_v2(a as CUevent),
            17 => cuEventElapsedTime(&mut float, a as CUevent, b as CUevent),
            18 => cuModuleLoadData(&mut handle.cast(), null()),
            19 => cuModuleUnload(a as CUmodule),
            20 => cuModuleGetFunction(
                &mut handle.cast(),
                a as CUmodule,
                c"add".as_ptr(),
            ),
            21 => cuLaunchKernel(
                a as CUfunction,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                stream,
                null_mut(),
                null_mut(),
            ),
            22 => cuMemPoolDestroy(a as CUmemoryPool),
            23 => cuMemPoolTrimTo(a as CUmemoryPool, n),
            24 => cuGraphLaunch(a as CUgraphExec, stream),
            25 => cuGraphDestroy(a as CUgraph),
            26 => cuStreamEndCapture(stream, &mut handle.cast()),
            27 => cuCtxEnablePeerAccess(a as CUcontext, 0),
            28 => cuCtxDestroy_v2(a as CUcontext),
            29 => cuDeviceTotalMem_v2(&mut bytes, a as i32),
            30 => cuDevicePrimaryCtxRelease_v2(a as i32 | 8),
            31 => cuMemFreeHost(x as *mut _),
            32 => cuMemHostUnregister(x as *mut _),
            33 => cuMemHostAlloc(&mut handle, n, b as u32),
            34 => cuMemGetAddressRange_v2(&mut word, null_mut(), x),
            35 => cuMemHostGetDevicePointer_v2(&mut word, x as *mut _, 0),
            36 => cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut int,
                a as CUfunction,
                b as i32,
                n,
            ),
            37 => cuDeviceGetCount(null_mut()),
            38 => cuMemcpyDtoD_v2(x, x, 0),
            39 => cuStreamGetCtx(stream, null_mut()),
            _ => cuTexObjectDestroy(a as u64),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn nothing_panics(
        which in 0..41u32,
        handles in [number(), number(), number()],
        addresses in [address(), address()],
        n in size(),
    ) {
        let context = context(0);
        context.bind_to_thread().unwrap();
        let answer = call(which, handles, addresses, n);
        prop_assert_ne!(answer, sys::CUresult::CUDA_ERROR_UNKNOWN);
    }
}

#[test]
fn what_is_missing_says_so() {
    context(1);
    let mut texture = 0;
    // SAFETY: the function does nothing.
    let answer = unsafe { cuTexObjectCreate(&mut texture, null(), null(), null()) };
    assert_eq!(answer, CUresult::CUDA_ERROR_NOT_SUPPORTED);
}
