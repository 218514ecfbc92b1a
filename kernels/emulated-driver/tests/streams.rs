//! Streams and events, by cudarc: their order, and no more order than that.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use common::{alone, code, context, hold, pinned, streams};
use cudarc::driver::{result, sys};
use sys::CUresult::*;

#[test]
fn an_event_orders_two_streams() {
    let context = context(0);
    let [first, second] = streams(&context);
    let mut data = first.alloc_zeros::<u32>(100).unwrap();
    first.synchronize().unwrap();

    first.memcpy_htod(&[1; 100], &mut data).unwrap();
    assert_eq!(second.clone_dtoh(&data).unwrap(), [0; 100], "nothing orders them");
    let written = first.record_event(None).unwrap();
    assert!(!written.is_complete() || first.synchronize().is_ok());
    second.wait(&written).unwrap();
    assert_eq!(second.clone_dtoh(&data).unwrap(), [1; 100]);
}

#[test]
fn asking_again_and_again_gets_there() {
    let context = context(1);
    let stream = context.new_stream().unwrap();
    let mut data = stream.alloc_zeros::<u32>(100).unwrap();
    stream.memset_zeros(&mut data).unwrap();
    let event = stream.record_event(None).unwrap();
    let asked = (1..).find(|_| event.try_is_complete().unwrap()).unwrap();
    assert!(asked > 1, "some of the work was still to be done");
    let never = context.new_event(None).unwrap();
    assert!(never.try_is_complete().unwrap(), "an event that was never recorded is over");
}

#[test]
fn a_stream_keeps_its_priority_and_no_more_than_the_range_allows() {
    let context = context(7);
    let (least, greatest) = result::stream::get_priority_range().unwrap();
    assert!(greatest < least, "the lower number goes first");
    let priority_of = |asked: Option<i32>| {
        let stream = match asked {
            Some(priority) => context.new_stream_with_priority(priority),
            None => context.new_stream(),
        };
        let (stream, mut found) = (stream.unwrap(), 7);
        // SAFETY: the stream is alive.
        let answer = unsafe { sys::cuStreamGetPriority(stream.cu_stream(), &raw mut found) };
        assert_eq!(answer, CUDA_SUCCESS);
        found
    };
    assert_eq!([None, Some(least), Some(greatest)].map(priority_of), [0, least, greatest]);
    assert_eq!([least + 1, greatest - 1].map(Some).map(priority_of), [least, greatest]);
}

#[test]
fn there_is_no_time() {
    let context = context(2);
    let stream = context.new_stream().unwrap();
    let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(flags).unwrap();
    let end = stream.record_event(flags).unwrap();
    let elapsed = || {
        let mut milliseconds = 0.0;
        // SAFETY: the events are alive.
        unsafe {
            sys::cuEventElapsedTime_v2(&raw mut milliseconds, start.cu_event(), end.cu_event())
        }
    };
    assert_eq!(elapsed(), CUDA_ERROR_NOT_READY);
    stream.synchronize().unwrap();
    assert_eq!(elapsed(), CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(code(start.elapsed_ms(&end)), CUDA_ERROR_NOT_SUPPORTED);
    let untimed = stream.record_event(None).unwrap();
    assert_eq!(code(start.elapsed_ms(&untimed)), CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn a_host_function_holds_its_stream_and_no_other() {
    let context = context(3);
    let [held, free] = streams(&context);
    let mut data = held.alloc_zeros::<u32>(1).unwrap();
    held.synchronize().unwrap();
    let opener = hold(&held);
    held.memcpy_htod(&[1], &mut data).unwrap();
    let behind = held.record_event(None).unwrap();
    for _ in 0..3 {
        assert!(!behind.try_is_complete().unwrap());
        assert_eq!(free.clone_dtoh(&data).unwrap(), [0]);
    }
    opener.send(()).unwrap();
    behind.synchronize().unwrap();
    assert_eq!(free.clone_dtoh(&data).unwrap(), [1]);
}

#[test]
fn the_legacy_stream_orders_blocking_streams() {
    let context = context(4);
    let legacy = context.default_stream();
    let blocking = result::stream::create(result::stream::StreamKind::Default).unwrap();
    let mut data = legacy.alloc_zeros::<u32>(1).unwrap();
    legacy.memcpy_htod(&[1], &mut data).unwrap();
    let mut got = [0u32];
    let address = cudarc::driver::DevicePtr::device_ptr(&data, &legacy).0;
    // SAFETY: the address is that of a word, and the stream is destroyed once.
    unsafe {
        result::memcpy_dtoh_async(&mut got, address, blocking).unwrap();
        result::stream::destroy(blocking).unwrap();
    }
    assert_eq!(got, [1]);
}

/// A buffer is filled in one stream and read in another one, with a wait between or
/// without. Prints what was read.
fn hand_over(waits: bool) {
    let context = context(0);
    let [first, second] = streams(&context);
    let mut buffer = first.alloc_zeros::<u32>(1).unwrap();
    let source = pinned(&context, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut target = pinned(&context, &[0; 8]);
    first.synchronize().unwrap();
    let read = context.new_event(None).unwrap();
    for turn in 0..8 {
        first.wait(&read).unwrap();
        first.memcpy_htod(&source.as_slice().unwrap()[turn..=turn], &mut buffer).unwrap();
        let written = first.record_event(None).unwrap();
        if waits {
            second.wait(&written).unwrap();
        }
        let place = &mut target.as_mut_slice().unwrap()[turn..=turn];
        second.memcpy_dtoh(&buffer, place).unwrap();
        if waits {
            read.record(&second).unwrap();
        }
    }
    context.synchronize().unwrap();
    println!("read: {:?}", target.as_slice().unwrap());
}

#[test]
#[ignore = "run by the next test, in processes of their own"]
fn hand_over_with_waits() {
    hand_over(true);
}

#[test]
#[ignore = "run by the next test, in processes of their own"]
fn hand_over_without_waits() {
    hand_over(false);
}

#[test]
fn a_missing_wait_shows_under_some_schedule_and_no_other_result_does() {
    let line = |test, seed: u32| {
        let out = alone(test, &[("WORKBOOK_EMULATED_SCHEDULE", &seed.to_string())]);
        let text = String::from_utf8(out.stdout).unwrap();
        let line = text.lines().find_map(|line| line.split_once("read: "));
        line.unwrap_or_else(|| panic!("{text}")).1.to_owned()
    };
    let right = "[1, 2, 3, 4, 5, 6, 7, 8]";
    for seed in 0..8 {
        assert_eq!(line("hand_over_with_waits", seed), right);
    }
    let without: Vec<_> = (0..8).map(|seed| line("hand_over_without_waits", seed)).collect();
    assert!(without.iter().any(|read| read != right), "{without:?}");
    assert!(without.iter().any(|read| *read != without[0]), "{without:?}");
    assert_eq!(without[3], line("hand_over_without_waits", 3), "the seed decides");
}
