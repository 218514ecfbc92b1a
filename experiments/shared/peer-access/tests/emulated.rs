//! What the switches do, on emulated GPUs: it is they that refuse an access which is off.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg,
    result, sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
};
use cudarc::nvrtc::Ptx;
use peer_access::Access;
use test_driver::alone;

/// The emulated driver's test kernel, `add(data, count, number)`.
const PTX: &str = include_str!("../../../../kernels/emulated-driver/tests/common/add.ptx");

const TWO: [(&str, &str); 1] = [("WORKBOOK_EMULATED_GPUS", "2")];

fn two() -> [Arc<CudaContext>; 2] {
    [0, 1].map(|gpu| {
        let context = CudaContext::new(gpu).unwrap();
        // SAFETY: these tests wait for the end of everything that they queue.
        unsafe { context.disable_event_tracking() };
        context
    })
}

/// Adds 10 to three words of `data`, by a kernel on the stream's GPU.
fn add(
    stream: &Arc<CudaStream>,
    data: &CudaSlice<u32>,
    home: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    let module = stream.context().load_module(Ptx::from_src(PTX))?;
    let function = module.load_function("add")?;
    let (address, _ordered) = data.device_ptr(home);
    let mut launch = stream.launch_builder(&function);
    launch.arg(&address).arg(&3u32).arg(&10u32);
    // SAFETY: the kernel takes (data, count, number), and there are three words.
    unsafe { launch.launch(LaunchConfig::for_num_elems(3)) }?;
    stream.synchronize()
}

/// Three words from `cuMemAlloc`.
fn direct(stream: &Arc<CudaStream>) -> CudaSlice<u32> {
    stream.context().bind_to_thread().unwrap();
    // SAFETY: there are three words at the address; they are written in the next line.
    let mut data = unsafe { stream.upgrade_device_ptr(result::malloc_sync(12).unwrap(), 3) };
    stream.memcpy_htod(&[1, 2, 3], &mut data).unwrap();
    stream.synchronize().unwrap();
    data
}

#[test]
fn enabled_is_enabled_for_both_kinds_of_memory() {
    alone(&TWO, || {
        let [here, there] = two();
        let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
        let (direct, pooled) = (direct(&far), far.clone_htod(&[1, 2, 3]).unwrap());
        far.synchronize().unwrap();
        assert!(peer_access::possible(&here, &there).unwrap());
        for _ in 0..2 {
            assert!(peer_access::enable(&here, &there).unwrap().is_granted());
        }
        assert!(peer_access::enable(&here, &here).unwrap().is_granted());
        for data in [direct, pooled] {
            add(&near, &data, &far).unwrap();
            assert_eq!(far.clone_dtoh(&data).unwrap(), [11, 12, 13]);
        }
    });
}

#[test]
fn the_contexts_switch_is_not_the_pools() {
    alone(&TWO, || {
        let [here, there] = two();
        let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
        let (direct, pooled) = (direct(&far), far.clone_htod(&[1, 2, 3]).unwrap());
        far.synchronize().unwrap();
        assert!(peer_access::enable_context(&here, &there).unwrap().is_granted());
        add(&near, &direct, &far).unwrap();
        let refused = || add(&near, &pooled, &far).unwrap_err().0 == CUDA_ERROR_ILLEGAL_ADDRESS;
        assert!(refused());
        assert!(peer_access::enable_pool(&here, &there).unwrap().is_granted());
        add(&near, &pooled, &far).unwrap();
        peer_access::disable_pool(&here, &there).unwrap();
        assert!(refused());
    });
}

#[test]
fn what_is_disabled_is_off() {
    alone(&TWO, || {
        let [here, there] = two();
        let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
        let pooled = far.clone_htod(&[1, 2, 3]).unwrap();
        far.synchronize().unwrap();
        assert!(peer_access::enable(&here, &there).unwrap().is_granted());
        for _ in 0..2 {
            peer_access::disable(&here, &there).unwrap();
        }
        let refused = add(&near, &pooled, &far).unwrap_err();
        assert_eq!(refused.0, CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

#[test]
fn gpus_that_cannot_say_so() {
    alone(&[TWO[0], ("WORKBOOK_EMULATED_PEERS", "none")], || {
        let [here, there] = two();
        assert!(!peer_access::possible(&here, &there).unwrap());
        let why = "GPU 0 has no access to GPU 1: the driver says that it cannot have it";
        let refused = Access::Refused(why.to_owned());
        assert_eq!(peer_access::enable(&here, &there).unwrap(), refused);
        assert_eq!(peer_access::enable_pool(&here, &there).unwrap(), refused);
        peer_access::disable(&here, &there).unwrap();
    });
}

#[test]
fn one_peer_too_many_is_refused() {
    alone(&[TWO[0], ("WORKBOOK_EMULATED_PEERS", "0")], || {
        let [here, there] = two();
        assert!(peer_access::possible(&here, &there).unwrap());
        let Access::Refused(why) = peer_access::enable(&here, &there).unwrap() else {
            panic!("it should be refused");
        };
        assert!(why.ends_with("too many peers already"), "{why}");
    });
}
