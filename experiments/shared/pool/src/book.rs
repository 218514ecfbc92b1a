//! Which block is where: the pool's bookkeeping, for any [`Device`].
//!
//! Free blocks lie in *arenas*, one for each stream, and there by size class. Work on a
//! stream runs in order, so a block that was freed on a stream can be used again on it at
//! once, and nobody has to ask the device: that is the whole hot path. Everything else,
//! such as a block's way from one stream to another, is rarer and goes through events.

use crate::class::Class;

/// What the bookkeeping needs to be able to do. A CUDA context is one; so is a model in a
/// test.
pub trait Device {
    /// A handle of a queue of work that runs in order.
    type Stream: Clone;
    /// A piece of memory, which belongs to a stream. Dropping it does not release it.
    type Memory;
    /// A point in a stream's work.
    type Event;
    /// What went wrong.
    type Error;

    /// A stream's name, which is no other stream's for as long as there is a handle. A
    /// stream that goes by two names is treated as two.
    fn name(stream: &Self::Stream) -> usize;
    /// Why this stream cannot be used, if it cannot. It is asked once.
    fn accept(&self, stream: &Self::Stream) -> Result<(), &'static str>;
    /// Whether only `handles` handles of this stream are left, those in memory included.
    fn only_handles(stream: &Self::Stream, handles: usize) -> bool;

    /// New memory that belongs to this stream.
    fn allocate(&self, stream: &Self::Stream, bytes: usize) -> Result<Self::Memory, Self::Error>;
    /// Whether an allocation failed because there is too little memory.
    fn is_out_of_memory(error: &Self::Error) -> bool;
    /// Gives memory another stream to belong to.
    fn hand_over(&self, memory: Self::Memory, to: &Self::Stream) -> Self::Memory;
    /// Gives memory back. Nothing on any stream uses it any more.
    fn release(&self, memory: Self::Memory);

    /// Marks the end of what is queued on a stream now.
    fn record(&self, stream: &Self::Stream) -> Result<Self::Event, Self::Error>;
    /// Whether the stream has come to this point.
    fn is_done(&self, event: &Self::Event) -> Result<bool, Self::Error>;
    /// Lets what is queued on a stream from now on start only when the event is done.
    fn wait(&self, stream: &Self::Stream, event: &Self::Event) -> Result<(), Self::Error>;
    /// Lets the host wait until the event is done.
    fn synchronize(&self, event: &Self::Event) -> Result<(), Self::Error>;
}

/// Why there is no block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The pool would hold more than its cap.
    #[error(
        "{wanted} bytes more would exceed the pool's cap of {cap} bytes, of which {in_use} \
         are in use"
    )]
    Cap {
        /// Size of the block that was wanted.
        wanted: usize,
        /// Bytes in blocks that are in use.
        in_use: usize,
        /// The most that the pool may hold.
        cap: usize,
    },
    /// No GPU has this much memory.
    #[error("no GPU has memory for this many elements")]
    TooLarge,
    /// The stream cannot be used with the pool, for this reason.
    #[error("{0}")]
    Stream(&'static str),
    /// The device said no, even after the pool had given back all that it could.
    #[error("the GPU gave the pool no memory")]
    Device(#[from] E),
}

/// What a pool holds, and what it has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes in blocks that are handed out, as large as their classes.
    pub in_use_bytes: usize,
    /// Bytes of the device that the pool holds, handed out or not.
    pub held_bytes: usize,
    /// The most that it has ever held.
    pub peak_bytes: usize,
    /// Blocks that were handed out to the stream that they had been freed on.
    pub reused: u64,
    /// Blocks that were handed out to another stream.
    pub moved: u64,
    /// Blocks among `moved` that the other stream had to wait for.
    pub waited: u64,
    /// Blocks that came from the device.
    pub allocated: u64,
    /// Blocks that went back to it.
    pub released: u64,
    /// Blocks given up because the device failed while their last use was awaited. They
    /// are neither used again nor given back.
    pub lost: u64,
}

