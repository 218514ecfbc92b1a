//! The bookkeeping against a model: any order of taking, using, giving, trimming and
//! failing, on streams that come, go and run at any pace.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod fake;

use std::collections::HashSet;
use std::rc::Rc;

use fake::{Failure, Fake, Stream, World};
use pool::Class;
use pool::book::{Block, Book, Error, Stats};
use proptest::prelude::*;

const GRANULE: usize = 512;

/// What happens, on which stream, or with which of the blocks that are handed out.
#[derive(Clone, Debug)]
enum Action {
    Take { stream: usize, bytes: usize },  // and uses it there
    Use { block: usize },                  // on its own stream
    UseOn { block: usize, stream: usize }, // on another one, in order
    Give { block: usize },
    Step { stream: usize },    // lets it work
    Replace { stream: usize }, // forgets it, and a new one comes
    Shrink { keep: usize },
    Fail { calls: usize }, // lets a call of the device fail soon
}

fn action() -> impl Strategy<Value = Action> {
    let (stream, block) = (0..4usize, 0..16usize);
    // Few classes, so that blocks are used again.
    let bytes = prop_oneof![0..4 * GRANULE, Just(16 * GRANULE), Just(17 * GRANULE)];
    let on = (block.clone(), stream.clone());
    prop_oneof![
        6 => (stream.clone(), bytes).prop_map(|(stream, bytes)| Action::Take { stream, bytes }),
        3 => block.clone().prop_map(|block| Action::Use { block }),
        2 => on.prop_map(|(block, stream)| Action::UseOn { block, stream }),
        6 => block.prop_map(|block| Action::Give { block }),
        6 => stream.clone().prop_map(|stream| Action::Step { stream }),
        1 => stream.prop_map(|stream| Action::Replace { stream }),
        1 => (0..64 * GRANULE).prop_map(|keep| Action::Shrink { keep }),
        1 => (0..6usize).prop_map(|calls| Action::Fail { calls }),
    ]
}

/// A block that is handed out, with its stream and the others that use it.
struct Live {
    block: Block<usize>,
    stream: Stream,
    others: Vec<Stream>,
    owner: usize,
}

/// What is checked after every action.
fn check(book: &Book<Fake>, world: &World, live: &[Live], cap: usize) {
    let stats = book.stats();
    let handed_out: HashSet<_> = live.iter().map(|live| live.block.memory).collect();
    assert_eq!(handed_out.len(), live.len(), "a block was handed out twice");
    let in_use: usize = live.iter().map(|live| live.block.bytes()).sum();
    assert_eq!(stats.in_use_bytes, in_use);
    assert!(stats.in_use_bytes <= stats.held_bytes && stats.held_bytes <= cap);
    assert!(stats.held_bytes <= stats.peak_bytes && stats.peak_bytes <= cap);
    if stats.lost == 0 {
        assert_eq!(stats.held_bytes, world.held());
    }
}

fn play(actions: Vec<Action>, cap: usize, memory: usize) {
    let world = World::new(memory);
    let mut book = Book::new(Fake(Rc::clone(&world)), cap);
    let mut streams: Vec<Stream> = (0..4).map(|_| world.stream()).collect();
    let mut live: Vec<Live> = vec![];
    let mut owner = 0;
    for action in actions {
        match action {
            Action::Take { stream, bytes } => {
                let stream = streams[stream].clone();
                let failures = world.failures.get();
                let taken = book.take(&stream, bytes);
                let Stats { in_use_bytes: in_use, lost, .. } = book.stats();
                let whole = bytes.next_multiple_of(GRANULE).max(GRANULE);
                let needed = Class::of(bytes).unwrap().bytes();
                // If the device failed, now or before, it may be refused.
                let failed = world.failures.get() > failures || lost > 0;
                match taken {
                    Ok(block) => {
                        owner += 1;
                        let size = block.bytes();
                        assert!(size >= whole && size - whole <= whole / 8, "waste");
                        world.enqueue_use(&stream, block.memory, owner);
                        live.push(Live { block, stream, others: vec![], owner });
                    }
                    Err(Error::Cap { wanted, in_use: stated, cap: limit }) => {
                        assert_eq!((wanted, stated, limit), (needed, in_use, cap));
                        assert!(in_use + needed > cap || failed, "no need");
                    }
                    Err(Error::Device(Failure::OutOfMemory)) => {
                        assert!(in_use + needed > memory || failed, "no need");
                    }
                    Err(Error::Device(Failure::Broken)) => assert!(failed),
                    Err(e) => panic!("{e}"),
                }
            }
            Action::Use { block } if !live.is_empty() => {
                let Live { block, stream, owner, .. } = &live[block % live.len()];
                world.enqueue_use(stream, block.memory, *owner);
            }
            Action::UseOn { block, stream } if !live.is_empty() => {
                let index = block % live.len();
                let Live { block, stream: home, others, owner } = &mut live[index];
                let stream = &streams[stream];
                world.join(stream, home);
                world.enqueue_use(stream, block.memory, *owner);
                others.push(stream.clone());
            }
            Action::Give { block } if !live.is_empty() => {
                let index = block % live.len();
                let Live { block, others, .. } = live.swap_remove(index);
                if others.is_empty() {
                    book.give(block);
                } else {
                    book.give_after(block, &others);
                }
            }
            Action::Step { stream } => _ = world.step(stream),
            Action::Replace { stream } => streams[stream] = world.stream(),
            Action::Shrink { keep } => book.shrink(keep),
            Action::Fail { calls } => world.good_calls.set(calls),
            _ => {}
        }
        check(&book, &world, &live, cap);
    }
    // The end: whatever went wrong, a device that works again serves a pool that works.
    world.good_calls.set(usize::MAX);
    for Live { block, others, .. } in live {
        book.give_after(block, &others);
    }
    let lost = book.stats().lost;
    if lost == 0 {
        let largest = Class::of(cap.min(memory) / 9 * 8).unwrap();
        let block = book.take(&streams[0], largest.bytes()).unwrap();
        world.enqueue_use(&streams[0], block.memory, owner + 1);
        book.give(block);
        drop(book); // which waits for what is still to come
        assert_eq!(world.held(), 0, "a leak");
    }
    world.run();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_order_of_actions(actions in prop::collection::vec(action(), 1..120)) {
        play(actions, usize::MAX, 1 << 40);
    }

    #[test]
    fn any_order_of_actions_under_a_cap(
        actions in prop::collection::vec(action(), 1..120), granules in 9..80usize
    ) {
        play(actions, granules * GRANULE, 1 << 40);
    }

    #[test]
    fn any_order_of_actions_with_little_memory(
        actions in prop::collection::vec(action(), 1..120), granules in 9..80usize
    ) {
        play(actions, usize::MAX, granules * GRANULE);
    }
}

