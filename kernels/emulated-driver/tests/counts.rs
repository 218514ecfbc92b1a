//! What the emulated driver tells of its kernels. Alone, because it tells of all of them.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use common::{add, context, counts, module};

#[test]
fn a_kernel_computes_and_is_counted() {
    let context = context(0);
    let (stream, kernels) = (context.new_stream().unwrap(), module(&context));
    let words: Vec<u32> = (0..10_000).collect();
    let mut data = stream.clone_htod(&words).unwrap();
    counts();
    add(&stream, &kernels, &mut data, 7).unwrap();
    assert_eq!(counts()["launches"], 0, "it has not run yet");
    let got = stream.clone_dtoh(&data).unwrap();
    assert!(got.iter().zip(&words).all(|(got, word)| *got == word + 7));
    let counts = counts();
    assert_eq!(counts["launches"], 1);
    assert_eq!(counts["global_load_requests"], 10_000u64.div_ceil(32));
    assert_eq!(counts["global_load_sectors"], 10_000 / 8);
    assert_eq!(counts["global_store_sectors"], 10_000 / 8);
    assert!(!counts.contains_key("async_copy_sectors"));
}
