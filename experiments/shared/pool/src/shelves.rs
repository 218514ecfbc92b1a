//! Shelves in front of the book: a thread finds there what it gave back last, and takes no lock.
//!
//! A shelf is the pool's and not its thread's. When a thread ends there is nothing to give back,
//! and blocks on any shelf are within reach: where the pool would exceed its cap, or the device
//! has no more memory, all shelves are emptied into the book.

use std::iter::repeat_with;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::book::{Block, Book, Boxed, Device, Error, Stats};
use crate::class::Class;

/// Threads that have a shelf, by their numbers. If there are more, the others have none.
const SHELVES: usize = 64;
/// Rows of a shelf. A block's row follows from its stream and class.
const ROWS: usize = 1 << ROW_BITS;
const ROW_BITS: u32 = 4;
/// Blocks in a row, as in a set-associative cache.
const PLACES: usize = 4;

// ANCHOR: shelf
/// Free blocks of one thread, which alone puts something here. Any thread may take it away.
// In cache lines of its own: CPUs fetch two of 64 bytes at a time.
#[repr(align(128))]
struct Shelf<M> {
    rows: [[Place<M>; PLACES]; ROWS],
    /// How often the thread has found a block here.
    reused: AtomicU64,
}

/// Room for one block: null if it is free, else what `Box::into_raw` made.
struct Place<M>(AtomicPtr<Block<M>>);

impl<M> Place<M> {
    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Takes what is here. If several do so at a time, one gets it.
    fn take(&self) -> Option<Boxed<M>> {
        let block = self.0.swap(null_mut(), Ordering::Acquire);
        // SAFETY: `put` had it from a box, and only this swap has got it.
        (!block.is_null()).then(|| unsafe { Box::from_raw(block) })
    }

    /// Puts a block here, into an empty place. Only the shelf's thread does so, hence the
    /// place still is empty, and no exchange is needed.
    fn put(&self, block: Boxed<M>) {
        self.0.store(Box::into_raw(block), Ordering::Release);
    }
}

impl<M> Shelf<M> {
    fn take(&self, stream: usize, class: Class) -> Option<Boxed<M>> {
        for place in &self.rows[row(stream, class)] {
            if !place.is_empty()
                && let Some(block) = place.take()
            {
                if block.stream == stream && block.class == class {
                    let reused = self.reused.load(Ordering::Relaxed);
                    self.reused.store(reused + 1, Ordering::Relaxed);
                    return Some(block);
                }
                place.put(block); // one of another sort
            }
        }
        None
    }

    /// Puts a block into its row, and returns another if that is full.
    fn put(&self, block: Boxed<M>) -> Option<Boxed<M>> {
        let row = &self.rows[row(block.stream, block.class)];
        let empty = row.iter().find(|place| place.is_empty());
        let place = empty.unwrap_or(&row[0]);
        let other = if empty.is_some() { None } else { place.take() };
        place.put(block);
        other
    }
}
// ANCHOR_END: shelf

/// The row of blocks of a stream and class.
fn row(stream: usize, class: Class) -> usize {
    // By the highest bits of a product, in which all bits have a part.
    let mixed = (stream ^ class.index()) as u64;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - ROW_BITS)) as usize
}

/// Empties shelves into the book.
fn collect<D: Device>(shelves: &[Shelf<D::Memory>], book: &mut Book<D>) {
    for place in shelves.iter().flat_map(|shelf| shelf.rows.as_flattened()) {
        if !place.is_empty()
            && let Some(block) = place.take()
        {
            book.give(block);
        }
    }
}

/// A book that threads share, and their shelves. Threads go by numbers: two that have the same
/// one at a time could lose blocks.
pub struct Shelves<D: Device> {
    shelves: Box<[Shelf<D::Memory>]>,
    book: Mutex<Book<D>>,
}

impl<D: Device> Shelves<D> {
    /// An empty pool, which will never hold more than `cap_bytes`.
    pub fn new(device: D, cap_bytes: usize) -> Shelves<D> {
        let shelf = || Shelf { rows: Default::default(), reused: AtomicU64::new(0) };
        let shelves = repeat_with(shelf).take(SHELVES).collect();
        Shelves { shelves, book: Mutex::new(Book::new(device, cap_bytes)) }
    }

    // ANCHOR: take
    /// Hands out a block of at least `bytes` for use on `stream`, and on no other: from the
    /// thread's own shelf, or else from the book.
    #[inline]
    pub fn take(
        &self,
        thread: usize,
        stream: &D::Stream,
        bytes: usize,
    ) -> Result<Boxed<D::Memory>, Error<D::Error>> {
        let class = Class::of(bytes).ok_or(Error::TooLarge)?;
        let shelf = self.shelves.get(thread);
        match shelf.and_then(|shelf| shelf.take(D::name(stream), class)) {
            Some(block) => Ok(block),
            None => self.take_from_book(thread, stream, class),
        }
    }

    /// Takes a block back. Its own stream may still be about to use it, no other may. From
    /// another thread it goes to the book, where the one that took it looks next.
    #[inline]
    pub fn give(&self, thread: usize, block: Boxed<D::Memory>) {
        let over = match self.shelves.get(thread) {
            Some(shelf) if block.thread == thread => shelf.put(block),
            _ => Some(block),
        };
        if let Some(block) = over {
            self.give_to_book(block);
        }
    }
    // ANCHOR_END: take

    #[cold]
    fn take_from_book(
        &self,
        thread: usize,
        stream: &D::Stream,
        class: Class,
    ) -> Result<Boxed<D::Memory>, Error<D::Error>> {
        let mut book = self.lock();
        let mut block = match book.at_hand(stream, class) {
            Some(block) => block,
            None => {
                // Its own shelf first. Others are in use, and left alone while memory lasts.
                let own = self.shelves.get(thread..=thread).unwrap_or_default();
                collect(own, &mut book);
                book.find(stream, class, |book| collect(&self.shelves, book))?
            }
        };
        (block.stream, block.thread) = (D::name(stream), thread);
        Ok(block)
    }

    #[cold]
    fn give_to_book(&self, block: Boxed<D::Memory>) {
        self.lock().give(block);
    }

    /// Takes a block back that these streams may still be about to use, too.
    #[cold]
    pub fn give_after(&self, block: Boxed<D::Memory>, streams: &[D::Stream]) {
        self.lock().give_after(block, streams);
    }

    /// Gives free blocks back to the device, the largest first, until the pool holds at
    /// most `keep_bytes` or none is left. The host waits for the work that uses them.
    pub fn shrink(&self, keep_bytes: usize) {
        let mut book = self.lock();
        collect(&self.shelves, &mut book);
        book.shrink(keep_bytes);
    }

    /// What it holds, and what it has done.
    pub fn stats(&self) -> Stats {
        let mut book = self.lock();
        collect(&self.shelves, &mut book);
        let mut stats = book.stats();
        stats.reused += self.shelves.iter().map(|s| s.reused.load(Ordering::Relaxed)).sum::<u64>();
        stats
    }

    /// A thread that panicked has left nothing half done. The book does not panic; cudarc
    /// does if it gets no event for a block, which then counts as in use forever.
    fn lock(&self) -> MutexGuard<'_, Book<D>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The book gives back to the device what it holds when it is dropped.
impl<D: Device> Drop for Shelves<D> {
    fn drop(&mut self) {
        collect(&self.shelves, &mut self.lock());
    }
}

impl<M> Default for Place<M> {
    fn default() -> Place<M> {
        Place(AtomicPtr::default())
    }
}
