//! What a block costs the host that is taken and given back, in steady state: the
//! bookkeeping alone, without a GPU. (The lesson `allocation` times buffers.)

#[path = "../tests/fake/mod.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod fake;

use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, criterion_group, criterion_main};
use fake::{Fake, World};
use pool::shelves::Shelves;

fn pairs(criterion: &mut Criterion) {
    let world = World::new(usize::MAX);
    let stream = world.stream();
    let pool = Shelves::new(Fake(Rc::clone(&world)), usize::MAX);
    for (name, thread) in [("shelf", 0), ("book", usize::MAX)] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let block = pool.take(thread, &stream, black_box(4 << 20));
                pool.give(thread, black_box(block.expect("there is memory")));
            });
        });
    }
}

criterion_group!(benches, pairs);
criterion_main!(benches);
