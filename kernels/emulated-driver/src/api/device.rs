//! Devices and their attributes.

use std::ffi::c_int;

use cudarc::driver::sys::CUresult::*;
use cudarc::driver::sys::CUuuid;

use crate::answer::{Answer, require};
use crate::call::{Out, Room, Text, api};
use crate::driver::{Gpu, Session};
use crate::gpu;

impl Session {
    pub(crate) fn device(&self, device: c_int) -> Answer<usize> {
        require(self.initialised, CUDA_ERROR_NOT_INITIALIZED)?;
        let index = usize::try_from(device).map_err(|_| CUDA_ERROR_INVALID_DEVICE)?;
        require(index < self.gpus.len(), CUDA_ERROR_INVALID_DEVICE)?;
        Ok(index)
    }
}

fn uuid(gpu: usize) -> CUuuid {
    let mut bytes = *b"emulated GPU   0";
    bytes[15] += gpu as u8;
    CUuuid { bytes: bytes.map(|byte| byte as _) }
}

api! {
    fn cuDeviceGetCount(session, count: Out<c_int>) {
        require(session.initialised, CUDA_ERROR_NOT_INITIALIZED)?;
        count.set(session.gpus.len() as c_int)?;
    }

    fn cuDeviceGet(session, device: Out<c_int>, ordinal: c_int) {
        session.device(ordinal)?;
        device.set(ordinal)?;
    }

    fn cuDeviceGetName(session, name: Room, room: c_int, device: c_int) {
        session.device(device)?;
        name.fill(gpu::NAME, usize::try_from(room).unwrap_or(0))?;
    }

    fn cuDeviceGetUuid(session, place: Out<CUuuid>, device: c_int) {
        let gpu = session.device(device)?;
        place.set(uuid(session.gpus[gpu].number))?;
    }

    fn cuDeviceGetUuid_v2(session, place: Out<CUuuid>, device: c_int) {
        let gpu = session.device(device)?;
        place.set(uuid(session.gpus[gpu].number))?;
    }

    fn cuDeviceTotalMem_v2(session, bytes: Out<usize>, device: c_int) {
        session.device(device)?;
        bytes.set(gpu::memory_bytes())?;
    }

    fn cuDeviceGetAttribute(session, value: Out<c_int>, attribute: c_int, device: c_int) {
        let gpu = session.device(device)?;
        let number = session.gpus[gpu].number;
        value.set(gpu::attribute(number, attribute).ok_or(CUDA_ERROR_INVALID_VALUE)?)?;
    }

    fn cuDeviceComputeCapability(
        session, major: Out<c_int>, minor: Out<c_int>, device: c_int,
    ) {
        session.device(device)?;
        major.set(gpu::current().compute.0 as c_int)?;
        minor.set(gpu::current().compute.1 as c_int)?;
    }

    fn cuDeviceGetByPCIBusId(session, device: Out<c_int>, address: Text) {
        let wanted = address.get()?;
        let pci = |gpu: &Gpu| gpu::pci_address(gpu.number).eq_ignore_ascii_case(&wanted);
        let found = session.gpus.iter().position(pci).ok_or(CUDA_ERROR_INVALID_DEVICE)?;
        device.set(found as c_int)?;
    }

    fn cuDeviceGetPCIBusId(session, address: Room, room: c_int, device: c_int) {
        let gpu = session.device(device)?;
        let pci = gpu::pci_address(session.gpus[gpu].number);
        address.fill(&pci, usize::try_from(room).unwrap_or(0))?;
    }
}
