//! Modules and launches, by cudarc.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::ffi::{CString, c_char, c_int, c_void};

use common::{PTX, add, alone, code, context, module, told};
use cudarc::driver::{LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;
use sys::CUresult::*;

#[test]
fn kernels_use_pinned_and_managed_memory_in_place() {
    let context = context(1);
    let (stream, kernels) = (context.new_stream().unwrap(), module(&context));
    // SAFETY: all words are written below.
    let mut managed = unsafe { context.alloc_unified::<u32>(100, true) }.unwrap();
    managed.as_mut_slice().unwrap().fill(1);
    add(&stream, &kernels, &mut managed, 2).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(managed.as_slice().unwrap(), [3; 100]);
}

#[test]
fn a_kernel_that_leaves_its_buffer_fails_for_good() {
    let context = context(2);
    let (stream, kernels) = (context.new_stream().unwrap(), module(&context));
    let data = stream.alloc_zeros::<u32>(100).unwrap();
    let function = kernels.load_function("add").unwrap();
    let mut launch = stream.launch_builder(&function);
    launch.arg(&data).arg(&101u32).arg(&1u32);
    // SAFETY: the emulator finds what is wrong.
    unsafe { launch.launch(LaunchConfig::for_num_elems(101)) }.unwrap();
    assert_eq!(code(stream.synchronize()), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(code(stream.clone_dtoh(&data)), CUDA_ERROR_ILLEGAL_ADDRESS);
    std::mem::forget(data);
}

#[test]
fn launches_that_cannot_be_are_refused() {
    let context = context(3);
    let (stream, kernels) = (context.new_stream().unwrap(), module(&context));
    let data = stream.alloc_zeros::<u32>(1).unwrap();
    let function = kernels.load_function("add").unwrap();
    told("workbookEmulatorExplanations"); // it keeps them from here on
    let grid = "it may have 1 × 1 × 1 to 2147483647 × 65535 × 65535\n";
    let sides = "it may have 1 × 1 × 1 to 1024 × 1024 × 64, and 1024 threads in all";
    for (grid, block, shared, limit) in [
        ((0, 1, 1), (1, 1, 1), 0, grid),
        ((1, 70_000, 1), (1, 1, 1), 0, grid),
        ((1, 1, 1), (1025, 1, 1), 0, sides),
        ((1, 1, 1), (32, 33, 1), 0, "1056 threads in a block of add, at most 1024"),
        ((1, 1, 1), (1, 1, 65), 0, sides),
        ((1, 1, 1), (1, 1, 1), 48 * 1024 + 1, "which may have 49152"),
    ] {
        let mut launch = stream.launch_builder(&function);
        launch.arg(&data).arg(&1u32).arg(&1u32);
        let shape = LaunchConfig { grid_dim: grid, block_dim: block, shared_mem_bytes: shared };
        // SAFETY: the driver refuses.
        let refused = unsafe { launch.launch(shape) };
        assert_eq!(code(refused), CUDA_ERROR_INVALID_VALUE, "{shape:?}");
        let said = told("workbookEmulatorExplanations");
        assert!(said.contains(limit), "{shape:?}: {said}");
    }
    assert_eq!(code(kernels.load_function("sub")), CUDA_ERROR_NOT_FOUND);
}

#[test]
fn a_module_that_cannot_be_loaded_says_why() {
    let context = context(4);
    let load = |ptx: &str| code(context.load_module(Ptx::from_src(ptx.to_owned())));
    assert_eq!(load(&PTX.replace("sm_75", "sm_90")), CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_eq!(load("\x7fELF"), CUDA_ERROR_INVALID_IMAGE);
    let broken = PTX.replace(".reg .b64", ".register .b64");
    assert_eq!(load(&broken), CUDA_ERROR_INVALID_PTX);
    let array = |bytes| format!("{{\n.shared .align 4 .b8 rows[{bytes}];\n");
    let with = |bytes| PTX.replacen("{\n", &array(bytes), 1);
    assert_eq!(load(&with(49_153)), CUDA_ERROR_INVALID_PTX);
    assert!(context.load_module(Ptx::from_src(with(49_152))).is_ok());

    // With room for a log, the log says it.
    let image = CString::new(broken).unwrap();
    let mut log = vec![0u8; 200];
    let (mut module, mut options) = (
        std::ptr::null_mut(),
        [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ],
    );
    let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    // SAFETY: two options with two values, and a log with room as it says.
    let answer = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    assert_eq!(answer, CUDA_ERROR_INVALID_PTX);
    // SAFETY: the driver has written a text with a NUL.
    let log = unsafe { std::ffi::CStr::from_ptr(log.as_ptr().cast::<c_char>()) };
    assert!(log.to_str().unwrap().contains(".register"), "{log:?}");
}

#[test]
fn a_kernel_that_is_not_understood_fails_when_it_is_launched() {
    let context = context(5);
    let stream = context.new_stream().unwrap();
    let strange = ".visible .entry strange() { wmma.strange.f32 %r1; ret; }";
    let ptx = Ptx::from_src(format!("{PTX}\n{strange}"));
    let kernels = context.load_module(ptx).unwrap();
    let mut data = stream.alloc_zeros::<u32>(10).unwrap();
    add(&stream, &kernels, &mut data, 2).unwrap();
    assert_eq!(stream.clone_dtoh(&data).unwrap(), [2; 10]);
    let function = kernels.load_function("strange").unwrap();
    let mut launch = stream.launch_builder(&function);
    // SAFETY: it does not run.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    assert_eq!(code(stream.synchronize()), CUDA_ERROR_NOT_SUPPORTED);
    std::mem::forget(data);
}

/// Shared memory for a block: none, if the driver answers.
extern "C" fn asks_the_driver(_threads: c_int) -> usize {
    let mut count = 0;
    // SAFETY: there is room for a number.
    match unsafe { sys::cuDeviceGetCount(&mut count) } {
        CUDA_SUCCESS => 0,
        _ => 1 << 30,
    }
}

#[test]
fn who_tells_the_shared_memory_of_a_block_may_call_the_driver() {
    let context = context(6);
    let add = module(&context).load_function("add").unwrap();
    let best = add.occupancy_max_potential_block_size(asks_the_driver, 0, 0, None);
    assert_eq!(best.unwrap(), (8, 1024));
}

/// Tells what a multiprocessor holds.
#[test]
#[ignore = "run by the next test, in processes of their own"]
fn limits() {
    let context = context(0);
    let attribute = |which| context.attribute(which).unwrap();
    let function = module(&context).load_function("add").unwrap();
    let blocks = function.occupancy_max_active_blocks_per_multiprocessor(64, 3072, None);
    println!(
        "limits: {} {} {} {} {}",
        attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        blocks.unwrap(),
    );
}

#[test]
fn a_gpu_with_the_limits_of_a_real_one() {
    for (gpu, expected) in [
        ("", "limits: 8 1024 16 101376 16"),
        ("7.5", "limits: 7 1024 16 65536 16"),
        ("8.6", "limits: 8 1536 16 101376 16"),
        ("8.9", "limits: 8 1536 24 101376 24"),
        ("9.0", "limits: 9 2048 32 232448 32"),
    ] {
        let ended = alone("limits", &[("WORKBOOK_EMULATED_GPU", gpu)]);
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(said.contains(expected), "{gpu}: {said}");
    }
}
