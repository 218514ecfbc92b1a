use trial::{Result, Trial, most_bytes, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let (copies, compute) = (context.new_stream()?, context.new_stream()?);
    let kernels = trial.kernels(&context)?;
    for (count, batches) in [(1, 1), (1000, 3), (10_000, 8)] {
        let bias = numbers(count, 0);
        let inputs: Vec<_> =
            (1..=batches).map(|seed| numbers(count, seed)).collect();
        let new = || compute.alloc_zeros::<f32>(count);
        let mut results =
            (0..batches).map(|_| new()).collect::<Result<Vec<_>, _>>()?;
        let on_gpu = compute.clone_htod(&bias)?;
        context.synchronize()?;
        let title = format!("{batches} batches of {count} numbers");
        let streams = [&copies, &compute];
        trial.watch(&title, || {
            mine::run(streams, &kernels, &inputs, &on_gpu, &mut results)
        })?;
        for (number, (result, input)) in results.iter().zip(&inputs).enumerate() {
            let wanted: Vec<_> =
                input.iter().zip(&bias).map(|(a, b)| a + b).collect();
            let what = format!("result {number}");
            trial.equal_on_gpu(&what, &compute, result, &wanted)?;
        }
        trial.size("batches", batches);
        trial.size("count", count);
        trial.size("most_bytes", most_bytes(&trial.ledger()));
    }
    Ok(())
}
