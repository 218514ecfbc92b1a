//! Of NVML: the driver's release and the PCIe link.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::call::{Out, Room};
use crate::settings::peaks;

const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(version: Room, room: c_uint) -> c_int {
    told(version.fill("570.0 (test driver)", room as usize).is_ok())
}

/// There is one handle, whatever the address, for nothing told is another GPU's.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    _address: *const c_char,
    device: Out<*const c_void>,
) -> c_int {
    told(device.set(c"any address but null".as_ptr().cast()).is_ok())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCurrPcieLinkGeneration(
    _device: *const c_void,
    generation: Out<c_uint>,
) -> c_int {
    told(peaks()[1] > 0 && generation.set(peaks()[1]).is_ok())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCurrPcieLinkWidth(_device: *const c_void, lanes: Out<c_uint>) -> c_int {
    told(peaks()[2] > 0 && lanes.set(peaks()[2]).is_ok())
}

fn told(told: bool) -> c_int {
    if told { SUCCESS } else { NOT_SUPPORTED }
}
