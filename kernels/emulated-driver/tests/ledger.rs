//! The ledger of small programs, and what the crate `ledger` says of it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{module, told};
use cudarc::driver::{
    CudaContext, CudaFunction, LaunchConfig, result, result::stream::StreamKind, sys,
};
use ledger::{Amount, Conflict, Costs, Kind, Ledger, schedule, totals, unordered};
use sys::CUstream as Stream;

const BYTES: usize = 4096;
const WORDS: u32 = BYTES as u32 / 4;

/// There is one ledger, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A program on a GPU, whose ledger has just begun.
struct Program {
    context: Arc<CudaContext>,
    add: CudaFunction,
    _turn: MutexGuard<'static, ()>,
}

impl Program {
    fn begin() -> Program {
        Program::begin_on(0)
    }

    fn begin_on(gpu: usize) -> Program {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let context = common::context(gpu);
        let add = module(&context).load_function("add").unwrap();
        // SAFETY: the function is the emulated driver's, with this signature.
        unsafe {
            let start = sys::culib().get::<unsafe extern "C" fn()>(b"workbookEmulatorLedgerStart");
            start.unwrap()();
        }
        Program { context, add, _turn: turn }
    }

    /// The end: all work runs, and then the ledger is read. The turn goes on, so that what the test
    /// still has, as another GPU's context, is gone before the next begins.
    fn end(&self) -> Ledger {
        self.context.synchronize().unwrap();
        told("workbookEmulatorLedger").parse().unwrap()
    }

    /// The conflicts at the end, in words.
    fn conflicts(&self) -> Vec<String> {
        unordered(&self.end()).iter().map(Conflict::to_string).collect()
    }

    fn add(&self, data: u64, stream: Stream) {
        let (mut data, mut count, mut number) = (data, WORDS, 1u32);
        let mut arguments =
            [(&raw mut data).cast::<c_void>(), (&raw mut count).cast(), (&raw mut number).cast()];
        let LaunchConfig { grid_dim, block_dim, .. } = LaunchConfig::for_num_elems(WORDS);
        // SAFETY: these are the kernel's parameters; there are so many words.
        unsafe {
            let add = self.add.cu_function();
            result::launch_kernel(add, grid_dim, block_dim, 0, stream, &mut arguments)
        }
        .unwrap();
    }
}

fn name(address: u64, name: &str) {
    let name = CString::new(name).unwrap();
    // SAFETY: the function is the emulated driver's, with this signature.
    unsafe {
        let call =
            sys::culib().get::<unsafe extern "C" fn(u64, *const c_char)>(b"workbookEmulatorName");
        call.unwrap()(address, name.as_ptr());
    }
}

fn device(called: &str) -> u64 {
    // SAFETY: it is written before it is read, and never freed.
    let address = unsafe { result::malloc_sync(BYTES) }.unwrap();
    name(address, called);
    address
}

fn halves() -> [u64; 2] {
    // SAFETY: it is zero at first, and never freed.
    let start = unsafe { result::malloc_host(2 * BYTES, 0) }.unwrap() as u64;
    let halves = [start, start + BYTES as u64];
    name(halves[0], "half 0");
    name(halves[1], "half 1");
    halves
}

fn stream() -> Stream {
    result::stream::create(StreamKind::NonBlocking).unwrap()
}

fn event() -> sys::CUevent {
    result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).unwrap()
}

fn upload(to: u64, from: u64, stream: Stream) {
    // SAFETY: both have so many bytes.
    unsafe { sys::cuMemcpyHtoDAsync_v2(to, from as *const c_void, BYTES, stream) }
        .result()
        .unwrap();
}

fn download(to: u64, from: u64, stream: Stream) {
    // SAFETY: both have so many bytes.
    unsafe { sys::cuMemcpyDtoHAsync_v2(to as *mut c_void, from, BYTES, stream) }.result().unwrap();
}

/// `later` waits for what `earlier` has to do by now.
fn wait(later: Stream, earlier: Stream) {
    let event = event();
    // SAFETY: the streams and the event are there.
    unsafe {
        result::event::record(event, earlier).unwrap();
        let default = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        result::stream::wait_event(later, event, default).unwrap();
    }
}

fn synchronize(stream: Stream) {
    // SAFETY: the stream is there.
    unsafe { result::stream::synchronize(stream) }.unwrap();
}

/// Asks until the stream has nothing left to do.
fn query(stream: Stream) {
    loop {
        // SAFETY: the stream is there.
        match unsafe { sys::cuStreamQuery(stream) } {
            sys::CUresult::CUDA_SUCCESS => return,
            status => assert_eq!(status, sys::CUresult::CUDA_ERROR_NOT_READY),
        }
    }
}

/// An upload in one stream, a kernel in another, and what is done between.
fn hand_over(order: impl FnOnce(Stream, Stream)) -> Vec<String> {
    let program = Program::begin();
    let (first, second) = (stream(), stream());
    let (data, [half, _]) = (device("data"), halves());
    upload(data, half, first);
    order(second, first);
    program.add(data, second);
    program.conflicts()
}

