//! A device for tests: streams that run when they are told to, memory that says no, and
//! a referee. It panics if work of a former owner of a block is still to come when the
//! next owner's begins, or when the block is given back.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::thread::panicking;

use pool::book::Device;

/// What is queued on a stream.
enum Work {
    Use { memory: usize, owner: usize },
    Mark(Rc<Cell<bool>>),
    Wait(Rc<Cell<bool>>),
}

/// All streams and all memory.
#[derive(Default)]
pub(crate) struct World {
    queues: RefCell<BTreeMap<usize, VecDeque<Work>>>,
    /// The bytes of each piece of memory that is allocated.
    allocated: RefCell<BTreeMap<usize, usize>>,
    /// For each piece of memory the owners whose uses are queued, in any stream's queue.
    uses: RefCell<BTreeMap<usize, Vec<usize>>>,
    next: Cell<usize>,
    /// Memory of the device.
    pub(crate) bytes: Cell<usize>,
    /// How many more calls succeed, before one fails.
    pub(crate) good_calls: Cell<usize>,
    /// How many have failed so.
    pub(crate) failures: Cell<usize>,
}

/// What the device says if it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    OutOfMemory,
    Broken,
}

/// A handle of a stream, named by a number.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Rc<usize>);

/// A piece of memory by number, with a handle of the stream that it belongs to.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) number: usize,
    _handle: Stream,
}

impl World {
    pub(crate) fn new(bytes: usize) -> Rc<World> {
        let world = World::default();
        world.bytes.set(bytes);
        world.good_calls.set(usize::MAX);
        Rc::new(world)
    }

    pub(crate) fn stream(&self) -> Stream {
        let name = self.number();
        self.queues.borrow_mut().insert(name, VecDeque::new());
        Stream(Rc::new(name))
    }

    fn number(&self) -> usize {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }

    /// Bytes that are allocated.
    pub(crate) fn held(&self) -> usize {
        self.allocated.borrow().values().sum()
    }

    /// Queues work of `owner` with a block of memory.
    pub(crate) fn enqueue_use(&self, stream: &Stream, memory: usize, owner: usize) {
        self.uses.borrow_mut().entry(memory).or_default().push(owner);
        self.enqueue(stream, Work::Use { memory, owner });
    }

    /// As a program does with events of its own: `later` waits for what `earlier` has.
    pub(crate) fn join(&self, later: &Stream, earlier: &Stream) {
        let mark = Rc::default();
        self.enqueue(earlier, Work::Mark(Rc::clone(&mark)));
        self.enqueue(later, Work::Wait(mark));
    }

    fn enqueue(&self, stream: &Stream, work: Work) {
        self.queues.borrow_mut().get_mut(&*stream.0).unwrap().push_back(work);
    }

    /// Lets the nth stream do one thing, if it has one and need not wait.
    pub(crate) fn step(&self, n: usize) -> bool {
        let mut queues = self.queues.borrow_mut();
        let count = queues.len();
        let Some(queue) = queues.values_mut().nth(n % count.max(1)) else {
            return false;
        };
        match queue.pop_front() {
            None => return false,
            Some(Work::Wait(mark)) if !mark.get() => {
                queue.push_front(Work::Wait(mark));
                return false;
            }
            Some(Work::Wait(_)) => {}
            Some(Work::Mark(mark)) => mark.set(true),
            Some(Work::Use { memory, owner }) => {
                let mut uses = self.uses.borrow_mut();
                let uses = uses.get_mut(&memory).unwrap();
                assert!(
                    uses.iter().all(|other| *other >= owner),
                    "owner {owner} uses memory {memory} before a former owner's work"
                );
                let index = uses.iter().position(|other| *other == owner);
                uses.remove(index.unwrap());
            }
        }
        true
    }

    /// Lets all streams do all they have.
    pub(crate) fn run(&self) {
        let streams = self.queues.borrow().len();
        while (0..streams).any(|n| self.step(n)) {}
        assert!(self.queues.borrow().values().all(VecDeque::is_empty), "a deadlock");
    }

    fn call(&self) -> Result<(), Failure> {
        let left = self.good_calls.get();
        self.good_calls.set(left.wrapping_sub(1));
        if left > 0 {
            return Ok(());
        }
        self.failures.set(self.failures.get() + 1);
        Err(Failure::Broken)
    }
}

/// The device that the book gets.
pub(crate) struct Fake(pub(crate) Rc<World>);

impl Device for Fake {
    type Stream = Stream;
    type Memory = Piece;
    type Event = Rc<Cell<bool>>;
    type Error = Failure;

    fn name(stream: &Stream) -> usize {
        *stream.0
    }

    fn accept(&self, _stream: &Stream) -> Result<(), &'static str> {
        Ok(())
    }

    fn only_handles(stream: &Stream, handles: usize) -> bool {
        Rc::strong_count(&stream.0) <= handles
    }

    fn allocate(&self, stream: &Stream, bytes: usize) -> Result<Piece, Failure> {
        self.0.call()?;
        if self.0.held() + bytes > self.0.bytes.get() {
            return Err(Failure::OutOfMemory);
        }
        let number = self.0.number();
        self.0.allocated.borrow_mut().insert(number, bytes);
        Ok(Piece { number, _handle: stream.clone() })
    }

    fn is_out_of_memory(error: &Failure) -> bool {
        *error == Failure::OutOfMemory
    }

    fn hand_over(&self, memory: Piece, to: &Stream) -> Piece {
        Piece { _handle: to.clone(), ..memory }
    }

    fn release(&self, Piece { number: memory, .. }: Piece) {
        if panicking() {
            return; // a second panic would hide the first
        }
        let uses = self.0.uses.borrow();
        let busy = uses.get(&memory).is_some_and(|uses| !uses.is_empty());
        assert!(!busy, "memory {memory} was given back while in use");
        let was = self.0.allocated.borrow_mut().remove(&memory);
        assert!(was.is_some(), "memory {memory} was given back twice");
    }

    fn record(&self, stream: &Stream) -> Result<Rc<Cell<bool>>, Failure> {
        self.0.call()?;
        let mark = Rc::default();
        self.0.enqueue(stream, Work::Mark(Rc::clone(&mark)));
        Ok(mark)
    }

    /// As on a GPU, an event behind no work is done at once.
    fn is_done(&self, event: &Rc<Cell<bool>>) -> Result<bool, Failure> {
        self.0.call()?;
        for queue in self.0.queues.borrow_mut().values_mut() {
            while let Some(Work::Mark(mark)) = queue.front() {
                mark.set(true);
                queue.pop_front();
            }
        }
        Ok(event.get())
    }

    fn wait(&self, stream: &Stream, event: &Rc<Cell<bool>>) -> Result<(), Failure> {
        self.0.call()?;
        self.0.enqueue(stream, Work::Wait(Rc::clone(event)));
        Ok(())
    }

    fn synchronize(&self, event: &Rc<Cell<bool>>) -> Result<(), Failure> {
        if panicking() {
            return Err(Failure::Broken);
        }
        self.0.call()?;
        let streams = self.0.queues.borrow().len();
        while !event.get() {
            assert!((0..streams).any(|n| self.0.step(n)), "a deadlock");
        }
        Ok(())
    }
}
