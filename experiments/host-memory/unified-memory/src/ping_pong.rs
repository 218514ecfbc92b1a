//! The trap: the same pages back and forth. The host writes to them, the kernel reads, the
//! host writes.

use std::cell::RefCell;

use lab::check::value;
use lab::{Lab, Result};

use crate::device::{Places, Runner};
use crate::memory::{Advice, WORD_BYTES, managed};
use crate::sparse::{PAGE, note_unmapped};

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Runner, bytes: usize) -> Result<()> {
    let stride = (64 << 10) / WORD_BYTES;
    let memory =
        RefCell::new(managed(&gpu.stream, bytes / WORD_BYTES, Advice::None)?);
    let mut count = bytes / WORD_BYTES / stride;
    while count > 0 {
        let places = Places { count, stride };
        let write = || {
            let mut memory = memory.borrow_mut();
            let pages = memory.as_mut_slice()?.chunks_mut(PAGE / WORD_BYTES);
            for (page, words) in pages.enumerate() {
                words[0] = value(page * PAGE / WORD_BYTES);
            }
            Ok(())
        };
        let mut read = |()| {
            gpu.read(memory.borrow().as_view(), places)?;
            Ok(())
        };
        for _ in 0..30 {
            write().and_then(&mut read)?; // the driver takes some turns to notice
        }
        places
            .case("ping_pong", Advice::None)
            .time_on_host_after(lab, write, read)?
            .note(|case, ()| note_unmapped(case, &memory.borrow()))?
            .check_last(|()| gpu.check(places, value))?
            .record(lab)?;
        count /= 4;
    }
    Ok(())
}
