use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let (copies, compute) = (context.new_stream()?, context.new_stream()?);
    for (count, length) in [(1, 1), (3, 33), (8, 4000)] {
        let all: Vec<f32> =
            (0..count).flat_map(|seed| numbers(length, seed)).collect();
        let memory = pinned(&context, all.len(), |i| all[i])?;
        let batches: Vec<_> = memory.as_slice()?.chunks(length).collect();
        let zeros = |name| trial.zeros(&compute, length, name);
        let mut halves = [zeros("half 0")?, zeros("half 1")?];
        let mut sum = zeros("sum")?;
        compute.synchronize()?;
        trial.watch(&format!("{count} batches"), || {
            mine::add_up(
                &copies,
                &compute,
                &kernels,
                &batches,
                &mut halves,
                &mut sum,
            )
        })?;
        let column = |i: usize| batches.iter().map(|batch| batch[i]).sum::<f32>();
        let wanted: Vec<f32> = (0..length).map(column).collect();
        trial.equal_on_gpu("sum", &compute, &sum, &wanted)?;
        trial.size("batches", count);
    }
    Ok(())
}
