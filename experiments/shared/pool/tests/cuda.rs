//! Buffers as a program uses them, on the driver for tests, which makes a copy with pinned
//! memory as late as its stream allows. Each test runs in a process of its own.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::thread;

use cudarc::driver::{CudaContext, CudaStream, DevicePtr};
use pool::{Buffer, Error, Options, Pool};
use test_driver::alone;

const MIB: usize = 1 << 20;

fn gpu() -> (Arc<CudaContext>, Arc<CudaStream>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    let streams = (context.new_stream().unwrap(), context.new_stream().unwrap());
    (context, streams.0, streams.1)
}

fn unset<'a>(pool: &'a Pool, stream: &Arc<CudaStream>, len: usize) -> Buffer<'a, u8> {
    // SAFETY: every byte is valid.
    unsafe { pool.alloc(stream, len) }.unwrap()
}

#[test]
fn memory_is_used_again_and_zeroed_if_wanted() {
    alone(&[], || {
        let (context, stream, _) = gpu();
        let pool = Pool::new(&context, Options::default());
        let mut buffer = unset(&pool, &stream, 1000);
        let sevens = [7; 1000];
        stream.memcpy_htod(&sevens, &mut buffer.view_mut()).unwrap();
        let first = buffer.address();
        drop(buffer);

        let buffer = unset(&pool, &stream, 900);
        assert_eq!(buffer.address(), first);
        assert_eq!(buffer.view().device_ptr(&stream).0, first);
        assert_eq!((buffer.len(), buffer.view().len()), (900, 900));
        let left = stream.clone_dtoh(&buffer.view()).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(left, [7; 900]);
        drop(buffer);

        let buffer = pool.alloc_zeros::<u32>(&stream, 200).unwrap();
        let zeros = stream.clone_dtoh(&buffer.view()).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(zeros, [0; 200]);
        drop(buffer);
        let stats = pool.stats();
        assert_eq!((stats.allocated, stats.reused, stats.in_use_bytes), (1, 2, 0));
    });
}

#[test]
fn nothing_is_left_when_the_pool_is_dropped() {
    alone(&[], || {
        let (context, first, second) = gpu();
        let before = context.mem_get_info().unwrap();
        let pool = Pool::new(&context, Options::default());
        let mut kept = unset(&pool, &first, MIB);
        let used_on_both = {
            let mut buffer = unset(&pool, &second, MIB);
            buffer.also_used_on(&first).unwrap();
            buffer
        };
        drop(unset(&pool, &first, 3 * MIB));
        assert_eq!(pool.stats().held_bytes, 6 * MIB);
        // A stream that only the pool knows leaves its blocks to the next new one.
        drop(unset(&pool, &context.new_stream().unwrap(), 2 * MIB));
        drop(unset(&pool, &context.new_stream().unwrap(), 2 * MIB));
        assert_eq!(pool.stats().allocated, 4);

        drop(used_on_both);
        let ones = vec![1; MIB];
        first.memcpy_htod(&ones, &mut kept.view_mut()).unwrap();
        drop((first, second));
        let stream = kept.stream().clone();
        let got = stream.clone_dtoh(&kept.view()).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(got, ones);
        drop(kept);
        drop(pool);
        assert_eq!(context.mem_get_info().unwrap(), before);
    });
}

#[test]
fn threads_share_a_pool() {
    alone(&[], || {
        let (context, stream, _) = gpu();
        let before = context.mem_get_info().unwrap();
        let pool = Pool::new(&context, Options { cap_bytes: 16 * MIB });
        thread::scope(|scope| {
            for mark in 0..4u8 {
                let (pool, context, common) = (&pool, &context, &stream);
                scope.spawn(move || {
                    let own = context.new_stream().unwrap();
                    let marks = [mark; 100];
                    for round in 0..200 {
                        let stream = if round % 2 == 0 { &own } else { common };
                        let mut buffer = unset(pool, stream, MIB);
                        stream.memcpy_htod(&marks, &mut buffer.view_mut()).unwrap();
                        // Dropped by another thread.
                        thread::scope(|scope| _ = scope.spawn(|| drop(buffer)));
                        stream.synchronize().unwrap();
                    }
                });
            }
        });
        let stats = pool.stats();
        assert_eq!(stats.in_use_bytes, 0);
        assert!(stats.peak_bytes <= 16 * MIB && stats.allocated <= 16);
        drop(pool);
        assert_eq!(context.mem_get_info().unwrap(), before);
    });
}

