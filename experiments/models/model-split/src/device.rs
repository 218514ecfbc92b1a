//! A GPU that trains: its stream, its kernels, and what it holds.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, CudaView, DevicePtr, DeviceSlice,
    result,
};
use lab::launch::threads;
use lab::{Lab, Result};

use crate::cut::{Part, Shape, Share};

/// Words of a GPU's memory. Kernels and copies write into it, too.
pub(crate) type Words<'a> = CudaView<'a, u32>;

// SAFETY: threads past an edge neither load nor store; others use element (row, column) of
// matrices that have `samples`, `inputs` and `outputs` rows and columns, or element i of
// `count`, as `Trainer::new` allocates them. Events order what GPUs write for each other.
lab::kernels! { unsafe "model-split" {
    fn forward(
        x: &Words<'_>, w: &Words<'_>, y: &Words<'_>,
        samples: u32, inputs: u32, outputs: u32, relu: u32,
    );
    fn weights_back(
        x: &Words<'_>, dz: &Words<'_>, dw: &Words<'_>,
        samples: u32, inputs: u32, outputs: u32,
    );
    fn inputs_back(
        dz: &Words<'_>, w: &Words<'_>, x: &Words<'_>, dx: &Words<'_>,
        samples: u32, inputs: u32, outputs: u32, relu: u32,
    );
    fn add(sum: &Words<'_>, inbox: &CudaSlice<u32>, count: u32, pieces: u32);
    fn update(w: &CudaSlice<u32>, dw: &CudaSlice<u32>, count: u32);
    fn fill(
        memory: &Words<'_>, count: u32, columns: u32, stride: u32, first: u32,
    );
} }

/// A GPU that trains its share of a net on its share of a batch.
pub(crate) struct Trainer {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    /// How far the stream has got, for those who wait for it.
    pub(crate) mark: CudaEvent,
    pub(crate) share: Share,
    /// All weights that this GPU keeps, one layer's part behind the other.
    pub(crate) weights: CudaSlice<u32>,
    /// The gradients of these weights, in the same places.
    pub(crate) gradients: CudaSlice<u32>,
    /// Where in both of them a layer's part lies; nowhere, if it is another GPU's.
    places: Vec<Range<usize>>,
    /// Room for one layer's borrowed weights, and for their gradient.
    borrowed: Option<[CudaSlice<u32>; 2]>,
    /// What goes into each layer of this GPU, and what comes out of the last.
    activations: Vec<CudaSlice<u32>>,
    /// Gradients of what goes into even layers, and into odd ones.
    reaching: [CudaSlice<u32>; 2],
    /// What others have sent, to be added.
    pub(crate) inbox: CudaSlice<u32>,
}

impl Trainer {
    pub(crate) fn new(
        lab: &Lab,
        context: &Arc<CudaContext>,
        share: Share,
    ) -> Result<Trainer> {
        let stream = context.new_stream()?;
        let room = |words: usize| stream.alloc_zeros::<u32>(words.max(1));
        let Shape { width, layers, .. } = share.shape;
        let (rows, square) = (share.rows.len(), width * width);
        let (mut places, mut end) = (vec![0..0; layers], 0);
        for part in &share.parts {
            places[part.layer] = end..end + part.words();
            end += part.words();
        }
        let borrowed = match share.borrows {
            true => Some([room(square)?, room(square)?]),
            false => None,
        };
        let activations =
            share.activations().map(|layer| room(rows * share.width(layer)));
        Ok(Trainer {
            context: context.clone(),
            kernels: Kernels::of(&lab.module_on(context)?)?,
            mark: context.new_event(None)?,
            weights: room(end)?,
            gradients: room(end)?,
            places,
            borrowed,
            activations: activations.collect::<Result<_, _>>()?,
            reaching: [room(rows * width)?, room(rows * width)?],
            inbox: room(share.inbox)?,
            share,
            stream,
        })
    }

    /// The part of a layer's weights that this GPU keeps.
    pub(crate) fn own_weights(&self, layer: usize) -> Words<'_> {
        self.weights.slice(self.places[layer].clone())
    }

    /// The gradient of that part.
    pub(crate) fn own_gradient(&self, layer: usize) -> Words<'_> {
        self.gradients.slice(self.places[layer].clone())
    }

    /// The weights that a layer computes with: borrowed ones, or this GPU's own.
    pub(crate) fn used_weights(&self, layer: usize) -> Words<'_> {
        match &self.borrowed {
            Some([weights, _]) => weights.as_view(),
            None => self.own_weights(layer),
        }
    }

    /// The gradient of these weights.
    pub(crate) fn used_gradient(&self, layer: usize) -> Words<'_> {
        match &self.borrowed {
            Some([_, gradient]) => gradient.as_view(),
            None => self.own_gradient(layer),
        }
    }

    /// Some rows of what goes into a layer; after the last, of what comes out.
    pub(crate) fn activation(&self, layer: usize, rows: &Range<usize>) -> Words<'_> {
        let activation = &self.activations[layer - self.share.layers.start];
        activation.slice(self.share.words_of(layer, rows))
    }

    /// The gradient of these rows.
    pub(crate) fn reaching(&self, layer: usize, rows: &Range<usize>) -> Words<'_> {
        self.reaching[layer % 2].slice(self.share.words_of(layer, rows))
    }

    /// Bytes of activations.
    pub(crate) fn activation_bytes(&self) -> usize {
        self.activations.iter().map(CudaSlice::num_bytes).sum()
    }

    /// Bytes of what is neither weights, nor gradients of weights, nor activations.
    pub(crate) fn buffer_bytes(&self) -> usize {
        let buffers = self.borrowed.iter().flatten().chain(&self.reaching);
        buffers.chain([&self.inbox]).map(CudaSlice::num_bytes).sum()
    }

    /// Fills weights and input as they are before a step, and clears gradients.
    pub(crate) fn begin(&self) -> Result<()> {
        self.clear(&self.gradients.as_view())?;
        let Shape { width, layers, .. } = self.share.shape;
        let fill = |memory: Words<'_>, columns: usize, first: usize| {
            let (stream, grid) = (&self.stream, threads(memory.len()));
            let [count, columns, stride, first] =
                [memory.len(), columns, width, first].map(|n| n as u32);
            self.kernels.fill(stream, grid, &memory, count, columns, stride, first)
        };
        for Part { layer, first, columns, .. } in &self.share.parts {
            let first = layer * width * width + first;
            fill(self.own_weights(*layer), *columns, first)?;
        }
        if self.share.layers.start == 0 {
            let first = layers * width * width + self.share.rows.start * width;
            fill(self.activation(0, &(0..self.share.rows.len())), width, first)?;
        }
        Ok(())
    }

    pub(crate) fn clear(&self, memory: &Words<'_>) -> Result<()> {
        self.context.bind_to_thread()?;
        let (bytes, stream) = (memory.num_bytes(), self.stream.cu_stream());
        let address = memory.device_ptr(&self.stream).0;
        // SAFETY: that many bytes are there, and only this stream uses them.
        Ok(unsafe { result::memset_d8_async(address, 0, bytes, stream) }?)
    }
}