/// A pool, and two streams of a device.
fn pool(cap: usize, memory: usize) -> (Book<Fake>, Rc<World>, Stream, Stream) {
    let world = World::new(memory);
    let (first, second) = (world.stream(), world.stream());
    (Book::new(Fake(Rc::clone(&world)), cap), world, first, second)
}

#[test]
fn the_same_stream_asks_the_device_once() {
    let (mut book, world, stream, _) = pool(usize::MAX, usize::MAX);
    for round in 0..1000 {
        let block = book.take(&stream, 4_000_000).unwrap();
        world.enqueue_use(&stream, block.memory, round);
        book.give(block);
        world.good_calls.set(0); // from here on, every call of the device would fail
    }
    let stats = book.stats();
    assert_eq!((stats.allocated, stats.reused), (1, 999));
    world.good_calls.set(usize::MAX);
}

#[test]
fn another_stream_gets_what_is_idle_and_waits_only_if_it_must() {
    let (mut book, world, first, second) = pool(2 * GRANULE, usize::MAX);
    let busy = book.take(&first, GRANULE).unwrap();
    world.enqueue_use(&first, busy.memory, 1);
    book.give(busy);

    // There is room for a new block, so nobody waits.
    let new = book.take(&second, GRANULE).unwrap();
    assert_eq!((book.stats().allocated, book.stats().waited), (2, 0));
    // There is none any more.
    let awaited = book.take(&second, GRANULE).unwrap();
    assert_eq!((book.stats().moved, book.stats().waited), (1, 1));
    book.give(new);
    book.give(awaited);
    // All is idle.
    world.run();
    let idle = book.take(&first, GRANULE).unwrap();
    book.give(idle);
    assert_eq!((book.stats().moved, book.stats().waited), (2, 1));
}

#[test]
fn a_stream_that_is_gone_leaves_its_blocks_to_the_next() {
    let (mut book, world, first, second) = pool(usize::MAX, usize::MAX);
    let block = book.take(&first, GRANULE).unwrap();
    world.enqueue_use(&first, block.memory, 1);
    book.give(block);
    drop(first);
    world.run();
    let block = book.take(&second, GRANULE).unwrap();
    assert_eq!((book.stats().allocated, book.stats().reused), (1, 1));
    book.give(block);
}

#[test]
fn blocks_of_other_sizes_make_room() {
    for (cap, memory) in [(16 * GRANULE, usize::MAX), (usize::MAX, 16 * GRANULE)] {
        let (mut book, world, stream, _) = pool(cap, memory);
        let small = (0..16).map(|_| book.take(&stream, GRANULE).unwrap());
        let small: Vec<_> = small.collect();
        assert!(book.take(&stream, GRANULE).is_err());
        small.into_iter().for_each(|block| book.give(block));
        let large = book.take(&stream, 16 * GRANULE).unwrap();
        assert_eq!((book.stats().released, world.held()), (16, 16 * GRANULE));
        book.give(large);
    }
}
