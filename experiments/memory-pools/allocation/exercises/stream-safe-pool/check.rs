use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Kind, Ledger, Result, Trial, ensure, most_bytes, numbers};

/// Numbers of a block.
const COUNT: usize = 64;
/// Rounds with two requests each.
const ROUNDS: usize = 500;
const CAP_BYTES: usize = 3 * COUNT * size_of::<f32>();

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let streams = [context.new_stream()?, context.new_stream()?];
    let kernels = trial.kernels(&context)?;
    let mut sums = [
        trial.zeros(&streams[0], COUNT, "sum 0")?,
        trial.zeros(&streams[1], COUNT, "sum 1")?,
    ];
    context.synchronize()?;

    let mut pool = mine::Pool::new(CAP_BYTES); // lives until all work is done
    trial.watch("1,000 requests, and some more", || {
        for round in 0..ROUNDS {
            // Each stream has some rounds in a row.
            let turn = round / 5 % 2;
            add(&mut pool, &kernels, &streams[turn], round, &mut sums[turn])?;
        }
        other_sizes(&mut pool, &streams)
    })?;

    for (turn, sum) in sums.iter().enumerate() {
        let mut wanted = vec![0.0; COUNT];
        for round in (0..ROUNDS).filter(|round| round / 5 % 2 == turn) {
            let input = numbers(COUNT, round);
            wanted
                .iter_mut()
                .zip(input)
                .for_each(|(wanted, number)| *wanted += 2.0 * number);
        }
        let what = format!("the sum of stream {turn}");
        trial.equal_on_gpu(&what, &streams[turn], sum, &wanted)?;
    }
    let ledger = trial.ledger();
    trial.size("first_allocations", allocations_before_last_kernel(&ledger));
    trial.size("most_bytes", most_bytes(&ledger));
    trial.size("cap_bytes", CAP_BYTES);
    Ok(())
}

/// Adds twice some numbers to a sum, with two blocks of the pool.
fn add(
    pool: &mut mine::Pool,
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    round: usize,
    sum: &mut CudaSlice<f32>,
) -> Result<()> {
    let mut input = take(pool, stream, COUNT)?;
    let mut output = take(pool, stream, COUNT)?;
    stream.memcpy_htod(&numbers(COUNT, round), &mut input.slice_mut(..COUNT))?;
    kernels.scale(stream, &mut input.slice_mut(..COUNT), 2.0)?;
    let inputs = [input.slice(..COUNT), sum.as_view()];
    kernels.add(stream, &inputs[0], &inputs[1], &mut output.slice_mut(..COUNT))?;
    stream.memcpy_dtod(&output.slice(..COUNT), sum)?;
    pool.give(stream, input)?;
    pool.give(stream, output)
}

/// A block of twice the size has room if one of the others goes.
fn other_sizes(pool: &mut mine::Pool, streams: &[Arc<CudaStream>; 2]) -> Result<()> {
    let [first, second] = streams;
    let mut large = take(pool, first, 2 * COUNT)?;
    first.memset_zeros(&mut large)?;
    let mut small = take(pool, second, COUNT)?;
    second.memset_zeros(&mut small)?;
    let more = pool.take(first, COUNT);
    ensure!(more.is_err(), "the pool gives out more than its cap");
    pool.give(second, small)?;
    // What has failed changes nothing: there is a block again, and room once all are free.
    let mut small = take(pool, first, COUNT)?;
    first.memset_zeros(&mut small)?;
    pool.give(first, small)?;
    pool.give(first, large)?;
    let mut all = take(pool, second, 3 * COUNT)?;
    second.memset_zeros(&mut all)?;
    pool.give(second, all)
}

fn take(
    pool: &mut mine::Pool,
    stream: &Arc<CudaStream>,
    count: usize,
) -> Result<CudaSlice<f32>> {
    let memory = pool.take(stream, count)?;
    let found = memory.len();
    ensure!(found >= count, "`take` gives {found} numbers of {count}");
    Ok(memory)
}

fn allocations_before_last_kernel(ledger: &Ledger) -> usize {
    let operations = &ledger.operations;
    let last = operations.iter().rposition(|o| matches!(o.kind, Kind::Kernel(_)));
    let before = operations.iter().take(last.unwrap_or(0));
    before.filter(|o| o.kind == Kind::Allocate).count()
}
