use trial::{Gpu, Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { context, stream, kernels } = trial.gpu()?;
    for (count, length) in [(1, 1), (3, 33), (12, 4000)] {
        let all: Vec<f32> =
            (0..count).flat_map(|seed| numbers(length, seed)).collect();
        let memory = pinned(&context, all.len(), |i| all[i])?;
        let batches: Vec<_> = memory.as_slice()?.chunks(length).collect();
        let begin = pinned(&context, length, |i| (i % 100) as f32)?;
        let begin = begin.as_slice()?;
        let zeros = |name| trial.zeros(&stream, length, name);
        let mut halves = [zeros("half 0")?, zeros("half 1")?];
        let mut sums = [zeros("sum 0")?, zeros("sum 1")?];
        let one = stream.clone_htod(&[1.0])?;
        let mut counter = trial.zeros(&stream, 1, "counter")?;
        stream.synchronize()?;
        trial.watch(&format!("{count} batches"), || {
            let (halves, sums) = (&mut halves, &mut sums);
            mine::add_up(
                &context,
                &kernels,
                begin,
                &batches,
                halves,
                sums,
                &one,
                &mut counter,
            )
        })?;
        for (lane, sum) in sums.iter().enumerate() {
            let mine = batches.iter().skip(lane).step_by(2);
            let column = |i: usize| mine.clone().map(|batch| batch[i]).sum::<f32>();
            let wanted: Vec<f32> =
                (0..length).map(|i| begin[i] + column(i)).collect();
            trial.equal_on_gpu(&format!("sums[{lane}]"), &stream, sum, &wanted)?;
        }
        trial.equal_on_gpu("counter", &stream, &counter, &[count as f32])?;
        trial.size("batches", count);
    }
    Ok(())
}
