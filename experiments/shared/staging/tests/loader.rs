//! Batches that come from a producer: all, once, in order, and no harm if something fails.
//! On the driver for tests, which makes a copy with pinned memory as late as its stream
//! allows: a slot that is filled again, or given back, before its copy is done shows in what
//! arrives.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys};
use proptest::prelude::*;
use staging::{LoadError, Loader};
use support::{CODE, failing, traced, value};
use test_driver::alone;

const BATCH: usize = 100;

/// A producer of `count` bytes in batches of up to [`BATCH`], which waits `pause` before
/// each batch.
fn bytes(
    count: usize,
    pause: Duration,
) -> impl FnMut(&mut [u8]) -> Result<usize, &'static str> + Send + 'static {
    let mut made = 0;
    move |slot| {
        sleep(pause);
        let batch = slot.len().min(count - made);
        for byte in &mut slot[..batch] {
            *byte = value(made);
            made += 1;
        }
        Ok(batch)
    }
}

/// A GPU with a stream.
struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

impl Gpu {
    fn new() -> Gpu {
        let context = CudaContext::new(0).unwrap();
        // SAFETY: the tests wait for the stream. cudarc's own waits would hide a copy
        // that nobody waits for.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().unwrap();
        Gpu { context, stream }
    }

    fn target(&self) -> CudaSlice<u8> {
        self.stream.alloc_zeros(BATCH).unwrap()
    }

    fn loader(
        &self,
        slots: usize,
        producer: impl FnMut(&mut [u8]) -> Result<usize, &'static str> + Send + 'static,
    ) -> Loader<u8> {
        Loader::new(&self.context, slots, BATCH, producer).unwrap()
    }

    /// Takes batches until there are no more, waits before each as long as the next of
    /// these pauses, again and again, and waits for the copies only in the end. Returns the
    /// bytes of all.
    fn take_all(&self, loader: &mut Loader<u8>, pauses: &[Duration]) -> Vec<u8> {
        let mut batches = vec![];
        for pause in pauses.iter().cycle() {
            sleep(*pause);
            let mut target = self.target();
            match loader.next(&self.stream, &mut target).unwrap() {
                0 => break,
                count => batches.push((target, count)),
            }
        }
        self.read(&batches)
    }

    fn read(&self, batches: &[(CudaSlice<u8>, usize)]) -> Vec<u8> {
        let copies = batches.iter().map(|(target, count)| {
            let bytes = self.stream.clone_dtoh(&target.slice(..*count)).unwrap();
            self.stream.synchronize().unwrap();
            bytes
        });
        copies.collect::<Vec<_>>().concat()
    }
}

fn expected(count: usize) -> Vec<u8> {
    (0..count).map(value).collect()
}

const NO_PAUSE: Duration = Duration::ZERO;
const PAUSE: Duration = Duration::from_millis(3);

#[test]
fn every_batch_arrives_once_and_in_order() {
    alone(&[], || {
        let gpu = Gpu::new();
        for slots in 0..5 {
            for count in [0, 1, 99, 100, 101, 1000, 2345] {
                let mut loader = gpu.loader(slots, bytes(count, NO_PAUSE));
                let got = gpu.take_all(&mut loader, &[NO_PAUSE]);
                assert!(got == expected(count), "{slots} slots, {count} bytes");
                let after = loader.next(&gpu.stream, &mut gpu.target());
                assert_eq!(after.unwrap(), 0, "the end stays the end");
            }
        }
    });
}

#[test]
fn a_slow_side_is_waited_for() {
    alone(&[], || {
        let gpu = Gpu::new();
        for slots in [1, 2, 4] {
            for (slow_producer, slow_consumer) in [(PAUSE, NO_PAUSE), (NO_PAUSE, PAUSE)] {
                let mut loader = gpu.loader(slots, bytes(1950, slow_producer));
                let got = gpu.take_all(&mut loader, &[slow_consumer]);
                assert!(got == expected(1950), "{slots} slots");
            }
        }
    });
}

#[test]
fn any_rhythm_will_do() {
    alone(&[], || {
        let gpu = Gpu::new();
        let pauses = || proptest::collection::vec(0..400u64, 1..5);
        let config =
            ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() };
        proptest!(config, |(
            slots in 1..5usize, count in 0..2000usize, making in pauses(), taking in pauses(),
        )| {
            let mut fill = bytes(count, NO_PAUSE);
            let mut turn = 0;
            let producer = move |slot: &mut [u8]| {
                turn += 1;
                sleep(Duration::from_micros(making[turn % making.len()]));
                fill(slot)
            };
            let taking: Vec<_> = taking.into_iter().map(Duration::from_micros).collect();
            let got = gpu.take_all(&mut gpu.loader(slots, producer), &taking);
            prop_assert!(got == expected(count));
        });
    });
}

#[test]
fn the_producer_is_ahead_by_the_slots_and_no_more() {
    alone(&[], || {
        let gpu = Gpu::new();
        for slots in 1..5 {
            let made = Arc::new(AtomicUsize::new(0));
            let count = made.clone();
            let producer = move |slot: &mut [u8]| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(slot.len())
            };
            let mut loader = gpu.loader(slots, producer);
            for taken in 0..4 {
                let made = || made.load(Ordering::Relaxed);
                while made() < taken + slots {
                    sleep(PAUSE);
                }
                sleep(PAUSE); // in which it would make one too many
                assert_eq!(made(), taken + slots);
                loader.next(&gpu.stream, &mut gpu.target()).unwrap();
            }
        }
    });
}