/// Threads at once, each with a stream of its own; what a thread that has ended gave back, and
/// what lies on another thread's shelf, is there for the next one.
#[test]
fn threads_leave_nothing_behind() {
    alone(&[], || {
        const THREADS: usize = 8;
        let (context, stream, _) = gpu();
        let before = context.mem_get_info().unwrap();
        let pool = Pool::new(&context, Options { cap_bytes: THREADS * MIB });
        let streams = [(); THREADS].map(|()| context.new_stream().unwrap());
        let meet = Barrier::new(THREADS);
        thread::scope(|scope| {
            for stream in &streams {
                scope.spawn(|| {
                    meet.wait();
                    let addresses: HashSet<_> =
                        (0..1000).map(|_| unset(&pool, stream, MIB).address()).collect();
                    assert_eq!(addresses.len(), 1, "its own block each time");
                    meet.wait();
                });
            }
        });
        let stats = pool.stats();
        assert_eq!((stats.in_use_bytes, stats.held_bytes), (0, THREADS * MIB));
        assert_eq!((stats.allocated, stats.reused), (8, 8 * 999));
        // A thread after another, on one stream: one block serves them all.
        for _ in 0..100 {
            thread::scope(|scope| _ = scope.spawn(|| drop(unset(&pool, &stream, MIB))));
        }
        assert_eq!((pool.stats().allocated, pool.stats().moved), (8, 1));
        // All eight at once, for one thread.
        let all = [(); THREADS].map(|()| unset(&pool, &stream, MIB));
        assert_eq!(all.map(|buffer| buffer.address()).into_iter().collect::<HashSet<_>>().len(), 8);
        pool.trim(0);
        assert_eq!((pool.stats().held_bytes, context.mem_get_info().unwrap()), (0, before));
    });
}

#[test]
fn out_of_memory_leaves_the_pool_usable() {
    alone(&[("TEST_DRIVER_MEMORY", "8")], || {
        let (context, stream, other) = gpu();
        let pool = Pool::new(&context, Options::default());
        let some = unset(&pool, &stream, 4 * MIB);
        drop(unset(&pool, &other, 2 * MIB));
        // SAFETY: nothing reads it.
        let none = unsafe { pool.alloc::<u8>(&stream, 5 * MIB) };
        assert!(matches!(none, Err(Error::Device(_))), "{none:?}");
        drop(some);
        assert_eq!(pool.stats().held_bytes, 4 * MIB);
        drop(unset(&pool, &stream, 5 * MIB));
        assert_eq!(pool.stats().held_bytes, 6 * MIB);
        pool.trim(0);
        assert_eq!(pool.stats().held_bytes, 0);
    });
}

#[test]
fn a_failed_allocation_is_tried_again_once() {
    alone(&[("TEST_DRIVER_FAIL", "cuMemAlloc_v2 1 2")], || {
        let (context, stream, _) = gpu();
        let pool = Pool::new(&context, Options::default());
        drop(unset(&pool, &stream, MIB));
        assert_eq!(pool.stats().allocated, 1);
    });
}

#[test]
fn streams_that_cannot_be_told_apart_are_refused() {
    alone(&[], || {
        let (context, _, _) = gpu();
        let pool = Pool::new(&context, Options::default());
        let refused = pool.alloc_zeros::<u8>(&context.per_thread_stream(), 1);
        assert!(matches!(refused, Err(Error::Stream(_))), "{refused:?}");
        let mut buffer = unset(&pool, &context.default_stream(), 1);
        let refused = buffer.also_used_on(&context.per_thread_stream());
        assert!(matches!(refused, Err(Error::Stream(_))), "{refused:?}");
        drop(buffer);
        // Two handles of one stream.
        for _ in 0..2 {
            context.synchronize().unwrap();
            drop(pool.alloc_zeros::<u8>(&context.default_stream(), 1).unwrap());
        }
        assert_eq!(pool.stats().allocated, 1);
        let beyond = pool.alloc_zeros::<u64>(&context.default_stream(), usize::MAX);
        assert!(matches!(beyond, Err(Error::TooLarge)), "{beyond:?}");
    });
}

#[test]
fn another_handle_of_the_context_may_own_the_streams() {
    // The fourth event is the one that the new stream waits for when it gets the block.
    // The host makes up for it, and nothing else fails.
    alone(&[("TEST_DRIVER_FAIL", "cuEventCreate 4 2")], || {
        let (_, first, second) = gpu();
        let pool = Pool::new(&CudaContext::new(0).unwrap(), Options::default());
        drop(unset(&pool, &first, MIB));
        drop(unset(&pool, &second, MIB));
        assert_eq!((pool.stats().allocated, pool.stats().moved), (1, 1));
    });
}

#[test]
fn streams_share_one_block_without_harm() {
    alone(&[], || {
        const ROUNDS: u8 = 200;
        let (context, first, second) = gpu();
        let streams = [first, second, context.new_stream().unwrap()];
        // SAFETY: this is about what the pool does; cudarc's own waits would help it.
        unsafe { context.disable_event_tracking() };
        let sent: Vec<_> = (0..ROUNDS).map(|round| vec![round; MIB]).collect();
        // Pinned, so that no copy is done before somebody waits for it.
        // SAFETY: every byte is valid.
        let got = unsafe { context.alloc_pinned_with_flags(MIB * sent.len(), 0) };
        let mut got = got.unwrap();
        let places = got.as_mut_slice().unwrap().chunks_mut(MIB);
        let pool = Pool::new(&context, Options { cap_bytes: MIB });
        for (round, (sent, got)) in sent.iter().zip(places).enumerate() {
            let [writer, reader] = [round, round + 2].map(|i| &streams[i % 3]);
            let mut buffer = unset(&pool, writer, MIB);
            writer.memcpy_htod(sent, &mut buffer.view_mut()).unwrap();
            buffer.also_used_on(reader).unwrap();
            reader.memcpy_dtoh(&buffer.view(), got).unwrap();
        }
        streams.iter().for_each(|stream| stream.synchronize().unwrap());
        assert!(got.as_slice().unwrap() == sent.concat());
        assert_eq!(pool.stats().allocated, 1);
    });
}
