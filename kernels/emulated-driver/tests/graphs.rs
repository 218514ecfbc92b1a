//! Graphs by capture, with cudarc.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use common::{alone, code, context, pinned, streams};
use cudarc::driver::{result, sys};
use sys::CUresult::*;
use sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;

const NO_FLAGS: sys::CUgraphInstantiate_flags = sys::CUgraphInstantiate_flags(0);

#[test]
fn captured_work_is_done_at_each_launch_and_not_before() {
    let context = context(0);
    let stream = context.new_stream().unwrap();
    let mut pinned = pinned(&context, &[1, 2, 3]);
    let mut data = stream.alloc_zeros::<u32>(3).unwrap();
    let mut other = stream.alloc_zeros::<u32>(3).unwrap();
    stream.begin_capture(RELAXED).unwrap();
    stream.memcpy_htod(pinned.as_slice().unwrap(), &mut data).unwrap();
    stream.memcpy_dtod(&data, &mut other).unwrap();
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    assert_eq!(stream.clone_dtoh(&other).unwrap(), [0, 0, 0]);
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&other).unwrap(), [1, 2, 3]);
    pinned.as_mut_slice().unwrap()[1] = 9;
    graph.launch().unwrap();
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&other).unwrap(), [1, 9, 3]);
}

#[test]
fn a_stream_that_waits_takes_part_and_has_to_come_back() {
    let context = context(1);
    let [stream, side] = streams(&context);
    let mut data = stream.alloc_zeros::<u32>(1).unwrap();
    let mut other = stream.alloc_zeros::<u32>(1).unwrap();
    stream.synchronize().unwrap();

    let mut capture = |comes_back: bool| {
        stream.begin_capture(RELAXED).unwrap();
        // SAFETY: the slices have a word each.
        unsafe {
            let (address, _) = cudarc::driver::DevicePtrMut::device_ptr_mut(&mut data, &stream);
            sys::cuMemsetD32Async(address, 5, 1, stream.cu_stream()).result().unwrap();
        }
        side.join(&stream).unwrap();
        side.memcpy_dtod(&data, &mut other).unwrap();
        if comes_back {
            stream.join(&side).unwrap();
        }
        stream.end_capture(NO_FLAGS)
    };
    assert_eq!(code(capture(false)), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    let graph = capture(true).unwrap().unwrap();
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&other).unwrap(), [5]);
}

#[test]
fn a_capture_does_not_wait_for_anything() {
    let context = context(2);
    let [stream, other] = streams(&context);
    let outside = other.record_event(None).unwrap();

    stream.begin_capture(RELAXED).unwrap();
    assert_eq!(code(stream.synchronize()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(code(stream.end_capture(NO_FLAGS)), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    stream.begin_capture(RELAXED).unwrap();
    assert_eq!(code(stream.wait(&outside)), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    assert!(stream.end_capture(NO_FLAGS).is_err());

    stream.begin_capture(RELAXED).unwrap();
    // SAFETY: the driver refuses.
    let memory = unsafe { result::malloc_async(stream.cu_stream(), 4) };
    assert_eq!(code(memory), CUDA_ERROR_NOT_SUPPORTED);
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    graph.upload().unwrap();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_graph_must_not_outlive_the_pinned_memory_that_it_copies() {
    let context = context(5);
    let stream = context.new_stream().unwrap();
    let source = pinned(&context, &[1, 2, 3]);
    let mut data = stream.alloc_zeros::<u32>(3).unwrap();
    stream.synchronize().unwrap();
    stream.begin_capture(RELAXED).unwrap();
    stream.memcpy_htod(source.as_slice().unwrap(), &mut data).unwrap();
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    graph.launch().unwrap();
    drop(source);
    assert_eq!(code(graph.launch()), CUDA_ERROR_INVALID_VALUE);
    // Perhaps at the same address; it is other memory all the same.
    let _another = pinned(&context, &[9; 3]);
    assert_eq!(code(graph.launch()), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(stream.clone_dtoh(&data).unwrap(), [1, 2, 3]);
}

/// Launches a graph that copies a vector which is gone, or is not.
#[test]
#[ignore = "run by the next test, in a process of its own"]
fn a_vector_that_a_graph_copies() {
    let context = context(0);
    let stream = context.new_stream().unwrap();
    for is_freed in [false, true] {
        for words in [3, 9 << 20] {
            let mut data = stream.alloc_zeros::<u32>(words).unwrap();
            stream.synchronize().unwrap();
            let mut source = Some(vec![7u32; words]);
            stream.begin_capture(RELAXED).unwrap();
            stream.memcpy_htod(source.as_deref().unwrap(), &mut data).unwrap();
            let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
            eprintln!("{words} words, freed: {is_freed}");
            source.take_if(|_| is_freed);
            let launched = graph.launch();
            eprintln!("launched: {}", launched.is_ok());
            stream.synchronize().unwrap();
        }
    }
}

#[test]
fn a_graph_must_not_outlive_the_pageable_memory_that_it_copies() {
    let ended = alone("a_vector_that_a_graph_copies", &[]);
    let said = String::from_utf8(ended.stderr).unwrap();
    let parts: Vec<_> = said.split(", freed: ").skip(1).collect();
    assert_eq!(parts.len(), 4, "{said}");
    for kept in &parts[..2] {
        assert!(kept.contains("launched: true") && !kept.contains("emulated driver"), "{said}");
    }
    assert!(
        parts[2].contains("12 bytes of pageable memory")
            && parts[2].contains("was that memory freed"),
        "{said}"
    );
    assert!(parts[3].contains("which the program does not have any more"), "{said}");
}
