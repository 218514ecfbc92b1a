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

use crate::communicator::{Communicator, Kernels, MOST_GPUS, Stream, Sums};
use crate::numbers::Shape;
use crate::products::{self, Products};

/// A stream, and how far it has got, for those who wait for it.
pub(crate) struct Queue {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) mark: CudaEvent,
}

impl Queue {
    fn new(context: &Arc<CudaContext>) -> Result<Queue> {
        Ok(Queue { stream: context.new_stream()?, mark: context.new_event(None)? })
    }
}

/// A GPU that trains: its streams, its kernels, its buffers.
pub(crate) struct Trainer {
    pub(crate) products: Queue,
    pub(crate) beside: Queue,
    pub(crate) kernels: Kernels,
    pub(crate) multiplier: Products,
    pub(crate) inputs: CudaSlice<f32>,
    pub(crate) weights: CudaSlice<f32>,
    pub(crate) gradients: CudaSlice<f32>,
    /// What reaches the output of the last layer; what reaches the others, in turns.
    pub(crate) reaching: [CudaSlice<f32>; 3],
}

impl Trainer {
    pub(crate) fn queue(&self, stream: Stream) -> &Queue {
        match stream {
            Stream::Products => &self.products,
            Stream::Beside => &self.beside,
        }
    }
}

/// What multiplies and sums: libraries where there are some, or our kernels.
pub(crate) struct Libraries {
    /// On each GPU our products, if there is no cuBLAS.
    products: Vec<Arc<CudaModule>>,
    nccl: bool,
}

impl Libraries {
    /// Finds the libraries that are there. An emulated GPU runs none.
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
            if let Access::Refused(why) = peer_access::enable_all(contexts)? {
                return Err(CannotRun(why).into());
            }
        }
        Ok(Libraries { products, nccl: nccl.is_ok() })
    }
}

/// All GPUs, each with the same network and a batch of its own.
pub(crate) struct Trainers {
    pub(crate) each: Vec<Trainer>,
    pub(crate) shape: Shape,
    /// One for either stream, and those with few blocks; none where there is no NCCL.
    communicators: Vec<Communicator>,
    pub(crate) gradients: [CUdeviceptr; MOST_GPUS],
}

impl Trainers {
    /// Trainers with all weights and batches in place.
    pub(crate) fn new(
        lab: &Lab,
        contexts: &[Arc<CudaContext>],
        libraries: &Libraries,
        shape: Shape,
    ) -> Result<Trainers> {
        let batch = shape.rows * shape.width;
        let (mut each, mut gradients) = (vec![], [0; MOST_GPUS]);
        for (rank, context) in contexts.iter().enumerate() {
            let products = Queue::new(context)?;
            let stream = &products.stream;
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
            let trainer = Trainer {
                beside: Queue::new(context)?,
                kernels: Kernels::of(&lab.module_on(context)?)?,
                multiplier: Products::new(stream, libraries.products.get(rank))?,
                inputs,
                weights,
                gradients: stream
                    .alloc_zeros(shape.layers * shape.layer() + GUARD)?,
                reaching: [stream.clone_htod(&shape.top())?, zeros()?, zeros()?],
                products,
            };
            gradients[rank] =
                trainer.gradients.device_ptr(&trainer.products.stream).0;
            each.push(trainer);
        }
        let communicators = Sums::all(1)
            .filter(|_| libraries.nccl)
            .map(|sums| Communicator::new(contexts, sums.stream, sums.most_blocks))
            .collect::<Result<_>>()?;
        Ok(Trainers { each, shape, communicators, gradients })
    }

    pub(crate) fn has_nccl(&self) -> bool {
        !self.communicators.is_empty()
    }

    /// NCCL's communicator for such calls.
    pub(crate) fn communicator(&self, sums: Sums) -> Option<&Communicator> {
        let mut all = self.communicators.iter();
        all.find(|one| {
            one.stream == sums.stream && one.most_blocks == sums.most_blocks
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.each.len()
    }

    /// The stream whose clock times a step: the first GPU's products.
    pub(crate) fn first(&self) -> Arc<CudaStream> {
        self.each[0].products.stream.clone()
    }

    /// Lets all streams begin when the first one gets here, and is done with the step before.
    pub(crate) fn start(&self) -> Result<()> {
        let Queue { stream: first, mark } = &self.each[0].products;
        for trainer in &self.each {
            first.wait(&trainer.beside.mark)?;
        }
        mark.record(first)?;
        self.queues().try_for_each(|queue| Ok(queue.stream.wait(mark)?))
    }

    /// Lets the first stream go on when this one is done, on all GPUs: the products' alone, or
    /// the one beside it, too.
    pub(crate) fn finish(&self, waits_for: Stream) -> Result<()> {
        let first = self.first();
        for Trainer { products, beside, .. } in &self.each {
            products.mark.record(&products.stream)?;
            first.wait(&products.mark)?;
            beside.mark.record(&beside.stream)?;
            if waits_for == Stream::Beside {
                first.wait(&beside.mark)?;
            }
        }
        Ok(())
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.each.iter().flat_map(|trainer| [&trainer.products, &trainer.beside])
    }

    /// Waits for all streams.
    pub(crate) fn wait(&self) -> Result<()> {
        self.queues().try_for_each(|queue| Ok(queue.stream.synchronize()?))
    }
}
