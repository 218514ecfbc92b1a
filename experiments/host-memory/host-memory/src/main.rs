//! # Which host memory should a transfer start from, and what does it cost to get it?
//!
//! Page: `book/src/host-memory/host-memory.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | copies from and to each kind, and reads by the host |
//! | [`memory`] | The experiment | four kinds of memory |
//! | [`cost`] | The experiment | what does it cost to pin memory? |
//!
//! The copy engine reads the host's memory by physical address, on its own. It can only
//! do that with pages that the operating system promises not to move: *pinned* pages.
//! From *pageable* memory, the driver first copies piece by piece into a small pinned
//! buffer of its own, with a CPU core, and the engine fetches the pieces from there.
//!
//! ```text
//! pageable        Vec ──CPU──► driver's pinned buffer ──DMA──► GPU
//! pinned          pinned buffer ─────────────────────────DMA──► GPU
//! write_combined  the same, but the CPU should not cache it: slow to read, no snooping
//! registered      a Vec whose pages were pinned where they are
//! ```
//!
//! **Prediction:** a pageable copy is as fast as one core copies memory, so a fraction
//! of the link; the three pinned kinds fill it. Pinning itself has to visit every page,
//! so it costs as much as a few pageable copies and pays for itself after a few.

mod cost;
mod memory;

use std::process::ExitCode;

use lab::check::{every_element, value};
use lab::{Case, Ceiling, Lab, Result};

use memory::{HostMemory, Kind, PAGE};

const LARGEST: usize = 1 << 30;
/// Sizes at which pinned memory is copied again; pageable memory is at all of them.
const AGAIN: [usize; 2] = [1 << 20, 64 << 20];

fn main() -> ExitCode {
    lab::run!(None, experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. A stream and a device buffer.
    let stream = lab.context().new_stream()?;
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let largest = most.min(lab.free_bytes()?.next_power_of_two() / 4);
    let ramp: Vec<u32> = (0..largest / 4).map(value).collect();
    let mut device = stream.alloc_zeros::<u32>(ramp.len())?;

    for kind in Kind::ALL {
        // 2. The host buffer, touched in full, so that no page is missing when the
        //    clock runs.
        let mut host = HostMemory::new(lab.context(), kind, largest)?;
        for bytes in (0..).map(|n| PAGE << (2 * n)).take_while(|b| *b <= largest) {
            let words = bytes / size_of::<u32>();
            let case = |name, direction: &str| {
                let case = Case::new(name).with("kind", kind).with("bytes", bytes);
                case.with("direction", direction).ceiling(Ceiling::HostLink)
            };

            // ANCHOR: copies
            // 3. To the GPU. A pageable copy keeps the host busy, so the host's clock is
            //    the fair one for all kinds: from the call until the copy is done. Each
            //    turn takes the next piece of the buffer, so that the CPU's caches do not
            //    hold it from the turn before; or the same one, so that they do.
            host.words().copy_from_slice(&ramp);
            let mut ways = vec![("copy", largest / bytes)];
            if kind == Kind::Pageable
                || kind == Kind::Pinned && AGAIN.contains(&bytes)
            {
                ways.push(("copy_again", 1));
            }
            for (name, pieces) in ways {
                stream.memset_zeros(&mut device)?;
                let (mut turn, mut first) = (0, 0);
                let copy = case(name, "host_to_device").writes(bytes);
                // ANCHOR: copy
                let timed = copy.time_on_host(lab, || {
                    first = turn % pieces * words;
                    turn += 1;
                    let source = &host.words()[first..first + words];
                    stream.memcpy_htod(source, &mut device.slice_mut(..words))?;
                    Ok(stream.synchronize()?)
                })?;
                // ANCHOR_END: copy
                let got = device.slice(..words);
                timed
                    .check_device(&stream, &got, |i| value(first + i))?
                    .record(lab)?;
            }
            // ANCHOR_END: copies

            // 4. To the host, into a cleared buffer. The device gets its first words.
            stream.memcpy_htod(&ramp[..words], &mut device)?;
            host.words().fill(0);
            let (mut turn, mut first) = (0, 0);
            let copy = case("copy", "device_to_host").reads(bytes);
            let timed = copy.time_on_host(lab, || {
                first = turn % (largest / bytes) * words;
                turn += 1;
                let target = &mut host.words()[first..first + words];
                stream.memcpy_dtoh(&device.slice(..words), target)?;
                Ok(stream.synchronize()?)
            })?;
            timed.check(&host.words()[first..first + words], value)?.record(lab)?;
        }

        // 5. What the host itself pays to read such memory: 16 MiB, summed.
        let read = &host.words()[..largest.min(16 << 20) / size_of::<u32>()];
        let sum = || read.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        let total = sum();
        Case::new("host_read")
            .with("kind", kind)
            .with("bytes", size_of_val(read))
            .reads(size_of_val(read))
            .time_on_host(lab, || every_element("sum", &[sum()], |_| total))?
            .check_last(|checked| Ok(*checked))?
            .record(lab)?;
    }
    cost::measure(lab, largest)
}
