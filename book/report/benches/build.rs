//! How long a book takes: the fixture book, from its records to checked HTML.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use criterion::{Criterion, criterion_group, criterion_main};

fn build(criterion: &mut Criterion) {
    let book = fixture::Fixture::new();
    criterion.bench_function("build the fixture book", |bencher| {
        bencher.iter(|| book.build().expect("the fixture builds"));
    });
}

criterion_group!(benches, build);
criterion_main!(benches);