/// A block of memory. One that was handed out has to be given back.
#[derive(Debug)]
pub struct Block<M> {
    /// The memory, of the size of a [`Class`].
    pub memory: M,
    pub(crate) class: Class,
    arena: usize,
    /// The name of the stream that it was handed out for last, by the shelves.
    pub(crate) stream: usize,
    /// The thread that it was handed out to last.
    pub(crate) thread: usize,
}

/// A block, for the way from hand to hand: all that moves is its address.
pub type Boxed<M> = Box<Block<M>>;

impl<M> Block<M> {
    /// How large it is: at least as large as asked for.
    pub fn bytes(&self) -> usize {
        self.class.bytes()
    }
}

/// The blocks that were freed on one stream, by class.
struct Arena<D: Device> {
    name: usize,
    stream: D::Stream,
    free: Vec<Vec<Boxed<D::Memory>>>,
}

impl<D: Device> Arena<D> {
    fn new(stream: &D::Stream) -> Arena<D> {
        let free = (0..Class::COUNT).map(|_| vec![]).collect();
        Arena { name: D::name(stream), stream: stream.clone(), free }
    }
}

/// A block that is free on its own stream, but may be in use on others until these
/// events are done.
struct Parked<D: Device> {
    block: Boxed<D::Memory>,
    events: Vec<D::Event>,
}

/// What to do about a block that a stream still works with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Busy {
    /// Take another.
    Leave,
    /// Take it, and let the stream that gets it wait.
    Await,
    /// Let the host wait.
    Synchronize,
}

/// The bookkeeping of one pool.
pub(crate) struct Book<D: Device> {
    device: D,
    cap_bytes: usize,
    arenas: Vec<Arena<D>>,
    parked: Vec<Parked<D>>,
    stats: Stats,
}

impl<D: Device> Book<D> {
    /// An empty pool, which will never hold more than `cap_bytes`.
    pub(crate) fn new(device: D, cap_bytes: usize) -> Book<D> {
        let (arenas, parked, stats) = (vec![], vec![], Stats::default());
        Book { device, cap_bytes, arenas, parked, stats }
    }

    /// What it holds, and what it has done.
    pub(crate) fn stats(&self) -> Stats {
        let parked = self.parked.iter().map(|parked| parked.block.bytes());
        let free = self.arenas.iter().flat_map(|arena| {
            let free = Class::largest_first().zip(arena.free.iter().rev());
            free.map(|(class, free)| class.bytes() * free.len())
        });
        let idle_bytes = parked.chain(free).sum::<usize>();
        Stats { in_use_bytes: self.stats.held_bytes - idle_bytes, ..self.stats }
    }

    // ANCHOR: at_hand
    /// A block that was freed on this stream.
    pub(crate) fn at_hand(&mut self, stream: &D::Stream, class: Class) -> Option<Boxed<D::Memory>> {
        let name = D::name(stream);
        let arena = self.arenas.iter().position(|arena| arena.name == name)?;
        let block = self.arenas[arena].free[class.index()].pop()?;
        self.stats.reused += 1;
        Some(block)
    }

    /// Takes a block back. Its own stream may still be about to use it, no other may.
    pub(crate) fn give(&mut self, block: Boxed<D::Memory>) {
        self.arenas[block.arena].free[block.class.index()].push(block);
    }
    // ANCHOR_END: at_hand

    /// Takes a block back that these streams may still be about to use, too.
    pub(crate) fn give_after(&mut self, block: Boxed<D::Memory>, streams: &[D::Stream]) {
        match streams.iter().map(|stream| self.device.record(stream)).collect() {
            Ok(events) => self.parked.push(Parked { block, events }),
            Err(_) => self.lose(*block),
        }
    }

