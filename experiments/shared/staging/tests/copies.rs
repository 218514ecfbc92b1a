//! Copies of every size and alignment, and copies that fail, on the driver for tests.
//! It makes a copy with pinned memory as late as its stream allows, so a slot that is used
//! again too early, and a copy that returns too early, show.
//!
//! Each test runs in a process of its own.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod support;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DeviceRepr, DriverError, sys};
use proptest::prelude::*;
use staging::{Error, Options, Staging};
use support::{CODE, failing, value};
use test_driver::alone;

/// Small pieces, so that small copies have many of them.
fn options(threads: usize, piece_bytes: usize, slots: usize) -> Options {
    Options { threads, piece_bytes, slots, staged_from: 0, ..Options::default() }
}

/// A GPU with a stream and some bytes.
struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    bytes: CudaSlice<u8>,
}

/// What surrounds a copy's target, and must stay.
const MARGIN: u8 = 0xA5;

impl Gpu {
    fn new(bytes: usize) -> Gpu {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let bytes = stream.alloc_zeros::<u8>(bytes).unwrap();
        Gpu { context, stream, bytes }
    }

    fn staging(&self, options: Options) -> Staging {
        Staging::new(&self.context, options).unwrap()
    }

    /// All bytes on the GPU, by the driver.
    fn read(&self) -> Vec<u8> {
        let all = self.stream.clone_dtoh(&self.bytes).unwrap();
        self.stream.synchronize().unwrap();
        all
    }

    fn write(&mut self, all: &[u8]) {
        self.stream.memcpy_htod(all, &mut self.bytes).unwrap();
        self.stream.synchronize().unwrap();
    }

    /// Copies `count` bytes there and back, from and to these offsets, and checks them
    /// and everything around them. `salt` makes the bytes differ from test to test.
    fn round_trip(
        &mut self,
        staging: &mut Staging,
        count: usize,
        (host, device): (usize, usize),
        salt: usize,
    ) -> Result<(), DriverError> {
        let size = self.bytes.len();
        let source: Vec<u8> = (0..size).map(|i| value(i + salt)).collect();
        let source = &source[host..host + count];

        self.write(&vec![MARGIN; size]);
        let mut there = self.bytes.slice_mut(device..);
        staging.copy_to_device(&self.stream, source, &mut there)?;
        let mut expected = vec![MARGIN; size];
        expected[device..device + count].copy_from_slice(source);
        assert!(self.read() == expected, "to the GPU: {count} at {host}, {device}");

        let mut target = vec![MARGIN; size];
        let there = self.bytes.slice(device..device + count);
        staging.copy_to_host(&self.stream, &there, &mut target[host..])?;
        let mut expected = vec![MARGIN; size];
        expected[host..host + count].copy_from_slice(source);
        assert!(target == expected, "to the host: {count} at {host}, {device}");
        Ok(())
    }
}

#[test]
fn every_size_arrives() {
    alone(&[], || {
        let mut gpu = Gpu::new(400);
        // In a ring of many slots, copies grow to several pieces.
        for (threads, piece_bytes, slots) in
            [(1, 64, 1), (1, 64, 3), (2, 64, 2), (5, 64, 1), (2, 3, 13), (3, 1, 33)]
        {
            let mut staging = gpu.staging(options(threads, piece_bytes, slots));
            for count in 0..=330 {
                gpu.round_trip(&mut staging, count, (1, 3), count).unwrap();
            }
        }
    });
}

#[test]
fn every_alignment_arrives() {
    alone(&[], || {
        let mut gpu = Gpu::new(400);
        let mut staging = gpu.staging(options(2, 128, 2));
        for host in 0..65 {
            for device in [0, 1, 7, 32, 63] {
                for count in [127, 128, 129, 300] {
                    let offsets = (host, device);
                    gpu.round_trip(&mut staging, count, offsets, host).unwrap();
                }
            }
        }
    });
}

#[test]
fn any_options_will_do() {
    alone(&[], || {
        let pieces = (prop_oneof![0..40usize, 0..5000usize], 0..40usize);
        let limits = (0..6usize, pieces, 0..9000usize, 0..2u64);
        let copies = (0..9000usize, 0..64usize, 0..64usize);
        let config =
            ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() };
        let gpu = std::cell::RefCell::new(Gpu::new(10_000));
        proptest!(config, |(limits in limits, copies in copies)| {
            let (threads, (piece_bytes, slots), staged_from, linger) = limits;
            let linger = Duration::from_millis(linger);
            // Not one piece for every byte of them.
            let piece_bytes = if piece_bytes < 4 { 0 } else { piece_bytes };
            let (count, host, device) = copies;
            let count = if piece_bytes == 0 { count % 50 } else { count };
            let options = options(threads, piece_bytes, slots);
            let options = Options { staged_from, linger, ..options };
            let mut gpu = gpu.borrow_mut();
            let mut staging = gpu.staging(options);
            for salt in 0..2 {
                gpu.round_trip(&mut staging, count, (host, device), salt).unwrap();
            }
        });
    });
}

