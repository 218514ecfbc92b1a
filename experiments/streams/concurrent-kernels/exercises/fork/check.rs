use trial::{Gpu, Result, Trial, kernels_in_a_row, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for (parts, length) in [(1, 1), (3, 33), (8, 4000)] {
        let all = numbers(parts * length, 3);
        let mut data = trial.upload(&stream, &all, "data")?;
        let totals = trial.zeros(&stream, parts, "totals")?;
        let sum = trial.zeros(&stream, 1, "sum")?;
        stream.synchronize()?;
        trial.watch(&format!("{parts} parts of {length} numbers"), || {
            mine::run(&stream, &kernels, &mut data, &totals, &sum)
        })?;
        let doubled = |part: &[f32]| part.iter().map(|number| 2.0 * number).sum();
        let wanted: Vec<f32> = all.chunks(length).map(doubled).collect();
        trial.equal_on_gpu("totals", &stream, &totals, &wanted)?;
        trial.equal_on_gpu("sum", &stream, &sum, &[wanted.iter().sum()])?;
        let rows = kernels_in_a_row(&trial.ledger());
        trial.size("row", rows.last().copied().unwrap_or_default());
        trial.size("parts", parts);
    }
    Ok(())
}
