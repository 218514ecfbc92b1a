//! The ledger of small programs, and what the crate `ledger` says of it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod common;

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{module, told};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result, sys,
};
use ledger::{Amount, Conflict, Costs, Kind, Ledger, schedule, totals, unordered};

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

    fn streams<const STREAMS: usize>(&self) -> [Arc<CudaStream>; STREAMS] {
        [(); STREAMS].map(|()| self.context.new_stream().unwrap())
    }

    fn add(&self, data: u64, stream: &CudaStream) {
        let mut launch = stream.launch_builder(&self.add);
        launch.arg(&data).arg(&WORDS).arg(&1u32);
        // SAFETY: these are the kernel's parameters; there are so many words.
        unsafe { launch.launch(LaunchConfig::for_num_elems(WORDS)) }.unwrap();
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

fn upload(to: u64, from: u64, stream: &CudaStream) {
    // SAFETY: both have so many bytes.
    unsafe { sys::cuMemcpyHtoDAsync_v2(to, from as *const c_void, BYTES, stream.cu_stream()) }
        .result()
        .unwrap();
}

fn download(to: u64, from: u64, stream: &CudaStream) {
    // SAFETY: both have so many bytes.
    unsafe { sys::cuMemcpyDtoHAsync_v2(to as *mut c_void, from, BYTES, stream.cu_stream()) }
        .result()
        .unwrap();
}

/// An upload in one stream, a kernel in another, and what is done between.
fn hand_over(order: impl FnOnce(&CudaStream, &CudaStream)) -> Vec<String> {
    let program = Program::begin();
    let [first, second] = program.streams();
    let (data, [half, _]) = (device("data"), halves());
    upload(data, half, &first);
    order(&second, &first);
    program.add(data, &second);
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
    let [first, second] = program.streams();
    let (data, [half, _]) = (device("data"), halves());
    upload(data, half, &first);
    program.add(data, &second);
    assert!(second.synchronize().is_err(), "the kernel reads what nobody has written");
    let ledger = told("workbookEmulatorLedger").parse().unwrap();
    let [conflict] = &unordered(&ledger)[..] else { panic!("one") };
    assert_eq!((conflict.first.number, conflict.second.number), (1, 2));
}

#[test]
fn an_event_or_the_host_orders_them() {
    // Asks until the stream has nothing left to do, or the event is over.
    let query = |first: &CudaStream| {
        // SAFETY: the stream is there.
        while let Err(error) = unsafe { sys::cuStreamQuery(first.cu_stream()) }.result() {
            assert_eq!(error.0, sys::CUresult::CUDA_ERROR_NOT_READY);
        }
    };
    let query_event = |event: CudaEvent| while !event.is_complete() {};
    let recorded = |first: &CudaStream| first.record_event(None).unwrap();
    for named in [
        hand_over(|later, earlier| later.join(earlier).unwrap()),
        hand_over(|_, first| first.synchronize().unwrap()),
        hand_over(|_, first| query(first)),
        hand_over(|_, first| recorded(first).synchronize().unwrap()),
        hand_over(|_, first| query_event(recorded(first))),
    ] {
        assert_eq!(named, [""; 0]);
    }
}

#[test]
fn the_legacy_default_stream_orders_blocking_streams() {
    let named = |kind| {
        let program = Program::begin();
        let other = result::stream::create(kind).unwrap();
        // SAFETY: the stream is there, and stays.
        let other = unsafe { program.context.wrap_borrowed_stream(other) };
        let (data, [half, _]) = (device("data"), halves());
        let legacy = program.context.default_stream();
        upload(data, half, &legacy);
        program.add(data, &other);
        upload(data, half, &legacy);
        program.conflicts()
    };
    assert!(named(result::stream::StreamKind::Default).is_empty());
    let named = named(result::stream::StreamKind::NonBlocking);
    assert_eq!(named.len(), 2);
    assert!(named[0].starts_with("upload 1 (the default stream) writes `data`"));
}

#[test]
fn a_pinned_half_that_is_used_again_without_a_wait_is_named() {
    let named = |waits: bool| {
        let program = Program::begin();
        let [up, down] = program.streams();
        let (data, [half, _]) = (device("data"), halves());
        let other = device("other");
        upload(data, half, &up);
        down.join(&up).unwrap();
        download(half, data, &down);
        if waits {
            down.synchronize().unwrap();
        }
        upload(other, half, &up);
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
    let [first, second] = program.streams();
    let (data, mut words) = (device("data"), vec![7u32; WORDS as usize]);
    // SAFETY: both have so many bytes; the second call blocks.
    unsafe {
        result::memcpy_htod_async(data, &words, first.cu_stream()).unwrap();
        words.fill(8);
        result::memcpy_dtoh_async(&mut words, data, first.cu_stream()).unwrap();
    }
    assert!(words.iter().all(|word| *word == 7));
    program.add(data, &second);
    let ledger = program.end();
    assert!(unordered(&ledger).is_empty());
    let [upload, download, _] = &ledger.operations[..] else { panic!("three") };
    assert!(upload.read.is_empty() && download.written.is_empty());
    assert_eq!(ledger.waits[0].operation, 2);
}

/// Six batches go up, through a kernel and down, each in one of so many streams.
fn batches<const STREAMS: usize>() -> Ledger {
    let program = Program::begin();
    let stages = program.streams::<STREAMS>().map(|stream| (stream, device("stage")));
    let [input, output] = halves();
    for (stream, data) in stages.iter().cycle().take(6) {
        upload(*data, input, stream);
        program.add(*data, stream);
        download(output, *data, stream);
    }
    program.end()
}

#[test]
fn two_stages_take_much_less_than_one() {
    let rate = BYTES as f64 / 10.0; // each step takes 10 microseconds
    let (upload, download, memory, launch) = (rate, rate, 2.0 * rate, 0.0);
    let costs = Costs { upload, download, memory, launch, ..Costs::default() };
    let (serial, staged) = (batches::<1>(), batches::<2>());
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
    let [stream, side] = program.streams();
    let (data, other, [half, _]) = (device("data"), device("other"), halves());
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    upload(data, half, &stream);
    side.join(&stream).unwrap();
    program.add(data, &side);
    upload(other, half, &stream);
    stream.join(&side).unwrap();
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
    let [first, second] = program.streams();
    let [half, output] = halves();
    // SAFETY: whether the order is right is what is asked here.
    let take = || unsafe { result::malloc_async(first.cu_stream(), BYTES) }.unwrap();
    let old = take();
    name(old, "old");
    upload(old, half, &first);
    second.join(&first).unwrap();
    download(output, old, &second);
    // SAFETY: as above.
    unsafe { result::free_async(old, first.cu_stream()) }.unwrap();
    let new = take();
    assert_eq!(new, old);
    name(new, "new");
    upload(new, half, &first);
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
    let [first, second] = program.streams();
    let [half, _] = halves();
    let take = |stream: &CudaStream| {
        // SAFETY: each is freed in the stream that used it, or never.
        unsafe { result::malloc_async(stream.cu_stream(), 2 << 20) }.unwrap()
    };
    let old = take(&first);
    upload(old, half, &first);
    // SAFETY: as above.
    unsafe { result::free_async(old, first.cu_stream()) }.unwrap();
    let new = take(&second);
    assert_eq!(new, old, "it fills a chunk of the pool");
    upload(new, half, &second);
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
    let ([stream], [half, _]) = (program.streams(), halves());
    upload(near, half, &stream);
    program.add(near, &stream);
    // SAFETY: both have so many bytes.
    unsafe {
        let (to, from) = (other.cu_ctx(), program.context.cu_ctx());
        result::memcpy_peer_async(to, far, from, near, BYTES, stream.cu_stream())
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
