//! Launches that may start before the kernel before them has ended: *programmatic dependent
//! launch*. Such a kernel says itself where it waits.

use std::ffi::c_void;

use cudarc::driver::sys;
use cudarc::driver::{CudaSlice, DevicePtr};
use lab::{Case, Lab, Result};

use crate::vector::{BLOCK, MULTIPLIER, Vector};

// SAFETY: runs in one block that has a thread for each element of `x`; `times` has an entry for
// each `number`.
lab::kernels! { unsafe "launch-overhead-dependent" {
    fn dependent(
        x: &mut CudaSlice<u32>, times: &mut CudaSlice<[u64; 2]>,
        multiplier: u32, steps: u32, number: u32,
    );
} }

/// The kernel that can start early.
pub(crate) struct Early(Kernels);

impl Early {
    /// Where the GPU can; otherwise it is skipped.
    pub(crate) fn load(lab: &mut Lab) -> Result<Option<Early>> {
        let Some(module) = lab.load(KERNEL)? else {
            let why =
                "launches that start early need a GPU of compute capability 9.0";
            lab.skip(Case::new("early_gap"), why);
            return Ok(None);
        };
        Ok(Some(Early(Kernels::of(&module)?)))
    }

    // ANCHOR: early
    /// Launches kernel `number` of a chain, so that its block is there before it may begin.
    pub(crate) fn launch(
        &self,
        vector: &mut Vector,
        mut steps: u32,
        times: &mut CudaSlice<[u64; 2]>,
        mut number: u32,
    ) -> Result<()> {
        vector.applied += steps;
        let stream = vector.stream;
        let mut early = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue {
                programmaticStreamSerializationAllowed: 1,
            },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: BLOCK,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream.cu_stream(),
            attrs: &raw mut early,
            numAttrs: 1,
        };
        let (mut x, mut out) =
            (vector.x.device_ptr(stream).0, times.device_ptr(stream).0);
        let mut multiplier = MULTIPLIER;
        let mut arguments: [*mut c_void; 5] = [
            (&raw mut x).cast(),
            (&raw mut out).cast(),
            (&raw mut multiplier).cast(),
            (&raw mut steps).cast(),
            (&raw mut number).cast(),
        ];
        let (_, function) = &self.0.dependent[0];
        stream.context().bind_to_thread()?;
        // SAFETY: the arguments are those of the declaration above, whose number and sizes were
        // compared with the kernel's; the driver copies them, and the attribute, in the call.
        let launched = unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                function.cu_function(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        Ok(launched.result()?)
    }
    // ANCHOR_END: early
}