    /// A block where the stream has none: from another stream that is done with it, or
    /// new, or from one that is not done with it. If memory is short, `collect` gives back
    /// what lies elsewhere.
    pub(crate) fn find(
        &mut self,
        stream: &D::Stream,
        class: Class,
        collect: impl Fn(&mut Self),
    ) -> Result<Boxed<D::Memory>, Error<D::Error>> {
        let (bytes, cap) = (class.bytes(), self.cap_bytes);
        let fits = |held: usize| held.saturating_add(bytes) <= cap;
        if !fits(self.stats.held_bytes) {
            collect(self);
            if !fits(self.stats().in_use_bytes) {
                return Err(self.full(bytes));
            }
        }
        let arena = self.arena(stream).map_err(Error::Stream)?;
        if let Some(block) = self.scavenge(arena, class, Busy::Leave) {
            return Ok(block);
        }
        let mut keep = cap - bytes;
        if fits(self.stats.held_bytes) {
            match self.allocate(arena, class) {
                Err(e) if D::is_out_of_memory(&e) => {
                    collect(self);
                    keep = 0;
                }
                block => return Ok(block?),
            }
        }
        if let Some(block) = self.scavenge(arena, class, Busy::Await) {
            return Ok(block);
        }
        // What is free has another size, and stands in the way.
        self.shrink(keep);
        if !fits(self.stats.held_bytes) {
            return Err(self.full(bytes));
        }
        Ok(self.allocate(arena, class)?)
    }

    fn full(&self, wanted: usize) -> Error<D::Error> {
        let (in_use, cap) = (self.stats().in_use_bytes, self.cap_bytes);
        Error::Cap { wanted, in_use, cap }
    }

    fn allocate(&mut self, arena: usize, class: Class) -> Result<Boxed<D::Memory>, D::Error> {
        // With the arena's own handle of the stream: `is_abandoned` counts handles.
        let stream = &self.arenas[arena].stream;
        let memory = self.device.allocate(stream, class.bytes())?;
        self.stats.allocated += 1;
        self.stats.held_bytes += class.bytes();
        self.stats.peak_bytes = self.stats.peak_bytes.max(self.stats.held_bytes);
        Ok(Box::new(Block { memory, class, arena, stream: 0, thread: 0 }))
    }

