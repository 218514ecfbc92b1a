//! The bookkeeping against a model: any order of taking, using, giving, trimming and
//! failing, on streams that come, go and run at any pace.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod fake;

use std::collections::HashSet;
use std::rc::Rc;

use fake::{Failure, Fake, Piece, Stream, World};
use pool::Class;
use pool::book::{Boxed, Error, Stats};
use pool::shelves::Shelves;
use proptest::prelude::*;

const GRANULE: usize = 512;

/// What happens, on which stream, or with which of the blocks that are handed out.
#[derive(Clone, Debug)]
enum Action {
    Take { thread: usize, stream: usize, bytes: usize }, // and uses it there
    Use { block: usize },                                // on its own stream
    UseOn { block: usize, stream: usize },               // on another one, in order
    Give { thread: usize, block: usize },
    Step { stream: usize },    // lets it work
    Replace { stream: usize }, // forgets it, and a new one comes
    Shrink { keep: usize },
    Look,                  // at what the pool holds, for which it empties all shelves
    Fail { calls: usize }, // lets a call of the device fail soon
}

fn action() -> impl Strategy<Value = Action> {
    // Thread 64 has no shelf.
    let thread = prop_oneof![3 => 0..2usize, 1 => Just(64)];
    let (stream, block) = (0..4usize, 0..16usize);
    // Few classes, so that blocks are used again.
    let bytes = prop_oneof![0..4 * GRANULE, Just(16 * GRANULE), Just(17 * GRANULE)];
    let on = (block.clone(), stream.clone());
    prop_oneof![
        6 => (thread.clone(), stream.clone(), bytes)
            .prop_map(|(thread, stream, bytes)| Action::Take { thread, stream, bytes }),
        3 => block.clone().prop_map(|block| Action::Use { block }),
        2 => on.prop_map(|(block, stream)| Action::UseOn { block, stream }),
        6 => (thread, block).prop_map(|(thread, block)| Action::Give { thread, block }),
        1 => Just(Action::Look),
        6 => stream.clone().prop_map(|stream| Action::Step { stream }),
        1 => stream.prop_map(|stream| Action::Replace { stream }),
        1 => (0..64 * GRANULE).prop_map(|keep| Action::Shrink { keep }),
        1 => (0..6usize).prop_map(|calls| Action::Fail { calls }),
    ]
}

/// A block that is handed out, with its stream and the others that use it.
struct Live {
    block: Boxed<Piece>,
    stream: Stream,
    others: Vec<Stream>,
    owner: usize,
}

