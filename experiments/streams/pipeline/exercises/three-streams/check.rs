use trial::{Gpu, Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { context, stream, kernels } = trial.gpu()?;
    for (count, length) in [(1, 4), (10, 4), (29_700, 1000)] {
        let all = numbers(count, 3);
        let input = pinned(&context, count, |i| all[i])?;
        let mut output = pinned(&context, count, |_| 0.0)?;
        let (input, output) = (input.as_slice()?, output.as_mut_slice()?);
        let buffer = |name| trial.zeros(&stream, length, name);
        let mut buffers =
            [buffer("buffer 0")?, buffer("buffer 1")?, buffer("buffer 2")?];
        stream.synchronize()?;
        let chunks = count.div_ceil(length);
        let found = trial.watch(&format!("{chunks} chunks"), || {
            mine::double(&context, &kernels, input, output, &mut buffers)?;
            Ok(output.to_vec())
        })?;
        let wanted: Vec<f32> = all.iter().map(|number| 2.0 * number).collect();
        trial.equal("output", &found, &wanted);
        trial.size("bytes", 4 * count);
        trial.size("chunks", chunks);
    }
    Ok(())
}
