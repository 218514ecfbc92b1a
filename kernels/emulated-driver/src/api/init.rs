//! Starting, and what error codes mean.

use std::ffi::{c_char, c_uint};

use cudarc::driver::sys::CUresult::{self, *};

use crate::answer::{describe, require};
use crate::call::{Out, api};
use crate::gpu;

api! {
    fn cuInit(session, flags: c_uint) {
        require(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        require(!session.gpus.is_empty(), CUDA_ERROR_NO_DEVICE)?;
        session.initialised = true;
    }

    fn cuDriverGetVersion(session, version: Out<i32>) {
        version.set(gpu::CUDA_VERSION)?;
    }

    /// Nothing watches, so there is nothing to tell.
    fn cuProfilerStart(session) {}
    fn cuProfilerStop(session) {}
}

/// These two need no driver, and so they may be asked in a host function, too.
#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: u32, name: Out<*const c_char>) -> CUresult {
    tell(&name, describe(code).map(|(_, name, _)| name.as_ptr()))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(code: u32, text: Out<*const c_char>) -> CUresult {
    tell(&text, describe(code).map(|(.., text)| text.as_ptr()))
}

fn tell(place: &Out<*const c_char>, text: Option<*const c_char>) -> CUresult {
    let told = place.set(text.unwrap_or(std::ptr::null()));
    if text.is_some() && told.is_ok() { CUDA_SUCCESS } else { CUDA_ERROR_INVALID_VALUE }
}
