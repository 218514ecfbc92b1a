//! Threads by small numbers, so that each can have a place of its own in a list.

use std::sync::{Mutex, PoisonError};

/// The number of a thread, which no other has while it lives.
struct Number(usize);

/// Numbers that ended threads had, and how many there have ever been.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((vec![], 0));

impl Number {
    fn new() -> Number {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = free.0.pop() {
            return Number(number);
        }
        free.1 += 1;
        Number(free.1 - 1)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0);
    }
}

/// The number of this thread; the largest of all if the thread is about to end, and has
/// none any more.
#[inline]
pub(crate) fn this() -> usize {
    thread_local!(static NUMBER: Number = Number::new());
    NUMBER.try_with(|number| number.0).unwrap_or(usize::MAX)
}