/// Takes two good batches and then the error of a producer that `fails` at the third.
fn error_of(fails: impl Fn() -> Result<usize, &'static str> + Send + 'static) -> LoadError {
    let gpu = Gpu::new();
    let mut fill = bytes(200, NO_PAUSE);
    let producer = move |slot: &mut [u8]| match fill(slot)? {
        0 => fails(),
        count => Ok(count),
    };
    let mut loader = gpu.loader(2, producer);
    let mut batches = vec![(gpu.target(), BATCH), (gpu.target(), BATCH)];
    for (target, count) in &mut batches {
        assert_eq!(loader.next(&gpu.stream, target).unwrap(), *count);
    }
    let error = loader.next(&gpu.stream, &mut gpu.target()).unwrap_err();
    assert!(gpu.read(&batches) == expected(200), "what was made has arrived");
    assert_eq!(loader.next(&gpu.stream, &mut gpu.target()).unwrap(), 0);
    error
}

#[test]
fn an_error_in_the_producer_comes_after_its_batches() {
    alone(&[], || {
        let LoadError::Failed(error) = error_of(|| Err("no more disk")) else {
            panic!("not the error");
        };
        assert_eq!(error.to_string(), "no more disk");
    });
}

#[test]
fn a_panic_in_the_producer_comes_after_its_batches() {
    alone(&[], || {
        for (fails, message) in [
            ((|| panic!("broken")) as fn() -> Result<usize, &'static str>, "broken"),
            (|| panic!("broken {}", 7), "broken 7"),
            (|| std::panic::panic_any(7), ""),
            (|| Ok(BATCH + 1), "101 elements do not fit into 100"),
        ] {
            let LoadError::Panicked(panic) = error_of(fails) else {
                panic!("not a panic");
            };
            assert_eq!(panic, message);
        }
    });
}

#[test]
fn dropping_early_waits_for_copies_and_leaks_nothing() {
    let calls = traced(&[], || {
        let gpu = Gpu::new();
        for slots in 1..5 {
            for taken in 0..6 {
                for pause in [NO_PAUSE, PAUSE] {
                    let mut loader = gpu.loader(slots, bytes(usize::MAX, pause));
                    let mut batches = vec![];
                    for _ in 0..taken {
                        let mut target = gpu.target();
                        let count = loader.next(&gpu.stream, &mut target).unwrap();
                        batches.push((target, count));
                    }
                    drop(loader);
                    assert!(gpu.read(&batches) == expected(taken * BATCH));
                }
            }
        }
    });
    let Some(calls) = calls else { return };
    assert!(calls["cuMemHostAlloc"] > 100);
    assert_eq!(calls["cuMemHostAlloc"], calls["cuMemFreeHost"]);
    assert_eq!(calls["cuEventCreate"], calls["cuEventDestroy_v2"]);
}

#[test]
fn a_target_that_is_too_short_is_refused() {
    alone(&[], || {
        let gpu = Gpu::new();
        let mut loader = gpu.loader(1, bytes(1000, NO_PAUSE));
        let mut short = gpu.stream.alloc_zeros::<u8>(BATCH - 1).unwrap();
        let refused = catch_unwind(AssertUnwindSafe(|| {
            let _ = loader.next(&gpu.stream, &mut short);
        }));
        let panic = refused.unwrap_err();
        assert!(panic.downcast_ref::<&str>().unwrap().contains("shorter"));
        assert!(gpu.take_all(&mut loader, &[NO_PAUSE]) == expected(1000));
    });
}

/// Whatever call of the driver fails once, the loader ends with that error or is not
/// harmed, and what has arrived is right.
#[test]
fn an_error_of_the_driver_is_returned_and_does_no_harm() {
    let functions = [
        "cuMemHostAlloc",
        "cuEventCreate",
        "cuMemcpyHtoDAsync_v2",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuCtxSetCurrent",
    ];
    let calls = failing(&functions, &[], || fails_at_most_once(CODE));
    let Some(calls) = calls else { return }; // this is the process of one of them
    for function in functions {
        assert!(calls.contains_key(function), "{function} is not called");
    }
}

fn fails_at_most_once(code: sys::CUresult) {
    let Ok(context) = CudaContext::new(0) else { return };
    let Ok(stream) = context.new_stream() else { return };
    // SAFETY: as above.
    unsafe { context.disable_event_tracking() };
    let gpu = Gpu { context, stream };
    let targets = (0..10).map(|_| gpu.stream.alloc_zeros::<u8>(BATCH));
    let Ok(mut targets) = targets.collect::<Result<Vec<_>, _>>() else { return };
    let mut taken = 0;
    let error = match Loader::new(&gpu.context, 3, BATCH, bytes(1000, NO_PAUSE)) {
        Ok(mut loader) => loop {
            let Some(target) = targets.get_mut(taken) else { break None };
            match loader.next(&gpu.stream, target) {
                Ok(count) => assert_eq!(count, BATCH),
                Err(e) => {
                    assert_eq!(loader.next(&gpu.stream, target).unwrap(), 0);
                    break Some(e);
                }
            }
            taken += 1;
        },
        Err(e) => Some(e),
    };
    match error {
        Some(LoadError::Driver(e)) => assert_eq!(e.0, code),
        Some(e) => panic!("not the driver's error: {e}"),
        None => assert_eq!(taken, 10),
    }
    let batches: Vec<_> = targets.into_iter().map(|target| (target, BATCH)).collect();
    // Unless another call reports the error.
    let read = || gpu.read(&batches);
    let Ok(got) = catch_unwind(AssertUnwindSafe(read)) else { return };
    assert!(got[..taken * BATCH] == expected(taken * BATCH));
    if let Some(failed) = got[taken * BATCH..].chunks(BATCH).next() {
        let all = expected((taken + 1) * BATCH);
        let arrived = failed == &all[taken * BATCH..];
        assert!(arrived || failed.iter().all(|byte| *byte == 0), "something else came");
    }
}
