use std::sync::Arc;

use cudarc::driver::result::{device, mem_pool};
use cudarc::driver::sys::CUmemPool_attribute::{
    self as Attribute, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT as RESERVED,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT as USED,
};
use cudarc::driver::{CudaContext, sys};
use trial::{Ledger, Result, Trial, ensure, most_bytes, numbers};

const MIB: usize = 1 << 20;
/// A pool grows by this much.
const STEP: usize = 2 * MIB;
/// The large request and its sums need two steps, and the small ones have one.
const CAP: usize = 3 * STEP;
/// What small requests need.
const KEEP: usize = STEP;
/// Numbers of a small request, of a large one, and of one whose sums find no room.
const SMALL: usize = 30_000;
const LARGE: usize = 500_000;
const TOO_LARGE: usize = 1_000_000;

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let streams = [context.new_stream()?, context.new_stream()?];
    let [copies, compute] = &streams;
    let kernels = trial.kernels(&context)?;
    let default = pool(&context)?;
    let weights = compute.clone_htod(&vec![1.0f32; TOO_LARGE])?;
    context.synchronize()?;
    let make = |count: usize, requests: usize| {
        let request = |seed| {
            let mut request = numbers(4, seed);
            request.resize(count, -1.0); // the rest adds up to nothing
            request
        };
        (0..requests).map(request).collect::<Vec<_>>()
    };
    let (small, large) = (make(SMALL, 8), make(LARGE, 1));
    let too_large = make(TOO_LARGE, 1);
    let (mut answers, mut lost, mut kept, mut left) = (vec![], 0, 0, 0);
    trial.watch("27 requests in six batches", || {
        let service = mine::Service::new(&context, CAP, KEEP)?;
        let mut answer = |requests: &[Vec<f32>]| {
            let streams = [copies, compute];
            service.answer(streams, &kernels, &weights, requests)
        };
        for requests in [&small[..], &small, &large, &small] {
            answers.extend(answer(requests)?);
            context.synchronize()?; // nothing is left to do
            lost += usize::from(bytes(&context, RESERVED)? < KEEP);
            kept = bytes(&context, RESERVED)?;
        }
        ensure!(
            answer(&too_large).is_err(),
            "a request for which {} MiB have no room is answered",
            CAP / MIB
        );
        answers.extend(answer(&small[..1])?);
        left = bytes(&context, USED)?;
        ensure!(
            pool(&context)? != default,
            "the GPU's default pool is the current one"
        );
        service.close()?;
        ensure!(
            pool(&context)? == default,
            "the pool from before is not the current one"
        );
        Ok(())
    })?;
    let all = [&small[..], &small, &large, &small, &small[..1]].concat();
    let total = |request: &Vec<f32>| request.iter().map(|number| number + 1.0).sum();
    let wanted: Vec<f32> = all.iter().map(total).collect();
    trial.equal("answers", &answers, &wanted);
    let ledger = trial.ledger();
    // Between operations, and before the pool is destroyed.
    let mut waits: Vec<_> = ledger.waits.iter().map(|wait| wait.queued).collect();
    waits.dedup();
    // Of the first batch.
    let operations =
        ledger.operations.iter().take(waits.first().copied().unwrap_or(0));
    let first =
        Ledger { operations: operations.cloned().collect(), ..Ledger::default() };
    trial.size("most_bytes", most_bytes(&first));
    trial.size("request", 4 * SMALL);
    trial.size("waits", waits.len().saturating_sub(4)); // without the check's
    trial.size("batches", 6);
    trial.size("lost", lost);
    trial.size("kept", kept);
    trial.size("keep", KEEP);
    trial.size("left", left);
    Ok(())
}

/// The pool that the GPU's `alloc` takes from.
fn pool(context: &Arc<CudaContext>) -> Result<sys::CUmemoryPool> {
    // SAFETY: the device is that of the context.
    Ok(unsafe { device::get_mem_pool(context.cu_device()) }?)
}

/// A counter of this pool.
fn bytes(context: &Arc<CudaContext>, name: Attribute) -> Result<usize> {
    let mut bytes = 0u64;
    // SAFETY: the pool is there, and the driver writes 64 bits.
    unsafe {
        mem_pool::get_attribute(pool(context)?, name, (&raw mut bytes).cast())
    }?;
    Ok(bytes as usize)
}
