//! Loading the emulated driver under cudarc, in a test.
#![allow(dead_code)] // not every test file uses all of it

use std::ffi::{OsStr, c_void};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock};

use cudarc::driver::{
    CudaContext, CudaModule, CudaStream, DevicePtrMut, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg, result, sys,
};
use cudarc::nvrtc::Ptx;

/// Enough for every test of a file to have one for itself.
const GPUS: &str = "16";

/// A folder, for `LD_LIBRARY_PATH`, with the emulated driver, which cargo has built beside this
/// program, under the names by which programs look for NVIDIA's.
pub(crate) fn folder() -> PathBuf {
    let folder = std::env::current_exe().unwrap().with_file_name("emulated-driver");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        match symlink("../libemulated_driver.so", folder.join(name)) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {} // other tests make it, too
            made => made.unwrap(),
        }
    }
    folder
}

/// Starts this program again where the loader finds the emulated driver before any other.
static LOADED: LazyLock<()> = LazyLock::new(|| {
    let folder = folder();
    if std::env::var_os("LD_LIBRARY_PATH").is_some_and(|path| *path == *folder) {
        // SAFETY: opens the library, and looks a name up.
        let ours = unsafe { sys::culib().get::<*const ()>(b"workbookEmulatorCounts") };
        assert!(ours.is_ok(), "the loader finds another libcuda.so than the emulated one");
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(std::env::args_os().skip(1)).env("LD_LIBRARY_PATH", folder);
    again.env("WORKBOOK_EMULATED_GPUS", GPUS).env_remove("CUDA_VISIBLE_DEVICES");
    panic!("it does not start: {}", again.exec());
});

/// The primary context of a GPU, without cudarc's own waits. Tests of one file run side by
/// side, so each takes another GPU.
pub(crate) fn context(gpu: usize) -> Arc<CudaContext> {
    LazyLock::force(&LOADED);
    let context = CudaContext::new(gpu).unwrap();
    // SAFETY: tests order their streams themselves.
    unsafe { context.disable_event_tracking() };
    context
}

pub(crate) fn streams(context: &Arc<CudaContext>) -> [Arc<CudaStream>; 2] {
    [context.new_stream().unwrap(), context.new_stream().unwrap()]
}

/// Pinned memory with these words in it.
pub(crate) fn pinned(context: &Arc<CudaContext>, words: &[u32]) -> PinnedHostSlice<u32> {
    // SAFETY: all words are written in the next line.
    let pinned = unsafe { context.alloc_pinned_with_flags(words.len(), 0) };
    let mut pinned = pinned.unwrap();
    pinned.as_mut_slice().unwrap().copy_from_slice(words);
    pinned
}

/// Kernels for tests: `add(data, count, number)` adds to each word, one word a thread.
pub(crate) const PTX: &str = include_str!("add.ptx");

pub(crate) fn module(context: &Arc<CudaContext>) -> Arc<CudaModule> {
    context.load_module(Ptx::from_src(PTX)).unwrap()
}

/// The error of a call that should have failed.
#[track_caller]
pub(crate) fn code<T>(answer: Result<T, DriverError>) -> sys::CUresult {
    match answer {
        Ok(_) => panic!("it should have failed"),
        Err(e) => e.0,
    }
}

/// What a function of the emulated driver's tells.
pub(crate) fn told(function: &str) -> String {
    type Ask = unsafe extern "C" fn(*mut u8, usize) -> usize;
    // SAFETY: the function is the emulated driver's, with this signature.
    let text = unsafe {
        let ask = sys::culib().get::<Ask>(function.as_bytes()).unwrap();
        let mut text = vec![0; ask(std::ptr::null_mut(), 0)];
        ask(text.as_mut_ptr(), text.len());
        text
    };
    String::from_utf8(text).unwrap().trim_end_matches('\0').to_owned()
}

/// What kernels did since the last question, by name.
pub(crate) fn counts() -> std::collections::BTreeMap<String, u64> {
    let text = told("workbookEmulatorCounts");
    let totals = text.lines().take_while(|l| !l.starts_with("kernel "));
    totals
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, number)| (name.to_owned(), number.parse().unwrap()))
        .collect()
}

/// This test file's program, to run one test of it in a process of its own.
pub(crate) fn alone(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    program.envs(environment.iter().map(|(name, value)| (OsStr::new(name), value)));
    program.output().unwrap()
}

/// Waits for whatever comes through the channel, and then calls the driver, which it may not.
unsafe extern "C" fn wait(receiver: *mut c_void) {
    // SAFETY: `hold` gave the box away, and this is called once.
    let receiver = unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) };
    receiver.recv().unwrap();
    let mut device = 0;
    // SAFETY: writes one integer, if it were allowed.
    let answer = unsafe { sys::cuCtxGetDevice(&raw mut device) };
    assert_eq!(answer, sys::CUresult::CUDA_ERROR_NOT_PERMITTED);
}

/// Holds a stream by a host function, until something is sent.
pub(crate) fn hold(stream: &CudaStream) -> Sender<()> {
    let (opener, receiver) = channel();
    let receiver = Box::into_raw(Box::new(receiver)).cast();
    // SAFETY: the function owns its argument.
    unsafe { result::stream::launch_host_function(stream.cu_stream(), wait, receiver) }.unwrap();
    opener
}

/// Makes copies by one call: what it answers, and which of them failed.
///
/// # Safety
///
/// The addresses are those of as many bytes, if the driver does not refuse them.
pub(crate) unsafe fn batch<const COPIES: usize>(
    mut to: [u64; COPIES],
    mut from: [u64; COPIES],
    mut bytes: [usize; COPIES],
    stream: sys::CUstream,
) -> (sys::CUresult, usize) {
    let (mut first, mut failed) = (0, 0);
    // SAFETY: zeros are a valid value of all fields but the first, which is set; the lists are
    // as long as the call says; the memory is as the caller promises.
    let answer = unsafe {
        let mut how: sys::CUmemcpyAttributes = std::mem::zeroed();
        how.srcAccessOrder = sys::CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        let lists = (to.as_mut_ptr(), from.as_mut_ptr(), bytes.as_mut_ptr());
        let (how, first, failed) = (&mut how, &mut first, &mut failed);
        sys::cuMemcpyBatchAsync(lists.0, lists.1, lists.2, COPIES, how, first, 1, failed, stream)
    };
    (answer, failed)
}

/// Adds a number to each word, in the order of a stream.
pub(crate) fn add(
    stream: &Arc<CudaStream>,
    module: &Arc<CudaModule>,
    data: &mut impl DevicePtrMut<u32>,
    number: u32,
) -> Result<(), DriverError> {
    let function = module.load_function("add")?;
    let count = data.len() as u32;
    let (address, _ordered) = data.device_ptr_mut(stream);
    let mut launch = stream.launch_builder(&function);
    launch.arg(&address).arg(&count).arg(&number);
    // SAFETY: the kernel takes (data, count, number); the emulator finds what is wrong.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }?;
    Ok(())
}
