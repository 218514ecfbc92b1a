//! The rules of streams and of memory pools, without a GPU and without a program: what the
//! emulated driver decides by, and the pages that show it.
//!
//! | module | what is in it |
//! |---|---|
//! | [`queue`] | queues of work, one for each stream, and which of it may run next |
//! | [`schedule`] | which work happens that nobody waits for yet |
//! | [`orders`] | what each piece of work comes after, for a ledger |
//! | [`pool`] | which memory a pool gives out, and what it keeps |

#![warn(missing_docs)]

pub mod orders;
pub mod pool;
pub mod queue;
pub mod schedule;

pub use orders::{Order, Orders, Waited};
pub use pool::Pool;
pub use queue::{Next, Queue, Queues, Ticket};
pub use schedule::Schedule;