/// A type with bytes that belong to none of its fields.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

// SAFETY: plain data.
unsafe impl DeviceRepr for Padded {}

#[test]
fn all_types_arrive() {
    alone(&[], || {
        let gpu = Gpu::new(1);
        let mut staging = gpu.staging(options(3, 100, 2)); // cuts elements in two
        let stream = &gpu.stream;
        let source: Vec<_> =
            (0..500).map(|i| Padded { small: value(i), large: i as u64 }).collect();
        let zero = Padded { small: 0, large: 0 };
        let mut device = stream.clone_htod(&vec![zero; 500]).unwrap();
        staging.copy_to_device(stream, &source, &mut device).unwrap();
        let mut target = vec![zero; 500];
        staging.copy_to_host(stream, &device, &mut target).unwrap();
        assert_eq!(target, source);

        // Without elements.
        staging.copy_to_device::<Padded>(stream, &[], &mut device).unwrap();
        let none = device.slice(0..0);
        staging.copy_to_host::<Padded>(stream, &none, &mut []).unwrap();
    });
}

#[test]
fn a_copy_comes_after_what_its_stream_has_queued() {
    alone(&[], || {
        let mut gpu = Gpu::new(1000);
        // SAFETY: this is about the order that is left when cudarc sees to none.
        unsafe { gpu.context.disable_event_tracking() };
        let mut staging = gpu.staging(options(2, 64, 2));
        let (old, new) = (vec![1u8; 1000], vec![2u8; 1000]);
        gpu.write(&old);
        gpu.stream.memcpy_htod(&new, &mut gpu.bytes).unwrap();
        let mut target = vec![0; 1000];
        staging.copy_to_host(&gpu.stream, &gpu.bytes, &mut target).unwrap();
        assert!(target == new);

        gpu.stream.memcpy_htod(&old, &mut gpu.bytes).unwrap();
        staging.copy_to_device(&gpu.stream, &new, &mut gpu.bytes).unwrap();
        assert!(gpu.read() == new);
    });
}

#[test]
fn a_copy_is_done_when_it_returns() {
    alone(&[], || {
        let mut gpu = Gpu::new(1000);
        // SAFETY: as above; another stream looks, and nothing makes it wait.
        unsafe { gpu.context.disable_event_tracking() };
        let other = gpu.context.new_stream().unwrap();
        let mut staging = gpu.staging(options(2, 64, 4));
        for salt in [1, 2] {
            let source = vec![salt; 1000];
            staging.copy_to_device(&gpu.stream, &source, &mut gpu.bytes).unwrap();
            let seen = other.clone_dtoh(&gpu.bytes).unwrap();
            other.synchronize().unwrap();
            assert!(seen == source);
        }
    });
}

#[test]
fn a_target_that_is_too_short_is_refused() {
    alone(&[], || {
        let mut gpu = Gpu::new(100);
        let mut staging = gpu.staging(options(2, 64, 2));
        let Gpu { stream, bytes, .. } = &mut gpu;
        let mut refused = |call: &mut dyn FnMut(&mut Staging, &mut CudaSlice<u8>)| {
            let call = AssertUnwindSafe(|| call(&mut staging, bytes));
            let panic = catch_unwind(call).unwrap_err();
            let message = panic.downcast_ref::<&str>().unwrap();
            assert!(message.contains("shorter"), "{message}");
        };
        refused(&mut |staging, device| {
            let _ = staging.copy_to_device(stream, &[0; 101], device);
        });
        refused(&mut |staging, device| {
            let _ = staging.copy_to_host(stream, device, &mut [0; 99]);
        });
        gpu.round_trip(&mut staging, 100, (0, 0), 0).unwrap();
    });
}

