//! What the driver tells a program that knows it. NVIDIA's driver has no such functions: who
//! finds them has the emulated one.
//!
//! A text goes to `text`, of at most `room` bytes with a NUL at its end. With too little room,
//! or none, nothing is told and nothing forgotten; how many bytes it needs is returned.

use std::panic::catch_unwind;

use crate::call::{Room, Text};
use crate::counted::Counted;
use crate::driver::{Driver, explanations};

/// Makes an elapsed time not-a-number instead of an error: for a program that keeps no
/// times, so that what it runs may ask for them.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorNoTime() {
    Driver::lock().elapsed_is_nan = true;
}

/// Counts pieces of memory from now on, for the lines of kernels' sources.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorCountPieces() {
    Driver::lock().counts_pieces = true;
}

/// Tells what was counted since it last told.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorCounts(text: Room, room: usize) -> usize {
    let told = catch_unwind(|| {
        let mut driver = Driver::lock();
        let told = driver.counted.tell();
        if text.hold(&told, room) {
            driver.counted = Counted::default();
        }
        told.len() + 1
    });
    told.unwrap_or(0)
}

/// Tells why calls were answered with errors since it last told, a line each. From the first
/// question on that is on standard error no more: the program says it, or expects the error.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorExplanations(text: Room, room: usize) -> usize {
    let mut kept = explanations();
    let told = kept.get_or_insert_default();
    let needed = told.len() + 1;
    if text.hold(told, room) {
        told.clear();
    }
    needed
}

/// Begins a new ledger. What was queued before is not in it.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorLedgerStart() {
    let driver = &mut *Driver::lock();
    driver.recorder.start(&driver.memory);
}

/// Tells the ledger. The text is empty if none was begun.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorLedger(text: Room, room: usize) -> usize {
    let told = catch_unwind(|| Driver::lock().recorder.tell()).unwrap_or_default();
    text.hold(&told, room);
    told.len() + 1
}

/// Calls memory by a name, in the ledger: from `address` to where another name begins, or to
/// the end of its buffer. Nothing happens if the driver holds no memory there.
#[unsafe(no_mangle)]
extern "C" fn workbookEmulatorName(address: u64, name: Text) {
    if let Ok(name) = name.get() {
        let driver = &mut *Driver::lock();
        driver.recorder.name(&driver.memory, address, &name);
    }
}
