use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let (stream, copies) = (context.new_stream()?, context.new_stream()?);
    let kernels = trial.kernels(&context)?;
    for count in [1, 1000, 250_000] {
        let factor = 4.0;
        let [a, b] = [0, 1].map(|seed| numbers(count, seed));
        let wanted: Vec<_> = a.iter().zip(&b).map(|(a, b)| factor * a + b).collect();
        let [a, b] =
            [pinned(&context, count, |i| a[i])?, pinned(&context, count, |i| b[i])?];
        let inputs = [a.as_slice()?, b.as_slice()?];
        let new = |name| trial.zeros(&stream, count, name);
        let mut gpu = [new("a")?, new("b")?, new("sums")?];
        context.synchronize()?;
        let sums = trial.watch(&format!("{count} numbers"), || {
            mine::scale_and_add(
                [&stream, &copies],
                &kernels,
                inputs,
                &mut gpu,
                factor,
            )
        })?;
        trial.equal("sums", &sums, &wanted);
    }
    Ok(())
}
