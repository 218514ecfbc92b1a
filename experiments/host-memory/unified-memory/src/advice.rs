//! Advice: what the driver makes of it, in four steps.

use lab::check::{every_element, value};
use lab::{Case, Lab, Result};

use crate::device::{Places, Runner, plus_one, sum};
use crate::memory::{Advice, WORD_BYTES, managed};
use crate::sparse::note_unmapped;

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Runner, bytes: usize) -> Result<()> {
    let stream = gpu.stream.clone();
    let all = Places { count: bytes / WORD_BYTES, stride: 1 };
    let total = (0..all.count).map(value).fold(0u32, u32::wrapping_add);
    for advice in Advice::ALL {
        let case = |step| {
            let case = Case::new("advice").with("advice", advice);
            case.with("step", step).with("bytes", bytes).reads(bytes)
        };
        let new = || managed(&stream, all.count, advice);

        // The kernel reads what the host wrote; once more; and then the host reads.
        case("first")
            .time_on_host_after(lab, new, |memory| gpu.read(memory, all))?
            .note(note_unmapped)?
            .check_last(|_| gpu.check(all, value))?
            .record(lab)?;

        let memory = gpu.read(new()?, all)?;
        gpu.check(all, value)?;
        case("again")
            .footprint(2 * bytes, lab.l2_bytes())
            .time_on_host(lab, || gpu.read(memory.as_view(), all))?
            .check_last(|_| gpu.check(all, value))?
            .record(lab)?;

        let read = || gpu.read(new()?, all);
        case("host")
            .time_on_host_after(lab, read, |memory| {
                every_element("sum", &[sum(memory.as_slice()?)], |_| total)?;
                Ok(memory)
            })?
            .check_last(|_| gpu.check(all, value))?
            .record(lab)?;

        // The kernel writes, too.
        case("write")
            .time_on_host_after(lab, new, |memory| gpu.add_one(memory))?
            .check_last(|m| every_element(advice.name(), m.as_slice()?, plus_one))?
            .record(lab)?;
    }
    Ok(())
}
