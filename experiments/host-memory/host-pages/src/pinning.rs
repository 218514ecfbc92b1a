//! Pinning visits all pages: those that are there, and those that are not.

use lab::memory::Registration;
use lab::{Case, Lab, Result};

use crate::pages::untouched;

pub(crate) fn measure(lab: &mut Lab, page: usize, bytes: usize) -> Result<()> {
    for (state, touches) in [("touched", true), ("untouched", false)] {
        let before = || {
            let mut memory = untouched(bytes, page)?;
            if touches {
                memory.fill(1);
            }
            Ok(memory)
        };
        Case::new("register")
            .with("page_bytes", page)
            .with("bytes", bytes)
            .with("state", state)
            .time_on_host_after(lab, before, |mut memory| {
                // SAFETY: a mapping that is moved stays at its address, and the
                // registration is dropped before it. Nothing is copied.
                let registration = unsafe { Registration::new(&mut memory) }?;
                Ok((registration, memory))
            })?
            .record(lab)?;
    }
    Ok(())
}
