use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let stream = context.new_stream()?;
    for (count, length) in [(1, 4), (10, 4), (29_700, 1000)] {
        let all = numbers(count, 3);
        let input = pinned(&context, count, |i| all[i])?;
        let mut output = pinned(&context, count, |_| 0.0)?;
        let (input, output) = (input.as_slice()?, output.as_mut_slice()?);
        let buffer = || stream.alloc_zeros(length);
        let mut buffers = [buffer()?, buffer()?, buffer()?];
        for (i, buffer) in buffers.iter().enumerate() {
            trial.name(buffer, &stream, &format!("buffer {i}"));
        }
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
