//! # TODO(author): the question, in one line?
//!
//! What a reader has to know to understand the question.
//!
//! **Prediction:** a statement that can turn out wrong, in the unit that is reported.

use std::process::ExitCode;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "NAME",
    source: include_str!("../../../kernels/NAME.cu"),
    ptx: include_str!("../../../kernels/ptx/NAME.ptx"),
};

fn main() -> ExitCode {
    lab::run("NAME", "TODO(author): the question", Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernel.
    let stream = lab.context().new_stream()?;
    let copy = lab.module()?.load_function("copy")?;

    // 2. Input: four times the L2 cache, all elements different.
    let count = lab.l2_bytes();
    let value = |i: usize| (i as u32).wrapping_mul(2_654_435_761);
    let input = stream.clone_htod(&(0..count).map(value).collect::<Vec<_>>())?;
    let mut output = stream.alloc_zeros::<u32>(count)?;

    // 3. The swept parameter, with a size that no block divides among its values.
    for count in [count, count - 1] {
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
        let checked = check::every_element("copy", &got, value)?;

        // 6. Record.
        let bytes = count * size_of::<u32>();
        let case = Case::new("copy")
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
