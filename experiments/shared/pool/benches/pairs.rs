//! What a block costs the host that is taken and given back, in steady state: the
//! bookkeeping alone, without a GPU. (The lesson `allocation` times buffers.)

#[path = "../tests/fake/mod.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod fake;

use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, criterion_group, criterion_main};
use fake::{Fake, World};
use pool::ledger::Ledger;

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

criterion_group!(benches, ledger);
criterion_main!(benches);
