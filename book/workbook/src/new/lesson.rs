//! # Does twice as much take twice as long?
//!
//! TODO(author): your question, in one line above, and here what a reader has to know to
//! understand it. This one copies an array on the GPU, and another that is twice as
//! large. Both are too large for the L2 cache.
//!
//! **Prediction:** twice the elements take 2.0 times as long.

use std::process::ExitCode;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "NAME",
    source: include_str!("../../../../kernels/NAME.cu"),
    ptx: include_str!("../../../../kernels/ptx/NAME.ptx"),
};

fn main() -> ExitCode {
    let question = "Does twice as much take twice as long?";
    lab::run("NAME", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernel.
    let stream = lab.context().new_stream()?;
    let copy = lab.module()?.load_function("copy")?;

    // 2. Input: elements of 4 bytes, all different; once is four times the L2 cache.
    let once = lab.l2_bytes();
    let value = |i: usize| (i as u32).wrapping_mul(2_654_435_761);
    let input: Vec<u32> = (0..2 * once).map(value).collect();
    let input = stream.clone_htod(&input)?;
    let mut output = stream.alloc_zeros::<u32>(2 * once)?;

    // 3. The sweep, with a size that no block divides.
    for (case, count) in [("once", once), ("twice", 2 * once), ("ragged", once - 1)] {
        // 4. Launch and time.
        stream.memset_zeros(&mut output)?;
        let samples = lab.time_on_gpu(&stream, |_| {
            let mut launch = stream.launch_builder(&copy);
            launch.arg(&input).arg(&mut output).arg(&count);
            let config = LaunchConfig {
                grid_dim: (count.div_ceil(256) as u32, 1, 1),
                block_dim: (256, 1, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: the kernel takes (in, out, count); both buffers hold as many.
            unsafe { launch.launch(config) }?;
            Ok(())
        })?;

        // 5. Check.
        let got = stream.clone_dtoh(&output.slice(..count))?;
        let checked = check::every_element(case, &got, value)?;

        // 6. Record.
        let bytes = count * size_of::<u32>();
        let case = Case::new(case)
            .with("elements", count)
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(2 * bytes, lab.l2_bytes())
            .checked(checked)
            .samples(samples);
        lab.record(case)?;
    }
    Ok(())
}
