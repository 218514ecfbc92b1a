use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Gpu, Result, Trial, ensure, numbers};

/// Steps that follow each other: the second one's products need the first one's sums.
const STEPS: usize = 2;

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let sums = gpus.iter().map(|gpu| gpu.context.new_stream());
    let sums = sums.collect::<Result<Vec<_>, _>>()?;
    let many: Vec<usize> =
        (0..16).map(|layer| 1000 + layer * 7 % 16 * 150).collect();
    for (sizes, bucket) in [(vec![5], 3), (vec![1, 7, 300, 2], 100), (many, 8000)] {
        let mut end = 0;
        let layer = |size: &usize| {
            end += size;
            end - size..end
        };
        let layers: Vec<_> = sizes.iter().map(layer).collect();
        let net = Net::new(trial, &gpus, layers.clone())?;
        let (products, all_reduce) = (
            |layer| net.products(&gpus, layer),
            |streams: &[Arc<CudaStream>], range| {
                net.all_reduce(&gpus, streams, range)
            },
        );
        let title = format!("{} layers on {} GPUs", layers.len(), gpus.len());
        trial.watch(&title, || {
            for _ in 0..STEPS {
                mine::backward(
                    &gpus,
                    &sums,
                    &layers,
                    bucket,
                    &products,
                    &all_reduce,
                )?;
                net.update(&gpus)?;
            }
            Ok(())
        })?;

        let order: Vec<usize> = (0..layers.len()).rev().collect();
        if *net.passed.borrow() != order.repeat(STEPS) {
            trial.wrong("products: not each layer once, from the last to the first");
        }
        let mut wanted = numbers(end, 0);
        for _ in 0..STEPS {
            let before = wanted.clone();
            for rank in 0..gpus.len() {
                let batch = numbers(end, rank + 1);
                let gradient = before.iter().zip(batch).map(|(w, x)| w + x);
                wanted.iter_mut().zip(gradient).for_each(|(w, sum)| *w += sum);
            }
        }
        for (rank, gpu) in gpus.iter().enumerate() {
            let what = format!("on GPU {rank}: weights");
            let weights = &net.weights.borrow()[rank];
            trial.equal_on_gpu(&what, &gpu.stream, weights, &wanted)?;
        }
        let calls = net.calls.borrow();
        let small =
            calls.iter().filter(|call| call.start > 0 && call.len() < bucket);
        trial.size("small", small.count());
        trial.size("gpus", gpus.len());
        trial.size("numbers", end);
        trial.size("tail", bucket + sizes.iter().max().copied().unwrap_or(0));
    }
    Ok(())
}

/// A network on all GPUs. What belongs to a stream that is never used is copied between GPUs
/// without waiting for anything but what the learner orders.
struct Net {
    layers: Vec<Range<usize>>,
    batches: Vec<CudaSlice<f32>>,
    weights: RefCell<Vec<CudaSlice<f32>>>,
    gradients: RefCell<Vec<CudaSlice<f32>>>,
    inboxes: RefCell<Vec<CudaSlice<f32>>>,
    /// Which layers' products were queued.
    passed: RefCell<Vec<usize>>,
    /// What was summed.
    calls: RefCell<Vec<Range<usize>>>,
}

impl Net {
    fn new(trial: &Trial, gpus: &[Gpu], layers: Vec<Range<usize>>) -> Result<Net> {
        let count = layers[layers.len() - 1].end;
        let (mut batches, mut weights) = (vec![], vec![]);
        let (mut gradients, mut inboxes) = (vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let owner = gpu.context.new_stream()?;
            let name = |what| format!("{what} of GPU {rank}");
            let zeros = |count, what| trial.zeros(&owner, count, &name(what));
            batches.push(owner.clone_htod(&numbers(count, rank + 1))?);
            weights.push(trial.upload(
                &owner,
                &numbers(count, 0),
                &name("weights"),
            )?);
            gradients.push(zeros(count, "gradients")?);
            inboxes.push(zeros(count + gpus.len(), "inbox")?);
            owner.synchronize()?;
        }
        Ok(Net {
            layers,
            batches,
            weights: weights.into(),
            gradients: gradients.into(),
            inboxes: inboxes.into(),
            passed: RefCell::default(),
            calls: RefCell::default(),
        })
    }

