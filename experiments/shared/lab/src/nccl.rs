//! NCCL as these programs use it: without multicast, and with errors in words; and the
//! measure by which collectives are compared.

use std::ffi::CStr;

use crate::libraries;
use anyhow::{Result, anyhow};
use cudarc::nccl::{result, sys};

/// Has NCCL not use the switch's multicast (NVLS), with which the switch itself adds. It
/// takes effect before NCCL is loaded.
///
/// # Safety
///
/// The program must have one thread: it changes the environment.
pub unsafe fn leave_multicast_off() {
    // SAFETY: the program has one thread, says the caller.
    unsafe { std::env::set_var("NCCL_NVLS_ENABLE", "0") };
}

/// NCCL's version, such as `2.28.3`; or why it cannot be used, and what helps (a sentence
/// without a full stop).
pub fn available() -> Result<String, String> {
    if !libraries::NCCL.load() {
        return Err(format!("NCCL is not installed ({})", libraries::NCCL.install));
    }
    let version = result::get_nccl_version();
    let version = check("ask NCCL for its version", version);
    let number = version.map_err(|e| e.to_string())?;
    Ok(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
}

/// An error of NCCL in its own words; `what` was to be done. cudarc's has none.
pub fn check<T>(what: &str, result: Result<T, result::NcclError>) -> Result<T> {
    result.map_err(|result::NcclError(code)| {
        // SAFETY: NCCL gives a string that lives forever, for any code.
        let (words, last) = unsafe {
            let words = CStr::from_ptr(sys::ncclGetErrorString(code));
            let last = sys::ncclGetLastError(std::ptr::null_mut());
            (words, (!last.is_null()).then(|| CStr::from_ptr(last)))
        };
        let words = words.to_string_lossy();
        let last = last.map(CStr::to_string_lossy).unwrap_or_default();
        let last = if last.is_empty() { last } else { format!(": {last}").into() };
        anyhow!("cannot {what}: NCCL says {words} ({code:?}){last}")
    })
}

/// NCCL's *bus bandwidth* of an all-reduce is its bytes times this over its time. A ring of
/// `gpus` sends so many times the message's bytes over each link, one way, and no algorithm
/// without help from the switch can do with less. So whatever the number of GPUs, bus
/// bandwidth can be held against what one link carries one way.
pub fn bus_bandwidth_factor(gpus: usize) -> f64 {
    2.0 * (gpus - 1) as f64 / gpus as f64
}

#[cfg(test)]
mod tests {
    use super::bus_bandwidth_factor;

    #[test]
    fn two_gpus_send_everything_once_and_many_almost_twice() {
        assert_eq!(bus_bandwidth_factor(2), 1.0);
        assert_eq!(bus_bandwidth_factor(4), 1.5);
        assert_eq!(bus_bandwidth_factor(8), 1.75);
    }
}
