//! What a call answers: nothing, or the error code that NVIDIA's driver would give.

use std::ffi::CStr;

use cudarc::driver::sys::CUresult;

/// The outcome of a call inside the driver.
pub(crate) type Answer<T = ()> = Result<T, CUresult>;

/// Answers with this code, unless it is so.
pub(crate) fn require(is_so: bool, code: CUresult) -> Answer {
    if is_so { Ok(()) } else { Err(code) }
}

/// An error code with its name, and what NVIDIA's driver says of it in words, for the
/// codes that this driver gives.
pub(crate) fn describe(code: u32) -> Option<(CUresult, &'static CStr, &'static CStr)> {
    ERRORS.iter().find(|(known, ..)| *known as u32 == code).copied()
}

/// A literal that ends with a NUL.
const fn text(literal: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(literal.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a NUL in the text"),
    }
}

macro_rules! errors {
    ($($code:ident $words:literal)*) => {
        const ERRORS: &[(CUresult, &CStr, &CStr)] = &[$((
            CUresult::$code,
            text(concat!(stringify!($code), "\0")),
            text(concat!($words, "\0")),
        )),*];
    };
}

errors! {
    CUDA_SUCCESS "no error"
    CUDA_ERROR_INVALID_VALUE "invalid argument"
    CUDA_ERROR_OUT_OF_MEMORY "out of memory"
    CUDA_ERROR_NOT_INITIALIZED "initialization error"
    CUDA_ERROR_DEINITIALIZED "driver shutting down"
    CUDA_ERROR_STUB_LIBRARY "CUDA driver is a stub library"
    CUDA_ERROR_DEVICE_UNAVAILABLE "CUDA-capable device(s) is/are busy or unavailable"
    CUDA_ERROR_NO_DEVICE "no CUDA-capable device is detected"
    CUDA_ERROR_INVALID_DEVICE "invalid device ordinal"
    CUDA_ERROR_INVALID_IMAGE "device kernel image is invalid"
    CUDA_ERROR_INVALID_CONTEXT "invalid device context"
    CUDA_ERROR_NO_BINARY_FOR_GPU "no kernel image is available for execution on the device"
    CUDA_ERROR_UNSUPPORTED_LIMIT "limit is not supported on this architecture"
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED "peer access is not supported between these two devices"
    CUDA_ERROR_INVALID_PTX "a PTX JIT compilation failed"
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION "the provided PTX was compiled with an unsupported toolchain."
    CUDA_ERROR_FILE_NOT_FOUND "file not found"
    CUDA_ERROR_INVALID_HANDLE "invalid resource handle"
    CUDA_ERROR_ILLEGAL_STATE "the operation cannot be performed in the present state"
    CUDA_ERROR_NOT_FOUND "named symbol not found"
    CUDA_ERROR_NOT_READY "device not ready"
    CUDA_ERROR_ILLEGAL_ADDRESS "an illegal memory access was encountered"
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch"
    CUDA_ERROR_LAUNCH_TIMEOUT "the launch timed out and was terminated"
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED "peer access is already enabled"
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED "peer access has not been enabled"
    CUDA_ERROR_CONTEXT_IS_DESTROYED "context is destroyed"
    CUDA_ERROR_ASSERT "device-side assert triggered"
    CUDA_ERROR_TOO_MANY_PEERS "peer mapping resources exhausted"
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED "part or all of the requested memory range is already mapped"
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED "pointer does not correspond to a registered memory region"
    CUDA_ERROR_MISALIGNED_ADDRESS "misaligned address"
    CUDA_ERROR_LAUNCH_FAILED "unspecified launch failure"
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE "too many blocks in cooperative launch"
    CUDA_ERROR_NOT_PERMITTED "operation not permitted"
    CUDA_ERROR_NOT_SUPPORTED "operation not supported"
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH "system has unsupported display driver / cuda driver combination"
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED "operation not permitted when stream is capturing"
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED "operation failed due to a previous error during capture"
    CUDA_ERROR_STREAM_CAPTURE_MERGE "operation would result in a merge of separate capture sequences"
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED "capture was not ended in the same stream as it began"
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED "capturing stream has unjoined work"
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION "dependency created on uncaptured work in another stream"
    CUDA_ERROR_CAPTURED_EVENT "operation not permitted on an event last recorded in a capturing stream"
    CUDA_ERROR_UNKNOWN "unknown error"
}