    /// Queues a layer's part of the backward pass on all GPUs.
    fn products(&self, gpus: &[Gpu], layer: usize) -> Result<()> {
        ensure!(layer < self.layers.len(), "there is no layer {layer}");
        self.passed.borrow_mut().push(layer);
        let (weights, mut gradients) =
            (self.weights.borrow(), self.gradients.borrow_mut());
        for (rank, gpu) in gpus.iter().enumerate() {
            let place = || self.layers[layer].clone();
            let batch = self.batches[rank].slice(place());
            let weights = weights[rank].slice(place());
            let mut gradients = gradients[rank].slice_mut(place());
            gpu.kernels.add(&gpu.stream, &batch, &weights, &mut gradients)?;
        }
        Ok(())
    }

    /// Queues the sum of a range of the gradients: each GPU sums a part of it, and fetches the
    /// others'.
    fn all_reduce(
        &self,
        gpus: &[Gpu],
        streams: &[Arc<CudaStream>],
        range: Range<usize>,
    ) -> Result<()> {
        let n = gpus.len();
        ensure!(streams.len() == n, "an all-reduce takes a stream on each GPU");
        ensure!(!range.is_empty(), "an all-reduce of nothing");
        self.calls.borrow_mut().push(range.clone());
        let mut inboxes = self.inboxes.borrow_mut();
        let mut gradients = self.gradients.borrow_mut();
        let length = range.len().div_ceil(n);
        let part = |rank: usize| {
            let place = |rank: usize| range.end.min(range.start + rank * length);
            place(rank)..place(rank + 1)
        };
        let others = |rank: usize| (1..n).map(move |step| (rank + step) % n);
        meet(streams)?;
        for (rank, stream) in streams.iter().enumerate() {
            for (slot, other) in others(rank).enumerate() {
                let place = slot * length..slot * length + part(rank).len();
                if !place.is_empty() {
                    let from = gradients[other].slice(part(rank));
                    let mut inbox = inboxes[rank].slice_mut(place.clone());
                    stream.memcpy_dtod(&from, &mut inbox)?;
                    let inbox = inboxes[rank].slice(place);
                    let mut sum = gradients[rank].slice_mut(part(rank));
                    gpus[rank].kernels.accumulate(stream, &inbox, &mut sum)?;
                }
            }
        }
        meet(streams)?;
        for (rank, stream) in streams.iter().enumerate() {
            for other in others(rank).filter(|other| !part(*other).is_empty()) {
                let Ok([to, from]) = gradients.get_disjoint_mut([rank, other])
                else {
                    continue; // a GPU and another one
                };
                let mut to = to.slice_mut(part(other));
                stream.memcpy_dtod(&from.slice(part(other)), &mut to)?;
            }
        }
        meet(streams)
    }

    /// What follows a step on each GPU, in the stream of the products.
    fn update(&self, gpus: &[Gpu]) -> Result<()> {
        let (mut weights, gradients) =
            (self.weights.borrow_mut(), self.gradients.borrow());
        for (rank, gpu) in gpus.iter().enumerate() {
            let mut weights = weights[rank].as_view_mut();
            let gradients = gradients[rank].as_view();
            gpu.kernels.accumulate(&gpu.stream, &gradients, &mut weights)?;
        }
        Ok(())
    }
}

/// Lets each stream wait for what is in all of them by now.
fn meet(streams: &[Arc<CudaStream>]) -> Result<()> {
    let marks = streams.iter().map(|stream| stream.record_event(None));
    let marks = marks.collect::<Result<Vec<_>, _>>()?;
    for stream in streams {
        for mark in &marks {
            stream.wait(mark)?;
        }
    }
    Ok(())
}
