//! What a block costs the host that is taken and given back, in steady state: the
//! bookkeeping alone, without a GPU. (The lesson `allocation` times buffers.)

#[path = "../tests/fake/mod.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod fake;

use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, criterion_group, criterion_main};
use fake::{Fake, World};
use pool::book::Book;

fn book(criterion: &mut Criterion) {
    let world = World::new(usize::MAX);
    let stream = world.stream();
    let mut book = Book::new(Fake(Rc::clone(&world)), usize::MAX);
    criterion.bench_function("book", |bencher| {
        bencher.iter(|| {
            let block = book.take(&stream, black_box(4 << 20));
            book.give(black_box(block.expect("there is memory")));
        });
    });
}

criterion_group!(benches, book);
criterion_main!(benches);
