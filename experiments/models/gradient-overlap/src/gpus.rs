//! The GPUs of the machine: their streams and buffers, and what a step queues on all of them.

use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH as COOPERATIVE_LAUNCH;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaModule, CudaSlice, CudaStream, DevicePtr,
};
use lab::check::GUARD;
use lab::libraries::CUBLAS;
use lab::{CannotRun, Case, Lab, Result, nccl};
use peer_access::Access;

use crate::numbers::Shape;
use crate::products::{self, Products};
use crate::sums::{self, Comms, MOST_GPUS};

/// A GPU's streams: for products, and for what runs beside them.
pub(crate) const PRODUCTS: usize = 0;
pub(crate) const BESIDE: usize = 1;

/// The most blocks of threads that a call of NCCL takes, with the communicators after those of
/// the streams.
pub(crate) const FEW_BLOCKS: [usize; 7] = [16, 12, 8, 6, 5, 4, 2];

/// One GPU: its streams, its kernels, its buffers.
pub(crate) struct Gpu {
    pub(crate) streams: [Arc<CudaStream>; 2],
    pub(crate) marks: [CudaEvent; 2],
    pub(crate) kernels: sums::Kernels,
    pub(crate) products: Products,
    pub(crate) inputs: CudaSlice<f32>,
    pub(crate) weights: CudaSlice<f32>,
    pub(crate) gradients: CudaSlice<f32>,
    /// What reaches the output of the last layer; what reaches the others, in turns.
    pub(crate) reaching: [CudaSlice<f32>; 3],
}

/// What multiplies and sums: libraries where there are some, or our kernels.
pub(crate) struct Libraries {
    /// On each GPU our products, if there is no cuBLAS.
    products: Vec<Arc<CudaModule>>,
    nccl: bool,
}

impl Libraries {
    /// Those that are there. An emulated GPU runs none.
    pub(crate) fn find(
        lab: &mut Lab,
        contexts: &[Arc<CudaContext>],
    ) -> Result<Libraries> {
        let is_real = lab.context().attribute(COOPERATIVE_LAUNCH)? != 0;
        let mut products = vec![];
        if !is_real || !CUBLAS.load() {
            let why = "no cuBLAS here, so a simple kernel multiplies";
            lab.skip(Case::new("cublas"), format!("{why} ({})", CUBLAS.install));
            lab.load(products::KERNEL)?;
            for context in contexts {
                products.push(lab.load_on(context, products::KERNEL)?);
            }
        }
        let missing = || Err("an emulated GPU has no NCCL".to_owned());
        let nccl = if is_real { nccl::available() } else { missing() };
        if let Err(why) = &nccl {
            lab.skip(Case::new("nccl"), format!("{why}; a simple kernel sums"));
            for (from, to) in
                contexts.iter().flat_map(|a| contexts.iter().map(move |b| (a, b)))
            {
                if let Access::Refused(why) = peer_access::enable(from, to)? {
                    return Err(CannotRun(why).into());
                }
            }
        }
        Ok(Libraries { products, nccl: nccl.is_ok() })
    }
}

/// All GPUs, each with the same network and a batch of its own.
pub(crate) struct Gpus {
    pub(crate) each: Vec<Gpu>,
    pub(crate) shape: Shape,
    /// NCCL's, for either stream, and with few blocks; none where there is no NCCL.
    pub(crate) comms: Vec<Comms>,
    pub(crate) gradients: [CUdeviceptr; MOST_GPUS],
}

impl Gpus {
    /// With all weights and batches in place.
    pub(crate) fn new(
        lab: &Lab,
        contexts: &[Arc<CudaContext>],
        libraries: &Libraries,
        shape: Shape,
    ) -> Result<Gpus> {
        let batch = shape.rows * shape.width;
        let (mut each, mut gradients) = (vec![], [0; MOST_GPUS]);
        for (rank, context) in contexts.iter().enumerate() {
            let streams = [context.new_stream()?, context.new_stream()?];
            let stream = &streams[PRODUCTS];
            let mut inputs = stream.alloc_zeros(shape.layers * batch)?;
            let mut weights = stream.alloc_zeros(shape.layers * shape.layer())?;
            for layer in 0..shape.layers {
                let mut place = inputs.slice_mut(layer * batch..(layer + 1) * batch);
                stream.memcpy_htod(&shape.input(rank, layer), &mut place)?;
                if layer > 0 {
                    let mut place = weights.slice_mut(shape.of(&(layer..layer + 1)));
                    stream.memcpy_htod(&shape.weights(layer), &mut place)?;
                }
            }
            let zeros = || stream.alloc_zeros(batch);
            let gpu = Gpu {
                marks: [context.new_event(None)?, context.new_event(None)?],
                kernels: sums::Kernels::of(&lab.module_on(context)?)?,
                products: Products::new(stream, libraries.products.get(rank))?,
                inputs,
                weights,
                gradients: stream
                    .alloc_zeros(shape.layers * shape.layer() + GUARD)?,
                reaching: [stream.clone_htod(&shape.top())?, zeros()?, zeros()?],
                streams,
            };
            gradients[rank] = gpu.gradients.device_ptr(&gpu.streams[PRODUCTS]).0;
            each.push(gpu);
        }
        let limits = [None, None].into_iter().chain(FEW_BLOCKS.map(Some));
        let comms = limits
            .filter(|_| libraries.nccl)
            .map(|most_blocks| Comms::new(contexts.iter(), most_blocks))
            .collect::<Result<_>>()?;
        Ok(Gpus { each, shape, comms, gradients })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.each.len()
    }

    /// The stream whose clock times a step: the first GPU's products.
    pub(crate) fn first(&self) -> Arc<CudaStream> {
        self.each[0].streams[PRODUCTS].clone()
    }

    /// Lets all streams begin when the first one gets here, and is done with the step before.
    pub(crate) fn start(&self) -> Result<()> {
        let (first, mark) = (self.first(), &self.each[0].marks[PRODUCTS]);
        for gpu in &self.each {
            first.wait(&gpu.marks[BESIDE])?;
        }
        mark.record(&first)?;
        for stream in self.each.iter().flat_map(|gpu| &gpu.streams) {
            stream.wait(mark)?;
        }
        Ok(())
    }

    /// Lets the first stream go on when the streams up to this one are done, on all GPUs.
    pub(crate) fn finish(&self, upto: usize) -> Result<()> {
        let first = self.first();
        for gpu in &self.each {
            for (which, mark) in gpu.marks.iter().enumerate() {
                mark.record(&gpu.streams[which])?;
                if which <= upto {
                    first.wait(mark)?;
                }
            }
        }
        Ok(())
    }

    /// Waits for all streams.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut streams = self.each.iter().flat_map(|gpu| &gpu.streams);
        streams.try_for_each(|stream| Ok(stream.synchronize()?))
    }
}