/// What is checked when nothing lies on a shelf.
fn check(pool: &Shelves<Fake>, world: &World, live: &[Live], cap: usize) {
    let stats = pool.stats();
    let handed_out: HashSet<_> = live.iter().map(|live| live.block.memory.number).collect();
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
    let pool = Shelves::new(Fake(Rc::clone(&world)), cap);
    let mut streams: Vec<Stream> = (0..4).map(|_| world.stream()).collect();
    let mut live: Vec<Live> = vec![];
    let mut owner = 0;
    for action in actions {
        match action {
            Action::Take { thread, stream, bytes } => {
                let stream = streams[stream].clone();
                let failures = world.failures.get();
                let taken = pool.take(thread, &stream, bytes);
                let whole = bytes.next_multiple_of(GRANULE).max(GRANULE);
                let needed = Class::of(bytes).unwrap().bytes();
                let refused = |Stats { in_use_bytes, lost, .. }: Stats| {
                    // If the device failed, now or before, it may be refused.
                    (in_use_bytes, world.failures.get() > failures || lost > 0)
                };
                match taken {
                    Ok(block) => {
                        owner += 1;
                        let size = block.bytes();
                        assert!(size >= whole && size - whole <= whole / 8, "waste");
                        world.enqueue_use(&stream, block.memory.number, owner);
                        live.push(Live { block, stream, others: vec![], owner });
                    }
                    Err(Error::Cap { wanted, in_use: stated, cap: limit }) => {
                        let (in_use, failed) = refused(pool.stats());
                        assert_eq!((wanted, stated, limit), (needed, in_use, cap));
                        assert!(in_use + needed > cap || failed, "no need");
                    }
                    Err(Error::Device(Failure::OutOfMemory)) => {
                        let (in_use, failed) = refused(pool.stats());
                        assert!(in_use + needed > memory || failed, "no need");
                    }
                    Err(Error::Device(Failure::Broken)) => assert!(refused(pool.stats()).1),
                    Err(e) => panic!("{e}"),
                }
            }
            Action::Use { block } if !live.is_empty() => {
                let Live { block, stream, owner, .. } = &live[block % live.len()];
                world.enqueue_use(stream, block.memory.number, *owner);
            }
            Action::UseOn { block, stream } if !live.is_empty() => {
                let index = block % live.len();
                let Live { block, stream: home, others, owner } = &mut live[index];
                let stream = &streams[stream];
                world.join(stream, home);
                world.enqueue_use(stream, block.memory.number, *owner);
                others.push(stream.clone());
            }
            Action::Give { thread, block } if !live.is_empty() => {
                let index = block % live.len();
                let Live { block, others, .. } = live.swap_remove(index);
                if others.is_empty() {
                    pool.give(thread, block);
                } else {
                    pool.give_after(block, &others);
                }
            }
            Action::Step { stream } => _ = world.step(stream),
            Action::Replace { stream } => streams[stream] = world.stream(),
            Action::Shrink { keep } => pool.shrink(keep),
            Action::Look => check(&pool, &world, &live, cap),
            Action::Fail { calls } => world.good_calls.set(calls),
            _ => {}
        }
    }
    check(&pool, &world, &live, cap);
    // The end: whatever went wrong, a device that works again serves a pool that works.
    world.good_calls.set(usize::MAX);
    for Live { block, others, .. } in live {
        pool.give_after(block, &others);
    }
    let lost = pool.stats().lost;
    if lost == 0 {
        let largest = Class::of(cap.min(memory) / 9 * 8).unwrap();
        let block = pool.take(0, &streams[0], largest.bytes()).unwrap();
        world.enqueue_use(&streams[0], block.memory.number, owner + 1);
        pool.give(0, block);
        drop(pool); // which waits for what is still to come
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
fn empty(cap: usize, memory: usize) -> (Shelves<Fake>, Rc<World>, Stream, Stream) {
    let world = World::new(memory);
    let (first, second) = (world.stream(), world.stream());
    (Shelves::new(Fake(Rc::clone(&world)), cap), world, first, second)
}

#[test]
fn the_same_stream_asks_the_device_once() {
    let (pool, world, stream, _) = empty(usize::MAX, usize::MAX);
    for round in 0..1000 {
        let block = pool.take(0, &stream, 4_000_000).unwrap();
        world.enqueue_use(&stream, block.memory.number, round);
        pool.give(0, block);
        world.good_calls.set(0); // from here on, every call of the device would fail
    }
    let stats = pool.stats();
    assert_eq!((stats.allocated, stats.reused), (1, 999));
    world.good_calls.set(usize::MAX);
}

#[test]
fn another_stream_gets_what_is_idle_and_waits_only_if_it_must() {
    let (pool, world, first, second) = empty(2 * GRANULE, usize::MAX);
    let busy = pool.take(0, &first, GRANULE).unwrap();
    world.enqueue_use(&first, busy.memory.number, 1);
    pool.give(0, busy);

    // There is room for a new block, so nobody waits.
    let new = pool.take(0, &second, GRANULE).unwrap();
    assert_eq!((pool.stats().allocated, pool.stats().waited), (2, 0));
    // There is none any more.
    let awaited = pool.take(0, &second, GRANULE).unwrap();
    assert_eq!((pool.stats().moved, pool.stats().waited), (1, 1));
    pool.give(0, new);
    pool.give(0, awaited);
    // All is idle.
    world.run();
    let idle = pool.take(0, &first, GRANULE).unwrap();
    pool.give(0, idle);
    assert_eq!((pool.stats().moved, pool.stats().waited), (2, 1));
}

#[test]
fn a_stream_that_is_gone_leaves_its_blocks_to_the_next() {
    let (pool, world, first, second) = empty(usize::MAX, usize::MAX);
    let block = pool.take(0, &first, GRANULE).unwrap();
    world.enqueue_use(&first, block.memory.number, 1);
    pool.give(0, block);
    drop(first);
    world.run();
    let block = pool.take(0, &second, GRANULE).unwrap();
    assert_eq!((pool.stats().allocated, pool.stats().reused), (1, 1));
    pool.give(0, block);
}

#[test]
fn blocks_of_other_sizes_make_room() {
    for (cap, memory) in [(16 * GRANULE, usize::MAX), (usize::MAX, 16 * GRANULE)] {
        let (pool, world, stream, _) = empty(cap, memory);
        let small = (0..16).map(|_| pool.take(0, &stream, GRANULE).unwrap());
        let small: Vec<_> = small.collect();
        assert!(pool.take(0, &stream, GRANULE).is_err());
        small.into_iter().for_each(|block| pool.give(0, block));
        let large = pool.take(0, &stream, 16 * GRANULE).unwrap();
        assert_eq!((pool.stats().released, world.held()), (16, 16 * GRANULE));
        pool.give(0, large);
    }
}

#[test]
fn what_lies_on_a_shelf_is_within_reach_of_all() {
    let (pool, world, first, second) = empty(4 * GRANULE, usize::MAX);
    // Five of one row, of which four fit; and one that another thread gives back.
    let blocks: Vec<_> = (0..4).map(|_| pool.take(0, &first, GRANULE).unwrap()).collect();
    assert!(pool.take(1, &first, GRANULE).is_err());
    blocks.into_iter().for_each(|block| pool.give(0, block));
    world.good_calls.set(0); // to hand them out again takes no call
    let other = pool.take(1, &first, GRANULE).unwrap();
    pool.give(0, other);
    let blocks: Vec<_> = (0..4).map(|_| pool.take(0, &first, GRANULE).unwrap()).collect();
    blocks.into_iter().for_each(|block| pool.give(0, block));
    world.good_calls.set(usize::MAX);
    // Another stream gets them, and another size their bytes.
    let moved = pool.take(1, &second, GRANULE).unwrap();
    assert_eq!(pool.stats().moved, 1);
    pool.give(1, moved);
    let large = pool.take(2, &second, 4 * GRANULE).unwrap();
    pool.give(2, large);
    let Stats { in_use_bytes, held_bytes, reused, allocated, released, .. } = pool.stats();
    assert_eq!((in_use_bytes, held_bytes), (0, 4 * GRANULE));
    assert_eq!((reused, allocated, released), (5, 5, 4));
    drop(pool);
    assert_eq!(world.held(), 0);
}
