use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let stream = context.new_stream()?;
    for (count, length) in [(1, 1), (3, 33), (12, 4000)] {
        let all: Vec<f32> =
            (0..count).flat_map(|seed| numbers(length, seed)).collect();
        let memory = pinned(&context, all.len(), |i| all[i])?;
        let batches: Vec<_> = memory.as_slice()?.chunks(length).collect();
        let begin = pinned(&context, length, |i| (i % 100) as f32)?;
        let begin = begin.as_slice()?;
        let mut halves = [stream.alloc_zeros(length)?, stream.alloc_zeros(length)?];
        let mut sums = [stream.alloc_zeros(length)?, stream.alloc_zeros(length)?];
        for i in [0, 1] {
            trial.name(&halves[i], &stream, &format!("half {i}"));
            trial.name(&sums[i], &stream, &format!("sum {i}"));
        }
        let one = stream.clone_htod(&[1.0])?;
        let mut counter = stream.alloc_zeros(1)?;
        trial.name(&counter, &stream, "counter");
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
            trial.equal(&format!("sums[{lane}]"), &stream.clone_dtoh(sum)?, &wanted);
        }
        trial.equal("counter", &stream.clone_dtoh(&counter)?, &[count as f32]);
        trial.size("batches", count);
    }
    Ok(())
}
