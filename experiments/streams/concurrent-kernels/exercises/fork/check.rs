use trial::{Result, Trial, kernels_in_a_row, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let stream = context.new_stream()?;
    for (parts, length) in [(1, 1), (3, 33), (8, 4000)] {
        let all = numbers(parts * length, 3);
        let mut data = stream.clone_htod(&all)?;
        let totals = stream.alloc_zeros::<f32>(parts)?;
        let sum = stream.alloc_zeros::<f32>(1)?;
        trial.name(&data, &stream, "data");
        trial.name(&totals, &stream, "totals");
        trial.name(&sum, &stream, "sum");
        stream.synchronize()?;
        trial.watch(&format!("{parts} parts of {length} numbers"), || {
            mine::run(&stream, &kernels, &mut data, &totals, &sum)
        })?;
        let doubled = |part: &[f32]| part.iter().map(|number| 2.0 * number).sum();
        let wanted: Vec<f32> = all.chunks(length).map(doubled).collect();
        trial.equal("totals", &stream.clone_dtoh(&totals)?, &wanted);
        trial.equal("sum", &stream.clone_dtoh(&sum)?, &[wanted.iter().sum()]);
        let rows = kernels_in_a_row(&trial.ledger());
        trial.size("row", rows.last().copied().unwrap_or_default());
        trial.size("parts", parts);
    }
    Ok(())
}