#[test]
fn a_missing_wait_between_an_upload_and_a_kernel_is_named() {
    let sentence = "upload 1 (stream 1) writes `data`, which kernel `add` (2, stream 2) reads; \
                    nothing makes 2 wait for 1";
    let named = hand_over(|_, _| {});
    assert_eq!(named, [sentence]);
}

#[test]
fn a_missing_wait_is_named_also_if_the_kernel_failed_for_it() {
    let program = Program::begin_on(2);
    let (first, second) = (stream(), stream());
    let (data, [half, _]) = (device("data"), halves());
    upload(data, half, first);
    program.add(data, second);
    // SAFETY: the stream is there. Its kernel reads what nobody has written.
    assert!(unsafe { result::stream::synchronize(second) }.is_err());
    let ledger = told("workbookEmulatorLedger").parse().unwrap();
    let [conflict] = &unordered(&ledger)[..] else { panic!("one") };
    assert_eq!((conflict.first.number, conflict.second.number), (1, 2));
}

#[test]
fn an_event_or_the_host_orders_them() {
    assert!(hand_over(wait).is_empty());
    assert!(hand_over(|_, first| synchronize(first)).is_empty());
    assert!(hand_over(|_, first| query(first)).is_empty());
    for asks in [synchronize_event, query_event] {
        let named = hand_over(|_, first| {
            let event = event();
            // SAFETY: both are there.
            unsafe { result::event::record(event, first) }.unwrap();
            asks(event);
        });
        assert_eq!(named, [""; 0]);
    }
}

fn synchronize_event(event: sys::CUevent) {
    // SAFETY: the event is there.
    unsafe { result::event::synchronize(event) }.unwrap();
}

/// Asks until the event is over.
fn query_event(event: sys::CUevent) {
    // SAFETY: the event is there.
    while unsafe { result::event::query(event) }.is_err() {}
}

#[test]
fn the_legacy_default_stream_orders_blocking_streams() {
    let named = |kind| {
        let program = Program::begin();
        let other = result::stream::create(kind).unwrap();
        let (data, [half, _]) = (device("data"), halves());
        upload(data, half, std::ptr::null_mut());
        program.add(data, other);
        upload(data, half, std::ptr::null_mut());
        program.conflicts()
    };
    assert!(named(StreamKind::Default).is_empty());
    let named = named(StreamKind::NonBlocking);
    assert_eq!(named.len(), 2);
    assert!(named[0].starts_with("upload 1 (the default stream) writes `data`"));
}

#[test]
fn a_pinned_half_that_is_used_again_without_a_wait_is_named() {
    let named = |waits: bool| {
        let program = Program::begin();
        let (up, down) = (stream(), stream());
        let (data, [half, _]) = (device("data"), halves());
        let other = device("other");
        upload(data, half, up);
        wait(down, up);
        download(half, data, down);
        if waits {
            synchronize(down);
        }
        upload(other, half, up);
        program.conflicts()
    };
    assert!(named(true).is_empty());
    assert_eq!(
        named(false),
        ["download 4 (stream 2) writes `half 0`, which upload 5 (stream 1) reads; nothing \
          makes 5 wait for 4"]
    );
}

#[test]
fn copies_that_block_and_pageable_memory() {
    let program = Program::begin();
    let (first, second) = (stream(), stream());
    let (data, mut words) = (device("data"), vec![7u32; WORDS as usize]);
    // SAFETY: both have so many bytes; the second call blocks.
    unsafe {
        result::memcpy_htod_async(data, &words, first).unwrap();
        words.fill(8);
        result::memcpy_dtoh_async(&mut words, data, first).unwrap();
    }
    assert!(words.iter().all(|word| *word == 7));
    program.add(data, second);
    let ledger = program.end();
    assert!(unordered(&ledger).is_empty());
    let [upload, download, _] = &ledger.operations[..] else { panic!("three") };
    assert!(upload.read.is_empty() && download.written.is_empty());
    assert_eq!(ledger.waits[0].operation, 2);
}

/// Batches go up, through a kernel and down, each in one of so many streams.
fn batches(streams: usize) -> Ledger {
    let program = Program::begin();
    let stages: Vec<_> = (0..streams).map(|_| (stream(), device("stage"))).collect();
    let [input, output] = halves();
    for batch in 0..6 {
        let (stream, data) = stages[batch % streams];
        upload(data, input, stream);
        program.add(data, stream);
        download(output, data, stream);
    }
    program.end()
}

