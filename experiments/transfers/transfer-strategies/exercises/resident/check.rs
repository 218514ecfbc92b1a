use trial::{Gpu, Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for (count, steps) in [(33, 0), (1, 1), (10_001, 20)] {
        // Powers of two, so that results are exact.
        let factors: Vec<_> =
            (0..steps).map(|step| [2.0, 0.5, 4.0][step % 3]).collect();
        let mut data = numbers(count, 0);
        let scaled =
            |number: &f32| factors.iter().fold(*number, |n, factor| n * factor);
        let wanted: Vec<_> = data.iter().map(scaled).collect();
        let title = format!("{count} numbers, {steps} steps");
        trial
            .watch(&title, || mine::steps(&stream, &kernels, &mut data, &factors))?;
        trial.equal("data", &data, &wanted);
        trial.size("count", count);
        trial.size("steps", steps);
    }
    Ok(())
}
