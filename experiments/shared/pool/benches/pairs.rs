//! What a pair costs the host in steady state: a block taken and given back, a buffer
//! allocated and dropped. The first needs no GPU.

#[path = "../tests/fake/mod.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod fake;

use std::hint::black_box;
use std::rc::Rc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use cudarc::driver::{CudaContext, result};
use fake::{Fake, World};
use pool::ledger::Ledger;
use pool::{Options, Pool};

const SIZES: [usize; 3] = [4 << 10, 4 << 20, 1 << 30];

/// The bookkeeping alone.
fn ledger(criterion: &mut Criterion) {
    let world = World::new(usize::MAX);
    let stream = world.stream();
    let mut ledger = Ledger::new(Fake(Rc::clone(&world)), usize::MAX);
    criterion.bench_function("ledger", |bencher| {
        bencher.iter(|| {
            let block = ledger.take(&stream, black_box(4 << 20));
            ledger.give(black_box(block.expect("there is memory")));
        });
    });
}

/// With the mutex and the handles, beside the driver.
fn buffers(criterion: &mut Criterion) {
    // SAFETY: nothing uses CUDA yet, and looking for its library is all this does.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        eprintln!("SKIPPED: pool and driver, because there is no NVIDIA driver");
        return;
    }
    let context = CudaContext::new(0).expect("a GPU");
    let stream = context.new_stream().expect("a stream");
    let pool = Pool::new(&context, Options::default());
    let mut group = criterion.benchmark_group("pair");
    for bytes in SIZES {
        group.bench_function(BenchmarkId::new("pool", bytes), |bencher| {
            bencher.iter(|| {
                // SAFETY: nobody reads it.
                unsafe { pool.alloc::<u8>(&stream, black_box(bytes)) }
                    .expect("memory")
            });
        });
        group.bench_function(
            BenchmarkId::new("cuMemAllocAsync", bytes),
            |bencher| {
                bencher.iter(|| {
                    // SAFETY: it is freed at once, and nobody uses it.
                    unsafe {
                        let cu_stream = stream.cu_stream();
                        let address =
                            result::malloc_async(cu_stream, black_box(bytes));
                        result::free_async(address.expect("memory"), cu_stream)
                    }
                });
                stream.synchronize().expect("an idle stream");
            },
        );
        group.bench_function(BenchmarkId::new("cuMemAlloc", bytes), |bencher| {
            bencher.iter(|| {
                // SAFETY: it is freed at once, and nobody uses it.
                unsafe {
                    let address = result::malloc_sync(black_box(bytes));
                    result::free_sync(address.expect("memory"))
                }
            });
        });
        pool.trim(0);
    }
}

criterion_group!(benches, ledger, buffers);
criterion_main!(benches);
