//! Graphs by capture.

use std::ffi::{c_uint, c_ulonglong};
use std::sync::Arc;

use cudarc::driver::sys::CUresult::*;

use crate::call::{Out, api};

/// Flags of an executable graph that may be combined: free on launch, upload, priorities.
const EXECUTABLE_FLAGS: c_ulonglong = 0b1011;

api! {
    fn cuStreamBeginCapture_v2(session, stream: usize, mode: c_uint) {
        let queue = session.queue(stream)?;
        if mode > 2 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        session.begin_capture(queue)?;
    }

    fn cuStreamEndCapture(session, stream: usize, graph: Out<usize>) {
        let queue = session.queue(stream)?;
        graph.check()?;
        let captured = session.end_capture(queue)?;
        graph.set(session.graphs.insert(Arc::new(captured)))?;
    }

    fn cuStreamIsCapturing(session, stream: usize, status: Out<c_uint>) {
        let queue = session.queue(stream)?;
        status.set(session.capture_status(queue))?;
    }

    fn cuGraphInstantiateWithFlags(
        session, executable: Out<usize>, graph: usize, flags: c_ulonglong,
    ) {
        executable.check()?;
        let graph = session.graphs.get(graph).ok_or(CUDA_ERROR_INVALID_VALUE)?.clone();
        if flags & !EXECUTABLE_FLAGS != 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        executable.set(session.executables.insert(graph))?;
    }

    /// There is nothing to bring to the GPU in advance.
    fn cuGraphUpload(session, executable: usize, stream: usize) {
        session.queue(stream)?;
        session.executables.get(executable).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    }

    fn cuGraphLaunch(session, executable: usize, stream: usize) {
        let queue = session.queue(stream)?;
        let graph = session.executables.get(executable).ok_or(CUDA_ERROR_INVALID_VALUE)?.clone();
        session.launch_graph(&graph, queue)?;
    }

    /// What was launched keeps what it needs.
    fn cuGraphExecDestroy(session, executable: usize) {
        session.executables.remove(executable).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    }

    fn cuGraphDestroy(session, graph: usize) {
        session.graphs.remove(graph).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    }
}
