//! The two kernels: the work, and the check of it.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
    sys::CUdeviceptr,
};
use lab::{Lab, Result};

/// The kernels, on buffers of `words` words.
pub(crate) struct Kernels {
    pub(crate) words: usize,
    /// A number that the work leaves in every word.
    pub(crate) turn: u32,
    work: CudaFunction,
    count_right: CudaFunction,
    right: CudaSlice<u64>,
    threads: u32,
}

impl Kernels {
    pub(crate) fn new(lab: &Lab, stream: &Arc<CudaStream>) -> Result<Kernels> {
        Ok(Kernels {
            words: 0,
            turn: 0,
            work: lab.module()?.load_function("work")?,
            count_right: lab.module()?.load_function("count_right")?,
            right: stream.alloc_zeros(1)?,
            threads: lab.resident_threads()? as u32,
        })
    }

    pub(crate) fn start_counting(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        stream.memset_zeros(&mut self.right)?;
        Ok(stream.synchronize()?)
    }

    /// How many words were right since the counting started.
    pub(crate) fn counted(&self, stream: &Arc<CudaStream>) -> Result<u64> {
        Ok(stream.clone_dtoh(&self.right)?[0])
    }

    pub(crate) fn work(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
        passes: usize,
    ) -> Result<()> {
        self.launch(stream, &self.work, buffer, passes as u64)
    }

    pub(crate) fn count_right(
        &self,
        stream: &Arc<CudaStream>,
        buffer: CUdeviceptr,
    ) -> Result<()> {
        self.launch(
            stream,
            &self.count_right,
            buffer,
            self.right.device_ptr(stream).0,
        )
    }

    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        kernel: &CudaFunction,
        buffer: CUdeviceptr,
        last: u64,
    ) -> Result<()> {
        let mut launch = stream.launch_builder(kernel);
        launch.arg(&buffer).arg(&self.words).arg(&self.turn).arg(&last);
        // SAFETY: the kernels take (buffer, count, turn) and a number of passes, or where
        // to count. The buffer holds `words` words, and `right` one number.
        unsafe { launch.launch(LaunchConfig::for_num_elems(self.threads)) }?;
        Ok(())
    }
}
