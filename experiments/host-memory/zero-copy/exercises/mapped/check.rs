use trial::{Gpu, Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for (count, steps) in [(1, 1), (1000, 3), (10_001, 12)] {
        // Powers of two, so that totals are exact.
        let factors: Vec<_> =
            (0..steps).map(|step| [2.0, 0.25, 4.0][step % 3]).collect();
        let data = numbers(count, 0);
        let mut total: f32 = data.iter().sum();
        let mut next = |factor: &f32| {
            total *= factor;
            total
        };
        let wanted: Vec<_> = factors.iter().map(&mut next).collect();
        let mut array = stream.clone_htod(&data)?;
        stream.synchronize()?;
        let totals = trial
            .watch(&format!("{count} numbers, {steps} steps"), || {
                mine::totals(&stream, &kernels, &mut array, &factors)
            })?;
        trial.equal("totals", &totals, &wanted);
        trial.size("steps", steps);
    }
    Ok(())
}
