//! Whether there is a GPU, and if not, why; and how to wake it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, DriverError, sys};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gpus {
    /// None can be used; the reason, as the rest of a sentence.
    None(String),
    Count(usize),
}

/// The driver's library, for messages.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// Whether there is a driver, with or without a GPU.
pub fn has_driver() -> bool {
    // SAFETY: opens the driver library if there is one; it has no other effect.
    unsafe { sys::is_culib_present() }
}

/// Asks the driver for GPUs. Never panics, with or without a driver.
pub fn probe() -> Gpus {
    if !has_driver() {
        return Gpus::None(format!(
            "no NVIDIA driver was found ({LIBRARY} is not on the loader's path)"
        ));
    }
    match CudaContext::device_count() {
        Ok(0) => Gpus::None("the NVIDIA driver sees no GPU".into()),
        Ok(count) => Gpus::Count(count as usize),
        Err(e) => Gpus::None(match e.0 {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => {
                "the NVIDIA driver sees no GPU (is CUDA_VISIBLE_DEVICES set to nothing?)".into()
            }
            sys::CUresult::CUDA_ERROR_STUB_LIBRARY => {
                "libcuda.so.1 is the CUDA toolkit's stub, not a driver: install the driver, \
                 or take the stub's folder off LD_LIBRARY_PATH"
                    .into()
            }
            _ => format!("the NVIDIA driver does not start: {}", explain(e)),
        }),
    }
}

/// The driver's own words for an error, with its name.
pub fn explain(error: DriverError) -> String {
    let text = |s: Result<&std::ffi::CStr, _>| {
        s.map_or_else(|_| "?".to_owned(), |s| s.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_string()), text(error.error_name()))
}

/// An error and its causes in one line, the driver's in the driver's own words.
pub fn explain_all(error: &anyhow::Error) -> String {
    let words = error.chain().map(|cause| match cause.downcast_ref() {
        Some(driver_error) => explain(*driver_error),
        None => cause.to_string(),
    });
    words.collect::<Vec<_>>().join(": ")
}

/// Newest CUDA version the driver supports, as (major, minor). Needs a driver.
pub fn cuda_version() -> Option<(u32, u32)> {
    let mut version = 0;
    // SAFETY: writes one integer; callers have probed for the library.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().ok()?;
    Some((version as u32 / 1000, version as u32 % 1000 / 10))
}

/// Raises clocks and link from idle: half a second of small copies and fills. An emulated GPU has
/// no clock to raise.
pub(crate) fn wake(context: &Arc<CudaContext>) -> Result<(), DriverError> {
    let clock = sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
    if context.attribute(clock)? == 0 {
        return Ok(());
    }
    let stream = context.new_stream()?;
    let host = vec![1u8; 1 << 20];
    let mut device = stream.alloc_zeros::<u8>(16 << 20)?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        stream.memcpy_htod(&host, &mut device.slice_mut(..host.len()))?;
        stream.memset_zeros(&mut device)?;
        stream.synchronize()?;
    }
    Ok(())
}