    /// The arena of a stream. If it has none, it gets that of a stream which nobody can
    /// queue work on any more, so that there are never more arenas than streams in use.
    fn arena(&mut self, stream: &D::Stream) -> Result<usize, &'static str> {
        let name = D::name(stream);
        if let Some(arena) = self.arenas.iter().position(|arena| arena.name == name) {
            return Ok(arena);
        }
        self.device.accept(stream)?;
        for arena in 0..self.arenas.len() {
            if self.is_abandoned(arena) {
                return Ok(self.replace(arena, stream));
            }
        }
        self.arenas.push(Arena::new(stream));
        Ok(self.arenas.len() - 1)
    }

    fn is_abandoned(&self, arena: usize) -> bool {
        let parked = self.parked.iter().filter(|parked| parked.block.arena == arena);
        let free = self.arenas[arena].free.iter().map(Vec::len).sum::<usize>();
        // One handle is the arena's, and each block has one.
        D::only_handles(&self.arenas[arena].stream, 1 + free + parked.count())
    }

    /// Gives an arena to another stream, and the blocks in it as soon as the old stream is
    /// done with them.
    fn replace(&mut self, arena: usize, stream: &D::Stream) -> usize {
        let old = std::mem::replace(&mut self.arenas[arena], Arena::new(stream));
        for parked in std::mem::take(&mut self.parked) {
            let Parked { block, events } = parked;
            if block.arena == arena {
                self.park_after(&old.stream, block, events);
            } else {
                self.parked.push(Parked { block, events });
            }
        }
        for block in old.free.into_iter().flatten() {
            self.park_after(&old.stream, block, vec![]);
        }
        arena
    }

    /// Parks a block in its arena until a stream, whose arena that was, is done with it.
    fn park_after(
        &mut self,
        stream: &D::Stream,
        mut block: Boxed<D::Memory>,
        mut events: Vec<D::Event>,
    ) {
        match self.device.record(stream) {
            Ok(event) => events.push(event),
            Err(_) => return self.lose(*block),
        }
        let to = &self.arenas[block.arena].stream;
        block.memory = self.device.hand_over(block.memory, to);
        self.parked.push(Parked { block, events });
    }

    // ANCHOR: scavenge
    /// A block of this class from any arena or parking place.
    fn scavenge(&mut self, arena: usize, class: Class, busy: Busy) -> Option<Boxed<D::Memory>> {
        self.unpark(busy, |parked| parked == class);
        if let Some(block) = self.arenas[arena].free[class.index()].pop() {
            self.stats.reused += 1;
            return Some(block);
        }
        for other in 0..self.arenas.len() {
            if self.arenas[other].free[class.index()].is_empty() {
                continue;
            }
            // Everything that is queued there now comes before this event, so all uses
            // of the block do. If the device fails, the block stays where it is.
            let to = &self.arenas[arena].stream;
            let Ok(event) = self.device.record(&self.arenas[other].stream) else {
                continue;
            };
            if !self.device.is_done(&event).is_ok_and(|done| done) {
                if busy == Busy::Leave || self.device.wait(to, &event).is_err() {
                    continue;
                }
                self.stats.waited += 1;
            }
            let mut block = self.arenas[other].free[class.index()].pop()?;
            self.stats.moved += 1;
            block.memory = self.device.hand_over(block.memory, &self.arenas[arena].stream);
            block.arena = arena;
            return Some(block);
        }
        None
    }
    // ANCHOR_END: scavenge

    /// Moves parked blocks of some classes to their arenas: those that no other stream
    /// uses any more, or all, after a wait.
    fn unpark(&mut self, busy: Busy, which: impl Fn(Class) -> bool) {
        for Parked { block, mut events } in std::mem::take(&mut self.parked) {
            if !which(block.class) {
                self.parked.push(Parked { block, events });
                continue;
            }
            let arena = &mut self.arenas[block.arena];
            events.retain(|event| match busy {
                Busy::Leave => !self.device.is_done(event).is_ok_and(|done| done),
                Busy::Await => self.device.wait(&arena.stream, event).is_err(),
                Busy::Synchronize => self.device.synchronize(event).is_err(),
            });
            if events.is_empty() {
                arena.free[block.class.index()].push(block);
            } else {
                self.parked.push(Parked { block, events });
            }
        }
    }

    /// Gives free blocks back to the device, the largest first, until the pool holds at
    /// most `keep_bytes` or none is left. The host waits for the work that uses them.
    pub(crate) fn shrink(&mut self, keep_bytes: usize) {
        if self.stats.held_bytes <= keep_bytes {
            return;
        }
        self.unpark(Busy::Synchronize, |_| true);
        for arena in &mut self.arenas {
            let settled = self.device.record(&arena.stream);
            if settled.and_then(|event| self.device.synchronize(&event)).is_err() {
                continue;
            }
            for class in Class::largest_first() {
                while self.stats.held_bytes > keep_bytes
                    && let Some(block) = arena.free[class.index()].pop()
                {
                    self.device.release(block.memory);
                    self.stats.released += 1;
                    self.stats.held_bytes -= class.bytes();
                }
            }
        }
    }

    /// Gives a block up: nobody can say when its last use is done.
    fn lose(&mut self, block: Block<D::Memory>) {
        self.stats.held_bytes -= block.bytes();
        self.stats.lost += 1;
    }
}

/// All blocks have to be given back before, or they are lost.
impl<D: Device> Drop for Book<D> {
    fn drop(&mut self) {
        self.shrink(0);
    }
}
