//! A kernel and two copies in one stream, seen from the host and from the GPU.

use lab::check::value;
use lab::memory::pinned;
use lab::timeline::Timeline;
use lab::{Case, Clock, Lab, Result};

use crate::calls::{Call, Calls};

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Calls, words: usize) -> Result<()> {
    // 4. Less from pageable memory than from pinned, since it is slower.
    let context = lab.context().clone();
    let memory = pinned(&context, words / 2, value)?;
    let pinned = memory.as_slice()?;
    let pageable: Vec<u32> = (0..words / 8).map(value).collect();
    let line = Timeline::new(&context)?;
    for (name, stream) in
        [("created", context.new_stream()?), ("default", context.default_stream())]
    {
        gpu.clear(Call::Launch, &mut [])?;
        let mut one = stream.alloc_zeros::<u32>(pinned.len())?;
        let mut two = stream.alloc_zeros::<u32>(pageable.len())?;
        let turn = || {
            line.begin(&stream)?;
            // ANCHOR: course
            line.host("host", "launch", || {
                line.gpu("stream", "kernel", &stream, || gpu.launch(&stream))
            })?;
            line.host("host", "copy 1", || {
                let copy = || Ok(stream.memcpy_htod(pinned, &mut one)?);
                line.gpu("stream", "copy 1", &stream, copy)
            })?;
            line.host("host", "copy 2", || {
                let copy = || Ok(stream.memcpy_htod(&pageable, &mut two)?);
                line.gpu("stream", "copy 2", &stream, copy)
            })?;
            line.host("host", "wait", || Ok(stream.synchronize()?))?;
            // ANCHOR_END: course
            line.finish()
        };
        Case::new("course")
            .with("stream", name)
            .time_turns(lab, Clock::Host, turn)?
            .spans()
            .checked(gpu.check(Call::Launch, &[])?)
            .check_device(&stream, &one, value)?
            .check_device(&stream, &two, value)?
            .record(lab)?;
    }
    Ok(())
}
