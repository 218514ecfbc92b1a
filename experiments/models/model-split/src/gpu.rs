//! A GPU, and what it holds.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr};
use lab::launch::threads;
use lab::{Lab, Result};

use crate::cut::{Cut, Part, Shape};
use crate::layer::Kernels;

/// The address of an element of an array of words.
pub(crate) fn at(start: CUdeviceptr, element: usize) -> CUdeviceptr {
    start + (size_of::<u32>() * element) as u64
}

/// Kinds of memory.
pub(crate) const WEIGHTS: usize = 0;
const GRADIENTS: usize = 1;
const ACTIVATIONS: usize = 2;
const BUFFERS: usize = 3;

/// Where a layer's weights and their gradients are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Weights {
    pub(crate) w: CUdeviceptr,
    pub(crate) dw: CUdeviceptr,
}

/// A GPU and what it holds. Of a layer that is another's, it has no address.
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    /// How far its stream has got, for those who wait for it.
    pub(crate) mark: CudaEvent,
    pub(crate) cut: Cut,
    /// What it keeps: all its parts of layers, one behind the other, and each layer's.
    pub(crate) kept: Weights,
    pub(crate) own: Vec<Weights>,
    /// What each layer computes with: its own, or borrowed weights.
    pub(crate) used: Vec<Weights>,
    /// What goes into each layer, and what comes out of the last.
    pub(crate) x: Vec<CUdeviceptr>,
    /// Gradients of what goes into even layers, and into odd ones.
    pub(crate) dx: [CUdeviceptr; 2],
    /// What others have sent, to be added.
    pub(crate) inbox: CUdeviceptr,
    /// Its memory, by its kind.
    pub(crate) held: [Vec<CudaSlice<u32>>; 4],
}

impl Gpu {
    pub(crate) fn new(
        lab: &Lab,
        context: &Arc<CudaContext>,
        cut: Cut,
    ) -> Result<Gpu> {
        let stream = context.new_stream()?;
        let mut held = <[Vec<CudaSlice<u32>>; 4]>::default();
        let mut room = |kind: usize, words: usize| -> Result<CUdeviceptr> {
            let memory = stream.alloc_zeros(words.max(1))?;
            let address = memory.device_ptr(&stream).0;
            held[kind].push(memory);
            Ok(address)
        };
        let Shape { width, layers, .. } = cut.shape;
        let (rows, square) = (cut.rows.len(), width * width);
        let kept = Weights {
            w: room(WEIGHTS, cut.words())?,
            dw: room(GRADIENTS, cut.words())?,
        };
        let (mut own, mut before) = (vec![Weights::default(); layers], 0);
        for part in &cut.parts {
            own[part.layer] =
                Weights { w: at(kept.w, before), dw: at(kept.dw, before) };
            before += part.words();
        }
        let used = match cut.borrows {
            true => {
                vec![
                    Weights { w: room(BUFFERS, square)?, dw: room(BUFFERS, square)? };
                    layers
                ]
            }
            false => own.clone(),
        };
        let mut x = vec![0; layers + 1];
        for layer in cut.activations() {
            x[layer] = room(ACTIVATIONS, rows * cut.width(layer))?;
        }
        let dx = [room(BUFFERS, rows * width)?, room(BUFFERS, rows * width)?];
        let inbox = room(BUFFERS, cut.inbox)?;
        let kernels = Kernels::of(&lab.module_on(context)?)?;
        let (context, mark) = (context.clone(), context.new_event(None)?);
        Ok(Gpu {
            context,
            stream,
            kernels,
            mark,
            cut,
            kept,
            own,
            used,
            x,
            dx,
            inbox,
            held,
        })
    }

    /// Fills weights and input as they are before a step, and clears gradients.
    pub(crate) fn begin(&self) -> Result<()> {
        self.clear(self.kept.dw, self.cut.words())?;
        let Shape { width, layers, .. } = self.cut.shape;
        let fill = |memory, words: usize, columns: usize, first: usize| {
            let (stream, grid) = (&self.stream, threads(words));
            let [count, columns, stride, first] =
                [words, columns, width, first].map(|n| n as u32);
            self.kernels.fill(stream, grid, memory, count, columns, stride, first)
        };
        for part @ Part { layer, first, columns, .. } in &self.cut.parts {
            let first = layer * width * width + first;
            fill(self.own[*layer].w, part.words(), *columns, first)?;
        }
        if self.x[0] != 0 {
            let Range { start, end } = self.cut.rows;
            let first = layers * width * width + start * width;
            fill(self.x[0], (end - start) * width, width, first)?;
        }
        Ok(())
    }
}