#[test]
fn more_memory_than_there_can_be_is_refused() {
    alone(&[], || {
        let context = CudaContext::new(0).unwrap();
        for (piece_bytes, slots) in [(usize::MAX, 1), (1 << 62, 2), (1 << 40, 1 << 40)] {
            let refused = Staging::new(&context, options(2, piece_bytes, slots));
            let Err(Error::Driver(error)) = refused else { panic!("{refused:?}") };
            assert_eq!(error.0, sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
    });
}

#[test]
fn two_at_once_do_not_meet() {
    alone(&[], || {
        std::thread::scope(|scope| {
            for salt in [1, 1000] {
                scope.spawn(move || {
                    let mut gpu = Gpu::new(5000);
                    let mut staging = gpu.staging(options(3, 100, 2));
                    for count in (0..5000).step_by(61) {
                        gpu.round_trip(&mut staging, count, (0, 0), salt).unwrap();
                    }
                });
            }
        });
    });
}

/// What `fails_at_most_once` has its copies staged from, in bytes.
const STAGED_FROM: &str = "STAGED_FROM";

/// Whatever call of the driver fails once, there is one error, it is that one, and the
/// next copy is right.
#[test]
fn an_error_is_returned_and_does_no_harm() {
    const FUNCTIONS: [&str; 9] = [
        "cuMemHostAlloc",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventQuery",
        "cuEventSynchronize",
        "cuStreamCreate",
        "cuStreamSynchronize",
    ];
    let mut called = BTreeSet::new();
    // All copies staged, and all left to the driver.
    for staged_from in ["0", "1000000"] {
        let settings = [(STAGED_FROM, staged_from)];
        let calls = failing(&FUNCTIONS, &settings, || fails_at_most_once(CODE));
        let Some(calls) = calls else { return }; // this is the process of one of them
        called.extend(calls.into_keys());
    }
    assert!(FUNCTIONS.iter().all(|function| called.contains(*function)), "{called:?}");
}

/// How many of this process's threads have a core, or want one.
#[cfg(target_os = "linux")]
fn awake() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let stats = tasks.map(|task| task.unwrap().path().join("stat"));
    let stats = stats.filter_map(|stat| std::fs::read_to_string(stat).ok());
    stats.filter(|stat| stat.rsplit_once(')').unwrap().1.starts_with(" R")).count()
}

/// Waits until so many threads are awake, this one among them.
#[cfg(target_os = "linux")]
fn soon_awake(count: usize) {
    for _ in 0..200 {
        if awake() == count {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} threads are awake, not {count}", awake());
}

#[test]
#[cfg(target_os = "linux")]
fn threads_stay_awake_as_long_as_they_are_told() {
    alone(&[], || {
        let mut gpu = Gpu::new(5000);
        let mut after_copies = |linger| {
            let mut staging = gpu.staging(Options { linger, ..options(4, 64, 8) });
            for salt in 0..3 {
                gpu.round_trip(&mut staging, 3000, (0, 0), salt).unwrap();
            }
            staging
        };
        for linger in [Duration::ZERO, Duration::from_millis(1)] {
            let _kept = after_copies(linger);
            soon_awake(1);
        }
        let staging = after_copies(Duration::MAX);
        std::thread::sleep(Duration::from_millis(50));
        soon_awake(1 + 3);
        drop(staging);
        soon_awake(1);
    });
}

fn fails_at_most_once(code: sys::CUresult) {
    let staged_from = std::env::var(STAGED_FROM).map_or(0, |n| n.parse().unwrap());
    let mut errors = 0;
    let mut check = |result: Result<(), DriverError>| match result {
        Ok(()) => true,
        Err(e) => {
            assert_eq!((e.0, errors), (code, 0), "not the error, or not the first");
            errors += 1;
            false
        }
    };
    let Ok(context) = CudaContext::new(0) else { return };
    // cudarc passes some errors on later, through the context, in its own way.
    let Ok(stream) = context.new_stream() else { return };
    let source: Vec<u8> = (0..1000).map(value).collect();
    let mut staging = loop {
        match Staging::new(&context, Options { staged_from, ..options(3, 64, 2) }) {
            Ok(staging) => break staging,
            Err(Error::Driver(e)) => assert!(!check(Err(e))),
            Err(e) => panic!("{e}"),
        }
    };
    // SAFETY: the streams below are waited for one by one.
    unsafe { context.disable_event_tracking() };
    let Ok(mut device) = stream.alloc_zeros::<u8>(1000) else { return };
    let Ok(other) = context.new_stream() else { return };
    let seen = |device: &CudaSlice<u8>| {
        let seen = other.clone_dtoh(device)?;
        while other.synchronize().is_err() {} // which fails at most once
        Ok::<_, DriverError>(seen)
    };
    for _ in 0..4 {
        let sent = check(staging.copy_to_device(&stream, &source, &mut device));
        // Nothing is in flight any more, error or not.
        let (Ok(before), Ok(())) = (seen(&device), stream.synchronize()) else {
            return;
        };
        let Ok(after) = seen(&device) else { return };
        assert!(before == after && (!sent || after == source));

        let mut target = vec![0; 1000];
        let fetched = check(staging.copy_to_host(&stream, &device, &mut target));
        assert!(!sent || !fetched || target == source);
    }
}
