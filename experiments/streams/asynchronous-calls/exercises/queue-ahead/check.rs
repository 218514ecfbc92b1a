use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    for (count, length) in [(1, 1), (3, 33), (12, 1000)] {
        let streams = (0..count).map(|_| context.new_stream());
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let new =
            |i: usize| trial.zeros(&streams[i], length, &format!("buffer {i}"));
        let mut buffers = (0..count).map(new).collect::<Result<Vec<_>>>()?;
        let all: Vec<f32> =
            (0..count).flat_map(|seed| numbers(length, seed)).collect();
        let input = pinned(&context, all.len(), |i| all[i])?;
        let mut output = pinned(&context, all.len(), |_| 0.0)?;
        let batches: Vec<_> = input.as_slice()?.chunks(length).collect();
        let mut results: Vec<_> =
            output.as_mut_slice()?.chunks_mut(length).collect();
        context.synchronize()?;
        let (largest, found) = trial.watch(&format!("{count} batches"), || {
            let largest = mine::largest(
                &streams,
                &kernels,
                &batches,
                &mut buffers,
                &mut results,
            )?;
            Ok((largest, results.concat()))
        })?;
        let wanted: Vec<f32> = all.iter().map(|number| 2.0 * number).collect();
        let most = |batch: &[f32]| batch.iter().copied().fold(f32::MIN, f32::max);
        let most: Vec<f32> = wanted.chunks(length).map(most).collect();
        trial.equal("largest", &largest, &most);
        trial.equal("all results", &found, &wanted);
        trial.size("batches", count);
    }
    Ok(())
}
