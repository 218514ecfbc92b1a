//! A vector on the GPU, the kernel that multiplies it, and graphs of that kernel.

use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaModule, CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::{Result, check};

// SAFETY: threads of `step` at or past `count` do nothing; the others use element i of
// `x`. `stamped` runs in one block that has a thread for each element of `x`; `times` has
// an entry for each `number`.
lab::kernels! { unsafe "launch-overhead" {
    fn step(x: &mut CudaSlice<u32>, count: u32, multiplier: u32, steps: u32);
    fn stamped(
        x: &mut CudaSlice<u32>, times: &mut CudaSlice<[u64; 2]>,
        multiplier: u32, steps: u32, number: u32,
    );
} }

/// What a step multiplies an element by.
pub(crate) const MULTIPLIER: u32 = 1_664_525;
/// Threads of a block.
pub(crate) const BLOCK: u32 = 1024;

/// A vector on the GPU, and how many steps were applied to it.
pub(crate) struct Vector<'a> {
    pub(crate) kernels: Kernels,
    pub(crate) stream: &'a Arc<CudaStream>,
    /// The vector's elements, and words after them that nothing changes.
    pub(crate) x: CudaSlice<u32>,
    pub(crate) elements: u32,
    pub(crate) applied: u32,
}

impl<'a> Vector<'a> {
    pub(crate) fn new(
        module: &Arc<CudaModule>,
        stream: &'a Arc<CudaStream>,
        elements: u32,
    ) -> Result<Vector<'a>> {
        let words = elements as usize + check::GUARD;
        let input: Vec<u32> = (0..words).map(check::value).collect();
        let x = stream.clone_htod(&input)?;
        Ok(Vector { kernels: Kernels::of(module)?, stream, x, elements, applied: 0 })
    }

    // ANCHOR: launch
    /// Launches a kernel that does `steps` steps.
    pub(crate) fn launch(&mut self, steps: u32) -> Result<()> {
        let Vector { kernels, stream, x, elements, applied } = self;
        *applied += steps;
        let grid = blocks(elements.div_ceil(BLOCK) as usize, BLOCK as usize);
        kernels.step(stream, grid, x, *elements, MULTIPLIER, steps)
    }
    // ANCHOR_END: launch

    // ANCHOR: graph
    /// A graph of this many launches, recorded but not run; and its steps.
    pub(crate) fn capture(
        &mut self,
        launches: u32,
        mut launch: impl FnMut(&mut Self, u32) -> Result<()>,
    ) -> Result<(CudaGraph, u32)> {
        let before = self.applied;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // ANCHOR: record
        self.stream.begin_capture(mode)?;
        (0..launches).try_for_each(|number| launch(self, number))?;
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0))?;
        // ANCHOR_END: record
        let steps = self.applied - before;
        self.applied = before; // nothing ran yet
        Ok((graph.expect("the stream was capturing"), steps))
    }

    /// Launches a graph, with one call.
    pub(crate) fn replay(
        &mut self,
        (graph, steps): &(CudaGraph, u32),
    ) -> Result<()> {
        self.applied += steps;
        Ok(graph.launch()?)
    }
    // ANCHOR_END: graph

    /// Compares every element with the same steps on the host. What comes after them is as
    /// it was.
    pub(crate) fn check(&self) -> Result<u64> {
        let got = self.stream.clone_dtoh(&self.x)?;
        let factor = MULTIPLIER.wrapping_pow(self.applied);
        let elements = self.elements as usize;
        check::every_element("chain", &got, |i| {
            check::value(i).wrapping_mul(if i < elements { factor } else { 1 })
        })?;
        Ok(self.elements.into())
    }
}
