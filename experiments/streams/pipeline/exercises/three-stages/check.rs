use trial::{Gpu, Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { context, stream, kernels } = trial.gpu()?;
    for (count, length) in [(1, 4), (10, 4), (29_700, 1000)] {
        let (all, weights) = (numbers(count, 3), numbers(length, 8));
        let input = pinned(&context, count, |i| all[i])?;
        let mut output = pinned(&context, count, |_| 0.0)?;
        let (input, output) = (input.as_slice()?, output.as_mut_slice()?);
        let buffer = |name| trial.zeros(&stream, length, name);
        let mut arriving = [buffer("arriving 0")?, buffer("arriving 1")?];
        let mut leaving = [buffer("leaving 0")?, buffer("leaving 1")?];
        let on_gpu = stream.clone_htod(&weights)?;
        stream.synchronize()?;
        let chunks = count.div_ceil(length);
        let found = trial.watch(&format!("{chunks} chunks"), || {
            let (arriving, leaving) = (&mut arriving, &mut leaving);
            mine::add_weights(
                &context, &kernels, &on_gpu, input, output, arriving, leaving,
            )?;
            Ok(output.to_vec())
        })?;
        let wanted: Vec<f32> =
            (0..count).map(|i| all[i] + weights[i % length]).collect();
        trial.equal("output", &found, &wanted);
        trial.size("bytes", 4 * count);
        trial.size("chunks", chunks);
    }
    Ok(())
}