#[test]
fn two_stages_take_much_less_than_one() {
    let rate = BYTES as f64 / 10.0; // each step takes 10 microseconds
    let (upload, download, memory, launch) = (rate, rate, 2.0 * rate, 0.0);
    let costs = Costs { upload, download, memory, launch, ..Costs::default() };
    let (serial, staged) = (batches(1), batches(2));
    let makespan = |ledger| schedule(ledger, &costs).makespan().round();
    assert_eq!((makespan(&serial), makespan(&staged)), (180.0, 100.0));
    let overlap = |ledger| schedule(ledger, &costs).overlap[&0].round();
    assert_eq!((overlap(&serial), overlap(&staged)), (0.0, 60.0));
    let copied = Amount { count: 6, bytes: 6 * BYTES as u64 };
    assert_eq!((totals(&staged).launches, totals(&staged).uploads), (6, copied));
    let named: Vec<_> = unordered(&staged).iter().map(Conflict::to_string).collect();
    assert!(named[0].contains("writes `half 1`"), "downloads overwrite each other");
}

#[test]
fn a_graph_is_one_call_and_keeps_its_order() {
    let program = Program::begin();
    let (stream, side) = (program.context.new_stream().unwrap(), stream());
    let (data, other, [half, _]) = (device("data"), device("other"), halves());
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    upload(data, half, stream.cu_stream());
    wait(side, stream.cu_stream());
    program.add(data, side);
    upload(other, half, stream.cu_stream());
    wait(stream.cu_stream(), side);
    let flags = sys::CUgraphInstantiate_flags(0);
    let graph = stream.end_capture(flags).unwrap().unwrap();
    graph.launch().unwrap();
    graph.launch().unwrap();
    let ledger = program.end();
    assert_eq!(unordered(&ledger), []);
    assert_eq!(ledger.calls["cuGraphLaunch"], 2);
    let totals = totals(&ledger);
    assert_eq!((totals.launches, totals.uploads.count), (2, 4));
    let kernel = |o: &&ledger::Operation| matches!(o.kind, Kind::Kernel(_));
    let kernel = ledger.operations.iter().find(kernel).unwrap();
    assert_eq!((kernel.stream, kernel.touched_bytes()), (1, 2 * BYTES as u64));
}

#[test]
fn memory_of_a_pool_that_is_used_again_too_early_is_named() {
    let program = Program::begin();
    let (first, second) = (stream(), stream());
    let [half, output] = halves();
    // SAFETY: whether the order is right is what is asked here.
    let take = || unsafe { result::malloc_async(first, BYTES) }.unwrap();
    let old = take();
    name(old, "old");
    upload(old, half, first);
    wait(second, first);
    download(output, old, second);
    // SAFETY: as above.
    unsafe { result::free_async(old, first) }.unwrap();
    let new = take();
    assert_eq!(new, old);
    name(new, "new");
    upload(new, half, first);
    assert_eq!(
        program.conflicts(),
        [
            "download 5 (stream 2) reads `old`, which free 6 (stream 1) frees; nothing makes 6 \
             wait for 5",
            "download 5 (stream 2) reads `old`, the memory that allocation 7 (stream 1) \
             allocates as `new`; nothing makes 7 wait for 5",
            "download 5 (stream 2) reads `old`, the memory that upload 8 (stream 1) writes as \
             `new`; nothing makes 8 wait for 5",
        ]
    );
}

#[test]
fn a_pool_gives_memory_to_another_stream_after_the_free() {
    let program = Program::begin();
    let (first, second) = (stream(), stream());
    let [half, _] = halves();
    // SAFETY: each is freed in the stream that used it, or never.
    let take = |stream| unsafe { result::malloc_async(stream, 2 << 20) }.unwrap();
    let old = take(first);
    upload(old, half, first);
    // SAFETY: as above.
    unsafe { result::free_async(old, first) }.unwrap();
    let new = take(second);
    assert_eq!(new, old, "it fills a chunk of the pool");
    upload(new, half, second);
    assert_eq!(program.conflicts(), [""; 0]);
}

#[test]
fn two_gpus_and_the_parts_of_a_buffer() {
    let program = Program::begin();
    let other = common::context(1);
    let (near, far) = {
        let far = device("far");
        program.context.bind_to_thread().unwrap();
        (device("near"), far)
    };
    name(near + 1024, "the rest");
    let (stream, [half, _]) = (stream(), halves());
    upload(near, half, stream);
    program.add(near, stream);
    // SAFETY: both have so many bytes.
    unsafe {
        let (to, from) = (other.cu_ctx(), program.context.cu_ctx());
        result::memcpy_peer_async(to, far, from, near, BYTES, stream)
    }
    .unwrap();
    let ledger = program.end();
    let copy = &ledger.operations[2];
    assert_eq!(copy.kind, Kind::PeerCopy { from: 0, to: 1 });
    assert_eq!((copy.after.as_slice(), copy.gpu), (&[2][..], 0));
    for ranges in [&copy.read, &ledger.operations[1].read] {
        let told: Vec<_> = ranges.iter().map(|r| (r.name.as_str(), r.offset, r.bytes)).collect();
        assert_eq!(told, [("near", 0, 1024), ("the rest", 0, 3072)]);
    }
    let peer_copies = Amount { count: 1, bytes: BYTES as u64 };
    assert_eq!(totals(&ledger).peer_copies, peer_copies);
}
