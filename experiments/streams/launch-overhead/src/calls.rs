//! What the host pays: for a call that launches a kernel, for one that launches a graph,
//! and for making the graph.

use std::sync::Arc;

use cudarc::driver::{CudaGraph, CudaStream};
use lab::{Case, Lab, Result};

use crate::vector::{BLOCK, Vector};

pub(crate) fn measure(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let settle = || Ok(stream.synchronize()?);
    // 4. A call that launches a kernel, while the queue has room.
    let mut vector = Vector::new(lab.module()?, stream, BLOCK)?;
    Case::new("launch_call")
        .time_calls(lab, 500, || vector.launch(1), settle)?
        .checked(vector.check()?)
        .record(lab)?;

    for nodes in [10, 1000] {
        let case = |name| Case::new(name).with("nodes", nodes as usize);
        // 5. A call that launches a graph of this many kernels.
        let mut vector = Vector::new(lab.module()?, stream, BLOCK)?;
        let make = |vector: &mut Vector| vector.capture(nodes, |v, _| v.launch(1));
        let graph = make(&mut vector)?;
        let calls = (500 / nodes).clamp(1, 100);
        case("graph_call")
            .time_calls(lab, calls, || vector.replay(&graph), settle)?
            .checked(vector.check()?)
            .record(lab)?;

        // 6. Making the graph, and sending it to the GPU before its first launch.
        case("graph_made").time_on_host(lab, || make(&mut vector))?.record(lab)?;
        let upload = |(graph, _): (CudaGraph, u32)| {
            graph.upload()?;
            stream.synchronize()?;
            Ok(graph)
        };
        case("graph_uploaded")
            .time_on_host_after(lab, || make(&mut vector), upload)?
            .record(lab)?;
    }
    Ok(())
}
